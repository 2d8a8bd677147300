"""RefChecker's human-labelled claims, and the contexts that they are held against, as files hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from evaluation.rows import DataError, Line, explain, read_lines
from proxy.types import Triplet, Verdict

Setting = Literal["zero", "noisy", "accurate"]
SETTINGS: tuple[Setting, ...] = get_args(Setting)

_FOLDER = "{setting}_context"
_SUFFIX = "_answers"
_VERDICTS: Mapping[str, Verdict] = {
    "Entailment": Verdict.SUPPORTED,
    "Neutral": Verdict.UNSUPPORTED,
    "Contradiction": Verdict.CONTRADICTED,
}


class _Labelled(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    triplet: tuple[str, str, str]
    human_label: Literal["Entailment", "Neutral", "Contradiction"]


class _Response(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    response: str
    claude2_response_kg: tuple[_Labelled, ...] = ()


class Context(Line):
    """What a question of a setting came with: its passages in order, and the question where it is known.

    `{"setting": "noisy", "id": "19", "question": "...", "passages": ["...", "..."]}`; `id` is that of the
    responses. The zero context's reference is the annotated answer, the accurate one's the document.
    """

    setting: Setting
    id: str
    passages: Annotated[tuple[str, ...], Field(min_length=1)]
    question: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """What one model answered in one setting: its claims, and what people said of each.

    No claim at all is an abstention: the model declined, and nothing could be extracted.
    """

    setting: Setting
    id: str
    model: str
    text: str
    claims: tuple[Triplet, ...]
    human: tuple[Verdict, ...]

    @property
    def abstained(self) -> bool:
        """Whether it claims nothing."""
        return not self.claims


_RESPONSES = TypeAdapter(list[_Response])


def read_responses(folder: Path, limit: int | None = None) -> list[Response]:
    """Those of the folder's settings, file by file, of each file the first `limit`.

    The folder holds `zero_context`, `noisy_context` and `accurate_context`, or some of them; a file of theirs
    is a model's: `nq_gpt4_answers.json`. Raises `DataError`.
    """
    found = [
        response
        for setting in SETTINGS
        for path in sorted((folder / _FOLDER.format(setting=setting)).glob(f"*{_SUFFIX}.json"))
        for response in _read(path, setting)[:limit]
    ]
    if not found:
        raise DataError(
            f"{folder} holds no responses: it must have zero_context, noisy_context or accurate_context, "
            f"with files such as nq_gpt4{_SUFFIX}.json."
        )
    return found


def read_contexts(path: Path) -> dict[tuple[Setting, str], Context]:
    """The contexts of a file, by setting and id. Raises `DataError`, also where one is there twice."""
    found: dict[tuple[Setting, str], Context] = {}
    for context in read_lines(path, Context):
        if (context.setting, context.id) in found:
            raise DataError(f"{path}: {context.id} has two contexts in the setting {context.setting}.")
        found[context.setting, context.id] = context
    return found


def _read(path: Path, setting: Setting) -> list[Response]:
    try:
        responses = _RESPONSES.validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}.") from error
    except ValidationError as error:
        raise DataError(f"{path}: {explain(error)}.") from None
    model = path.stem.removesuffix(_SUFFIX).partition("_")[2] or path.stem
    return [_response(one, setting, model) for one in responses]


def _response(one: _Response, setting: Setting, model: str) -> Response:
    return Response(
        setting,
        one.id,
        model,
        one.response,
        tuple(Triplet(*labelled.triplet) for labelled in one.claude2_response_kg),
        tuple(_VERDICTS[labelled.human_label] for labelled in one.claude2_response_kg),
    )
