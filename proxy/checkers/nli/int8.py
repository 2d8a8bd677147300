"""Layers that multiply eight-bit integers: faster on processors with VNNI, and half the memory of bfloat16.

Weights have a scale for each output, inputs one for each token, computed when they come (Dettmers et al.
2022, LLM.int8(), without its outliers). docs/model-card.md has the figures.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_LEAST_WIDTH = 768
"""Inputs of a layer from which eight bits are faster than bfloat16."""
_ROWS = 160
"""Tokens that are computed at once: more fall out of the processor's cache."""


class Int8Linear(nn.Module):
    """A linear layer with the weights of another one, rounded to eight bits."""

    weight: Tensor
    scale: Tensor
    bias: Tensor

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        weights = layer.weight.detach().float()
        scale = _scale(weights)
        self.register_buffer("weight", _rounded(weights, scale).t())
        self.register_buffer("scale", scale[:, 0])
        self.register_buffer("bias", layer.bias.detach().float())

    def forward(self, states: Tensor) -> Tensor:
        """The outputs for `states` of shape (..., inputs), in their type."""
        rows = states.reshape(-1, states.shape[-1])
        outputs = torch.empty(len(rows), len(self.bias), dtype=states.dtype)
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            scale = _scale(some)
            products = torch._int_mm(_rounded(some, scale), self.weight) * self.scale
            outputs[start : start + _ROWS] = torch.addcmul(self.bias, products, scale, out=products)
        return outputs.view(*states.shape[:-1], len(self.bias))


def use_int8(model: nn.Module, device: torch.device) -> None:
    """Replaces the layers of a model that gain by it, where the processor multiplies eight-bit integers."""
    if device.type != "cpu" or not torch.cpu._is_vnni_supported():
        return
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if isinstance(layer, nn.Linear) and _gains(layer):
                setattr(parent, name, Int8Linear(layer))


def _gains(layer: nn.Linear) -> bool:
    return layer.weight.dtype == torch.float32 or layer.in_features >= _LEAST_WIDTH


def _scale(rows: Tensor) -> Tensor:
    """What 1 stands for in each row, in float32."""
    return rows.abs().amax(-1, keepdim=True).float().clamp_(min=1e-12).div_(127)


def _rounded(rows: Tensor, scale: Tensor) -> Tensor:
    return torch.div(rows, scale).round_().to(torch.int8)
