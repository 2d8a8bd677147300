"""RefChecker's figures: what the human labels say of each model, and how a checker's verdicts compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics import Estimates, Figures, Flags, Floats, Indexes, estimate, rounded, shown
from evaluation.output import table
from evaluation.refchecker.data import SETTINGS, Checked, Response, Setting
from proxy.engine.judging import major, scalar, shares, strict
from proxy.types import Verdict

ALL = "all"


@dataclass(frozen=True, slots=True)
class Rated:
    """A model in a setting: `n` responses with `claims` claims.

    `abstained` is the share of responses without a claim; all else is over the others. `supported`,
    `unsupported` and `contradicted` are the means of the responses' shares (RefChecker's frequency of each
    label; the soft rule), `scalar` that of 1, 0 and -1; `strict` and `major` the share of responses whose one
    verdict by that rule is nonfactual: contradicted or unsupported.
    """

    setting: Setting
    model: str
    n: int
    claims: int
    abstained: float
    supported: float
    unsupported: float
    contradicted: float
    scalar: float
    strict: float
    major: float


def rate(responses: Sequence[Response]) -> list[Rated]:
    """Every model in every setting, and all models of each."""
    models = list(dict.fromkeys(response.model for response in responses))
    rated = []
    for setting in SETTINGS:
        own = [response for response in responses if response.setting == setting]
        for model in (*models, ALL):
            chosen = [response for response in own if model in (response.model, ALL)]
            if chosen:
                rated.append(_rated(setting, model, chosen))
    return rated


def rated_as_json(rated: Rated) -> dict[str, Any]:
    """One line of `--json`."""
    return {
        name: rounded(value) if isinstance(value, float) else value for name, value in asdict(rated).items()
    }


def rated_as_markdown(rated: Sequence[Rated]) -> str:
    """The table."""
    header = ["setting", "model", "responses", "claims", "abstained"]
    header += [
        "supported",
        "unsupported",
        "contradicted",
        "scalar",
        "nonfactual, strict",
        "nonfactual, major",
    ]
    return "What people say of the responses.\n\n" + table(header, map(_row, rated))


def _rated(setting: Setting, model: str, responses: Sequence[Response]) -> Rated:
    spoken = [response.human for response in responses if not response.abstained]
    soft = [shares(human) for human in spoken]
    return Rated(
        setting=setting,
        model=model,
        n=len(responses),
        claims=sum(map(len, spoken)),
        abstained=1 - len(spoken) / len(responses),
        supported=_mean(by_label[Verdict.SUPPORTED] for by_label in soft),
        unsupported=_mean(by_label[Verdict.UNSUPPORTED] for by_label in soft),
        contradicted=_mean(by_label[Verdict.CONTRADICTED] for by_label in soft),
        scalar=_mean(scalar(human) or 0.0 for human in spoken),
        strict=_nonfactual(spoken, strict),
        major=_nonfactual(spoken, major),
    )


def _nonfactual(spoken: Sequence[Sequence[Verdict]], rule: Callable[[Iterable[Verdict]], Verdict]) -> float:
    return _mean(float(rule(human).nonfactual) for human in spoken)


def _mean(values: Iterable[float]) -> float:
    held = list(values)
    return float(np.mean(held)) if held else float("nan")


def _row(rated: Rated) -> list[str]:
    figures = (rated.abstained, rated.supported, rated.unsupported, rated.contradicted, rated.scalar)
    return [
        rated.setting,
        rated.model,
        f"{rated.n:,}",
        f"{rated.claims:,}",
        *map(shown, (*figures, rated.strict, rated.major)),
    ]


_CODES = (Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.UNSUPPORTED)
_OTHER = len(_CODES)
"""The code of a verdict that is none of the three: a failed check."""

Rule = Callable[[Iterable[Verdict]], Verdict]

_RULES: Mapping[str, Rule] = {"strict": strict, "major": major}
_NAMES = {
    "claims.accuracy": "claims: accuracy",
    "claims.macro_f1": "claims: macro-F1",
    "strict.accuracy": "strict: accuracy",
    "strict.f1_factual": "strict: F1, factual",
    "strict.f1_nonfactual": "strict: F1, nonfactual",
    "major.accuracy": "major: accuracy",
    "major.f1_factual": "major: F1, factual",
    "major.f1_nonfactual": "major: F1, nonfactual",
    "soft.pearson": "soft: Pearson",
    "soft.spearman": "soft: Spearman",
    "scalar.pearson": "scalar: Pearson",
    "scalar.spearman": "scalar: Spearman",
    "copy_rate": "copy rate",
}


@dataclass(frozen=True, slots=True)
class Both:
    """What people and the checker say of n responses, an array of shape (n,) each."""

    human: NDArray[Any]
    called: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Counted:
    """n responses as arrays.

    `claims[i, h, c]` are claims of response i that people gave the code h and the checker c, shape (n, 3, 4);
    `rules` hold codes, `soft` the share of claims that are not supported, `scalar` the mean of 1, 0 and -1.
    """

    claims: Indexes
    rules: Mapping[str, Both]
    soft: Both
    scalar: Both
    copied: Floats


@dataclass(frozen=True, slots=True)
class Scored:
    """The figures of `n` responses with `claims` claims of one setting, or of all of them."""

    setting: str
    n: int
    claims: int
    unverified: int
    estimates: Estimates


def score(setting: str, responses: Sequence[Checked], resamples: int) -> Scored:
    """The figures of these responses, of which there must be one; intervals resample responses."""
    counted = count(responses)
    return Scored(
        setting=setting,
        n=len(responses),
        claims=int(counted.claims.sum()),
        unverified=int(counted.claims[:, :, _OTHER].sum()),
        estimates=estimate(partial(figures, counted), len(responses), resamples),
    )


def count(responses: Sequence[Checked]) -> Counted:
    """The responses as arrays."""
    claims = np.zeros((len(responses), _OTHER, _OTHER + 1), dtype=np.int64)
    for row, checked in enumerate(responses):
        for human, called in zip(checked.response.human, checked.verdicts, strict=True):
            claims[row, _code(human), _code(called)] += 1
    return Counted(
        claims,
        {name: _both(responses, partial(_ruled, rule)) for name, rule in _RULES.items()},
        _both(responses, _not_supported),
        _both(responses, lambda verdicts: scalar(verdicts) or 0.0),
        np.array(
            [math.nan if response.copied is None else response.copied for response in responses],
            dtype=np.float64,
        ),
    )


def figures(counted: Counted, rows: Indexes) -> Figures:
    """Claims: accuracy and macro-F1 over the three labels. Responses: of the strict and the majority verdict
    accuracy over the three, and F1 of being factual (the verdict is supported) and not; of shares and scalars
    the correlations with people's. NaN where they don't vary.
    """
    values = {f"claims.{name}": value for name, value in _of_claims(counted.claims[rows].sum(axis=0)).items()}
    for name, both in counted.rules.items():
        human, called = both.human[rows], both.called[rows]
        values[f"{name}.accuracy"] = float((human == called).mean())
        values[f"{name}.f1_factual"] = _f1(human == 0, called == 0)
        values[f"{name}.f1_nonfactual"] = _f1(human != 0, called != 0)
    for name, both in (("soft", counted.soft), ("scalar", counted.scalar)):
        human, called = both.human[rows], both.called[rows]
        values[f"{name}.pearson"] = _pearson(human, called)
        values[f"{name}.spearman"] = _pearson(_ranks(human), _ranks(called))
    copied = counted.copied[rows]
    known = copied[~np.isnan(copied)]
    return {**values, "copy_rate": float(known.mean()) if known.size else math.nan}


def scored_as_json(scored: Scored) -> dict[str, Any]:
    """One line of `--json`."""
    return {
        "setting": scored.setting,
        "n": scored.n,
        "checked_claims": scored.claims,
        "unverified": scored.unverified,
        **scored.estimates.as_json(),
    }


def scored_as_markdown(scored: Sequence[Scored]) -> str:
    """The table: a figure a row, a setting a column."""
    header = ["", *(f"{entry.setting} ({entry.n:,} responses, {entry.claims:,} claims)" for entry in scored)]
    columns = [entry.estimates.cells(_NAMES) for entry in scored]
    return table(header, zip(_NAMES.values(), *columns, strict=True))


def _both(responses: Sequence[Checked], value: Callable[[Sequence[Verdict]], float]) -> Both:
    return Both(
        np.array([value(response.response.human) for response in responses]),
        np.array([value(response.verdicts) for response in responses]),
    )


def _ruled(rule: Rule, verdicts: Sequence[Verdict]) -> int:
    return _code(rule(verdicts))


def _code(verdict: Verdict) -> int:
    return _CODES.index(verdict) if verdict in _CODES else _OTHER


def _not_supported(verdicts: Sequence[Verdict]) -> float:
    """RefChecker's rate of hallucination; a claim that could not be checked counts."""
    return sum(verdict is not Verdict.SUPPORTED for verdict in verdicts) / len(verdicts)


def _of_claims(confusion: Indexes) -> Figures:
    right = np.diagonal(confusion)
    labelled, called = confusion.sum(axis=1), confusion.sum(axis=0)[:_OTHER]
    there = labelled > 0
    f1 = 2 * right[there] / (labelled + called)[there]
    return {"accuracy": float(right.sum() / confusion.sum()), "macro_f1": float(f1.mean())}


def _f1(human: Flags, called: Flags) -> float:
    held = int(human.sum() + called.sum())
    return float(2 * (human & called).sum() / held) if held else math.nan


def _pearson(left: Floats, right: Floats) -> float:
    if np.ptp(left) == 0 or np.ptp(right) == 0:
        return math.nan
    return float(np.corrcoef(left, right)[0, 1])


def _ranks(values: Floats) -> Floats:
    """From 1, equal values sharing the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks
