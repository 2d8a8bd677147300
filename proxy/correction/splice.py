"""Puts rewritten sentences into a draft and takes failed ones out; everything else stays byte for byte.

An edit is made only where every other sentence reads the same afterwards: the same words, the same kind of
block, checkable or not as before. So nothing that a model writes can swallow or change what holds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from proxy.claims.segment import segment
from proxy.correction.cuts import Edit, applied, cuts, headers, moving
from proxy.correction.leaks import has_delimiters
from proxy.text.markdown import blocks
from proxy.text.pairs import unpaired
from proxy.text.scripts import WIDE, language_of
from proxy.text.sentences import CITATION, STOPS
from proxy.text.words import spoken, words
from proxy.types import Claim, Draft, Finding

T = TypeVar("T")
Change = tuple[Claim, str]
"""A claim and what stands in its place."""

_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_SHARED = '*_~"“”‘’「」『』《》（）()[]'

_TIMES, _MORE = 3, 200
"""A rewrite may have this many times the sentence's code points, and as many more."""

_OF_THE_OTHER = 0.5
"""A rewrite repeats a sentence of which it says this share of the content words, and nothing else."""

_MOST_READ = 4_000_000
"""Code points that may be read to find out which edits can be made."""
_FEWEST_TRIALS = 8

_CLOSERS = "\"'”’」』）)】》*_~"
_BETWEEN_WIDE = re.compile(rf"(?<=[{WIDE}])\s*\n\s*(?=[{WIDE}])")
_ACTIVE = re.compile(
    r"(?:https?|ftp|data|javascript|mailto|file):[^\s<>()\[\]]+|www\.[^\s<>()\[\]]+|\]\([^()]*\)|!\["
    r"|<[a-zA-Z/!][^<>]{0,500}>?",
    re.I,
)
"""What makes a renderer fetch, link or run something."""
_ABOUT_THE_CHECK = re.compile(
    r"\b(?:provided|given|supplied|retrieved|reference) (?:documents?|passages?|materials?|evidence)\b"
    r"|\b(?:according to|based on) (?:the|these|those|any of the) documents\b"
    r"|\bthe documents? (?:do(?:es)? not|don't|doesn't|says?|states?|mentions?|supports?|confirms?"
    r"|contradicts?|provides?|indicates?|bears?)\b"
    r"|\b(?:corrected|rewritten|revised) (?:sentence|statement|version|response)\b|^\(?sentence \d+\b"
    r"|\bmy (?:previous|earlier|last) (?:response|answer|reply|statement)\b|\bapologi[sz]e\b|\bmy apologies\b"
    r"|^(?:sorry|correction|note)\b[,:]"
    r"|(?:参考|所给|给定|提供的|上述|以上|这些)(?:参考)?(?:文档|资料|材料)"
    r"|文档[中里]?(?:没有|未|并未|指出|提到|提及|显示|表明|说|支持|不支持|矛盾)"
    r"|(?:根据|依据|基于)(?:参考|所给|提供的)?文档|(?:更正|修正|改写)后|上一次的?回答|抱歉|对不起"
    r"|^（?第 ?\d+ ?句",
    re.I,
)


def spliced(
    draft: Draft,
    failed: Sequence[Finding],
    rewrites: Mapping[int, str | None],
    *,
    dropping: bool = False,
) -> Draft | None:
    """The draft with the sentences of `failed` rewritten, or None where nothing changed.

    `rewrites` has them by number, the first being 1; None asks for a sentence to be left out, which is done
    if `dropping`, and as long as something checkable is left. A rewrite is not made where it does not fit its
    place (see `fitted`), says nothing that can be checked, repeats another sentence of the draft or another
    rewrite, or would change how the rest is read.
    """
    if not draft.editable:
        return None
    said = [(finding.claim, rewrites.get(number, "")) for number, finding in enumerate(failed, 1)]
    proposed = [(claim, fitted(text, claim) or claim.text) for claim, text in said if text]
    changes = [(claim, text) for claim, text in proposed if text != claim.text]
    before = segment(draft.text)
    changes = _saying_something_new(changes, before)
    edits = _edits(_Trials(len(draft.text)).kept(changes, _replaceable(draft.text, before)))
    text = applied(draft.text, edits)
    if dropping:
        new_place = moving(edits)
        gone = [_moved(claim, new_place) for claim, rewrite in said if rewrite is None]
        text = applied(text, cuts(text, _removable(text, gone)) or ())
    return replace(draft, text=text) if text != draft.text else None


