"""The command that makes the built-in checker's weights, on a small data set of the test's own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from proxy.backends.checkers.builtin.checker import BuiltinChecker
from proxy.backends.checkers.builtin.model import Weights, load_weights
from proxy.types import Pair, Verdict
from training.builtin import main, make_weights, render
from training.data import CORPORA, FILES, DataFile, read_examples, read_swaps
from training.fit import figures, folds_of

DATA = Path(__file__).parents[2] / "../shared/data"
NAMES = (
    "Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Juniper Larch Maple Olive Poplar Rowan Spruce Willow"
).split()
PLACES = "杭州 苏州 长沙 昆明 西安 大连 青岛 厦门 福州 南昌 合肥 太原 兰州 贵阳 南宁 海口".split()

FIT = (
    DataFile("en.jsonl", "en", "our own", "fit"),
    DataFile("zh.jsonl", "zh", "our own", "fit"),
)
TEXTS = (
    DataFile("wikipedia_en.jsonl", "en", "our own", "fit", weight=0.5, most=40),
    DataFile("wikipedia_zh.jsonl", "zh", "our own", "fit", weight=0.5, most=40),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sixteen towns in each language, as a corpus and as labelled pairs."""
    rows: dict[str, list[dict[str, str]]] = {file.path: [] for file in (*FIT, *TEXTS)}
    for at, (name, place) in enumerate(zip(NAMES, PLACES, strict=True)):
        english = f"The old market town was named {name} by settlers in {1800 + at}. It has {at + 20} mills."
        chinese = f"这座古城位于{place}附近的河边，建于{1500 + at}年。城中有{at + 20}座石桥和寺庙。"
        rows["wikipedia_en.jsonl"].append({"title": f"{name} town", "text": english})
        rows["wikipedia_zh.jsonl"].append({"title": place, "text": chinese})
        for label, shift in (("supported", 0), ("not_supported", 3)):
            rows["en.jsonl"].append(
                {
                    "claim": f"It has {at + 20 + shift} mills.",
                    "evidence": english,
                    "label": label,
                    "question": "",
                }
            )
            rows["zh.jsonl"].append(
                {
                    "claim": f"城中有{at + 20 + shift}座石桥。",
                    "evidence": chinese,
                    "label": label,
                    "question": "",
                }
            )
    for name, lines in rows.items():
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_same_data_give_the_same_bytes(folder: Path) -> None:
    first, second = (render(make_weights(folder, FIT, TEXTS)) for _ in range(2))
    assert first == second


async def test_what_is_made_can_be_loaded_and_checks(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "weights.json"
    file.write_text(render(make_weights(folder, FIT, TEXTS)), encoding="utf-8")
    checker = BuiltinChecker(load_weights(file))
    right, wrong = await checker.check(
        [Pair("It has 20 mills.", "It has 20 mills."), Pair("It has 20 mills.", "It has 90 mills.")]
    )
    checker.close()
    assert right.score > wrong.score


def test_the_weights_say_what_they_were_made_of(folder: Path) -> None:
    made = make_weights(folder, FIT, TEXTS)
    assert [source["file"] for source in made["sources"]] == [file.path for file in (*FIT, *TEXTS)]
    assert made["sources"][0]["rows"] == 2 * len(NAMES)
    assert made["sources"][0]["sha256"] == hashlib.sha256((folder / "en.jsonl").read_bytes()).hexdigest()
    Weights.model_validate(made)


def test_examples_that_share_evidence_are_of_one_group(folder: Path) -> None:
    examples = read_examples(folder, FIT[0], seed=1)
    folds = folds_of([example.group for example in examples], seed=1)
    sides: dict[str, set[int]] = {}
    for example, fold in zip(examples, folds.tolist(), strict=True):
        sides.setdefault(example.pair.evidence, set()).add(fold)
    assert len(sides) == len(NAMES)
    assert all(len(side) == 1 for side in sides.values())


def test_a_swap_puts_in_what_the_passage_does_not_have(folder: Path) -> None:
    for file in TEXTS:
        examples = read_swaps(folder, file, seed=1)
        assert {example.verdict for example in examples} == {Verdict.SUPPORTED, Verdict.CONTRADICTED}
        for example in examples:
            assert (example.pair.claim in example.pair.evidence) is (example.verdict is Verdict.SUPPORTED)


def test_figures_are_those_of_the_textbook() -> None:
    labels = np.array([True, True, False, False])
    scores = np.array([0.95, 0.45, 0.55, 0.05])
    found = figures(labels, scores, scores >= 0.5)
    assert (found["accuracy"], found["balanced_accuracy"], found["auc"]) == (0.5, 0.5, 0.75)
    assert found["ece"] == pytest.approx((0.05 + 0.55 + 0.55 + 0.05) / 4, abs=1e-3)


def test_missing_data_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path), "--out", str(tmp_path / "weights.json")]) == 2
    assert "dev/citecheck_dev.jsonl" in capsys.readouterr().err
    assert not (tmp_path / "weights.json").exists()


def test_no_coefficient_rests_on_data_without_a_licence() -> None:
    assert not [file.path for file in (*FILES, *CORPORA) if file.role == "fit" and "none" in file.licence]


@pytest.mark.skipif(not DATA.is_dir(), reason="the data folder is not beside the repository")
def test_the_shipped_weights_are_of_the_data_at_hand() -> None:
    sources = load_weights().sources
    assert isinstance(sources, list)
    for source in sources:
        assert isinstance(source, dict)
        held = hashlib.sha256((DATA / str(source["file"])).read_bytes()).hexdigest()
        assert held == source["sha256"], source["file"]


@pytest.mark.skipif(not DATA.is_dir(), reason="the data folder is not beside the repository")
async def test_the_shipped_weights_reach_their_figures_on_citations() -> None:
    checker = BuiltinChecker()
    least = {"dev/citecheck_dev.jsonl": 0.85, "dev/attributionbench_dev.jsonl": 0.62}
    for file in (file for file in FILES if file.path in least):
        examples = read_examples(DATA, file, seed=7)
        judgements = await checker.check([example.pair for example in examples])
        hits = [
            (judgement.verdict is Verdict.SUPPORTED) is example.supported
            for judgement, example in zip(judgements, examples, strict=True)
        ]
        assert sum(hits) / len(hits) > least[file.path], file.path
    checker.close()
