"""What training makes small."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def label_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross entropy per row; a row labelled -1 asks for contradicted or neither, whichever."""
    logs = logits.log_softmax(-1)
    known = F.nll_loss(logs, labels.clamp(min=0), reduction="none")
    either = -torch.logsumexp(logs[:, 1:], -1)
    return torch.where(labels >= 0, known, either)


def margins(logits: Tensor) -> Tensor:
    """The log-odds of entailed per row."""
    return logits[:, 0] - logits[:, 1:].logsumexp(-1)


def rank_loss(logits: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
    """Sum over pairs of one group of -log sigmoid(margin of the right claim - margin of the wrong one).

    Each group counts by its mean, times the rows of its smaller side, so that big groups do not rule.
    """
    odds = margins(logits)
    total = logits.new_zeros(())
    for group in groups.unique().tolist():
        mine = groups == group
        right, wrong = odds[mine & (labels == 0)], odds[mine & (labels != 0)]
        if len(right) and len(wrong):
            found = F.softplus(wrong[None] - right[:, None])
            total = total + found.mean() * min(len(right), len(wrong)) * 2
    return total
