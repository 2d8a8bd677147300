"""CEG's pick-one-of-two prompt (its Table 13), and how its replies are parsed.

Task, rules, inputs, their order and the form of the answer are the paper's; the wording is ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Place = Literal[1, 2]

_PROMPT = """\
Instruction: You judge answers. You will see a question and two answers to it. Select the correct answer, \
the one without hallucination and non-factual information, as well as you can. If the two answers say the \
same, select either one. If both are incorrect, select the better one. You MUST select one of the two \
answers. Think step by step: give your reasoning first and then your choice. Answer in the following form:
#Reasoning#:Your Reasoning
#Choice#:Your Choice
Your choice must be "Answer 1" or "Answer 2".
#Question#: {question}
#Answer 1#: {first}
#Answer 2#: {second}"""

_REASONING = re.compile(r"#\s?reasoning\s?#\s?[:：]?", re.I)
_CHOICE = re.compile(r"#\s?(?:your )?choice\s?#\s?[:：]?", re.I)
_NAMED = re.compile(r"\banswer\s?([12])\b", re.I)


@dataclass(frozen=True, slots=True)
class Pick:
    """What a model answered: its reasoning, and the answer that it chose; None where that can't be read."""

    reasoning: str
    choice: Place | None


def write_pick(question: str, first: str, second: str) -> str:
    """The user turn."""
    return _PROMPT.format(question=question, first=first, second=second)


def read_pick(text: str) -> Pick:
    """The reasoning before `#Choice#` and the choice behind it.

    The choice counts where it names one of the two, `Answer 1` or `Answer 2`, and not the other as well. One
    that quotes an answer instead is not guessed at. CEG's code reads every answer as the second one that does
    not contain `Answer 1`.
    """
    said = text.rpartition("</think>")[2]
    before, *sections = _CHOICE.split(said)
    reasoning = _REASONING.split(before)[-1].strip()
    named = {name for section in sections for name in _NAMED.findall(section)}
    if len(named) != 1:
        return Pick(reasoning, None)
    return Pick(reasoning, 1 if "1" in named else 2)
