"""Linear layers that answer faster than PyTorch's on a processor. docs/benchmarks.md has the figures.

Some multiply eight-bit integers, which also takes less memory: weights have a scale for each output, inputs
one for each token, computed when they come (Dettmers et al. 2022, LLM.int8(), without its outliers). Others
lay their weights out once as oneDNN wants them, where PyTorch does that for each batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from transformers.activations import GELUActivation

_LEAST_WIDTH = 768
"""Inputs of a layer from which integers are faster than bfloat16, and seven bits than float32."""
_SEVEN_BITS = 63
_LEAST = 1e-12
_ACTIVATION = "intermediate_act_fn"
"""What transformers calls the function behind a layer, in BERT and MPNet."""
_ROWS = 160
"""Tokens that are computed at once: more fall out of the processor's cache."""
_PACKED_ROWS = 512
"""Tokens of a usual batch, for the layout of weights in bfloat16."""


class Int8Linear(nn.Module):
    """A linear layer with the weights of another one, rounded to eight bits.

    Inputs have eight bits too on processors with VNNI. With AVX2 alone they have seven: pairs of products are
    added up in sixteen bits there, which eight would overflow.
    """

    scale: Tensor
    bias: Tensor
    zeros: Tensor

    def __init__(self, layer: nn.Linear, most: int = 127) -> None:
        """`most` is the greatest absolute value of an input once it is rounded."""
        super().__init__()
        self._most = most
        weights = layer.weight.detach().float()
        scale = weights.abs().amax(-1).clamp_(min=_LEAST).div_(127)
        rounded = (weights / scale[:, None]).round_().to(torch.int8)
        self.register_buffer("bias", layer.bias.detach())
        self.register_buffer("scale", scale)
        self.register_buffer("zeros", torch.zeros(layer.out_features, dtype=torch.int32))
        self._weight: Tensor = torch.ops.onednn.qlinear_prepack(rounded, [_ROWS, layer.in_features])

    def forward(self, states: Tensor) -> Tensor:
        """The outputs for `states` of shape (..., inputs), in their type."""
        rows = states.reshape(-1, states.shape[-1])
        outputs = torch.empty(len(rows), len(self.bias), dtype=states.dtype)
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            scale = _greatest(some).div_(self._most).clamp_(min=_LEAST)
            inputs = torch.div(some, scale.float()).add_(self._most).round_()  # none may be negative
            inputs = inputs.to(torch.int16).to(torch.uint8)  # straight from float32 it takes twice as long
            products = torch.ops.onednn.qlinear_pointwise(
                inputs, 1.0, self._most, self._weight, self.scale, self.zeros,
                None, 1.0, 0, states.dtype, "none", [], "",
            )  # fmt: skip
            torch.addcmul(self.bias, products, scale, out=outputs[start : start + _ROWS])
        return outputs.view(*states.shape[:-1], len(self.bias))


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
    # a list of all modules would keep the replaced weights in memory
    for parent in [module for module in model.modules() if not isinstance(module, nn.Linear)]:
        for name in [name for name, layer in parent.named_children() if isinstance(layer, nn.Linear)]:
            _replace(parent, name, getattr(parent, name))


def _replace(parent: nn.Module, name: str, layer: nn.Linear) -> None:
    """Puts the layer that is faster in the place of a layer of `parent`, if there is one."""
    if (kind := _kind(layer)) is not None:
        setattr(parent, name, kind(layer))
    elif layer.weight.dtype == torch.bfloat16 and multiplies_bfloat16():
        gelu = isinstance(getattr(parent, _ACTIVATION, None), GELUActivation)
        setattr(parent, name, PackedLinear(layer, gelu))
        if gelu:
            setattr(parent, _ACTIVATION, nn.Identity())


def multiplies_bfloat16() -> bool:
    """Whether oneDNN multiplies matrices in bfloat16 on this processor."""
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return available and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _kind(layer: nn.Linear) -> Callable[[nn.Linear], nn.Module] | None:
    wide, whole = layer.in_features >= _LEAST_WIDTH, layer.weight.dtype == torch.float32
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return None
    if not whole and torch.cpu._is_amx_tile_supported():
        return None  # it multiplies bfloat16 faster
    if torch.cpu._is_vnni_supported():
        return Int8Linear if wide or whole else None
    return (
        partial(Int8Linear, most=_SEVEN_BITS) if wide and whole and torch.cpu._is_avx2_supported() else None
    )


def _greatest(rows: Tensor) -> Tensor:
    """The greatest absolute value of each row, of shape (rows, 1)."""
    if rows.dtype == torch.bfloat16:  # without its sign it sorts like the integer of the same bits
        return (rows.view(torch.int16) & 0x7FFF).amax(-1, keepdim=True).view(torch.bfloat16)
    return rows.abs().amax(-1, keepdim=True)