def without(draft: Draft, failed: Sequence[Finding]) -> Draft | None:
    """The draft without the sentences of the failed findings, or None where nothing changed.

    A sentence stays where the Markdown would break without it: a heading, an item with others nested under
    it. What is left may refer to a sentence that went (`It …`).
    """
    return spliced(draft, failed, dict.fromkeys(range(1, len(failed) + 1)), dropping=True)


def _removable(text: str, claims: Sequence[Claim]) -> Sequence[Claim]:
    """The claims that can be taken out together, with the headers of tables of which no row is left; none
    where nothing checkable would be left."""
    before = segment(text)
    emptied = set(headers(text, claims))
    titles = [claim for claim in before if (claim.start, claim.end) in emptied and claim not in claims]
    claims = sorted([*claims, *titles], key=lambda claim: claim.start)

    def removes(some: Sequence[Claim]) -> bool:
        edits = cuts(text, some)
        if edits is None:
            return False
        new_place = moving(edits)
        left = [_moved(claim, new_place) for claim in _untouched(before, some)]
        after = segment(applied(text, edits))
        return len(left) == len(after) and all(map(_reads_the_same, left, after))

    kept = _Trials(len(text)).kept(claims, removes)
    return kept if any(claim.checkable for claim in _untouched(before, kept)) else ()


def _reads_the_same(claim: Claim, other: Claim) -> bool:
    """Whether it is the same claim, but for formatting around it that it shared with what is gone."""
    there = other.start <= claim.start and claim.end <= other.end
    left, right = (
        (_TAG.sub("", each.text).strip(_SHARED), each.plain.strip(_SHARED), each.checkable)
        for each in (claim, other)
    )
    return there and left == right


def _saying_something_new(changes: Sequence[Change], claims: Sequence[Claim]) -> list[Change]:
    """The changes that repeat neither another claim of the draft nor a change before them.

    Small models answer with the sentence of the passage that the draft has already: it holds, but would stand
    there twice.
    """
    if not changes:
        return []
    told = [(claim, set(spoken([claim.plain])), len(_content(claim.plain))) for claim in claims]
    kept: list[Change] = []
    for claim, text in changes:
        others = [(keys, size) for other, keys, size in told if other != claim]
        sentences = [_content(sentence.plain) for sentence in segment(text) if sentence.checkable]
        if not any(_repeated(sentence, others) for sentence in sentences):
            kept.append((claim, text))
            told.append((claim, set(spoken([text])), len(_content(text))))
    return kept


def _repeated(content: Sequence[tuple[str, ...]], others: Sequence[tuple[set[str], int]]) -> bool:
    """Whether another sentence has all these content words, and not many more."""
    return bool(content) and any(
        len(content) >= _OF_THE_OTHER * size and all(keys.intersection(word) for word in content)
        for keys, size in others
    )


def _content(text: str) -> list[tuple[str, ...]]:
    return [word.keys for word in words(text) if word.content]


