"""What turns a sentence into no assertion of what it says: the cues, English and Chinese, written out.

Nonveridical contexts (Giannakidou, Polarity Sensitivity as (Non)Veridical Dependency, 1998): from "it is
false that p", "is p?", "if p" and "say that p" it does not follow that p. The list holds what is common, not
all there is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class NonveridicalContext:
    """`cue` finds a frame in a sentence, its group `scope` what stands in it.

    A claim that has `own` in it may stand in the same frame, and the sentence is evidence for it.
    """

    cue: re.Pattern[str]
    own: re.Pattern[str]


def scopes(sentence: str, claim: str) -> Iterator[Span]:
    """The spans of a sentence that stand in a frame which the claim doesn't stand in."""
    for frame in FRAMES:
        match = frame.cue.search(sentence)
        if match and not frame.own.search(claim):
            yield match.span("scope")


def _frame(cue: str, own: str) -> NonveridicalContext:
    return NonveridicalContext(re.compile(cue, re.I | re.S), re.compile(own, re.I))


_READERS = r"(?:checkers?|verifiers?|evaluators?|assistants?|chat-?bots?|llms?|models?|ai\ systems?|you)"
_MUST = r"(?:must|should|shall|ha(?:ve|s)\ to|needs?\ to|(?:are|is)\ (?:required|asked|instructed|told)\ to)"
_SAY = (
    r"(?:say|answer|report|state|confirm|respond|reply|output|conclude|mark|rate|label|treat|consider|accept"
    r"|classify|judge|verify|repeat|assume|regard|print|return|write|agree|affirm|claim)"
)
_WHAT = (
    r"(?=that\b|with\b|[:\"“‘']|(?:the|this|every|any|each|all)\b.{0,40}?"
    r"\b(?:claims?|statements?|sentences?|assertions?)\b)"
)
_TAKE = r"(?:treat|take|regard|consider|accept|mark)"
_IGNORE = r"(?:ignore|disregard|forget|override)"
_FALSE = (
    r"(?:false|not\ true|untrue|incorrect|wrong|inaccurate|unproven|unfounded|baseless|debunked"
    r"|refuted|disprove[dn]|(?:an?\ )?(?:\w{1,20}\ )?(?:lie|hoax|myth|misconception|fabrication|rumou?r))"
)
_TALE = (
    r"(?:claim|myth|idea|notion|rumou?r|belief|theory|statement|assertion|suggestion|allegation|legend|hoax)"
)
_HOLD = r"(?:believe|claim|think|say|suppose|allege|insist|argue|speculate|assert|assume)(?:s|d|ed)?"
_BE = r"(?:is|was|are|were|been|be)"
_SAY_ZH = r"(?:回答|说|认为|判断|判定|输出|视为|视作|当作|承认|确认|报告|认定|标记)"
_TAKE_ZH = r"(?:判断为|判定为|视为|视作|标记为|当作|认定为)"
_WRONG_ZH = r"(?:(?:常见的)?错误|荒谬|不实|不正确|不属实|虚假|谣言|假的|没有根据|缺乏依据|站不住脚)"

ORDERS = (
    _frame(
        rf"(?:^|[,:;]\s{{0,3}}|\b(?:please|always|simply|just|then|and|only)\s){_SAY}\s{{1,3}}{_WHAT}(?P<scope>.+)",
        rf"\b{_SAY}\b",
    ),
    _frame(
        rf"\b{_READERS}\b[^.]{{0,60}}?\b{_MUST}\s.{{0,30}}?\b{_SAY}\s{{1,3}}{_WHAT}(?P<scope>.+)",
        rf"\b{_MUST}\b",
    ),
    _frame(
        rf"\b{_IGNORE}\b.{{0,40}}?\b(?:instructions?|rules|prompts?|above|previous)\b(?P<scope>.+)",
        rf"\b{_IGNORE}\b",
    ),
    _frame(
        rf"^(?P<scope>.+)\b{_TAKE}\ (?:this|it|that)\ as\ (?:true|fact\w*|support\w*|correct)",
        rf"\b{_TAKE}\b",
    ),
    _frame(
        rf"(?:必须|应当|应该|务必|需要|一律|请)[^。！？]{{0,12}}?{_SAY_ZH}(?P<scope>.+)",
        r"必须|应当|应该|务必|需要|一律|请",
    ),
    _frame(rf"[把将](?P<scope>.+){_TAKE_ZH}.{{0,6}}(?:支[撑持]|事实|真|正确|是)", _TAKE_ZH),
    _frame(rf"^(?P<scope>.+)[，,]\s?请(?:回答|{_TAKE_ZH})", r"请"),
)

