"""The wire's chat completions as typed values: whole replies, chunks, and replies added up from chunks."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from proxy.aio import closing
from proxy.errors import UpstreamError, UpstreamProtocolError
from proxy.protocols import LLM
from proxy.types import Chat, ChoiceDelta, Draft, Json, Reply, ReplyChunk, Usage
from proxy.upstream.content_parts import split, text_of

MOST_UNASKED = 16
"""Choices that an upstream may send where fewer were asked for. Each is checked, so there must be an end."""
_MOST_TOKENS = 2**53
"""Tokens that a usage may state: what programs in other languages read without a loss."""


def most_choices(body: Json) -> int:
    """How many choices the answer to a request may have."""
    asked = body.get("n")
    return max(MOST_UNASKED, asked) if isinstance(asked, int) else MOST_UNASKED


def require_choices(count: int, most: int) -> None:
    """Raises `UpstreamProtocolError` for too many choices."""
    if count > most:
        raise UpstreamProtocolError(
            f"The upstream answered with {count} choices; at most {most} are taken. Ask for them with `n`."
        )


def require_usage(usage: Any) -> None:
    """Raises `UpstreamProtocolError` for a usage that is no object with numbers."""
    if usage is None:
        return
    if not isinstance(usage, dict):
        raise UpstreamProtocolError(f"The upstream answered with a `usage` that is no object: {usage!r:.60}.")
    for key in ("prompt_tokens", "completion_tokens", "total_tokens"):
        count = usage.get(key)
        if not isinstance(count, int | float | None):
            raise UpstreamProtocolError(
                f"The upstream answered with a `usage.{key}` that is no number: {count!r:.60}."
            )
        if count is not None and not -_MOST_TOKENS <= count <= _MOST_TOKENS:
            raise UpstreamProtocolError(f"The upstream answered with a `usage.{key}` that is out of range.")


def to_reply(raw: Any, most: int | None = None) -> Reply:
    """One draft per choice, in the order they came; at most `most`. `raw` is kept as it is.

    A message without content (a tool call, a refusal, nothing) is an empty draft; content in parts that are
    not all text is the text among them, and can't be edited, no more than text beside tool calls or with
    log-probabilities. Raises `UpstreamProtocolError` where there is no choice.
    """
    choices = raw.get("choices") if isinstance(raw, dict) else None
    if not isinstance(choices, list) or not choices:
        raise UpstreamProtocolError("The upstream answered without `choices`.")
    require_usage(raw.get("usage"))
    require_choices(len(choices), len(choices) if most is None else most)
    return Reply(
        tuple(_draft(choice, place) for place, choice in enumerate(choices)), to_usage(raw.get("usage")), raw
    )


def to_usage(usage: Any) -> Usage:
    """The provider's token counts; 0 where it gave none."""
    if not isinstance(usage, dict):
        return Usage()
    return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")))


def _draft(choice: Any, place: int) -> Draft:
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise UpstreamProtocolError("The upstream answered with a choice without `message`.")
    if isinstance(message.get("content"), list):
        message = split(message)
        choice = {**choice, "message": message}
    touching = (message.get("tool_calls"), message.get("function_call"), choice.get("logprobs"))
    content = message.get("content")
    editable = isinstance(content, str) and not any(touching)
    index = choice.get("index")
    return Draft(text_of(content), choice, editable, index if isinstance(index, int) else place)


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def as_chunk(completion: Json, most: int | None = None) -> Json:
    """A whole `chat.completion`, of at most so many choices, as one chunk: what a server that can't stream is
    worth as a stream."""
    choices = []
    for draft in to_reply(completion, most).drafts:
        rest = {key: value for key, value in draft.choice.items() if key != "message"}
        choices.append({**rest, "delta": _with_call_indexes(draft.choice["message"])})
    return {**completion, "object": "chat.completion.chunk", "choices": choices}


def _with_call_indexes(message: Json) -> Json:
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return message
    return {**message, "tool_calls": [{"index": n, **_object(call)} for n, call in enumerate(calls)]}


_FIRST = frozenset({"id", "created", "model", "object"})
_WHOLE = frozenset({"role", "id", "type", "name"})
"""Fields of deltas that come whole, not in pieces; some servers repeat them in every chunk."""


CITING = ("annotations", "references", "verification", "citations", "search_results", "sources")
"""Fields of a reply, a choice, a message or a delta whose meaning hangs on the markers of one text, by their
numbers or places. Vouch writes them, and so do upstreams that search, and clients that keep replies."""

_AT_THE_END = frozenset({"role", "content", *CITING})
"""Fields of a delta that wait for the text they are about, or that Vouch writes itself."""


def uncited(holder: Json) -> Json:
    """A reply, a choice, a message or a delta without the fields that cite."""
    return {key: value for key, value in holder.items() if key not in CITING}


