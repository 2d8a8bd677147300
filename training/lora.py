"""The base model with an adapter (LoRA, Hu et al. 2021, by PEFT) and a head, and what is trained of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import torch
from peft import LoraConfig, inject_adapter_in_model
from torch import Tensor, nn

from proxy.checkers.nli.model import LORA_DOWN, LORA_UP, NLIModel, load_base
from proxy.model_files import quiet
from training.recipes import Settings
from training.run import TrainingError

_LAYER = re.compile(r"encoder\.encoder\.layer\.(\d+)\.")
_OURS = {".lora_A.default.weight": LORA_DOWN, ".lora_B.default.weight": LORA_UP}


def adapted(base: Path, settings: Settings, *, half: bool = False) -> NLIModel:
    """The base model of a folder, frozen, with an adapter on the linear layers and a head, both untrained.

    With `half`, what is frozen is in bfloat16: autocast would convert it again for every batch.
    """
    torch.manual_seed(settings.seed)
    with quiet():
        model = load_base(base, settings.hidden)
    names = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear)
        and (layer := _LAYER.match(name))
        and int(layer[1]) >= settings.from_layer
    ]
    config = LoraConfig(
        r=settings.rank, lora_alpha=settings.rank, target_modules="|".join(map(re.escape, names))
    )
    inject_adapter_in_model(config, model)
    model.train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = settings.dropout
    model.head.requires_grad_(True)
    if half:
        for parameter in model.encoder.parameters():
            if not parameter.requires_grad:
                parameter.data = parameter.data.to(torch.bfloat16)
    return model


def trained(model: NLIModel) -> dict[str, nn.Parameter]:
    """The parameters that training changes, by the names that an adapter's file has for them."""
    return {
        _plain(name): parameter for name, parameter in model.named_parameters() if parameter.requires_grad
    }


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


def _plain(name: str) -> str:
    for theirs, ours in _OURS.items():
        name = name.replace(theirs, ours)
    return name
