"""What a reply says of the material it was written from, in English and Chinese: `Passage 4`, `the provided
documents`, `文档2`, `提供的资料`.

Models name it around facts (`Passage 4 states that …`, `… (Passages 3, 4).`). No document says of itself that
it is passage 4, so a fact is read without. A source with a name (`According to NASA, …`) belongs to the fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from proxy.text.words import Span

_NOUN = r"(?:passage|document|doc|source|context|excerpt|snippet|search result)s?"
_ANY_NOUN = rf"(?:{_NOUN}|(?:text|paragraph|article|reference|material|result)s?|information)"
_GIVEN = r"(?:provided|given|available|supplied|retrieved|above|following|other|relevant|reference|search)"
_NUMBER = r"[ _-]?#?\d{1,3}"
_NUMBERED = (
    rf"(?:the )?{_NOUN}{_NUMBER}"
    rf"(?:(?:,? and| ?[,&;–-])(?: ?{_NOUN})?{_NUMBER}){{0,20}}"
)
_DESCRIBED = (
    rf"(?:all |any |both |each )?(?:of )?(?:the|these|this|those|your) (?:(?:{_GIVEN} ){{1,3}}{_ANY_NOUN}"
    rf"|{_ANY_NOUN} (?:that (?:is|are|was|were) )?(?:you )?(?:provided|given|supplied|above|available)"
    r"|(?:information|text) (?:provided |given |contained )?(?:in|from|by) "
    rf"(?:the (?:{_GIVEN} )?)?{_NOUN}(?:{_NUMBER})?"
    rf"|(?:text|paragraph|{_NOUN}))(?: (?:provided|given|supplied|above))?"
)
REFERENCE = rf"(?:{_NUMBERED}|{_DESCRIBED})\b"
_CREDITED = (
    r"(?:according to|as per"
    r"|as (?:stated|mentioned|noted|described|explained|reported|shown|indicated) (?:in|by))"
    rf" {REFERENCE}"
)
SOURCED = rf"(?:based (?:solely |only )?(?:up)?on {REFERENCE}|{_CREDITED})"
_SAYING = (
    r"(?: (?:all|also|both|each|further|explicitly|specifically|directly|clearly|only)){0,2}"
    r" (?:add|claim|confirm|describe|explain|imply|implie|indicate|mention|note|report|reveal|say|show"
    r"|specify|specifie|state|suggest)s?"
)
_FIRST = (
    r"(?:(?:additionally|also|and|but|finally|for example|for instance|furthermore|however|in addition"
    r"|(?:so )?in summary|meanwhile|moreover|on the other hand|overall|similarly|so|specifically"
    r"|therefore|thus),? )?"
)

_NOUN_ZH = r"(?:参考)?(?:文档|资料|文献|材料|来源|上下文|段落|片段)"
_DIGITS_ZH = r"[\d一二三四五六七八九十]{1,3}"
_NUMBER_ZH = rf" ?[\[【]?{_DIGITS_ZH}[\]】]?"
_NUMBERED_ZH = (
    rf"(?:{_NOUN_ZH}{_NUMBER_ZH}(?: ?[、,，和与及–-](?: ?{_NOUN_ZH})?{_NUMBER_ZH}){{0,20}}"
    rf"|第{_DIGITS_ZH}[篇个份段条]{_NOUN_ZH})"
)
_GIVEN_ZH = (
    r"(?:[您你我]?所?(?:提供|给出|给定|检索到?|搜索到?|找到|上传)"
    r"|上述|以上|现有|已有|目前|相关|这些?|该|参考)的?"
)
_DESCRIBED_ZH = rf"(?:(?:{_GIVEN_ZH}){{1,3}}(?:{_NOUN_ZH}|文章|文本|信息|内容|原文)|{_NOUN_ZH}|文中)"
REFERENCE_ZH = rf"(?:{_NUMBERED_ZH}|{_DESCRIBED_ZH})(?:中的?|里的?|的)?(?:内容|信息|描述|记载)?"
SOURCED_ZH = rf"(?:根据|基于|依据|按照|据|从|在){REFERENCE_ZH}(?:来看|所述|所示|显示|可知|可以(?:看出|得知))?"
_SAYING_ZH = r"(?:还|也|均|都|明确){0,2}(?:提到|提及|指出|显示|表明|说明|记载|介绍|写道|称|说|认为)"
_FIRST_ZH = r"(?:(?:此外|另外|同时|但是?|然而|不过|因此|所以|综上所述|总之)[，,]?)?"

_LEAD = re.compile(
    rf"{_FIRST}(?:(?:{SOURCED}|(?:in|from|per) {REFERENCE}), |{REFERENCE}{_SAYING}(?: that |[:,]? (?=[\"“]))"
    rf"|{_NUMBERED}: )(?:it (?:can be (?:inferred|concluded|seen)|is (?:stated|mentioned|clear)) that )?"
    rf"|{_FIRST_ZH}(?:{SOURCED_ZH}|{_NUMBERED_ZH}[中里]?|{REFERENCE_ZH}{_SAYING_ZH})[，,：:] ?",
    re.I,
)
_MAX_LEADS = 3
_IN_BRACKETS = re.compile(
    rf" ?[(\[（【](?:(?:see|from|sources?:|according to|in) ?|来源[：:] ?|参?见)?"
    rf"(?:{REFERENCE}|{_NUMBERED_ZH}|{_DESCRIBED_ZH})[)\]）】]",
    re.I,
)
_ALONE = re.compile(
    rf"(?:(?:see|from|sources?:|来源[：:]|参?见) ?)?(?:{_NUMBERED}|{_NUMBERED_ZH})[)\]）】]?[.。]?$", re.I
)
_NUMBERS = re.compile(
    r"(?:sources?|references?|citations?|来源|参考(?:资料|文献)|引用) ?[:：][\s\d()\[\],;、，–-]*[.。]?",
    re.I,
)
_AT_THE_END = re.compile(rf",? {_CREDITED}(?=[.!]?$)", re.I)


def attributions(plain: str) -> list[Span]:
    """The spans of a sentence that only say where in the material it is from, in order, disjoint: what it
    begins with if a clause follows, what stands in brackets, and what it ends with. None where nothing else
    would be left."""
    start, found = 0, list[Span]()
    for _ in range(_MAX_LEADS):
        lead = _LEAD.match(plain, start)
        start = lead.end() if lead else start
    if start:
        found.append((0, start))
    for match in _IN_BRACKETS.finditer(plain, start):
        behind = match.end() if match.start() > start else match.end() + (plain[match.end() :][:1] == " ")
        found.append((match.start(), behind))
    end = found[-1][1] if found else 0
    if last := _AT_THE_END.search(plain, end):
        found.append(last.span())
    return found if any(map(str.isalnum, without(plain, found))) else []


def without(text: str, spans: Iterable[Span]) -> str:
    """The text with the spans, in order and disjoint, taken out."""
    kept, position = list[str](), 0
    for start, end in spans:
        kept.append(text[position:start])
        position = end
    return "".join([*kept, text[position:]])


def stated(plain: str) -> str:
    """A sentence without `attributions`."""
    return without(plain, attributions(plain))


def is_reference(plain: str) -> bool:
    """Whether a sentence only names parts of the material by number (`Passages 3, 4`, `Source: [1]`)."""
    return _ALONE.match(plain) is not None or _NUMBERS.fullmatch(plain) is not None
