"""Rewritten sentences into a draft, failed ones out of it, and everything else byte for byte.

An edit is made only if every sentence it doesn't touch is read the same afterwards: the same words, the same
kind of block, checkable or not. So nothing that a model writes can swallow or change what holds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from proxy.claims.segment import segment
from proxy.correction.cuts import Edit, applied, cuts, moved
from proxy.correction.fit import fitted
from proxy.text.markdown import blocks
from proxy.types import Claim, Draft, Finding

T = TypeVar("T")
Change = tuple[Claim, str]
"""A claim and what stands in its place."""

_SHARED = '*_~"“”‘’「」『』《》（）()[]'


def spliced(
    draft: Draft,
    failed: Sequence[Finding],
    rewrites: Mapping[int, str | None],
    *,
    dropping: bool = False,
) -> Draft | None:
    """The draft with the sentences of `failed` rewritten, or None where nothing changed.

    `rewrites` has them by number, the first being 1; None asks for a sentence to be left out, which is done
    if `dropping`, and as long as something checkable is left. A rewrite that does not fit its place (see
    `steps.fit`), says nothing that can be checked, or would change how the rest is read, is not made.
    """
    if not draft.editable:
        return None
    said = [(finding.claim, rewrites.get(number, "")) for number, finding in enumerate(failed, 1)]
    proposed = [(claim, fitted(text, claim) or claim.text) for claim, text in said if text]
    changes = [(claim, text) for claim, text in proposed if text != claim.text]
    edits = _edits(_kept(changes, _replaceable(draft.text)))
    text = applied(draft.text, edits)
    if dropping:
        gone = [_moved(claim, edits) for claim, rewrite in said if rewrite is None]
        text = applied(text, cuts(text, _removable(text, gone)) or ())
    return replace(draft, text=text) if text != draft.text else None


def without(draft: Draft, failed: Sequence[Finding]) -> Draft | None:
    """The draft without the sentences of the failed findings, or None where nothing changed.

    A sentence stays where its going would break the Markdown of what is left: a heading, an item that others
    are nested under. What is left may have leaned on a sentence that went (`It …`).
    """
    return spliced(draft, failed, dict.fromkeys(range(1, len(failed) + 1)), dropping=True)


def _removable(text: str, claims: Sequence[Claim]) -> Sequence[Claim]:
    """Those of the claims that can be taken out together; none where nothing checkable would be left."""
    before = segment(text)

    def removes(some: Sequence[Claim]) -> bool:
        edits = cuts(text, some)
        if edits is None:
            return False
        left = [_moved(claim, edits) for claim in _untouched(before, some)]
        after = segment(applied(text, edits))
        return len(left) == len(after) and all(map(_reads_the_same, left, after))

    kept = _kept(claims, removes)
    return kept if any(claim.checkable for claim in _untouched(before, kept)) else ()


def _reads_the_same(claim: Claim, other: Claim) -> bool:
    """Whether it is the same claim, but for marks around it that it shared with what is gone."""
    there = other.start <= claim.start and claim.end <= other.end
    texts = [(one.text.strip(_SHARED), one.plain.strip(_SHARED), one.checkable) for one in (claim, other)]
    return there and texts[0] == texts[1]


def _replaceable(text: str) -> Callable[[Sequence[Change]], bool]:
    """Whether changes to the text leave all other claims, and the blocks, as they were, and each says
    something that can be checked where its sentence did."""
    before, shapes = segment(text), _shapes(text)

    def replaces(changes: Sequence[Change]) -> bool:
        edits = _edits(changes)
        result = applied(text, edits)
        if _shapes(result) != shapes:
            return False
        untouched = {_moved(claim, edits) for claim in _untouched(before, [claim for claim, _ in changes])}
        after = segment(result)
        new = [claim for claim in after if claim not in untouched]
        said = [_within(new, moved(claim.start, edits), len(rewrite)) for claim, rewrite in changes]
        checkable = all(
            any(one.checkable for one in found) or not claim.checkable
            for found, (claim, _) in zip(said, changes, strict=True)
        )
        return checkable and untouched <= set(after) and sum(map(len, said)) == len(new)

    return replaces


def _within(claims: Sequence[Claim], start: int, length: int) -> list[Claim]:
    return [claim for claim in claims if start <= claim.start and claim.end <= start + length]


def _shapes(text: str) -> list[tuple[str, int]]:
    """The kinds of the blocks, and how many cells the rows of tables have."""
    return [
        (block.kind, len(block.lines) if block.kind in ("row", "header") else 0) for block in blocks(text)
    ]


def _kept(items: Sequence[T], holds: Callable[[Sequence[T]], bool], given: Sequence[T] = ()) -> Sequence[T]:
    """The items without those that don't hold together with the rest, by halving: few fail, if any does."""
    if not items or holds([*items, *given]):
        return items
    if len(items) == 1:
        return ()
    middle = len(items) // 2
    # The later half first: an item may go once those nested under it are gone.
    later = _kept(items[middle:], holds, given)
    return [*_kept(items[:middle], holds, [*later, *given]), *later]


def _edits(changes: Sequence[Change]) -> list[Edit]:
    ordered = sorted(changes, key=lambda change: change[0].start, reverse=True)
    return [Edit(claim.start, claim.end, rewrite) for claim, rewrite in ordered]


def _untouched(claims: Sequence[Claim], others: Sequence[Claim]) -> list[Claim]:
    """The claims that share no character with the others, which are disjoint."""
    spans = sorted((other.start, other.end) for other in others)
    ends = [end for _, end in spans]
    following = [(claim, bisect_right(ends, claim.start)) for claim in claims]
    return [claim for claim, at in following if at == len(spans) or spans[at][0] >= claim.end]


def _moved(claim: Claim, edits: Sequence[Edit]) -> Claim:
    start = moved(claim.start, edits)
    return replace(claim, start=start, end=start + claim.end - claim.start)
