"""Tuning on minimal pairs, on a tiny model of the test's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proxy.backends.checkers.builtin.claims import Lexicon
from proxy.backends.checkers.builtin.nli import ADAPTER, NLI
from tests.tiny_models import tiny_encoder
from training.lora import Settings, fit
from training.run import Run, TrainingError, read_rows, write_rows
from training.samples import Source, labelled
from training.tuning import FITTED, FOLDS, fold_adapter, fold_of, tune

TOWNS = "alder birch cedar elm fir ginkgo hazel juniper larch maple olive poplar rowan spruce willow".split()
SETTINGS = Settings(
    rank=4, alpha=8.0, dropout=0.0, hidden_dropout=0.0, epochs=1, batch_tokens=256, longest=48
)
PAIRS = Source("fever_symmetric", "pairs.jsonl", "en", "our own", "fit", labelled)
OTHER = Source("other", "pairs.jsonl", "en", "our own", "fit", labelled)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of each town two claims and two evidences, each with both: four rows that belong together."""
    folder = tmp_path_factory.mktemp("pairs")
    rows = [
        {
            "claim": f"The town of {town} has {claimed} .",
            "evidence": f"The old town of {town} has many {told} .",
            "label": "supported" if claimed == told else "contradicted",
        }
        for town in TOWNS
        for claimed in ("mills", "ponds")
        for told in ("mills", "ponds")
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "pairs.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def tuned(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run in which an adapter was fitted, and then tuned."""
    run = Run(tmp_path_factory.mktemp("run"))
    base = tiny_encoder(run.path("base"))
    known = [{"claim": "mills .", "excerpt": f"{town} .", "label": "unsupported"} for town in TOWNS * 8]
    write_rows(run.path("data.jsonl"), known)
    fit(run, FITTED, [run.path("data.jsonl")], base, SETTINGS)
    tune(run, folder, base, SETTINGS, Lexicon({}, 5.0), [PAIRS, OTHER])
    return run


def test_the_rows_that_share_a_claim_or_evidence_are_of_one_fold(folder: Path) -> None:
    samples = PAIRS.read(folder / PAIRS.path, PAIRS)
    groups = {
        sample.group: {other.pair.claim.split()[3] for other in samples if other.group == sample.group}
        for sample in samples
    }
    assert sorted(*zip(*groups.values(), strict=True)) == sorted(TOWNS)
    assert len({fold_of(sample) for sample in samples}) > 1


def test_a_folds_adapter_learns_all_but_its_own_rows(folder: Path, tuned: Run) -> None:
    samples = PAIRS.read(folder / PAIRS.path, PAIRS)
    every = {sample.pair.claim for sample in samples}
    assert _learnt(tuned, ADAPTER) == every
    for fold in range(FOLDS):
        own = {sample.pair.claim for sample in samples if fold_of(sample) == fold}
        assert _learnt(tuned, fold_adapter(fold)) == every - own


def test_as_many_known_rows_are_learnt_again(tuned: Run) -> None:
    rows = read_rows(tuned.path("adapter.jsonl"))
    again = [row for row in rows if row.get("epoch") is not None]
    epochs = {row["epoch"] for row in again}
    assert len(again) == len(epochs) * (len(rows) - len(again))


def test_each_adapter_is_one_that_the_checker_can_read(tuned: Run) -> None:
    pair = ("The old town of elm has many mills .", "The town of elm has mills .")
    names = [FITTED, ADAPTER, *(fold_adapter(fold) for fold in range(FOLDS))]
    told = [NLI(tuned.path("base"), tuned.path(name), "fp32").entailments([pair])[0] for name in names]
    assert len({one.supported for one in told}) == len(names)


def test_what_is_done_is_not_done_again(folder: Path, tuned: Run) -> None:
    before = tuned.path(ADAPTER).stat().st_mtime_ns
    tune(tuned, folder, tuned.path("base"), SETTINGS, Lexicon({}, 5.0), [PAIRS, OTHER])
    assert tuned.path(ADAPTER).stat().st_mtime_ns == before


def test_an_adapter_must_be_fitted_first(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="training fit"):
        tune(Run(tmp_path), folder, tmp_path, SETTINGS, Lexicon({}, 5.0), [PAIRS])


def _learnt(run: Run, adapter: str) -> set[str]:
    """The claims of the tuned rows that an adapter has learnt."""
    rows = read_rows(run.path(f"{Path(adapter).stem}.jsonl"))
    return {row["claim"] for row in rows if row.get("source") == "fever_symmetric"}
