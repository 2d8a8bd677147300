"""What a claim needs to be understood on its own, and the query that the corpus is searched with.

`rendered` gives a claim's text as people read it: where each character stands, what must stay in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from proxy.text.inline import tokens
from proxy.text.scripts import han_count, has_han
from proxy.text.words import Span
from proxy.types import Claim

_PROTECTED = re.compile(
    r"\"[^\"]{1,400}\"|“[^“”]{1,400}”|‘[^‘’]{1,400}’(?!\w)|「[^「」]{1,400}」|『[^『』]{1,400}』|《[^《》]{1,400}》"
    r"|\([^()]{0,400}\)|（[^（）]{0,400}）|\[[^\[\]]{0,400}\]|【[^【】]{0,400}】|\{[^{}]{0,400}\}"
    r"|(?<!\w)'[^']{2,400}'(?!\w)|\d[\d,.:/–-]*\d"
)
_STOPS = ".,;:!?。，；：！？、"
_UNPAIRED = re.compile(r"[\"“”「」『』《》()（）\[\]【】{}]")


@dataclass(frozen=True, slots=True)
class RenderedClaim:
    """`text` is the claim's `plain`; `places[i]` is where its character `i` stands in `claim.text`.

    `whole[i]` is True where character `i` belongs to a quotation, brackets, number, code, link or formula.
    """

    text: str
    places: tuple[int, ...]
    whole: tuple[bool, ...]
    length: int
    """Of `claim.text`."""

    def span(self, start: int, end: int) -> Span:
        """The span of `claim.text` that shows `text[start:end]`, with the formatting around the whole."""
        right = self.length if end == len(self.text) else self.places[end - 1] + 1
        return self.places[start] if start else 0, right


def rendered(claim: Claim) -> RenderedClaim | None:
    """How the claim reads, or None where that is not its `plain` (a JSON string, a row of a table), or
    where a quotation or bracket has no other half.
    """
    text, places, whole = _characters(claim.text, claim.plain)
    if text != claim.plain or is_row(claim):
        return None
    for match in _PROTECTED.finditer(text):
        whole[match.start() : match.end()] = [True] * (match.end() - match.start())
    if any(not whole[match.start()] for match in _UNPAIRED.finditer(text)):
        return None
    return RenderedClaim(text, tuple(places), tuple(whole), len(claim.text))


def is_row(claim: Claim) -> bool:
    """Whether the claim is a row of a table."""
    return claim.row


def _characters(raw: str, plain: str) -> tuple[str, list[int], list[bool]]:
    """Without formatting, and with white space and those brackets that `plain` has."""
    text: list[str] = []
    places: list[int] = []
    whole: list[bool] = []
    gap = cited = False
    for token in tokens(raw, (0, len(raw))):
        said = token.kind == "citation" and plain.startswith(raw[token.start : token.end], len(text) + gap)
        cited = cited or (token.kind == "citation" and not said)
        if token.kind not in ("text", "code", "math", "url") and not said:
            continue
        for place in range(token.start, token.end):
            if raw[place].isspace():
                gap = bool(text)
                continue
            one_piece = token.whole or token.kind != "text"
            if gap and not (cited and raw[place] in _STOPS):
                text.append(" ")
                places.append(place - 1)
                whole.append(one_piece)
            gap = cited = False
            text.append(raw[place])
            places.append(place)
            whole.append(one_piece)
    return "".join(text), places, whole


_MAX_CONTEXT = 300
_MAX_QUERY = 2000
_ITEM_GAP = 3
"""Characters between two claims from which on a list mark stands between them (`\\n- `)."""

_WORD = re.compile(r"\w+")
_NEEDS_CONTEXT = re.compile(
    r"(?:(?:however|moreover|furthermore|additionally|also|but|and|then|later|today|still|thus"
    r"|therefore|overall|in addition|in fact|for example|for instance|as a result|instead|finally|meanwhile"
    r"|similarly|yet|so),? )?"
    r"(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|this|that|these|those|both|neither|such|another"
    r"|the (?:former|latter|same|others?|company|film|book|album|song|city|country|team|group|event|series"
    r"|game|movie|novel|band|show|war|battle|building|university|organi[sz]ation|program|project|site|name|term"
    r"|title|author|character|species|aircraft|ship)(?! (?:of|in|that|who|which)\b))(?![\w-])",
    re.I,
)
_NEEDS_CONTEXT_ZH = re.compile(
    r"(?:但是?|而且?|因此|所以|同时|此外|另外|然后|后来|不过|然而|并且?|例如|比如)?[，,]?"
    r"(?:它|他|她|这|该|其(?!他人)|此(?!外)|两者|二者|前者|后者|上述|本[书片剧曲文市国校])"
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|does|do|did|can|could|will|would|may|might|must|should|became|began"
    r"|won|wrote|made|led|held|grew|found|gave|took|lies|sits|means|[a-z]{3,}ed)\b"
)
_LIKELY_VERB = re.compile(rf"{_VERB.pattern}|\b[a-z]{{2,}}[^s\W]s\b")
_QUANTITY = re.compile(
    r"(?:(?:about|approximately|around|roughly|nearly|almost|over|under|some|exactly|only|at (?:least|most)"
    r"|(?:more|less|fewer) than) )?[$€£¥]?\d",
    re.I,
)
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
class _PriorClaims:
    """What of the claims before a later claim may need as its context."""

    standing: str = ""
    lead_in: str = ""
    head: str = ""
    in_list: bool = False
    end: int = 0


def contexts(claims: Sequence[Claim], question: str) -> tuple[str, ...]:
    """The context that each claim needs to be understood; empty for a claim that stands alone.

    A claim needs context if it starts with a pronoun or the like, or is a fragment (`Paris.`). Its context is
    the nearest earlier claim of the reply that stands alone, otherwise the user's question. No claim
    that stands alone gets the question. An item of a list gets the sentence that introduces the list, a row
    of a table what introduces the table. At most 300 characters, in whole words.
    """
    fallback = shortened(" ".join(question.split(maxsplit=_MAX_CONTEXT)), _MAX_CONTEXT)
    result: list[str] = []
    prior_claims = _PriorClaims()
    for claim in claims:
        prior_claims = _moved(prior_claims, claim)
        result.append(_context(prior_claims, claim, fallback))
        prior_claims = _after(prior_claims, claim)
    return tuple(result)


def query(claim: Claim, context: str) -> str:
    """The search query for a claim: its context and the claim, at most 2,000 characters."""
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
    return bool(_NEEDS_CONTEXT.match(text) or _NEEDS_CONTEXT_ZH.match(text)) or _is_fragment(text)


def _is_fragment(text: str) -> bool:
    text = text[:_MAX_CONTEXT]
    han = han_count(text)
    if han * 4 > len(text):
        return han < _MIN_HAN
    words = len(_WORD.findall(text))
    # In `about 330 metres tall` the unit would pass for a verb in -s.
    verb = _VERB if words < _MIN_WORDS or _QUANTITY.match(text) else _LIKELY_VERB
    return words < _VERBLESS_WORDS and not verb.search(text)


def _moved(prior_claims: _PriorClaims, claim: Claim) -> _PriorClaims:
    """Tells from the characters between two claims whether a list begins, goes on or ends."""
    gap = claim.start - prior_claims.end
    if prior_claims.lead_in and gap >= _ITEM_GAP:
        return replace(prior_claims, in_list=True, head="")
    if gap > 1:
        return replace(
            prior_claims,
            in_list=False,
            lead_in=prior_claims.lead_in if prior_claims.lead_in and not prior_claims.in_list else "",
        )
    return prior_claims


def _context(prior_claims: _PriorClaims, claim: Claim, fallback: str) -> str:
    if is_row(claim):
        told = prior_claims.lead_in or prior_claims.standing
        return (shortened(told, _MAX_CONTEXT) or fallback) if claim.checkable else ""
    if prior_claims.in_list:
        needed = needs_context(claim.plain)
        # A sentence that stands alone is not read with the question, whatever introduces its list.
        fallback = fallback if needed else ""
        lead_in = prior_claims.lead_in if _says_something(prior_claims.lead_in) else fallback
        head = prior_claims.head if needed else ""
        return shortened(f"{lead_in} {head}".strip(), _MAX_CONTEXT)
    if not needs_context(claim.plain):
        return ""
    return shortened(prior_claims.standing, _MAX_CONTEXT) or fallback


def _after(prior_claims: _PriorClaims, claim: Claim) -> _PriorClaims:
    """The state after a claim."""
    plain, end = claim.plain, claim.end
    if is_row(claim):
        return replace(prior_claims, end=end)
    prior_claims = replace(prior_claims, end=end)
    if prior_claims.in_list:
        return replace(prior_claims, head=prior_claims.head or plain)
    if plain.endswith((":", "：")):
        introduced = needs_context(plain) or han_count(plain) in range(1, 12)
        context = f"{prior_claims.standing} " if introduced else ""
        prior_claims = replace(prior_claims, lead_in=shortened(f"{context}{plain}".strip(), _MAX_CONTEXT))
    if claim.checkable and not needs_context(plain):
        prior_claims = replace(prior_claims, standing=plain)
    return prior_claims


def _says_something(lead_in: str) -> bool:
    """Whether the introduction of a list names its subject, unlike `Here are the main points:`."""
    if has_han(lead_in):
        return han_count(_SAYS_NOTHING_ZH.sub("", lead_in)) > 1
    return any(word not in _SAYS_NOTHING for word in _WORD.findall(lead_in.lower()))
