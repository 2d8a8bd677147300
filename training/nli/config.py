"""Every choice of a run in one place."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path

LABELS = ("entailed", "contradicted", "neither")
"""The order of the model's outputs."""

LABEL_IDS = {"supported": 0, "contradicted": 1, "unsupported": 2, "not_supported": -1}
"""How the data's labels map to outputs; -1: contradicted or neither, the source does not tell which."""


@dataclass(frozen=True, slots=True)
class Config:
    """What a run is made with. A run's folder holds it as `config.json`."""

    lang: str = "en"
    seed: int = 20261123
    # Input
    window_tokens: int = 128
    """Tokens of evidence (title included) that one window holds at most."""
    claim_tokens: int = 160
    """Longer claims are refused while training; inference never truncates the claim below this."""
    # Model
    lora_rank: int = 32
    lora_alpha: float = 32.0
    lora_from_layer: int = 2
    """Layers under this one stay as they are and need no backward pass."""
    head_hidden: int = 384
    # Optimisation
    lr: float = 6e-4
    head_lr: float = 1e-3
    weight_decay: float = 0.01
    warmup_steps: int = 40
    lr_floor: float = 0.05
    """The last learning rate, as a share of the first."""
    batch_rows: int = 24
    micro_tokens: int = 640
    """Padded tokens of one micro-batch: the unit of work of one thread."""
    clip: float = 1.0
    rank_weight: float = 0.5
    """Weight of the ranking loss between claims of one evidence."""
    budget_minutes: float = 90.0
    """Training time of the whole run; the learning rate decays with it (resumed pieces add up)."""
    checkpoint_minutes: float = 8.0
    # Machine
    workers: int = 2
    """Threads that each run their own micro-batches (one core each); 1 on a GPU."""
    device: str = "cpu"
    """`cpu`, `cuda`, `mps`."""
    bf16: bool = False
    """Autocast to bfloat16: pays on a GPU and on processors with AMX or AVX512-BF16, never with AVX2 alone
    (70 times slower there)."""
    # Evaluation
    eval_windows: int = 2
    """Windows of a long evidence that are read when scoring; the best counts."""
    extra: dict[str, str] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Writes the choices as JSON."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Config:
        """Reads what `save` wrote."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))
