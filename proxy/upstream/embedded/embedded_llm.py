"""The upstream that needs no key: it answers with sentences of the indexed documents."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from proxy.correction.reprompt import Revision, read_revision
from proxy.correction.rewrite import Rewriting, read_rewriting, write_rewrites
from proxy.errors import RetrievalError, UpstreamError
from proxy.protocols import Retriever
from proxy.text.scripts import language_of
from proxy.types import Chat, Evidence, Json, Language, Passage, Reply, ReplyChunk
from proxy.upstream.completion import read_chunk, to_reply
from proxy.upstream.embedded.composition import Composition, compose, corrected, mend
from proxy.upstream.embedded.planted_error import plant
from proxy.upstream.embedded.sentence_terms import (
    bare_title,
    leans,
    pieces,
    small_talk,
    weighted_terms,
)

EXTRACTIVE = "vouch/extractive"
DEMO = "vouch/demo"

DESCRIPTIONS: Mapping[str, str] = {
    EXTRACTIVE: "Embedded, needs no key: answers with sentences of the indexed documents. "
    "Not a language model.",
    DEMO: "Embedded, for demonstration: as vouch/extractive, but its first draft holds one planted error, "
    "which it mends when it is re-prompted. Not a language model.",
}

NOTHING: Mapping[Language, str] = {
    "en": "I don't know: the indexed documents have nothing on this.",
    "zh": "我不知道：已索引的文档中没有与此相关的内容。",
}
WELCOME: Mapping[Language, str] = {
    "en": "Hello! What would you like to know about the indexed documents?",
    "zh": "你好！你想了解已索引文档中的什么内容？",
}

PASSAGES = 8
MANY_PASSAGES = 50
"""Passages that are searched for a name to plant as an error."""
MAX_QUESTION_CHARS = 2_000
MAX_CHOICES = 16
_PIECES_A_CHUNK = 4

_REFERRING = frozenset("he she it they him her them his its their this that these those there".split())
_CHINESE_REFERRING = re.compile(r"[他她它其]|这个|那个|这里|那里|该")


class EmbeddedLLM:
    """`protocols.LLM` over a retriever. `plant_error`: the first draft holds one error (`vouch/demo`).

    Deterministic: the same messages over the same index get the same text, and with `n` choices the same in
    each. Sampling parameters are ignored. Raises `UpstreamError` where the corpus can't be searched.
    """

    def __init__(self, retriever: Retriever, *, plant_error: bool = False) -> None:
        self._retriever = retriever
        self._plant_error = plant_error

    async def complete(self, chat: Chat) -> Reply:
        """The answer as one `chat.completion`."""
        return to_reply(self._completion(chat, await self._answer(chat.body["messages"])))

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        """The answer as `chat.completion.chunk`s, a few words each."""
        raw = self._completion(chat, await self._answer(chat.body["messages"]))
        for chunk in _chunks(
            raw, with_usage=bool((chat.body.get("stream_options") or {}).get("include_usage"))
        ):
            yield read_chunk(chunk)

    async def _answer(self, messages: Sequence[Json]) -> str:
        turns = [(message.get("role"), _text(message)) for message in messages]
        asked = [text for role, text in turns if role == "user"]
        last = asked[-1] if asked else ""
        language = language_of(last[:MAX_QUESTION_CHARS])
        if revision := await asyncio.to_thread(read_revision, last):
            return await asyncio.to_thread(_mended, turns, revision)
        if rewriting := await asyncio.to_thread(read_rewriting, last):
            return await asyncio.to_thread(_rewritten, turns, rewriting)
        if small_talk(last):
            return WELCOME[language]
        question = last[:MAX_QUESTION_CHARS]
        return await self._drafted(question, _query(asked)) or NOTHING[language]

    async def _drafted(self, question: str, query: str) -> str:
        """A first draft; empty where the corpus holds none."""
        evidence = await self._search(query, PASSAGES)
        composition = await self._composed(query, evidence)
        if not self._plant_error or not composition.text:
            return composition.text
        known = [item.passage for item in (*evidence, *await self._search(query, MANY_PASSAGES))]
        return await asyncio.to_thread(_with_error, composition, known, question)

    async def _composed(self, query: str, evidence: Sequence[Evidence]) -> Composition:
        return await asyncio.to_thread(compose, query, [item.passage for item in evidence])

    async def _search(self, query: str, k: int) -> Sequence[Evidence]:
        try:
            return (await self._retriever.search([query], k))[0]
        except RetrievalError as error:
            raise UpstreamError(f"the embedded model can't search the corpus: {error.message}") from error

    def _completion(self, chat: Chat, text: str) -> Json:
        n = chat.body.get("n") or 1
        if not isinstance(n, int) or not 1 <= n <= MAX_CHOICES:
            message = f"n must be an integer from 1 to {MAX_CHOICES}"
            raise UpstreamError(message, status=400, type="invalid_request_error", param="n")
        prompt = sum(len(pieces(_text(message))) for message in chat.body["messages"])
        completion = n * len(pieces(text))
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": chat.body.get("model") or (DEMO if self._plant_error else EXTRACTIVE),
            "choices": [
                {
                    "index": index,
                    "message": {"role": "assistant", "content": text},
                    "logprobs": None,
                    "finish_reason": "stop",
                }
                for index in range(n)
            ],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            },
        }


def _query(asked: Sequence[str]) -> str:
    """The query: the last question, after the one before if it can't be understood without that."""
    last = asked[-1][:MAX_QUESTION_CHARS]
    before = asked[-2][:MAX_QUESTION_CHARS] if len(asked) > 1 else ""
    words = last.casefold().replace("?", " ").split()
    short = sum(weighted_terms(last).values()) < 2
    if before and short and (leans(last) or _REFERRING & set(words) or _CHINESE_REFERRING.search(last)):
        return f"{before}\n{last}"
    return last


