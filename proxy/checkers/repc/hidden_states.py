"""A model's hidden states for claims and evidence: one vector per layer and window of tokens."""

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
"""Windows of one passage that are read: those that share most tokens with the claim."""

_SLACK = 4
"""Tokens kept free: a text may have a few more tokens alone than it had inside a longer one."""


@dataclass(frozen=True, slots=True)
class ClaimWindow(Window):
    """A window with `claim`, the bounds of the tokens whose states tell about the claim (end exclusive).

    In an encoder these are the claim's own tokens, in a decoder the text's last one.
    """

    claim: tuple[int, int]


class Reader:
    """Turns pairs into windows of at most `max_tokens`. The claim is whole in each.

    A decoder reads one text that ends where its answer would begin; an encoder reads evidence and claim as
    two segments. The title of the evidence, if it has one, goes before each window. The claim's question and
    context are not read.
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
        room = self.max_tokens - _SLACK - len(self._encoded(head, pair.statement)["input_ids"])
        if room < LEAST_ROOM:
            raise ValueError(f"the claim leaves no room for evidence in {self.max_tokens} tokens")
        evidence = self._tokens(pair.evidence, return_offsets_mapping=True)
        ids, offsets = evidence["input_ids"], evidence["offset_mapping"]
        claim = self._tokens(pair.statement)["input_ids"]
        bounds = windows(len(ids), room)
        kept = nearest({n: ids[first:last] for n, (first, last) in enumerate(bounds)}, claim, most)
        return [self._window(pair, head, offsets, *bounds[n]) for n in kept]

    def _window(
        self, pair: Pair, head: str, offsets: Sequence[tuple[int, int]], first: int, last: int
    ) -> ClaimWindow:
        """The window of the evidence's tokens from `first` to `last`, or a few less if they do not fit."""
        span = offsets[first][0], offsets[last - 1][1]
        encoded = self._encoded(head + pair.evidence[slice(*span)], pair.statement)
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
        places = [length - 1] if self._causal else [n for n in range(length) if segments[n] == 1]
        if not places:
            raise ValueError("the claim has no tokens")
        return places[0], places[-1] + 1

    def _tokens(self, text: str, **options: bool) -> Mapping[str, Any]:
        """The text's tokens, none of them special: what looks like a special token is read as text."""
        tokens: Mapping[str, Any] = self._tokenizer(
            text, add_special_tokens=False, split_special_tokens=True, verbose=False, **options
        )
        return tokens


def _prompt(evidence: str, claim: str) -> str:
    """What a decoder reads. RefChecker's prompt has the chat format of the one model that it was made for."""
    return (
        "Decide whether the evidence supports the claim, contradicts it, or neither.\n"
        f"Evidence: {evidence}\nClaim: {claim}\nThe evidence"
    )


def _head(pair: Pair) -> str:
    title = leading_title(pair)
    return f"{title}. " if title else ""


Bounds = tuple[int, int]

_SHARED = 0.25
"""Share of its tokens that a window has in common with the one before."""


def windows(tokens: int, room: int) -> list[Bounds]:
    """The bounds of overlapping windows of `room` tokens that cover all `tokens`, up to the last one."""
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
    """Any encoder or decoder that transformers loads, by name, folder or hub id. Blocking.

    Args:
        pooling: which token's state stands for a layer. `claim`: in a decoder the last one's, as in
            RefChecker; in an encoder, where no single token sums up the text, the mean over the claim's
            tokens. `cls`: the first one's. `mean`: the mean over all.
        max_tokens: of one window with the claim.

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
        """The number format that it computes in."""
        return str(self._model.dtype).removeprefix("torch.")

    def read(self, windows: Sequence[ClaimWindow]) -> States:
        """Shape (len(windows), layers, hidden size), computed in one batch.

        Row 0 is layer 1; the embeddings below it are left out. If a window has a state that is not finite,
        all its states are NaN. Values beyond the range of float16 are clipped to it.
        """
        length = max(window.length for window in windows)
        mask = torch.tensor([[1] * window.length + [0] * (length - window.length) for window in windows])
        inputs = {
            name: torch.tensor([_padded(window.inputs[name], length, self._fill(name)) for window in windows])
            for name in windows[0].inputs
            if name != "attention_mask"
        }
        layers = self._forward({**inputs, "attention_mask": mask})
        weights = torch.tensor([_SHARES[self.pooling](window, length) for window in windows])
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
        """Whether the model is a decoder, its number of layers and its hidden size.

        In a decoder, the state of the first token does not depend on the tokens after it.
        """
        self._model.config.use_cache = False
        size = int(self._model.config.vocab_size)
        ids = torch.tensor(_PROBES) % size
        layers = self._forward({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
        first, second = layers[-1][:, 0].float()
        causal = bool((first - second).norm() <= _SAME * first.norm())
        return causal, len(layers), layers[-1].shape[-1]


def _shares(first: int, last: int, length: int) -> list[float]:
    """The weights of `length` tokens in the mean over those from `first` to `last`."""
    return [1 / (last - first) if first <= token < last else 0.0 for token in range(length)]


_SHARES: Mapping[Pooling, Callable[[ClaimWindow, int], list[float]]] = {
    "claim": lambda window, length: _shares(*window.claim, length),
    "cls": lambda _, length: _shares(0, 1, length),
    "mean": lambda window, length: _shares(0, window.length, length),
}


def _padded(row: Sequence[int], length: int, fill: int) -> list[int]:
    return [*row, *[fill] * (length - len(row))]


def _limit(config: Any, tokenizer: Any) -> int:
    """The tokens a model can read. A tokenizer that does not know names a number with thirty digits."""
    return int(min(getattr(config, "max_position_embeddings", None) or 2**30, tokenizer.model_max_length))
