"""HaluEval QA (Li et al. 2023) without an LLM: does a score tell the right answer from the hallucinated one?

Right answers are mostly a few words, hallucinated ones mostly sentences, so length and style alone give the
label away. Three things control for that. Both answers follow the question and, in the form `reduced`, keep
only the words that the question lacks. Extra figures cover only the questions whose answers are then equally
long. And two uninformed judges serve as baselines: the length of the answer, and the score given the
knowledge of another question.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from bm25s.stopwords import STOPWORDS_EN_PLUS
from sklearn.metrics import roc_auc_score

from evaluation.datasets import DataError, Line, read_lines
from evaluation.metrics import SEED, Figures, Floats, Indexes
from proxy.types import Pair

Form = Literal["whole", "reduced"]
"""An answer as it is, or only its words that the question lacks (as it is where it has none)."""

_STOP_WORDS = frozenset(
    word for word in STOPWORDS_EN_PLUS if word not in {"no", "nor", "not"} and "n't" not in word
)
"""Without denials: "not Atlanta" must not become "Atlanta"."""
_WORD = re.compile(r"[\w’'.,:-]*\w")


class Question(Line):
    """A row of HaluEval QA."""

    question: str
    knowledge: str
    right_answer: str
    hallucinated_answer: str


def read_questions(path: Path, limit: int | None = None) -> list[Question]:
    """The rows, or the first `limit`.

    Raises `DataError`, also for one alone: no other could lend it knowledge.
    """
    questions = list(read_lines(path, Question))[:limit]
    if len(questions) < 2:
        raise DataError(f"{path}: two questions are needed, so that one can have the other's knowledge.")
    return questions


def with_others_knowledge(questions: Sequence[Question]) -> list[Question]:
    """Each question with the knowledge of another one, each knowledge once."""
    order = list(range(len(questions)))
    random.Random(SEED).shuffle(order)
    lender = {order[index]: order[index - 1] for index in range(len(order))}
    return [
        question.model_copy(update={"knowledge": questions[lender[row]].knowledge})
        for row, question in enumerate(questions)
    ]


def claims(question: Question, form: Form) -> tuple[Pair, Pair]:
    """The right and the hallucinated answer behind the question, against its knowledge."""
    right, hallucinated = _answers(question, form)
    return (
        Pair(f"{question.question} {right}", question.knowledge),
        Pair(f"{question.question} {hallucinated}", question.knowledge),
    )


def lengths(questions: Sequence[Question], form: Form) -> Indexes:
    """Words of both answers in that form, shape (n, 2)."""
    counts = [[len(_words(answer)) for answer in _answers(question, form)] for question in questions]
    return np.array(counts, dtype=np.int64)


def reduced(question: str, answer: str) -> str:
    """An answer's words that the question lacks, without stop words but denials; all of it where none is."""
    asked = {word.casefold() for word in _words(question)}
    left = [word for word in _words(answer) if word.casefold() not in asked | _STOP_WORDS]
    return " ".join(left) or answer


def figures(scores: Floats, rows: Indexes) -> Figures:
    """Of scores of the right and the hallucinated answer, shape (n, 2).

    `pairwise` is the share of questions whose right answer has the higher score, an equal one counting half;
    `auc` the same over all right and all hallucinated answers. Both are 0.5 for a judge that knows nothing.
    """
    right, hallucinated = scores[rows].T
    gap = right - hallucinated
    return {
        "pairwise": float(((gap > 0) + 0.5 * (gap == 0)).mean()) if len(rows) else math.nan,
        "auc": _auc(right, hallucinated),
    }


def _answers(question: Question, form: Form) -> tuple[str, str]:
    shaped = _FORMS[form]
    return (
        shaped(question.question, question.right_answer),
        shaped(question.question, question.hallucinated_answer),
    )


def _auc(right: Floats, hallucinated: Floats) -> float:
    if not len(right):
        return math.nan
    labels = np.repeat([True, False], len(right))
    return float(roc_auc_score(labels, np.concatenate([right, hallucinated])))


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


_FORMS: Mapping[Form, Callable[[str, str], str]] = {"whole": lambda _, answer: answer, "reduced": reduced}
