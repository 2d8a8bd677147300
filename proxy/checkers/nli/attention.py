"""The attention of BERT and MPNet as it serves: one product for queries, keys and values, and PyTorch's fused
kernel or two batched products, whichever is faster. docs/model-card.md has the figures."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions as EncoderOutput
from transformers.models.bert.modeling_bert import BertEncoder
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

from proxy.checkers.nli.linear import multiplies_bfloat16


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

        What `ServedEncoder` adds to the scores comes as `bias` from MPNet's layers, as `attention_mask` from
        BERT's.
        """
        added = attention_mask if bias is None else bias
        pairs, length, width = hidden_states.shape
        heads = self.qkv(hidden_states).view(pairs, length, 3, self._heads, width // self._heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        if added is not None and _multiplies(hidden_states):
            attended = _attended(q.contiguous(), k.contiguous(), v.contiguous(), added)
        else:
            attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=added)
        return self.out(attended.transpose(1, 2).flatten(2)), None


class ServedEncoder(nn.Module):
    """The layers of an encoder of BERT or MPNet, with `ServedAttention`."""

    def __init__(self, encoder: BertEncoder | MPNetEncoder) -> None:
        super().__init__()
        self.layer = encoder.layer
        self._position_bias = getattr(encoder, "compute_position_bias", None)
        self._heads: int = encoder.config.num_attention_heads
        for layer in self.layer:
            attention = layer.attention
            if isinstance(encoder, MPNetEncoder):
                old = attention.attn
                attention.attn = ServedAttention(old.q, old.k, old.v, self._heads, old.o)
            else:
                old = attention.self
                attention.self = ServedAttention(old.query, old.key, old.value, self._heads, nn.Identity())

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, **_: object
    ) -> EncoderOutput:
        """The last states, of shape (pairs, length, width).

        The mask is one of transformers: true where a token may be attended to, or what is added to the
        scores.
        """
        added = self._added(hidden_states, attention_mask)
        for layer in self.layer:
            if self._position_bias is None:
                hidden_states = layer(hidden_states, added)
            else:
                hidden_states = layer(hidden_states, None, added)[0]
        return EncoderOutput(last_hidden_state=hidden_states)

    def _added(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """What is added to the scores of all layers, of shape (pairs, heads or 1, length or 1, length)."""
        pairs, length, _ = states.shape
        added = states.new_zeros(pairs, 1, 1, length)
        if mask is not None:
            mask = mask[:, :, :1]  # it is the same for all queries
            least = torch.finfo(states.dtype).min
            added = added.masked_fill(~mask, least) if mask.dtype == torch.bool else mask
        if self._position_bias is not None:
            added = self._position_bias(states) + added
        return added


def served(encoder: nn.Module) -> nn.Module:
    """The encoder with the layers that serve. One of another kind stays as it is."""
    if isinstance(encoder.encoder, BertEncoder | MPNetEncoder):
        encoder.encoder = ServedEncoder(encoder.encoder)
    return encoder


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
