"""A checker's verdicts on RefChecker's claims, and what each rule makes of a response's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from evaluation.refchecker import Context, Response, Setting
from proxy.claims.decompose.locate import spelt
from proxy.engine.judging import decide
from proxy.types import Claim, Evidence, Judgement, Pair, Passage, Verdict

_LONGEST = 5
_WORD = re.compile(r"\w+")
_ANY = Passage("", "", "", "", "", "", 0, 0)


@dataclass(frozen=True, slots=True)
class Asked:
    """A response that claims something, with its context."""

    response: Response
    context: Context

    def pairs(self) -> Iterator[Pair]:
        """Each claim with each passage: claim by claim, passages in their order."""
        for claim in self.response.claims:
            for passage in self.context.passages:
                yield Pair(spelt(claim), passage, question=self.context.question)

    @property
    def count(self) -> int:
        """How many pairs these are."""
        return len(self.response.claims) * len(self.context.passages)


@dataclass(frozen=True, slots=True)
class Checked:
    """A response with a verdict for each of its claims."""

    response: Response
    verdicts: tuple[Verdict, ...]
    copied: float | None
    """`copy_rate`; None in the zero context, where the model was shown nothing."""


def asked(responses: Iterable[Response], contexts: Mapping[tuple[Setting, str], Context]) -> list[Asked]:
    """The responses that claim something and have a context."""
    return [
        Asked(response, contexts[response.setting, response.id])
        for response in responses
        if not response.abstained and (response.setting, response.id) in contexts
    ]


def checked(questions: Sequence[Asked], judgements: Iterable[Verdict]) -> list[Checked]:
    """The responses with their claims' verdicts, out of those of all `pairs` in their order.

    A claim is supported where any passage supports it, else contradicted where any contradicts it (RefChecker
    section 3.4); what a failed check leaves is decided as the proxy does it (`steps.judge.decide`).
    """
    rest = iter(judgements)
    found = []
    for one in questions:
        passages = len(one.context.passages)
        verdicts = tuple(_decided(claim, islice(rest, passages)) for claim in map(spelt, one.response.claims))
        shown = one.response.setting != "zero"
        copied = copy_rate(one.response.text, one.context.passages) if shown else None
        found.append(Checked(one.response, verdicts, copied))
    return found


def copy_rate(response: str, passages: Sequence[str]) -> float:
    """How much of a response is in its context: 0 to 1, NaN for a response without words.

    RefChecker compares models by how much they copy of the context. Here: the mean over n = 1 .. 5 of the
    share of the response's word n-grams that some passage has, without regard to case and punctuation; an n
    that is longer than the response does not count.
    """
    words = _words(response)
    held = [_words(passage) for passage in passages]
    shares = []
    for size in range(1, min(_LONGEST, len(words)) + 1):
        own = _grams(words, size)
        there = {gram for passage in held for gram in _grams(passage, size)}
        shares.append(sum(gram in there for gram in own) / len(own))
    return sum(shares) / len(shares) if shares else float("nan")


def _decided(claim: str, verdicts: Iterable[Verdict]) -> Verdict:
    evidence = [Evidence(_ANY, 0.0, Judgement(verdict)) for verdict in verdicts]
    return decide(Claim(0, len(claim), claim, claim), evidence).verdict


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _grams(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]
