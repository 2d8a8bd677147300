"""The checker that asks an LLM, one call per pair. See `prompts` for what it asks and how it reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from proxy.backends.checkers.prompts import PROMPTS, PromptName
from proxy.errors import CheckError, UpstreamConnectionError, UpstreamError
from proxy.types import LLM, Chat, Judgement, Pair, Usage, Verdict

MAX_WINDOWS = 8
"""Windows of one evidence that are asked about; what lies behind them is not read."""

PARAMS: Mapping[str, object] = {"temperature": 0, "max_tokens": 512}

MAX_REASON_CHARS = 2_000
_REFUSED = frozenset({401, 403, 404})
_ASKED_AT_MOST = 2
_WORST_LAST = (Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.UNVERIFIED, Verdict.UNSUPPORTED)


class LLMChecker:
    """`types.Checker` over any `types.LLM`.

    `concurrency` bounds the calls under way at once, over all `check`s together. `timeout` is that of one
    call, in seconds; waiting for a free place does not count. Evidence of more than `max_evidence_chars`
    code points is read in overlapping windows, at most `MAX_WINDOWS`, the best of which counts. An answer
    that can't be read is asked for once more; then its pair is UNVERIFIED, as one whose call failed is.
    `params` go with each call. The model gives no probability, so scores are 1 and 0; it names no span, so
    there are no quotes.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        prompt: PromptName = "ceg",
        concurrency: int = 8,
        timeout: float = 30.0,
        max_evidence_chars: int = 24_000,
        params: Mapping[str, object] = PARAMS,
    ) -> None:
        self._llm = llm
        self._params = dict(params)
        self._prompt = PROMPTS[prompt]
        self._places = asyncio.Semaphore(concurrency)
        self._timeout = timeout
        self._max_evidence_chars = max_evidence_chars

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. Cancelling it cancels every call.

        Raises `CheckError` where every call failed because the model can't be reached or refuses us.
        """
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._judge(pair)) for pair in pairs]
        outcomes = [task.result() for task in tasks]
        failures = [outcome for outcome in outcomes if isinstance(outcome, UpstreamError)]
        asked = sum(1 for pair in pairs if pair.evidence.strip())
        if failures and len(failures) == asked and all(map(_unavailable, failures)):
            raise CheckError(f"the checker's model is not available: {failures[0].message}") from failures[0]
        return [_failed(one) if isinstance(one, UpstreamError) else one for one in outcomes]

    async def _judge(self, pair: Pair) -> Judgement | UpstreamError:
        """The best of the evidence's windows: one that supports the claim is enough, and ends the asking."""
        if not pair.evidence.strip():
            return Judgement(Verdict.UNSUPPORTED, reason="there is no evidence")
        judged: list[Judgement] = []
        for window in windows(pair.evidence, self._max_evidence_chars):
            outcome = await self._ask(replace(pair, evidence=window))
            if isinstance(outcome, UpstreamError):
                if not judged:
                    return outcome
                outcome = _failed(outcome)
            judged.append(outcome)
            if outcome.verdict is Verdict.SUPPORTED:
                break
        best = min(judged, key=lambda judgement: _WORST_LAST.index(judgement.verdict))
        return replace(best, usage=sum((judgement.usage for judgement in judged), Usage()))

    async def _ask(self, pair: Pair) -> Judgement | UpstreamError:
        """What the model says of one window. The error is returned only where no call was answered at all."""
        messages = self._prompt.messages(pair)
        usage, said = Usage(), ""
        for answered in range(_ASKED_AT_MOST):
            body = {**self._params, "messages": messages}
            try:
                async with self._places, asyncio.timeout(self._timeout):
                    reply = await self._llm.complete(Chat(body))
            except TimeoutError:
                reason = f"the checker's model did not answer within {self._timeout:g} s"
                return Judgement(Verdict.UNVERIFIED, reason=reason, usage=usage)
            except UpstreamError as error:
                return replace(_failed(error), usage=usage) if answered else error
            usage += reply.usage
            said = reply.drafts[0].text if reply.drafts else ""
            verdict = self._prompt.read(said)
            if verdict is not None:
                reason = said.strip()[:MAX_REASON_CHARS]
                return Judgement(verdict, float(verdict is Verdict.SUPPORTED), reason=reason, usage=usage)
            messages = self._prompt.again(messages, said)
        reason = f"the checker's model gave no readable answer: {said.strip()!r}"[:MAX_REASON_CHARS]
        return Judgement(Verdict.UNVERIFIED, reason=reason, usage=usage)


def windows(text: str, size: int) -> Iterator[str]:
    """At most `MAX_WINDOWS` pieces of `size` code points, each sharing a quarter with the one before."""
    step = max(1, size - size // 4)
    for number in range(MAX_WINDOWS):
        yield text[number * step : number * step + size]
        if number * step + size >= len(text):
            return


def _unavailable(error: UpstreamError) -> bool:
    return isinstance(error, UpstreamConnectionError) or error.status in _REFUSED


def _failed(error: UpstreamError) -> Judgement:
    return Judgement(Verdict.UNVERIFIED, reason=f"the checker's model failed: {error.message}")
