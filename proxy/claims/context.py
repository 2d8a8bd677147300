"""What a claim needs to be understood on its own, and the query that the corpus is searched with.

`rendered` gives a claim's text as people read it: where each character stands, what must stay in one piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from proxy.claims.checkable import is_title
from proxy.claims.material import attributions
from proxy.text.inline import READ, tokens
from proxy.text.scripts import han_count, has_han
from proxy.text.words import Span
from proxy.types import HEADING_LEVELS, Claim, Context

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
    for start, end in reversed(attributions(text)):
        text = text[:start] + text[end:]
        del places[start:end], whole[start:end]
    if text != claim.plain or claim.row:
        return None
    for match in _PROTECTED.finditer(text):
        whole[match.start() : match.end()] = [True] * (match.end() - match.start())
    if any(not whole[match.start()] for match in _UNPAIRED.finditer(text)):
        return None
    return RenderedClaim(text, tuple(places), tuple(whole), len(claim.text))


def _characters(raw: str, plain: str) -> tuple[str, list[int], list[bool]]:
    """Without formatting, and with white space and those brackets that `plain` has."""
    text: list[str] = []
    places: list[int] = []
    whole: list[bool] = []
    gap = cited = False
    for token in tokens(raw, (0, len(raw))):
        said = token.kind == "citation" and plain.startswith(raw[token.start : token.end], len(text) + gap)
        cited = cited or (token.kind == "citation" and not said)
        if token.kind not in READ and not said:
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


_MAX_CONTEXT, _MAX_TOPIC, _MAX_QUERY = 300, 120, 2000
"""Characters."""
_MAX_TOPICS = 8
"""Headings and items above a claim that are kept, the nearest ones."""
_CACHED = 1024
"""Texts whose reading is kept: while a reply streams, its earlier claims are read again with each piece."""

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
_NAME = re.compile(r"(?<=\S)\s+[\"'(“‘]?[A-Z]")
"""What may name a subject: a capital letter behind the first word."""
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
_ENUMERATOR = re.compile(r"^[(（]?(?:\d{1,3}|[一二三四五六七八九十]{1,3})[.)）、．:：][ \t]*")
_VERBLESS_WORDS = 12
_LABELLED_ZH = re.compile(r"[^，。；：:]{1,12}[：:]")
"""How a value begins that has its name before it (`主要建筑材料：花岗岩`)."""
_BOLD_LEAD = re.compile(r"(\*\*|__)(?=\S)([^*_\n]{1,120})\1")
"""What an item begins with in bold (`**Alden Bridge**: 412 metres. It is old.`)."""


@dataclass(frozen=True, slots=True)
class _Topic:
    """What the claims below may be about: a heading, or an item that others stand under."""

    claim: Claim
    standing: str
    """The nearest claim before it that stands alone."""

    @property
    def text(self) -> str:
        """Its words and a colon; empty where it names nothing (`Overview`)."""
        return _named(self.claim.plain)

    @property
    def name(self) -> str:
        """What stands below is said of: a heading, an item that states nothing, or what an item begins with
        in bold. Empty where there is no such name."""
        if self.claim.level <= HEADING_LEVELS:
            return self.text
        lead = _BOLD_LEAD.match(self.claim.text)
        return _title(lead[2] if lead else self.claim.plain)


@dataclass(frozen=True, slots=True)
class _PriorClaims:
    """What of the claims before a later claim may need as its context."""

    standing: str = ""
    opening: str = ""
    """The first claim of the paragraph or item that goes on, with its own context."""
    lead_in: str = ""
    topics: tuple[_Topic, ...] = ()
    in_list: bool = False
    end: int = 0

    @property
    def in_item(self) -> bool:
        """Whether an item of a list is one of the topics."""
        return any(topic.claim.level > HEADING_LEVELS for topic in self.topics)


def contexts(claims: Sequence[Claim], question: str, prior: Iterable[Claim] = ()) -> tuple[Context, ...]:
    """The context that each claim needs to be understood; empty for a claim that stands alone and begins its
    paragraph. `prior` are the claims of the reply before these.

    A claim needs context if it starts with a pronoun or the like, or is a fragment (`Paris.`). Its context is
    the nearest earlier claim of its section that stands alone, otherwise the user's question. An item of a
    list gets the sentence that introduces the list, a row of a table what introduces the table. Before them
    stands what their paragraph begins with: it mostly names what the paragraph is about. It may be the only
    sentence that does, so that an English claim which stands alone, but names nothing, gets it, too. So does
    every Chinese one: it may leave its subject out, and nothing tells a name. At most 300 characters, in
    whole words.

    What stands under a heading, or under an item that names something, gets that as its topic: without it,
    `Population: 2 million` would be borne out by any city. It is read with the question too, which alone may
    say what a heading such as `History` is about.
    """
    asked = shortened(" ".join(question.split(maxsplit=_MAX_CONTEXT)), _MAX_CONTEXT)
    result: list[Context] = []
    prior_claims = _PriorClaims()
    for claim in prior:
        prior_claims = _after(_moved(prior_claims, claim), claim, asked)
    for claim in claims:
        prior_claims = _moved(prior_claims, claim)
        result.append(_context(prior_claims, claim, asked))
        prior_claims = _after(prior_claims, claim, asked)
    return tuple(result)


def queries(claim: Claim, context: Context) -> tuple[str, ...]:
    """The search queries for a claim, each at most 2,000 characters: its context and the claim. A claim that
    stands alone is searched for alone first, since its context may be about something else.
    """
    asked = [" ".join(filter(None, (context.before, context.topic, claim.plain)))]
    if context.before and not (context.topic or claim.row or needs_context(claim.plain)):
        asked.insert(0, claim.plain)
    return tuple(shortened(query, _MAX_QUERY) for query in asked)


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters of the text, in whole words where it has any."""
    if len(text) <= limit:
        return text
    cut = text.rfind(" ", limit // 2, limit + 1)
    return text[: cut if cut > 0 else limit].rstrip()


@lru_cache(_CACHED)
def needs_context(plain: str) -> bool:
    """Whether a claim can't be understood without what came before it."""
    text = plain.lstrip("\"'“‘「『（([ ")
    return bool(_NEEDS_CONTEXT.match(text) or _NEEDS_CONTEXT_ZH.match(text)) or _is_fragment(text)


def _is_fragment(text: str) -> bool:
    text = text[:_MAX_CONTEXT]
    han = han_count(text)
    if han * 4 > len(text):
        return han < _MIN_HAN or _LABELLED_ZH.match(text) is not None
    words = len(_WORD.findall(text))
    # In `about 330 metres tall` the unit would pass for a verb in -s.
    verb = _VERB if words < _MIN_WORDS or _QUANTITY.match(text) else _LIKELY_VERB
    return words < _VERBLESS_WORDS and not verb.search(text)


def _moved(prior_claims: _PriorClaims, claim: Claim) -> _PriorClaims:
    """Closes the topics that the claim does not stand under, and tells whether a list begins, goes on or
    ends."""
    over = [topic for topic in prior_claims.topics if not _stands_under(claim, topic)]
    if over:
        kept = prior_claims.topics[: prior_claims.topics.index(over[0])]
        prior_claims = replace(prior_claims, topics=kept, standing=over[0].standing)
    gap = claim.start - prior_claims.end
    if claim.opens or claim.row or gap > 1:
        prior_claims = replace(prior_claims, opening="")
    if prior_claims.lead_in and (claim.opens or claim.row or prior_claims.in_item):
        return replace(prior_claims, in_list=True)
    if gap > 1 and prior_claims.in_list:
        return replace(prior_claims, in_list=False, lead_in="")
    return prior_claims


def _stands_under(claim: Claim, topic: _Topic) -> bool:
    return topic.claim.level < claim.level or (topic.claim.level == claim.level and not claim.opens)


def _context(prior_claims: _PriorClaims, claim: Claim, question: str) -> Context:
    if not claim.checkable:
        return Context()
    row = claim.row
    needed = row or needs_context(claim.plain)
    lead_in = prior_claims.lead_in if row or prior_claims.in_list else ""
    if not row and not _says_something(lead_in):
        lead_in = ""
    title = _title(lead_in)
    headings = [topic.name for topic in prior_claims.topics if topic.claim.level <= HEADING_LEVELS]
    items = [topic for topic in prior_claims.topics if topic.claim.level > HEADING_LEVELS]
    topic = " ".join(filter(None, (*headings, title, *(item.name for item in items))))
    opening = prior_claims.opening if needed or not (topic or _names_something(claim.plain)) else ""
    said = [opening or ("" if title else lead_in)]
    leans = needed and not title and (row or not prior_claims.in_list or opening)
    if leans and prior_claims.standing not in said[0]:
        said.append(prior_claims.standing)
    if needed and not opening:
        said += [item.text for item in items if not item.name]
    if not _is_fragment(claim.plain):  # said before, it would be borne out by having been said
        itself = re.compile(rf"(?<!\w){re.escape(claim.plain)}(?!\w)")
        said = [itself.sub("", part).strip() for part in said]
    before = " ".join(filter(None, said))
    if not opening and (topic or (needed and not before)):
        before = f"{shortened(question, _MAX_CONTEXT - len(before))} {before}"
    return Context(_last(before, _MAX_CONTEXT), shortened(topic, _MAX_TOPIC))


def _names_something(plain: str) -> bool:
    """Whether an English claim may name its subject."""
    return not has_han(plain) and _NAME.search(plain) is not None


def _last(text: str, limit: int) -> str:
    """At most `limit` characters of the end of the text, in whole words where it has any."""
    text = text.strip()
    if len(text) <= limit:
        return text
    cut = text.find(" ", len(text) - limit - 1, len(text) - limit // 2)
    return text[cut + 1 if cut >= 0 else len(text) - limit :]


def _after(prior_claims: _PriorClaims, claim: Claim, question: str) -> _PriorClaims:
    """The state after a claim."""
    plain, standing = claim.plain, prior_claims.standing
    if claim.row:
        return replace(prior_claims, end=claim.end)
    opening = prior_claims.opening
    if claim.checkable and not opening:
        opening = _last(f"{_context(prior_claims, claim, question).before} {plain}", _MAX_CONTEXT)
    prior_claims = replace(prior_claims, end=claim.end, opening=opening)
    if claim.opens:
        topic = _Topic(claim, standing)
        prior_claims = replace(prior_claims, topics=(*prior_claims.topics, topic)[-_MAX_TOPICS:])
    if claim.level <= HEADING_LEVELS:
        prior_claims = replace(prior_claims, lead_in="", in_list=False)
    elif prior_claims.in_list:
        return prior_claims
    elif plain.endswith((":", "：")) and not prior_claims.in_item:
        introduced = needs_context(plain) or han_count(plain) in range(1, 12)
        lead_in = f"{standing} {plain}" if introduced else plain
        prior_claims = replace(prior_claims, lead_in=shortened(lead_in.strip(), _MAX_CONTEXT))
    if claim.checkable and not needs_context(plain):
        prior_claims = replace(prior_claims, standing=plain)
    return prior_claims


@lru_cache(_CACHED)
def _title(plain: str) -> str:
    """The text of an item that is a title; empty where it is not."""
    return _named(plain) if is_title(plain) else ""


@lru_cache(_CACHED)
def _named(plain: str) -> str:
    """The text of a topic."""
    plain = shortened(_ENUMERATOR.sub("", plain), _MAX_TOPIC)
    if not _says_something(plain):
        return ""
    return plain if plain[-1] in _STOPS else f"{plain}{'：' if has_han(plain) else ':'}"


def _says_something(lead_in: str) -> bool:
    """Whether the introduction of a list names its subject, unlike `Here are the main points:`."""
    if has_han(lead_in):
        return han_count(_SAYS_NOTHING_ZH.sub("", lead_in)) > 1
    return any(word not in _SAYS_NOTHING for word in _WORD.findall(lead_in.lower()))
