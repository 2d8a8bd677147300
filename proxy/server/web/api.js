// Talks to the server that the page came from. The key stays in this module's memory.

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

async function request(path, body, signal) {
  const headers = { accept: "application/json" };
  if (key) headers.authorization = `Bearer ${key}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const method = body === undefined ? "GET" : "POST";
  const response = await fetch(path, { method, headers, signal, body: body && JSON.stringify(body) });
  if (response.ok) return response;
  if (response.status === 401) needed();
  let message = `HTTP ${response.status}`;
  try {
    message = (await response.json()).error.message;
  } catch {
    // a proxy on the way answered
  }
  throw new ApiError(message, response.status);
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
