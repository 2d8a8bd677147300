"""Marks that come in pairs: emphasis, quotation marks, brackets, tags of inline HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from proxy.text.inline import tokens

_OPENED_BY = dict(
    zip(
        ")]）】」』》〉”’“»«",
        ("(", "[", "（", "【", "「", "『", "《", "〈", "“„", "‘", "„", "«", "»"),
        strict=True,
    )
)
"""What each mark closes that has another form than what opens."""
_ONLY_OPENS = frozenset("([（【「『《〈‘„")
_ONLY_CLOSES = frozenset(")]）】」』》〉”’")
_MARK = re.compile(r"\*{1,3}|_{1,3}|~~|[\"()\[\]（）【】「」『』《》〈〉“”„‘’«»]")
_NO_CLOSER = re.compile(r"(?:(?:^|\s)(?:\d{1,2}|[a-zA-Z])|[:;]-?)\)$|[^\W_]’$")
"""An enumerator (`a)`), a smiley, an apostrophe behind a word."""
_TAG = re.compile(
    r"<(/?)(a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub"
    r"|sup|tt|u|var)\b[^<>]*(?<!/)>",
    re.I,
)
_STOPS = frozenset(".,;:!?。，；：！？")
_FORMATTING = re.compile(r"\*{1,3}|_{1,3}|~~|[\[\]]")
"""What formatting that was told as such begins with: emphasis, the text of a link."""
_BEYOND_LATIN = "\u2e80"
_OTHER = "\ufffc"


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark at `start` of a text. `partner` is where its other half stands, None where it has none."""

    start: int
    text: str
    opens: bool
    partner: int | None = None


def marks_of(text: str) -> list[Mark]:
    """The marks of a block, or a part of one, in order. There are none in code, formulas and addresses.
    Linear in the length of the text.
    """
    opened: dict[str, list[Mark]] = {}
    found: list[Mark] = []
    for start, mark, name, opens, closes in _marks(text):
        partner = next((each for each in _partners(name) if closes and opened.get(each)), None)
        if partner is not None:
            opening = opened[partner].pop()
            found += [replace(opening, partner=start), Mark(start, mark, opens=False, partner=opening.start)]
        elif opens:
            opened.setdefault(name, []).append(Mark(start, mark, opens=True))
        elif closes and not _NO_CLOSER.search(text[max(0, start - 3) : start + len(mark)]):
            found.append(Mark(start, mark, opens=False))
    found += [mark for of_name in opened.values() for mark in of_name]
    return sorted(found, key=lambda mark: mark.start)


def unpaired(text: str) -> tuple[list[str], list[str]]:
    """The marks in a part of a block that open something which does not end in it, and those that close
    something which does not begin in it, each in order."""
    lone = [mark for mark in marks_of(text) if mark.partner is None]
    return [mark.text for mark in lone if mark.opens], [mark.text for mark in lone if not mark.opens]


def _partners(name: str) -> tuple[str, ...]:
    return tuple(_OPENED_BY.get(name, ())) or (name,)


def _marks(text: str) -> Iterator[tuple[int, str, str, bool, bool]]:
    """Where each mark stands, the mark, its name (`<b>` of both tags), whether it may open, or close."""
    parts = tokens(text, (0, len(text)))
    shown = "".join(
        text[part.start : part.end] if part.kind == "text" else _OTHER * (part.end - part.start)
        for part in parts
    )
    escaped = False
    for part in parts:
        said = text[part.start : part.end]
        if part.kind != "text" and (tag := _TAG.fullmatch(said)):
            yield part.start, said, f"<{tag[2].lower()}>", not tag[1], bool(tag[1])
        elif part.kind in ("open", "close") and (formatting := _FORMATTING.match(said)):
            yield part.start, said, formatting.group(), part.kind == "open", part.kind == "close"
        elif part.kind == "text" and not escaped:
            for match in _MARK.finditer(shown, part.start, part.end):
                before, after = shown[match.start() - 1 : match.start()], shown[match.end() : match.end() + 1]
                if match.group()[0] in "*_’" and _is_latin(before) and _is_latin(after):
                    continue
                yield match.start(), match.group(), match.group(), *_roles(match.group(), before, after)
        escaped = part.kind == "open" and said == "\\"


def _roles(mark: str, before: str, after: str) -> tuple[bool, bool]:
    """Whether a mark may open, and whether it may close."""
    if mark in _ONLY_OPENS or mark in _ONLY_CLOSES:
        return mark in _ONLY_OPENS, mark in _ONLY_CLOSES
    if mark == "«":  # `«` opens in French, and closes in German
        closes = bool(before.strip()) and not after.isalnum()
        return not closes, closes
    if mark == "»":
        opens = not before.strip() and after.isalnum()
        return opens, not opens
    if mark[0] in "*_~" and after in _STOPS:  # a mark on its own (`Five stars: *.`)
        return False, bool(before.strip())
    opens = bool(after.strip()) and (after.isalnum() or not before.strip() or before in _ONLY_OPENS)
    return opens, bool(before.strip())


def _is_latin(char: str) -> bool:
    return char.isalnum() and char < _BEYOND_LATIN
