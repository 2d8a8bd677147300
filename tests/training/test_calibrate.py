"""The step that makes the built-in checker's weights, on a small data set of the test's own."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from proxy.checkers.builtin.builtin_checker import BuiltinChecker
from proxy.checkers.builtin.builtin_weights import Tree, Weights, load_weights
from proxy.checkers.builtin.ensemble import NLI_INPUTS
from proxy.checkers.builtin.nli import ADAPTERS, NLI, base_folder
from proxy.model_files import model_checksum
from proxy.types import LANGUAGES, Language, Pair, Verdict
from training.calibrate import Reader, make_weights, render
from training.regression import FIT, Table, figures, plain
from training.samples import SOURCES, Source, labelled, swapped

DATA = Path(__file__).parents[2] / "../shared/data"
NAMES = (
    "Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Juniper Larch Maple Olive Poplar Rowan Spruce Willow"
).split()
PLACES = "杭州 苏州 长沙 昆明 西安 大连 青岛 厦门 福州 南昌 合肥 太原 兰州 贵阳 南宁 海口".split()
ALL = swapped("train", "calibrate", "measure")
FITTED = (
    Source("en", "en.jsonl", "en", "our own", "fit", labelled, 32),
    Source("swaps", "wikipedia_en.jsonl", "en", "our own", "fit", ALL, 16),
    Source("zh", "zh.jsonl", "zh", "our own", "fit", labelled, 32),
    Source("swaps", "wikipedia_zh.jsonl", "zh", "our own", "fit", ALL, 16),
)
ADAPTERS_MADE: dict[Language, dict[str, str]] = {"en": {"sha256": "12"}, "zh": {"sha256": "34"}}
NOTHING: dict[str, dict[str, str]] = {"adapters": {}, "languages": {}}
CORPORA: dict[Language, str] = {"en": "wikipedia_en.jsonl", "zh": "wikipedia_zh.jsonl"}


@pytest.fixture(scope="module")
def nli() -> dict[Language, NLI]:
    return {language: NLI(language=language) for language in LANGUAGES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixteen towns in each language, as a corpus and as labelled pairs."""
    folder = tmp_path_factory.mktemp("data")
    files = [*{source.path for source in FITTED}]
    rows: dict[str, list[dict[str, str]]] = {file: [] for file in files}
    for at, (name, place) in enumerate(zip(NAMES, PLACES, strict=True)):
        english = f"The old market town was named {name} by settlers in {1800 + at}. It has {at + 20} mills."
        chinese = f"这座古城位于{place}附近的河边，建于{1500 + at}年。城中有{at + 20}座石桥和寺庙。"
        rows["wikipedia_en.jsonl"].append({"title": f"{name} town", "text": english})
        rows["wikipedia_zh.jsonl"].append({"title": place, "text": chinese})
        for label, shift in (("supported", 0), ("not_supported", 3)):
            claims = {
                "en.jsonl": (f"It has {at + 20 + shift} mills.", english),
                "zh.jsonl": (f"城中有{at + 20 + shift}座石桥。", chinese),
            }
            for file, (claim, evidence) in claims.items():
                rows[file].append({"claim": claim, "evidence": evidence, "label": label})
    for name, lines in rows.items():
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def made_of(folder: Path, nli: Mapping[Language, NLI], other: Mapping[str, Any] = NOTHING) -> str:
    readers: dict[Language, Reader] = {language: lambda *_, m=model: m for language, model in nli.items()}
    adapters = {language: ADAPTERS_MADE[language] for language in nli}
    return render(make_weights(folder, readers, adapters, other, FITTED, CORPORA))


@pytest.fixture(scope="module")
def made(folder: Path, nli: Mapping[Language, NLI]) -> str:
    return made_of(folder, nli)


def test_the_same_data_give_the_same_bytes(folder: Path, nli: Mapping[Language, NLI], made: str) -> None:
    assert made_of(folder, nli) == made


def test_a_language_can_be_made_alone(folder: Path, nli: Mapping[Language, NLI], made: str) -> None:
    other = json.loads(made)
    other["adapters"]["zh"] = {"sha256": "another"}
    found = json.loads(made_of(folder, {"en": nli["en"]}, other))
    assert found["adapters"] == {"en": ADAPTERS_MADE["en"], "zh": {"sha256": "another"}}
    assert found["languages"] == other["languages"]


async def test_what_is_made_can_be_loaded_and_checks(
    made: str, nli: Mapping[Language, NLI], tmp_path: Path
) -> None:
    file = tmp_path / "weights.json"
    file.write_text(made, encoding="utf-8")
    checker = BuiltinChecker(load_weights(file), nli)
    right, wrong = await checker.check(
        [Pair("It has 20 mills.", "It has 20 mills."), Pair("It has 20 mills.", "It has 90 mills.")]
    )
    checker.close()
    assert right.score > wrong.score


def test_from_where_on_a_claim_is_contradicted_is_learnt_for_english_alone(made: str) -> None:
    languages = Weights.model_validate_json(made).languages
    learnt = languages["en"].contradiction
    assert languages["zh"].contradiction is None
    assert learnt is not None
    assert isinstance(learnt.figures, dict)
    assert set(learnt.figures) == {"swaps"}  # the only source that tells contradicted from unsupported


def test_the_weights_say_what_they_were_made_of(folder: Path, made: str) -> None:
    weights = Weights.model_validate_json(made)
    assert isinstance(weights.sources, list)
    first = weights.sources[0]
    assert isinstance(first, dict)
    assert first["file"] == "en.jsonl"
    assert first["sha256"] == hashlib.sha256((folder / "en.jsonl").read_bytes()).hexdigest()


