"""Tells claims from sentences that no document could support.

Those are questions, greetings, offers, opinions and talk about the reply itself. In doubt a sentence is
checkable: a fact that goes unchecked is worse than an opinion that is looked up.
"""

from __future__ import annotations

import re

from proxy.text.scripts import han_count

_CLOSERS = " \t\"'”’」』）)】]*_~"
_OPENERS = "“‘「『（(["
_EMOJI = re.compile(r"[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f]")


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


_LEAD = re.compile(
    r"(?:well|so|also|however|but|and|overall|okay|ok|sure(?: thing)?|certainly|of course|absolutely"
    r"|definitely|great|yes|no|yeah|nope|got it|understood|alright|great question|good question|thank you"
    r"|thanks|you(?:'re| are) (?:absolutely )?(?:right|correct)|unfortunately|regrettably"
    r"|i'm sorry|i am sorry|sorry|apologies|my apologies|i apologi[sz]e"
    r"(?: for (?:the|any|my) (?:confusion|mistake|error|inconvenience|oversight|misunderstanding))?)"
    r"(?:[,!.;:—–-]+[ ]?|$)(?:but[ ,]+)?"
)
"""A short lead before the actual sentence. What follows decides (`Sure, Paris is the capital.`)."""
_MAX_LEADS = 3

_AI = r"(?:ai|artificial intelligence|(?:large )?language model|llm|assistant|chatbot)\b"

_GREETING = (
    r"(?:hello|hi|hey|greetings|good (?:morning|afternoon|evening)|welcome)"
    r"(?: (?:there|everyone|all|back|again|friend))?[,!.]*$",
    r"(?:how can|how may) i (?:help|assist)",
    r"(?:thank you|thanks) for (?:your|asking|the|sharing|providing|letting|reaching)",
    r"you(?:'re| are) welcome",
    r"(?:good luck|have fun|take care|enjoy|happy [a-z]+ing)(?: with.*)?[!.]*$",
    r"have a (?:great|nice|good|wonderful)",
)
_OFFER = (
    r"(?:please )?(?:let me know|feel free|do not hesitate|don't hesitate|tell me)\b",
    r"(?:i )?hope (?:this|that|it|you|these|my|the (?:above|information))\b",
    r"if (?:you|there).*\b(?:let me know|feel free|(?:just|please) ask|i can|i'd|i'll|i would|i'm happy"
    r"|happy to|hesitate|please provide)\b",
    r"i(?:'d| would|'m| am|'ll be| will be) (?:be )?(?:happy|glad|delighted|pleased|here) to\b",
    r"(?:happy|glad) to help",
    r"(?:would|do) you (?:like|want)\b|(?:shall|should) i\b",
)
_OPINION = (
    r"in my (?:humble |personal )?(?:opinion|view|experience)\b|imh?o\b|personally,",
    r"i (?:(?:personally|would|also|do|really|strongly) )?(?:think|believe|feel|guess|suppose|suspect"
    r"|recommend|suggest|prefer|argue|say|advise|love|like|hope)\b",
    r"my (?:favou?rite|opinion|advice|recommendation|guess|personal)\b",
)
_SPEAKER = (
    rf"as an? (?:\w+ )?{_AI}",
    rf"i(?:'m| am) (?:(?:just|only|currently|simply) )?(?:an? )?(?:\w+ )?{_AI}",
    r"i(?:'m| am) (?:not (?:sure|able|aware|certain|familiar)|unable|afraid|unaware|sorry|unsure)\b",
    r"i (?:do not|don't|did not|didn't) (?:know|have|think|believe|see|find|recall|understand|possess"
    r"|recognize)\b",
    r"i (?:cannot|can't|can not|could not|couldn't|am not able to|won't|will not|wasn't able to) \w+",
    r"i (?:apologi[sz]e|have no (?:information|knowledge|data|record|access|personal|opinion|way|idea))\b",
    r"i(?:'ll| will| can| need| want to| understand|'ve)\b",
    r"i have (?:found|checked|provided|listed|summari[sz]ed|included)\b",
    r"let me \w+|let's \w+|my (?:knowledge|training)\b",
)
_ABOUT_THE_REPLY = (
    r"(?:here|below|above|following)(?:'s| is| are| comes)\b",
    r"the following (?:is|are|table|list|section|points?|steps?|code|examples?)\b"
    r"(?=.*:$|.*(?:below|shows|lists|summari[sz]es))",
    r"(?:i|we) (?:hope|have) (?:answered|covered)",
)
_REQUEST = (
    r"(?:please )(?:consult|check|verify|refer|provide|specify|clarify|try|contact|ask|see|share|rephrase"
    r"|give|visit|keep)\b",
    r"(?:make sure|be sure|remember) (?:to|you)\b|don't forget\b|consult (?:a|an|your|with)\b",
    r"stay (?:safe|tuned)\b|try (?:again|asking)\b",
)
_NOT_CHECKABLE = _any(*_GREETING, *_OFFER, *_OPINION, *_SPEAKER, *_ABOUT_THE_REPLY, *_REQUEST)

