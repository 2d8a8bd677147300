"""The built-in checker: word overlap and a small NLI model, weighed by one calibrated model per language."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby

from proxy.checkers.builtin.builtin_weights import Contradiction, Weights, load_weights
from proxy.checkers.builtin.claim_parts import parts
from proxy.checkers.builtin.comparison import Comparison
from proxy.checkers.builtin.contradiction import carrying, contradicted, contradiction, missing, shortfall
from proxy.checkers.builtin.ensemble import asked, inputs, overlap
from proxy.checkers.builtin.evidence_windows import EvidenceReader
from proxy.checkers.builtin.excerpt import Extract
from proxy.checkers.builtin.nli import Entailment, EntailmentModel, LazyNLI, entailments
from proxy.checkers.builtin.pair_view import Read, Reading
from proxy.checkers.cache import Judgements
from proxy.checkers.windows import best
from proxy.types import LANGUAGES, Judgement, Language, Pair, Verdict

log = logging.getLogger(__name__)

_AT_ONCE = 64
"""Questions that are answered before we look whether the caller is still there."""
_KEPT, _KEPT_PAIRS, _KEPT_CHARS = "", 1_000, 2_000_000
"""Answers that are kept, and the length of their texts: what is checked together was mostly checked alone
just before."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A claim, or a part of it, and one of the passages, by number; `owner` is the index of the pair."""

    owner: int
    part: int | None
    passage: int
    pair: Pair


@dataclass(frozen=True, slots=True)
class _Compared:
    """A pair that was read, with the inputs that need no model."""

    read: Read
    values: tuple[float, ...]

    @property
    def language(self) -> Language:
        """That of the claim."""
        return self.read.comparison.claim.language

    @property
    def asked(self) -> bool:
        """Whether the NLI model is asked."""
        return asked(self.read.comparison)


class BuiltinChecker:
    """Implements `protocols.Checker` without a key, a download or a GPU.

    The work is done on a thread of the checker's own, one batch after the other, so that the event loop stays
    free. Raises `ConfigError` when made with weights that are missing or broken, or without an adapter. An
    NLI model that turns out broken when it is first asked leaves what it was asked UNVERIFIED.
    """

    def __init__(
        self, weights: Weights | None = None, nli: Mapping[Language, EntailmentModel] | None = None
    ) -> None:
        self._weights = weights or load_weights()
        self._models = self._weights.languages
        self._lexicons = {language: model.lexicon() for language, model in self._models.items()}
        self._nli = nli or {language: LazyNLI(language) for language in LANGUAGES}
        self._reader = EvidenceReader()
        self._kept = Judgements(_KEPT_PAIRS, _KEPT_CHARS)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="builtin-checker")

    @property
    def version(self) -> str:
        """A checksum of the weights, and those of the NLI models."""
        weights = hashlib.sha256(self._weights.model_dump_json().encode()).hexdigest()
        return "-".join(["builtin", weights[:12], *(self._nli[one].version for one in LANGUAGES)])

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order. What still waits when the caller goes away is dropped.

        Of several passages each is held against the claim alone, with its own title: the best one decides, so
        that others beside it change nothing. Then against each part of the claim, since the passages may say
        one each.
        """
        loop = asyncio.get_running_loop()
        reading = Reading(self._lexicons, self._reader)
        questions = [one for at, pair in enumerate(pairs) for one in _questions(at, pair)]
        wanted = dict.fromkeys(one.pair for one in questions)
        told = {pair: kept for pair in wanted if (kept := self._kept.get((_KEPT, pair))) is not None}
        left = [pair for pair in wanted if pair not in told]
        for start in range(0, len(left), _AT_ONCE):
            batch = left[start : start + _AT_ONCE]
            answers = await loop.run_in_executor(self._thread, self._answers, reading, batch)
            for pair, answer in zip(batch, answers, strict=True):
                told[pair] = answer
                self._kept.put((_KEPT, pair), answer)
        answered = ((question, told[question.pair]) for question in questions)
        return [_together(tuple(of_one)) for _, of_one in groupby(answered, key=lambda one: one[0].owner)]

    def close(self) -> None:
        """Ends the thread; what it is at is finished first."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _answers(self, reading: Reading, pairs: Sequence[Pair]) -> list[Judgement]:
        """The border: a text that we stumble over leaves its own pair UNVERIFIED."""
        reads = [self._read(reading, pair) for pair in pairs]
        compared = {at: one for at, one in enumerate(reads) if isinstance(one, _Compared)}
        told: dict[int, Entailment | Judgement] = {}
        for language in LANGUAGES:
            wanted = [at for at, one in compared.items() if one.asked and one.language == language]
            answers = self._told(language, [compared[at].read.extracts for at in wanted])
            told.update(zip(wanted, answers, strict=True))
        return [
            one if isinstance(one, Judgement) else self._answer(pairs[at], one, told.get(at))
            for at, one in enumerate(reads)
        ]

    def _told(
        self, language: Language, claims: Sequence[Sequence[Extract]]
    ) -> Sequence[Entailment | Judgement]:
        """The border: a model that fails leaves all that it was asked UNVERIFIED."""
        try:
            return entailments(self._nli[language], claims)
        except Exception as error:
            log.exception("the built-in checker's NLI model for %s failed", language)
            return [_failed(error)] * len(claims)

    def _read(self, reading: Reading, pair: Pair) -> _Compared | Judgement:
        """The pair as far as no model is needed, or the answer where none is needed at all."""
        try:
            read = reading.read(pair)
            if read is not None:
                return _Compared(read, overlap(read.comparison))
        except Exception as error:
            log.exception("the built-in checker stumbled over a pair")
            return _failed(error)
        what = "the claim has no words to check" if pair.evidence.strip() else "there is no evidence"
        return Judgement(Verdict.UNSUPPORTED, reason=what)

    def _answer(self, pair: Pair, compared: _Compared, told: Entailment | Judgement | None) -> Judgement:
        if isinstance(told, Judgement):
            return told
        comparison, quote = compared.read.comparison, compared.read.quote
        model = self._models[compared.language]
        values = inputs(compared.values, told)
        score = model.probability(values) * comparison.factor(told.supported if told else 0.0)
        spans = carrying(comparison)
        if score >= model.threshold:
            return Judgement(Verdict.SUPPORTED, score, quote, "the evidence says it", carrying=spans)
        conflict = _conflict(comparison, model.contradiction, values, score)
        return Judgement(
            Verdict.CONTRADICTED if conflict else Verdict.UNSUPPORTED,
            score,
            quote,
            conflict or shortfall(comparison),
            carrying=spans,
            missing=missing(comparison, told.words if told else (), len(pair.claim)),
        )


