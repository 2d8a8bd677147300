"""Every choice of both sizes: base model, data, settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proxy.checkers.nli.pruning import Pruning
from proxy.checkers.nli_sizes import MPNET
from proxy.types import Language, Size
from training.training_data import Source


@dataclass(frozen=True, slots=True)
class Settings:
    """How an adapter and its head are trained."""

    seed: int = 20261123
    window_tokens: int = 128
    """Tokens of evidence, title included, that the model learns from."""
    served_tokens: int = 128
    """Tokens of evidence that a window has when it serves."""
    served_windows: int = 2
    """Windows that it reads of a long passage."""
    pruning: Pruning | None = None
    """Which tokens of the evidence the upper layers read, also while it learns."""
    hidden: int = 384
    """Width of the head."""
    dropout: float = 0.1
    """The share of the encoder's states that are left out at random while it learns."""
    rank: int = 32
    from_layer: int = 0
    """Layers below have no adapter and need no backward pass."""
    rate: float = 5e-4
    head_rate: float = 1e-3
    weight_decay: float = 0.01
    warmup_steps: int = 40
    least_rate: float = 0.05
    """What is left of the learning rate at the end, as a share."""
    decay: float = 0.2
    """The share of the rows over which the learning rate falls, at the end."""
    step_rows: int = 24
    """Rows of one step of the optimizer, at least."""
    batch_tokens: int = 640
    """Padded tokens that a thread computes at once."""
    clip: float = 1.0
    ranking: float = 0.5
    """Weight of the ranking loss."""
    total_rows: int | None = None
    """Rows to learn; None: the plan once."""
    checkpoint_minutes: float = 5.0
    workers: int = 2
    """Threads, each of which computes on one core."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one size is made. `base` is what the manifest calls the base model."""

    size: Size
    base: str
    plan: tuple[Source, ...]
    calibration: Mapping[Language, tuple[Source, ...]]
    measured: Mapping[Language, tuple[Source, ...]]
    settings: Settings


_APACHE, _MIT, _OWN = "Apache-2.0", "MIT", "own"
_CAD, _FM2, _SCIFACT = "Apache-2.0, CC BY-SA 4.0", "Apache-2.0, CC BY-SA", "CC BY 4.0, ODC-By"
_MNLI, _FEVER, _PAWS, _MED = "MultiNLI (OANC, CC)", "CC BY-SA 3.0", "free for any purpose", "CC BY-SA 4.0"