_LEAD_IN = _any(
    r"(?:here|below|sure|certainly|based on|according to|in (?:summary|short|conclusion|brief)"
    r"|to (?:summari[sz]e|sum up)|step \d+)\b",
    r".*\b(?:following|below|as follows|such as|includes?|including|are|is|these|here|example"
    r"|for instance)[:：]$",
    r".*\b(?:the following|listed below|as follows)\b",
)
_SHORT_LEAD_IN_WORDS = 4

_AI_ZH = r"(?:人工智能|AI|语言模型|大型?语言模型|智能助手|助手)"
_NOT_CHECKABLE_ZH = _any(
    r"(?:你好|您好|大家好|嗨|早上好|下午好|晚上好|亲爱的)[^，。]{0,6}[，。！!~]*$",
    r"(?:你好|您好)[，,！!]\s*(?:我是|很高兴|请问|有什么)",
    r"(?:当然(?:可以)?|好的|没问题|可以|是的|是|不是|否|对的?|不对|谢谢|不客气|嗯|好|明白了?|了解)[，。！!.,~]*$",
    r"(?:希望|祝)(?=.*(?:帮助|帮到|有用|有所|愉快|顺利|好运|参考|满意|解答|喜欢))",
    rf"作为(?:一[个款名位])?{_AI_ZH}",
    rf"我(?:只)?是(?:一[个款名])?(?:由.{{1,12}})?{_AI_ZH}",
    r"(?:我|我们|本人|个人|我个人|笔者)(?:认为|觉得|感觉|相信|建议|推荐|猜测?|想说|希望)",
    r"在我看来|依我看|就我个人|我的(?:看法|观点|建议)",
    r"(?:非常|很|十分)?(?:抱歉|对不起|不好意思|遗憾，我)",
    r"(?:但|但是|不过)?我(?:还)?(?:无法|不能|没法|不知道|不清楚|不确定|不太|没有(?:足够|相关|办法|能力|找到))",
    r"我(?:可以(?:帮|为)|会尽|将|很乐意|很高兴)",
    r"(?:如果|若|如|倘若)(?:你|您|还|有).*"
    r"(?:请(?:随时|告诉|联系|让|继续|提)|告诉我|联系我|提问|随时|欢迎|我可以|我会|我很)",
    r"请(?:随时|告诉|提供|问|让我|您|你|放心|查看|参考|咨询|联系|告知|稍)",
    r"(?:以下|下面|下列)(?:是|为|就是|列出|将|我|内容)",
    r"(?:欢迎|随时)(?:提问|咨询|联系|告诉)|有什么(?:我)?(?:可以|能)",
)
_LEAD_IN_ZH = _any(
    r"(?:以下|下面|下列|当然|好的|根据|综上|总之|总的来说|例如|比如)",
    r".*(?:以下|如下|下面|下列|包括|包含|分别[是为]|例如|比如|有)[^，。]{0,12}[:：]$",
)
_SHORT_LEAD_IN_HAN = 8
_MAX_LOOKED_AT = 1000


def is_checkable(plain: str, kind: str = "paragraph") -> bool:
    """Whether documents could support or contradict a claim.

    `plain` is the claim without Markdown, `kind` that of its block. Headings and table headers never are.
    """
    if kind in ("heading", "header"):
        return False
    text = _EMOJI.sub("", plain.replace("’", "'")).strip(_CLOSERS + _OPENERS)
    if not any(char.isalnum() for char in text) or text[-1] in "?？":
        return False
    # Only the beginning and the last character decide; long sentences are cut to bound the time.
    text = text if len(text) <= _MAX_LOOKED_AT else f"{text[:_MAX_LOOKED_AT]}{text[-1]}"
    chinese = han_count(text) * 4 > len(text)
    return _checkable_zh(text) if chinese else _checkable_en(text.lower())


def _checkable_en(text: str) -> bool:
    for _ in range(_MAX_LEADS):
        lead = _LEAD.match(text)
        if lead is None:
            break
        text = text[lead.end() :]
    if not any(char.isalnum() for char in text) or _NOT_CHECKABLE.match(text):
        return False
    if text[-1] in ":：":
        return len(text.split()) > _SHORT_LEAD_IN_WORDS and not _LEAD_IN.match(text)
    return True


def _checkable_zh(text: str) -> bool:
    if _NOT_CHECKABLE_ZH.match(text):
        return False
    if text[-1] in ":：":
        return len(text) > _SHORT_LEAD_IN_HAN and not _LEAD_IN_ZH.match(text)
    return True
