"""Text to tokens that compare by key: stems of words, values of numbers, single Chinese characters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple
from unicodedata import category, normalize

from proxy.checkers.builtin.numbers import HAN_NUMERALS, NUMBER_WORDS, han_value, number_key, read_number
from proxy.checkers.builtin.word_lists import HAN_FILLERS, STOP_CHARS, STOP_WORDS
from proxy.types import Language

Kind = Literal["word", "name", "number", "han", "stop"]


class Token(NamedTuple):
    """A token at `text[start:end]`; two tokens say the same where their keys are equal."""

    key: str
    start: int
    end: int
    kind: Kind


_CJK = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
_MARKS = "".join(chr(code) for code in range(0x300, 0x10000) if category(chr(code)) in ("Mn", "Mc", "Me"))
"""Accents and vowel signs that are characters of their own, as decomposed text (PDFs, macOS) has them."""
_JOINERS = "\u00ad\u200c\u200d\u2060"
"""The soft hyphen, and what else is inside a word and not seen."""
_LETTER = rf"[^\W\d_{_CJK}]"
_MEASURES = "个個名次年月日岁歲天位人种種部条條家所座届场場只件号號周倍代级級层層分米度集章点點元块块"
_TOKEN = re.compile(
    rf"""(?P<percent>百分之(?=[\d{HAN_NUMERALS}])(?!百分之)|(?<!\w)[Pp]er\s[Cc]ent\b)
    |(?P<word>{_LETTER}+(?:[{_MARKS}{_JOINERS}]+{_LETTER}*)*)
    |(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?)(?P<suffix>(?:st|nd|rd|th|s)\b)?
    |(?P<numeral>第?[{HAN_NUMERALS}]{{2,30}}|第[{HAN_NUMERALS}]|[二两三四五六七八九十](?=[{_MEASURES}]))
    |(?P<filler>约(?=\s?[\d{HAN_NUMERALS}])|{"|".join(sorted(HAN_FILLERS, key=len, reverse=True))})
    |(?P<han>[{_CJK}])
    |(?P<sign>[%％‰])""",
    re.VERBOSE,
)
_HAN = re.compile(f"[{_CJK}]")
_WORD = re.compile(rf"{_LETTER}+")
_WIDE = {
    code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
}
"""Full-width digits and letters to ASCII: one character for one, so that offsets hold."""
_IRREGULAR_FORMS = """
write wrote written|win won|begin began begun|become became|make made|find found|lead led|hold held
build built|sing sang sung|give gave given|take took taken|grow grew grown|know knew known|leave left
lose lost|speak spoke spoken
rise rose risen|fall fell fallen|fight fought|teach taught|think thought|buy bought
bring brought|sell sold|tell told|say said|see saw seen|run ran|come came|go went gone|drive drove driven
choose chose chosen|draw drew drawn|spend spent|send sent|meet met|man men|woman women|child children
person people|die died dies dead death|percent percentage|usa us|good better best|mouse mice|foot feet
"""
_IRREGULAR = {
    form: forms.split()[0]
    for forms in _IRREGULAR_FORMS.strip().replace("\n", "|").split("|")
    for form in forms.split()
}


def language_of(text: str) -> Language:
    """`zh` where the text has at least as many Chinese characters as words in other scripts, else `en`."""
    han = len(_HAN.findall(text))
    return "zh" if han and han >= len(_WORD.findall(text)) else "en"


def stem(word: str) -> str:
    """A lower-case word without its inflection: a few suffixes and irregular forms, not Porter's rules."""
    if word in NUMBER_WORDS:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    size = len(word)
    if size > 4 and word.endswith(("ies", "ied")):
        return word[:-3] + "y"
    if size > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word, size = word[:-1], size - 1
    for suffix in ("ing", "ed", "ly"):
        if size > len(suffix) + 3 and word.endswith(suffix):
            word = word[: -len(suffix)]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _without_marks(word: str) -> str:
    """A word's letters alone: "bolívar" is "bolivar", whether the accent is a character of its own or not."""
    return "".join(char for char in normalize("NFKD", word) if char.isalnum()) or word


def tokenize(text: str) -> list[Token]:
    """All tokens of `text` in order, in linear time."""
    text = text.translate(_WIDE)
    raw = [_token(match) for match in _TOKEN.finditer(text)]
    return _with_whole_numbers([token for token in raw if token.key])


def _token(match: re.Match[str]) -> Token:
    group, start, end = match.lastgroup, match.start(), match.end()
    if group == "han":
        char = match[0]
        return Token(char, start, end, "stop" if char in STOP_CHARS else "han")
    if group == "filler":
        return Token(match[0], start, end, "stop")
    if group == "word":
        word = match[0]
        lower = word.lower()
        if lower in STOP_WORDS and (len(word) > 2 or not word.isupper()):
            return Token(lower, start, end, "stop")
        return Token(
            stem(lower if lower.isascii() else _without_marks(lower)),
            start,
            end,
            "word" if word[0].islower() else "name",
        )
    if group in ("percent", "sign"):
        return Token("percent", start, end, "word")
    if group == "numeral":
        value = han_value(match[0].removeprefix("第"))
        return Token(
            match[0] if value is None else f"#{value}", start, end, "han" if value is None else "number"
        )
    decade = match["suffix"] == "s"
    return Token(number_key(match["number"]) + ("s" if decade else ""), start, end, "number")


def _with_whole_numbers(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with each number that is spelt out, or has a scale behind it, as one token."""
    whole: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        read = None
        if token.key in NUMBER_WORDS or (token.kind == "number" and not token.key.endswith("s")):
            read = read_number([other.key for other in tokens[at : at + 4]])
        if read is None:
            whole.append(token)
            at += 1
        else:
            key, taken = read
            whole.append(Token(key, token.start, tokens[at + taken - 1].end, "number"))
            at += taken
    return whole
