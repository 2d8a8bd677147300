"""HaluEval's questions with a right and a hallucinated answer, and CEG's record of GPT-3.5's choices."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError, model_validator

from evaluation.datasets import DataError, Line, explain
from evaluation.halueval.prompts import Place, write_pick

Order = Literal["mixed", "paper"]
"""Which answer comes first. `paper`: always the right one, as in CEG's published code. `mixed`: either, by
the question's SHA-256, so that a model which always picks the first is right half of the time."""


class Question(Line):
    """A question of HaluEval QA."""

    knowledge: str
    question: str
    right_answer: str
    hallucinated_answer: str

    def right_at(self, order: Order) -> Place:
        """Where the right answer stands."""
        even = hashlib.sha256(self.question.encode()).digest()[-1] % 2 == 0
        return 1 if order == "paper" or even else 2

    def prompt(self, order: Order) -> str:
        """What the model is asked."""
        answers = (self.right_answer, self.hallucinated_answer)
        return write_pick(self.question, *(answers if self.right_at(order) == 1 else answers[::-1]))


class Recorded(Question):
    """The same with what GPT-3.5 said: chosen (1 for the right answer, which always came first), its words.

    Each segment of its reasoning has the passage (id, text, title) that was found for it and what GPT-3.5
    called it: 1 factual, 0 nonfactual. Where all are 1 it was not asked again.
    """

    res: Literal[0, 1]
    text: str
    segmented_response: tuple[str, ...]
    ret_knowledges: tuple[tuple[str, str, str], ...]
    tags: tuple[Literal[0, 1], ...]
    res_rege: Literal[0, 1] | None = None
    text_rege: str | None = None

    @model_validator(mode="after")
    def _aligned(self) -> Recorded:
        if not len(self.segmented_response) == len(self.ret_knowledges) == len(self.tags):
            raise ValueError(
                "`segmented_response`, `ret_knowledges` and `tags` must be as long as each other"
            )
        if (self.res_rege is None) != (self.text_rege is None):
            raise ValueError("`res_rege` and `text_rege` belong together")
        return self

    @property
    def last_res(self) -> int:
        """What it came to in the end."""
        return self.res if self.res_rege is None else self.res_rege

    @property
    def last_text(self) -> str:
        """What it said last."""
        return self.text if self.text_rege is None else self.text_rege


_RECORDED = TypeAdapter(list[Recorded])


def read_recorded(path: Path, limit: int | None = None) -> list[Recorded]:
    """The questions of CEG's file, the first `limit` of them. Raises `DataError`."""
    try:
        questions = _RECORDED.validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}.") from error
    except ValidationError as error:
        raise DataError(f"{path}: {explain(error)}.") from None
    if not questions:
        raise DataError(f"{path} is empty: it must hold a list of questions.")
    return questions[:limit]