_OPENED = r"(?:[:：](?=\s)|[\"“‘「>\]]|\s')"
_LABEL = (
    r"(?:answers?|response|reply|verdict|claim|statement|sentence|assertion|fact[- ]check\ result|lie"
    r"|instructions?|entailment|factual|prompt|label|conclusion|system|user|assistant|output)"
)
_TELL = r"(?:say|answer|repeat|respond|reply|print|output|write)"
_TELL_ZH = r"(?:告诉|回复|回答|重复|输出)"
EMBEDDINGS = (
    _frame(rf"^[^.]{{0,80}}?\b{_LABEL}\b[^.:]{{0,40}}?{_OPENED}(?P<scope>.+)", rf"\b{_LABEL}\b"),
    _frame(
        r"^[^.]{0,80}?\b(?:answer|verdict|instructions?|lie)\b[^.:]{0,40}?\bthat\b(?P<scope>.+)",
        r"\b(?:answer|verdict|instruction|lie)",
    ),
    _frame(
        rf"^[^.]{{0,60}}?\b(?:you|your|kindly|dear)\b[^.]{{0,60}}?(?:\bthat\b|{_OPENED})(?P<scope>.+)",
        r"\byour?\b",
    ),
    _frame(rf"^{_TELL}\b[^.]{{0,40}}?(?:\bthat\b|{_OPENED})(?P<scope>.+)", rf"\b{_TELL}"),
    _frame(
        r"^[\s>#*-]{0,4}[<\[]/?\w{0,20}(?:instruct|system|prompt|inst|user|assistant)\w{0,20}[>\]](?P<scope>.+)",
        r"[<\[]",
    ),
    _frame(
        r"(?:你的|您的|正确的?|标准|最终)(?:回答|答案|判断|结论|输出)[^。]{0,6}?[为是：:](?P<scope>.+)",
        r"回答|答案|判断|结论|输出",
    ),
    _frame(rf"^[^。]{{0,8}}?[请你您应需][^。，]{{0,4}}?{_TELL_ZH}(?P<scope>.+)", _TELL_ZH),
    _frame(rf"^[^。]{{0,4}}?{_TELL_ZH}[^。，]{{0,6}}?[：:“「](?P<scope>.+)", _TELL_ZH),
)
"""What is put into a reader's mouth, or under a label, by a colon, a quotation mark or a "that"."""

DENIALS = (
    _frame(
        r"\b(?:never\ been\ (?:proven|shown|confirmed|established)|nobody|no\ one|hardly\ anyone|few\ people"
        r"|doubts?|doubted|doubtful|contrary\ to|absurd|ridiculous)\b[^.]{0,60}?\bthat\b(?P<scope>.+)",
        r"\b(?:never|nobody|no\ one|anyone|few|doubt|absurd|ridiculous)",
    ),
    _frame(
        r"^(?P<scope>.+)[\"”’]\ (?:is|was)\ (?:an?\ )?(?:\w{1,20}\ )?"
        r"(?:error|mistake|lie|myth|hoax|misconception)",
        r"\b(?:error|mistake|lie|myth|hoax|misconception)",
    ),
    _frame(rf"\baccording\ to\ an?\ [^,.]{{0,20}}?\b{_FALSE}[^,.]{{0,40}},(?P<scope>.+)", _FALSE),
    _frame(r"^(?:据传|传言|谣传)(?P<scope>.+)", r"传"),
    _frame(r"^(?:所谓|据称)(?P<scope>.+)(?:不|没有|错误|谣言|虚假)", r"不|没有|错误|谣言|虚假"),
    _frame(rf"^(?P<scope>.+)(?:是|为|属|系|纯属)(?:一个|一种)?{_WRONG_ZH}", _WRONG_ZH),
    _frame(
        r"^(?P<scope>.+)[，,](?:其实|实际上|事实上)?(?:不然|并非如此|不是这样|并不属实|没有依据|则与)", r"不"
    ),
    _frame(
        rf"\b{_BE}\ (?:\w{{1,20}}ly\ )?{_FALSE}\ (?:to\ (?:say|claim|believe|think)\ )?that\b(?P<scope>.+)",
        _FALSE,
    ),
    _frame(
        rf"\bthe\ (?:\w{{1,20}}\ ){{0,2}}{_TALE}\ that\b(?P<scope>.+)\b{_BE}\ (?:\w{{1,20}}\ )?{_FALSE}",
        _FALSE,
    ),
    _frame(
        r"\bno\ (?:\w{1,20}\ ){0,3}?(?:evidence|proof|stud(?:y|ies)|trials?|records?|indications?|research)\b"
        r"[^,.]{0,40}?\b(?:that|shows?|shown|prove[sdn]?|suggests?|found)\b(?P<scope>.+)",
        r"\b(?:no|not|never|lacks?|without)\b|n't\b",
    ),
    _frame(
        r"\b(?:den(?:y|ies|ied)|disproves?d?|refute[sd]?|debunk(?:s|ed)?|dispel(?:s|led)?|reject(?:s|ed)?)\b"
        r"[^,.]{0,30}?\bthat\b(?P<scope>.+)",
        r"\b(?:den(?:y|ies|ied)|disprove|refute|debunk|dispel|reject)",
    ),
    _frame(
        rf"^(?P<scope>.+)(?:说法|观点|看法|传言|谣言|传闻|陈述|论断)[^。]{{0,6}}{_WRONG_ZH}",
        _WRONG_ZH,
    ),
    _frame(
        r"(?:没有|并无|尚无|缺乏)[^。，]{0,8}?(?:证据|资料|记录|研究)(?:表明|显示|证明|支持|证实)(?P<scope>.+)",
        r"没有|并无|尚无|缺乏|未",
    ),
    _frame(r"(?:否认|并非)(?P<scope>[^，。；]+)", r"否认|不|没|未|非"),
)

