// LangChain.js' `ChatOpenAI`, whole and streamed.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { beside, piece, serve } from "./lines.mjs";

await serve(async (request, result) => {
  const model = new ChatOpenAI({
    model: request.model,
    apiKey: request.api_key,
    maxRetries: request.max_retries,
    timeout: 1000 * request.timeout,
    configuration: { baseURL: request.base_url },
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
  piece(result, message.content);
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
    piece(result, chunk.content);
    const raw = chunk.additional_kwargs.__raw_response;
    cite(result, raw?.choices?.[0]?.delta?.annotations);
    beside(result, raw);
    if (request.leave && result.content) return null;
  }
  look(result, message);
  return new AIMessage({ content: message.content });
}

function look(result, message) {
  result.tool_calls = (message.tool_calls ?? []).map((call) => [call.name, call.args]);
}

function cite(result, annotations) {
  for (const { url_citation: citation } of annotations ?? []) result.citations.push([citation.url, citation.title]);
}
