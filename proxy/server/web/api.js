// Talks to the server that the page came from. The key stays in this module's memory.

import { t } from "./texts.js";

let key = "";
let needed = () => {};

export function setKey(value) {
  key = value;
}

/** Calls back when the server refuses the key. */
export function onKeyNeeded(callback) {
  needed = callback;
}

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** What went wrong, for a reader. */
export function explain(error) {
  if (error.name === "TypeError") return t("unreachable");
  if (error.status === 401) return t("keyWrong");
  return error.message || t("broken");
}

/** What the page asks for to show a reply in its own way. Where the operator lets nobody choose it, it goes without. */
const LOOKS = ["profile", "citation_style", "mark_nonfactual", "notice", "progress"];
const fixed = new Set();

async function request(path, body, signal) {
  const headers = { accept: "application/json" };
  if (/[^\x20-\xff]/.test(key)) {
    needed(); // no header can hold it, so it is no key of any server
    throw new ApiError("", 401);
  }
  if (key) headers.authorization = `Bearer ${key}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const method = body === undefined ? "GET" : "POST";
  for (const option of fixed) delete body?.vouch?.[option];
  const response = await fetch(path, { method, headers, signal, body: body && JSON.stringify(body) });
  if (response.ok) return response;
  if (response.status === 401) needed();
  let error = { message: `HTTP ${response.status}` };
  try {
    error = (await response.json()).error;
  } catch {
    // a proxy on the way answered
  }
  const option = LOOKS.find((name) => error.param === `vouch.${name}`);
  if (option && option in (body?.vouch ?? {})) {
    fixed.add(option);
    return request(path, body, signal);
  }
  throw new ApiError(error.message, response.status);
}

export async function get(path) {
  return (await request(path)).json();
}

export async function post(path, body, signal) {
  return (await request(path, body, signal)).json();
}

/** The events of a stream, parsed. Throws what the server says went wrong. */
export async function* stream(path, body, signal) {
  const response = await request(path, body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new ApiError("", 0); // without [DONE]
    buffer += value;
    const lines = buffer.split("\n");
    buffer = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data:")) continue;
      const data = line.slice(5).trim();
      if (data === "[DONE]") return;
      const event = JSON.parse(data);
      if (event.error) throw new ApiError(event.error.message, 200);
      yield event;
    }
  }
}
