"""Rows made from frames: what is easily got wrong about numbers, order, negation and more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from proxy.types import Language
from training.generated import (
    chinese_language,
    chinese_names,
    chinese_numbers,
    english_amounts,
    english_grammar,
    english_meaning,
    english_measures,
    english_names,
    english_opposites,
)
from training.generated.drafts import Draft, capital

_MOST = 2
"""Right claims, and wrong ones, of one evidence."""


@dataclass(frozen=True, slots=True)
class _Generators:
    """What rows of a language are made with: a function per kind, sentences that say nothing of the matter,
    and what stands between two sentences."""

    kinds: Sequence[Callable[[Random], Draft]]
    fillers: Sequence[str]
    gap: str


GENERATORS: Mapping[Language, _Generators] = {
    "en": _Generators(
        (
            english_amounts.rounding,
            english_amounts.shares,
            english_measures.durations,
            english_measures.units,
            english_amounts.counts,
            english_amounts.sums,
            english_amounts.rates,
            english_amounts.comparison,
            english_measures.dates,
            english_grammar.order,
            english_grammar.roles,
            english_grammar.quantifiers,
            english_opposites.negation,
            english_opposites.opposites,
            english_meaning.modality,
            english_meaning.cause,
            english_meaning.attribution,
            english_meaning.scope,
            english_meaning.entity,
        ),
        english_names.FILLERS,
        " ",
    ),
    "zh": _Generators(
        (
            chinese_numbers.rounding,
            chinese_numbers.shares,
            chinese_numbers.durations,
            chinese_numbers.units,
            chinese_numbers.sums,
            chinese_numbers.counts,
            chinese_numbers.comparison,
            chinese_language.order,
            chinese_language.roles,
            chinese_language.quantifiers,
            chinese_language.negation,
            chinese_language.opposites,
            chinese_language.modality,
            chinese_language.cause,
            chinese_language.attribution,
            chinese_language.scope,
            chinese_language.entity,
        ),
        chinese_names.FILLERS,
        "",
    ),
}


def generated(language: Language, drafts: int, seed: int) -> Iterator[dict[str, str]]:
    """Rows about so many pieces of evidence, the kinds in turn.

    Each evidence has up to two right and two wrong claims, drawn from its frames independently. The same
    arguments give the same rows.
    """
    rng = Random(seed)
    generators = GENERATORS[language]
    for number in range(drafts):
        draft = generators.kinds[number % len(generators.kinds)](rng)
        count = min(_MOST, len(draft.pairs))
        claims = [(right, "supported") for right, _ in rng.sample(draft.pairs, count)]
        claims += [(wrong, draft.wrong) for _, wrong in rng.sample(draft.pairs, count)]
        around = rng.sample(generators.fillers, rng.choice((0, 0, 1, 2)))
        place = rng.randint(0, len(around))
        evidence = generators.gap.join([*around[:place], draft.fact, *around[place:]])
        labels = {capital(claim): label for claim, label in claims if capital(claim) not in evidence}
        group = f"generated-{language}-{seed}-{number}"
        for letter, (claim, label) in zip("abcd", labels.items(), strict=False):
            yield {
                "id": f"{group}-{letter}",
                "group": group,
                "source": f"generated_{draft.kind}",
                "claim": claim,
                "evidence": evidence,
                "label": label,
                "lang": language,
            }
