// Starts the page: tabs, language, the key, and the three tabs' own modules.

import { explain, onKeyNeeded, setKey } from "./api.js";
import { loadModels, startAsk } from "./ask.js";
import { propose, startCheck } from "./check.js";
import { startCorpus } from "./corpus.js";
import { byId } from "./dom.js";
import { showShared } from "./foot.js";
import { close } from "./panel.js";
import { isAnswer } from "./permalink.js";
import { language, onLanguage, switchLanguage, t } from "./texts.js";

const TABS = ["ask", "check", "corpus"];
const FIRST = { ask: "question", check: "text", corpus: "query" };

/** Whether the server was asked for its models; for an answer that a link holds it need not be. */
let begun = false;

function open(name, { focus = false } = {}) {
  byId("shared").hidden = true;
  if (!begun) begin();
  for (const tab of TABS) {
    const chosen = tab === name;
    byId(tab).hidden = !chosen;
    byId(`tab-${tab}`).setAttribute("aria-selected", String(chosen));
    byId(`tab-${tab}`).tabIndex = chosen ? 0 : -1;
  }
  close();
  if (focus) byId(`tab-${name}`).focus();
}

function startTabs() {
  TABS.forEach((name, index) => {
    const tab = byId(`tab-${name}`);
    const others = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: TABS.length - 1 };
    tab.addEventListener("click", () => {
      history.replaceState(null, "", `#${name}`);
      open(name);
      byId(FIRST[name]).focus();
    });
    tab.addEventListener("keydown", (event) => {
      if (!(event.key in others)) return;
      event.preventDefault();
      const next = TABS.at(others[event.key] % TABS.length);
      history.replaceState(null, "", `#${next}`);
      open(next, { focus: true });
    });
  });
  const follow = () => {
    if (isAnswer(location.hash)) openShared();
    else open(TABS.includes(location.hash.slice(1)) ? location.hash.slice(1) : TABS[0]);
  };
  addEventListener("hashchange", follow);
  follow();
}

/** Shows the answer in the address instead of a tab. */
function openShared() {
  for (const tab of TABS) {
    byId(tab).hidden = true;
    byId(`tab-${tab}`).setAttribute("aria-selected", "false");
    byId(`tab-${tab}`).tabIndex = tab === TABS[0] ? 0 : -1;
  }
  close();
  byId("shared").hidden = false;
  showShared(location.hash, (text, question) => {
    history.replaceState(null, "", "#check");
    open("check");
    propose(text, question);
  });
}

function startTexts() {
  byId("language").addEventListener("click", switchLanguage);
  onLanguage(() => {
    document.documentElement.lang = language();
    for (const element of document.querySelectorAll("[data-text]")) element.textContent = t(element.dataset.text);
    for (const element of document.querySelectorAll("[data-label]")) {
      element.setAttribute("aria-label", t(element.dataset.label));
    }
    byId("language").textContent = t("other");
    byId("language").lang = language() === "en" ? "zh" : "en";
  });
}

function startKey() {
  onKeyNeeded(() => {
    byId("key-form").hidden = false;
    byId("key").focus();
  });
  byId("key-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    setKey(byId("key").value.trim());
    byId("key").value = "";
    byId("key-form").hidden = true;
    await begin();
  });
}

async function begin() {
  begun = true;
  try {
    await loadModels();
    byId("ask-status").textContent = "";
    const shown = TABS.find((name) => !byId(name).hidden);
    if (shown && document.activeElement === document.body) byId(FIRST[shown]).focus();
  } catch (error) {
    byId("ask-status").textContent = explain(error);
  }
}

startTexts();
startKey();
startAsk();
startCheck();
startCorpus();
startTabs();
