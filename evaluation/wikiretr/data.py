"""CEG's WikiRetr claims, with people's and models' verdicts where their files hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from evaluation.datasets import DataError, explain
from evaluation.metrics import Flags
from proxy.types import Pair

_COLUMN = "_eval"


class Retold(BaseModel):
    """A claim that a model made of `content`."""

    model_config = ConfigDict(frozen=True, extra="allow")

    title: str
    content: str
    claim: str


class Claim(Retold):
    """One that people judged; the other columns that end in `_eval` are models' verdicts."""

    human_eval: Literal[0, 1]


@dataclass(frozen=True, slots=True)
class Subset:
    """n claims as pairs; what people called supported, and what each model did, shape (n,) each."""

    name: str
    pairs: tuple[Pair, ...]
    human: Flags
    models: Mapping[str, Flags]


_RETOLD = TypeAdapter(list[Retold])
_CLAIMS = TypeAdapter(list[Claim])
AnyRetold = TypeVar("AnyRetold", bound=Retold)


def read_retold(path: Path, limit: int | None = None) -> list[Retold]:
    """The claims of a file, or the first `limit`, whether or not people judged them. Raises `DataError`."""
    return _read(path, _RETOLD)[:limit]


def read_subset(path: Path, limit: int | None = None) -> Subset:
    """The claims of a file, or the first `limit`. Raises `DataError`.

    A model's verdict is 1, 0, or -1 where its answer was neither; that counts as supported, which is how the
    columns come to the figures of CEG Table 5.
    """
    claims = _read(path, _CLAIMS)[:limit]
    return Subset(
        str(path),
        tuple(Pair(claim.claim, claim.content, title=claim.title) for claim in claims),
        np.array([claim.human_eval == 1 for claim in claims], dtype=np.bool_),
        _models(claims),
    )


def joined(name: str, subsets: Sequence[Subset]) -> Subset:
    """The subsets as one; of the models those that are in all of them."""
    shared = [model for model in subsets[0].models if all(model in subset.models for subset in subsets)]
    return Subset(
        name,
        tuple(pair for subset in subsets for pair in subset.pairs),
        np.concatenate([subset.human for subset in subsets]),
        {model: np.concatenate([subset.models[model] for subset in subsets]) for model in shared},
    )


def _read(path: Path, kind: TypeAdapter[list[AnyRetold]]) -> list[AnyRetold]:
    try:
        claims = kind.validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}.") from error
    except ValidationError as error:
        raise DataError(f"{path}: {explain(error)}.") from None
    if not claims:
        raise DataError(f"{path} is empty: it must hold a list of claims.")
    return claims


def _models(claims: Sequence[Claim]) -> dict[str, Flags]:
    """The columns that have a verdict for every claim."""
    extra = [claim.model_extra or {} for claim in claims]
    columns = {name: [extras.get(name) for extras in extra] for name in extra[0] if name.endswith(_COLUMN)}
    return {
        name.removesuffix(_COLUMN): np.array([value != 0 for value in values], dtype=np.bool_)
        for name, values in columns.items()
        if all(value in (-1, 0, 1) for value in values)
    }
