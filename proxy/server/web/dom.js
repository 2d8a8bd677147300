// Makes elements. Texts become text nodes and nothing else: what an upstream or a document says is never markup.

/** An element with attributes and children; strings become text, null is left out, functions listen. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** The same for SVG. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  append(element, children);
  return element;
}

export function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === "") continue;
    parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Marks a button as waiting. It keeps the focus, which a disabled one would lose. */
export const wait = (button, waiting) => button.setAttribute("aria-disabled", String(waiting));

export const waits = (button) => button.getAttribute("aria-disabled") === "true";

export const byId = (id) => document.getElementById(id);

/** A link to `url` that a browser may follow, or its text where it is none of the web. */
export function link(url, text = url) {
  if (!opens(url)) return el("span", {}, text);
  return el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, text);
}

export function opens(url) {
  try {
    return ["http:", "https:"].includes(new URL(url).protocol);
  } catch {
    return false;
  }
}

/** The text with its `spans` (ascending pairs of code points) each wrapped by `wrap(text)`. */
export function marked(text, spans, wrap) {
  const points = Array.from(text);
  const pieces = [];
  let position = 0;
  for (const [start, end] of spans) {
    if (start < position || end <= start || end > points.length) continue;
    pieces.push(points.slice(position, start).join(""), wrap(points.slice(start, end).join("")));
    position = end;
  }
  pieces.push(points.slice(position).join(""));
  return pieces;
}

/** Where `part` stands in `text` from `from` on, as a pair of code points, or null. */
export function find(text, part, from = 0) {
  const points = Array.from(text);
  const start = points.slice(from).join("").indexOf(part);
  if (start < 0 || !part) return null;
  const first = from + Array.from(points.slice(from).join("").slice(0, start)).length;
  return [first, first + Array.from(part).length];
}
