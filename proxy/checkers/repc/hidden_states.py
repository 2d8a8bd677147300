"""Claims and evidence as a model reads them: windows of token ids.

Evidence cut into overlapping windows of tokens.

A model's hidden states: one vector a layer for each window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from proxy.checkers.windows import LEAST_ROOM, Window, leading_title, nearest
from proxy.errors import ConfigError
from proxy.model_files import find_model, load_transformer, model_checksum
from proxy.types import Pair, Precision

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


Bounds = tuple[int, int]

_SHARED = 0.25
"""What a window has in common with the one before, as a share of its tokens."""


def windows(tokens: int, room: int) -> list[Bounds]:
    """The bounds of windows of `room` tokens that cover all `tokens`; the last one ends where they end."""
    if tokens <= room:
        return [(0, tokens)] if tokens else []
    step = max(1, room - int(room * _SHARED))
    firsts = takewhile(lambda first: first + room < tokens, range(0, tokens, step))
    return [*((first, first + room) for first in firsts), (tokens - room, tokens)]


States = NDArray[np.float16]
Pooling = Literal["claim", "cls", "mean"]

_LARGEST = float(np.finfo(np.float16).max)
_SAME = 1e-4
_PROBES = ((5, 6, 7), (5, 6, 8))


class HiddenStates:
    """Any encoder or decoder that transformers loads, by its name, a folder or its hub id. Blocking.

    Args:
        pooling: whose state is a layer's. `claim`: of a decoder the last token's, as RefChecker takes it; of
            an encoder, which has no token that knows all others alone, the mean of the claim's tokens. `cls`:
            the first token's. `mean`: the mean of all.
        max_tokens: of one window, the claim's included.

    Raises:
        ConfigError: the model can't be found or loaded, or its own window is shorter than `max_tokens`.
    """

    def __init__(
        self,
        model: str,
        *,
        max_tokens: int,
        pooling: Pooling = "claim",
        precision: Precision = "auto",
    ) -> None:
        folder = find_model(model)
        self.name = model
        self.checksum = model_checksum(folder)
        self._model, tokenizer = load_transformer(folder, precision, name=model)
        limit = _limit(self._model.config, tokenizer)
        if max_tokens > limit:
            raise ConfigError(f"The model {model} reads at most {limit} tokens, not {max_tokens}.")
        pad = tokenizer.pad_token_id
        self._padding = pad if pad is not None else tokenizer.eos_token_id or 0
        self.causal, self.layers, self.hidden_size = self._probe()
        self.pooling = pooling
        self.reader = Reader(tokenizer, max_tokens, causal=self.causal)

    @property
    def dtype(self) -> str:
        """What it computes in."""
        return str(self._model.dtype).removeprefix("torch.")

    def read(self, windows: Sequence[ClaimWindow]) -> States:
        """Shape (len(windows), layers, hidden size), computed at once. Layer 1 is the first row.

        The embeddings under the first layer are left out. A window whose states are not all finite is NaN all
        over; values beyond float16 are brought back to its largest.
        """
        length = max(window.length for window in windows)
        mask = torch.tensor([[1] * one.length + [0] * (length - one.length) for one in windows])
        inputs = {
            name: torch.tensor([_padded(one.inputs[name], length, self._fill(name)) for one in windows])
            for name in windows[0].inputs
            if name != "attention_mask"
        }
        layers = self._forward({**inputs, "attention_mask": mask})
        weights = torch.tensor([_SHARES[self.pooling](one, length) for one in windows])
        weights = weights.to(layers[0].device).unsqueeze(2)
        pooled = torch.stack([(layer.float() * weights).sum(dim=1) for layer in layers], dim=1)
        finite = pooled.isfinite().all(dim=2, keepdim=True).all(dim=1, keepdim=True)
        kept = torch.where(finite, pooled.clamp(-_LARGEST, _LARGEST), torch.nan)
        states: States = kept.half().cpu().numpy()
        return states

    def _fill(self, name: str) -> int:
        return int(self._padding) if name == "input_ids" else 0

    def _forward(self, inputs: dict[str, torch.Tensor]) -> Sequence[torch.Tensor]:
        """The output of each layer, shape (rows, tokens, hidden size)."""
        with torch.inference_mode():
            placed = {name: tensor.to(self._model.device) for name, tensor in inputs.items()}
            output = self._model(**placed, output_hidden_states=True)
        return list(output.hidden_states[1:])

    def _probe(self) -> tuple[bool, int, int]:
        """Whether it is a decoder, its layers and its hidden size.

        A decoder's first token knows nothing of those after it: exchanging one leaves it as it is.
        """
        self._model.config.use_cache = False
        size = int(self._model.config.vocab_size)
        ids = torch.tensor(_PROBES) % size
        layers = self._forward({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
        one, other = layers[-1][:, 0].float()
        causal = bool((one - other).norm() <= _SAME * one.norm())
        return causal, len(layers), layers[-1].shape[-1]


def _shares(first: int, last: int, length: int) -> list[float]:
    """What each of `length` tokens counts in the mean of those from `first` to `last`."""
    return [1 / (last - first) if first <= at < last else 0.0 for at in range(length)]


_SHARES: Mapping[Pooling, Callable[[ClaimWindow, int], list[float]]] = {
    "claim": lambda window, length: _shares(*window.claim, length),
    "cls": lambda _, length: _shares(0, 1, length),
    "mean": lambda window, length: _shares(0, window.length, length),
}


def _padded(row: Sequence[int], length: int, fill: int) -> list[int]:
    return [*row, *[fill] * (length - len(row))]


def _limit(config: Any, tokenizer: Any) -> int:
    """The tokens a model can read. Tokenizers that do not know say a number with thirty digits."""
    return int(min(getattr(config, "max_position_embeddings", None) or 2**30, tokenizer.model_max_length))
