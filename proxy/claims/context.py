"""What a claim needs to be understood on its own, and what the corpus is asked for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from proxy.claims.rendered import is_row
from proxy.text.scripts import han_count, has_han
from proxy.types import Claim

_MAX_CONTEXT = 300
_MAX_QUERY = 2000
_ITEM_GAP = 3
"""Characters between two claims from which on a list mark stands between them (`\\n- `)."""

_WORD = re.compile(r"\w+")
_LEANS = re.compile(
    r"(?:(?:however|moreover|furthermore|additionally|also|but|and|then|later|today|still|thus"
    r"|therefore|overall|in addition|in fact|for example|for instance|as a result|instead|finally|meanwhile"
    r"|similarly|yet|so),? )?"
    r"(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|this|that|these|those|both|neither|such|another"
    r"|the (?:former|latter|same|others?|company|film|book|album|song|city|country|team|group|event|series"
    r"|game|movie|novel|band|show|war|battle|building|university|organi[sz]ation|program|project|site|name|term"
    r"|title|author|character|species|aircraft|ship)(?! (?:of|in|that|who|which)\b))(?![\w-])",
    re.I,
)
_LEANS_ZH = re.compile(
    r"(?:但是?|而且?|因此|所以|同时|此外|另外|然后|后来|不过|然而|并且?|例如|比如)?[，,]?"
    r"(?:它|他|她|这|该|其(?!他人)|此(?!外)|两者|二者|前者|后者|上述|本[书片剧曲文市国校])"
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|does|do|did|can|could|will|would|may|might|must|should|became|began"
    r"|won|wrote|made|led|held|grew|found|gave|took|lies|sits|means|[a-z]{3,}ed)\b"
)
_LIKELY_VERB = re.compile(rf"{_VERB.pattern}|\b[a-z]{{2,}}[^s\W]s\b")
_SAYS_NOTHING = frozenset(
    """
    a about an and answer are as at below by can details examples facts few following for from here in
    include included includes information is it key list main more most of on overview points reasons s
    some steps such summary sure the these things this to us with you your
    """.split()
)
_SAYS_NOTHING_ZH = re.compile(
    r"以下|如下|下面|这些|一些|主要|要点|包括|包含|几[个点]|总结|内容|信息|情况|方面|例子|步骤|[是的有为些你您我]"
)
_MIN_WORDS, _MIN_HAN = 4, 6
_VERBLESS_WORDS = 12


@dataclass(frozen=True, slots=True)
class _Told:
    """What the reply has said so far that a later claim may lean on."""

    standing: str = ""
    lead_in: str = ""
    head: str = ""
    header: str = ""
    in_list: bool = False
    end: int = 0


def contexts(claims: Sequence[Claim], question: str) -> tuple[str, ...]:
    """Per claim what it needs to be understood alone: empty for one that stands alone.

    A claim leans if it starts with a pronoun or the like or is a fragment (`Paris.`). It gets the nearest
    earlier claim of the reply that stands alone, failing that the user's question. An item of a list gets
    the list's lead-in, a row of a table the table's header. At most 300 characters, in whole words.
    """
    fallback = shortened(" ".join(question.split()), _MAX_CONTEXT)
    result: list[str] = []
    told = _Told()
    for claim in claims:
        told = _moved(told, claim)
        result.append(_context(told, claim, fallback))
        told = _after(told, claim)
    return tuple(result)


def query(claim: Claim, context: str) -> str:
    """What the corpus is searched for: the context of a claim and the claim, at most 2,000 characters."""
    return shortened(f"{context} {claim.plain}" if context else claim.plain, _MAX_QUERY)


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters of the text, in whole words where it has any."""
    if len(text) <= limit:
        return text
    cut = text.rfind(" ", limit // 2, limit + 1)
    return text[: cut if cut > 0 else limit].rstrip()


def needs_context(plain: str) -> bool:
    """Whether a claim can't be understood without what came before it."""
    text = plain.lstrip("\"'“‘「『（([ ")
    return bool(_LEANS.match(text) or _LEANS_ZH.match(text)) or _is_fragment(text)


def _is_fragment(text: str) -> bool:
    text = text[:_MAX_CONTEXT]
    han = han_count(text)
    if han * 4 > len(text):
        return han < _MIN_HAN
    words = len(_WORD.findall(text))
    verb = _VERB if words < _MIN_WORDS else _LIKELY_VERB
    return words < _VERBLESS_WORDS and not verb.search(text)


def _moved(told: _Told, claim: Claim) -> _Told:
    """Whether the claim goes on with the list, told by the characters between it and the claim before."""
    gap = claim.start - told.end
    if told.lead_in and gap >= _ITEM_GAP:
        return replace(told, in_list=True, head="")
    if gap > 1:
        return replace(told, in_list=False, lead_in=told.lead_in if told.lead_in and not told.in_list else "")
    return told


def _context(told: _Told, claim: Claim, fallback: str) -> str:
    if is_row(claim):
        return (
            shortened(told.header or told.lead_in or told.standing, _MAX_CONTEXT) if claim.checkable else ""
        )
    if told.in_list:
        lead_in = told.lead_in if _says_something(told.lead_in) else fallback
        head = told.head if told.head and needs_context(claim.plain) else ""
        return shortened(f"{lead_in} {head}".strip(), _MAX_CONTEXT)
    if not needs_context(claim.plain):
        return ""
    return shortened(told.standing, _MAX_CONTEXT) or fallback


def _after(told: _Told, claim: Claim) -> _Told:
    """What is known once the claim was said."""
    plain, end = claim.plain, claim.end
    if is_row(claim):
        return replace(told, header=told.header if claim.checkable else plain, end=end)
    told = replace(told, header="", end=end)
    if told.in_list:
        return replace(told, head=told.head or plain)
    if plain.endswith((":", "：")):
        context = f"{told.standing} " if needs_context(plain) or han_count(plain) in range(1, 12) else ""
        told = replace(told, lead_in=shortened(f"{context}{plain}".strip(), _MAX_CONTEXT))
    if claim.checkable and not needs_context(plain):
        told = replace(told, standing=plain)
    return told


def _says_something(lead_in: str) -> bool:
    """Whether a lead-in names its subject, unlike `Here are the main points:`."""
    if has_han(lead_in):
        return han_count(_SAYS_NOTHING_ZH.sub("", lead_in)) > 1
    return any(word not in _SAYS_NOTHING for word in _WORD.findall(lead_in.lower()))
