"""Tells claims from sentences that no document could support.

Those are questions, greetings, offers, opinions and talk about the reply itself (`proxy/claims/talk.py`), and
headings. In doubt a sentence is checkable: a fact that goes unchecked is worse than an opinion that is looked
up. Talk is no shield: of `I think that …`, `I can't find it, but …` and `Here is the answer: …` the part
behind decides. Only where that states nothing, the sentence is talk.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from proxy.claims import talk
from proxy.claims.material import is_reference
from proxy.claims.talk import VERB, VERB_ZH
from proxy.text.scripts import HAN, han_count
from proxy.text.sentences import sentence_spans
from proxy.text.words import FUNCTION_HAN, FUNCTION_WORDS

_CLOSERS = " \t\"'”’」』）)】]*_~"
_OPENERS = "“‘「『（(["
_EMOJI = re.compile(
    "[0-9#*]\ufe0f?\u20e3|[\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u200d\ufe0f]"
)
"""Keycaps (`1️⃣`) and pictures, with what joins several of them to one."""

_TITLE = re.compile(r"[A-Z][\w']*(?: (?:a|an|the|to|of|for|in|my|you|your)){0,2} [A-Z][a-z]+")
"""Words in title case at the beginning. Speech has its second word in lower case."""

_QUOTED = re.compile(
    r"\s*(?:\"[^\"]{1,100}\"|“[^“”]{1,100}”|‘[^‘’]{1,100}’|「[^「」]{1,100}」|『[^『』]{1,100}』|《[^《》]{1,100}》)[^\n]*\w"
)
"""A quotation at the beginning with words behind it: mostly the title of a work."""

_MAX_TITLE = 60
_MAX_TITLE_HAN = 12
_SHORT_TITLE_WORDS = 4
_TITLE_NUMBER = re.compile(
    r"(?:(?:step|part|chapter|section|phase|day|week|option|example|stage) )?(?:\d{1,2}|[ivx]{1,4}|[a-h])"
    r"(?:[.):：、．]\s*|$)|第[一二三四五六七八九十\d]{1,3}[章节步部条点][.、:：]?\s*|[一二三四五六七八九十]{1,3}、",
    re.I,
)
"""The number before a title: `1. Design`, `Step 2: Assembly`, `第三章`."""
_NOT_IN_TITLES = re.compile(r"[!?;:](?:\s|$)|\.$|[。！？；：，]|\d")
_SMALL_IN_TITLES = frozenset("a an the and or of in on at by for to from with vs via as".split())
_SUBORDINATE = re.compile(
    r"\b(?:how|why|what|when|where|which|who|whose|that|if|while|until|before|after|things|everything)\b",
    re.I,
)
_FINITE = re.compile(r"(?<=[\w)\"'”] )(?:is|are|was|were|has|had|became|began|does|did|cannot)\b")
"""Verbs of a sentence without a stop. Those of headings are mostly participles (`Films made in Paris`)."""
_SENTENCE_ZH = re.compile(
    r"\S是(?!否|什么|如何|怎)|(?:位|建|成立|生|死|始|毁|创立|创建)于|[高长宽重为有](?:约|近|达|了)?\d"
)

_ASKS_ZH = re.compile("什么|为何|如何|怎|谁|哪|几|多少|是否|吗|呢")
_SOURCE = re.compile(r"https?://|\b(?:accessed|retrieved|archived)\b|^(?:参见|见|《)|出版", re.I)
"""What a footnote has that names a source."""

_ALERT = re.compile(r"\[!\w{1,20}\][+-]?")
"""The first line of an alert of GitHub or Obsidian (`> [!NOTE]`)."""
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>（）【】「」『』，。；、！？]+", re.I)
_AROUND_ADDRESS = f"{_CLOSERS}{_OPENERS}.,;:!，。；：！、<>|-–—•"
_LABEL = re.compile(
    r"(?:sources?|references?|citations?|links?|urls?|website|homepage|see also"
    r"|来源|链接|网址|参考资料|参见)[ \t]*[:：][ \t]*",
    re.I,
)
"""What stands before the name of a source."""
_LABEL_WORDS = 2
_LONG_SMALL = re.compile(r"\b[a-z]{4,}")
"""A word in lower case that titles don't have, and that may be a verb."""
_POINTING = re.compile(r"\b(?:is|are|at|on|via|visit|see|here|more)$", re.I)
"""What an address is needed behind, to say something."""

