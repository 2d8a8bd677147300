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

/** Adds elements and texts, which are one text where they follow each other: a reply may have very many lines. */
export function append(parent, children) {
  let text = "";
  for (const child of [...children.flat(Infinity), null]) {
    if (text && (child === null || child instanceof Node)) {
      parent.append(text);
      text = "";
    }
    if (child instanceof Node) parent.append(child);
    else text += child ?? "";
  }
}

/** Marks a button as waiting. It keeps the focus, which a disabled one would lose. */
export const wait = (button, waiting) => button.setAttribute("aria-disabled", String(waiting));

export const waits = (button) => button.getAttribute("aria-disabled") === "true";

/** Finds a button again by its place, where what it stood in has been drawn anew. */
export function kept(button) {
  const around = button?.closest(".answer, .foot, #found");
  const buttons = () => [...around.querySelectorAll("button")];
  const place = around ? buttons().indexOf(button) : -1;
  return () => (place < 0 || button.isConnected ? button : buttons()[place]);
}

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

/** Where the `parts` stand in `text`, each behind the one before, as pairs of code points. What is not there is left out. */
export function findAll(text, parts) {
  const spans = [];
  let [unit, point] = [0, 0];
  for (const part of parts) {
    const place = part ? text.indexOf(part, unit) : -1;
    if (place < 0) continue;
    const start = point + points(text.slice(unit, place));
    [unit, point] = [place + part.length, start + points(part)];
    spans.push([start, point]);
  }
  return spans;
}

/** Where `part` stands first in `text`, or null. */
export const find = (text, part) => findAll(text, [part])[0] ?? null;

/** How many code points a text has. */
const points = (text) => text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
