"""Rules that may overrule a model that calls a claim supported, each with a name. A score is never changed.

What each gains and costs is in the model card.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from proxy.text.scripts import language_of
from proxy.text.words import uncovered

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ABOUT = re.compile(
    r"\b(?:about|above|almost|approximately|around|at least|at most|below|between|close to|fewer|just|less"
    r"|more|nearly|over|roughly|some|under|up to)\b",
    re.IGNORECASE,
)
"""What makes a number of the claim another one than the evidence's without contradicting it."""
_SPELLED = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|dozen|hundred|thousand|half|third|quarter)\b",
    re.IGNORECASE,
)
"""Numbers in words, which may be the claim's."""


def changed_number(claim: str, texts: Sequence[str]) -> str | None:
    """The number that was changed in a copy of the evidence; None if there is none.

    It is a number of the claim that stands in none of the texts, where all other content words of the claim
    do, and where numbers stand in figures on both sides. A number that comes with `about` and the like is
    left to the model, and so are a claim in other words and one in Chinese, where the rule gained nothing.
    """
    if language_of(claim) == "zh":
        return None
    lacking = [claim[word.start : word.end] for word in uncovered(claim, texts)]
    if not lacking or not all(_NUMBER.fullmatch(word) for word in lacking):
        return None
    if _ABOUT.search(claim) or any(_SPELLED.search(text) for text in texts):
        return None
    return lacking[0] if any(_NUMBER.search(text) for text in texts) else None