def _replaceable(text: str, before: Sequence[Claim]) -> Callable[[Sequence[Change]], bool]:
    """A test of changes to the text: they leave all other claims and the blocks as they were, and each says
    something that can be checked if its sentence did."""
    shapes = _shapes(text)

    def replaces(changes: Sequence[Change]) -> bool:
        edits = _edits(changes)
        result = applied(text, edits)
        if _shapes(result) != shapes:
            return False
        new_place = moving(edits)
        untouched = {
            _moved(claim, new_place) for claim in _untouched(before, [claim for claim, _ in changes])
        }
        after = segment(result)
        new = [claim for claim in after if claim not in untouched]
        said = [_within(new, new_place(claim.start), len(rewrite)) for claim, rewrite in changes]
        checkable = all(
            any(rewritten.checkable for rewritten in within) or not claim.checkable
            for within, (claim, _) in zip(said, changes, strict=True)
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


class _Trials:
    """Tries edits, at most as many as `_MOST_READ` code points of the text allow: each reads all of it."""

    def __init__(self, length: int) -> None:
        self._left = max(_FEWEST_TRIALS, _MOST_READ // max(1, length))

    def kept(
        self, items: Sequence[T], holds: Callable[[Sequence[T]], bool], given: Sequence[T] = ()
    ) -> Sequence[T]:
        """The items without those that don't hold together with the rest. Found by halving, since few fail.

        Once no trial is left, items that were not tried are left out.
        """
        if not items:
            return items
        if self._left <= 0:
            return ()
        self._left -= 1
        if holds([*items, *given]):
            return items
        if len(items) == 1:
            return ()
        middle = len(items) // 2
        # The later half first: an item may go once those nested under it are gone.
        later = self.kept(items[middle:], holds, given)
        return [*self.kept(items[:middle], holds, [*later, *given]), *later]


def _edits(changes: Sequence[Change]) -> list[Edit]:
    ordered = sorted(changes, key=lambda change: change[0].start, reverse=True)
    return [Edit(claim.start, claim.end, rewrite) for claim, rewrite in ordered]


def _untouched(claims: Sequence[Claim], others: Sequence[Claim]) -> list[Claim]:
    """The claims that share no character with the others, which are disjoint."""
    spans = sorted((other.start, other.end) for other in others)
    ends = [end for _, end in spans]
    following = [(claim, bisect_right(ends, claim.start)) for claim in claims]
    return [claim for claim, index in following if index == len(spans) or spans[index][0] >= claim.end]


def _moved(claim: Claim, new_place: Callable[[int], int]) -> Claim:
    start = new_place(claim.start)
    return replace(claim, start=start, end=start + claim.end - claim.start)


def fitted(said: str, claim: Claim) -> str | None:
    """The rewrite as it may stand in the claim's place, or None where it does not fit.

    It becomes one line, loses list marks and outer pipes that the claim doesn't have, ends with a stop where
    the claim does, and has the marks that the claim opens or closes for its neighbours (`“`, `)`, `</b>`). It
    does not fit where it is much longer than the claim, in another language, or brings in links, images,
    HTML, citation markers or words about the check that the claim doesn't have.
    """
    line = " ".join(_BETWEEN_WIDE.sub("", said.strip()).split())
    line = _stopped(_bare_row(line) if claim.row else _unmarked(line, claim.text), claim.text)
    line = line if claim.row or not line else _paired(line, claim.text)
    if not line or any(fault(line, claim.text) for fault in _FAULTS):
        return None
    return line


def _bare_row(line: str) -> str:
    return line.removeprefix("|").removesuffix("|").strip()


def _unmarked(line: str, text: str) -> str:
    """The line without marks of a list, quotation or heading before it, unless the text has such too."""
    return line if _lead(text) else line[_lead(line) :]


def _lead(text: str) -> int:
    """The length of the list, quotation and heading marks before the text, in code points."""
    first = next(iter(blocks(text)), None)
    return first.lines[0][0] if first and first.kind not in ("row", "header") else 0


def _stopped(line: str, text: str) -> str:
    """The line with the text's own stop, without which the next sentence would run into it."""
    stop = text.rstrip(_CLOSERS)[-1:]
    return line + stop if stop in STOPS and line[-1:].isalnum() else line


def _paired(line: str, text: str) -> str:
    """The line with the marks that are unpaired in the text: their counterparts stand in other sentences."""
    (openers, closers), (own_openers, own_closers) = unpaired(text), unpaired(line)
    end = "".join(_lacking(closers, own_closers))
    stop = text[-1:] if text[-1:] in STOPS and text[:-1].endswith(end) and line.endswith(text[-1:]) else ""
    return "".join([*_lacking(openers, own_openers), line.removesuffix(stop), end, stop])


def _lacking(marks: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    """The marks without those that the others have, too."""
    left = Counter(others)
    for mark in marks:
        left[mark] -= 1
        if left[mark] < 0:
            yield mark


def _too_long(line: str, text: str) -> bool:
    return len(line) > _TIMES * len(text) + _MORE


def _in_another_language(line: str, text: str) -> bool:
    return language_of(line) != language_of(text)


def _active(line: str, text: str) -> bool:
    return not set(_ACTIVE.findall(line)) <= set(_ACTIVE.findall(text))


def _cites(line: str, text: str) -> bool:
    return not set(CITATION.findall(line)) <= set(CITATION.findall(text))


def _talks(line: str, text: str) -> bool:
    return bool(_ABOUT_THE_CHECK.search(line)) and not _ABOUT_THE_CHECK.search(text)


_FAULTS: tuple[Callable[[str, str], bool], ...] = (
    _too_long,
    _in_another_language,
    _active,
    _cites,
    _talks,
    has_delimiters,
)
