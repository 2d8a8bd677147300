"""What two sequences of texts have in common, by patience diff: n log n for n texts, whatever they repeat.

`difflib` takes the cube of their number where texts are repeated.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence


def common(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of indexes of equal texts, rising in both: of texts that occur once in both the longest such run,
    and what is equal directly before or behind each."""
    times, place = Counter(old), {text: index for index, text in enumerate(new)}
    once = {text for text, count in Counter(new).items() if count == 1 == times[text]}
    anchors = _rising([(index, place[text]) for index, text in enumerate(old) if text in once])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    for end_i, end_j in [*anchors, (len(old), len(new))]:
        while i < end_i and j < end_j and old[i] == new[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        back = 0
        while end_i - back > i and end_j - back > j and old[end_i - back - 1] == new[end_j - back - 1]:
            back += 1
        pairs += zip(range(end_i - back, end_i + 1), range(end_j - back, end_j + 1), strict=True)
        i, j = end_i + 1, end_j + 1
    return pairs[:-1]


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs whose second numbers rise."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, second) in enumerate(pairs):
        at = bisect_left(tails, second)
        before.append(ends[at - 1] if at else -1)
        tails[at : at + 1], ends[at : at + 1] = [second], [index]
    run: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]
