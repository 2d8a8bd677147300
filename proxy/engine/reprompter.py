"""Asks the model to correct a draft, and reads its answers.

An answer that is none (see `proxy.correction.leaks`) becomes no draft.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from proxy.aio import ASKER, together
from proxy.correction import reprompt, rewrite, single
from proxy.correction.leaks import Asked, Fault, asked_with, fault, without_preamble, without_thoughts
from proxy.correction.single import MAX_SENTENCES, complete_sentence, read_sentence
from proxy.correction.splice import spliced
from proxy.errors import UpstreamError, UpstreamTimeoutError
from proxy.protocols import LLM
from proxy.types import (
    Attempt,
    Chat,
    CorrectionResult,
    CorrectionStep,
    Draft,
    OnUnsupported,
    RegenerationMode,
    Reply,
    ReplyFormat,
    Task,
    Usage,
)
from proxy.upstream.completion import calls_tools, in_place_of

log = logging.getLogger(__name__)

GOES_ON = frozenset({"helped", "not_better"})
"""Results of a step after which asking again may help."""
_NONE = Usage()


@dataclass(frozen=True, slots=True)
class Options:
    """How one reply is corrected.

    `deadline` is in seconds and covers everything after the first draft. `warning` is the warning marker
    behind claims that failed; where a draft repeats it, it is removed. `fallback` asks for the failed
    sentences one at a time where nothing else helped. `quote` puts the evidence, as a quotation, in place of
    a sentence that it contradicts and that the model did not correct. `task` is what the request asks for, if
    that stays unchecked (a title for the chat, say).
    """

    max_rounds: int = 1
    mode: RegenerationMode = "whole"
    on_unsupported: OnUnsupported = "keep"
    deadline: float = 60.0
    format: ReplyFormat = "markdown"
    warning: str = ""
    fallback: bool = True
    quote: bool = False
    task: Task | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of one request: a draft to check, or the result that there is none."""

    draft: Draft | None = None
    result: CorrectionResult = "unreadable"
    detail: str = ""
    usage: Usage = _NONE
    """Of all calls."""
    written: Usage | None = None
    """Of the call that wrote the whole draft, if one did."""


class Reprompter:
    """Asks for corrections of one chat's drafts. `until` is the deadline, in the event loop's time."""

    def __init__(self, llm: LLM, options: Options, chat: Chat, until: float) -> None:
        self._llm = llm
        self._options = options
        self._chat = chat
        self._until = until

    async def reprompted(self, attempt: Attempt, mode: RegenerationMode) -> Answered:
        """What came of asking for the failed claims, or for the whole reply."""
        ask, read = _MODES[mode]
        reply = await self._complete(ask(self._chat, attempt))
        if isinstance(reply, Answered):
            return reply
        answered = await asyncio.to_thread(read, self._chat, attempt, reply, self._options)
        return replace(answered, usage=reply.usage)

    async def _complete(self, chat: Chat) -> Reply | Answered:
        """The reply, without what the model thinks of our prompt, or why there is none."""
        try:
            async with asyncio.timeout_at(self._until):
                reply = await self._llm.complete(chat)
                drafts = (replace(draft, text=without_thoughts(draft.text)) for draft in reply.drafts)
                return replace(reply, drafts=tuple(drafts))
        except (TimeoutError, UpstreamTimeoutError):
            return Answered(result="timeout", detail="the model did not answer in time")
        except UpstreamError as error:
            log.warning("the upstream failed during a correction: %s", error.message)
            return Answered(result="upstream_error", detail=f"the upstream answered {error.status}")

    async def by_sentence(self, attempt: Attempt) -> Answered:
        """The draft with its failed sentences as the model completes each of them alone."""
        failed = attempt.nonfactual[:MAX_SENTENCES]
        asked = [(finding, complete_sentence(self._chat, finding)) for finding in failed]
        replies = await together(self._complete(chat) for _, chat in asked if chat is not None)
        rewrites: dict[int, str | None] = {}
        shown = _asked(self._chat, attempt)
        answers = iter(replies)
        usage = Usage()
        for number, (_, chat) in enumerate(asked, 1):
            reply = next(answers) if chat is not None else None
            if isinstance(reply, Reply):
                usage += reply.usage
                said = await asyncio.to_thread(read_sentence, _text(reply), shown)
                rewrites |= {number: said} if said else {}
        draft = await asyncio.to_thread(spliced, attempt.draft, failed, rewrites)
        failures = [reply for reply in replies if isinstance(reply, Answered)]
        if draft is None and failures:
            return replace(failures[0], usage=usage)
        return Answered(draft, usage=usage)


def report(step: CorrectionStep) -> None:
    """Logs a step that has just ended; one without an answer to check is a warning. Puts it into the time
    line."""
    ASKER.get().note("correction", time.perf_counter() - step.seconds, step.claims)
    level = logging.INFO if step.result in GOES_ON else logging.WARNING
    why = f" ({step.detail})" if step.detail else ""
    log.log(
        level,
        "correction, round %d, %s, %d claims: %s%s",
        step.round,
        step.asked_for,
        step.claims,
        step.result,
        why,
    )


def _text(reply: Reply) -> str:
    return reply.drafts[0].text if reply.drafts else ""


Ask = Callable[[Chat, Attempt], Chat]
Understand = Callable[[Chat, Attempt, Reply, Options], Answered]


def _replaced(chat: Chat, attempt: Attempt, reply: Reply, _: Options) -> Answered:
    """The draft that the model wrote instead."""
    text = without_preamble(_text(reply))
    if reply.drafts and calls_tools(reply.drafts[0]):
        return Answered(detail="the answer calls a tool")
    if not text.strip():
        return Answered(detail="the answer is empty")
    return _faulty(fault(text, _asked(chat, attempt))) or Answered(
        in_place_of(attempt.draft, reply.drafts[0], text), written=reply.usage
    )


def _rewritten(chat: Chat, attempt: Attempt, reply: Reply, options: Options) -> Answered:
    """The draft with the failed sentences as the model rewrote them."""
    rewrites = rewrite.read_rewrites(_text(reply), len(attempt.nonfactual))
    asked = _asked(chat, attempt)
    faults = {number: fault(said, asked) for number, said in rewrites.items() if said}
    kept = {number: said for number, said in rewrites.items() if not faults.get(number)}
    dropping = options.on_unsupported == "drop"
    if draft := spliced(attempt.draft, attempt.nonfactual, kept, dropping=dropping):
        return Answered(draft)
    why = next((each for each in faults.values() if each), None) or fault(_text(reply), asked)
    return _faulty(why) or Answered(detail="no rewrite could be read, or none fits its place")


def _faulty(why: Fault | None) -> Answered | None:
    if why == "leaked":
        return Answered(result="leaked", detail="the answer repeats the prompt or talks about the correction")
    return Answered(detail="the model refused") if why else None


_MODES: Mapping[RegenerationMode, tuple[Ask, Understand]] = {
    "whole": (reprompt.revision, _replaced),
    "claims": (rewrite.rewrite, _rewritten),
}
"""How the model is re-prompted, and how its answer becomes the next draft."""

INSTRUCTIONS = (
    *reprompt.INSTRUCTIONS,
    *rewrite.INSTRUCTIONS,
    *single.INSTRUCTIONS,
)
"""What no answer may repeat, whichever prompt it answers: a model may remember another one."""


def _asked(chat: Chat, attempt: Attempt) -> Asked:
    """What a re-prompt for the attempt shows."""
    documents = (item.passage.text for finding in attempt.nonfactual for item in finding.evidence)
    return asked_with(chat, INSTRUCTIONS, documents, attempt.draft.text)
