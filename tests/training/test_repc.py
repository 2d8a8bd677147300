"""The command that trains RepC classifiers, on small real models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from evaluation.datasets import DataError
from proxy.checkers.repc.classifiers import Ensemble, Kind
from proxy.checkers.repc.hidden_states import HiddenStates, States
from proxy.checkers.repc.stored import read_classifier
from tests.tiny_models import tiny_decoder, tiny_encoder, write_plain_rows, write_rows
from training.repc.__main__ import main
from training.repc.data import classes_of, read_rows, split
from training.repc.extract import extract
from training.repc.fitting import Table, exported, fitted

KINDS: tuple[Kind, ...] = get_args(Kind)
THREE = ("supported", "contradicted", "unsupported")


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_decoder(tmp_path_factory.mktemp("models") / "tiny-gpt2")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("models") / "tiny-bert")


def described(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "repc.json").read_text(encoding="utf-8"))
    return read


def train(folder: Path, model: Path | str, rows: Path, *more: str) -> Path:
    out = folder / "out"
    arguments = ["--model", str(model), "--data", str(rows), "--out", str(out), "--max-tokens", "64"]
    assert main([*arguments, "--precision", "fp32", "--threads", "1", *more]) == 0
    return out


def table(classes: int, rows: int = 120, size: int = 24) -> Table:
    """Clouds of points around a centre for each class, that overlap."""
    draw = np.random.default_rng(3)
    labels = np.arange(rows) % classes
    centres = draw.normal(size=(classes, size))
    states = (centres[labels] + 1.5 * draw.normal(size=(rows, size))).astype(np.float32)
    return Table(states, labels, np.arange(rows))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_exported_classifier_gives_scikit_learns_own_probabilities(kind: Kind, classes: int) -> None:
    pipeline = fitted(kind, table(classes), seed=1)
    unseen = np.random.default_rng(4).normal(size=(200, 24)).astype(np.float32) * 2
    ours = exported(kind, pipeline).probabilities(unseen)
    theirs = pipeline.predict_proba(unseen)
    assert ours.shape == (200, classes)
    assert np.allclose(ours, theirs, atol=1e-5)
    assert np.ptp(theirs[:, 0]) > 0.3  # they say different things of different rows
    assert ours.argmax(axis=1).tolist() == theirs.argmax(axis=1).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_and_seed_give_the_same_classifier(kind: Kind) -> None:
    unseen = table(2, rows=30).states
    first, second = (exported(kind, fitted(kind, table(3), seed=1)).probabilities(unseen) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("layers", ["best", "ensemble", "1,3"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_classifier_learns_from_a_decoder(
    kind: Kind, layers: str, decoder: Path, tmp_path: Path
) -> None:
    rows, test = write_rows(tmp_path / "rows.jsonl", 120), write_rows(tmp_path / "test.jsonl", 40)
    out = train(tmp_path, decoder, rows, "--classifier", kind, "--layers", layers, "--test", str(test))
    made = described(out)
    assert made["figures"]["test"]["accuracy"] > 0.75
    assert made["figures"]["test"]["auc"] > 0.8
    assert made["pooling"] == "claim"
    wanted = {"ensemble": [1, 2, 3], "1,3": [1, 3]}
    assert made["layers"] == wanted.get(layers, made["layers"])
    assert len(made["layers"]) == len(wanted.get(layers, [0]))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_three_classes_are_learnt_where_the_rows_tell_them_apart(
    pooling: str, encoder: Path, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 180, labels=THREE)
    out = train(tmp_path, encoder, rows, "--classifier", "mlp", "--pooling", pooling)
    made = described(out)
    assert made["classes"] == list(THREE)
    assert made["pooling"] == pooling
    assert max(made["figures"]["layers"].values()) > 0.6  # chance is a third


@pytest.mark.parametrize("kind", KINDS)
def test_every_classifier_learns_from_the_packaged_model(kind: Kind, tmp_path: Path) -> None:
    rows, test = write_plain_rows(tmp_path / "rows.jsonl", 160), write_plain_rows(tmp_path / "test.jsonl", 40)
    more = ("--classifier", kind, "--layers", "3,4", "--test", str(test))
    assert described(train(tmp_path, "all-MiniLM-L6-v2", rows, *more))["figures"]["test"]["auc"] > 0.8


def test_the_best_layer_is_the_one_with_the_best_accuracy(decoder: Path, tmp_path: Path) -> None:
    made = described(train(tmp_path, decoder, write_rows(tmp_path / "rows.jsonl", 120)))
    accuracies = made["figures"]["layers"]
    assert sorted(accuracies) == ["1", "2", "3"]
    assert accuracies[str(made["layers"][0])] == max(accuracies.values())


def test_layers_decide_by_majority_where_that_is_asked_for(decoder: Path, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 120)
    out = train(tmp_path, decoder, rows, "--layers", "ensemble", "--combine", "majority")
    ensemble = read_classifier(out).ensemble
    states: States = np.random.default_rng(0).normal(size=(20, 3, 32)).astype(np.float16)
    votes = [
        Ensemble({layer: one}).probabilities(states).argmax(axis=1) for layer, one in ensemble.layers.items()
    ]
    assert np.allclose(ensemble.probabilities(states)[:, 1], np.mean(votes, axis=0))


def test_an_interrupted_run_goes_on_where_it_was(
    decoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = read_rows(write_rows(tmp_path / "rows.jsonl", 600), None, seed=1)
    model = HiddenStates(str(decoder), max_tokens=64, precision="fp32")
    whole = np.array(extract(rows, model, tmp_path / "whole", 8, most=1).states)
    assert whole.shape == (600, 3, 32)

    read, limit = HiddenStates.read, 300
    calls: list[int] = []

    def counted(self: HiddenStates, windows: Any) -> States:
        calls.append(len(windows))
        if sum(calls) > limit:
            raise KeyboardInterrupt
        return read(self, windows)

    monkeypatch.setattr(HiddenStates, "read", counted)
    with pytest.raises(KeyboardInterrupt):
        extract(rows, model, tmp_path / "states", 8, most=1)
    calls.clear()
    limit = 1000
    again = extract(rows, model, tmp_path / "states", 8, most=1)
    assert sum(calls) == 600 - 256
    assert np.array_equal(again.states, whole)
    calls.clear()
    extract(rows, model, tmp_path / "states", 8, most=1)
    assert calls == []


def test_other_rows_or_settings_have_states_of_their_own(decoder: Path, tmp_path: Path) -> None:
    rows = read_rows(write_rows(tmp_path / "rows.jsonl", 12), None, seed=1)
    for max_tokens, some in ((64, rows), (48, rows), (64, rows[:-1])):
        model = HiddenStates(str(decoder), max_tokens=max_tokens)
        extract(some, model, tmp_path / "states", 8, most=1)
    assert len(list((tmp_path / "states").glob("*.npy"))) == 3


def test_no_evidence_is_on_both_sides_of_the_split(tmp_path: Path) -> None:
    rows = read_rows(write_rows(tmp_path / "rows.jsonl", 60), None, seed=1) * 2
    train_rows, held = split(rows, classes_of(rows), seed=1)
    assert len(train_rows) + len(held) == 120
    assert len(held) == pytest.approx(24, abs=6)
    assert not {row.pair.evidence for row in train_rows} & {row.pair.evidence for row in held}


def test_labels_that_nothing_can_learn_are_refused(
    decoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, wrong = write_rows(tmp_path / "rows.jsonl", 120), tmp_path / "wrong.jsonl"
    lines = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["label"] = {"supported": "not_supported"}.get(line["label"], "supported")
    wrong.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    out = tmp_path / "out"
    command = ["--model", str(decoder), "--data", str(rows), "--dev", str(wrong), "--out", str(out)]
    assert main([*command, "--max-tokens", "64", "--threads", "1"]) == 2
    assert "no better than chance on the held-out rows" in capsys.readouterr().err
    assert not (out / "repc.json").exists()


def test_a_line_ends_at_a_line_feed_alone(tmp_path: Path) -> None:
    """JSON may have the separators of Unicode in strings as they are."""
    text = "A\u2028B\u2029C\x85D"
    row = {"claim": text, "evidence": text, "label": "supported"}
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    (found,) = read_rows(file, None, seed=1)
    assert (found.pair.claim, found.pair.evidence) == (text, text)
    file.write_text(json.dumps(row, ensure_ascii=False) + "\n{}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"rows\.jsonl:2: claim"):
        read_rows(file, None, seed=1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "rows.jsonl is empty"),
        ('{"claim": "a", "evidence": "b"}\n', "rows.jsonl:1: label: Field required"),
        (
            '{"claim": "a", "evidence": "b", "label": "maybe"}\n',
            "label: Input should be 'supported'",
        ),
        ("{\n", "rows.jsonl:1: Invalid JSON"),
        (
            '{"claim": "a", "evidence": "b", "label": "supported"}\n' * 30,
            "30 rows with 1 different evidences are supported",
        ),
    ],
)
def test_bad_data_are_one_clear_line(
    content: str, message: str, decoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(content, encoding="utf-8")
    command = ["--model", str(decoder), "--data", str(file), "--out", str(tmp_path / "out")]
    assert main([*command, "--max-tokens", "64"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "wanted"),
    [
        ("--max-tokens", "31", "a whole number of 32 or more"),
        ("--seed", "-1", "a whole number of 0 or more"),
        ("--threads", "two", "a whole number of 1 or more"),
        ("--layers", "last", "best, ensemble, or layer numbers"),
    ],
)
def test_an_option_that_can_not_be_read_says_what_is_wanted(
    option: str, value: str, wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--model", "m", "--data", "rows.jsonl", "--out", "out", option, value])
    assert ended.value.code == 2
    assert f"argument {option}: {value!r} is not {wanted}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--layers", "9"], "has layers 1 to 3, not 9"),
        (["--max-tokens", "4096"], "reads at most 128 tokens, not 4096"),
        (["--data", "nowhere.jsonl"], "nowhere.jsonl: there is no such file"),
        (["--model", "./nowhere"], "No such model folder: ./nowhere"),
    ],
)
def test_bad_options_are_one_clear_line(
    more: list[str], message: str, decoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", 60)
    command = ["--model", str(decoder), "--data", str(rows), "--out", str(tmp_path / "out")]
    assert main([*command, "--max-tokens", "64", *more]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