def read_chunk(raw: Json) -> ReplyChunk:
    """A `chat.completion.chunk` object as a value. Raises `UpstreamProtocolError` where it is malformed."""
    choices = raw.get("choices") or ()
    if any(isinstance(_object(choice.get("delta")).get("content"), list) for choice in choices):
        choices = [{**choice, "delta": split(_object(choice.get("delta")))} for choice in choices]
        raw = {**raw, "choices": choices}
    return ReplyChunk(tuple(_delta(choice) for choice in choices), raw)


def _delta(choice: Json) -> ChoiceDelta:
    delta = _object(choice.get("delta"))
    fields = {key: value for key, value in delta.items() if key not in _AT_THE_END and value is not None}
    return ChoiceDelta(_index(choice), text_of(delta.get("content")), fields)


def _index(choice: Json) -> int:
    index = choice.get("index", 0)
    if not isinstance(index, int):
        raise UpstreamProtocolError(
            f"The upstream answered with a choice whose `index` is no number: {index!r:.60}."
        )
    return index


def coalesced(chunks: Iterator[Json]) -> Iterator[Json]:
    """The same reply in fewer chunks: what only goes on with the text of the chunk before becomes part of it.

    An error of `chunks` passes after what came before it.
    """
    held: list[Json] = []
    frame: Json | None = None
    texts: list[str] = []
    try:
        for chunk in chunks:
            following, text = _without_text(chunk)
            if frame is not None and following == frame:
                texts.append(text)
                continue
            yield from (_with_text(each, texts) for each in held)
            held, frame, texts = [chunk], following, [text]
    except UpstreamError:
        yield from (_with_text(each, texts) for each in held)
        raise
    yield from (_with_text(each, texts) for each in held)


def _without_text(chunk: Json) -> tuple[Json | None, str]:
    """What is left of a chunk without its text, and the text. None for a chunk that adds anything else."""
    match chunk.get("choices"):
        case [{"delta": {"content": str(text)} as delta} as choice] if choice.get("logprobs") is None:
            if all(value is None or key in _WHOLE for key, value in delta.items() if key != "content"):
                left = {**choice, "delta": {**delta, "content": None}}
                # Some servers pad each chunk to a random length.
                return {**chunk, "choices": left, "obfuscation": None}, text
    return None, ""


def _with_text(chunk: Json, texts: list[str]) -> Json:
    """The chunk with these texts, the first of which it has."""
    if len(texts) < 2:
        return chunk
    choice = chunk["choices"][0]
    return {**chunk, "choices": [{**choice, "delta": {**choice["delta"], "content": "".join(texts)}}]}


_CALLS = frozenset({"tool_calls", "function_call"})
_ANSWER = frozenset({"role", "content", "refusal"})
"""Fields of a message that are its answer. Others are about it: what the model thought, say."""


def calls_tools(draft: Draft) -> bool:
    """Whether the draft calls a tool."""
    return any(_message(draft).get(key) for key in _CALLS)


def in_place_of(first: Draft, draft: Draft, text: str) -> Draft:
    """`draft`, which says `text`, with what the first draft holds beside its answer: what the model thought
    of another prompt is nobody's, and neither is a tool that it would call for it."""
    about = {key: value for key, value in _message(first).items() if key not in _ANSWER | _CALLS}
    return replace(
        draft, text=text, choice={**draft.choice, "message": {**about, **_answer(_message(draft))}}
    )


def _message(draft: Draft) -> Json:
    return _object(draft.choice.get("message"))


def _answer(message: Json) -> Json:
    return {key: value for key, value in message.items() if key in _ANSWER}


async def collect(chunks: AsyncIterator[ReplyChunk], max_bytes: int = 20_000_000) -> Reply:
    """The reply that `chunks` add up to.

    Texts are joined (content, reasoning, refusal, arguments, unknown ones), lists grow (logprobs too),
    tool calls are told apart by index, anything else: the last one wins. Raises `UpstreamProtocolError`
    when there is no choice, or more than `max_bytes` bytes of UTF-8.
    """
    completion = Completion(max_bytes)
    async for chunk in chunks:
        completion.add(chunk)
    return completion.reply()