_SMALL_PLAN = (
    Source("train/cad_nli.jsonl", _CAD),
    Source("train/mnli_clean.jsonl", _MNLI, 10_000),
    Source("train/fever_clean.jsonl", _FEVER, 10_000),
    Source("train/fm2_test.jsonl", _FM2, repeat=2),
    Source("train/check_covid.jsonl", _MIT),
    Source("train/scifact.jsonl", _SCIFACT),
    Source("train/conjnli.jsonl", _MIT),
    Source("train/med.jsonl", _MED, 2_000, start=0.05),
    Source("train/paws_wiki.jsonl", _PAWS, start=0.05),
    Source("train/cg2c_doc_clean.jsonl", _MIT, 1_000, start=0.05),
    Source("train/summedits.jsonl", _APACHE, start=0.05),
    Source("train/defacto.jsonl", _MIT, start=0.05),
    Source("train/bump.jsonl", _MIT, start=0.05),
    Source("train/fib_xsum.jsonl", "CC BY 4.0", 1_000, start=0.05),
    Source("dev/attributionbench_dev.jsonl", _APACHE, repeat=2, unit=2, start=0.05),
    Source("dev/citecheck_dev.jsonl", _MIT, repeat=3, start=0.05),
    Source("train/uhgeval_zh.jsonl", _APACHE, start=0.05),
    Source("contrast/zh.jsonl", _OWN, repeat=2, start=0.05, made="balanced"),
    Source("contrast/hard_zh.jsonl", _OWN, start=0.05),
    Source("contrast/en.jsonl", _OWN, start=0.05, made="balanced"),
    Source("contrast/hard_en.jsonl", _OWN, 2_000, start=0.05),
    Source("contrast/cited_zh.jsonl", _OWN, repeat=2, start=0.05),
    Source("contrast/cited_en.jsonl", _OWN, start=0.05),
    Source("contrast/workplace_zh.jsonl", _OWN, repeat=2, start=0.05),
    Source("contrast/workplace_en.jsonl", _OWN, start=0.05),
    Source("contrast/two_passages_zh.jsonl", _OWN, start=0.05),
    Source("contrast/two_passages_en.jsonl", _OWN, 1_000, start=0.05),
    Source("contrast/structured_zh.jsonl", _OWN, repeat=2, start=0.05),
    Source("contrast/structured_en.jsonl", _OWN, start=0.05),
    Source("contrast/zh.jsonl", _OWN, 6_000, start=0.05, made="headed"),
    Source("contrast/en.jsonl", _OWN, 3_000, start=0.05, made="headed"),
    Source("contrast/zh.jsonl", _OWN, 8_000, start=0.05, made="preceded"),
    Source("contrast/en.jsonl", _OWN, 3_000, start=0.05, made="preceded"),
    Source("corpora/wikipedia_zh.jsonl", "CC BY-SA", repeat=2, unit=2, start=0.05, made="leaning"),
    Source("contrast/zh.jsonl", _OWN, repeat=2, start=0.05, made="introduced"),
    Source("contrast/en.jsonl", _OWN, start=0.05, made="introduced"),
    Source("train/fever_clean.jsonl", _FEVER, 3_000, start=0.05, made="introduced"),
    Source("contrast/zh.jsonl", _OWN, 8_000, start=0.05, made="untitled"),
    Source("contrast/en.jsonl", _OWN, 2_000, start=0.05, made="untitled"),
    Source("contrast/zh.jsonl", _OWN, 8_000, start=0.05, made="sectioned"),
    Source("contrast/en.jsonl", _OWN, 4_000, start=0.05, made="sectioned"),
    Source("contrast/zh.jsonl", _OWN, 1_500, start=0.05, made="beside"),
    Source("corpora/wikipedia_zh.jsonl", "CC BY-SA", 1_500, unit=2, start=0.05, made="confused"),
    Source("contrast/zh.jsonl", _OWN, 2_500, unit=2, start=0.05, made="deleted"),
    Source("corpora/wikipedia_zh.jsonl", "CC BY-SA", 2_000, unit=2, start=0.05, made="deleted"),
    Source("generated/zh.jsonl", _OWN, 8_000, start=0.05),
    Source("generated/en.jsonl", _OWN, 4_000, start=0.05),
    Source("contrast/zh.jsonl", _OWN, 3_000, start=0.05, made="mismatched"),
    Source("contrast/workplace_zh.jsonl", _OWN, 600, start=0.05, made="mismatched"),
    Source("contrast/en.jsonl", _OWN, 1_500, start=0.05, made="mismatched"),
    Source("dev/citecheck_dev.jsonl", _MIT, start=0.05, made="mismatched"),
    Source("train/fever_clean.jsonl", _FEVER, 1_500, start=0.05, made="mismatched"),
    Source("contrast/zh.jsonl", _OWN, 1_000, start=0.05, made="misnumbered"),
    Source("dev/citecheck_dev.jsonl", _MIT, start=0.05, made="misnumbered"),
    Source("train/uhgeval_zh.jsonl", _APACHE, 800, start=0.05, made="misnumbered"),
    Source("train/fever_clean.jsonl", _FEVER, 800, start=0.05, made="misnumbered"),
    Source("corpora/wikipedia_zh.jsonl", "CC BY-SA", 2_500, start=0.05, made="renamed"),
    Source("corpora/wikipedia_en.jsonl", "CC BY-SA", 1_000, start=0.05, made="renamed"),
    Source("contrast/zh.jsonl", _OWN, 1_000, start=0.05, made="copied"),
    Source("dev/citecheck_dev.jsonl", _MIT, start=0.05, made="copied"),
    Source("train/summedits.jsonl", _APACHE, 800, start=0.05, made="copied"),
)
"""Both languages. What is nearest to citations is repeated, and begins when the head knows its task."""

