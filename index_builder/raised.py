"""Raised and lowered characters and fractions in plain text: `10⁶` and `3 1/2`, not `106` and `31/2`.

Readers put marks around what a file raises or lowers, and `plain` resolves them when a text is whole: what a
raised number means depends on what it stands behind.
"""

from __future__ import annotations

import re

# Noncharacters of Unicode: no text holds them, and XML trees take them.
RAISED, RAISED_END = "\ufdd0", "\ufdd1"
LOWERED, LOWERED_END = "\ufdd2", "\ufdd3"
FRACTION, FRACTION_BAR, FRACTION_END = "\ufdd4", "\ufdd5", "\ufdd6"

MARKS = {"sup": (RAISED, RAISED_END), "sub": (LOWERED, LOWERED_END)}
"""Marks by the name that HTML, Markdown, wikitext and Word's equations have for them."""
LEFT_OUT = frozenset({"del", "s", "strike"})
"""Elements of text that no longer holds."""

_MARK = re.compile("[\ufdd0-\ufdd6]")
_SLASHED = re.compile(
    rf"{RAISED}\s*(\d{{1,9}})\s*{RAISED_END}\s*[/\u2044\u2215]\s*{LOWERED}\s*(\d{{1,9}})\s*{LOWERED_END}"
)
_INNERMOST = re.compile(
    rf"{FRACTION}([^{FRACTION}{FRACTION_BAR}{FRACTION_END}]*+)"
    rf"(?:{FRACTION_BAR}([^{FRACTION}{FRACTION_BAR}{FRACTION_END}]*+))?{FRACTION_END}"
)
_DEEPEST = 4
"""Fractions in each other that get brackets."""
_SIMPLE = re.compile(r"[\w.,]*")
_SCRIPT = re.compile(rf"{RAISED}([^\ufdd0-\ufdd6]*+){RAISED_END}|{LOWERED}([^\ufdd0-\ufdd6]*+){LOWERED_END}")
_NUMBER = re.compile(r"[+\u2212\u2013-]?\d+[+\u2212\u2013-]?|[+\u2212\u2013-]")
_FOOTNOTES = re.compile(r"\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*")
_IN_BRACKETS = re.compile(r"\[[^\[\]]{1,30}\]")
_UNIT = re.compile(r"(?:\d\s?[^\W\d_]{1,12}|(?<![^\W_])[^\W\d_]{1,2})\Z")
"""A word behind a number, or of one or two letters: what is raised behind it is a power (`35 km²`, `x²`)."""
_BEHIND = 20
_RAISED_SIGNS = str.maketrans("0123456789+-\u2212\u2013", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")
_LOWERED_SIGNS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def plain(text: str) -> str:
    """The text without marks.

    What is raised directly behind a digit, a closing bracket or a unit becomes a power; a number that is
    raised behind any other word or a stop is the mark of a footnote, and goes. What is lowered becomes
    plain text, unless it would join another number.
    """
    if not _MARK.search(text):
        return text
    text = _SLASHED.sub(_slashed, text)
    for _ in range(_DEEPEST if FRACTION in text else 0):
        text = _INNERMOST.sub(_fraction, text)
    return _MARK.sub("", _SCRIPT.sub(_script, text.replace(FRACTION_BAR, "/")))


def _slashed(match: re.Match[str]) -> str:
    return f"{_gap(match)}{match[1]}/{match[2]}"


def _fraction(match: re.Match[str]) -> str:
    parts = (part.strip() for part in match.groups() if part)
    shown = "/".join(part if _SIMPLE.fullmatch(_MARK.sub("", part)) else f"({part})" for part in parts)
    return _gap(match) + shown


def _gap(match: re.Match[str]) -> str:
    """The space between a whole number and its fraction."""
    return " " if match.start() and match.string[match.start() - 1].isdigit() else ""


def _script(match: re.Match[str]) -> str:
    text, start, end = match.string, match.start(), match.end()
    before = text[max(0, start - _BEHIND) : start].rstrip().rstrip(LOWERED_END)
    last, after = before[-1:], text[end : end + 1]
    if match[1] is None:
        joins = last.isdigit() or after.isdigit()
        return match[2].translate(_LOWERED_SIGNS) if joins and match[2].strip().isdigit() else match[2]
    raised = match[1].strip()
    behind_number = last.isdigit() or last in tuple(")]）")
    if _IN_BRACKETS.fullmatch(raised):
        return ""
    if _NUMBER.fullmatch(raised):
        of_unit = _UNIT.search(before) is not None
        if behind_number or of_unit or after.isalnum() or (before and not raised.isdigit()):
            return raised.translate(_RAISED_SIGNS)
    elif behind_number and re.search(r"[\d+\u2212-]", raised):
        return f"^{raised}" if _SIMPLE.fullmatch(raised) else f"^({raised})"
    return "" if _FOOTNOTES.fullmatch(raised) and (before or after) else match[1]
