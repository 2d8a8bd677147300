"""What Vouch adds at the end of a reply, and the removal of all that it added when the reply comes back.

At the end stand the notice, a line that says that most of the reply failed or was not checked, or how much
was left out, and the footer, a list of sources. Both are for someone who reads nothing but the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from proxy.citations.markers import marks
from proxy.citations.place import warning_pattern
from proxy.claims.segment import segment
from proxy.text.markdown import Span, blocks
from proxy.text.scripts import language_of
from proxy.types import Finding, Language, Verdict

_HEAD = "\n\n---\n\n"
_ENTRIES = (
    re.compile(r"(\d{1,3})\. \[[^\[\]\n]+\]\([^\s()]+\)"),
    re.compile(r"- [\[(](\d{1,3})[\])] (?:\[[^\[\]\n]+\]\([^\s()]+\)|[^\[\]\n]+)"),
)
"""The lines of the footer: of an ordered list, or of one that has the numbers in its text."""
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~$&]")
_MARKER = re.compile(r"\[(\d{1,3})\]|\[\[(\d{1,3})\]\([^\s]+\)\]|\[\((\d{1,3})\)\]\([^\s]+\)")
"""A marker as `proxy.citations.place.MARKERS` writes it."""
_MAX_NUMBER = 999
"""The highest number that is recognised as a marker when a reply comes back."""


@dataclass(frozen=True, slots=True)
class Source:
    """A line of the footer. Its title links to `url` where a browser can open that."""

    n: int
    title: str
    url: str


def footer(content: str, sources: Sequence[Source]) -> str:
    """The footer for `content`, which has a marker for each source: a ruler and a list.

    The list is an ordered one (`1. [Title](url)`) where all sources are links and no number is missing, since
    Markdown would count on. Else the numbers stand in the text (`- (1) Title`). Empty where there are no
    sources, and where Markdown would not read the footer as a list or would read the content differently
    (after an unclosed code block).
    """
    if not sources or max(source.n for source in sources) > _MAX_NUMBER:
        return ""
    linked = all(map(_opens, sources))
    counted = [source.n for source in sources] == list(range(sources[0].n, sources[0].n + len(sources)))
    sign = "{}." if linked and counted else "- ({})"
    text = _HEAD + "\n".join(f"{sign.format(source.n)} {_entry(source)}" for source in sources)
    same = blocks(content + text)[: -len(sources)] == blocks(content)
    return text if same else ""


def footer_span(text: str) -> Span | None:
    """The span of the footer in a text that came back, or None.

    A footer ends the text, apart from white space, and lists exactly the numbers of the markers above. A list
    of the same form that the model wrote stays, unless it has exactly these numbers.
    """
    start = text.rfind(_HEAD)
    if start < 0:
        return None
    lines = text[start + len(_HEAD) :].rstrip().split("\n")
    for form in _ENTRIES:
        listed = [int(entry.group(1)) for entry in map(form.fullmatch, lines) if entry]
        if len(listed) == len(lines):
            return (start, len(text)) if set(listed) == _marked(text[:start]) else None
    return None


def _entry(source: Source) -> str:
    title = _SPECIAL.sub(_entity, " ".join(source.title.split()))
    return f"[{title}]({source.url})" if _opens(source) else title


def _opens(source: Source) -> bool:
    return source.url.startswith(("http://", "https://"))


def _entity(special: re.Match[str]) -> str:
    """The character as an entity. A backslash would not do: `\\[` begins a formula."""
    return f"&#{ord(special.group())};"


def _marked(text: str) -> set[int]:
    """The numbers of the citation markers."""
    markers = (_MARKER.fullmatch(text, *span) for span in _markers(text))
    return {int(number) for marker in markers if marker for number in marker.groups() if number}


def _markers(text: str) -> list[Span]:
    """The citation markers that Vouch may have put in: of one number, and without a space before them."""
    spans = (span for run in marks(text) for span in run.each)
    ours = ((start, end) for start, end in spans if _MARKER.fullmatch(text, start, end))
    return [(start, end) for start, end in ours if start and text[start - 1] not in " \t\n(（"]


_RETURN = re.compile(r"\r(?=\n)")


def bare(parts: Sequence[str], warnings: Sequence[str] = ()) -> list[str]:
    """The parts of one text without what Vouch added: warning markers behind claims, the footer, the notice,
    citation markers.

    Nothing else changes: a client's own edits (line ends, white space at the end) stay. A text in one part,
    as it was sent, becomes the draft again, byte for byte, unless the draft itself has a warning marker
    behind a claim, or ends in a list that looks like the footer and has the numbers of its markers.
    """
    text = "".join(parts)
    returns = [match.start() - index for index, match in enumerate(_RETURN.finditer(text))]
    spans = [
        (start + bisect_left(returns, start), end + bisect_left(returns, end))
        for start, end in _added_spans(_RETURN.sub("", text), warnings)
    ]
    if not spans:
        return list(parts)
    ends = list(accumulate(map(len, parts)))
    return [
        _without(part, _within(spans, end - len(part), end)) for part, end in zip(parts, ends, strict=True)
    ]


def _added_spans(text: str, warnings: Sequence[str]) -> list[Span]:
    """The spans that Vouch added to a text with plain line feeds, in order, disjoint."""
    spans: list[Span] = []
    for warning in warnings:
        remaining = _without(text, spans)
        if warning.strip() and warning.strip() in remaining:
            spans = _with(spans, _warning_spans(remaining, warning))
    remaining = _without(text, spans)
    end = footer_span(remaining)
    if end is not None:
        spans = _with(spans, [end])
        remaining = remaining[: end[0]]
    said = notice_span(remaining, warnings)
    if said is not None:
        spans = _with(spans, [said])
        remaining = remaining[: said[0]]
    return _with(spans, _markers(remaining))


def _warning_spans(text: str, warning: str) -> list[Span]:
    """The spans of warning markers that stand directly behind a claim or behind its citation markers."""
    warnings = [(match.start(), match.end()) for match in warning_pattern(warning).finditer(text)]
    unwarned = _without(text, warnings)
    runs = [(run.start, run.end) for run in marks(unwarned)]
    removed = _with(warnings, runs)
    ends = {claim.end for claim in segment(_without(text, removed))}
    return [span for span, place in zip(warnings, _places(warnings, removed), strict=True) if place in ends]


def _places(spans: Sequence[Span], removed: Sequence[Span]) -> Iterator[int]:
    """The position of each span in the text that remains once all of `removed` is gone."""
    gone = index = 0
    for start, _ in spans:
        while index < len(removed) and removed[index][1] <= start:
            gone += removed[index][1] - removed[index][0]
            index += 1
        within = start - removed[index][0] if index < len(removed) and removed[index][0] < start else 0
        yield start - gone - within


def _with(spans: Sequence[Span], added: Iterable[Span]) -> list[Span]:
    """The spans together with `added`, which are spans of the text without them; all in the full text."""
    moved, gone, index = list(spans), 0, 0
    for start, end in added:
        edges = []
        for edge in (start, end):
            while index < len(spans) and spans[index][0] - gone <= edge:
                gone += spans[index][1] - spans[index][0]
                index += 1
            edges.append(edge + gone)
        moved.append((edges[0], edges[1]))
    return list(_joined(sorted(moved)))


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Sorted spans, with those that touch merged."""
    held: Span | None = None
    for span in spans:
        if held is not None and span[0] <= held[1]:
            held = held[0], max(held[1], span[1])
            continue
        if held is not None:
            yield held
        held = span
    if held is not None:
        yield held