_BASE_PLAN = (
    Source("train/cad_nli.jsonl", _CAD),
    Source("train/mnli_clean.jsonl", _MNLI),
    Source("train/fever_clean.jsonl", _FEVER),
    Source("train/fm2_test.jsonl", _FM2, repeat=2),
    Source("train/check_covid.jsonl", _MIT),
    Source("train/scifact.jsonl", _SCIFACT),
    Source("train/conjnli.jsonl", _MIT),
    Source("train/med.jsonl", _MED, 2_000, start=0.05),
    Source("train/paws_wiki.jsonl", _PAWS, start=0.05),
    Source("train/cg2c_doc_clean.jsonl", _MIT, start=0.05),
    Source("train/summedits.jsonl", _APACHE, start=0.05),
    Source("train/defacto.jsonl", _MIT, start=0.05),
    Source("train/bump.jsonl", _MIT, start=0.05),
    Source("train/fib_xsum.jsonl", "CC BY 4.0", start=0.05),
    Source("dev/attributionbench_dev.jsonl", _APACHE, repeat=3, unit=2, start=0.05),
    Source("dev/fever_symmetric_v02_dev.jsonl", _FEVER, repeat=2, start=0.05),
    Source("contrast/en.jsonl", _OWN, start=0.05, made="balanced"),
    Source("contrast/hard_en.jsonl", _OWN, repeat=2, start=0.05),
    Source("contrast/cited_en.jsonl", _OWN, repeat=2, start=0.05),
    Source("contrast/workplace_en.jsonl", _OWN, repeat=2, start=0.05),
    Source("contrast/two_passages_en.jsonl", _OWN, start=0.05),
    Source("contrast/structured_en.jsonl", _OWN, repeat=2, start=0.05),
    Source("contrast/en.jsonl", _OWN, 5_000, start=0.05, made="headed"),
    Source("contrast/en.jsonl", _OWN, 6_000, start=0.05, made="preceded"),
    Source("contrast/en.jsonl", _OWN, repeat=2, start=0.05, made="introduced"),
    Source("train/fever_clean.jsonl", _FEVER, 6_000, start=0.05, made="introduced"),
    Source("train/fm2_test.jsonl", _FM2, start=0.05, made="introduced"),
    Source("contrast/en.jsonl", _OWN, 3_000, start=0.05, made="untitled"),
    Source("contrast/en.jsonl", _OWN, 6_000, start=0.05, made="sectioned"),
    Source("corpora/wikipedia_en.jsonl", "CC BY-SA", repeat=2, unit=2, start=0.05, made="leaning"),
    Source("contrast/en.jsonl", _OWN, 1_000, start=0.05, made="beside"),
    Source("corpora/wikipedia_en.jsonl", "CC BY-SA", 1_000, unit=2, start=0.05, made="confused"),
    Source("contrast/en.jsonl", _OWN, 2_000, unit=2, start=0.05, made="deleted"),
    Source("train/fever_clean.jsonl", _FEVER, 1_000, unit=2, start=0.05, made="deleted"),
    Source("corpora/wikipedia_en.jsonl", "CC BY-SA", 1_500, unit=2, start=0.05, made="deleted"),
    Source("generated/en.jsonl", _OWN, 6_000, start=0.05),
    Source("contrast/en.jsonl", _OWN, 2_500, start=0.05, made="mismatched"),
    Source("contrast/workplace_en.jsonl", _OWN, 800, start=0.05, made="mismatched"),
    Source("dev/attributionbench_dev.jsonl", _APACHE, start=0.05, made="mismatched"),
    Source("train/fever_clean.jsonl", _FEVER, 2_000, start=0.05, made="mismatched"),
    Source("contrast/en.jsonl", _OWN, 1_000, start=0.05, made="misnumbered"),
    Source("dev/attributionbench_dev.jsonl", _APACHE, start=0.05, made="misnumbered"),
    Source("train/fever_clean.jsonl", _FEVER, 1_200, start=0.05, made="misnumbered"),
    Source("corpora/wikipedia_en.jsonl", "CC BY-SA", 1_000, start=0.05, made="renamed"),
    Source("train/summedits.jsonl", _APACHE, 1_200, start=0.05, made="copied"),
    Source("train/fever_clean.jsonl", _FEVER, 1_000, start=0.05, made="copied"),
)

