// What stands beside an answer: how many claims have each verdict, the references, the time line, what to keep.

import { AnswerView, counts, readAnswer } from "./answer.js";
import { byId, el } from "./dom.js";
import { drawReferences, openings } from "./panel.js";
import { answerIn, linkTo } from "./permalink.js";
import { reportButton } from "./report.js";
import { onLanguage, reasonIn, t } from "./texts.js";
import { drawTimeline } from "./timeline.js";

/** Fills the foot of an answer that is complete, and puts its time line below both. */
export function finish(foot, title, view) {
  const model = view.model;
  let shown = null;
  onLanguage(() => {
    const timeline = drawTimeline(model.verification.timeline ?? []);
    if (timeline) {
      timeline.open = Boolean(shown?.open);
      if (shown) shown.replaceWith(timeline);
      else foot.after(timeline);
      shown = timeline;
    }
    foot.replaceChildren(
      el("p", { class: "counts" }, counts(model.verification)),
      ...(model.verification.error ? [el("p", { class: "error", role: "alert" }, reasonIn(model.verification.error))] : []),
      drawReferences(model),
      el("p", { class: "keep" }, reportButton(() => ({ title, model })), linkButton(title, model)),
    );
  });
}

/** A button that makes a link to the answer and copies it; the link is shown, for where copying is not allowed. */
function linkButton(title, model) {
  const click = async (event) => {
    const place = event.currentTarget.parentElement;
    const link = await linkTo({ ...model, title });
    place.querySelector(".link")?.remove();
    if (!link) {
      place.append(el("span", { class: "link hint", role: "status" }, t("linkTooLong")));
      return;
    }
    const shown = el("input", { readonly: true, value: link, "aria-label": t("link"), class: "address" });
    const told = el("span", { role: "status", class: "hint" });
    place.append(el("span", { class: "link" }, shown, told));
    shown.select();
    try {
      await navigator.clipboard.writeText(link);
      told.textContent = t("copied");
    } catch {
      told.textContent = t("copyIt");
    }
  };
  return el("button", { type: "button", class: "permalink", click }, t("makeLink"));
}

/** Shows the answer that a link holds. `again(text, question)` puts it up to be checked. */
export async function showShared(fragment, again) {
  const place = byId("shared-answer");
  place.replaceChildren();
  byId("shared-again").replaceChildren();
  let answer;
  try {
    const shared = await answerIn(fragment);
    answer = { title: shared.title, model: readAnswer(shared) };
  } catch {
    if (fragment === location.hash) place.replaceChildren(el("p", { class: "error", role: "alert" }, t("linkBroken")));
    return;
  }
  if (fragment !== location.hash) return; // another one was opened meanwhile
  const { title, model } = answer;
  const view = new AnswerView(openings(() => view));
  const foot = el("div", { class: "foot" });
  view.show(model);
  const check = el("button", { type: "button", click: () => again(model.draft, title) });
  onLanguage(() => (check.textContent = t("checkAgain")));
  byId("shared-again").replaceChildren(check);
  const asked = title ? el("h2", { class: "asked" }, title) : null;
  place.replaceChildren(el("article", { class: "turn" }, asked, view.element, foot));
  finish(foot, title, view);
}
