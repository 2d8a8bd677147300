// The tab Corpus: what a query finds, and by which half of the search.

import { explain, post } from "./api.js";
import { byId, el, marked, wait, waits } from "./dom.js";
import { showPassage } from "./panel.js";
import { onLanguage, t } from "./texts.js";

const MOST = 10;

let found = null;

export function startCorpus() {
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const query = byId("query").value.trim();
    if (query && !waits(byId("search-send"))) search(query);
  });
  onLanguage(() => found && draw(found));
}

async function search(query) {
  const status = byId("search-status");
  wait(byId("search-send"), true);
  status.textContent = t("searching");
  byId("found").replaceChildren();
  try {
    found = await post("v1/search", { query, top_k: MOST });
    draw(found);
  } catch (error) {
    found = null;
    status.textContent = explain(error);
  } finally {
    wait(byId("search-send"), false);
  }
}

function draw({ query, data }) {
  byId("search-status").textContent = data.length ? t("foundSome", { n: data.length }) : t("foundNone");
  byId("found").replaceChildren(...data.map((hit) => drawHit(hit, query)));
}

function drawHit(hit, query) {
  const half = (name) =>
    el(
      "li",
      { class: hit.found_by.includes(name) ? "half found" : "half" },
      `${t(name)}: ${hit.ranks[name] ? `#${hit.ranks[name]}` : t("notAmong")}`,
      hit.scores[name] === null ? null : ` (${hit.scores[name].toFixed(2)})`,
    );
  return el("li", { class: "hit" }, [
    el(
      "button",
      { type: "button", class: "plainly", click: (event) => showPassage(hit, event.currentTarget) },
      hit.title,
    ),
    hit.section ? el("span", { class: "hint" }, ` ${hit.section}`) : null,
    el("ul", { class: "halves" }, half("dense"), half("lexical")),
    el("p", {}, marked(hit.text, wordsIn(hit.text, query), (word) => el("b", {}, word))),
  ]);
}

/** The spans of the query's words in the text; short words say little. */
function wordsIn(text, query) {
  const words = new Set(pieces(query.toLowerCase()).filter((piece) => TELLING.test(piece)));
  const spans = [];
  let offset = 0;
  for (const piece of pieces(text)) {
    const length = Array.from(piece).length;
    if (words.has(piece.toLowerCase())) spans.push([offset, offset + length]);
    offset += length;
  }
  return spans;
}

const TELLING = /^(?:\p{N}+|\p{Script=Han}{2,}|[\p{L}\p{N}]{4,})$/u;

/** The text cut into words and what stands between them; Chinese has no spaces, so the browser's dictionary cuts it. */
function pieces(text) {
  if (!Intl.Segmenter) return text.split(/([\p{L}\p{N}]+)/u);
  return Array.from(new Intl.Segmenter("zh", { granularity: "word" }).segment(text), ({ segment }) => segment);
}
