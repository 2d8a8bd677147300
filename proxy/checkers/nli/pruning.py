"""Token pruning (PoWER-BERT, Goyal et al. 2020): from a layer on, the encoder goes on with the claim and with
those tokens of the evidence that matter to it. docs/benchmarks.md has what that saves.

Different from the paper, what counts is not the attention from all tokens, but from the claim, and from what
the claim attends to: a table's heading is found by way of its cell. A dropped token doesn't come back; the
lower layers have told what is kept of it.
"""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from proxy.checkers.nli.attention import queries_and_keys
from proxy.checkers.nli.batch import Batch, padded

_LEAST = 1e-9


class Pruning(BaseModel):
    """Which tokens of the evidence are kept from a layer on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    layer: Annotated[int, Field(ge=1)]
    """The first layer, counted from 0, that reads the kept tokens alone."""
    share: Annotated[float, Field(gt=0, le=1)]
    """How many are kept, as a share of those that the layer before has read."""
    least: Annotated[int, Field(ge=1)]
    """How many are kept where the share is fewer."""


def pruned(
    pruning: Pruning, attention: nn.Module, states: Tensor, added: Tensor, batch: Batch
) -> tuple[Tensor, Tensor, Batch]:
    """The states, of shape (pairs, kept, width), what is added to the scores, and the batch, without the
    tokens that are dropped.

    Args:
        attention: of the layer that comes next. Its scores are what counts.
        states: of shape (pairs, length, width).
        added: to the scores of all layers, of shape (pairs, heads or 1, length or 1, length).
    """
    with torch.no_grad():
        kept = _kept(pruning, attention, states, added, batch)
        counts = kept.sum(1, keepdim=True)
        width = min(padded(int(counts.max())), states.shape[1])
        order = (~kept).int().argsort(dim=1, stable=True)[:, :width]
        mask = torch.arange(width, device=order.device) < counts
    states = states.gather(1, order[..., None].expand(-1, -1, states.shape[-1]))
    if added.shape[2] > 1:
        rows = order[:, None, :, None].expand(-1, added.shape[1], -1, added.shape[3])
        added = added.gather(2, rows)
    added = added.gather(3, order[:, None, None].expand(-1, *added.shape[1:3], -1))
    added = added.masked_fill(~mask[:, None, None], torch.finfo(added.dtype).min)
    return states, added, Batch(*(tensor.gather(1, order) * mask for tensor in batch.tensors()))


def _kept(pruning: Pruning, attention: nn.Module, states: Tensor, added: Tensor, batch: Batch) -> Tensor:
    """True for each token that is kept, of shape (pairs, length)."""
    queries, keys = queries_and_keys(attention, states)
    of_evidence = batch.evidence > 0
    at_once = 1 if states.device.type == "cpu" else len(states)  # oneDNN keeps code for each shape
    groups = zip(
        *(torch.split(tensor, at_once) for tensor in (queries, keys, added, batch.claim, of_evidence)),
        strict=True,
    )
    worth = torch.cat([_worth(*group) for group in groups])
    best = worth.masked_fill(~of_evidence, -1).argsort(dim=1, descending=True, stable=True)
    most = (of_evidence.sum(1, keepdim=True) * pruning.share).ceil().clamp(min=pruning.least)
    return torch.where(of_evidence, best.argsort(1) < most, batch.mask > 0)


def _worth(queries: Tensor, keys: Tensor, added: Tensor, claim: Tensor, of_evidence: Tensor) -> Tensor:
    """The attention that each token gets from the claim, and from the evidence that the claim attends to, of
    shape (pairs, length)."""
    scores = (queries * queries.shape[-1] ** -0.5) @ keys.mT + added
    attention = scores.softmax(-1, dtype=torch.float32).mean(1)
    by_claim = _share(claim.float(), attention, of_evidence)
    return by_claim + _share(by_claim, attention, of_evidence)


def _share(paying: Tensor, attention: Tensor, of_evidence: Tensor) -> Tensor:
    """The attention that the evidence's tokens get, as shares that add up to 1 for each pair. `paying` says
    how much each token's attention counts."""
    paid = (paying[:, None] @ attention)[:, 0] * of_evidence
    return paid / paid.sum(1, keepdim=True).clamp(min=_LEAST)