def _within(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """The parts of the ordered, disjoint spans between `start` and `end`, relative to `start`."""
    first = bisect_right(spans, start, key=lambda span: span[1])
    last = bisect_left(spans, end, key=lambda span: span[0])
    return [(max(left, start) - start, min(right, end) - start) for left, right in spans[first:last]]


def _without(text: str, spans: Iterable[Span]) -> str:
    kept, position = [], 0
    for start, end in spans:
        kept.append(text[position:start])
        position = end
    return "".join(kept) + text[position:]


_PARAGRAPH = "\n\n"


@dataclass(frozen=True, slots=True)
class _Words:
    skipped: str
    unverified: str
    only: str
    none: str
    some: str
    one_left_out: str
    left_out: str
    nothing_left: str
    gap: str
    checking: str
    found: str
    unchecked: str
    corrected: str
    dropped: str


_WORDS: Mapping[Language, _Words] = {
    "en": _Words(
        skipped="This reply could not be checked against the sources.",
        unverified="{failed} of {all} statements could not be checked against the sources.",
        only="This statement was not found in the sources.",
        none="None of these {all} statements was found in the sources.",
        some="{failed} of {all} statements were not found in the sources.",
        one_left_out="{count} statement was left out because the sources do not bear it out.",
        left_out="{count} statements were left out because the sources do not bear them out.",
        nothing_left="None of the reply's statements was found in the sources, so they were left out.",
        gap=" ",
        checking="Checking the reply against the sources",
        found="{found} of {all} statements found",
        unchecked="{count} not checked",
        corrected="{count} corrected",
        dropped="{count} left out",
    ),
    "zh": _Words(
        skipped="本回答未能对照资料核实。",
        unverified="{all} 句陈述中有 {failed} 句未能对照资料核实。",
        only="这句陈述未在资料中找到依据。",
        none="这 {all} 句陈述均未在资料中找到依据。",
        some="{all} 句陈述中有 {failed} 句未在资料中找到依据。",
        one_left_out="有 {count} 句陈述在资料中没有依据，已略去。",
        left_out="有 {count} 句陈述在资料中没有依据，已略去。",
        nothing_left="回答中的陈述均未在资料中找到依据，已全部略去。",
        gap="",
        checking="正在对照资料核实回答",
        found="{all} 句陈述中有 {found} 句找到依据",
        unchecked="{count} 句未核实",
        corrected="{count} 句已更正",
        dropped="{count} 句已略去",
    ),
}


def notice(text: str, findings: Sequence[Finding], *, dropped: int = 0) -> str:
    """The notice for a reply, in its language (English where the language is neither English nor Chinese).

    It says how many claims were `dropped`, of which nothing else in the text tells, and what became of those
    that are left. Empty where nothing was dropped, less than half of the claims failed and less than half
    could not be checked; and where no claim is left, since `nothing_left` stands there.
    """
    if not any(finding.verdict is not Verdict.NOT_CHECKABLE for finding in findings):
        return ""
    words = _WORDS[language_of(text)]
    gone = words.one_left_out if dropped == 1 else words.left_out
    said = (gone.format(count=dropped) if dropped else "", _failed_or_unchecked(words, findings))
    return words.gap.join(filter(None, said))


def _failed_or_unchecked(words: _Words, findings: Sequence[Finding]) -> str:
    """What the notice says of the claims that are left."""
    verdicts = [finding.verdict for finding in findings if finding.verdict is not Verdict.NOT_CHECKABLE]
    failed = sum(verdict.nonfactual for verdict in verdicts)
    unverified = verdicts.count(Verdict.UNVERIFIED)
    count = len(verdicts)
    if 2 * max(failed, unverified) < count:
        return ""
    if unverified == count:
        return words.skipped
    if unverified > failed:
        return words.unverified.format(failed=unverified, all=count)
    if failed == count:
        return words.only if count == 1 else words.none.format(all=count)
    return words.some.format(failed=failed, all=count)


def summary(text: str, findings: Sequence[Finding], *, corrected: int = 0, dropped: int = 0) -> str:
    """How many of a reply's claims were found, and what became of others, in its language: `6 of 8 statements
    found · 1 corrected`. Empty where it has none."""
    verdicts = [finding.verdict for finding in findings if finding.verdict is not Verdict.NOT_CHECKABLE]
    if not verdicts and not dropped:
        return ""
    words = _WORDS[language_of(text)]
    others = {
        words.unchecked: verdicts.count(Verdict.UNVERIFIED),
        words.corrected: corrected,
        words.dropped: dropped,
    }
    found = words.found.format(found=verdicts.count(Verdict.SUPPORTED), all=len(verdicts) + dropped)
    return " · ".join([found, *(said.format(count=count) for said, count in others.items() if count)])


def checking(question: str) -> str:
    """What a status says while the reply to a question is checked, in the question's language."""
    return _WORDS[language_of(question)].checking


def nothing_left(text: str) -> str:
    """What stands in place of a reply of which every statement was dropped, in its language."""
    return _WORDS[language_of(text)].nothing_left


def appended(content: str, said: str, warning: str) -> str:
    """What to append to `content` to show a notice: a paragraph of its own that begins with the warning
    marker. Empty without a notice, and where Markdown would read the content differently (after a code block
    that was cut off)."""
    if not said:
        return ""
    text = f"{_PARAGRAPH}{warning.strip()} {said}" if warning.strip() else f"{_PARAGRAPH}{said}"
    return text if blocks(content + text)[:-1] == blocks(content) else ""


def notice_span(text: str, warnings: Iterable[str]) -> Span | None:
    """The span of the notice that ends a text which came back, white space apart, or None."""
    markers = "|".join(re.escape(warning.strip()) for warning in warnings if warning.strip())
    prefix = rf"(?:(?:{markers}) )?" if markers else ""
    match = re.search(
        rf"{_PARAGRAPH}{prefix}(?:{_SENTENCES})(?: ?(?:{_SENTENCES}))?\s*\Z", text[-_LONGEST_NOTICE:]
    )
    return None if match is None else (len(text) - len(text[-_LONGEST_NOTICE:]) + match.start(), len(text))


_SENTENCES = "|".join(
    re.sub(r"\\\{(?:failed|all|count)\\\}", r"\\d{1,6}", re.escape(sentence))
    for words in _WORDS.values()
    for sentence in (
        *(words.one_left_out, words.left_out),
        *(words.skipped, words.unverified, words.only, words.none, words.some),
    )
)
_LONGEST_NOTICE = 400
"""More code points than a notice has with its marker, and the white space behind it."""
