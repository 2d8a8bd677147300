"""When the text of a reply may leave, and how it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from proxy.citations.place import Annotated, annotate
from proxy.types import Aggregation, CitationStyle, Finding, Passage, StreamMode


def _own_url(passage: Passage) -> str:
    return passage.url


@dataclass(frozen=True, slots=True)
class Rendering:
    """How a checked reply shows for a client.

    Attributes:
        url_of: the URL of a passage that has none of its own.
        style: how citation markers are written.
        numbers: the numbers that the client gave its documents, by document id.
        warning: the marker behind a claim that failed; empty for none.
        aggregation: how the verdicts of a reply's claims become one.
    """

    url_of: Callable[[Passage], str] = _own_url
    style: CitationStyle = "brackets"
    numbers: Mapping[str, int] = field(default_factory=dict)
    warning: str = ""
    aggregation: Aggregation = "strict"

    def annotated(self, text: str, findings: Sequence[Finding], *, editable: bool = True) -> Annotated:
        """The text with its markers; without any where it may not be edited."""
        style, warning = (self.style, self.warning) if editable else ("none", "")
        return annotate(text, findings, style, self.url_of, self.numbers, warning)


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """What of a reply may leave when.

    Attributes:
        mode: `sentence` lets each sentence go once it is checked, `buffer` the whole reply at its end,
            `passthrough` everything at once, with the verdicts at the end. Never `auto`.
        rendering: how the text shows.
        corrections: how many times a stream may be corrected from its last claim that holds.
        prefill: whether the upstream continues an unfinished turn of the assistant's.
        fail_closed: whether a reply that could not be checked is an error instead.
        progress: whether a reply that waits for its end tells how many claims are checked.
        max_reply_bytes: size of a reply over which it is an error.
    """

    mode: StreamMode = "buffer"
    rendering: Rendering = field(default_factory=Rendering)
    corrections: int = 0
    prefill: bool = False
    fail_closed: bool = False
    progress: bool = False
    max_reply_bytes: int = 20_000_000
