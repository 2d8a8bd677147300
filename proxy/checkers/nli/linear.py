"""Linear layers that answer faster than PyTorch's on a processor. docs/model-card.md has the figures.

Some multiply eight-bit integers, which also takes less memory: weights have a scale for each output, inputs
one for each token, computed when they come (Dettmers et al. 2022, LLM.int8(), without its outliers). Others
lay their weights out once as oneDNN wants them, where PyTorch does that for each batch.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from transformers.activations import GELUActivation

_LEAST_WIDTH = 768
"""Inputs of a layer from which integers are faster than bfloat16, and seven bits than float32."""
_ACTIVATION = "intermediate_act_fn"
"""What transformers calls the function behind a layer, in BERT and MPNet."""
_ROWS = 160
"""Tokens that are computed at once: more fall out of the processor's cache."""
_PACKED_ROWS = 512
"""Tokens of a usual batch, for the layout of weights in bfloat16."""


class Int8Linear(nn.Module):
    """A linear layer with the weights of another one, rounded to eight bits, for processors with VNNI."""

    weight: Tensor
    scale: Tensor
    bias: Tensor
    most: ClassVar[int] = 127
    """The greatest absolute value of an input once it is rounded."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.register_buffer("bias", layer.bias.detach().float())
        weights = layer.weight.detach().float()
        scale = _scale(weights, 127)
        self.register_buffer("scale", scale[:, 0])
        self.register_buffer("weight", self._packed(_rounded(weights, scale)))

    def forward(self, states: Tensor) -> Tensor:
        """The outputs for `states` of shape (..., inputs), in their type."""
        rows = states.reshape(-1, states.shape[-1])
        outputs = torch.empty(len(rows), len(self.bias), dtype=states.dtype)
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            scale = _scale(some, self.most)
            products = self._products(some, scale)
            outputs[start : start + _ROWS] = torch.addcmul(self.bias, products, scale, out=products)
        return outputs.view(*states.shape[:-1], len(self.bias))

    def _packed(self, weights: Tensor) -> Tensor:
        """The rounded weights, of shape (outputs, inputs), as `_products` wants them."""
        return weights.t()

    def _products(self, rows: Tensor, scale: Tensor) -> Tensor:
        """The rows, each divided by its scale, times the weights; float32."""
        return torch._int_mm(_rounded(rows, scale), self.weight) * self.scale


class SevenBitLinear(Int8Linear):
    """The same for processors with AVX2 alone. Inputs have seven bits: pairs of products are added up in
    sixteen bits there, which eight would overflow."""

    zeros: Tensor
    most = 63

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer)
        self.register_buffer("zeros", torch.zeros(layer.out_features, dtype=torch.int32))

    def _packed(self, weights: Tensor) -> Tensor:
        packed: Tensor = torch.ops.onednn.qlinear_prepack(weights, [_ROWS, weights.shape[1]])
        return packed

    def _products(self, rows: Tensor, scale: Tensor) -> Tensor:
        inputs = torch.div(rows, scale).add_(self.most).round_().to(torch.uint8)  # they must not be negative
        products: Tensor = torch.ops.onednn.qlinear_pointwise(
            inputs, 1.0, self.most, self.weight, self.scale, self.zeros,
            None, 1.0, 0, torch.float32, "none", [], "",
        )  # fmt: skip
        return products


class PackedLinear(nn.Module):
    """A linear layer in bfloat16, the weights laid out once, and GELU behind it where that is wished for."""

    def __init__(self, layer: nn.Linear, gelu: bool = False) -> None:
        super().__init__()
        self.register_buffer("bias", layer.bias.detach())
        self._weight: Tensor = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), _PACKED_ROWS)
        self._then: tuple[str, list[float], str] = ("gelu", [], "none") if gelu else ("none", [], "")

    def forward(self, states: Tensor) -> Tensor:
        """The outputs for `states` of shape (..., inputs)."""
        outputs: Tensor = torch.ops.mkldnn._linear_pointwise(states, self._weight, self.bias, *self._then)
        return outputs


def use_fast_layers(model: nn.Module, device: torch.device) -> None:
    """Replaces the linear layers of a model by those that are faster on this processor."""
    if device.type != "cpu":
        return
    for parent in list(model.modules()):
        for name, layer in list(parent.named_children()):
            if not isinstance(layer, nn.Linear):
                continue
            if (kind := _kind(layer)) is not None:
                setattr(parent, name, kind(layer))
            elif layer.weight.dtype == torch.bfloat16 and _packs():
                gelu = isinstance(getattr(parent, _ACTIVATION, None), GELUActivation)
                setattr(parent, name, PackedLinear(layer, gelu))
                if gelu:
                    setattr(parent, _ACTIVATION, nn.Identity())


def _packs() -> bool:
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return available and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _kind(layer: nn.Linear) -> type[Int8Linear] | None:
    wide, whole = layer.in_features >= _LEAST_WIDTH, layer.weight.dtype == torch.float32
    if not whole and torch.cpu._is_amx_tile_supported():
        return None  # it multiplies bfloat16 faster
    if torch.cpu._is_vnni_supported():
        return Int8Linear if wide or whole else None
    packs = torch.cpu._is_avx2_supported() and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return SevenBitLinear if wide and whole and packs else None


def _scale(rows: Tensor, most: int) -> Tensor:
    """What 1 stands for in each row, in float32, if its greatest absolute value becomes `most`."""
    return rows.abs().amax(-1, keepdim=True).float().clamp_(min=1e-12).div_(most)


def _rounded(rows: Tensor, scale: Tensor) -> Tensor:
    return torch.div(rows, scale).round_().to(torch.int8)
