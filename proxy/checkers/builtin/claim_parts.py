"""Claims that say two things of one subject: what each passage may bear out a half of."""

from __future__ import annotations

import re

from proxy.text.scripts import HAN, has_han

_VERB = (
    r"(?:is|was|are|were|has|have|had|became|won|wrote|made|led|built|left|began|sold|held|ran|took|gave|grew|"
    r"went|came|met|lost|founded|[a-z]{2,}ed)"
)
_ENGLISH_JOIN = re.compile(
    rf",? (?:and|but)(?: (?:it|he|she|they|who|which|also|later|then))* (?={_VERB}\b)|; "
)
_ENGLISH_SUBJECT = re.compile(rf"^(.{{2,80}}?) (?:also |later |first )?{_VERB}\b")
_NAMED = re.compile(r"[A-Z]")
_CHINESE_JOIN = re.compile(r"[，；](?:并且|并|而且|而|后来|同时|也|还|他|她|它|其)*")
_CHINESE_SUBJECT = re.compile(
    rf"^([{HAN}A-Za-z·《》“”0-9]{{2,16}}?)(?=始建|始|是|为|在|于|由|被|有|曾|生于|位于|出生|获|发|创|建|成|担任)"
)
MOST = 8
"""Parts of one claim: each is held against every passage."""
_CHINESE_SHORTEST = 4
"""Characters of the shortest part that says something."""


def parts(claim: str) -> tuple[str, ...]:
    """The claim's statements, each with its subject, where it says several of one named subject.

    "Ada was born in Bern and won a medal" gives "Ada was born in Bern" and "Ada won a medal". Any other
    claim has no parts, nor has one of more than `MOST`. By rules over the words: most ways to say two things
    are not recognised.
    """
    found = _chinese(claim) if has_han(claim) else _english(claim)
    return found if len(found) <= MOST else ()


def _english(claim: str) -> tuple[str, ...]:
    first, *rest = [part for part in _ENGLISH_JOIN.split(claim) if part.strip()] or [""]
    subject = _ENGLISH_SUBJECT.match(first)
    if not rest or subject is None or not _NAMED.search(subject[1]):
        return ()
    return (
        _ended(first),
        *(_ended(part if _own_subject(part) else f"{subject[1]} {part}") for part in rest),
    )


def _chinese(claim: str) -> tuple[str, ...]:
    first, *rest = [part for part in _CHINESE_JOIN.split(claim) if part.strip()] or [""]
    subject = _CHINESE_SUBJECT.match(first)
    if not rest or subject is None or min(map(len, rest)) < _CHINESE_SHORTEST:
        return ()
    return first, *(f"{subject[1]}{part}" for part in rest)


def _own_subject(part: str) -> bool:
    """Whether a part begins with a name of its own."""
    return bool(_NAMED.match(part))


def _ended(part: str) -> str:
    return part if part.endswith((".", "!", "?")) else f"{part.rstrip(',;')}."
