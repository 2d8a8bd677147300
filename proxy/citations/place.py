"""Puts markers into a text, and makes references of its findings.

Behind a claim that holds stands its citation marker `[n]`; behind one that failed may stand a warning marker
(CEG, section 3.4: remind the reader), which is removed again when a reply comes back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from urllib.parse import quote, urlsplit

from proxy.claims.segment import segment
from proxy.types import CitationStyle, Evidence, Finding, Passage

_WIDE = r"[\u3001-\u303f\u3400-\u9fff\uff01-\uffef]"
_ENDS_WIDE = re.compile(rf"{_WIDE}[”’]?\Z")


def behind(text: str, warning: str) -> str:
    """The warning marker as it stands behind the text: without the space that it begins with, where the text
    ends in a Chinese character or stop, or it would seem to belong to what follows."""
    return warning.lstrip() if _ENDS_WIDE.search(text, max(0, len(text) - 2)) else warning


def warning_pattern(warning: str) -> re.Pattern[str]:
    """What matches the warning marker wherever it may stand."""
    wide, sign = f"(?:(?<={_WIDE})|(?<={_WIDE}[”’]))", re.escape(warning.lstrip())
    return re.compile(f"{re.escape(warning)}|{wide}{sign}" if sign else re.escape(warning))


def strip_warning(text: str, warning: str) -> str:
    """The text without the warning markers right behind its claims; elsewhere they are part of the text.

    Without a warning marker (empty) the text stays unchanged. Removing the markers that were put behind the
    claims of a text restores it exactly.
    """
    if not warning.strip() or warning.strip() not in text:
        return text
    pattern = warning_pattern(warning)
    pieces = pattern.split(text)
    ends = {claim.end for claim in segment("".join(pieces))}
    return "".join(_joined(pieces, pattern.findall(text), ends))


def _joined(pieces: list[str], found: list[str], ends: set[int]) -> Iterator[str]:
    position = 0
    for piece, marker in zip(pieces, ["", *found], strict=True):
        if position not in ends:
            yield marker
        yield piece
        position += len(piece)


Span = tuple[int, int]

QUOTE_GAP = " … "
"""Between the quotes of several passages of one reference."""
_PAGE = re.compile(r"page (\d+)")
_WIDE_STOP = re.compile(r"[，。；：、！？]")
_WORDS_AT_ENDS = 4


def _linked(n: int, url: str, before: str) -> str:
    """Not `[[1](url)]`, in which Open WebUI takes `[1]` for a chip of its own; but behind an exclamation mark
    `[(1)](url)` would be an image."""
    return f"[[{n}]({url})]" if before.endswith("!") else f"[({n})]({url})"


MARKERS: dict[CitationStyle, Callable[[int, str, str], str]] = {
    "brackets": lambda n, _url, _before: f"[{n}]",
    "markdown": _linked,
    "none": lambda _n, _url, _before: "",
}
"""By the number, the URL and the text before."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A passage that at least one claim cites, or the passages of one document that the client numbered.

    `spans` are the spans of its markers in the content; in the style without markers, those of the claims
    that cite it.
    """

    n: int
    evidence: tuple[Evidence, ...]
    title: str
    url: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Located:
    """A finding at its place in the annotated content, with the numbers of the references that it cites, and
    what it cites of each: the evidence with the quote that decided on this claim."""

    start: int
    end: int
    finding: Finding
    references: tuple[int, ...]
    evidence: tuple[tuple[int, Evidence], ...] = ()


@dataclass(frozen=True, slots=True)
class Annotated:
    """A draft with its markers. Offsets count code points of `content`. Cutting `content` at `cuts` never
    splits a marker."""

    content: str
    references: tuple[Reference, ...]
    claims: tuple[Located, ...]
    cuts: tuple[int, ...]


def annotate(
    draft: str,
    findings: Sequence[Finding],
    style: CitationStyle,
    url_of: Callable[[Evidence], str],
    numbers: Mapping[str, int] | None = None,
    warning: str = "",
) -> Annotated:
    """The draft with a citation marker for each passage that a claim cites, right after the claim.

    References are numbered from 1 by first appearance. Documents in `numbers` (by id) keep the client's
    number instead, and all their passages are one reference. The markers of one claim are in ascending
    order. URLs and titles are unique and never empty, since some clients renumber repeated ones. `url_of`
    gives the URL of evidence whose passage has none that a browser can open. `warning` is put behind
    nonfactual claims.
    """
    found = _numbered(findings, numbers or {})
    # In the order that they were found in: a stream has sent the first ones before the last are found.
    opening = [_url(evidence[0], url_of) for evidence in found.values()]
    urls = dict(zip(found, _unique(opening, _with_number), strict=True))
    groups = dict(sorted(found.items()))
    first = [evidence[0].passage for evidence in groups.values()]
    titles = dict(zip(groups, _titles(first), strict=True))
    number_of = {each.passage.id: n for n, evidence in groups.items() for each in evidence}

    pieces: list[str] = []
    claims: list[Located] = []
    cuts: list[int] = []
    spans: dict[int, list[Span]] = {n: [] for n in groups}
    position = length = 0
    for finding in findings:
        claim = finding.claim
        pieces.append(draft[position : claim.end])
        length += claim.end - position
        position = claim.end
        start, end = length - (claim.end - claim.start), length
        shown = {evidence.passage.id: evidence for evidence in reversed(_shown(finding))}
        own = sorted(((number_of[id_], each) for id_, each in shown.items()), key=lambda pair: pair[0])
        cited = tuple(sorted({n for n, _ in own}))
        for n in cited:
            marker = MARKERS[style](n, urls[n], pieces[-1])
            pieces.append(marker)
            spans[n].append((length, length + len(marker)) if marker else (start, end))
            length += len(marker)
        if warning and finding.verdict.nonfactual:
            sign = warning if cited else behind(draft[max(0, claim.end - 2) : claim.end], warning)
            pieces.append(sign)
            length += len(sign)
        claims.append(Located(start, end, finding, cited, tuple(own)))
        cuts.append(length)
    pieces.append(draft[position:])

    references = tuple(
        Reference(n, evidence, titles[n], urls[n], tuple(spans[n])) for n, evidence in groups.items()
    )
    return Annotated("".join(pieces), references, tuple(claims), tuple(cuts))


def _shown(finding: Finding) -> tuple[Evidence, ...]:
    """The evidence that a finding has markers for."""
    return (*finding.cited, *finding.claimed)


def _numbered(findings: Sequence[Finding], numbers: Mapping[str, int]) -> dict[int, tuple[Evidence, ...]]:
    """The cited evidence by number: each passage once, in the order and as its first claim found it."""
    taken = set(numbers.values())
    free = (n for n in count(1) if n not in taken)
    first_found: dict[str, Evidence] = {}
    for finding in findings:
        for evidence in _shown(finding):
            first_found.setdefault(evidence.passage.id, evidence)
    groups: dict[int, list[Evidence]] = {}
    for evidence in first_found.values():
        number = numbers.get(evidence.passage.document_id)
        groups.setdefault(next(free) if number is None else number, []).append(evidence)
    return {number: tuple(evidence) for number, evidence in groups.items()}


def safe_url(url: str) -> str:
    """The URL, or nothing where a client that makes a link of it would run it (`javascript:`, `data:`)."""
    return url if scheme_of(url) in ("", "http", "https", "urn", "file", "ftp", "doi") else ""


def scheme_of(url: str) -> str | None:
    """The scheme in lower case, "" without one; None where the text can't be read as an address (`http://[`)."""
    try:
        return urlsplit(url).scheme.lower()
    except ValueError:
        return None


