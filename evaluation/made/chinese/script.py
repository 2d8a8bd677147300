"""Chinese text for the rules: clean sentences, clauses, numbers, simplified or traditional script."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LENGTHS = range(12, 111)
_EMPTY = re.compile(r"[（(][\s,，、;；:：·]*[)）]|“”|「」|『』|《》")
_GAP = re.compile(r"[ \u3000]+(?=[，。；、：])|(?<=[，。；、：])[ \u3000]+")
_MARKUP = re.compile(r"[|\[\]{}<>=*#_~^\\]|''|https?:|&\w|::|//|\n")
_DANGLING = re.compile(r"[，、；：（(《「“][，、；：。）)》」”]|[\u4e00-\u9fff] [\u4e00-\u9fff]|\s{2}")
_LIST = re.compile(
    r"以下|如下|下列|下述|上述|上表|下表|左[图圖]|右[图圖]|[见見]表|參見|参见|例如[。，]|[：:]"
)
_START = re.compile(r"(?!以及|及其|和[^平])[\u4e00-\u9fff《“「A-Za-z\d]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_PAIRS = {"（": "）", "(": ")", "《": "》", "「": "」", "『": "』", "“": "”", "〈": "〉"}
_CLOSING = {closing: opening for opening, closing in _PAIRS.items()}
_SIMPLIFIED = (
    "国学会为这个时来发后员与对开说无经实体关当点从业东长电过还进动处种并应产变总将区书条华乐岛县铁术战军队党历车场广号"
    "线艺义议认语调设计话证试该请课让贵买费资质赛轮选边运达远遗乡医银钱录镇阅阳陈际兰韩罗亚马坚葡萄弗丹维纽约伦费圣"
    "乌斯坦腊尔宾泽滨数极没两万亿顿纳达涅图称颁获胜败击杀灭创办编剧写导执毕荣庆汉苏沈广云贵陕肃宁辽龙欧洲们离绝众奖赢"
    "确属却异续难济扩缩强减较优劣于几乎样现间内权传记载连结组织继承营运顾问题类项额页顺须预领频颗显讲论评识诉译谈谓责贸"
)
_TRADITIONAL = (
    "國學會為這個時來發後員與對開說無經實體關當點從業東長電過還進動處種並應產變總將區書條華樂島縣鐵術戰軍隊黨歷車場廣號"
    "線藝義議認語調設計話證試該請課讓貴買費資質賽輪選邊運達遠遺鄉醫銀錢錄鎮閱陽陳際蘭韓羅亞馬堅葡萄弗丹維紐約倫費聖"
    "烏斯坦臘爾賓澤濱數極沒兩萬億頓納達涅圖稱頒獲勝敗擊殺滅創辦編劇寫導執畢榮慶漢蘇瀋廣雲貴陝肅寧遼龍歐洲們離絕眾獎贏"
    "確屬卻異續難濟擴縮強減較優劣於幾乎樣現間內權傳記載連結組織繼承營運顧問題類項額頁順須預領頻顆顯講論評識訴譯談謂責貿"
)
_SCRIPTS = dict(zip(_SIMPLIFIED, _TRADITIONAL, strict=True))
_ONLY_TRADITIONAL = frozenset(new for old, new in _SCRIPTS.items() if old != new)
_ONLY_SIMPLIFIED = frozenset(old for old, new in _SCRIPTS.items() if old != new) - frozenset("后里干万并云")
_TO_TRADITIONAL = str.maketrans({old: new for old, new in _SCRIPTS.items() if old not in "云"})
_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "萬": 10_000}
_NUMERAL = re.compile(r"(?<![\d.])\d[\d,]*(?:\.\d+)?|[零〇一二三四五六七八九十百千万萬两兩]+")


def cleaned(sentence: str) -> str:
    """Without the brackets that a lost template left empty."""
    return _GAP.sub("", _EMPTY.sub("", sentence)).strip()


def fit(sentence: str) -> bool:
    """Whether a sentence can be a claim: whole, of a fair length, no list, no markup, no gap."""
    return (
        len(sentence) in _LENGTHS
        and sentence.endswith("。")
        and "。" not in sentence[:-1]
        and _START.match(sentence) is not None
        and not _MARKUP.search(sentence)
        and not _LIST.search(sentence)
        and not _DANGLING.search(sentence)
        and balanced(sentence)
        and len(_HAN.findall(sentence)) >= 0.6 * len(sentence)
    )


def balanced(text: str) -> bool:
    """Whether every bracket and quotation mark of `text` is closed by its own kind."""
    open_ones: list[str] = []
    for char in text:
        if char in _PAIRS:
            open_ones.append(char)
        if char in _CLOSING and (not open_ones or open_ones.pop() != _CLOSING[char]):
            return False
    return not open_ones


def clauses(sentence: str) -> list[str]:
    """The stretches between ，； and 。 that stand in no bracket, each with the mark that ends it."""
    found, start, depth = [], 0, 0
    for index, char in enumerate(sentence):
        depth += (char in _PAIRS) - (char in _CLOSING)
        if depth == 0 and char in "，；。":
            found.append(sentence[start : index + 1])
            start = index + 1
    return [*found, sentence[start:]] if start < len(sentence) else found


def traditional(text: str) -> bool:
    """Whether a text is in traditional script."""
    return sum(char in _ONLY_TRADITIONAL for char in text) > sum(char in _ONLY_SIMPLIFIED for char in text)


def in_script_of(text: str, words: str) -> str:
    """Words of our lists, in the script of `text`."""
    return words.translate(_TO_TRADITIONAL) if traditional(text) else words


def foreign_script(word: str, text: str) -> bool:
    """Whether a word has a character of the script that `text` is not in."""
    return any(char in (_ONLY_SIMPLIFIED if traditional(text) else _ONLY_TRADITIONAL) for char in word)


def value(numeral: str) -> str:
    """One spelling for a number however it is written: `三` and `3`, `12,000` and `12000`."""
    if numeral[0].isdigit():
        return numeral.replace(",", "")
    total, digit = 0, None
    for char in numeral:
        if char in _POWERS:
            total = (
                (total + (digit or 0)) * 10_000 if char in "万萬" else total + (digit or 1) * _POWERS[char]
            )
            digit = None
        else:
            digit = _DIGITS[char] if digit is None else digit * 10 + _DIGITS[char]
    return str(total + (digit or 0))


def values(text: str) -> set[str]:
    """The numbers of a text."""
    return set(map(value, _numerals(text)))


def _numerals(text: str) -> Iterator[str]:
    for match in _NUMERAL.finditer(text):
        yield match[0]


def bigrams(text: str) -> set[str]:
    """Its pairs of neighbouring characters, punctuation left out."""
    words = re.findall(r"[\u4e00-\u9fff]+|[A-Za-z\d]+", text)
    return {word[index : index + 2] for word in words for index in range(max(len(word) - 1, 1))}


def missing(text: str, evidence: str) -> float:
    """The share of the bigrams of `text` that `evidence` lacks."""
    own = bigrams(text)
    return len(own - bigrams(evidence)) / max(len(own), 1)
