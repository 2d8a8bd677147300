// The tab Ask: a chat that streams, each sentence with its verdict once it is there.

import { get, stream } from "./api.js";
import { AnswerView, readAnswer } from "./answer.js";
import { byId, el, wait } from "./dom.js";
import { finish } from "./foot.js";
import { close, openings } from "./panel.js";
import { onLanguage, t } from "./texts.js";

const PRESETS = ["reader", "strict", "report", "papers"];

/** How the page wants a reply: with verdicts as they come, and nothing in the text but `[n]`, since it draws the rest. */
const SHOWN = { profile: "openai", citation_style: "brackets", mark_nonfactual: "", notice: false, progress: true };

let turns = [];
let running = null;

export function startAsk() {
  const form = byId("ask-form");
  const preset = byId("preset");
  onLanguage(() => {
    const chosen = preset.value;
    preset.replaceChildren(
      el("option", { value: "" }, t("serverPreset")),
      ...PRESETS.map((name) => el("option", { value: name }, name)),
    );
    preset.value = chosen;
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const question = byId("question").value.trim();
    if (question && !running) ask(question);
  });
  byId("question").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  byId("stop").addEventListener("click", () => running?.abort());
  byId("anew").addEventListener("click", () => {
    running?.abort();
    turns = [];
    byId("turns").replaceChildren();
    status("");
    close();
    byId("question").focus();
  });
}

/** Names with a profile for other clients behind them, and of replies that are not checked. */
const UNLISTED = /(-raw|@(openai|perplexity|open_webui|markdown|none))$/;

/** Fills the list of models. Throws where the server refuses. */
export async function loadModels() {
  const { data } = await get("v1/models");
  const names = data.map((model) => model.id).filter((name) => !UNLISTED.test(name));
  byId("model").replaceChildren(...names.map((name) => el("option", { value: name }, name)));
}

function status(text) {
  byId("ask-status").textContent = text;
}

function busy(controller) {
  running = controller;
  wait(byId("send"), Boolean(controller));
  if (document.activeElement === byId("stop")) byId("question").focus();
  byId("stop").hidden = !controller;
}

async function ask(question) {
  const controller = new AbortController();
  busy(controller);
  byId("question").value = "";
  status(t("waiting"));
  const view = new AnswerView(openings(() => view));
  const foot = el("div", { class: "foot" });
  const turn = el("article", { class: "turn", "aria-busy": "true" }, [
    el("h2", { class: "asked" }, question),
    view.element,
    foot,
  ]);
  byId("turns").append(turn);
  const live = { content: "", claims: [] };
  const begun = performance.now();
  try {
    const final = await receive(question, controller.signal, live, view);
    view.show(final);
    turns.push({ question, draft: final.draft });
    status(t("took", { seconds: ((performance.now() - begun) / 1000).toFixed(1) }));
    finish(foot, question, view);
  } catch (error) {
    if (live.content) turns.push({ question, draft: view.model.draft });
    else byId("question").value ||= question;
    fail(foot, error);
  } finally {
    turn.removeAttribute("aria-busy");
    busy(null);
  }
}

/** Shows the reply while it comes. Returns the whole of it. */
async function receive(question, signal, live, view) {
  const messages = turns.flatMap((turn) => [
    { role: "user", content: turn.question },
    { role: "assistant", content: turn.draft },
  ]);
  const preset = byId("preset").value;
  const body = {
    model: byId("model").value,
    stream: true,
    messages: [...messages, { role: "user", content: question }],
    vouch: preset ? { ...SHOWN, preset } : SHOWN,
  };
  let last = {};
  for await (const chunk of stream("v1/chat/completions", body, signal)) {
    const content = chunk.choices[0]?.delta?.content;
    if (chunk.progress?.claims) live.claims.push(...chunk.progress.claims);
    if (chunk.verification) last = chunk;
    if (content) {
      live.content += content;
      view.show(readAnswer({ content: live.content, verification: { claims: live.claims } }, false));
    }
    const count = chunk.progress?.checked ?? live.claims.length;
    if (count) status(t("checkedSoFar", { n: count }));
  }
  return readAnswer({ content: live.content, references: last.references, verification: last.verification });
}

function fail(foot, error) {
  if (error.name === "AbortError") {
    status(t("stopped"));
    return;
  }
  status("");
  foot.replaceChildren(el("p", { class: "error", role: "alert" }, explain(error)));
}

/** What went wrong, for a reader. */
export function explain(error) {
  if (error.name === "TypeError") return t("unreachable");
  if (error.status === 401) return t("keyWrong");
  return error.message || t("broken");
}

