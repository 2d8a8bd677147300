"""What a Chinese claim and its evidence have in common, beside `features.features`.

Most Chinese citations are put together out of pieces of their sources, word for word; what decides is the
piece that no source has. So the claim is held against all of the evidence that is about it, and its worst
clause and longest gap count, not the average alone.

The pieces are the longest runs of tokens that both have: matching statistics (Chang and Lawler 1994) over
tokens, for each token of the claim the longest run through it that stands in the evidence word for word.
Against the paper, two pointers and substring search in place of a suffix tree: a claim is short, and
`str.find` is quick.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from proxy.checkers.builtin.comparison import Comparison
from proxy.checkers.builtin.features import FEATURES, features

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


_CLAUSE_END = re.compile(r"[，。；！？：、,;!?:\n()（）]")
_SHARES = (1, 2, 3, 4, 6, 10)
_LOST = (2, 3)
"""Tokens of the shortest run in which a Chinese character counts as said: a lone one is chance."""
_ANCHOR = 3
_NEARBY = 12
"""Tokens of the evidence between two pieces of the claim that may stand for what is between them there."""
_CLAUSE = 3
"""Content tokens of the shortest clause that can be the worst."""
_LONGEST = 40

_PLAIN = (
    "content",
    *(f"run_{least}" for least in _SHARES),
    "run_log",
    "run_inverse",
    "longest_block",
    "longest_block_share",
    "blocks",
    "stitches",
    "stitch_share",
    "clauses",
    "numbers_claimed",
    "numbers_lost",
    "numbers_apart",
    "words_claimed",
    "words_lost",
    "chance",
    "rarest_lost",
    "anchored",
    "inserted",
    "inserted_weight",
    "replaced",
    "replaced_weight",
    "left_out",
    "moved",
)
_PER_LEAST = (
    "lost_share",
    "lost_weight",
    "lost_runs",
    "lost_run_weight",
    "lost_run_length",
    "worst_clause",
    "second_clause",
    "clause_mean",
    "clause_lost",
    "bad_clauses",
)
ALIGNMENT = (*_PLAIN, *(f"{name}_{least}" for least in _LOST for name in _PER_LEAST))
"""The features that this module adds, by name, in order."""
FEATURES_ZH = (*FEATURES, *ALIGNMENT)
"""All features of a Chinese claim, in the order of `features_zh`."""


@dataclass(frozen=True, slots=True)
class _Aligned:
    """A claim's tokens against the scope: `content` are the indexes of those that count, `clauses` the same
    clause by clause; `weights` and `plain`, whether it is no Chinese character, are one per token."""

    coverage: Coverage
    weights: Sequence[float]
    content: Sequence[int]
    clauses: Sequence[Sequence[int]]
    plain: Sequence[bool]

    def lost(self, at: int, least: int) -> bool:
        """Whether the scope lacks a token: in no run of `least` tokens, or not there at all if it is a number
        or a word of letters."""
        return self.coverage.length[at] < (1 if self.plain[at] else least)

    def weight(self, indexes: Sequence[int]) -> float:
        """The weight of the tokens together."""
        return sum(self.weights[at] for at in indexes)


def features_zh(comparison: Comparison) -> tuple[float, ...]:
    """The values of `FEATURES_ZH`, in that order. All are 0 for a claim without content."""
    if not comparison.content:
        return (0.0,) * len(FEATURES_ZH)
    aligned = _align(comparison)
    values = _pieces(aligned) | _slots(comparison, aligned) | _seams(aligned)
    for least in _LOST:
        values |= _losses(aligned, least) | _clauses(aligned, least)
    return (*features(comparison), *(values[name] for name in ALIGNMENT))


def _align(comparison: Comparison) -> _Aligned:
    tokens = comparison.claim.tokens
    scope = comparison.scope or comparison.found.tokens
    coverage = cover([token.key for token in tokens], [token.key for token in scope])
    clauses: defaultdict[int, list[int]] = defaultdict(list)
    clause, before = 0, 0
    content = set(comparison.content)
    for at, token in enumerate(tokens):
        clause += bool(_CLAUSE_END.search(comparison.claim.text, before, token.start))
        before = token.end
        if at in content:
            clauses[clause].append(at)
    plain = [token.kind != "han" and token.kind != "stop" for token in tokens]
    return _Aligned(coverage, comparison.claim.weights, comparison.content, tuple(clauses.values()), plain)


def _pieces(aligned: _Aligned) -> dict[str, float]:
    """How long the pieces are that the claim is put together from."""
    coverage, content, weights = aligned.coverage, aligned.content, aligned.weights
    total, size = aligned.weight(content), len(coverage.length)
    length = coverage.length
    stitches = coverage.stitches()
    shares = {
        f"run_{least}": sum(weights[at] for at in content if length[at] >= least) / total for least in _SHARES
    }
    return shares | {
        "content": math.log1p(len(content)),
        "run_log": sum(weights[at] * math.log2(1 + min(length[at], 16)) for at in content) / total,
        "run_inverse": sum(weights[at] / (1 + length[at]) for at in content) / total,
        "longest_block": float(min(max(length), _LONGEST)),
        "longest_block_share": max(length) / size,
        "blocks": sum(block.length >= 2 for block in coverage.blocks) / size,
        "stitches": math.log1p(stitches),
        "stitch_share": stitches / size,
        "clauses": float(len(aligned.clauses)),
    }


def _slots(comparison: Comparison, aligned: _Aligned) -> dict[str, float]:
    """Numbers and words of letters, and characters that the scope has by chance or not at all."""
    tokens, length = comparison.claim.tokens, aligned.coverage.length
    numbers = [at for at in aligned.content if tokens[at].kind == "number"]
    words = [at for at in aligned.content if tokens[at].kind in ("word", "name")]
    total = aligned.weight(aligned.content)
    return {
        "numbers_claimed": float(min(len(numbers), 4)),
        "numbers_lost": float(min(sum(not length[at] for at in numbers), 3)),
        "numbers_apart": float(min(sum(length[at] == 1 for at in numbers), 3)),
        "words_claimed": float(min(len(words), 4)),
        "words_lost": float(min(sum(not length[at] for at in words), 3)),
        "chance": aligned.weight([at for at in aligned.content if length[at] == 1]) / total,
        "rarest_lost": max((aligned.weights[at] for at in aligned.content if not length[at]), default=0.0),
    }


def _losses(aligned: _Aligned, least: int) -> dict[str, float]:
    """What the scope lacks, and the worst run of it; words that count for nothing do not end a run."""
    total = aligned.weight(aligned.content)
    runs = list(_lost_runs(aligned, least))
    lost = sum(aligned.weight(run) for run in runs)
    return {
        f"lost_share_{least}": lost / total,
        f"lost_weight_{least}": math.log1p(lost),
        f"lost_runs_{least}": float(len(runs)),
        f"lost_run_weight_{least}": max((aligned.weight(run) for run in runs), default=0.0),
        f"lost_run_length_{least}": float(max(map(len, runs), default=0)),
    }


def _lost_runs(aligned: _Aligned, least: int) -> Iterator[list[int]]:
    run: list[int] = []
    for at in aligned.content:
        if aligned.lost(at, least):
            run.append(at)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _clauses(aligned: _Aligned, least: int) -> dict[str, float]:
    """How well each clause is said: the worst of them decides."""
    said: list[float] = []
    long: list[float] = []
    worst = 0.0
    for clause in aligned.clauses:
        lost = aligned.weight([at for at in clause if aligned.lost(at, least)])
        share = 1 - lost / aligned.weight(clause)
        said.append(share)
        worst = max(worst, lost)
        if len(clause) >= _CLAUSE:
            long.append(share)
    ranked = sorted(long or said)
    return {
        f"worst_clause_{least}": ranked[0],
        f"second_clause_{least}": ranked[1] if len(ranked) > 1 else 1.0,
        f"clause_mean_{least}": sum(said) / len(said),
        f"clause_lost_{least}": math.log1p(worst),
        f"bad_clauses_{least}": sum(share < 0.5 for share in ranked) / len(ranked),
    }


def _seams(aligned: _Aligned) -> dict[str, float]:
    """What lies between two pieces of the claim that follow each other, there and in the scope: words of the
    claim's own, words put in place of others, words left out; or the pieces are from different places."""
    coverage = aligned.coverage
    anchors = coverage.anchors(_ANCHOR)
    inserted: list[float] = []
    replaced: list[float] = []
    left_out = moved = 0
    for one, other in pairwise(anchors):
        places = coverage.places(other)
        distance = min(
            (start - place - one.length for place in coverage.places(one) for start in places), key=abs
        )
        between = aligned.weight(range(one.end, other.start))
        if other.start > one.end and abs(distance) <= 1:
            inserted.append(between)
        elif other.start > one.end and 1 < distance <= _NEARBY:
            replaced.append(between)
        elif other.start == one.end and 0 < distance <= _NEARBY:
            left_out += 1
        else:
            moved += 1
    return {
        "anchored": sum(block.length for block in anchors) / len(coverage.length),
        "inserted": float(min(len(inserted), 3)),
        "inserted_weight": max(inserted, default=0.0),
        "replaced": float(min(len(replaced), 3)),
        "replaced_weight": max(replaced, default=0.0),
        "left_out": float(min(left_out, 3)),
        "moved": float(min(moved, 6)),
    }
