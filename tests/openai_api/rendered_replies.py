"""Checked replies made of any text, in any dress, whole and streamed, without a server."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proxy.engine.delivery import Answer, Rendering
from proxy.engine.reply_stream import reader
from proxy.openai_api.chat.response import choices, completion
from proxy.openai_api.chat.stream import ChatSerializer, Chunks
from proxy.openai_api.profiles import PROFILES
from proxy.types import (
    Attempt,
    CitationStyle,
    Claim,
    Draft,
    Evidence,
    Finding,
    Json,
    Outcome,
    Passage,
    ProfileName,
    Reply,
    Usage,
    Verdict,
)

PASSAGES = [
    Passage("a", "a.md", "Paris", "", "Paris is the capital of France.", "https://a.example/x_(y)", 0, 31),
    Passage("b", "b.md", "*The* [Louvre] | `art` <b>", "", "The Louvre is a museum.", "", 0, 23),
    Passage("c", "c.md", "巴黎", "历史", "巴黎是法国首都。", "https://c.example/1", 0, 8),
    Passage("d", "d.md", "Paris", "", "Paris lies on the Seine.", "https://a.example/x_(y)", 0, 24),
    Passage("e", "e.md", "C:\\dir $5 & ~x~", "", "Five dollars.", "urn:document:e", 0, 13),
]


@dataclass(frozen=True, slots=True)
class Dressed:
    """A reply to the draft, which is the upstream's text as it was checked; `content` is what is shown."""

    draft: str
    whole: Json
    chunks: list[Json]
    footer: str

    @property
    def content(self) -> str:
        content: str = self.whole["choices"][0]["message"]["content"]
        return content

    @property
    def pieces(self) -> list[str]:
        """The streamed content."""
        deltas = (chunk["choices"][0]["delta"] for chunk in self.chunks)
        return [delta["content"] for delta in deltas if delta.get("content")]


def dressed(
    text: str,
    name: ProfileName,
    style: CitationStyle | None = None,
    sign: str = "",
    *,
    seed: int = 1,
    editable: bool = True,
) -> Dressed:
    """What a client gets for an upstream's text with verdicts drawn by chance."""
    return rendered(*checked(text, sign, seed=seed, editable=editable), name, style, sign)


def checked(text: str, sign: str, *, seed: int, editable: bool = True) -> tuple[str, list[Finding], bool]:
    """The draft, with findings, and whether it may be edited."""
    draft, claims = reader("replace", sign)(text)
    rng = random.Random(seed)
    return draft, [finding(claim, rng) for claim in claims], editable


def finding(claim: Claim, rng: random.Random) -> Finding:
    evidence = tuple(Evidence(one, 0.5) for one in rng.sample(PASSAGES, rng.choice([1, 1, 2])))
    verdict = rng.choice([Verdict.SUPPORTED, Verdict.SUPPORTED, Verdict.UNSUPPORTED, Verdict.NOT_CHECKABLE])
    if verdict is Verdict.SUPPORTED:
        return Finding(claim, verdict, 0.9, cited=evidence)
    return Finding(claim, verdict, claimed=evidence[:1] if rng.random() < 0.3 else ())


def rendered(
    draft: str,
    findings: Sequence[Finding],
    editable: bool,
    name: ProfileName,
    style: CitationStyle | None = None,
    sign: str = "",
    *,
    numbers: Mapping[str, int] | None = None,
    url: str = "",
    annotations: Sequence[Json] = (),
) -> Dressed:
    """The findings as the profile shows them. `url` is that of passages without one, `annotations` are the
    upstream's own."""
    profile = PROFILES[name]
    theirs = {"annotations": list(annotations)} if annotations else {}
    raw: Json = {"message": {"role": "assistant", "content": draft, **theirs}, "finish_reason": "stop"}
    attempt = Attempt(Draft(draft, raw, editable), Usage(), tuple(findings))
    reply = Reply((attempt.draft,), Usage(), {"id": "x", "choices": [raw]})
    rendering = Rendering(
        lambda one: url or f"http://here/v1/references/{one.passage.id}",
        style or profile.style or "brackets",
        numbers or {},
        sign,
    )
    answer = Answer(reply, (Outcome((attempt,), 0),), rendering)
    shown = choices(answer)
    whole = profile.whole(completion(answer, shown))
    serializer = ChatSerializer(Chunks("m"), profile)
    chunks = map(decoded, serializer.event(answer))
    footer = whole["choices"][0]["message"]["content"].removeprefix(shown[0].content)
    return Dressed(draft, whole, list(chunks), footer)


def decoded(event: bytes) -> Json:
    """The chunk in a server-sent event."""
    chunk: Json = json.loads(event.removeprefix(b"data: "))
    return chunk
