"""The checker that asks an LLM, about one claim per call or several.

`prompts` has the prompts and reads the answers, `joint` does so for several claims at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from proxy.checkers import joint
from proxy.checkers.prompts import PROMPTS
from proxy.errors import CheckError, UpstreamConnectionError, UpstreamError
from proxy.protocols import LLM
from proxy.types import Chat, Json, Judgement, Pair, PromptName, Reply, Usage, Verdict

MAX_WINDOWS = 8
"""Windows of one passage that are asked about; text behind them is not read."""

PARAMS: Mapping[str, object] = {"temperature": 0, "max_tokens": 512}

MAX_REASON_CHARS = 2_000
_REFUSED = frozenset({401, 403, 404})
_TOO_MUCH = frozenset({400, 413, 422})
"""Statuses with which providers refuse a prompt that is too long, among other things."""
_ASKED_AT_MOST = 2
_WORST_LAST = (Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.UNVERIFIED, Verdict.UNSUPPORTED)

_Outcome = Judgement | UpstreamError


class LLMChecker:
    """`protocols.Checker` over any `protocols.LLM`.

    Pairs that differ in claim and context only share a prompt. If the answer does not clearly judge one of
    them, the model is asked about it alone. An answer that can't be read is asked for once more; then the
    pair is UNVERIFIED, and so is one whose call failed. Long evidence is read in at most `MAX_WINDOWS`
    overlapping windows, of which the best counts. Scores are 1 or 0, since the model gives no probability,
    and there are no quotes.

    Args:
        llm: the model.
        prompt: which of `prompts.PROMPTS`.
        claims_per_call: claims in one prompt, at most.
        concurrency: calls at the same time, over all `check`s.
        timeout: seconds for one call; waiting for its turn does not count.
        max_evidence_chars: code points of one window.
        params: parameters for each call.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        prompt: PromptName = "ceg",
        claims_per_call: int = 1,
        concurrency: int = 8,
        timeout: float = 30.0,
        max_evidence_chars: int = 24_000,
        params: Mapping[str, object] = PARAMS,
    ) -> None:
        self._llm = llm
        self._params = dict(params)
        self._name, self._prompt = prompt, PROMPTS[prompt]
        self._claims_per_call = claims_per_call
        self._slots = asyncio.Semaphore(concurrency)
        self._timeout = timeout
        self._max_evidence_chars = max_evidence_chars

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. Cancelling it cancels every call.

        Raises `CheckError` where every call failed because the model can't be reached or refuses us.
        """
        pairs = [pair.joined() for pair in pairs]
        groups = joint.grouped(pairs, self._claims_per_call)
        async with asyncio.TaskGroup() as tasks:
            judging = [tasks.create_task(self._judge([pairs[index] for index in group])) for group in groups]
        by_index: dict[int, _Outcome] = {}
        for group, task in zip(groups, judging, strict=True):
            by_index.update(zip(group, task.result(), strict=True))
        outcomes = [by_index[index] for index in range(len(pairs))]
        failures = [outcome for outcome in outcomes if isinstance(outcome, UpstreamError)]
        asked = sum(1 for pair in pairs if pair.evidence.strip())
        if failures and len(failures) == asked and all(map(_unavailable, failures)):
            raise CheckError(f"the checker's model is not available: {failures[0].message}") from failures[0]
        return [_failed(outcome) if isinstance(outcome, UpstreamError) else outcome for outcome in outcomes]

    async def _judge(self, pairs: Sequence[Pair]) -> list[_Outcome]:
        """For each of some pairs with the same evidence, the judgement by the best window.

        Once a window supports a claim, or the first call fails, no further window is asked about it.
        """
        if not pairs[0].evidence.strip():
            return [Judgement(Verdict.UNSUPPORTED, reason="there is no evidence")] * len(pairs)
        judged: list[list[Judgement]] = [[] for _ in pairs]
        failed: dict[int, UpstreamError] = {}
        for window in windows(pairs[0].evidence, self._max_evidence_chars):
            open_ = [n for n, said in enumerate(judged) if n not in failed and not _supported(said)]
            if not open_:
                break
            outcomes = await self._ask([replace(pairs[n], evidence=window) for n in open_])
            for n, outcome in zip(open_, outcomes, strict=True):
                if isinstance(outcome, Judgement):
                    judged[n].append(outcome)
                elif judged[n]:
                    judged[n].append(_failed(outcome))
                else:
                    failed[n] = outcome
        return [failed.get(n) or _best(said) for n, said in enumerate(judged)]

    async def _ask(self, pairs: Sequence[Pair]) -> Sequence[_Outcome]:
        """The judgements by one window: of all claims at once, then one by one of those that were left open.

        If the provider may have found the prompt too long, all claims are asked about one by one.
        """
        if len(pairs) == 1:
            return [await self._ask_alone(pairs[0])]
        try:
            reply = await self._say(joint.messages(self._name, pairs))
        except TimeoutError:
            return [self._late(Usage())] * len(pairs)
        except UpstreamError as error:
            if error.status in _TOO_MUCH:
                return await self._ask_each(pairs)
            return [error] * len(pairs)
        stated = joint.read(self._name, _text(reply), len(pairs))
        left = [pair for pair, statement in zip(pairs, stated, strict=True) if statement is None]
        again = iter(await self._ask_each(left))
        return [
            _judgement(statement.verdict, statement.line, share) if statement else _with(next(again), share)
            for statement, share in zip(stated, joint.shares(reply.usage, len(pairs)), strict=True)
        ]

    async def _ask_each(self, pairs: Sequence[Pair]) -> list[_Outcome]:
        async with asyncio.TaskGroup() as tasks:
            asking = [tasks.create_task(self._ask_alone(pair)) for pair in pairs]
        return [task.result() for task in asking]

    async def _ask_alone(self, pair: Pair) -> _Outcome:
        """The judgement of one claim, or the error if no call was answered."""
        messages = self._prompt.messages(pair)
        usage, said = Usage(), ""
        for answered in range(_ASKED_AT_MOST):
            try:
                reply = await self._say(messages)
            except TimeoutError:
                return self._late(usage)
            except UpstreamError as error:
                return replace(_failed(error), usage=usage) if answered else error
            usage += reply.usage
            said = _text(reply)
            verdict = self._prompt.read(said)
            if verdict is not None:
                return _judgement(verdict, said, usage)
            messages = self._prompt.again(messages, said)
        # Not what it said: the reason of what is UNVERIFIED is logged, and chat text never is.
        reason = f"the checker's model gave no readable answer: no verdict in {len(said.strip())} characters"
        return Judgement(Verdict.UNVERIFIED, reason=reason, usage=usage)

    async def _say(self, messages: Sequence[Json]) -> Reply:
        """One call. Raises `TimeoutError` and `UpstreamError`."""
        body = {**self._params, "messages": messages}
        async with self._slots, asyncio.timeout(self._timeout):
            return await self._llm.complete(Chat(body))

    def _late(self, usage: Usage) -> Judgement:
        reason = f"the checker's model did not answer within {self._timeout:g} s"
        return Judgement(Verdict.UNVERIFIED, reason=reason, usage=usage)


def windows(text: str, size: int) -> Iterator[str]:
    """At most `MAX_WINDOWS` pieces of `size` code points, each sharing a quarter with the one before."""
    step = max(1, size - size // 4)
    for number in range(MAX_WINDOWS):
        yield text[number * step : number * step + size]
        if number * step + size >= len(text):
            return


def _text(reply: Reply) -> str:
    return reply.drafts[0].text if reply.drafts else ""


def _judgement(verdict: Verdict, said: str, usage: Usage) -> Judgement:
    reason = said.strip()[:MAX_REASON_CHARS]
    return Judgement(verdict, float(verdict is Verdict.SUPPORTED), reason=reason, usage=usage)


def _supported(judged: Sequence[Judgement]) -> bool:
    return any(judgement.verdict is Verdict.SUPPORTED for judgement in judged)


def _best(judged: Sequence[Judgement]) -> Judgement:
    best = min(judged, key=lambda judgement: _WORST_LAST.index(judgement.verdict))
    return replace(best, usage=sum((judgement.usage for judgement in judged), Usage()))


def _with(outcome: _Outcome, usage: Usage) -> Judgement:
    """The outcome, with the usage of an earlier call added."""
    judgement = _failed(outcome) if isinstance(outcome, UpstreamError) else outcome
    return replace(judgement, usage=judgement.usage + usage)


def _unavailable(error: UpstreamError) -> bool:
    return isinstance(error, UpstreamConnectionError) or error.status in _REFUSED


def _failed(error: UpstreamError) -> Judgement:
    return Judgement(Verdict.UNVERIFIED, reason=f"the checker's model failed: {error.message}")
