// The panel beside an answer: a passage with its quote, why a claim failed, the list of references.

import { explain, get } from "./api.js";
import { verdictOf } from "./answer.js";
import { byId, el, find, findAll, kept, link, marked, opens } from "./dom.js";
import { onLanguage, reasonIn, t } from "./texts.js";

let opener = null;
let redraw = null;

/** Shows what `draw()` makes, with a button to close it; focus goes there and later back. */
function show(draw, from) {
  const panel = byId("panel");
  opener = from ? kept(from) : opener;
  redraw = () => {
    const shut = el("button", { type: "button", class: "close", click: close }, t("close"));
    panel.replaceChildren(shut, ...draw().flat(Infinity).filter(Boolean));
  };
  redraw();
  panel.hidden = false;
  document.body.classList.add("with-panel");
  panel.focus({ preventScroll: true });
  panel.scrollTop = 0;
  // On a phone it covers the lower part of the window: what was opened moves above it.
  if (from && panel.getBoundingClientRect().top > 0) from.scrollIntoView();
}

export function close() {
  const panel = byId("panel");
  if (panel.hidden) return;
  panel.hidden = true;
  redraw = null;
  document.body.classList.remove("with-panel");
  opener?.()?.focus();
  opener = null;
}

onLanguage(() => redraw?.());
document.addEventListener("keydown", (event) => event.key === "Escape" && close());

/** What a view of an answer calls when a citation or a verdict is opened. */
export const openings = (view) => ({
  cite: (n, from, claim) => showReference(view().model, n, from, claim),
  why: (part, from) => showFailure(view().model, part, from),
});

/** Shows what `claim` cites of a reference, or without one what any claim does. */
function showReference(model, n, from, claim) {
  if (!model.cited.has(n)) return;
  const reference = quotedBy(claim ? [claim] : (model.verification.claims ?? []), model.cited.get(n));
  show(() => [drawPassage(reference, `[${n}] ${reference.title}`), drawReferences(model, "alsoCited")], from);
}

function showFailure(model, part, from) {
  const { failure } = part;
  const verdict = part.claim?.verdict ?? failure?.verdict;
  show(
    () => [
      el("h2", { class: "sentence" }, part.kind === "correction" ? t(part.left ? "leftOut" : "before") : verdictOf(verdict)),
      el("blockquote", { class: "failed" }, part.text),
      drawFailure(failure ?? {}),
      drawReferences(model, "alsoCited"),
    ],
    from,
  );
}

/** Why a claim failed: the reason, the words that nothing bears out, the nearest evidence. */
export function drawFailure(failure, interactive = true) {
  const { reason, missing = [], evidence, supporting = [] } = failure;
  return el("div", { class: "failure" }, [
    reason ? [el("h3", {}, t("reason")), el("p", { class: "sentence" }, reasonIn(reason))] : null,
    missing.length
      ? [el("h3", {}, t("missing")), el("ul", { class: "words" }, missing.map((word) => el("li", {}, word)))]
      : null,
    supporting.length ? [el("h3", {}, t("supporting")), el("p", {}, supporting.map((n) => `[${n}]`).join(" "))] : null,
    evidence
      ? [
          el("h3", {}, t("nearest")),
          el("p", {}, link(evidence.url, evidence.title)),
          el("blockquote", {}, el("mark", {}, evidence.quote)),
          interactive ? el("button", { type: "button", click: () => fetchPassage(evidence) }, t("openPassage")) : null,
        ]
      : null,
    evidence === null ? el("p", {}, t("noEvidence")) : null,
  ]);
}

async function fetchPassage({ id, quote, title }) {
  const asking = redraw;
  try {
    const passage = await get(`v1/references/${encodeURIComponent(id)}`);
    if (redraw === asking) showPassage({ ...passage, quote });
  } catch (error) {
    if (redraw === asking) show(() => [el("h2", {}, title), el("p", { role: "alert" }, explain(error))]);
  }
}

/** A passage alone, as the search finds it. */
export function showPassage(passage, from) {
  show(() => [drawPassage(passage, passage.title)], from);
}

