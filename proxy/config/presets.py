"""Presets: one name for how replies are streamed, corrected and shown. Single options override a preset's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proxy.types import Correction, OnUnsupported, PresetName, RegenerationMode, StreamMode


@dataclass(frozen=True, slots=True)
class Preset:
    """The values of the options that a preset decides, where neither the settings nor the request name one.

    Attributes:
        stream_mode: when text is sent.
        correction: whether a stream is corrected while it is sent.
        max_rounds: how often a reply is corrected at most.
        regeneration: what the model rewrites.
        fallback: whether the sentences that failed are asked for one at a time where nothing else helped.
        on_unsupported: what happens to a claim that still fails.
        fail_closed: whether a reply that can't be checked is refused.
        notice: whether a line says that most of a reply failed, or that it could not be checked.
    """

    stream_mode: StreamMode = "auto"
    correction: Correction = "none"
    max_rounds: int = 1
    regeneration: RegenerationMode = "whole"
    fallback: bool = True
    on_unsupported: OnUnsupported = "mark"
    fail_closed: bool = False
    notice: bool = True


PRESETS: Mapping[PresetName, Preset] = {
    "reader": Preset(correction="sentences"),
    "strict": Preset(stream_mode="buffer", on_unsupported="drop", fail_closed=True),
    "report": Preset(stream_mode="passthrough", max_rounds=0, on_unsupported="keep", notice=False),
    "papers": Preset(stream_mode="buffer", fallback=False, on_unsupported="keep", notice=False),
}
"""`reader` sends each sentence once it is checked, corrects what fails on the way and marks what still fails.
`strict` shows nothing that was not found in the sources. `report` leaves the text untouched and only reports
verdicts. `papers` is Citation-Enhanced Generation as published: the whole reply is re-prompted, and the best
draft is returned without warnings."""

DOES: Mapping[PresetName, str] = {
    "reader": "sentences are sent once they are checked; one that fails is corrected, or else marked",
    "strict": "nothing is sent before all is checked; sentences that fail are corrected, or else left out",
    "report": "the text is left as the model writes it; the verdicts come with it",
    "papers": "the whole reply is checked, and asked for again if sentences fail; the best draft is sent",
}
"""What each preset does, for whoever starts the server."""

DECIDED = frozenset(
    {"mode", "correction", "max_rounds", "fallback", "on_unsupported", "fail_closed", "notice"}
)
"""The keys of the settings that a preset decides."""
