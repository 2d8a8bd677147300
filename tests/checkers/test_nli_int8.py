"""Layers of the trained cross-encoder that multiply integers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from proxy.checkers.nli.int8 import Int8Linear, use_int8


@pytest.mark.skipif(not torch.cpu._is_vnni_supported(), reason="the processor has no VNNI")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_layer_of_integers_computes_what_the_layer_does(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(96, 64).to(dtype)
    states = torch.randn(2, 200, 96, dtype=dtype) * torch.logspace(-2, 2, 200)[:, None].to(dtype)
    with torch.inference_mode():
        exact, rounded = layer(states).float(), Int8Linear(layer)(states)
    assert rounded.dtype is dtype
    assert rounded.shape == exact.shape
    assert ((rounded.float() - exact).norm(dim=-1) / exact.norm(dim=-1)).max() < 0.02


def test_layers_are_replaced_only_where_that_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    def replaced(width: int, dtype: torch.dtype, device: str = "cpu") -> bool:
        parent = nn.Sequential(nn.Linear(width, 4).to(dtype))
        use_int8(parent, torch.device(device))
        return isinstance(parent[0], Int8Linear)

    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: True)
    assert replaced(768, torch.bfloat16)
    assert replaced(384, torch.float32)
    assert not replaced(384, torch.bfloat16)
    assert not replaced(768, torch.bfloat16, "cuda")
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    assert not replaced(768, torch.float32)