_CALIBRATION: Mapping[Language, tuple[Source, ...]] = {
    "en": (
        Source("train/fever_clean.jsonl", _FEVER, 100),
        Source("train/mnli_clean.jsonl", _MNLI, 60),
        Source("train/cad_nli.jsonl", _CAD, 60),
        Source("train/paws_wiki.jsonl", _PAWS, 60),
        Source("train/check_covid.jsonl", _MIT, 60),
        Source("train/summedits.jsonl", _APACHE, 60),
        Source("train/defacto.jsonl", _MIT, 60),
        Source("train/fib_xsum.jsonl", "CC BY 4.0", 60),
        Source("dev/attributionbench_dev.jsonl", _APACHE, 120),
        Source("dev/fm2_dev.jsonl", _FM2, 120),
        Source("dev/fever_symmetric_v02_dev.jsonl", _FEVER, 120),
        Source("dev/frank_val.jsonl", _MIT, 60),
        Source("dev/wice_dev.jsonl", "ODC-By, CC BY-SA", 60),
        Source("generated/en_fresh.jsonl", _OWN, 80),
        Source("train/fever_clean.jsonl", _FEVER, 120, made="mismatched"),
        Source("dev/attributionbench_dev.jsonl", _APACHE, 80, made="mismatched"),
    ),
    "zh": (
        Source("train/uhgeval_zh.jsonl", _APACHE, 80),
        Source("dev/citecheck_dev.jsonl", _MIT, 120),
        Source("contrast/calibrate_zh.jsonl", _OWN, 280),
        Source("generated/zh_fresh.jsonl", _OWN, 160),
        Source("dev/citecheck_dev.jsonl", _MIT, 120, made="mismatched"),
    ),
}
"""As many rows as are wanted of each file; it gives fewer where the plan has nearly all of it."""

_MEASURED: Mapping[Language, tuple[Source, ...]] = {
    "en": (
        Source("dev/attributionbench_dev.jsonl", _APACHE),
        Source("dev/fm2_dev.jsonl", _FM2),
        Source("dev/fever_symmetric_v02_dev.jsonl", _FEVER),
        Source("dev/paws_wiki_dev.jsonl", _PAWS),
        Source("dev/frank_val.jsonl", _MIT),
    ),
    "zh": (Source("dev/citecheck_dev.jsonl", _MIT),),
}

RECIPES: Mapping[Size, Recipe] = {
    "small": Recipe(
        "small",
        "base_model",
        _SMALL_PLAN,
        _CALIBRATION,
        _MEASURED,
        Settings(
            pruning=Pruning(layer=7, share=0.25, least=32),
            rank=96,
            rate=8e-4,
            step_rows=192,
            batch_tokens=1280,
            decay=0.75,
        ),
    ),
    "base": Recipe(
        "base",
        MPNET,
        _BASE_PLAN,
        {"en": _CALIBRATION["en"]},
        {"en": _MEASURED["en"]},
        Settings(
            window_tokens=192,
            served_tokens=192,
            served_windows=1,
            pruning=Pruning(layer=6, share=0.2, least=32),
            rank=64,
            from_layer=2,
            step_rows=192,
            decay=0.75,
        ),
    ),
}
