"""The attention of BERT and MPNet as it serves: one product for queries, keys and values, and PyTorch's fused
kernel or two batched products, whichever is faster. docs/benchmarks.md has the figures."""

from __future__ import annotations

from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.models.bert.modeling_bert import BertModel
from transformers.models.mpnet.modeling_mpnet import MPNetLayer, MPNetModel

from proxy.checkers.nli.linear import multiplies_bfloat16

Encoder: TypeAlias = BertModel | MPNetModel
"""The encoders that can be a base model."""


class ServedAttention(nn.Module):
    """An attention layer. `out` is what follows in the same module: MPNet's output layer."""

    def __init__(
        self, query: nn.Linear, key: nn.Linear, value: nn.Linear, heads: int, out: nn.Module
    ) -> None:
        super().__init__()
        self.qkv, self.out, self._heads = _joined(query, key, value), out, heads

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        bias: Tensor | None = None,
        **_: object,
    ) -> tuple[Tensor, None]:
        """The outputs for states of shape (pairs, length, width).

        What `scores_added` gives comes as `bias` from MPNet's layers, as `attention_mask` from BERT's.
        """
        added = attention_mask if bias is None else bias
        q, k, v = self.projected(hidden_states)
        if added is not None and _multiplies(hidden_states):
            attended = _attended(q.contiguous(), k.contiguous(), v.contiguous(), added)
        else:
            attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=added)
        return self.out(attended.transpose(1, 2).flatten(2)), None

    def projected(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, of shape (pairs, heads, length, width of a head)."""
        q, k, v = self.qkv(states).unflatten(-1, (3, self._heads, -1)).permute(2, 0, 3, 1, 4)
        return q, k, v


def use_served_attention(encoder: Encoder) -> None:
    """Gives the layers of an encoder the attention that serves."""
    for layer in encoder.encoder.layer:
        old, heads = attention_of(layer), encoder.config.num_attention_heads
        if isinstance(layer, MPNetLayer):
            layer.attention.attn = ServedAttention(old.q, old.k, old.v, heads, old.o)
        else:
            layer.attention.self = ServedAttention(old.query, old.key, old.value, heads, nn.Identity())


def attention_of(layer: Any) -> Any:
    """The module of a layer that has queries, keys and values."""
    return layer.attention.attn if isinstance(layer, MPNetLayer) else layer.attention.self


def queries_and_keys(attention: Any, states: Tensor) -> tuple[Tensor, Tensor]:
    """Both for states of shape (pairs, length, width), of shape (pairs, heads, length, width of a head)."""
    if isinstance(attention, ServedAttention):
        queries, keys, _ = attention.projected(states)
        return queries, keys
    layers = (attention.q, attention.k) if hasattr(attention, "q") else (attention.query, attention.key)
    queries, keys = (
        layer(states).unflatten(-1, (attention.num_attention_heads, -1)).transpose(1, 2) for layer in layers
    )
    return queries, keys


def layer_output(layer: nn.Module, states: Tensor, added: Tensor) -> Tensor:
    """The states that a layer makes of states of shape (pairs, length, width)."""
    output: Tensor = layer(states, None, added)[0] if isinstance(layer, MPNetLayer) else layer(states, added)
    return output


def scores_added(encoder: Encoder, states: Tensor, mask: Tensor) -> Tensor:
    """What is added to the attention's scores in all layers, of shape (pairs, heads or 1, length or 1,
    length). The mask, of shape (pairs, length), is 0 where no token may attend to."""
    added = torch.zeros(len(mask), 1, 1, mask.shape[1], dtype=encoder.dtype, device=mask.device)
    added.masked_fill_(mask[:, None, None] == 0, torch.finfo(added.dtype).min)
    if isinstance(encoder, MPNetModel):
        added = encoder.encoder.compute_position_bias(states) + added
    return added


def _joined(*layers: nn.Linear) -> nn.Linear:
    """One layer with the outputs of all, in their order."""
    weight = torch.cat([layer.weight.detach() for layer in layers])
    joined = nn.Linear(weight.shape[1], len(weight), device="meta")
    joined.weight = nn.Parameter(weight, requires_grad=False)
    joined.bias = nn.Parameter(torch.cat([layer.bias.detach() for layer in layers]), requires_grad=False)
    return joined


def _attended(q: Tensor, k: Tensor, v: Tensor, added: Tensor) -> Tensor:
    """The attention of each pair by two batched products; all are of shape (pairs, heads, length, width).

    One pair at a time: its scores stay in the processor's cache, and oneDNN keeps code for each length only.
    """
    attended = torch.empty_like(q)
    for pair in range(len(q)):
        scores = torch.baddbmm(added[pair], q[pair], k[pair].mT, alpha=q.shape[-1] ** -0.5)
        torch.bmm(scores.softmax(-1), v[pair], out=attended[pair])
    return attended


def _multiplies(states: Tensor) -> bool:
    """Whether two batched products are faster than the fused kernel: in bfloat16 without AMX."""
    on_cpu = states.device.type == "cpu" and states.dtype == torch.bfloat16
    return on_cpu and multiplies_bfloat16() and not torch.cpu._is_amx_tile_supported()
