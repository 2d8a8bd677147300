"""Marks into the text, references out of the findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from proxy.types import CitationStyle, Evidence, Finding, Passage

Span = tuple[int, int]

_MARKS: dict[CitationStyle, Callable[[int, str], str]] = {
    "brackets": lambda n, _url: f"[{n}]",
    "markdown": lambda n, url: f"[[{n}]({url})]",
    "none": lambda _n, _url: "",
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A passage that at least one claim cites. `spans` are those of its marks in the content; in the style
    without marks, those of the claims that cite it."""

    n: int
    evidence: Evidence
    title: str
    url: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Located:
    """A finding at its place in the annotated content, with the numbers of the references it cites."""

    start: int
    end: int
    finding: Finding
    references: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Annotated:
    """A draft with its marks. Offsets count code points of `content`. A client may be sent the content in
    pieces cut at `cuts` without splitting a mark."""

    content: str
    references: tuple[Reference, ...]
    claims: tuple[Located, ...]
    cuts: tuple[int, ...]


def annotate(
    draft: str, findings: Sequence[Finding], style: CitationStyle, url_of: Callable[[Passage], str]
) -> Annotated:
    """The draft with a mark for each passage that a claim cites, right after the claim.

    References are numbered from 1 by first appearance; a claim's own marks are in ascending order. Their
    urls and titles are unique and never empty: some clients renumber what repeats. `url_of` gives the url
    of a passage that has none a browser could open.
    """
    order = list(_by_id(findings).values())
    urls = _unique([_url(one.passage, url_of) for one in order], lambda url, n: f"{url}#{n}")
    titles = _titles([one.passage for one in order])
    numbers = {one.passage.id: n for n, one in enumerate(order, 1)}

    pieces: list[str] = []
    claims: list[Located] = []
    cuts: list[int] = []
    spans: dict[int, list[Span]] = {n: [] for n in numbers.values()}
    position = length = 0
    for finding in findings:
        claim = finding.claim
        pieces.append(draft[position : claim.end])
        length += claim.end - position
        position = claim.end
        start, end = length - (claim.end - claim.start), length
        cited = tuple(sorted({numbers[one.passage.id] for one in finding.cited}))
        for n in cited:
            mark = _MARKS[style](n, urls[n - 1])
            pieces.append(mark)
            spans[n].append((length, length + len(mark)) if mark else (start, end))
            length += len(mark)
        claims.append(Located(start, end, finding, cited))
        cuts.append(length)
    pieces.append(draft[position:])

    references = tuple(
        Reference(n, one, titles[n - 1], urls[n - 1], tuple(spans[n])) for n, one in enumerate(order, 1)
    )
    return Annotated("".join(pieces), references, tuple(claims), tuple(cuts))


def _by_id(findings: Sequence[Finding]) -> dict[str, Evidence]:
    """The cited evidence by passage, in order of first appearance, each as its first claim found it."""
    cited: dict[str, Evidence] = {}
    for finding in findings:
        for one in finding.cited:
            cited.setdefault(one.passage.id, one)
    return cited


def _url(passage: Passage, url_of: Callable[[Passage], str]) -> str:
    """The passage's own url where a browser can open it and Markdown can hold it."""
    if urlsplit(passage.url).scheme.lower() not in ("http", "https"):
        return url_of(passage)
    return quote(passage.url, safe="/:?#[]@!$&'*+,;=%~-._")


def _titles(passages: Sequence[Passage]) -> list[str]:
    names = [passage.title.strip() or passage.document_id or passage.id for passage in passages]
    sections = [
        f"{name}: {passage.section.strip()}" if names.count(name) > 1 and passage.section.strip() else name
        for name, passage in zip(names, passages, strict=True)
    ]
    return _unique(sections, lambda title, n: f"{title} ({n})")


def _unique(values: Sequence[str], numbered: Callable[[str, int], str]) -> list[str]:
    """The values, a repeated one with the lowest number from 2 that makes it unique."""
    taken = set(values)
    seen: set[str] = set()
    unique: list[str] = []
    for value in values:
        n, candidate = 1, value
        while candidate in seen or (n > 1 and candidate in taken):
            n += 1
            candidate = numbered(value, n)
        seen.add(candidate)
        unique.append(candidate)
    return unique
