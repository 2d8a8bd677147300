"""Pairs as a model reads them: windows of the evidence, the whole claim in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from proxy.backends.checkers.windows import LEAST_ROOM, Window, leading_title, nearest
from proxy.types import Pair


class Token(NamedTuple):
    """A token of an evidence with its title, and where in that text it stands."""

    id: int
    start: int
    end: int


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
        ids = {row: [token.id for token in tokens] for row, tokens in read.items()}
        return [self._window(cut, row, read[row], len(head)) for row in nearest(ids, claim, self.max_windows)]

    def _window(self, cut: Any, row: int, evidence: Sequence[Token], head: int) -> Window:
        names = [name for name in self.tokenizer.model_input_names if name in cut]
        span = max(0, evidence[0].start - head), evidence[-1].end - head
        return Window({name: cut[name][row] for name in names}, span)

    def _tokens(self, *texts: str, **options: Any) -> Any:
        """What looks like one of the model's special tokens in a text is text."""
        return self.tokenizer(*texts, split_special_tokens=True, verbose=False, **options)


def _evidence(cut: Any, row: int, head: int) -> list[Token]:
    """The evidence's tokens in one row of the tokenizer's output, those of the title before it left out."""
    columns = zip(cut["input_ids"][row], cut["offset_mapping"][row], cut.sequence_ids(row), strict=True)
    return [Token(one, *span) for one, span, segment in columns if segment == 0 and span[1] > head]


def _head(pair: Pair) -> str:
    title = leading_title(pair)
    return f"{title}\n" if title else ""