def _mended(turns: Sequence[tuple[object, str]], revision: Revision) -> str:
    """The corrected draft, or `NOTHING` if no text is left of it."""
    draft = _draft(turns)
    return mend(draft, revision) or NOTHING[language_of(draft)]


def _rewritten(turns: Sequence[tuple[object, str]], rewriting: Rewriting) -> str:
    """For each sentence of the request its replacement, or the word for dropping it."""
    draft = _draft(turns)
    return write_rewrites(corrected(draft, rewriting), language_of(draft))


def _draft(turns: Sequence[tuple[object, str]]) -> str:
    return next((text for role, text in reversed(turns) if role == "assistant"), "")


def _with_error(composition: Composition, known: Sequence[Passage], question: str) -> str:
    """The reply with one error: a value that no passage found has, or a name that is not in the documents
    which the reply is made of."""
    used = {source.document_id for source in composition.sources}
    told = "\n".join(passage.text for passage in known if passage.document_id in used)
    titles = [(passage.document_id in used, bare_title(passage.title)) for passage in known]
    return plant(
        composition.text,
        evidence=[passage.text for passage in known],
        subjects=list(dict.fromkeys(name for is_used, name in titles if is_used and name)),
        others=list(
            dict.fromkeys(name for is_used, name in titles if not is_used and name and name not in told)
        ),
        seed=question,
    )


def _text(message: Json) -> str:
    """The text of a message, its parts' joined; empty where it has none."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [
            part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"
        ]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _chunks(raw: Json, *, with_usage: bool) -> Iterator[Json]:
    """The completion as a stream: role, content, finish per choice; then the usage if it was asked for."""
    common = {key: raw[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def chunk(index: int, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**common, "choices": [choice], **({"usage": None} if with_usage else {})}

    for choice in raw["choices"]:
        index, words = choice["index"], pieces(choice["message"]["content"])
        yield chunk(index, {"role": "assistant", "content": ""})
        for start in range(0, len(words), _PIECES_A_CHUNK):
            yield chunk(index, {"content": "".join(words[start : start + _PIECES_A_CHUNK])})
        yield chunk(index, {}, choice["finish_reason"])
    if with_usage:
        yield {**common, "choices": [], "usage": raw["usage"]}