/** A passage with its quote marked and the words underlined that carry the claim. */
export function drawPassage(passage, title, interactive = true) {
  const { section, text, quote = "", url, id, document_id: documentId, start, end } = passage;
  const quotes = quotesIn(passage);
  const carrying = (piece) => el("mark", {}, underlined(piece, passage));
  const [first] = quotes;
  const source = ours(url, id) && first && !url.includes("?") ? `${url}?quote=${first[0]}-${first[1]}` : url;
  const around = surroundings.get(id);
  return el("article", { class: "passage" }, [
    el("h2", {}, title),
    section && !title.endsWith(section) ? el("p", { class: "hint" }, section) : null,
    around?.before.map((each) => el("p", { class: "around" }, each.text)),
    el("blockquote", {}, quote ? marked(text, quotes, carrying) : text),
    around?.after.map((each) => el("p", { class: "around" }, each.text)),
    interactive && !around && inIndex(id, url)
      ? el("button", { type: "button", class: "surround", click: (event) => surround(id, event.currentTarget) }, t("showAround"))
      : null,
    opens(source) ? el("p", {}, link(source, t("openSource")), " ", el("span", { class: "hint" }, bare(url))) : null,
    documentId ? el("p", { class: "hint" }, t("place", { document: documentId, start, end })) : null,
  ]);
}

/** An address for people: without the words that a browser looks for, and without our signature. */
const bare = (url) => url.replace(/#?:~:text=.*$/, "").replace(/(\/v1\/references\/\w+)\?.*$/, "$1");

const ours = (url, id) => opens(url) && new URL(url).pathname.endsWith(`/v1/references/${id}`);

/** Whether the server has the passage: those of the documents of a request are gone with it. */
const inIndex = (id, url) => Boolean(id) && !url.startsWith("urn:");

/** What stands around passages, by their ids, once it was asked for. */
const surroundings = new Map();

async function surround(id, button) {
  button.disabled = true;
  try {
    surroundings.set(id, await get(`v1/references/${encodeURIComponent(id)}?around=2`));
    redraw?.();
    byId("panel").focus({ preventScroll: true });
  } catch (error) {
    button.replaceWith(el("p", { role: "alert", class: "hint" }, explain(error)));
  }
}

const GAP = " … ";
/** A link may come from anybody, with a quote of any number of pieces. */
const MOST_QUOTES = 100;

/** A reference with what these claims cite of it as its quote, in the order of its text. */
export function quotedBy(claims, reference) {
  const own = claims.flatMap((claim) => claim.evidence ?? []).filter(({ n }) => n === reference.n);
  const pieces = [...new Map(own.map((each) => [each.quote, each])).values()]
    .map((each) => ({ ...each, at: find(reference.text, each.quote)?.[0] ?? 0 }))
    .sort((one, other) => one.at - other.at);
  if (!pieces.length) return reference;
  let offset = 0;
  const highlights = pieces.flatMap((each) => {
    const moved = each.highlights.map(([start, end]) => [start + offset, end + offset]);
    offset += Array.from(each.quote + GAP).length;
    return moved;
  });
  return { ...reference, quote: pieces.map((each) => each.quote).join(GAP), highlights };
}

/** The spans of the quote in the passage; the quotes of several passages are joined. */
export function quotesIn({ text, quote = "" }) {
  return findAll(text, text.includes(quote) ? [quote] : quote.split(GAP, MOST_QUOTES));
}

/** A piece of the quote, with the words that say what the claim says underlined. */
function underlined(piece, { quote = "", highlights = [] }) {
  const place = find(quote, piece);
  if (!place) return piece;
  const inside = highlights
    .filter(([start, end]) => start >= place[0] && end <= place[1])
    .map(([start, end]) => [start - place[0], end - place[0]]);
  return marked(piece, inside, (word) => el("u", {}, word));
}

export function drawReferences(model, name = "references") {
  const entry = (reference) =>
    el(
      "li",
      { value: reference.n },
      el(
        "button",
        { type: "button", class: "plainly", click: (event) => showReference(model, reference.n, opener?.() ?? event.currentTarget) },
        reference.title,
      ),
      reference.section && !reference.title.endsWith(reference.section) ? el("span", { class: "hint" }, ` ${reference.section} ·`) : null,
      " ",
      el("span", { class: "hint printed" }, opens(reference.url) ? `${bare(reference.url)} · ` : ""),
      el("span", { class: "hint score" }, t("score", { score: Number(reference.score).toFixed(2) })),
    );
  return el("nav", { class: "references", "aria-label": t(name) }, [
    el("h2", {}, t("references")),
    model.references.length
      ? el("ol", {}, model.references.map(entry))
      : el("p", { class: "hint" }, t("noReferences")),
  ]);
}
