"""When it is worth looking at a text that is being written: a stop, and a whole word behind it."""

from __future__ import annotations

import re

from proxy.text.words import HAN

_STOPS = ".!?…。！？；｡"
_CLOSERS = r"*_~`$)\]>】"
_LINE_END_OR_STOP = re.compile(rf"[\n{_STOPS}]")
_CLOSER = re.compile(rf"[\n{_STOPS}{_CLOSERS}]")
_WORD_END = re.compile(rf"[\s{HAN}]")
_READY = re.compile(
    rf"\n|[{_STOPS}{_CLOSERS}](?:[^\w\n]{{0,20}}[{HAN}]|\S*+\s++(?:[^\w\s]++\s++){{0,8}}+[^\w\s]*+\w\S*+\s)"
    r"|[。！？；｡…][^\w\s]*+\w\S*+\s"
)
_LONGEST = 300


class Watch:
    """Sees each piece once, in time that does not grow with the text."""

    def __init__(self) -> None:
        self._since = ""

    def due(self, piece: str, *, wanting: bool) -> bool:
        """Whether something may have been settled since the last look. `wanting`: by a closer, too."""
        if self._since:
            self._since = self._since[0] + (self._since[1:] + piece)[-_LONGEST:]
        else:
            trigger = (_CLOSER if wanting else _LINE_END_OR_STOP).search(piece)
            if trigger is None:
                return False
            self._since = piece[trigger.start() :]
        return _WORD_END.search(piece) is not None and _READY.search(self._since) is not None

    def looked(self, *, wanting: bool) -> None:
        """The text was looked at. Stops count again with a word behind them; if `wanting`, line ends too."""
        last = max(self._since.rfind(stop) for stop in (_STOPS + "\n" if wanting else _STOPS))
        tail = self._since[last:] if last >= 0 else ""
        # A line end alone is ready; what is waited for now is the first word behind it, as behind a stop.
        tail = f". {tail[1:]}" if tail[:1] == "\n" else tail
        self._since = "" if _READY.search(tail) else tail
