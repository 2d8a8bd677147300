"""Tells claims from sentences that no document could support.

Those are questions, greetings, offers, opinions and talk about the reply itself. A hedge is no shield: of
`I think that …` the part behind it decides. In doubt a sentence is checkable: a fact that goes unchecked is
worse than an opinion that is looked up.
"""

from __future__ import annotations

import re

from proxy.text.scripts import HAN, han_count
from proxy.text.words import FUNCTION_HAN, FUNCTION_WORDS

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
_HEDGE = re.compile(
    r"(?:in my (?:humble |personal )?(?:opinion|view|experience|understanding)|imh?o|personally|if i "
    r"(?:recall|remember)"
    r"(?: correctly| right(?:ly)?)?|(?:as|so) far as i (?:know|can tell|remember|am aware)|to (?:the best "
    r"of )?my"
    r" knowledge|from what i (?:know|remember|understand)|i(?:'m| am) not (?:\w+ )?(?:sure|certain),? "
    r"but)[, ]+(?:that )?"
    r"|(?:i (?:(?:personally|would|also|do|really|strongly|firmly|honestly|still|just) )*(?:think|believe"
    r"|guess|suppose"
    r"|suspect|assume|imagine|reckon|say|argue|recall|remember)|i (?:do not|don't|did not|didn't) (?:think"
    r"|believe)"
    r"|i(?:'m| am) (?:\w+ )?(?:sure|certain|confident|convinced)|it seems to me|my (?:guess|understanding"
    r"|opinion|view) is)"
    r",? (?:that )?|i (?:\w+ )?feel (?:that|like) "
)
"""What a speaker puts before a statement without changing what it states."""
_EVALUATIVE = (
    r"(?:beautiful|pretty|lovely|ugly|nice|nicer|nicest|good|better|best|bad|worse|worst|great|greatest|wonderful"
    r"|amazing|awesome|excellent|fantastic|terrible|awful|horrible|perfect|interesting|boring|fascinating|delicious|tasty"
    r"|fun|funny|cool|charming|elegant|impressive|inspiring|overrated|underrated|important|useful|helpful|valuable"
    r"|worthwhile|worth|fair|unfair|wise|silly|sad|exciting|enjoyable|pleasant|favou?rite|right|wrong|reasonable|ideal"
    r"|stunning|brilliant|superb|magnificent|remarkable|memorable|moving|clever|smart|cute)"
)
_OPINION_BEHIND_HEDGE = re.compile(
    r"(?:\b(?:is|are|was|were|be|being|been|looks?|seems?|feels?|sounds?|tastes?|makes?|remains?)|'s|'re)\b"
    rf"(?: [\w'-]+){{0,3}}? {_EVALUATIVE}\b|\b(?:should|ought|deserves?|had better|you'(?:d|ll) (?:like"
    rf"|love|enjoy))\b"
)
_NO_STATEMENT = re.compile(
    r"(?:so|not|in|of|about|for|it over|twice|this helps|that helps|it helps)\b[^,;]*$"
)
_CLAUSE_BREAK = re.compile(r"[,;]| (?:and|but|because|since|which|who) ")
_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|had|won|wrote|made|led|held|became|began|built|took|[a-z]{3,}ed)\b"
)
_OPINION = (
    r"i (?:(?:personally|would|also|do|really|strongly) )?(?:feel|recommend|suggest|prefer|advise|love"
    r"|like|hope)\b",
    r"my (?:favou?rite|advice|recommendation|personal)\b",
)
_SPEAKER = (
    rf"as an? (?:\w+ )?{_AI}(?=.{{0,80}}?\b(?:i|me|my|we|our)\b)",
    rf"i(?:'m| am) (?:(?:just|only|currently|simply) )?(?:an? )?(?:\w+ )?{_AI}",
    r"i(?:'m| am) (?:not (?:sure|able|aware|certain|familiar)|unable|afraid|unaware|sorry|unsure)\b",
    r"i (?:do not|don't|did not|didn't) (?:know|have|see|find|recall|understand|possess|recognize)\b",
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

_TITLE = re.compile(r"[A-Z][\w']*(?: (?:a|an|the|to|of|for|in|my|you|your)){0,2} [A-Z][a-z]+")
"""Words in title case at the beginning. Speech has its second word in lower case."""

_LEAD_IN = _any(
    r"(?:here|below|sure|certainly|based on|according to|in (?:summary|short|conclusion|brief)"
    r"|to (?:summari[sz]e|sum up)|step \d+)\b",
    r".*\b(?:following|below|as follows|such as|includes?|including|are|is|these|here|example"
    r"|for instance)[:：]$",
    r".*\b(?:the following|listed below|as follows)\b",
    r"(?:(?:some|the|a few|other|more) )?(?:key|main|notable|important|interesting|relevant) [a-z]+\b",
)
_SHORT_LEAD_IN_WORDS = 4

_MAX_TITLE = 60
_MAX_TITLE_HAN = 12
_TITLE_NUMBER = re.compile(
    r"(?:(?:step|part|chapter|section|phase|day|week|option|example|stage) )?(?:\d{1,2}|[ivx]{1,4}|[a-h])"
    r"(?:[.):：、．]\s*|$)|第[一二三四五六七八九十\d]{1,3}[章节步部条点][.、:：]?\s*|[一二三四五六七八九十]{1,3}、",
    re.I,
)
"""The number before a title: `1. Design`, `Step 2: Assembly`, `第三章`."""
_NOT_IN_TITLES = re.compile(r"[.!?。！？；;:：](?:\s|$)|[。！？；：，]|\d")
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|can|cannot|will|would|could|should|may|might|must"
    r"|won|wrote|made|led|held|became|began|built|took|lies|died|remains?|contains?|consists?|includes?)\b"
    r"|n't\b|(?<=\w )[a-z]{3,}ed\b",
    re.I,
)
_VERB_ZH = re.compile(r"是|为(?!什么|何)|有|在|于|被|由|了|属|来自|包括|包含|成为|[建生死](?=于)|建成")
_SMALL_IN_TITLES = frozenset("a an the and or of in on at by for to from with vs via as".split())

