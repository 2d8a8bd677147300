"""What training minimises: a loss per row, and one between claims of the same evidence."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def label_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross entropy per row, of shape (rows,); `logits` are of shape (rows, 3).

    A row labelled -1 is contradicted or neutral, the source does not tell which: its loss is that of the sum
    of both probabilities (marginal likelihood).
    """
    logs = logits.log_softmax(-1)
    known = functional.nll_loss(logs, labels.clamp(min=0), reduction="none")
    either = -logs[:, 1:].logsumexp(-1)
    return torch.where(labels >= 0, known, either)


def log_odds(logits: Tensor) -> Tensor:
    """The log-odds of entailment, of shape (rows,)."""
    return logits[:, 0] - logits[:, 1:].logsumexp(-1)


def ranking_loss(logits: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
    """Of each (supported, not supported) pair in a group, -log sigmoid of the difference of their log-odds
    (Burges et al. 2005), as a sum.

    A group counts by the mean of its pairs times twice the rows of its smaller side, so that large groups do
    not outweigh the others.
    """
    odds, right = log_odds(logits), labels == 0
    same = groups[:, None] == groups
    rights, wrongs = (same & right).sum(1), (same & ~right).sum(1)
    weights = 2 * torch.minimum(rights, wrongs) / (rights * wrongs).clamp(min=1)
    pairs = same & right[:, None] & ~right
    losses = functional.softplus(odds - odds[:, None])
    return (losses * weights[:, None] * pairs).sum()
