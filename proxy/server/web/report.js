// A report of one answer: an HTML file that opens without the server and runs nothing.

import { counts, drawPart } from "./answer.js";
import { el } from "./dom.js";
import { drawFailure, drawPassage, quotedBy } from "./panel.js";
import { language, reasonIn, t } from "./texts.js";
import { drawTimeline } from "./timeline.js";

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** A button that downloads the report of `view()`: `{title, model}`. */
export function reportButton(view) {
  return el("button", { type: "button", class: "report", click: () => download(view()) }, t("download"));
}

function download({ title, model }) {
  const file = new Blob([page(title, model)], { type: "text/html" });
  const anchor = el("a", { href: URL.createObjectURL(file), download: "vouch-report.html" });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 60_000);
}

/** In the words of the reader's own country, where the page speaks that language. */
function today() {
  const own = navigator.language.toLowerCase().startsWith(language()) ? navigator.language : language();
  return new Date().toLocaleString(own, { dateStyle: "long", timeStyle: "short" });
}

/** The file. Everything that was said is in elements whose texts the browser escapes when it writes them out. */
function page(title, model) {
  const head = el("head", {}, [
    el("meta", { charset: "utf-8" }),
    el("meta", { "http-equiv": "Content-Security-Policy", content: POLICY }),
    el("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }),
    el("meta", { name: "color-scheme", content: "light dark" }),
    el("title", {}, title || t("report")),
  ]);
  const failed = model.parts.filter((part) => part.failure);
  const main = el("main", { class: "paper" }, [
    el("h1", {}, title || t("report")),
    el("p", { class: "hint" }, t("made", { date: today() })),
    el("p", {}, counts(model.verification)),
    model.verification.error ? el("p", {}, reasonIn(model.verification.error)) : null,
    el("div", { class: "answer" }, model.parts.map((part) => drawPart(part, model, null))),
    failed.length ? el("h2", {}, t("failures")) : null,
    failed.map((part) =>
      el("section", {}, [
        el("blockquote", { class: "failed" }, part.kind === "correction" ? el("del", {}, part.text) : part.text),
        drawFailure(part.failure, false),
      ]),
    ),
    drawTimeline(model.verification.timeline ?? []),
    el("h2", {}, t("references")),
    model.references.map((reference) =>
      el(
        "section",
        { id: `reference-${reference.n}` },
        drawPassage(quotedBy(model.verification.claims ?? [], reference), `[${reference.n}] ${reference.title}`, false),
      ),
    ),
  ]);
  const body = el("body", {}, main);
  // The style is the page's own, as it was loaded; an element for it would be an inline one, which the page forbids itself.
  const [own] = [...document.styleSheets].filter((sheet) => sheet.href?.endsWith("/web/answer.css"));
  const style = [...own.cssRules].map((rule) => rule.cssText).join("\n");
  const heading = head.outerHTML.replace("</head>", () => `<style>${style}</style></head>`);
  return `<!doctype html>\n<html lang="${language()}">${heading}${body.outerHTML}</html>\n`;
}