def _conflict(
    comparison: Comparison, learnt: Contradiction | None, values: Sequence[float], score: float
) -> str | None:
    """Why a claim that fails is contradicted: by the rule, or else by the NLI model where it is sure."""
    ruled = contradiction(comparison)
    if ruled is None and learnt is not None and contradicted(comparison, values, score) >= learnt.threshold:
        return "the evidence says otherwise"
    return ruled


def _questions(at: int, pair: Pair) -> Iterator[_Question]:
    passages = pair.alone()
    yield from (_Question(at, None, number, one) for number, one in enumerate(passages))
    for part, claim in enumerate(parts(pair.claim)) if len(passages) > 1 else ():
        for number, one in enumerate(passages):
            yield _Question(at, part, number, replace(one, claim=claim))


def _together(told: Sequence[tuple[_Question, Judgement]]) -> Judgement:
    """What the passages say of a claim and of its parts, as one judgement.

    It is supported by the best of them, or where each part is borne out and not all by one of them, since
    that one was held against the whole claim: then as surely as the weakest part.
    """
    alone = [answer for question, answer in told if question.part is None]
    if len(alone) == 1:
        return alone[0]
    whole = replace(best(alone), quote=None, carrying=())
    bearing: dict[int, dict[int, float]] = {one.part: {} for one, _ in told if one.part is not None}
    for question, answer in told:
        if question.part is not None and answer.verdict is Verdict.SUPPORTED:
            bearing[question.part][question.passage] = answer.score
    said = [frozenset(scores) for scores in bearing.values()]
    if whole.verdict is Verdict.SUPPORTED or not said or not all(said) or frozenset.intersection(*said):
        return whole
    weakest = min(max(scores.values()) for scores in bearing.values())
    return Judgement(Verdict.SUPPORTED, weakest, reason="the passages say each part of it")


def _failed(error: Exception) -> Judgement:
    return Judgement(Verdict.UNVERIFIED, reason=f"the checker failed: {type(error).__name__}")
