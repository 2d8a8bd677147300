"""Tuning on minimal pairs, on a tiny model of the test's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proxy.checkers.builtin.claim_view import Lexicon
from proxy.checkers.builtin.nli import ADAPTERS, NLI
from proxy.types import LANGUAGES
from tests.tiny_models import tiny_encoder
from training.lora import Settings, fit
from training.run import Run, TrainingError, read_rows, write_rows
from training.samples import Source, labelled
from training.tuning import FITTED, FOLDS, fold_adapter, fold_of, tune

TOWNS = "alder birch cedar elm fir ginkgo hazel juniper larch maple olive poplar rowan spruce willow".split()
SETTINGS = Settings(
    rank=4, alpha=8.0, dropout=0.0, hidden_dropout=0.0, epochs=1, batch_tokens=256, longest=48
)
SOURCES = (
    Source("fever_symmetric", "pairs.jsonl", "en", "our own", "fit", labelled),
    Source("other", "pairs.jsonl", "en", "our own", "fit", labelled),
    Source("citecheck", "zh.jsonl", "zh", "our own", "fit", labelled),
)
PAIRS = SOURCES[0]
ADAPTER = ADAPTERS["en"]


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
    chinese = [
        {
            "claim": f"{town}有{claimed}。",
            "evidence": f"古老的{town}有很多{told}。",
            "label": "supported" if claimed == told else "not_supported",
        }
        for town in "杭州 苏州 长沙 昆明 西安 大连 青岛 厦门".split()
        for claimed in ("石桥", "寺庙")
        for told in ("石桥", "寺庙")
    ]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in chinese)
    (folder / "zh.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def tuned(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run in which an adapter was fitted, and then tuned."""
    run = Run(tmp_path_factory.mktemp("run"))
    base = tiny_encoder(run.path("base"))
    known = [{"claim": "mills .", "excerpt": f"{town} .", "label": "unsupported"} for town in TOWNS * 8]
    write_rows(run.path("data.jsonl"), known)
    write_rows(run.path("chinese.jsonl"), known)
    for language in LANGUAGES:
        fit(run, FITTED[language], [run.path("data.jsonl")], base, SETTINGS)
        tune(run, language, folder, base, SETTINGS, Lexicon({}, 5.0), SOURCES)
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
        assert _learnt(tuned, fold_adapter("en", fold)) == every - own


def test_a_languages_own_sources_are_tuned(folder: Path, tuned: Run) -> None:
    rows = read_rows(tuned.path("adapter-zh.jsonl"))
    assert {row["source"] for row in rows if "source" in row} == {"citecheck"}


def test_known_rows_are_learnt_again(tuned: Run) -> None:
    for language, share in (("en", 1.0), ("zh", 0.5)):
        rows = read_rows(tuned.path(f"adapter-{language}.jsonl"))
        again = [row for row in rows if row.get("epoch") is not None]
        epochs = {row["epoch"] for row in again}
        assert len(again) == len(epochs) * int(share * (len(rows) - len(again)))


def test_each_adapter_is_one_that_the_checker_can_read(tuned: Run) -> None:
    pair = ("The old town of elm has many mills .", "The town of elm has mills .")
    names = [FITTED["en"], ADAPTER, *(fold_adapter("en", fold) for fold in range(FOLDS))]
    told = [NLI(tuned.path("base"), tuned.path(name), "fp32").entailments([pair])[0] for name in names]
    assert len({one.supported for one in told}) == len(names)


def test_what_is_done_is_not_done_again(folder: Path, tuned: Run) -> None:
    before = tuned.path(ADAPTER).stat().st_mtime_ns
    tune(tuned, "en", folder, tuned.path("base"), SETTINGS, Lexicon({}, 5.0), SOURCES)
    assert tuned.path(ADAPTER).stat().st_mtime_ns == before


def test_an_adapter_must_be_fitted_first(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="training fit"):
        tune(Run(tmp_path), "en", folder, tmp_path, SETTINGS, Lexicon({}, 5.0), SOURCES)


def _learnt(run: Run, adapter: str) -> set[str]:
    """The claims of the tuned rows that an adapter has learnt."""
    rows = read_rows(run.path(f"{Path(adapter).stem}.jsonl"))
    return {row["claim"] for row in rows if row.get("source") == "fever_symmetric"}