def _url(evidence: Evidence, url_of: Callable[[Evidence], str]) -> str:
    """The passage's own url where a browser can open it and Markdown can hold it, opened at the evidence: at
    the page of a PDF file, else at the sentence (WICG, "Text Fragments")."""
    passage = evidence.passage
    if scheme_of(passage.url) not in ("http", "https"):
        return url_of(evidence)
    url = quote(passage.url, safe="/:?#[]@!$&'*+,;=%~-._")
    parts = urlsplit(url)
    page = _PAGE.fullmatch(passage.section)
    if parts.path.lower().endswith(".pdf"):
        return f"{url}#page={page[1]}" if page and not parts.fragment else url
    text = _directive(evidence.quote)
    if not text or ":~:" in url:
        return url
    return f"{url}{'' if '#' in url else '#'}:~:text={text}"


def _directive(sentence: str) -> str:
    """What a browser looks for in the page: the sentence, or its beginning and its end. Of a row of a table
    the first cell, since a page has its headings elsewhere."""
    row = sentence.partition(" | ")[0]
    clauses = [clause for clause in map(str.strip, _WIDE_STOP.split(row)) if clause]
    words = row.split()
    if len(clauses) > 1:
        ends = [clauses[0], clauses[-1]]
    elif len(words) > 2 * _WORDS_AT_ENDS:
        ends = [" ".join(words[:_WORDS_AT_ENDS]), " ".join(words[-_WORDS_AT_ENDS:])]
    else:
        ends = [" ".join(words)]
    return ",".join(quote(end, safe="").replace("-", "%2D") for end in ends)


def _with_number(url: str, n: int) -> str:
    """Another address of what is there: browsers leave out what they don't know behind `&`."""
    return f"{url}&n={n}" if "#" in url else f"{url}#n={n}"


def _titles(passages: Sequence[Passage]) -> list[str]:
    names = [passage.title.strip() or passage.document_id or passage.id for passage in passages]
    times = Counter(names)
    sections = [
        f"{name}: {passage.section.strip()}" if times[name] > 1 and passage.section.strip() else name
        for name, passage in zip(names, passages, strict=True)
    ]
    return _unique(sections, lambda title, n: f"{title} ({n})")


def _unique(values: Sequence[str], numbered: Callable[[str, int], str]) -> list[str]:
    """The values, a repeated one with the lowest number from 2 that makes it unique."""
    seen: set[str] = set()
    unique: list[str] = []
    last: Counter[str] = Counter()
    for value in values:
        n, candidate = max(1, last[value]), value
        while candidate in seen:
            n += 1
            candidate = numbered(value, n)
        last[value] = n
        seen.add(candidate)
        unique.append(candidate)
    return unique
