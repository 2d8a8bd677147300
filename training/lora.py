"""The base model with an adapter (LoRA, Hu et al. 2021) and a head, and what is trained of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from proxy.checkers.nli.model import NLIModel, load_base
from proxy.model_files import quiet
from training.recipes import Settings
from training.run import TrainingError

_LAYER = re.compile(r"encoder\.encoder\.layer\.(\d+)\.")


class AdaptedLinear(nn.Module):
    """A frozen linear layer with a trained low-rank change: the weight is W + up @ down.

    It computes in the type of W. The change is added to the weight before it is used: one large product
    instead of three products of each token.
    """

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.weight = layer.weight.requires_grad_(False)
        self.bias = layer.bias.requires_grad_(False)
        self.lora_down = nn.Parameter(torch.empty(rank, layer.in_features))
        self.lora_up = nn.Parameter(torch.zeros(layer.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_down, a=math.sqrt(5))

    def forward(self, states: Tensor) -> Tensor:
        """The outputs for `states` of shape (..., inputs)."""
        kind = self.weight.dtype
        outputs: Tensor = _Adapted.apply(  # type: ignore[no-untyped-call]
            states.to(kind), self.weight, self.bias, self.lora_down.to(kind), self.lora_up.to(kind)
        )
        return outputs


class _Adapted(torch.autograd.Function):
    """A linear layer whose gradients go to the low-rank factors without one of the whole weight."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor, down: Tensor, up: Tensor) -> Tensor:
        changed = torch.addmm(weight, up, down)
        ctx.save_for_backward(states, changed, down, up)
        return functional.linear(states, changed, bias)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        states, changed, down, up = ctx.saved_tensors
        after = outer[0].flatten(0, -2)
        before = states.flatten(0, -2)
        inner = (after @ changed).view_as(states) if ctx.needs_input_grad[0] else None
        return inner, None, None, (after @ up).t() @ before, after.t() @ (before @ down.t())


def adapted(base: Path, settings: Settings, *, half: bool = False) -> NLIModel:
    """The base model of a folder, frozen, with an adapter on the linear layers and a head, both untrained.

    With `half`, what is frozen is in bfloat16, and so is what the adapted layers compute.
    """
    torch.manual_seed(settings.seed)
    with quiet():
        model = load_base(base, settings.hidden, settings.pruning)
    model.encoder.requires_grad_(False)
    if half:
        model.encoder.to(torch.bfloat16)
    for name, layer in list(model.named_modules()):
        found = _LAYER.match(name)
        if isinstance(layer, nn.Linear) and found and int(found[1]) >= settings.from_layer:
            parent, _, own = name.rpartition(".")
            setattr(model.get_submodule(parent), own, AdaptedLinear(layer, settings.rank))
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = settings.dropout
    return model


def trained(model: NLIModel) -> dict[str, nn.Parameter]:
    """The parameters that training changes, by the names that an adapter's file has for them."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def restore(model: NLIModel, tensors: Mapping[str, Tensor]) -> None:
    """Puts back what `trained` gave. Raises `TrainingError` for the tensors of another model."""
    own = trained(model)
    if own.keys() != tensors.keys():
        raise TrainingError(
            "The checkpoint, or what --begin names, is of another model: take another --run folder."
        )
    with torch.no_grad():
        for name, tensor in tensors.items():
            own[name].copy_(tensor)
