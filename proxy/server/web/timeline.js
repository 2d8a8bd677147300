// The time line of a request: a row for each phase, a bar for each step.

import { el, svg } from "./dom.js";
import { t } from "./texts.js";

const PHASES = ["waiting", "upstream", "claims", "retrieval", "checking", "correction"];
const WIDTH = 1000;
const THINNEST = 4;
/** Waiting of fewer seconds is not worth a row. */
const NO_WAIT = 0.005;

/** The chart of `steps`, folded up, or null where there are none. */
export function drawTimeline(steps) {
  const all = steps.reduce((latest, step) => Math.max(latest, step.end), 0.001);
  const rows = PHASES.map((phase) => [phase, steps.filter((step) => step.phase === phase)])
    .filter(([phase, own]) => own.length && (phase !== "waiting" || busy(own) >= NO_WAIT))
    .map(([phase, own]) => drawRow(phase, own, all));
  if (!rows.length) return null;
  return el("details", { class: "timeline" }, [
    el("summary", {}, t("timeline", { seconds: seconds(all) })),
    el("table", {}, el("tbody", {}, rows)),
  ]);
}

function drawRow(phase, steps, all) {
  const place = (time) => (WIDTH * time) / all;
  const bar = (start, end, name) => {
    const width = Math.max(THINNEST, place(end - start));
    return svg("rect", { class: name, x: Math.min(place(start), WIDTH - width), y: 0, width, height: 10 });
  };
  const bars = steps.map((step) => [
    bar(step.start, step.end, phase),
    step.first === undefined ? null : bar(step.start, step.first, "silent"),
  ]);
  const chart = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} 10`, preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" },
    bars,
  );
  const count = phase === "upstream" || phase === "correction" ? steps.length : sum(steps.map((step) => step.count ?? 0));
  return el("tr", {}, [
    el("th", { scope: "row" }, t(`${phase}Phase`)),
    el("td", { class: "bars" }, chart),
    el("td", { class: "hint" }, t("busy", { seconds: seconds(busy(steps)) }), count ? ` · ${t(`${phase}Count`, { n: count })}` : ""),
  ]);
}

const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);

const seconds = (time) => time.toFixed(time < 0.1 ? 3 : 2);

/** For how many seconds at least one of the steps went on. */
function busy(steps) {
  let [total, until] = [0, 0];
  for (const { start, end } of [...steps].sort((a, b) => a.start - b.start)) {
    total += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return total;
}
