// One request a line in, one result a line out, as in lines.py.
import { createInterface } from "node:readline";

const blank = () => ({
  content: "", pieces: 0, citations: [], references: [], verdict: null, tool_calls: [], error: null,
});

/** Takes what Vouch puts beside the choices. */
export function beside(result, fields) {
  for (const reference of fields?.references ?? []) result.references.push(reference.n);
  result.verdict = fields?.verification?.verdict ?? result.verdict;
}

/** Takes a piece of the content. */
export function piece(result, text) {
  if (!text) return;
  result.content += text;
  result.pieces += 1;
}

/** An error as its user sees it; of one that was retried, the last. */
function caught(thrown) {
  const error = thrown?.lastError ?? thrown;
  const headers = error?.responseHeaders ?? error?.headers;
  return {
    kind: error?.name && error.name !== "Error" ? error.name : error?.constructor?.name,
    status: error?.status ?? error?.statusCode ?? null,
    message: String(error?.message ?? JSON.stringify(error)),
    retry_after: (headers?.get ? headers.get("retry-after") : headers?.["retry-after"]) ?? null,
  };
}

/** Answers requests until there are no more. `ask` fills in the result; what it throws is the error. */
export async function serve(ask) {
  for await (const line of createInterface({ input: process.stdin })) {
    const result = blank();
    try {
      await ask(JSON.parse(line), result);
    } catch (error) {
      result.error = caught(error);
    }
    process.stdout.write(JSON.stringify(result) + "\n");
  }
}