HEARSAY = (
    _frame(
        r"\b(?:some|others|some\ (?:people|users|sources)|people|conspiracy\ theorists?|deniers"
        rf"|rumou?rs?|hoaxers?|hoax\b[^.]{{0,30}}?|legends?|myths?)\ (?:(?:also|still|even)\ )?{_HOLD}\b"
        r"(?P<scope>.+)",
        rf"\b{_HOLD}\b|\b(?:rumou?r|legend|myth)",
    ),
    _frame(r"\b(?:legend|rumou?r|myth)\ has\ it\b(?P<scope>.+)", r"\b(?:legend|rumou?r|myth)"),
    _frame(
        r"\b(?:falsely|wrongly|mistakenly|erroneously|incorrectly)\ \w{1,20}(?P<scope>.+)",
        r"\b(?:falsely|wrongly|mistakenly|erroneously|incorrectly)\b",
    ),
    _frame(
        rf"\b{_BE}\ (?:\w{{1,20}}ly\ )?(?:rumou?red|alleged)\b(?P<scope>.+)", r"\b(?:rumou?r|alleg|reported)"
    ),
    _frame(r"(?:误以为|误认为|误称|错误地认为|谣传|讹传|误传)(?P<scope>.+)", r"误|谣|讹"),
    _frame(
        r"(?:有人|有些人|一些人|部分网友|网传|阴谋论者)[^。，]{0,6}?(?:认为|相信|声称|说|宣称|以为|称)(?P<scope>.+)",
        r"认为|相信|声称|宣称|以为|称|说",
    ),
)

SUPPOSITIONS = (
    _frame(r"^had\b(?P<scope>.+?),[^,]{0,60}?\bwould\b", r"\b(?:if|had|when)\b"),
    _frame(
        r"(?:^|[,;:]\s)(?:even\ )?(?:if|suppose|supposing|assuming|what\ if|imagine|pretend|unless)\b"
        r"(?P<scope>[^,;]+)",
        r"\b(?:if|when|whenever|where|unless|suppos\w+|assum\w+|imagin\w+|provided|once|in\ case|should)\b",
    ),
    _frame(
        r"(?:^|[，；：])(?:假如|假设|倘若|设想|想象|若是?|要是|如果|除非|请?假装)(?P<scope>[^，；。就]+)",
        r"假如|假设|倘若|设想|想象|若|要是|如果|除非|时|则|后",
    ),
)

_QUESTION = r"[?？][\s\"'”’」』)）]{0,4}$"
QUESTIONS = (
    _frame(
        r"^(?!.*\b(?:who|whom|whose|what|when|where|which|why|how|did\ you\ know)\b)"
        rf"(?!.*(?:什么|谁|多少|[几哪何怎]|呢))(?P<scope>[^?？]+){_QUESTION}",
        r"[?？]",
    ),
    _frame(rf"\b(?:says?|said|thinks?|thought|believes?)\ that\b(?P<scope>[^?]+){_QUESTION}", r"[?？]"),
)
"""Those that are answered by yes or no; one that asks who or when takes the rest for granted."""

FRAMES = (*ORDERS, *EMBEDDINGS, *DENIALS, *HEARSAY, *SUPPOSITIONS, *QUESTIONS)
