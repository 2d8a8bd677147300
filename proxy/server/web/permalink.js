// An answer in the fragment of a link: packed, of bounded size, and never sent to a server.

import { quotedBy } from "./panel.js";

/** A longer link is cut by programs that pass it on. */
export const MOST = 8000;
/** What a packed answer may become, in bytes: a link may come from anybody. */
const MOST_UNPACKED = 200_000;
const PREFIX = "answer=1.";

const text = (value) => (typeof value === "string" ? value : "");
const number = (value) => (Number.isFinite(value) ? value : 0);
const time = (value) => Math.min(86_400, Math.max(0, number(value)));
const list = (value, each) => (Array.isArray(value) ? value.slice(0, 1000).map(each) : []);
const span = (value) => (Array.isArray(value) && value.length === 2 ? value.map(number) : [0, 0]);
const given = (value) => typeof value === "object" && value !== null;
const VERDICTS = ["supported", "contradicted", "unsupported", "not_checkable", "unverified"];
const verdict = (value) => (VERDICTS.includes(value) ? value : "unverified");
const PHASES = ["waiting", "upstream", "claims", "retrieval", "checking", "correction"];

/** The answer with what the page shows of it and nothing else, each value of the kind that it should have. */
function plain({ title, content, references, verification }) {
  const v = given(verification) ? verification : {};
  return {
    title: text(title),
    content: text(content),
    references: list(references, (item) => ({
      n: number(item?.n),
      id: text(item?.id),
      title: text(item?.title),
      section: text(item?.section),
      url: text(item?.url),
      text: text(item?.text),
      quote: text(item?.quote),
      highlights: list(item?.highlights, span),
      score: number(item?.score),
      spans: list(item?.spans, span),
    })),
    verification: {
      best: number(v.best),
      claims: list(v.claims, (claim) => ({
        start: number(claim?.start),
        end: number(claim?.end),
        verdict: verdict(claim?.verdict),
        references: list(claim?.references, number),
        ...(claim?.reason ? { reason: text(claim.reason) } : {}),
        evidence: list(claim?.evidence, (each) => ({
          n: number(each?.n),
          quote: text(each?.quote),
          highlights: list(each?.highlights, span),
        })),
        ...(given(claim?.failure) ? { failure: failure(claim.failure) } : {}),
      })),
      attempts: list(v.attempts, (attempt) => ({ nonfactual: list(attempt?.nonfactual, failure) })),
      timeline: list(v.timeline, (step) => ({
        phase: PHASES.includes(step?.phase) ? step.phase : "",
        start: time(step?.start),
        end: Math.max(time(step?.start), time(step?.end)),
        ...(Number.isFinite(step?.first) ? { first: time(step.first) } : {}),
        ...(Number.isFinite(step?.count) ? { count: step.count } : {}),
      })),
      ...(Array.isArray(v.dropped) ? { dropped: list(v.dropped, text) } : {}),
      ...(v.error ? { error: text(v.error) } : {}),
    },
  };
}

function failure(item) {
  const evidence = item?.evidence;
  return {
    text: text(item?.text),
    verdict: verdict(item?.verdict),
    reason: text(item?.reason),
    missing: list(item?.missing, text),
    ...(Array.isArray(item?.supporting) ? { supporting: list(item.supporting, number) } : {}),
    ...(Array.isArray(item?.replaced_by) ? { replaced_by: span(item.replaced_by) } : {}),
    ...(evidence === null ? { evidence } : {}),
    ...(given(evidence)
      ? { evidence: { id: text(evidence.id), title: text(evidence.title), url: text(evidence.url), quote: text(evidence.quote) } }
      : {}),
  };
}

/**
 * The link to an answer: with its passages, else with their quotes alone, else null, where it would be longer
 * than `MOST`.
 */
export async function linkTo(answer) {
  const whole = plain(answer);
  const quotes = whole.references.map((item) => {
    const { quote } = quotedBy(whole.verification.claims, item);
    return { ...item, text: quote || item.text };
  });
  for (const shorter of [whole, { ...whole, references: quotes }]) {
    const file = new Blob([JSON.stringify(shorter)]);
    const link = `${location.origin}${location.pathname}#${PREFIX}${await pack(file)}`;
    if (link.length <= MOST && file.size <= MOST_UNPACKED) return link;
  }
  return null;
}

export const isAnswer = (fragment) => fragment.startsWith(`#${PREFIX}`);

/** The answer in a fragment. Throws where there is none that can be read. */
export async function answerIn(fragment) {
  return plain(JSON.parse(await unpack(fragment.slice(PREFIX.length + 1))));
}

async function pack(file) {
  const packed = file.stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpack(encoded) {
  const binary = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const pieces = [];
  let size = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST_UNPACKED) {
      await reader.cancel();
      throw new Error("too large");
    }
    pieces.push(value);
  }
  return new Blob(pieces).text();
}
