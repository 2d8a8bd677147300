"""Language rules of the embedded upstream: content terms, sentences that stand alone, small talk."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from proxy.text.normalisation import stem
from proxy.text.scripts import HAN, has_han, language_of
from proxy.text.sentences import sentence_spans
from proxy.types import Language

_TOKEN = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+(?:['’][^\W\d_]+)?")
_PIECE = re.compile(rf"[{HAN}]|[^\s{HAN}]+\s*|\s+")

_STOP = frozenset(
    "a about above after again all also although am an and any are aren't as at be because been "
    "before being below between both but by can can't could did didn't do does doesn't doing don't "
    "down during each else ever few for from further give had has hasn't have having he he's her here "
    "hers herself him himself his how however i i'm if in into is isn't it it's its itself just know "
    "let like list me more most much must my no nor not of off on once one only or other our out over "
    "own please same say shall she should show so some something such tell than that that's the their "
    "them then there these they thing things this those through to too under until up us very was "
    "wasn't we well were what what's when where which while who who's whom whose why will with would "
    "write you your describe explain summarise summarize".split()
)
_GENERIC = frozenset(
    "old big large small tall high long wide deep far many called call name named found founded find "
    "discover discovered invent invented build built made make create created born die died live "
    "lived live located start started begin began end ended happen happened first last famous "
    "important main different known year years people person world "
    "建造 建成 发明 发现 出生 去世 位于 成立 著名 重要 主要 "
    "世界 历史 第一".split()
)
_CHINESE_ASKING = re.compile(
    r"请问|请|告诉我|介绍一下|介绍|说说|讲讲|什么时候|什么样|什么|为什么|怎么样|怎么|怎样|如何|哪一年|哪一个|哪里"
    r"|哪儿|哪些|哪个|哪|是谁|谁|多少|多大|多高|多长|几个|几年|几|是不是|是否|有没有|有关|关于|一下|一个"
    r"|[是的了吗呢吧啊在有和与及我你]"
)
_CAPITALISED = re.compile(r"[A-ZÀ-Þ0-9]")

_LEANING = re.compile(
    r"(?:he|she|it|they|his|her|hers|its|their|theirs|this|these|those|that|such|here|another|others?|both"
    r"|one|however|therefore|thus|hence|moreover|furthermore|also|but|and|or|so|then|instead|meanwhile"
    r"|similarly|likewise|nevertheless|nonetheless|consequently|afterwards?|later|additionally|for example"
    r"|for instance|in addition|as a result|in contrast|the (?:former|latter|same|other|two|three)"
    r"|(?:at|by|during|in|after|since|of|among) (?:this|that|these|those|then|the (?:same|time)))\b"
    r"|[他她它该此其这那但而也又还并]|本作|因此|所以|然而|同时|另外|后来|之后|随后|前者|后者|两者|二者"
    r"|当时|例如|不过|于是|期间|其间|此时|同年|同月|次年|翌年|最终|最后|接着|为此|对此",
    re.IGNORECASE,
)
_EARLY_PRONOUN = re.compile(
    r"(?:after|as|at|before|by|during|from|in|on|since|today|until|when|while|with)\b(?: [^\s,]+){0,8},? "
    r"(?:he|she|it|they)\b|[^，。]{0,12}，[他她它其]",
    re.IGNORECASE,
)

_SCRAP = re.compile(
    r"[|{}<>`]|==|''|https?:|\[\[|^[-*•#·‣]|^\d{1,3}[.、)]|\.\.\.|…|\(\s*[,;]?\)|（\s*[,，;；]?）"
)
_HEADING_CHARS = 60
_BRACKETS = ("()", "[]", "（）", "《》", "“”", "「」")
_MIN_UNITS: Mapping[Language, int] = {"en": 5, "zh": 8}
_MAX_UNITS: Mapping[Language, int] = {"en": 60, "zh": 160}

MAX_TITLE_CHARS = 200
_APART = re.compile(r"[(（][^()（）]{0,80}[)）]\s*$")

_GREETING = re.compile(
    r"(?:hi|hiya|hello|hey|yo|good (?:morning|afternoon|evening)|greetings|thanks?|thank you"
    r"|thank you very much"
    r"|bye|goodbye|how are you|who are you|what are you|what can you do|test|ping|help"
    r"|你好|您好|嗨|哈喽|早上好|下午好|晚上好|谢谢|多谢|再见|你是谁|你能做什么)"
    r"(?: there| all| everyone|啊|呀|吗)?"
)


def terms(text: str) -> frozenset[str]:
    """Content terms: stems of words, and pairs of neighbouring Chinese characters."""
    result: set[str] = set()
    for match in _TOKEN.finditer(text):
        token = match.group()
        if not has_han(token[0]):
            word = token.casefold().replace("’", "'")
            if word not in _STOP:
                result.add(stem(word.removesuffix("'s")))
        elif len(token) == 1:
            result.add(token)
        else:
            result.update(token[start : start + 2] for start in range(len(token) - 1))
    return frozenset(result)


def weighted_terms(question: str) -> dict[str, float]:
    """The question's content terms: names and numbers weigh 2, words that any text holds 0.3, others 1."""
    names = {
        term
        for match in _TOKEN.finditer(question)
        if match.start() > 0 and _CAPITALISED.match(match.group())
        for term in terms(match.group())
    }
    wanted = terms(_CHINESE_ASKING.sub(" ", question))
    generic = {term for word in _GENERIC for term in terms(word)}
    return {term: 2.0 if term in names else 0.3 if term in generic else 1.0 for term in sorted(wanted)}


