// The tab Ask: a chat that streams, each sentence with its verdict once it is there.

import { ApiError, explain, get, stream } from "./api.js";
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
  const chosen = byId("model").value;
  byId("model").replaceChildren(
    ...names.map((name) => el("option", { value: name, selected: name === chosen }, name)),
  );
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
  const chat = turns;
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
  const live = { content: "", claims: [], references: [] };
  const begun = performance.now();
  try {
    const final = await receive(question, controller.signal, live, view);
    if (!final.parts.length) throw new ApiError(t("noText"), 200);
    view.show(final);
    chat.push({ question, draft: final.draft });
    status(t("took", { seconds: ((performance.now() - begun) / 1000).toFixed(1) }));
    finish(foot, question, view);
  } catch (error) {
    if (chat !== turns) return; // a new chat was begun meanwhile
    const stopped = error.name === "AbortError";
    status(stopped ? t("stopped") : "");
    if (live.content) {
      view.show(readLive(live, stopped ? t("stopped") : explain(error)));
      chat.push({ question, draft: view.model.draft });
      finish(foot, question, view);
      return;
    }
    byId("question").value ||= question;
    if (stopped) turn.remove();
    else foot.replaceChildren(el("p", { class: "error", role: "alert" }, explain(error)));
  } finally {
    turn.removeAttribute("aria-busy");
    busy(null);
  }
}

/** Shows the reply while it comes. Returns the whole of it. */
async function receive(question, signal, live, view) {
  // Upstreams refuse messages without a text: of an answer that was left out as a whole there is none.
  const said = turns.filter((turn) => turn.draft.trim());
  const messages = said.flatMap((turn) => [
    { role: "user", content: turn.question },
    { role: "assistant", content: turn.draft },
  ]);
  const preset = byId("preset").value;
  const body = {
    model: byId("model").value,
    stream: true,
    messages: [...messages, { role: "user", content: question }],
    vouch: preset ? { ...SHOWN, preset } : { ...SHOWN },
  };
  let last = {};
  let ended = null;
  const drawing = paced(() => {
    view.show(readLive(live));
    return view.element.offsetHeight; // its lines are broken now: that takes time too
  });
  try {
    for await (const chunk of stream("v1/chat/completions", body, signal)) {
      const content = chunk.choices[0]?.delta?.content;
      if (chunk.progress?.claims) live.claims.push(...chunk.progress.claims);
      if (chunk.progress?.references) live.references.push(...chunk.progress.references);
      if (chunk.verification) last = chunk;
      ended = chunk.choices[0]?.finish_reason ?? ended;
      if (content) {
        live.content += content;
        drawing.soon();
      }
      const count = chunk.progress?.checked ?? live.claims.length;
      if (count) status(t("checkedSoFar", { n: count }));
    }
  } finally {
    drawing.end();
  }
  const { references, verification } = last;
  const early = ended && ended !== "stop" ? { error: verification?.error ?? t("endedEarly", { why: ended }) } : {};
  return readAnswer({ content: live.content, references, verification: { ...verification, ...early } });
}

/** The answer as far as it has come. `error` says why it ends there. */
const readLive = ({ content, claims, references }, error) =>
  readAnswer({ content, references, verification: { claims, error } }, false);

/** Draws soon, and at most a fifth of the time: a long answer takes long to draw. */
function paced(draw) {
  let [timer, took] = [null, 0];
  const now = () => {
    const begun = performance.now();
    draw();
    [timer, took] = [null, performance.now() - begun];
  };
  return { soon: () => (timer ??= setTimeout(now, 4 * took)), end: () => clearTimeout(timer) };
}
