// Starts the page: tabs, language, the key, and the three tabs' own modules.

import { onKeyNeeded, setKey } from "./api.js";
import { explain, loadModels, startAsk } from "./ask.js";
import { startCheck } from "./check.js";
import { startCorpus } from "./corpus.js";
import { byId } from "./dom.js";
import { close } from "./panel.js";
import { language, onLanguage, switchLanguage, t } from "./texts.js";

const TABS = ["ask", "check", "corpus"];
const FIRST = { ask: "question", check: "text", corpus: "query" };

function open(name, { focus = false } = {}) {
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
    const step = { ArrowRight: 1, ArrowLeft: -1 };
    tab.addEventListener("click", () => {
      history.replaceState(null, "", `#${name}`);
      open(name);
      byId(FIRST[name]).focus();
    });
    tab.addEventListener("keydown", (event) => {
      if (!(event.key in step)) return;
      const next = TABS[(index + step[event.key] + TABS.length) % TABS.length];
      history.replaceState(null, "", `#${next}`);
      open(next, { focus: true });
    });
  });
  const named = () => (TABS.includes(location.hash.slice(1)) ? location.hash.slice(1) : TABS[0]);
  addEventListener("hashchange", () => open(named()));
  open(named());
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
  try {
    await loadModels();
    byId("ask-status").textContent = "";
    byId(FIRST[TABS.find((name) => !byId(name).hidden)]).focus();
  } catch (error) {
    byId("ask-status").textContent = explain(error);
  }
}

startTexts();
startTabs();
startKey();
startAsk();
startCheck();
startCorpus();
begin();