def pieces(text: str) -> list[str]:
    """Words with the white space behind them and single Chinese characters; joined they are the text."""
    return _PIECE.findall(text)


def sentences(text: str) -> list[str]:
    """The text's sentences, each on one line, without a heading that ran into it."""
    result = []
    for start, end in sentence_spans(text):
        lines = text[start:end].split("\n")
        while len(lines) > 1 and len(lines[0]) < _HEADING_CHARS and not lines[1][:1].islower():
            del lines[0]
        joint = "" if has_han(lines[-1][:1]) else " "
        result.append(joint.join(line.strip() for line in lines))
    return result


def whole(sentence: str, language: Language) -> bool:
    """Whether it is one complete statement in that language: no heading, fragment, question or markup."""
    if language_of(sentence) != language or _SCRAP.search(sentence):
        return False
    if not _MIN_UNITS[language] <= len(pieces(sentence)) <= _MAX_UNITS[language]:
        return False
    if any(sentence.count(pair[0]) != sentence.count(pair[1]) for pair in _BRACKETS):
        return False
    ended = sentence.rstrip("\"'”’」』）)")
    starts = sentence.lstrip("\"'“‘「『《（(")[:1]
    return ended.endswith((".", "!", "。", "！")) and (not starts.isalpha() or not starts.islower())


def bare_title(title: str) -> str:
    """A title without what tells it apart from others of its name: `Mercury (planet)`."""
    return _APART.sub("", title[-MAX_TITLE_CHARS:]).strip()


def leans(sentence: str) -> bool:
    """Whether it can't be understood without the sentence before."""
    return bool(_LEANING.match(sentence) or _EARLY_PRONOUN.match(sentence))


def similarity(first: frozenset[str], second: frozenset[str]) -> float:
    """Dice coefficient of two sets of terms, in [0, 1]."""
    return 2 * len(first & second) / (len(first) + len(second)) if first or second else 0.0


def small_talk(question: str) -> bool:
    """A greeting, thanks, or nothing at all."""
    said = question[:200].strip(" \t\r\n!！?？.。,，~～").casefold()
    return not said or _GREETING.fullmatch(said) is not None


def joined(parts: Sequence[str], language: Language) -> str:
    """Sentences to running text."""
    return ("" if language == "zh" else " ").join(parts)
