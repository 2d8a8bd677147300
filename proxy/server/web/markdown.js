// Markdown of an answer as it is read: headings, lists, tables, code, bold. Links and addresses stay as they were written.

import { el } from "./dom.js";

/** What a line is can be told from so much of it. */
const BEGINNING = 200;
const FENCE = /^ {0,3}(?:`{3,}[^`]*$|~~~)/;
const HEADING = /^ {0,3}#{1,6} +(.*)$/;
const RULER = /^(?=[^|]*\|)(?=[^-]*-)[ :|-]+$/;
const ITEM = /^( *)[-*+](?= )/;
const ROW = /^ *\| */;
const INLINE = /(\*\*[^*\n]+\*\*|`{1,3}[^`\n]+`{1,3}|(?<![\w*])\*[^*\s](?:[^*\n]*[^*\s])?\*(?![\w*]))/;

/** The parts, each with what its text begins in: `fenced` code, a `heading`, a `row` of a table, or a new line. */
export function placed(parts) {
  let line = "";
  let fenced = false;
  return parts.map((part) => {
    if (part.kind === "correction") return part;
    const place = { fenced, heading: HEADING.test(line), row: ROW.test(line), begins: line === "" };
    const lines = (line + part.text).split("\n");
    line = lines.pop().slice(0, BEGINNING);
    for (const whole of lines) if (FENCE.test(whole)) fenced = !fenced;
    return { ...part, place };
  });
}

/** What stands between claims. */
export function blocks(text, { fenced, row, begins }) {
  const shown = [];
  const lines = text.split("\n");
  let code = fenced ? [] : null;
  lines.forEach((line, index) => {
    const whole = begins || index > 0;
    const end = index < lines.length - 1 ? "\n" : "";
    if (whole && FENCE.test(line)) {
      if (code) shown.push(fence(code));
      code = code ? null : [];
    } else if (code) {
      code.push(line);
    } else if (!(whole && RULER.test(line))) {
      const inRow = whole ? ROW.test(line) : row && index === 0;
      shown.push(block(line, whole, inRow), end);
    }
  });
  if (code?.some(Boolean)) shown.push(fence(code));
  return shown;
}

const fence = (lines) => el("code", { class: "fenced" }, lines.join("\n"));

function block(line, whole, inRow) {
  const heading = whole && HEADING.exec(line);
  if (heading) return heading[1] ? el("strong", {}, inline(heading[1])) : null;
  if (inRow) return inline(bars(line.replace(whole ? ROW : /^$/, "").replace(/\| *$/, "")));
  return inline(whole ? line.replace(ITEM, "$1•") : line);
}

/** The text of a claim, in the place where it stands. `missing` are its words that nothing bears out, wrapped already. */
export function claimText(pieces, { heading, row }) {
  const shown = unsigned(pieces).map((piece) => (typeof piece === "string" ? inline(row ? bars(piece) : piece) : piece));
  return heading ? el("strong", {}, shown) : shown;
}

/** The pieces without signs of emphasis or code that stand around a wrapped word alone. */
function unsigned(pieces) {
  const left = [...pieces];
  pieces.forEach((piece, index) => {
    const [sign] = /(\*{1,2}|`)$/.exec(left[index - 1] ?? "") ?? [];
    if (typeof piece === "string" || !sign || !String(left[index + 1] ?? "").startsWith(sign)) return;
    left[index - 1] = left[index - 1].slice(0, -sign.length);
    left[index + 1] = left[index + 1].slice(sign.length);
  });
  return left;
}

/** The cells of a row apart from each other. */
const bars = (text) => text.replaceAll("|", "│");

/** Bold, emphasis and code. */
function inline(text) {
  return text.split(INLINE).map((piece, index) => {
    if (index % 2 === 0) return piece;
    if (piece.startsWith("**")) return el("strong", {}, piece.slice(2, -2));
    if (piece.startsWith("`")) return el("code", {}, piece.replace(/^`+|`+$/g, ""));
    return el("em", {}, piece.slice(1, -1));
  });
}
