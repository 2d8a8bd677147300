"""One value of a Chinese text exchanged for another of its kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "date", "unit", "name", "place"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """`old` for `new`, wherever it stands. `subject`: it names what the passage is about."""

    kind: Kind
    old: str
    new: str
    subject: bool = False

    def apply(self, text: str) -> str:
        """`text` with every mention exchanged."""
        return text.replace(self.old, self.new)


def quoted(text: str, at: int) -> bool:
    """Whether a title in 《》 or a quotation is open at `at`."""
    return any(
        text.count(mark, 0, at) > text.count(end, 0, at) for mark, end in ("《》", "「」", "“”", "『』")
    )


def any_of(groups: Iterable[Sequence[str]]) -> str:
    """A pattern for any word of the groups, the longest first."""
    return "|".join(sorted({word for group in groups for word in group}, key=lambda word: (-len(word), word)))
