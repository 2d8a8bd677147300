"""A labelled row that is learnt from, or calibrated on."""

from __future__ import annotations

from dataclasses import replace

from evaluation.datasets import Row
from proxy.checkers.nli.model import LABELS
from proxy.types import Page, Pair

NOT_SUPPORTED = -1
"""The class of a row whose source does not tell contradicted from unsupported."""
_CLASSES = {
    "supported": LABELS.index("entailment"),
    "contradicted": LABELS.index("contradiction"),
    "unsupported": LABELS.index("neutral"),
    "not_supported": NOT_SUPPORTED,
}


class TrainingRow(Row):
    """A labelled row that can be told from others."""

    id: str
    title: str = ""
    other_title: str = ""
    other: str = ""
    """Another passage, which is read in the same window, and its title."""
    topic: str = ""
    context: str | None = None
    """What the claim of a reply stands under, and what it needs to be understood: see `proxy.types.Context`.
    Without a context the claim is read as the only one of its reply."""

    @property
    def label_class(self) -> int:
        """The index in the model's `LABELS`, or `NOT_SUPPORTED`."""
        return _CLASSES[self.label]

    def pair(self) -> Pair:
        """The row as the proxy would ask it."""
        pair = super().pair()
        context = pair.context if self.context is None else self.context
        others = (Page(self.other, self.other_title),) if self.other else ()
        title = pair.title or self.title
        return replace(pair, title=title, others=others, context=context, topic=self.topic, question="")
