// The `openai` package for Node, whole and streamed.
import OpenAI from "openai";
import { beside, piece, serve } from "./lines.mjs";

await serve(async (request, result) => {
  const client = new OpenAI({
    baseURL: request.base_url,
    apiKey: request.api_key,
    maxRetries: request.max_retries,
    timeout: 1000 * request.timeout,
  });
  const body = { model: request.model, ...(request.tools.length ? { tools: request.tools } : {}) };
  const messages = [...request.messages];
  const message = await (request.stream ? streamed : whole)(client, { ...body, messages }, request, result);
  if (request.then) {
    messages.push(message, { role: "user", content: request.then });
    await client.chat.completions.create({ ...body, messages });
  }
});

async function whole(client, body, _request, result) {
  const completion = await client.chat.completions.create(body);
  const { message } = completion.choices[0];
  piece(result, message.content);
  cite(result, message.annotations);
  result.tool_calls = (message.tool_calls ?? []).map((call) => [call.function.name, call.function.arguments]);
  beside(result, completion);
  return message;
}

async function streamed(client, body, request, result) {
  const chunks = await client.chat.completions.create({ ...body, stream: true });
  for await (const chunk of chunks) {
    beside(result, chunk);
    for (const { delta } of chunk.choices) {
      piece(result, delta.content);
      cite(result, delta.annotations);
      for (const call of delta.tool_calls ?? []) {
        const known = (result.tool_calls[call.index] ??= ["", ""]);
        known[0] += call.function.name ?? "";
        known[1] += call.function.arguments ?? "";
      }
    }
    if (request.leave && result.content) break;
  }
  return { role: "assistant", content: result.content };
}

function cite(result, annotations) {
  for (const { url_citation: citation } of annotations ?? []) result.citations.push([citation.url, citation.title]);
}
