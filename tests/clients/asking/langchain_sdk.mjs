// LangChain.js' `ChatOpenAI`, whole and streamed; over the Responses API where the argument is `responses`.
import { HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { beside, piece, serve } from "./lines.mjs";

await serve(async (request, result) => {
  const model = new ChatOpenAI({
    model: request.model,
    apiKey: request.api_key,
    maxRetries: request.max_retries,
    timeout: 1000 * request.timeout,
    configuration: { baseURL: request.base_url },
    useResponsesApi: process.argv[2] === "responses",
    __includeRawResponse: true,
  });
  const asked = request.tools.length ? model.bindTools(request.tools) : model;
  const messages = request.messages.map((message) => new HumanMessage(message.content));
  const message = await (request.stream ? streamed : whole)(asked, messages, request, result);
  if (message && request.then) {
    await model.invoke([...messages, message, new HumanMessage(request.then)]);
  }
});

async function whole(model, messages, _request, result) {
  const message = await model.invoke(messages);
  piece(result, message.text);
  look(result, message);
  const raw = message.additional_kwargs.__raw_response;
  cite(result, raw?.choices[0].message.annotations);
  beside(result, raw);
  return message;
}

async function streamed(model, messages, request, result) {
  let message;
  for await (const chunk of await model.stream(messages)) {
    message = message ? message.concat(chunk) : chunk;
    piece(result, chunk.text);
    const raw = chunk.additional_kwargs.__raw_response;
    cite(result, raw?.choices?.[0]?.delta?.annotations);
    beside(result, raw);
    if (request.leave && result.content) return null;
  }
  look(result, message);
  return message;
}

function look(result, message) {
  result.tool_calls = (message.tool_calls ?? []).map((call) => [call.name, call.args]);
  for (const block of message.contentBlocks) cite(result, block.annotations);
}

function cite(result, annotations) {
  for (const annotation of annotations ?? []) {
    const citation = annotation.url_citation ?? annotation;
    result.citations.push([citation.url, citation.title]);
  }
}