_AI_ZH = r"(?:人工智能|AI|语言模型|大型?语言模型|智能助手|助手)"
_NOT_CHECKABLE_ZH = _any(
    r"(?:你好|您好|大家好|嗨|早上好|下午好|晚上好|亲爱的)[^，。]{0,6}[，。！!~]*$",
    r"(?:你好|您好)[，,！!]\s*(?:我是|很高兴|请问|有什么)",
    r"(?:当然(?:可以)?|好的|没问题|可以|是的|是|不是|否|对的?|不对|谢谢|不客气|嗯|好|明白了?|了解)[，。！!.,~]*$",
    r"(?:希望(?:[你您这此我能对]|大家|以上|上述|可以)|祝(?:[你您]|大家|.{0,6}(?=愉快|顺利|好运)))"
    r"(?=.*(?:帮助|帮到|有用|有所|愉快|顺利|好运|参考|满意|解答|喜欢))",
    rf"作为(?:一[个款名位])?{_AI_ZH}(?=.{{0,40}}?我)",
    rf"我(?:只)?是(?:一[个款名])?(?:由.{{1,12}})?{_AI_ZH}",
    r"(?:我|我们|本人|个人|我个人|笔者)(?:建议|推荐|希望|喜欢)|我的(?:看法|观点|建议)",
    r"(?:非常|很|十分)?(?:抱歉|对不起|不好意思|遗憾，我)",
    r"(?:但|但是|不过)?我(?:还)?(?:无法|不能|没法|不知道|不清楚|不确定|不太|没有(?:足够|相关|办法|能力|找到))",
    r"我(?:可以(?:帮|为)|会尽|将|很乐意|很高兴)",
    r"(?:如果|若|如|倘若)(?:你|您|还|有).*"
    r"(?:请(?:随时|告诉|联系|让|继续|提)|告诉我|联系我|提问|随时|欢迎|我可以|我会|我很)",
    r"请(?:随时|告诉|提供|问|让我|您|你|放心|查看|参考|咨询|联系|告知|稍)",
    r"(?:以下|下面|下列)(?:是|为|就是|列出|将|我|内容)",
    r"(?:欢迎|随时)(?:提问|咨询|联系|告诉)|有什么(?:我)?(?:可以|能)",
)
_HEDGE_ZH = re.compile(
    r"(?:(?:我|我们|本人|个人|我个人|笔者)(?:也|还|一直|不|并不)?(?:认为|觉得|感觉|相信|猜测?|想|想说|估计|推测|记得)"
    r"|据我所知|据我了解|在我看来|依我看|就我(?:个人)?(?:而言|来说|所知)|我的理解是|如果我没记错(?:的话)?"
    r"|我不(?:太)?确定[，,]但(?:是)?)[，,：:]?(?:是)?"
)
_EVALUATIVE_ZH = re.compile(
    r"好看|漂亮|美丽|优美|[很最真太更]美|[很最真太更]好|还好|不错|真棒|很棒|最棒|精彩|有趣|有意思|优秀|出色|伟大|糟糕|难看|无聊"
    r"|可爱|感人|完美|理想|值得|应该|应当|喜欢|好吃|好听|好玩|讨厌|可惜|遗憾|合理|重要|没问题|可以|有道理|[你您]说得对"
)
_CLAUSE_BREAK_ZH = re.compile(r"[，,；;]")
_MIN_HAN = 4
"""Chinese characters of a clause that can state something."""

