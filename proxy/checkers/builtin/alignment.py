"""The model that reads a claim beside its evidence: an encoder, and on it each word of the claim held against
the evidence's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from proxy.checkers.nli.packed import PACKED, read_packed

LABELS = ("supported", "contradicted", "unsupported")
"""The classes, in the order of the logits."""
_WIDTH = 256
_SHARPNESS = 10.0
_NOT = -1e4


@dataclass(frozen=True, slots=True)
class Logits:
    """`classes` of shape (n, 3); `words` of shape (n, length): how far each token of the claim is *not* borne
    out. What `words` says of other tokens means nothing."""

    classes: Tensor
    words: Tensor


class AlignmentHead(nn.Module):
    """Decomposable attention (Parikh et al. 2016: attend, compare, aggregate) over a pair that was encoded
    together.

    Each token of the claim attends to the evidence by cosine, is compared with what it finds there, and the
    comparisons' mean and maximum decide. Against the paper: the tokens have read each other already, only the
    claim attends, and both texts' means are seen too. A head on the first token's vector alone learnt nothing
    in as many steps, since a sentence encoder keeps its meaning in all tokens.
    """

    def __init__(self, size: int, sharpness: float = _SHARPNESS) -> None:
        super().__init__()
        self.sharpness = nn.Parameter(torch.tensor(sharpness))
        self.compare = nn.Linear(4 * size, size)
        self.word = nn.Linear(size, 1)
        self.gather = nn.Linear(6 * size + 1, _WIDTH)
        self.decide = nn.Linear(_WIDTH, len(LABELS))

    def forward(self, states: Tensor, evidence: Tensor, claim: Tensor) -> Logits:
        """`states` of shape (n, length, size); `evidence` and `claim` flag their tokens, (n, length)."""
        unit = nn.functional.normalize(states, dim=-1)
        similar = (unit @ unit.transpose(1, 2) * self.sharpness).masked_fill(~evidence[:, None, :], _NOT)
        found = similar.softmax(-1) @ states
        compared = self.compare(torch.cat([states, found, (states - found).abs(), states * found], -1)).relu()
        words = self.word(compared)[..., 0]
        own, other = _mean(states, claim), _mean(states, evidence)
        gathered = torch.cat(
            [
                _mean(compared, claim),
                compared.masked_fill(~claim[..., None], 0.0).amax(1),
                other,
                own,
                (other - own).abs(),
                other * own,
                words.masked_fill(~claim, _NOT).amax(1, keepdim=True).clamp(min=-20.0),
            ],
            -1,
        )
        return Logits(self.decide(nn.functional.gelu(self.gather(gathered))), words)


class AlignedEncoder(nn.Module):
    """Any encoder of the transformers library with an `AlignmentHead`, which computes in float32."""

    def __init__(self, encoder: nn.Module, size: int, sharpness: float = _SHARPNESS) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = AlignmentHead(size, sharpness)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor, evidence: Tensor, claim: Tensor) -> Logits:
        """All of shape (n, length): token ids and types, what is no padding, and whose token each is."""
        states = self.encoder(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
        with torch.autocast(states.device.type, enabled=False):
            found: Logits = self.head(states.float(), evidence, claim)
        return found


def load_base(folder: Path, dropout: float = 0.0) -> AlignedEncoder:
    """The encoder in `folder` with a fresh head, in float32; the same head each time.

    A base's configuration may tell the head's `alignment_sharpness` to begin with. Raises `OSError`,
    `ValueError` where there is no such model.
    """
    config: Any = AutoConfig.from_pretrained(folder, local_files_only=True)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout
    if (folder / PACKED).exists():
        encoder = _packed_encoder(folder / PACKED, config)
    else:
        encoder = AutoModel.from_pretrained(
            folder,
            config=config,
            attn_implementation="eager",
            dtype=torch.float32,
            local_files_only=True,
        )
    torch.manual_seed(0)
    sharpness = float(getattr(config, "alignment_sharpness", _SHARPNESS))
    return AlignedEncoder(encoder, int(config.hidden_size), sharpness)


def _packed_encoder(file: Path, config: Any) -> nn.Module:
    encoder: nn.Module = AutoModel.from_config(
        config, attn_implementation="eager", dtype=torch.float32, add_pooling_layer=False
    )
    encoder.load_state_dict(read_packed(file), assign=True)
    return encoder


def _mean(states: Tensor, flags: Tensor) -> Tensor:
    weights = flags[..., None].to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1.0)
