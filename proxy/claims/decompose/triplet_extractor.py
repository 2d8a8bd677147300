"""The extractor that asks an LLM for triplets, several sentences per call (see `extraction_prompts`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from proxy.claims.decompose.extraction_prompts import MAX_CONTEXT_CHARS, PROMPTS
from proxy.claims.decompose.locate import locate, spelt
from proxy.claims.decompose.triplets import Reading, read_triplets
from proxy.errors import UpstreamError
from proxy.protocols import LLM
from proxy.text.scripts import language_of
from proxy.text.words import uncovered
from proxy.types import Chat, Claim, Extraction, Triplet, Usage

PARAMS: Mapping[str, object] = {"temperature": 0, "max_tokens": 2048}
MAX_SENTENCE_CHARS = 4_000
"""A longer sentence is not split."""
_ASKED_AT_MOST = 2


class LLMExtractor:
    """`protocols.Extractor` over any `protocols.LLM`, after RefChecker section 3.1.

    `sentences` go in one call; `concurrency` bounds the calls under way at once, over all `extract`s
    together. `timeout` is that of one call, in seconds, without waiting for a free place. An answer in which
    nothing can be read is asked for once more. Sentences whose call fails have no parts and an error.
    `params` go with each call. A batch's usage stands with its first sentence.

    What differs from RefChecker: a sentence is itself the last of its parts wherever a triplet may have been
    lost, that is if a line of its answer could not be read, or if it has a content word that its triplets
    together do not say as often as it does (`proxy.text.words.uncovered`: numbers, names, negations, verbs,
    all but articles, auxiliaries, prepositions and pronouns, by their stems). So nothing is
    counted as supported that was not checked.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        sentences: int = 10,
        concurrency: int = 8,
        timeout: float = 30.0,
        params: Mapping[str, object] = PARAMS,
    ) -> None:
        self._llm = llm
        self._sentences = sentences
        self._places = asyncio.Semaphore(concurrency)
        self._timeout = timeout
        self._params = dict(params)

    async def extract(self, claims: Sequence[Claim], question: str) -> Sequence[Extraction]:
        """One extraction per claim, in order. The model is not asked about claims that are not checkable.

        Raises nothing. Cancelling it cancels every call.
        """
        extractions = [_unasked(claim) for claim in claims]
        asked = [index for index, extraction in enumerate(extractions) if extraction is None]
        batches = [asked[index : index + self._sentences] for index in range(0, len(asked), self._sentences)]
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    self._batch([claims[index] for index in batch], question, _before(claims, batch[0]))
                )
                for batch in batches
            ]
        for batch, task in zip(batches, tasks, strict=True):
            for index, extraction in zip(batch, task.result(), strict=True):
                extractions[index] = extraction
        return [extraction or Extraction() for extraction in extractions]

    async def _batch(self, claims: Sequence[Claim], question: str, context: str) -> Sequence[Extraction]:
        answer = await self._ask(claims, question, context)
        if answer.reading is None:
            extractions = [Extraction(error=answer.error) for _ in claims]
        else:
            extractions = [
                extraction(claim, triplets, malformed)
                for claim, triplets, malformed in zip(
                    claims, answer.reading.triplets, answer.reading.malformed, strict=True
                )
            ]
        return [replace(extractions[0], usage=answer.usage), *extractions[1:]]

    async def _ask(self, claims: Sequence[Claim], question: str, context: str) -> _Answer:
        texts = [claim.plain for claim in claims]
        prompt = PROMPTS[language_of(" ".join(texts))]
        messages = prompt.messages(texts, question, context)
        usage, said = Usage(), ""
        for _ in range(_ASKED_AT_MOST):
            chat = Chat({**self._params, "messages": messages})
            try:
                async with self._places, asyncio.timeout(self._timeout):
                    reply = await self._llm.complete(chat)
            except TimeoutError:
                return _Answer(
                    usage, error=f"the extractor's model did not answer within {self._timeout:g} s"
                )
            except UpstreamError as failure:
                return _Answer(usage, error=f"the extractor's model failed: {failure.message}")
            usage += reply.usage
            said = reply.drafts[0].text if reply.drafts else ""
            reading = read_triplets(said, claims)
            if reading.said:
                return _Answer(usage, reading)
            messages = prompt.again(messages, said)
        # Not what it said: the error is logged, and chat text never is.
        wrong = f"no triplets in {len(said.strip())} characters"
        return _Answer(usage, error=f"the extractor's model gave no readable answer: {wrong}")


@dataclass(frozen=True, slots=True)
class _Answer:
    """The outcome of one batch: a reading, or an error that says why there is none."""

    usage: Usage
    reading: Reading | None = None
    error: str = ""


def extraction(claim: Claim, triplets: Sequence[Triplet], malformed: int) -> Extraction:
    """The triplets' parts in the order of the draft, then the claim itself where a triplet may be lost."""
    if not triplets:
        return Extraction(malformed=malformed)
    parts = sorted((locate(triplet, claim) for triplet in triplets), key=lambda part: (part.start, part.end))
    lost = malformed > 0 or bool(uncovered(claim.plain, map(spelt, triplets)))
    return Extraction((*parts, claim) if lost else tuple(parts), malformed)


def _unasked(claim: Claim) -> Extraction | None:
    """The extraction of a claim where the model need not be asked, else None."""
    if not claim.checkable:
        return Extraction()
    if len(claim.plain) > MAX_SENTENCE_CHARS:
        return Extraction(error=f"a sentence of more than {MAX_SENTENCE_CHARS} characters is not taken apart")
    return None


def _before(claims: Sequence[Claim], index: int) -> str:
    """The end of the text before a batch, as much as the prompt shows."""
    text = ""
    while index and len(text) < MAX_CONTEXT_CHARS:
        index -= 1
        text = f"{claims[index].plain[-MAX_CONTEXT_CHARS:]} {text}".strip()
    return text
