"""Claims and evidence as a model reads them: windows of token ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proxy.backends.checkers.repc.windows import windows
from proxy.backends.checkers.windows import LEAST_ROOM, Window, leading_title, nearest
from proxy.types import Pair

MAX_WINDOWS = 16
"""Windows of one evidence that are read: those with most of the claim's tokens, where there are more."""

_SLACK = 4
"""Tokens kept free: a text cut out of another may have a few tokens more than it had inside it."""


@dataclass(frozen=True, slots=True)
class ClaimWindow(Window):
    """A window with `claim`: where among the tokens an encoder has the claim, and a decoder what it makes of
    it, the last token."""

    claim: tuple[int, int]


class Reader:
    """Turns pairs into windows of at most `max_tokens`. The claim is whole in each.

    A decoder reads one text that ends where it would have to answer; an encoder reads evidence and claim as
    its two segments. The title of the evidence, where there is one, stands before each window. The question
    and the context of the claim are not read.
    """

    def __init__(self, tokenizer: Any, max_tokens: int, *, causal: bool) -> None:
        self._tokenizer = tokenizer
        self.max_tokens = max_tokens
        self._causal = causal

    def read(self, pair: Pair, most: int = MAX_WINDOWS) -> list[ClaimWindow]:
        """The pair's windows, at most `most`; none where there is no evidence.

        Raises:
            ValueError: the claim is so long that no evidence fits beside it.
        """
        if not pair.evidence.strip():
            return []
        head = _head(pair)
        room = self.max_tokens - _SLACK - len(self._encoded(head, pair.claim)["input_ids"])
        if room < LEAST_ROOM:
            raise ValueError(f"the claim leaves no room for evidence in {self.max_tokens} tokens")
        evidence = self._tokens(pair.evidence, return_offsets_mapping=True)
        ids, offsets = evidence["input_ids"], evidence["offset_mapping"]
        claim = self._tokens(pair.claim)["input_ids"]
        bounds = windows(len(ids), room)
        kept = nearest({at: ids[slice(*one)] for at, one in enumerate(bounds)}, claim, most)
        return [self._window(pair, head, offsets, *bounds[at]) for at in kept]

    def _window(
        self, pair: Pair, head: str, offsets: Sequence[tuple[int, int]], first: int, last: int
    ) -> ClaimWindow:
        """The evidence's tokens from `first` to `last`, or a few less where they have become too many."""
        span = offsets[first][0], offsets[last - 1][1]
        encoded = self._encoded(head + pair.evidence[slice(*span)], pair.claim)
        excess = len(encoded["input_ids"]) - self.max_tokens
        if excess <= 0:
            return ClaimWindow(dict(encoded), span, self._claim(encoded))
        if last - excess <= first:
            raise ValueError(f"the evidence can't be cut to {self.max_tokens} tokens")
        return self._window(pair, head, offsets, first, last - excess)

    def _encoded(self, evidence: str, claim: str) -> Any:
        texts = (_prompt(evidence, claim),) if self._causal else (evidence, claim)
        return self._tokenizer(*texts, split_special_tokens=True, verbose=False)

    def _claim(self, encoded: Any) -> tuple[int, int]:
        length = len(encoded["input_ids"])
        segments = encoded.sequence_ids(0)
        places = [length - 1] if self._causal else [at for at in range(length) if segments[at] == 1]
        if not places:
            raise ValueError("the claim has no tokens")
        return places[0], places[-1] + 1

    def _tokens(self, text: str, **options: bool) -> Mapping[str, Any]:
        """A text without the model's special tokens; what looks like one in it is text."""
        tokens: Mapping[str, Any] = self._tokenizer(
            text, add_special_tokens=False, split_special_tokens=True, verbose=False, **options
        )
        return tokens


def _prompt(evidence: str, claim: str) -> str:
    """What a decoder reads. RefChecker's own is in the chat format of the one model that it was made for."""
    return (
        "Decide whether the evidence supports the claim, contradicts it, or neither.\n"
        f"Evidence: {evidence}\nClaim: {claim}\nThe evidence"
    )


def _head(pair: Pair) -> str:
    title = leading_title(pair)
    return f"{title}. " if title else ""
