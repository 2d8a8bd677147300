// Reads an answer of the server into parts (text, claims, what was there before) and draws them.

import { el, find, kept, marked } from "./dom.js";
import { blocks, claimText, placed } from "./markdown.js";
import { onLanguage, t } from "./texts.js";

export const SIGNS = { supported: "✓", contradicted: "✗", unsupported: "?", unverified: "…", not_checkable: "" };

/**
 * An answer: its parts in order, its references by number, and its text without what Vouch added.
 *
 * The server counts code points, so the content is cut as an array of them.
 */
export function readAnswer({ content = "", references = [], verification = {} }, final = true) {
  const points = Array.from(content);
  const slice = (start, end) => points.slice(start, end).join("");
  const cited = new Map(references.map((reference) => [reference.n, reference]));
  const markers = new Map(references.flatMap((reference) => reference.spans));
  const failures = failuresOf(verification);
  const corrections = correctionsOf(verification).filter(({ text, at, end }) => slice(at, end).trim() !== text.trim());
  const parts = [];
  let position = 0;

  const between = (end) => {
    if (end > position) parts.push({ kind: "text", text: slice(position, end) });
    position = Math.max(position, end);
  };
  const before = (place) => {
    while (corrections.length && corrections[0].at <= place) parts.push(corrections.shift());
  };

  (verification.claims ?? []).forEach((claim, index) => {
    if (claim.start < position) return;
    between(claim.start);
    before(claim.start);
    const failure = ["contradicted", "unsupported"].includes(claim.verdict) ? failures.shift() : undefined;
    const reason = (final && claim.verdict === "unverified" && verification.error) || claim.reason;
    const why = claim.failure ?? failure ?? (reason ? { reason } : null);
    parts.push({ kind: "claim", index, text: slice(claim.start, claim.end), claim, failure: why });
    position = claim.end;
    for (const n of claim.references ?? []) {
      const bracketed = position + `[${n}]`.length;
      const untold = !final || !cited.get(n)?.spans.length; // where the markers of this reference stand
      const end = markers.get(position) ?? (untold && slice(position, bracketed) === `[${n}]` ? bracketed : 0);
      position = Math.max(position, end);
    }
  });
  before(position);
  between(points.length);
  before(Infinity);
  const said = parts.filter((part) => part.kind !== "correction");
  return { content, parts: placed(parts), references, cited, verification, draft: said.map((part) => part.text).join("") };
}

/** The failed claims of the answer itself, in its order. */
function failuresOf(verification) {
  if (verification.dropped) return [];
  return [...(verification.attempts?.[verification.best]?.nonfactual ?? [])];
}

/** What failed in earlier drafts and was corrected, each once, by where it stood. */
function correctionsOf(verification) {
  const last = (verification.best ?? 0) + (verification.dropped ? 1 : 0);
  const earlier = (verification.attempts ?? []).slice(0, last).flatMap((attempt) => attempt.nonfactual);
  const seen = new Set();
  return earlier
    .filter(({ text, replaced_by: place }) => place && !seen.has(text) && seen.add(text))
    .map((failure) => ({
      kind: "correction",
      text: failure.text,
      at: failure.replaced_by[0],
      end: failure.replaced_by[1],
      left: failure.replaced_by[0] === failure.replaced_by[1],
      failure,
    }))
    .sort((a, b) => a.at - b.at);
}

export function verdictOf(name) {
  return t(name in SIGNS ? name : "unverified");
}

/** Shows an answer and keeps what has not changed while it grows. `on` has `cite(n, opener, claim)` and `why(part, opener)`. */
export class AnswerView {
  constructor(on) {
    this.on = on;
    this.element = el("div", { class: "answer" });
    this.keys = [];
    this.model = null;
    onLanguage(() => this.model && this.show(this.model, true));
  }

  show(model, anew = false) {
    this.model = model;
    const title = (n) => model.cited.get(n)?.title;
    const keys = model.parts.map((part) => JSON.stringify([part, part.claim?.references?.map(title)]));
    let same = 0;
    while (!anew && same < keys.length && keys[same] === this.keys[same]) same += 1;
    const focused = document.activeElement;
    const again = kept(focused);
    while (this.element.children.length > same) this.element.lastElementChild.remove();
    for (const part of model.parts.slice(same)) this.element.append(drawPart(part, model, this.on));
    if (!focused.isConnected) again()?.focus();
    this.keys = keys;
  }
}

/** One part. Without `on` it is for a report: citations are links within it, and nothing is to be clicked. */
export function drawPart(part, model, on) {
  if (part.kind === "text") return el("span", { class: "plain" }, blocks(part.text, part.place));
  if (part.kind === "correction") return drawCorrection(part, on);
  const { claim, failure } = part;
  const verdict = claim.verdict;
  const missing = spansOf(part.text, failure?.missing ?? []);
  const pieces = marked(part.text, missing, (word) => el("u", { class: "missing" }, word));
  return el(
    "span",
    { class: "statement", "data-verdict": verdict },
    el("span", { class: `claim ${verdict}` }, claimText(pieces, part.place)),
    drawSign(part, on),
    (claim.references ?? []).map((n) => drawCitation(n, model, on, claim)),
  );
}

function drawSign(part, on) {
  const { verdict } = part.claim;
  if (!SIGNS[verdict]) return null;
  const named = verdictOf(verdict);
  const attributes = { class: `sign ${verdict}`, title: named };
  if (!on || verdict === "supported") {
    return el("span", { ...attributes, role: "img", "aria-label": named }, SIGNS[verdict]);
  }
  const click = (event) => on.why(part, event.currentTarget);
  const label = t("why", { verdict: named });
  return el("button", { ...attributes, type: "button", "aria-label": label, click }, SIGNS[verdict]);
}

function drawCitation(n, model, on, claim) {
  if (!on) return el("a", { class: "cite", href: `#reference-${n}` }, `[${n}]`);
  const title = model.cited.get(n)?.title;
  const label = title ? t("source", { n, title }) : `[${n}]`;
  const click = (event) => on.cite(n, event.currentTarget, claim);
  return el("button", { type: "button", class: "cite", "aria-label": label, title, click }, `[${n}]`);
}

function drawCorrection(part, on) {
  const label = t(part.left ? "leftOut" : "before");
  const click = on && ((event) => on.why(part, event.currentTarget));
  return el(
    "span",
    { class: "correction" },
    el("del", { title: label }, part.text),
    on
      ? el("button", { type: "button", class: "sign corrected", "aria-label": label, title: label, click }, "↻")
      : el("span", { class: "sign corrected", title: label }, "↻"),
    " ",
  );
}

/** Where the words stand in the text: ascending spans that don't overlap. */
function spansOf(text, words) {
  const spans = words.map((word) => find(text, word)).filter(Boolean);
  return spans.sort((a, b) => a[0] - b[0]);
}

/** How many claims have each verdict, in words. */
export function counts(verification) {
  const claims = verification.claims ?? [];
  const told = Object.keys(SIGNS)
    .map((verdict) => [verdict, claims.filter((claim) => claim.verdict === verdict).length])
    .filter(([verdict, count]) => count && verdict !== "not_checkable")
    .map(([verdict, count]) => `${SIGNS[verdict]} ${count} ${verdictOf(verdict)}`);
  if (verification.dropped?.length) told.push(t("leftOutCount", { n: verification.dropped.length }));
  return told.length ? told.join(" · ") : t("nothing");
}