def test_samples_that_share_evidence_are_of_one_group(folder: Path) -> None:
    groups: dict[str, set[str]] = {}
    for sample in labelled(folder / "en.jsonl", FITTED[0]):
        groups.setdefault(sample.pair.evidence, set()).add(sample.group)
    assert len(groups) == len(NAMES)
    assert all(len(own) == 1 for own in groups.values())


def test_a_swap_puts_in_what_the_passage_does_not_have(folder: Path) -> None:
    for source in (FITTED[1], FITTED[3]):
        samples = source.read(folder / source.path, source)
        assert {sample.verdict for sample in samples} == {Verdict.SUPPORTED, Verdict.CONTRADICTED}
        for sample in samples:
            assert (sample.pair.claim in sample.pair.evidence) is (sample.verdict is Verdict.SUPPORTED)


def test_plain_trees_give_what_scikit_learn_gives() -> None:
    chance = np.random.default_rng(1)
    values = chance.normal(size=(600, 5))
    labels = values[:, 0] * values[:, 1] > 0.2
    model = HistGradientBoostingClassifier(max_iter=30, random_state=1).fit(values, labels)
    trees = plain(model)
    found = [trees.log_odds(row) for row in values.tolist()]
    np.testing.assert_allclose(found, model.decision_function(values), atol=1e-9)


@pytest.mark.parametrize(
    "columns",
    [
        {"inputs": (), "thresholds": (), "left": (), "right": (), "values": ()},
        {"inputs": (0,), "thresholds": (0.0,), "left": (1,), "right": (1,), "values": (0.0,)},
        {"inputs": (0, 0), "thresholds": (0.0, 0.0), "left": (1, 1), "right": (1, 0), "values": (0.0, 1.0)},
        {"inputs": (0,), "thresholds": (0.0, 1.0), "left": (0,), "right": (0,), "values": (0.0,)},
    ],
)
def test_a_tree_that_would_never_end_is_refused(columns: dict[str, tuple[float, ...]]) -> None:
    with pytest.raises(ValueError, match="tree"):
        Tree.model_validate(columns)


def test_support_and_exchanged_details_are_learnt_apart_in_chinese() -> None:
    chance = np.random.default_rng(1)
    values = chance.normal(size=(240, 3 + len(NLI_INPUTS)))
    copied = np.arange(240) >= 120
    swapped_rows = copied & (values[:, 1] > 0)
    values[:, 1] = np.where(copied, values[:, 1], 0.0)
    values[copied, 0] = 2.0
    values[:, -len(NLI_INPUTS) :] = swapped_rows[:, None]  # the model of exchanged details must not see these
    every = np.ones(240)
    table = Table(
        values=values,
        supported=np.where(copied, ~swapped_rows, values[:, 0] > 0),
        swapped=swapped_rows,
        fit=np.where(copied, 0.0, 1.0),
        gate=every,
        calibration=every,
        factors=every,
        groups=np.arange(240) // 2,
        sources=np.full(240, "made here"),
    )
    model = FIT["zh"](table, every > 0, 1)
    told = [0.0] * len(NLI_INPUTS)
    assert model.log_odds([2.0, 0.0, 0.0, *told]) > max(
        model.log_odds([-2.0, 0.0, 0.0, *told]), model.log_odds([2.0, 2.0, 0.0, *told])
    )


def test_figures_are_those_of_the_textbook() -> None:
    labels = np.array([True, True, False, False])
    scores = np.array([0.95, 0.45, 0.55, 0.05])
    found = figures(labels, scores, scores >= 0.5)
    assert (found["accuracy"], found["balanced_accuracy"], found["auc"]) == (0.5, 0.5, 0.75)
    assert found["ece"] == pytest.approx((0.05 + 0.55 + 0.55 + 0.05) / 4, abs=1e-3)


def test_no_coefficient_rests_on_data_without_a_licence() -> None:
    assert not [source.path for source in SOURCES if source.role == "fit" and "none" in source.licence]


@pytest.mark.parametrize("step", ["data", "calibrate", "export", "report"])
def test_what_is_missing_is_named(tmp_path: Path, step: str) -> None:
    command = [
        sys.executable,
        "-m",
        "training",
        step,
        "--data",
        str(tmp_path),
        "--run",
        str(tmp_path / "run"),
    ]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert "Error: " in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_packaged_adapter_is_the_one_that_the_weights_were_fitted_with(language: Language) -> None:
    adapter = load_weights().adapters[language]
    assert isinstance(adapter, dict)
    packaged = resources.files("proxy.checkers.builtin").joinpath(ADAPTERS[language]).read_bytes()
    assert hashlib.sha256(packaged).hexdigest() == adapter["sha256"]
    assert len(packaged) < 8_000_000
    assert isinstance(adapter["base"], dict)
    assert adapter["base"]["sha256"] == model_checksum(base_folder(language))


@pytest.mark.skipif(not DATA.is_dir(), reason="the data folder is not beside the repository")
def test_the_shipped_weights_are_of_the_data_at_hand() -> None:
    """Data beside the project may be of a later version: then nothing can be told."""
    sources = load_weights().sources
    assert isinstance(sources, list)
    recorded = {str(source["file"]): source["sha256"] for source in sources if isinstance(source, dict)}
    assert len(recorded) > 1
    other = [name for name, checksum in recorded.items() if _checksum(DATA / name) != checksum]
    if other:
        pytest.skip(f"the weights were made of other versions of {', '.join(sorted(other))}")


def _checksum(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
