"""The claims of a text that is still being written, each as soon as no continuation can change it.

The text is read again when a sentence may have ended: after a stop and a whole word. Inside a fenced code
block there are no claims, so its lines are passed on without reading them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace

from proxy.claims.continuations import (
    Agreement,
    Known,
    Read,
    Window,
    agreed,
    continuations,
    displays,
    moved,
    raw_end,
    shortened,
)
from proxy.text.scripts import CJK
from proxy.text.sentences import CITATION, STOPS
from proxy.types import Claim

_WORD_END = re.compile(rf"[\s{CJK}]")
_MARKS = re.compile(rf"(?:[ \t]{{0,2}}(?:{CITATION.pattern})){{1,20}}")
_LONG_WINDOW = 320
"""Code points of raw text from which cutting is worth its cost."""
_LONGEST_WINDOW = 4096
"""From this size the text is only read again once it has grown by a quarter."""
_ALLOWED, _ALLOWED_EACH, _MOST_ALLOWED = 200_000, 40, 1_000_000
"""What may be read, in code points: at the start, per code point written, and at most in store."""
_COST_OF_A_READING, _COST_OF_A_CLAIM = 100, 20
"""In code points as well: a text of very short sentences takes longer to read than its length says."""
_LONG_CODE = 65536
"""Code points from which lines of code are settled many at once: a 64th of the text, which is copied then."""
_MOST_SUFFIXES = 60
"""A text that more could follow than these is settled when it ends: each is read with the whole text."""
_READINGS = 12
"""About how many readings one look takes."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A text and its claims, as far as no continuation can change them.

    `text` is without the markers that `read` takes out. The claims are whole, in order, all inside `text`.
    """

    text: str = ""
    claims: tuple[Claim, ...] = ()


class Incremental:
    """Reads a text as it grows, with the same result as reading it whole.

    `read` gives for a whole raw text what is left once markers are taken out, and the claims of that. Settled
    is what it gives for the text so far with every continuation (`continuations`). Only the end of the text
    is read again, in all no more than a fixed multiple of the text; where that is used up, claims are settled
    later. `end` sets `parted` where the text went on in a way that was not foreseen: what was settled stays,
    and the rest is read as a text of its own.
    """

    def __init__(self, read: Read) -> None:
        self.parted = False
        self._read_whole = read
        self._pieces: list[str] = []
        self._settled = Settled()
        self._window = Window()
        self._unread: list[str] = []
        self._watch = Watch()
        self._fence: str | None = None
        self._doubt: str | None = None
        self._awaited: str | None = None
        self._wanting = False
        self._long = _LONG_WINDOW
        self._fed = 0
        self._enough = 0
        self._allowed = _ALLOWED

    @property
    def settled(self) -> Settled:
        """What is settled so far. It only ever grows."""
        return self._settled

    def add(self, piece: str) -> bool:
        """Takes one more piece of the raw text. Returns whether a `look` at it may settle more.

        Quick, however long the text is: call it where `look` would hold up others.
        """
        self._pieces.append(piece)
        self._unread.append(piece)
        self._fed += len(piece)
        self._allowed = min(self._allowed + _ALLOWED_EACH * len(piece), _MOST_ALLOWED)
        due = (
            self._watch.due(piece, wanting=self._wanting)
            if self._fence is None
            else self._through_code(piece)
        )
        return due and self._allowed >= 0 and self._fed >= self._enough

    def feed(self, piece: str) -> Settled:
        """What is settled after one more piece: `add`, and `look` where that may settle more."""
        if self.add(piece):
            self.look()
        return self._settled

    def end(self) -> Settled:
        """The whole text and all its claims."""
        raw = "".join(self._pieces)
        text, claims = self._read_whole(raw)
        if not _extended(self._settled, text, claims):
            self.parted = True
            text, claims = self._apart(raw)
        self._settled = Settled(text, claims)
        return self._settled

    def _apart(self, raw: str) -> tuple[str, tuple[Claim, ...]]:
        """What is settled, and the rest read as a text of its own."""
        known = self._settled
        behind = raw_end(raw, known.text)
        rest = raw[behind:] if behind is not None else ""
        marks = _MARKS.match(rest) if known.text else None
        text, claims = self._read_whole(rest[marks.end() :] if marks else rest)
        return known.text + text, known.claims + moved(claims, len(known.text))

    def _read(self, raw: str) -> tuple[str, tuple[Claim, ...]]:
        text, claims = self._read_whole(raw)
        self._allowed -= len(raw) + _COST_OF_A_READING + _COST_OF_A_CLAIM * len(claims)
        return text, claims

    def look(self) -> None:
        """Reads the window up to its last whole word with all continuations, and keeps what they agree on."""
        fresh = "".join(self._unread)
        self._unread = []
        awaited, before = self._awaited, self._window.raw
        self._window = replace(self._window, raw=before + fresh)
        if awaited and awaited not in before[-len(awaited) :] + fresh:
            self._watch.looked(wanting=False)
            return
        if not awaited and len(self._window.raw) * _READINGS > self._allowed:
            # Look again once the store may suffice, so that the text is not joined at every piece.
            self._enough = self._fed + max(
                1, (len(self._window.raw) * _READINGS - self._allowed) // _ALLOWED_EACH
            )
            return
        whole = _whole_words(self._window.raw)
        suffixes = self._suffixes(whole)
        if len(suffixes) > _MOST_SUFFIXES:
            self._watch.looked(wanting=False)
            self._enough = self._fed + len(whole)
            return
        agreement = agreed(self._read, whole, suffixes, self._known())
        self._doubt, self._wanting = agreement.doubt, agreement.wanting
        self._awaited = displays(whole).get(agreement.doubt or "")
        self._watch.looked(wanting=self._wanting)
        if agreement.doubt is None and self._extends(agreement):
            self._settle(agreement)
            self._shorten(whole, agreement)
        size = len(self._window.raw)
        self._enough = self._fed + size // 4 if size > _LONGEST_WINDOW and not self._awaited else 0

    def _suffixes(self, whole: str) -> tuple[str, ...]:
        """The continuations, first the one that prevented settling last time: most often it still does."""
        suffixes = continuations(whole)
        if self._doubt not in suffixes:
            return suffixes
        return tuple(dict.fromkeys(("", self._doubt, *suffixes)))

    def _known(self) -> Known:
        first = self._window.shift + self._window.skip
        before = bisect_left(self._settled.claims, first, key=lambda claim: claim.start)
        within = len(self._settled.claims) - before
        return Known(self._window.claims + within, len(self._settled.text) - self._window.shift)

    def _extends(self, agreement: Agreement) -> bool:
        """Whether what was settled is still agreed on. Where it is not, `end` finds out."""
        known, window = self._known(), self._window
        text, claims = agreement.readings[""]
        within = known.claims - window.claims
        settled = self._settled.claims[len(self._settled.claims) - within :]
        following = claims[known.claims : known.claims + 1]
        return (
            agreement.claims >= known.claims
            and all(known.end <= claim.start for claim in following)
            and agreement.end >= known.end
            and moved(claims[window.claims : known.claims], window.shift) == settled
            and self._settled.text.endswith(text[window.skip : known.end])
        )

    def _settle(self, agreement: Agreement) -> None:
        known = self._known()
        text, claims = agreement.readings[""]
        added = moved(claims[known.claims : agreement.claims], self._window.shift)
        self._settled = Settled(
            self._settled.text + text[known.end : agreement.end], self._settled.claims + added
        )

    def _shorten(self, whole: str, agreement: Agreement) -> None:
        if self._enter_code(agreement) or len(self._window.raw) < self._long:
            return
        window = shortened(self._read, self._window, whole, agreement)
        self._window = window or self._window
        self._long = max(_LONG_WINDOW, 2 * len(self._window.raw))

    def _enter_code(self, agreement: Agreement) -> bool:
        """Whether the window ends in an open code block, whose lines need not be read."""
        text, claims = agreement.readings[""]
        lines, line_end, rest = self._window.raw.rpartition("\n")
        if agreement.end != text.rfind("\n") + 1 or agreement.claims != len(claims):
            return False
        self._fence = open_fence(self._read, lines + line_end, agreement.claims)
        if self._fence is None:
            return False
        self._window = Window(lines + line_end, self._window.shift, agreement.end, agreement.claims)
        self._unread = [rest]
        return True

    def _through_code(self, piece: str) -> bool:
        """Settles lines of code as they come, up to the closing fence. Returns whether to `look` after it."""
        done = len(self._settled.text)
        if "\n" not in piece or self._fence is None or (done > _LONG_CODE and self._fed < self._enough):
            return False
        *lines, rest = "".join(self._unread).split("\n")
        closing = next((index for index, line in enumerate(lines) if ends(line, self._fence)), len(lines))
        code = "".join(f"{line}\n" for line in lines[:closing])
        self._settled = replace(self._settled, text=self._settled.text + code)
        self._window = replace(self._window, shift=self._window.shift + len(code))
        self._unread = ["\n".join([*lines[closing:], rest])]
        if closing == len(lines):
            self._enough = self._fed + done // 64
            return False
        self._fence, self._enough = None, 0
        return self._watch.due(self._unread[0], wanting=False)


def _extended(settled: Settled, text: str, claims: tuple[Claim, ...]) -> bool:
    """Whether a text and its claims extend what is settled."""
    count, end = len(settled.claims), len(settled.text)
    return (
        text.startswith(settled.text)
        and claims[:count] == settled.claims
        and all(end <= claim.start for claim in claims[count : count + 1])
    )


def _whole_words(raw: str) -> str:
    """The text without its last word, which may be unfinished."""
    end = len(raw)
    while end and not _WORD_END.match(raw, end - 1):
        end -= 1
    return raw[:end]


_CLOSERS = r"*_~`$)\]>】"
_LINE_END_OR_STOP = re.compile(rf"[\n{STOPS}]")
_CLOSER = re.compile(rf"[\n{STOPS}{_CLOSERS}]")
_READY = re.compile(
    rf"\n|[{STOPS}{_CLOSERS}](?:[^\w\n]{{0,20}}[{CJK}]|\S*+\s++(?:[^\w\s]++\s++){{0,8}}+[^\w\s]*+\w\S*+\s)"
    r"|[。！？；｡…][^\w\s]*+\w\S*+\s"
)
_LONGEST = 300


class Watch:
    """Decides when to read again. Sees each piece once, in time that does not grow with the text."""

    def __init__(self) -> None:
        self._since = ""

    def due(self, piece: str, *, wanting: bool) -> bool:
        """Whether something may be settled since the last look. `wanting`: a closer may do it, too."""
        if self._since:
            self._since = self._since[0] + (self._since[1:] + piece)[-_LONGEST:]
        else:
            trigger = (_CLOSER if wanting else _LINE_END_OR_STOP).search(piece)
            if trigger is None:
                return False
            self._since = piece[trigger.start() :]
        return _WORD_END.search(piece) is not None and _READY.search(self._since) is not None

    def looked(self, *, wanting: bool) -> None:
        """Notes a look at the text. Stops count again once a word follows; if `wanting`, line ends too."""
        last = max(self._since.rfind(stop) for stop in (STOPS + "\n" if wanting else STOPS))
        tail = self._since[last:] if last >= 0 else ""
        # A line end has been looked at; now wait for the first word after it, as after a stop.
        tail = f". {tail[1:]}" if tail[:1] == "\n" else tail
        self._since = "" if _READY.search(tail) else tail


_CODE_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_PROSE = "\n\nThe sky is blue. The sea is deep.\n"


def open_fence(read: Read, raw: str, claims: int) -> str | None:
    """The fence of the code that `raw` ends in (three or more backticks or tildes), or None.

    `raw` is whole lines with `claims` claims. Its lines tell which fence may be open. Reading it with prose
    appended, inside and outside of the code, tells whether it is.
    """
    fence = _last_open(raw)
    if fence is None or len(read(raw + _PROSE)[1]) != claims:
        return None
    return fence if len(read(f"{raw}{fence}{_PROSE}")[1]) == claims + 2 else None


def ends(line: str, fence: str) -> bool:
    """Whether a line of code is the closing fence."""
    line = line.lstrip(" \t>").rstrip()
    return len(line) >= len(fence) and not line.strip(fence[0])


def _last_open(raw: str) -> str | None:
    if "```" not in raw and "~~~" not in raw:
        return None
    fence: str | None = None
    for line in raw.split("\n"):
        if fence is None:
            match = _CODE_FENCE.match(line)
            fence = match.group(1) if match else None
        elif ends(line, fence):
            fence = None
    return fence
