"""Chinese clauses: stretches between commas that begin with a verb, a pronoun, or repeat the sentence's form.

Chinese drops the subject of a clause that follows, so one that begins with a verb takes the sentence's. A
stretch that is neither stays with the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from proxy.claims.context import RenderedClaim
from proxy.claims.decompose.clause_words import (
    CHINESE_LEAD,
    CHINESE_LINKS,
    CHINESE_PRONOUNS,
    CHINESE_SCOPES,
    CHINESE_VERBS,
    Clause,
)
from proxy.text.words import Span

_MAX_SUBJECT = 20
_MIN_CLAUSE = 4
_STOPS = "，,；; "
_VERB = re.compile(CHINESE_VERBS)
_VERB_FIRST = re.compile(rf"(?:{CHINESE_LINKS}){{0,3}}{CHINESE_VERBS}")
_PRONOUN_FIRST = re.compile(
    rf"(?:{CHINESE_LINKS})?{CHINESE_PRONOUNS}(?:{CHINESE_LINKS}){{0,2}}{CHINESE_VERBS}"
)
_LINK = re.compile(r"(?:并且|并|而且|而|且|但是|但|同时)")
_NO_SUBJECT = re.compile(
    r"[的地得]$|[年月日时后前中里上]$|[:：]"
    r"|^(?:每|目前|现在|当时|其中|这[里就也]|那|此外|另外|尤其|特别|主要|整体|一般|分别|也|就|不|[在于自从对以])"
)
_OTHERS_OWN = re.compile(rf"(?:{CHINESE_LINKS})?(?:[该其]|[他她它们]+的)")
_ENDS_OPEN = re.compile(r"[是为有]$")


def chinese_clauses(shown: RenderedClaim) -> Sequence[Clause]:
    """The clauses of a Chinese sentence, or none where it is one clause or can't be told for sure."""
    text = shown.text
    if CHINESE_SCOPES.search(text):
        return ()
    stretches = _stretches(shown)
    lead, first = _lead(text, stretches)
    subject, verb = _subject(text[slice(*stretches[first])])
    if not subject or any(_ENDS_OPEN.search(text[slice(*stretch)]) for stretch in stretches):
        return ()
    starts = [stretches[0][0]]
    carried = [""]
    for start, end in stretches[first + 1 :]:
        before, subject = _carried(text[start:end].strip(), lead, subject, verb)
        if before is not None and end - start >= _MIN_CLAUSE:
            starts.append(start)
            carried.append(before)
    ends = [*starts[1:], len(text)]
    return [
        _clause(text, start, end, before) for start, end, before in zip(starts, ends, carried, strict=True)
    ]


def _stretches(shown: RenderedClaim) -> Sequence[Span]:
    """The spans between commas and semicolons that are outside quotations, brackets and numbers."""
    stretches, start = [], 0
    for index, char in enumerate(shown.text):
        if char in "，,；;" and not shown.whole[index]:
            stretches.append((start, index))
            start = index + 1
    return [*stretches, (start, len(shown.text))]


def _lead(text: str, stretches: Sequence[Span]) -> tuple[str, int]:
    """A phrase of time or place before the subject, with its comma, and the stretch that has the subject."""
    start, end = stretches[0]
    if len(stretches) > 1 and CHINESE_LEAD.fullmatch(text[start:end].strip()):
        return f"{text[start:end].strip()}，", 1
    return "", 0


def _subject(stretch: str) -> tuple[str, str]:
    """The text before the first verb, and that verb; empty where there is no clear subject."""
    match = _VERB.search(stretch.strip())
    subject = stretch.strip()[: match.start()].strip() if match else ""
    subject = re.sub(rf"{CHINESE_LINKS}+$", "", subject)
    if match is None or not 0 < len(subject) <= _MAX_SUBJECT or _NO_SUBJECT.search(subject):
        return "", ""
    return subject, match.group()


def _carried(stretch: str, lead: str, subject: str, verb: str) -> tuple[str | None, str]:
    """What a clause takes from the stretches before it, or None where the stretch is no clause.

    And the subject for the stretches after it, empty where it is unclear: after `X的Y` it may be X or Y.
    """
    if _PRONOUN_FIRST.match(stretch):
        return lead, "" if _OTHERS_OWN.match(stretch) else subject
    if _VERB_FIRST.match(stretch):
        return (lead + subject, subject) if subject and "的" not in subject else (None, subject)
    own, told = _subject(_LINK.sub("", stretch, count=1))
    dated = any(char.isdigit() for char in subject)
    parallel = own and told == verb and not dated and len(own) <= max(len(subject), _MIN_CLAUSE) + 4
    return (lead, own) if parallel else (None, subject)


def _clause(text: str, start: int, end: int, carried: str) -> Clause:
    own = text[start:end].strip(_STOPS)
    left = start + len(text[start:end]) - len(text[start:end].lstrip(_STOPS))
    plain = carried + _LINK.sub("", own, count=1) if start and _LINK.match(own) else carried + own
    return Clause(left, left + len(own), plain)
