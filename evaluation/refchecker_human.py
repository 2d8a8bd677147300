"""What people said of models' responses, by RefChecker's rules: how much is hallucinated, who abstains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evaluation.markdown import rounded, shown, table
from evaluation.refchecker import SETTINGS, Response, Setting
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
    models = list(dict.fromkeys(one.model for one in responses))
    rated = []
    for setting in SETTINGS:
        own = [one for one in responses if one.setting == setting]
        for model in (*models, ALL):
            chosen = [one for one in own if model in (one.model, ALL)]
            if chosen:
                rated.append(_rated(setting, model, chosen))
    return rated


def as_json(rated: Rated) -> dict[str, Any]:
    """One line of `--json`."""
    return {
        name: rounded(value) if isinstance(value, float) else value for name, value in asdict(rated).items()
    }


def as_markdown(rated: Sequence[Rated]) -> str:
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
    spoken = [one.human for one in responses if not one.abstained]
    soft = [shares(human) for human in spoken]
    return Rated(
        setting=setting,
        model=model,
        n=len(responses),
        claims=sum(map(len, spoken)),
        abstained=1 - len(spoken) / len(responses),
        supported=_mean(one[Verdict.SUPPORTED] for one in soft),
        unsupported=_mean(one[Verdict.UNSUPPORTED] for one in soft),
        contradicted=_mean(one[Verdict.CONTRADICTED] for one in soft),
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
