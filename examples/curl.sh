#!/bin/sh
# Lists the models and asks one question: examples/curl.sh [MODEL] [QUESTION]
# The environment may name another server (OPENAI_BASE_URL) and a key for it (OPENAI_API_KEY).
set -eu

base_url="${OPENAI_BASE_URL:-http://127.0.0.1:8000/v1}"
api_key="${OPENAI_API_KEY:-none}"
model="${1:-vouch/demo}"
question="${2:-Who invented the World Wide Web, and when?}"

# A JSON string: backslashes and quotes escaped, line breaks and tabs made spaces.
json_string() {
    printf '"%s"' "$(printf '%s' "$1" | tr '\n\r\t' '   ' | sed 's/\\/\\\\/g; s/"/\\"/g')"
}

curl --silent --show-error --fail-with-body "$base_url/models" \
    --header "Authorization: Bearer $api_key"
echo

curl --silent --show-error --fail-with-body "$base_url/chat/completions" \
    --header "Authorization: Bearer $api_key" \
    --header "Content-Type: application/json" \
    --data @- <<JSON
{
  "model": $(json_string "$model"),
  "messages": [{"role": "user", "content": $(json_string "$question")}]
}
JSON
echo
