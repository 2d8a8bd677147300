"""The notice: one line that says that most of a reply failed, or that it was not checked.

It is written for someone who reads nothing but the text, in the reply's language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from proxy.text.language import language_of
from proxy.text.markdown import Span, blocks
from proxy.types import Finding, Language, Verdict

_GAP = "\n\n"


@dataclass(frozen=True, slots=True)
class _Words:
    skipped: str
    unverified: str
    only: str
    none: str
    some: str
    nothing_left: str


_WORDS: Mapping[Language, _Words] = {
    "en": _Words(
        skipped="This reply could not be checked against the sources.",
        unverified="{failed} of {all} statements could not be checked against the sources.",
        only="This statement was not found in the sources.",
        none="None of these {all} statements was found in the sources.",
        some="{failed} of {all} statements were not found in the sources.",
        nothing_left="None of the reply's statements was found in the sources, so they were left out.",
    ),
    "zh": _Words(
        skipped="本回答未能对照资料核实。",
        unverified="{all} 句陈述中有 {failed} 句未能对照资料核实。",
        only="这句陈述未在资料中找到依据。",
        none="这 {all} 句陈述均未在资料中找到依据。",
        some="{all} 句陈述中有 {failed} 句未在资料中找到依据。",
        nothing_left="回答中的陈述均未在资料中找到依据，已全部略去。",
    ),
}


def notice(text: str, findings: Sequence[Finding]) -> str:
    """The notice for a reply, in its language (English where the language is neither English nor Chinese).

    Empty where less than half of its claims failed and less than half could not be checked.
    """
    verdicts = [finding.verdict for finding in findings if finding.verdict is not Verdict.NOT_CHECKABLE]
    failed = sum(verdict.nonfactual for verdict in verdicts)
    unverified = verdicts.count(Verdict.UNVERIFIED)
    words, count = _WORDS[language_of(text)], len(verdicts)
    if not verdicts or 2 * max(failed, unverified) < count:
        return ""
    if unverified == count:
        return words.skipped
    if unverified > failed:
        return words.unverified.format(failed=unverified, all=count)
    if failed == count:
        return words.only if count == 1 else words.none.format(all=count)
    return words.some.format(failed=failed, all=count)


def nothing_left(text: str) -> str:
    """What stands in place of a reply of which every statement was dropped, in its language."""
    return _WORDS[language_of(text)].nothing_left


def appended(content: str, said: str, warning: str) -> str:
    """What to append to `content` to show a notice: a paragraph of its own that begins with the warning
    marker. Empty without a notice, and where Markdown would read the content differently (after a code block
    that was cut off)."""
    if not said:
        return ""
    text = f"{_GAP}{warning.strip()} {said}" if warning.strip() else f"{_GAP}{said}"
    return text if blocks(content + text)[:-1] == blocks(content) else ""


def notice_span(text: str, warnings: Iterable[str]) -> Span | None:
    """The span of the notice that ends a text which came back, white space apart, or None."""
    markers = "|".join(re.escape(warning.strip()) for warning in warnings if warning.strip())
    prefix = rf"(?:(?:{markers}) )?" if markers else ""
    match = re.search(rf"{_GAP}{prefix}(?:{_SENTENCES})\s*\Z", text[-_LONGEST:])
    return None if match is None else (len(text) - len(text[-_LONGEST:]) + match.start(), len(text))


_SENTENCES = "|".join(
    re.sub(r"\\\{(?:failed|all)\\\}", r"\\d{1,6}", re.escape(sentence))
    for words in _WORDS.values()
    for sentence in (words.skipped, words.unverified, words.only, words.none, words.some)
)
_LONGEST = 400
"""More code points than a notice has with its marker, and the white space behind it."""
