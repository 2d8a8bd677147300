"""The cross-encoder: a frozen base, low-rank changes in its layers, and a head over both texts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel

from nli.config import Config


class LoraLinear(nn.Module):
    """A frozen linear layer plus `scale * B(A x)`."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.base = base
        self.scale = alpha / rank
        self.down = nn.Parameter(torch.empty(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """The layer's output."""
        return self.base(x) + F.linear(F.linear(x, self.down), self.up * self.scale)


class Head(nn.Module):
    """Logits of a pair out of the pooled texts, plus the doubt at each token of the claim.

    The doubts (contradicted, neither) of the claim's tokens are pooled by log-mean-exp, a soft maximum: one
    wrong word is enough. They are what names the wrong words.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.mix = nn.Linear(4 * width, hidden)
        self.out = nn.Linear(hidden, 3)
        self.token = nn.Linear(width, 2)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)
        nn.init.normal_(self.token.weight, std=0.02)
        nn.init.zeros_(self.token.bias)

    def forward(self, states: Tensor, evidence: Tensor, claim: Tensor) -> tuple[Tensor, Tensor]:
        """Pair logits (rows, 3) and token doubts (rows, length, 2); the masks tell the texts' tokens."""
        u, v = _mean(states, evidence), _mean(states, claim)
        features = torch.cat([u, v, (u - v).abs(), u * v], -1)
        pooled = F.gelu(self.mix(F.layer_norm(features, features.shape[-1:])))
        doubts = self.token(states)
        hidden = doubts.masked_fill(claim[..., None] == 0, -1e4)
        soft = hidden.logsumexp(1) - claim.sum(1, keepdim=True).clamp(min=1).log()
        return self.out(pooled) + F.pad(soft, (1, 0)), doubts


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    weights = mask[..., None].to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded pairs: token ids, attention mask, and which tokens are evidence and claim."""

    ids: Tensor
    mask: Tensor
    evidence: Tensor
    claim: Tensor

    def to(self, device: torch.device) -> Batch:
        """The same batch on a device."""
        return Batch(
            *(one.to(device, non_blocking=True) for one in (self.ids, self.mask, self.evidence, self.claim))
        )


class NliModel(nn.Module):
    """Base encoder with low-rank changes, and the head."""

    def __init__(self, base: Path, config: Config) -> None:
        super().__init__()
        torch.manual_seed(config.seed)
        self.encoder = AutoModel.from_pretrained(base, add_pooling_layer=False, dtype=torch.float32)
        self.encoder.eval()
        for parameter in self.encoder.parameters():
            parameter.requires_grad_(False)
        for layer in self.encoder.encoder.layer[config.lora_from_layer :]:
            _add_lora(layer, config)
        self.head = Head(self.encoder.config.hidden_size, config.head_hidden)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Pair logits and token doubts."""
        states = self.encoder(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
        return self.head(states.float(), batch.evidence, batch.claim)

    def trained(self) -> dict[str, Tensor]:
        """The tensors that training changes, by name."""
        return {name: value for name, value in self.named_parameters() if value.requires_grad}

    def save_trained(self, path: Path, dtype: torch.dtype = torch.float32) -> None:
        """Writes only what training changed."""
        save_file(
            {name: value.detach().to(dtype).contiguous() for name, value in self.trained().items()}, path
        )

    def load_trained(self, path: Path) -> None:
        """Reads what `save_trained` wrote. Raises `ValueError` where the tensors are of another model."""
        tensors = load_file(path)
        mine = self.trained()
        if tensors.keys() != mine.keys():
            raise ValueError(f"{path} holds tensors of another model")
        with torch.no_grad():
            for name, value in tensors.items():
                mine[name].copy_(value.float())


def _add_lora(layer: nn.Module, config: Config) -> None:
    for name, module in list(layer.named_modules()):
        if isinstance(module, nn.Linear):
            parent = layer.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], LoraLinear(module, config.lora_rank, config.lora_alpha))
