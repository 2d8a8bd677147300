"""Layers of the trained cross-encoder that answer faster than PyTorch's."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers import MPNetConfig
from transformers.models.mpnet.modeling_mpnet import MPNetIntermediate

from proxy.checkers.nli.linear import Int8Linear, PackedLinear, multiplies_bfloat16, use_fast_layers

_VNNI = pytest.mark.skipif(not torch.cpu._is_vnni_supported(), reason="the processor has no VNNI")
_BF16 = pytest.mark.skipif(not multiplies_bfloat16(), reason="oneDNN does not multiply bfloat16 here")
_AVX2 = pytest.mark.skipif(not torch.cpu._is_avx2_supported(), reason="the processor has no AVX2")


@pytest.mark.parametrize(
    ("greatest", "dtype", "most"),
    [
        pytest.param(127, torch.float32, 0.02, marks=_VNNI),
        pytest.param(127, torch.bfloat16, 0.02, marks=_VNNI),
        pytest.param(63, torch.float32, 0.04, marks=_AVX2),
    ],
)
def test_a_layer_of_integers_computes_what_the_layer_does(
    greatest: int, dtype: torch.dtype, most: float
) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(96, 64).to(dtype)
    states = torch.randn(2, 200, 96, dtype=dtype) * torch.logspace(-2, 2, 200)[:, None].to(dtype)
    with torch.inference_mode():
        exact, rounded = layer(states).float(), Int8Linear(layer, greatest)(states)
    assert rounded.dtype is dtype
    assert rounded.shape == exact.shape
    assert ((rounded.float() - exact).norm(dim=-1) / exact.norm(dim=-1)).max() < most


@_BF16
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_packed_layers_compute_what_the_layers_and_their_activation_do(
    activation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    torch.manual_seed(0)
    config = MPNetConfig(hidden_size=96, intermediate_size=64, hidden_act=activation)
    parent = MPNetIntermediate(config).to(torch.bfloat16)
    states = torch.randn(2, 200, 96, dtype=torch.bfloat16)
    with torch.inference_mode():
        exact = parent(states)
        use_fast_layers(parent, torch.device("cpu"))
        packed = parent(states)
    assert type(parent.dense) is PackedLinear
    torch.testing.assert_close(packed, exact, atol=0.02, rtol=0.02)


def test_layers_are_replaced_only_where_that_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    def kind(width: int, dtype: torch.dtype, device: str = "cpu") -> type[nn.Module]:
        parent = nn.Sequential(nn.Linear(width, 4).to(dtype))
        use_fast_layers(parent, torch.device(device))
        return type(parent[0])

    packed = PackedLinear if multiplies_bfloat16() else nn.Linear

    def processor(vnni: bool, avx2: bool, amx: bool = False) -> None:
        monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
        monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: vnni)
        monkeypatch.setattr(torch.cpu, "_is_avx2_supported", lambda: avx2)

    processor(vnni=True, avx2=True)
    assert kind(768, torch.bfloat16) is Int8Linear
    assert kind(384, torch.float32) is Int8Linear
    assert kind(384, torch.bfloat16) is packed
    assert kind(768, torch.bfloat16, "cuda") is nn.Linear
    processor(vnni=True, avx2=True, amx=True)
    assert kind(768, torch.bfloat16) is packed
    assert kind(384, torch.float32) is Int8Linear
    processor(vnni=False, avx2=True)
    assert kind(768, torch.bfloat16) is packed
    if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        assert kind(768, torch.float32) is Int8Linear
    assert kind(384, torch.float32) is nn.Linear
    processor(vnni=False, avx2=False)
    assert kind(768, torch.float32) is nn.Linear