class Completion:
    """A `chat.completion` that grows chunk by chunk. Linear in what is added."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._head: Json = {}
        self._choices: dict[int, Json] = {}

    def add(self, chunk: ReplyChunk) -> None:
        """One more chunk. Raises `UpstreamProtocolError` for one that is malformed, or too much."""
        for key, value in chunk.raw.items():
            kept = key in _FIRST and self._head.get(key)
            if key != "choices" and not kept and value is not None:
                self._head[key] = value
        try:
            for choice in chunk.raw.get("choices") or ():
                self._add_choice(choice)
        except RecursionError:
            raise UpstreamProtocolError("The upstream's reply is nested too deeply.") from None
        if self._left < 0:
            raise UpstreamProtocolError("The upstream's reply is larger than `max_reply_bytes` allows.")

    def reply(self) -> Reply:
        """The reply so far. Raises `UpstreamProtocolError` where it has no choice."""
        return to_reply(self.value())

    def value(self) -> Json:
        """The completion so far, choices by index."""
        choices = [_joined(choice) for _, choice in sorted(self._choices.items())]
        for choice in choices:
            choice["message"].setdefault("content", None)
        return {**self._head, "object": "chat.completion", "choices": choices}

    def _add_choice(self, choice: Json) -> None:
        index = _index(choice)
        whole = self._choices.setdefault(
            index, {"index": index, "message": {"role": "assistant"}, "logprobs": None, "finish_reason": None}
        )
        for key, value in choice.items():
            if key == "delta":
                self._merge(whole["message"], _object(value))
            elif key == "logprobs":
                if isinstance(value, dict):
                    whole["logprobs"] = whole["logprobs"] or {}
                    self._merge(whole["logprobs"], value)
            elif value is not None and key != "index":
                whole[key] = value

    def _merge(self, whole: Json, delta: Json) -> None:
        for key, value in delta.items():
            if value is not None:
                self._left -= utf8_length(key)
                _MERGES.get(key, Completion._merge_field)(self, whole, key, value)

    def _merge_field(self, whole: Json, key: str, value: Any) -> None:
        old = whole.get(key)
        if isinstance(value, str) and key not in _WHOLE:
            self._left -= utf8_length(value)
            if not isinstance(old, _Pieces):
                whole[key] = old = _Pieces()
            old.append(value)
        elif isinstance(value, list):
            self._left -= utf8_length(str(value))
            if isinstance(old, list) and not isinstance(old, _Pieces):
                old.extend(value)
            else:
                whole[key] = [*value]
        elif isinstance(value, dict):
            whole[key] = old if isinstance(old, dict) else {}
            self._merge(whole[key], value)
        elif value or not old:
            whole[key] = value

    def _merge_content(self, whole: Json, key: str, content: Any) -> None:
        """Parts and text may follow each other: then all are parts."""
        old = whole.get(key)
        if isinstance(content, str) and isinstance(old, list) and not isinstance(old, _Pieces):
            content = [_text_part(content)]
        elif isinstance(content, list) and isinstance(old, _Pieces):
            whole[key] = [_text_part(_joined(old))]
        self._merge_field(whole, key, content)

    def _merge_calls(self, whole: Json, key: str, calls: Any) -> None:
        known = whole.setdefault(key, _Calls())
        for call in calls if isinstance(calls, list) else ():
            delta = _object(call)
            self._merge(known.one(delta), {k: v for k, v in delta.items() if k != "index"})


class _Pieces(list[str]):
    """A text that is still growing: joined once, at the end."""


class _Calls(dict[int | str, Json]):
    """Tool calls by their `index`, which the whole message does not have."""

    def one(self, call: Json) -> Json:
        """The call that this delta goes on with. A server that sends no index sends whole calls, by id."""
        index, ident = call.get("index"), call.get("id")
        if isinstance(index, int):
            return self.setdefault(index, {})
        return self.setdefault(ident if isinstance(ident, str) else next(reversed(self), 0), {})

    def ordered(self) -> list[Json]:
        """By index; those without one come last, as they came."""
        return [self[key] for key in sorted(self, key=_by_index)]


_MERGES: Mapping[str, Callable[[Completion, Json, str, Any], None]] = {
    "content": Completion._merge_content,
    "tool_calls": Completion._merge_calls,
}


def _text_part(text: str) -> Json:
    return {"type": "text", "text": text}


def utf8_length(text: str) -> int:
    """Bytes of the text as UTF-8; half a surrogate pair, which JSON can spell, counts as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _by_index(key: int | str) -> float:
    return key if isinstance(key, int) else math.inf


def _object(value: Any) -> Json:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UpstreamProtocolError("The upstream streamed a delta or a tool call that is no object.")
    return value


def _joined(value: Any) -> Any:
    if isinstance(value, _Pieces):
        return "".join(value)
    if isinstance(value, _Calls):
        return [_joined(call) for call in value.ordered()]
    if isinstance(value, dict):
        return {key: _joined(inner) for key, inner in value.items()}
    return value


class Streamed:
    """The same replies, each collected from a stream; `on_first` is called at each stream's first chunk.

    `on_first` runs in the event loop and must not block. `max_bytes` bounds a reply.
    """

    def __init__(self, llm: LLM, on_first: Callable[[], None], max_bytes: int = 20_000_000) -> None:
        self._llm = llm
        self._on_first = on_first
        self._max_bytes = max_bytes

    async def complete(self, chat: Chat) -> Reply:
        """The whole reply, from the chunks of `stream`."""
        async with closing(self.stream(chat)) as chunks:
            return await collect(chunks, self._max_bytes)

    async def stream(self, chat: Chat) -> AsyncIterator[ReplyChunk]:
        """The chunks of the inner LLM."""
        async with closing(self._llm.stream(chat)) as chunks:
            waiting = True
            async for chunk in chunks:
                if waiting:
                    self._on_first()
                    waiting = False
                yield chunk
