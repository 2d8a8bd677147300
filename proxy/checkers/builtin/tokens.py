"""Text to tokens that compare by key: stems of words, values of numbers, single Chinese characters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from proxy.checkers.builtin.numbers import HAN_NUMERALS, NUMBER_WORDS, han_value, number_key, read_number
from proxy.checkers.builtin.word_lists import HAN_FILLERS, STOP_CHARS, STOP_WORDS
from proxy.text import normalisation
from proxy.text.normalisation import COMBINING_MARKS, INVISIBLE_JOINERS
from proxy.text.scripts import CJK

Kind = Literal["word", "name", "number", "han", "stop"]


class Token(NamedTuple):
    """A token at `text[start:end]`; two tokens say the same where their keys are equal."""

    key: str
    start: int
    end: int
    kind: Kind


_LETTER = rf"[^\W\d_{CJK}]"
_MEASURES = "个個名次年月日岁歲天位人种種部条條家所座届场場只件号號周倍代级級层層分米度集章点點元块块"
_TOKEN = re.compile(
    rf"""(?P<percent>百分之(?=[\d{HAN_NUMERALS}])(?!百分之)|(?<!\w)[Pp]er\s[Cc]ent\b)
    |(?P<word>{_LETTER}+(?:[{COMBINING_MARKS}{INVISIBLE_JOINERS}]+{_LETTER}*)*)
    |(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?)(?P<suffix>(?:st|nd|rd|th|s)\b)?
    |(?P<numeral>第?[{HAN_NUMERALS}]{{2,30}}|第[{HAN_NUMERALS}]|[二两三四五六七八九十](?=[{_MEASURES}]))
    |(?P<filler>约(?=\s?[\d{HAN_NUMERALS}])|{"|".join(sorted(HAN_FILLERS, key=len, reverse=True))})
    |(?P<han>[{CJK}])
    |(?P<sign>[%％‰])""",
    re.VERBOSE,
)


def stem(word: str) -> str:
    """A lower-case word without its inflection; number words stay as they are."""
    return word if word in NUMBER_WORDS else normalisation.stem(word)


def tokenize(text: str) -> list[Token]:
    """All tokens of `text` in order, in linear time."""
    raw = [_token(match) for match in _TOKEN.finditer(normalisation.narrow(text))]
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
            stem(lower if lower.isascii() else normalisation.without_accents(lower)),
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