_MAX_LOOKED_AT = 1000
_WORD = re.compile(rf"[^\W{HAN}]+|[{HAN}]")
_FUNCTION = FUNCTION_WORDS | FUNCTION_HAN
_SHORT = 60
"""Code points up to which a claim may consist of function words alone."""


def is_checkable(plain: str, kind: str = "paragraph") -> bool:
    """Whether documents could support or contradict a claim.

    `plain` is the claim without Markdown, `kind` that of its block. A heading or a footnote is checked where
    it is a sentence, the header of a table never.
    """
    text = _EMOJI.sub("", plain.replace("’", "'")).strip(_CLOSERS + _OPENERS)
    if not any(char.isalnum() for char in text) or text[-1] in "?？" or _says_nothing(text):
        return False
    if is_reference(text) or _ALERT.fullmatch(plain.strip()):
        return False
    if kind == "header" or (kind in ("heading", "note") and not _is_sentence(text)):
        return False
    if kind == "note" and (_SOURCE.search(text) or not (han_count(text) or _FINITE.search(text))):
        return False
    if text[-1] in ":：" and is_title(text):
        return False
    if text[-1] not in ":：" and _QUOTED.match(plain):
        return True
    # Long sentences are cut to bound the time: their beginning and the last character decide.
    text = text if len(text) <= _MAX_LOOKED_AT else f"{text[:_MAX_LOOKED_AT]}{text[-1]}"
    if han_count(text) * 4 > len(text):
        return _CHINESE.states(text, titled=False)
    return _ENGLISH.states(text.lower(), titled=_begins_with_title(text))


def only_points(plain: str) -> bool:
    """Whether a text with an address names the page, and states nothing (`More at https://…`)."""
    rest, addresses = _ADDRESS.subn(" ", plain[:_MAX_LOOKED_AT])
    if not addresses:
        return False
    rest = _LABEL.sub("", rest.strip(_AROUND_ADDRESS)).strip(_AROUND_ADDRESS)
    if not any(map(str.isalnum, rest)) or _POINTING.search(rest):
        return True
    return is_title(rest) and (len(rest.split()) <= _LABEL_WORDS or not _LONG_SMALL.search(rest))


def _is_sentence(text: str) -> bool:
    """Whether a heading or a footnote is a sentence. In doubt it is not: most name what follows, or a source.

    Without a stop it needs a verb that is no participle, and no question before it (`How it was made`).
    """
    text = text[:_MAX_LOOKED_AT]
    if han_count(text):
        ended = text[-1] in "。！" and VERB_ZH.search(text) is not None
        return not _ASKS_ZH.search(text) and (ended or _SENTENCE_ZH.search(text) is not None)
    if text[-1] in ".!":
        return VERB.search(text) is not None and not _SUBORDINATE.match(text)
    finite = _FINITE.search(text)
    return finite is not None and not _SUBORDINATE.search(text, 0, finite.start())


def _begins_with_title(text: str) -> bool:
    """Whether a work or an organisation is spoken of whose name could begin a greeting or an offer
    (`Here Comes the Sun was …`)."""
    return (title := _TITLE.match(text)) is not None and VERB.search(text, title.end()) is not None


def is_title(plain: str) -> bool:
    """Whether a line that stands alone, in bold or before a colon, names what follows and states nothing.

    It is short, has no sentence's end, no verb that we know, and no number but the one it may begin with. In
    doubt it is a statement: up to four words may be in lower case, more are a title in title case only.
    """
    text = _EMOJI.sub("", plain.replace("’", "'")).strip(_CLOSERS + _OPENERS).rstrip(":： \t")
    if number := _TITLE_NUMBER.match(text):
        text = text[number.end() :].strip(_CLOSERS + _OPENERS) or text
    if len(text) > _MAX_TITLE or not any(map(str.isalpha, text)) or _NOT_IN_TITLES.search(text):
        return False
    if han := han_count(text):
        return han <= _MAX_TITLE_HAN and not VERB_ZH.search(text)
    if len(sentence_spans(text)) > 1:
        return False
    words = text.split()
    cased = all(word in _SMALL_IN_TITLES or not word[0].islower() for word in words)
    return not VERB.search(text) and (cased or len(words) <= _SHORT_TITLE_WORDS)


def _says_nothing(text: str) -> bool:
    """Whether a short text has only function words (`It is.`). Capitals may be a name (`The Who`, `IT`)."""
    if len(text) > _SHORT or text.isupper():
        return False
    words = [match for match in _WORD.finditer(text) if match.group().lower() not in _FUNCTION]
    capitals = any(match.start() and match.group()[0].isupper() for match in _WORD.finditer(text))
    return not words and not capitals