_LEAD_IN_ZH = _any(
    r"(?:以下|下面|下列|当然|好的|根据|综上|总之|总的来说|例如|比如)",
    r".*(?:以下|如下|下面|下列|包括|包含|分别[是为]|例如|比如|有)[^，。]{0,12}[:：]$",
)
_SHORT_LEAD_IN_HAN = 8
_MAX_LOOKED_AT = 1000
_WORD = re.compile(rf"[^\W{HAN}]+|[{HAN}]")
_FUNCTION = FUNCTION_WORDS | FUNCTION_HAN
_SHORT = 60
"""Code points up to which a claim may consist of function words alone."""


def is_checkable(plain: str, kind: str = "paragraph") -> bool:
    """Whether documents could support or contradict a claim.

    `plain` is the claim without Markdown, `kind` that of its block. Headings and table headers never are.
    """
    if kind in ("heading", "header"):
        return False
    text = _EMOJI.sub("", plain.replace("’", "'")).strip(_CLOSERS + _OPENERS)
    if not any(char.isalnum() for char in text) or text[-1] in "?？" or _says_nothing(text):
        return False
    if text[-1] in ":：" and is_title(text):
        return False
    # Only the beginning and the last character decide; long sentences are cut to bound the time.
    text = text if len(text) <= _MAX_LOOKED_AT else f"{text[:_MAX_LOOKED_AT]}{text[-1]}"
    chinese = han_count(text) * 4 > len(text)
    return _checkable_zh(text) if chinese else _checkable_en(text)


def _begins_with_title(text: str) -> bool:
    """Whether a work or an organisation is spoken of whose name could begin a greeting or an offer
    (`Here Comes the Sun was …`)."""
    return (title := _TITLE.match(text)) is not None and _VERB.search(text, title.end()) is not None


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
        return han <= _MAX_TITLE_HAN and not _VERB_ZH.search(text)
    words = text.split()
    cased = all(word in _SMALL_IN_TITLES or not word[0].islower() for word in words)
    return not _VERB.search(text) and (cased or len(words) <= _SHORT_LEAD_IN_WORDS)


def _says_nothing(text: str) -> bool:
    """Whether a short text has only function words (`It is.`). Capitals may be a name (`The Who`, `IT`)."""
    if len(text) > _SHORT or text.isupper():
        return False
    words = [match for match in _WORD.finditer(text) if match.group().lower() not in _FUNCTION]
    capitals = any(match.start() and match.group()[0].isupper() for match in _WORD.finditer(text))
    return not words and not capitals


def _checkable_en(cased: str) -> bool:
    text = cased.lower()
    for _ in range(_MAX_LEADS):
        lead = _LEAD.match(text)
        if lead is None:
            break
        text = text[lead.end() :]
    if hedge := _HEDGE.match(text):
        text = text[hedge.end() :]
        if _is_opinion(text) or _NO_STATEMENT.match(text):
            return False
    if not any(char.isalnum() for char in text):
        return False
    if _NOT_CHECKABLE.match(text) and not _begins_with_title(cased):
        return False
    if text[-1] in ":：":
        return len(text.split()) > _SHORT_LEAD_IN_WORDS and not _LEAD_IN.match(text)
    return True


def _is_opinion(text: str) -> bool:
    """Whether what stands behind a hedge says how the speaker likes something, and states nothing else."""
    if any(char.isdigit() for char in text) or not _OPINION_BEHIND_HEDGE.search(text):
        return False
    clauses = _CLAUSE_BREAK.split(text)
    return all(_OPINION_BEHIND_HEDGE.search(clause) or not _STATES.search(clause) for clause in clauses)


def _checkable_zh(text: str) -> bool:
    if hedge := _HEDGE_ZH.match(text):
        text = text[hedge.end() :]
        clauses = _CLAUSE_BREAK_ZH.split(text)
        opinion = all(_EVALUATIVE_ZH.search(clause) or han_count(clause) < _MIN_HAN for clause in clauses)
        if not text or (opinion and not any(char.isdigit() for char in text)):
            return False
    if _NOT_CHECKABLE_ZH.match(text):
        return False
    if text[-1] in ":：":
        return len(text) > _SHORT_LEAD_IN_HAN and not _LEAD_IN_ZH.match(text)
    return True
