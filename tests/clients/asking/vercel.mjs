// Vercel's `ai` with a provider: `chat`, `responses` (what `openai(...)` is) or `compatible`.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, streamText, tool } from "ai";
import { beside, piece, serve } from "./lines.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

// How a user of the compatible provider gets at fields that it does not know.
const metadataExtractor = {
  extractMetadata: async ({ parsedBody }) => ({ vouch: seen(parsedBody) }),
  createStreamExtractor: () => {
    const metadata = { vouch: {} };
    return {
      processChunk: (chunk) => Object.assign(metadata.vouch, seen(chunk)),
      buildMetadata: () => metadata,
    };
  },
};

function seen({ references, verification }) {
  return references ? { references, verification } : {};
}

const providers = {
  chat: (options) => createOpenAI(options).chat,
  responses: (options) => createOpenAI(options),
  compatible: (options) => createOpenAICompatible({ ...options, name: "vouch", metadataExtractor }),
};

await serve(async (request, result) => {
  const provider = providers[process.argv[2]]({ baseURL: request.base_url, apiKey: request.api_key });
  const options = {
    model: provider(request.model),
    maxRetries: request.max_retries,
    abortSignal: AbortSignal.timeout(1000 * request.timeout),
    tools: Object.fromEntries(request.tools.map(({ function: one }) => [one.name, definition(one)])),
    // Else `ai` refers to earlier items by id, and nobody has stored them.
    providerOptions: process.argv[2] === "responses" ? { openai: { store: false } } : {},
  };
  const messages = request.messages;
  const reply = await (request.stream ? streamed : whole)({ ...options, messages }, request, result);
  if (!reply) return;
  result.citations = (await reply.sources).map((source) => [source.url, source.title]);
  result.tool_calls = (await reply.toolCalls).map((call) => [call.toolName, call.input]);
  beside(result, (await reply.providerMetadata)?.vouch);
  if (request.then) {
    const history = [...messages, ...(await reply.response).messages, { role: "user", content: request.then }];
    await generateText({ ...options, messages: history });
  }
});

function definition({ description, parameters }) {
  return tool({ description, inputSchema: jsonSchema(parameters) });
}

async function whole(options, _request, result) {
  const reply = await generateText({ ...options, include: { responseBody: true } });
  piece(result, reply.text);
  if (process.argv[2] !== "compatible") beside(result, reply.response.body);
  return reply;
}

async function streamed(options, request, result) {
  const leaving = new AbortController();
  const abortSignal = AbortSignal.any([options.abortSignal, leaving.signal]);
  const reply = streamText({ ...options, abortSignal, includeRawChunks: true, onError: () => {} });
  for await (const part of reply.fullStream) {
    if (part.type === "text-delta") piece(result, part.text);
    if (part.type === "raw" && process.argv[2] !== "compatible") beside(result, part.rawValue.response ?? part.rawValue);
    if (part.type === "error") throw part.error;
    if (part.type === "abort") throw abortSignal.reason;
    if (request.leave && result.content) {
      leaving.abort();
      return null;
    }
  }
  return reply;
}