@dataclass(frozen=True, slots=True)
class _Talk:
    """How people talk in one language. What each pattern matches is said where that of English stands."""

    lead: re.Pattern[str]
    hedge: re.Pattern[str]
    speech: re.Pattern[str]
    unsaid: re.Pattern[str]
    empty: re.Pattern[str]
    weak: re.Pattern[str]
    goes_on: re.Pattern[str]
    turn: re.Pattern[str]
    counted: re.Pattern[str]
    figure: re.Pattern[str]
    verb: re.Pattern[str]
    lead_in: re.Pattern[str]
    short_lead_in: int
    length: Callable[[str], int]
    opinion: Callable[[str], bool]

    def states(self, text: str, titled: bool) -> bool:
        """Whether something is stated once talk is taken off. `titled`: a name begins it, and no talk."""
        hedged = behind = turned = False
        for _ in range(talk.MAX_LEADS):
            unsaid = self.unsaid.match(text)
            if lead := None if unsaid else self.lead.match(text):
                text = text[lead.end() :]
            elif hedge := self.hedge.match(text):
                text, hedged = text[hedge.end() :], True
            elif titled:
                break
            elif speech := self.speech.match(text):
                text, behind, turned = text[speech.end() :], True, False
            elif said := unsaid or self._talk(text, behind):
                turn = self.turn.search(text, said.end())
                if turn is None:
                    return False
                text, turned = text[turn.end() :], turn["turn"] is not None
                hedged = behind = True
            else:
                break
        if not any(map(str.isalpha if behind else str.isalnum, text)) or (hedged and self.opinion(text)):
            return False
        if behind and not (self.verb.search(text) or self._has_figure(text)):
            return turned and self.length(text) >= talk.MIN_LENGTH
        if text[-1] in ":：":
            return self.length(text) > self.short_lead_in and not self.lead_in.match(text)
        return True

    def _talk(self, text: str, behind: bool) -> re.Match[str] | None:
        """The talk that the text begins with. Some gives facts where it has a figure."""
        if empty := self.empty.match(text):
            return empty
        said = self.weak.match(text) or (self.goes_on.match(text) if behind else None)
        return said if said and (text[-1] in ":：" or not self._has_figure(text)) else None

    def _has_figure(self, text: str) -> bool:
        return self.figure.search(self.counted.sub("", text)) is not None


def _is_opinion(text: str) -> bool:
    """Whether what stands behind talk says how the speaker likes something, or nothing at all."""
    if talk.NO_STATEMENT.match(text):
        return True
    if any(char.isdigit() for char in text) or not talk.OPINION_BEHIND_HEDGE.search(text):
        return False
    clauses = talk.CLAUSE_BREAK.split(text)
    return all(
        talk.OPINION_BEHIND_HEDGE.search(clause) or not talk.STATES.search(clause) for clause in clauses
    )


def _is_opinion_zh(text: str) -> bool:
    clauses = talk.CLAUSE_BREAK_ZH.split(text)
    opinion = all(
        talk.EVALUATIVE_ZH.search(clause) or han_count(clause) < talk.MIN_LENGTH for clause in clauses
    )
    return opinion and not any(char.isdigit() for char in text)


_ENGLISH = _Talk(
    lead=talk.LEAD,
    hedge=talk.HEDGE,
    speech=talk.SPEECH,
    unsaid=talk.UNSAID,
    empty=talk.EMPTY_TALK,
    weak=talk.TALK,
    goes_on=talk.GOES_ON,
    turn=talk.TURN,
    counted=talk.COUNTED,
    figure=talk.FIGURE,
    verb=talk.VERB,
    lead_in=talk.LEAD_IN,
    short_lead_in=4,
    length=lambda text: len(text.split()),
    opinion=_is_opinion,
)
_CHINESE = _Talk(
    lead=talk.LEAD_ZH,
    hedge=talk.HEDGE_ZH,
    speech=talk.SPEECH_ZH,
    unsaid=talk.UNSAID_ZH,
    empty=talk.EMPTY_TALK_ZH,
    weak=talk.TALK_ZH,
    goes_on=talk.GOES_ON_ZH,
    turn=talk.TURN_ZH,
    counted=talk.COUNTED_ZH,
    figure=talk.FIGURE_ZH,
    verb=talk.VERB_ZH,
    lead_in=talk.LEAD_IN_ZH,
    short_lead_in=8,
    length=len,
    opinion=_is_opinion_zh,
)
