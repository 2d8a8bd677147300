"""How a claim is pieced together out of an evidence: the longest runs of tokens that both have.

Matching statistics (Chang and Lawler 1994) over tokens: for each token of the claim the longest run through
it that stands in the evidence word for word. Against the paper, two pointers and substring search in place of
a suffix tree: a claim is short, and `str.find` is quick.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_FIRST_CODE = 0xF0000
"""Where the private code points start that stand for keys of several characters."""
_MOST_PLACES = 20
"""Places of a run in the evidence that are looked at."""


@dataclass(frozen=True, slots=True)
class Block:
    """Tokens `start` to `end` of the claim, the end left out, that stand in the evidence in a row."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """How many tokens."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Coverage:
    """The maximal `blocks` of a claim, by where they start, and per token the `length` of the longest of them
    that it is in, 0 where the evidence does not have it. `claim` and `evidence` are the keys, one character
    each.
    """

    claim: str
    evidence: str
    blocks: tuple[Block, ...]
    length: tuple[int, ...]

    def stitches(self) -> int:
        """The least number of pieces that the claim can be cut into, each a run of the evidence or a token
        that it lacks."""
        count = at = 0
        while at < len(self.claim):
            at = max((block.end for block in self.blocks if block.start <= at < block.end), default=at + 1)
            count += 1
        return count

    def anchors(self, shortest: int) -> tuple[Block, ...]:
        """Blocks of at least `shortest` tokens that do not overlap, in order: the longest first choose."""
        chosen: list[Block] = []
        for block in sorted(self.blocks, key=lambda one: (-one.length, one.start)):
            if block.length >= shortest and all(
                block.end <= other.start or block.start >= other.end for other in chosen
            ):
                chosen.append(block)
        return tuple(sorted(chosen, key=lambda one: one.start))

    def places(self, block: Block) -> list[int]:
        """Where the block starts in the evidence, at most 20 places."""
        piece = self.claim[block.start : block.end]
        found: list[int] = []
        at = self.evidence.find(piece)
        while at >= 0 and len(found) < _MOST_PLACES:
            found.append(at)
            at = self.evidence.find(piece, at + 1)
        return found


def cover(claim: Sequence[str], evidence: Sequence[str]) -> Coverage:
    """Holds the keys of a claim against those of an evidence. Time grows with the product of their lengths,
    as that of a substring search does."""
    codes: dict[str, str] = {}
    own = "".join(codes.setdefault(key, _code(key, len(codes))) for key in claim)
    text = "".join(codes.get(key, "\0") for key in evidence)
    blocks = tuple(_blocks(own, text))
    length = [0] * len(own)
    for block in blocks:
        for at in range(block.start, block.end):
            length[at] = max(length[at], block.length)
    return Coverage(own, text, blocks, tuple(length))


def _code(key: str, number: int) -> str:
    return key if len(key) == 1 else chr(_FIRST_CODE + number)


def _blocks(claim: str, evidence: str) -> Iterator[Block]:
    end = before = 0
    for start in range(len(claim)):
        end = max(end, start)
        while end < len(claim) and claim[start : end + 1] in evidence:
            end += 1
        if end > max(start, before):
            yield Block(start, end)
            before = end
