"""Where two texts differ: by word in English, by character in Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

_TOKEN = re.compile(r"[A-Za-z0-9\u00c0-\u024f]+|\s+|.", re.S)


@dataclass(frozen=True, slots=True)
class Change:
    """`old[start:end]`, in code points, is `new` in the other text. One of both may be empty."""

    start: int
    end: int
    new: str


def changes(old: str, new: str) -> Iterator[Change]:
    """The changes that make `new` of `old`, in order, no two of them adjacent."""
    one, other = _TOKEN.findall(old), _TOKEN.findall(new)
    starts = [0]
    for token in one:
        starts.append(starts[-1] + len(token))
    for tag, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Change(starts[i], starts[j], "".join(other[k:m]))
