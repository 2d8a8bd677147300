"""Layers of the trained cross-encoder that multiply integers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from proxy.checkers.nli.int8 import Int8Linear, SevenBitLinear, use_int8

_VNNI = pytest.mark.skipif(not torch.cpu._is_vnni_supported(), reason="the processor has no VNNI")
_AVX2 = pytest.mark.skipif(not torch.cpu._is_avx2_supported(), reason="the processor has no AVX2")


@pytest.mark.parametrize(
    ("kind", "dtype", "most"),
    [
        pytest.param(Int8Linear, torch.float32, 0.02, marks=_VNNI),
        pytest.param(Int8Linear, torch.bfloat16, 0.02, marks=_VNNI),
        pytest.param(SevenBitLinear, torch.float32, 0.04, marks=_AVX2),
    ],
)
def test_a_layer_of_integers_computes_what_the_layer_does(
    kind: type[Int8Linear], dtype: torch.dtype, most: float
) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(96, 64).to(dtype)
    states = torch.randn(2, 200, 96, dtype=dtype) * torch.logspace(-2, 2, 200)[:, None].to(dtype)
    with torch.inference_mode():
        exact, rounded = layer(states).float(), kind(layer)(states)
    assert rounded.dtype is dtype
    assert rounded.shape == exact.shape
    assert ((rounded.float() - exact).norm(dim=-1) / exact.norm(dim=-1)).max() < most


def test_layers_are_replaced_only_where_that_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    def kind(width: int, dtype: torch.dtype, device: str = "cpu") -> type[nn.Module]:
        parent = nn.Sequential(nn.Linear(width, 4).to(dtype))
        use_int8(parent, torch.device(device))
        return type(parent[0])

    def processor(vnni: bool, avx2: bool, amx: bool = False) -> None:
        monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
        monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: vnni)
        monkeypatch.setattr(torch.cpu, "_is_avx2_supported", lambda: avx2)

    processor(vnni=True, avx2=True)
    assert kind(768, torch.bfloat16) is Int8Linear
    assert kind(384, torch.float32) is Int8Linear
    assert kind(384, torch.bfloat16) is nn.Linear
    assert kind(768, torch.bfloat16, "cuda") is nn.Linear
    processor(vnni=True, avx2=True, amx=True)
    assert kind(768, torch.bfloat16) is nn.Linear
    assert kind(384, torch.float32) is Int8Linear
    processor(vnni=False, avx2=True)
    assert kind(768, torch.bfloat16) is nn.Linear
    if torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        assert kind(768, torch.float32) is SevenBitLinear
    assert kind(384, torch.float32) is nn.Linear
    processor(vnni=False, avx2=False)
    assert kind(768, torch.float32) is nn.Linear
