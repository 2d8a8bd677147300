"""Pairs as a model reads them: windows of the evidence, the whole claim in each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from proxy.types import Pair

LEAST_ROOM = 16
"""Tokens of evidence that a window must have room for."""

MAX_TITLE_CHARS = 200


class Token(NamedTuple):
    """A token of an evidence with its title, and where in that text it stands."""

    id: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Window:
    """A window of an evidence with its claim: by name the model's inputs, rows of `length` integers.

    `span` is the window's place in `Pair.evidence`, in code points.
    """

    inputs: Mapping[str, Sequence[int]]
    span: tuple[int, int]

    @property
    def length(self) -> int:
        """In tokens, all told."""
        return len(self.inputs["input_ids"])


@dataclass(frozen=True, slots=True)
class Reader:
    """Cuts pairs into windows of at most `max_tokens`, each sharing `overlap` tokens with the one before.

    Evidence is the first segment, claim the second. The evidence's title, where there is one, goes before the
    evidence. Of an evidence of many windows those `max_windows` are kept that have most in common with the
    claim. `tokenizer` is a fast one of transformers.
    """

    tokenizer: Any
    max_tokens: int
    overlap: int
    max_windows: int

    def read(self, pair: Pair) -> list[Window]:
        """The windows in the order of the evidence; none where the evidence or the claim has no tokens.

        Raises:
            ValueError: there is no room for evidence beside the claim.
        """
        claim = self._tokens(pair.claim, add_special_tokens=False)["input_ids"]
        if not claim:
            return []
        room = self.max_tokens - len(claim) - self.tokenizer.num_special_tokens_to_add(pair=True)
        if room < LEAST_ROOM:
            raise ValueError(f"the claim leaves no room for evidence in the model's {self.max_tokens} tokens")
        head = _head(pair)
        cut = self._tokens(
            head + pair.evidence,
            pair.claim,
            truncation="only_first",
            max_length=self.max_tokens,
            stride=min(self.overlap, room // 2),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        rows = {row: _evidence(cut, row, len(head)) for row in range(len(cut["input_ids"]))}
        read = {row: tokens for row, tokens in rows.items() if tokens}
        return [
            self._window(cut, row, read[row], len(head)) for row in nearest(read, claim, self.max_windows)
        ]

    def _window(self, cut: Any, row: int, evidence: Sequence[Token], head: int) -> Window:
        names = [name for name in self.tokenizer.model_input_names if name in cut]
        span = max(0, evidence[0].start - head), evidence[-1].end - head
        return Window({name: cut[name][row] for name in names}, span)

    def _tokens(self, *texts: str, **options: Any) -> Any:
        """What looks like one of the model's special tokens in a text is text."""
        return self.tokenizer(*texts, split_special_tokens=True, verbose=False, **options)


def nearest(windows: Mapping[int, Sequence[Token]], claim: Sequence[int], most: int) -> list[int]:
    """At most `most` windows, in their order: those that share most of the claim's tokens with it.

    A token counts the more the fewer windows have it.
    """
    if len(windows) <= most:
        return list(windows)
    wanted = frozenset(claim)
    held = {at: wanted.intersection(token.id for token in tokens) for at, tokens in windows.items()}
    spread = Counter(token for tokens in held.values() for token in tokens)
    weight = {token: math.log(1 + len(windows) / count) for token, count in spread.items()}
    worth = {at: math.fsum(weight[token] for token in tokens) for at, tokens in held.items()}
    return sorted(sorted(windows, key=lambda at: -worth[at])[:most])


def _evidence(cut: Any, row: int, head: int) -> list[Token]:
    """The evidence's tokens in one row of the tokenizer's output, those of the title before it left out."""
    columns = zip(cut["input_ids"][row], cut["offset_mapping"][row], cut.sequence_ids(row), strict=True)
    return [Token(one, *span) for one, span, segment in columns if segment == 0 and span[1] > head]


def _head(pair: Pair) -> str:
    title = pair.title.strip()[:MAX_TITLE_CHARS]
    return "" if not title or pair.evidence.lstrip().startswith(title) else f"{title}\n"
