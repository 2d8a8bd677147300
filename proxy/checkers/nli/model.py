"""The cross-encoder: a pretrained encoder reads evidence and claim together, a head classifies the pair.

Input is `<s> evidence </s></s> claim </s>`. The head gives three logits for the pair (entailment,
contradiction, neutral).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModel, PretrainedConfig
from transformers.initialization import no_init_weights

from proxy.checkers.nli.attention import (
    Encoder,
    attention_of,
    layer_output,
    scores_added,
    use_served_attention,
)
from proxy.checkers.nli.batch import Batch
from proxy.checkers.nli.packed import PACKED, PackedEmbedding, read_packed
from proxy.checkers.nli.pruning import Pruning, pruned
from proxy.types import NLILabel

LABELS: tuple[NLILabel, ...] = ("entailment", "contradiction", "neutral")
"""The classes, in the order of the logits."""
LORA_DOWN, LORA_UP = ".lora_down", ".lora_up"
"""Suffixes of an adapter's tensors: a layer's weight is W + up @ down (Hu et al. 2021)."""
_MASKED = -1e4
_WEIGHTS = "model.safetensors"
_VOCABULARY = "embeddings.word_embeddings.weight"


class Head(nn.Module):
    """Classifies a pair by the means of both texts, and by the doubt at each token of the claim.

    A token's two doubts (contradiction, neutral) are added to the pair's logits by a soft maximum over the
    claim: one wrong word is enough.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.mix = nn.Linear(4 * width, hidden)
        self.out = nn.Linear(hidden, len(LABELS))
        self.token = nn.Linear(width, 2)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)
        nn.init.normal_(self.token.weight, std=0.02)
        nn.init.zeros_(self.token.bias)

    def forward(self, states: Tensor, evidence: Tensor, claim: Tensor) -> Tensor:
        """Logits of shape (pairs, 3). `states` is of shape (pairs, length, width), the masks are of shape
        (pairs, length)."""
        u, v = _mean(states, evidence), _mean(states, claim)
        features = torch.cat([u, v, (u - v).abs(), u * v], -1)
        mixed = functional.gelu(self.mix(functional.layer_norm(features, features.shape[-1:])))
        doubts: Tensor = self.token(states)
        of_claim = doubts.masked_fill(claim[..., None] == 0, _MASKED)
        worst = of_claim.logsumexp(1) - claim.sum(1, keepdim=True).clamp(min=1).log()
        logits: Tensor = self.out(mixed) + functional.pad(worst, (1, 0))
        return logits


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    weights = mask[..., None].to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


class NLIModel(nn.Module):
    """An encoder and the head. `hidden` is the width of the head's hidden layer."""

    def __init__(self, encoder: Encoder, hidden: int, pruning: Pruning | None) -> None:
        super().__init__()
        if pruning and pruning.layer >= len(encoder.encoder.layer):
            raise ValueError(f"the base model has no layer {pruning.layer} to drop tokens at")
        self._pruning = pruning
        self.encoder = encoder
        self.head = Head(encoder.config.hidden_size, hidden)

    def forward(self, batch: Batch) -> Tensor:
        """The logits of a batch, of shape (pairs, 3)."""
        states = self.encoder.embeddings(input_ids=batch.ids)
        added = scores_added(self.encoder, states, batch.mask)
        for number, layer in enumerate(self.encoder.encoder.layer):
            if self._pruning and number == self._pruning.layer:
                states, added, batch = pruned(self._pruning, attention_of(layer), states, added, batch)
            states = layer_output(layer, states, added)
        logits: Tensor = self.head(states.float(), batch.evidence, batch.claim)
        return logits


def load_base(folder: Path, hidden: int, pruning: Pruning | None = None) -> NLIModel:
    """The pretrained encoder of a folder, in float32, with an untrained head.

    The folder is a transformers one, or one whose weights are packed (see `packed`). Raises `OSError`,
    `ValueError`, `KeyError`, `RuntimeError` or `SafetensorError` where it is missing or broken.
    """
    config = _config(folder)
    if (folder / PACKED).exists():
        encoder = AutoModel.from_config(config, add_pooling_layer=False, dtype=torch.float32)
        encoder.load_state_dict(dict(read_packed(folder / PACKED)))
    else:
        encoder = AutoModel.from_pretrained(
            folder, config=config, add_pooling_layer=False, dtype=torch.float32, local_files_only=True
        )
    return NLIModel(encoder.eval(), hidden, pruning)


def load_adapted(
    folder: Path,
    hidden: int,
    adapter: Mapping[str, Tensor],
    dtype: torch.dtype,
    pruning: Pruning | None = None,
) -> NLIModel:
    """A model to serve: the encoder of a folder with an adapter's low-rank changes to its layers, in `dtype`,
    and the adapter's head. A packed vocabulary stays packed.

    The changes are made in float32, one tensor at a time, so that there is never a whole model of that size
    in memory. Raises as `load_base` does, and `KeyError` or `RuntimeError` for an adapter that fits no layer.
    """
    config = _config(folder)
    with no_init_weights():
        encoder = AutoModel.from_config(config, add_pooling_layer=False, dtype=dtype)
    if (folder / PACKED).exists():
        encoder.set_input_embeddings(PackedEmbedding(folder / PACKED, _VOCABULARY, dtype))
    model = NLIModel(encoder.eval(), hidden, pruning)
    left, changes = dict(model.named_parameters()), dict(adapter)
    with torch.no_grad():
        for name, tensor in _tensors(folder):
            parameter = left.pop(f"encoder.{name}", None)
            layer = f"encoder.{name.removesuffix('.weight')}"
            if parameter is not None and (up := changes.pop(f"{layer}{LORA_UP}", None)) is not None:
                tensor = tensor.float() + up.float() @ changes.pop(f"{layer}{LORA_DOWN}").float()
            if parameter is not None:
                parameter.copy_(tensor)
        for name in [name for name in changes if name in left]:
            left.pop(name).copy_(changes.pop(name))
    if left or changes:
        raise KeyError(f"{next(iter(changes or left))} is in one of base model and adapter only")
    use_served_attention(encoder)
    return model


def _config(folder: Path) -> PretrainedConfig:
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    if config.model_type not in ("bert", "mpnet"):
        raise ValueError(f"{folder} has a {config.model_type}: only BERT and MPNet can be a base model")
    return config


def _tensors(folder: Path) -> Iterator[tuple[str, Tensor]]:
    """The encoder's weights by name, one after the other."""
    if (folder / PACKED).exists():
        yield from read_packed(folder / PACKED, but=_VOCABULARY)
    elif (folder / _WEIGHTS).exists():
        with safe_open(folder / _WEIGHTS, "pt") as file:
            names = list(file.keys())
        for name in names:  # mapped one at a time: what is mapped counts as memory until the file is closed
            with safe_open(folder / _WEIGHTS, "pt") as file:
                yield name, file.get_tensor(name)
    else:
        yield from AutoModel.from_pretrained(folder, local_files_only=True).state_dict().items()
