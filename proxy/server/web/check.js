// The tab Check: a text that is there already, checked against the index, documents, or what it cites itself.

import { explain, post } from "./api.js";
import { AnswerView, readAnswer } from "./answer.js";
import { byId, el, wait, waits } from "./dom.js";
import { finish } from "./foot.js";
import { openings } from "./panel.js";
import { onLanguage, t } from "./texts.js";

export function startCheck() {
  byId("add-document").addEventListener("click", addDocument);
  byId("check-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!waits(byId("check-send")) && byId("text").value.trim()) check();
  });
  onLanguage(relabel);
}

/** Puts a text up to be checked, for the user to start it. */
export function propose(text, question) {
  byId("text").value = text;
  byId("check-question").value = question;
  byId("check-send").focus();
}

function addDocument() {
  const remove = (event) => {
    event.currentTarget.parentElement.remove();
    relabel();
    byId("add-document").focus();
  };
  const entry = el("div", { class: "document" }, [
    el("input", { class: "title" }),
    el("textarea", { rows: 3 }),
    el("button", { type: "button", click: remove }, t("remove")),
  ]);
  byId("documents").append(entry);
  relabel();
  entry.firstElementChild.focus();
}

function relabel() {
  [...byId("documents").children].forEach((entry, index) => {
    const [title, text, remove] = entry.children;
    title.setAttribute("aria-label", t("documentTitle", { n: index + 1 }));
    title.placeholder = t("document", { n: index + 1 });
    text.setAttribute("aria-label", t("documentText", { n: index + 1 }));
    remove.textContent = t("remove");
  });
}

function documents() {
  return [...byId("documents").children]
    .map((entry, index) => ({ text: entry.children[1].value, title: entry.children[0].value.trim(), number: index + 1 }))
    .filter((document) => document.text.trim());
}

async function check() {
  const [result, status] = [byId("checked"), byId("check-status")];
  const text = byId("text").value;
  const question = byId("check-question").value.trim();
  const given = documents();
  result.replaceChildren();
  if (byId("own-citations").checked && !given.length) {
    status.textContent = t("needsDocuments");
    return;
  }
  wait(byId("check-send"), true);
  const begun = performance.now();
  status.textContent = t("checking");
  try {
    const answer = byId("own-citations").checked
      ? await checkCitations(text, question, given)
      : await checkText(text, question, given);
    show(result, question, readAnswer(answer));
    status.textContent = t("took", { seconds: ((performance.now() - begun) / 1000).toFixed(1) });
  } catch (error) {
    status.textContent = "";
    result.replaceChildren(el("p", { class: "error", role: "alert" }, explain(error)));
  } finally {
    wait(byId("check-send"), false);
  }
}

async function checkText(text, question, given) {
  const alone = byId("only-documents").checked && given.length;
  const vouch = { citation_style: "brackets", mark_nonfactual: "", ...(alone ? { evidence: "request" } : {}) };
  return post("v1/check", { text, question, vouch, ...(given.length ? { documents: given } : {}) });
}

/** The report on a text's own citations, in the form of a checked text. */
async function checkCitations(answer, question, given) {
  const report = await post("v1/citations/check", { answer, question, documents: given });
  const known = new Map(given.map((document) => [document.number, document]));
  const claims = report.statements.map((statement) => ({
    ...statement,
    references: statement.cited.filter((n) => known.has(n)),
    failure: {
      reason: statement.reason,
      missing: statement.uncovered,
      supporting: statement.missing_citations,
      evidence: undefined,
    },
  }));
  const cited = new Set(claims.flatMap((claim) => claim.references));
  const references = given
    .filter((document) => cited.has(document.number))
    .map((document) => ({
      n: document.number,
      title: document.title || t("document", { n: document.number }),
      text: document.text,
      url: "",
      spans: [],
      score: Math.max(0, ...claims.filter((claim) => claim.references.includes(document.number)).map((claim) => claim.score)),
    }));
  return { content: answer, references, verification: { claims, error: report.error } };
}

function show(result, title, model) {
  const view = new AnswerView(openings(() => view));
  const foot = el("div", { class: "foot" });
  view.show(model);
  result.replaceChildren(view.element, foot);
  finish(foot, title, view);
}
