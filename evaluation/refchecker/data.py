"""RefChecker's human-labelled claims, the contexts to check them against, and a checker's verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from evaluation.datasets import DataError, Line, explain, read_lines
from proxy.claims.decompose.locate import spelt
from proxy.engine.judging import decide
from proxy.types import Claim, Evidence, Judgement, Pair, Passage, Triplet, Verdict

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
    claude2_response_kg: tuple[_Labelled, ...]


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
    responses = [
        response
        for setting in SETTINGS
        for path in sorted((folder / _FOLDER.format(setting=setting)).glob(f"*{_SUFFIX}.json"))
        for response in _read(path, setting)[:limit]
    ]
    if not responses:
        raise DataError(
            f"{folder} holds no responses: it must have zero_context, noisy_context or accurate_context, "
            f"with files such as nq_gpt4{_SUFFIX}.json."
        )
    return responses


def read_contexts(path: Path) -> dict[tuple[Setting, str], Context]:
    """The contexts of a file, by setting and id. Raises `DataError`, also where one is there twice."""
    contexts: dict[tuple[Setting, str], Context] = {}
    for context in read_lines(path, Context):
        if (context.setting, context.id) in contexts:
            raise DataError(f"{path}: {context.id} has two contexts in the setting {context.setting}.")
        contexts[context.setting, context.id] = context
    return contexts


def _read(path: Path, setting: Setting) -> list[Response]:
    try:
        responses = _RESPONSES.validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}.") from error
    except ValidationError as error:
        raise DataError(f"{path}: {explain(error)}.") from None
    model = path.stem.removesuffix(_SUFFIX).partition("_")[2] or path.stem
    return [_response(response, setting, model) for response in responses]


def _response(raw_response: _Response, setting: Setting, model: str) -> Response:
    return Response(
        setting,
        raw_response.id,
        model,
        raw_response.response,
        tuple(Triplet(*labelled.triplet) for labelled in raw_response.claude2_response_kg),
        tuple(_VERDICTS[labelled.human_label] for labelled in raw_response.claude2_response_kg),
    )


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
    section 3.4); what a failed check leaves is decided as the proxy does it (`proxy.engine.judging.decide`).
    """
    rest = iter(judgements)
    with_verdicts = []
    for question in questions:
        passages = len(question.context.passages)
        verdicts = tuple(
            _decided(claim, islice(rest, passages)) for claim in map(spelt, question.response.claims)
        )
        shown = question.response.setting != "zero"
        copied = copy_rate(question.response.text, question.context.passages) if shown else None
        with_verdicts.append(Checked(question.response, verdicts, copied))
    return with_verdicts


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
    return [tuple(words[index : index + size]) for index in range(len(words) - size + 1)]
