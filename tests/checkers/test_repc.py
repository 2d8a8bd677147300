"""The RepC checker, with classifiers that the test trains on tiny real models."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from proxy.checkers.repc import RepCChecker
from proxy.checkers.repc.hidden_states import MAX_WINDOWS, HiddenStates, States, windows
from proxy.errors import ConfigError
from proxy.types import Pair, Verdict
from tests.tiny_models import repc_classifier, tiny_decoder, tiny_encoder, write_plain_rows
from training.repc.__main__ import main

CLAIM = "the town of elm has mills"
SUPPORTING = "true true : the town of elm is old and stands near fir , in 3 ."
OTHER = "no never : the town of elm is old and stands near fir , in 3 ."
NOISE = "the river of larch is near a town and is old . "
CONTRADICTING, UNDECIDED = "false false" + OTHER[len("no never") :], "many many" + OTHER[len("no never") :]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A decoder and the classifier for it."""
    folder = tmp_path_factory.mktemp("repc")
    model = tiny_decoder(folder / "tiny-gpt2")
    return model, repc_classifier(folder, model, "--layers", "ensemble")


@pytest.fixture
def checker(models: tuple[Path, Path]) -> Iterator[RepCChecker]:
    model, classifier = models
    opened = RepCChecker(str(model), classifier, precision="fp32", batch_size=3)
    yield opened
    opened.close()


async def test_evidence_decides(checker: RepCChecker) -> None:
    right, wrong = await checker.check([Pair(CLAIM, SUPPORTING), Pair(CLAIM, OTHER)])
    assert right.verdict is Verdict.SUPPORTED
    assert wrong.verdict is Verdict.UNSUPPORTED
    assert right.score > wrong.score
    assert right.quote == (0, len(SUPPORTING))


async def test_judgements_come_in_the_order_of_the_pairs_whatever_their_length(checker: RepCChecker) -> None:
    pairs = [Pair(CLAIM, text) for text in (OTHER * 9, SUPPORTING, "", OTHER, SUPPORTING + NOISE, OTHER * 2)]
    together = await checker.check(pairs)
    alone = [(await checker.check([pair]))[0] for pair in pairs]
    assert [one.verdict for one in together] == [one.verdict for one in alone]
    assert np.allclose([one.score for one in together], [one.score for one in alone], atol=1e-3)
    assert await checker.check([]) == []


async def test_three_classes_tell_contradicted_from_unsupported(tmp_path: Path) -> None:
    model = tiny_encoder(tmp_path / "tiny-bert")
    classifier = repc_classifier(
        tmp_path,
        model,
        "--classifier",
        "mlp",
        "--pooling",
        "mean",
        labels=("supported", "contradicted", "unsupported"),
    )
    checker = RepCChecker(str(model), classifier / "repc.json", precision="fp32")
    found = await checker.check([Pair(CLAIM, text) for text in (SUPPORTING, CONTRADICTING, UNDECIDED)])
    checker.close()
    assert [one.verdict for one in found] == [Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.UNSUPPORTED]


async def test_the_best_window_of_long_evidence_counts_and_is_the_quote(checker: RepCChecker) -> None:
    long = f"{OTHER} {NOISE}" * 3 + SUPPORTING + NOISE * 3
    (one,) = await checker.check([Pair(CLAIM, long)])
    assert one.quote is not None
    start, end = one.quote
    assert end - start < len(long) / 2
    (alone,) = await checker.check([Pair(CLAIM, long[start:end])])
    assert one.score == pytest.approx(alone.score, abs=1e-3)


async def test_evidence_is_found_in_much_other_text(checker: RepCChecker) -> None:
    text = NOISE * 600 + SUPPORTING + NOISE * 600
    read = checker._states.reader.read(Pair(CLAIM, text))
    assert len(read) == MAX_WINDOWS
    assert any(SUPPORTING[:30] in text[slice(*window.span)] for window in read)
    (one,) = await checker.check([Pair(CLAIM, text)])
    assert one.quote in [window.span for window in read]


async def test_a_claim_is_never_cut(checker: RepCChecker) -> None:
    (one,) = await checker.check([Pair(f"{CLAIM} " * 12, SUPPORTING)])
    assert one.verdict is Verdict.UNVERIFIED
    assert one.score == 0
    assert "leaves no room" in one.reason
    fits = checker._states.reader.read(Pair(f"{CLAIM} near a river", NOISE * 50))
    ends = {tuple(window.inputs["input_ids"][-12:]) for window in fits}
    assert len(fits) > 3
    assert len(ends) == 1  # the claim and what comes after it


async def test_no_evidence_supports_nothing(checker: RepCChecker) -> None:
    for text in ("", " \n\f\n "):
        (one,) = await checker.check([Pair(CLAIM, text)])
        assert (one.verdict, one.score) == (Verdict.UNSUPPORTED, 0)


async def test_special_tokens_in_a_text_are_text(checker: RepCChecker) -> None:
    reader = checker._states.reader
    (window,) = reader.read(Pair("<end> elm", "<end> the town"))
    assert 0 not in window.inputs["input_ids"]


async def test_a_pair_that_the_model_fails_on_is_unverified_alone(
    checker: RepCChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = HiddenStates.read

    def failing(self: HiddenStates, some: Any) -> States:
        if any(window.span[1] > len(SUPPORTING) for window in some):
            raise RuntimeError("out of memory")
        return read(self, some)

    monkeypatch.setattr(HiddenStates, "read", failing)
    right, broken = await checker.check([Pair(CLAIM, SUPPORTING), Pair(CLAIM, NOISE * 2)])
    assert right.verdict is Verdict.SUPPORTED
    assert (broken.verdict, broken.score, broken.quote) == (Verdict.UNVERIFIED, 0, None)


async def test_states_that_are_no_numbers_are_never_supported(
    checker: RepCChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HiddenStates, "read", lambda _, some: np.full((len(some), 3, 32), np.nan, np.float16))
    (one,) = await checker.check([Pair(CLAIM, SUPPORTING)])
    assert one.verdict is Verdict.UNVERIFIED


async def test_the_packaged_model_is_found_by_its_name(tmp_path: Path) -> None:
    rows, out = write_plain_rows(tmp_path / "rows.jsonl", 80), tmp_path / "classifier"
    command = ["--model", "all-MiniLM-L6-v2", "--data", str(rows), "--out", str(out), "--layers", "4"]
    assert main([*command, "--max-tokens", "64", "--threads", "1"]) == 0
    checker = RepCChecker("sentence-transformers/all-MiniLM-L6-v2", out)
    bridge, claim = "On that day the bridge over the water was opened.", "The bridge was opened."
    right, wrong = await checker.check([Pair(claim, bridge), Pair(claim, "The singer made a new record.")])
    checker.close()
    assert right.score > wrong.score


def test_a_decoder_is_told_from_an_encoder(models: tuple[Path, Path], tmp_path: Path) -> None:
    assert HiddenStates(str(models[0]), max_tokens=64).causal
    assert not HiddenStates(str(tiny_encoder(tmp_path / "bert")), max_tokens=64).causal


def test_padding_changes_no_state(models: tuple[Path, Path], tmp_path: Path) -> None:
    for model in (models[0], tiny_encoder(tmp_path / "bert")):
        states = HiddenStates(str(model), max_tokens=64, precision="fp32")
        (short,), (long,) = (states.reader.read(Pair(CLAIM, text)) for text in ("true .", SUPPORTING))
        together, alone = states.read([short, long])[0], states.read([short])[0]
        assert np.allclose(together, alone, atol=2e-3)
        assert together.shape == (states.layers, states.hidden_size)


def test_the_version_follows_classifier_and_model(models: tuple[Path, Path], tmp_path: Path) -> None:
    model, classifier = models
    moved = Path(shutil.copytree(classifier, tmp_path / "moved", ignore=shutil.ignore_patterns("states")))
    versions = []
    for folder in (classifier, moved, classifier / "repc.json"):
        checker = RepCChecker(str(model), folder)
        versions.append(checker.version)
        checker.close()
    assert len(set(versions)) == 1
    change(moved, threshold=0.99)
    checker = RepCChecker(str(model), moved)
    assert checker.version not in versions
    checker.close()


def test_another_model_is_refused_by_name(models: tuple[Path, Path], tmp_path: Path) -> None:
    other = tiny_decoder(tmp_path / "other-gpt2", seed=1)
    with pytest.raises(
        ConfigError, match=r"was trained on the model .*tiny-gpt2 .*, not on .*other-gpt2"
    ) as caught:
        RepCChecker(str(other), models[1])
    assert "hidden size 32" in caught.value.message


def change(folder: Path, **values: Any) -> None:
    described = json.loads((folder / "repc.json").read_text(encoding="utf-8"))
    (folder / "repc.json").write_text(json.dumps(described | values), encoding="utf-8")


def reshape(folder: Path) -> None:
    """Arrays of another shape, with the right checksum."""
    file = folder / "repc.safetensors"
    arrays = load_file(file)
    save_file({name: array[..., :1] if array.ndim else array for name, array in arrays.items()}, file)
    rehash(folder)


def rehash(folder: Path) -> None:
    with (folder / "repc.safetensors").open("rb") as file:
        change(folder, arrays_sha256=hashlib.file_digest(file, "sha256").hexdigest())


def garble(folder: Path) -> None:
    (folder / "repc.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0not json")
    rehash(folder)


BREAKAGES = {
    r"repc\.json can't be read: No such file": lambda folder: (folder / "repc.json").unlink(),
    r"repc\.safetensors can't be read": lambda folder: (folder / "repc.safetensors").unlink(),
    r"repc\.json can't be used: Invalid JSON": lambda folder: (folder / "repc.json").write_text("{"),
    r"threshold: Input should be less than": lambda folder: change(folder, threshold=1.5),
    r"kind: Input should be 'svm'": lambda folder: change(folder, kind="tree"),
    r"surprise: Extra inputs": lambda folder: change(folder, surprise=1),
    r"layers must be different ones of the model's 3": lambda folder: change(folder, layers=[4]),
    r"classes must be": lambda folder: change(folder, classes=["supported"]),
    r"arrays: String should match": lambda folder: change(folder, arrays="../../etc/passwd"),
    r"is not the file that its description belongs to": lambda folder: change(folder, arrays_sha256="0" * 64),
    r"do not fit its description": reshape,
    r"arrays in .* do not fit its description: .*": garble,
}


@pytest.mark.parametrize("message", BREAKAGES)
def test_a_broken_classifier_is_one_clear_line(
    message: str, models: tuple[Path, Path], tmp_path: Path
) -> None:
    model, classifier = models
    broken = Path(shutil.copytree(classifier, tmp_path / "broken", ignore=shutil.ignore_patterns("states")))
    BREAKAGES[message](broken)
    with pytest.raises(ConfigError, match=message) as caught:
        RepCChecker(str(model), broken)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("model", ["./nowhere", "/nowhere/at/all"])
def test_a_missing_model_is_one_clear_line(model: str, models: tuple[Path, Path]) -> None:
    with pytest.raises(ConfigError, match=f"^No such model folder: {model}$"):
        RepCChecker(model, models[1])


def test_a_failed_download_is_one_clear_line(
    models: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(
        ConfigError, match=r"someone/some-model can't be downloaded: .* check the name"
    ) as caught:
        RepCChecker("someone/some-model", models[1])
    assert "\n" not in caught.value.message


@given(tokens=st.integers(0, 400), room=st.integers(1, 60))
def test_windows_cover_everything_and_overlap(tokens: int, room: int) -> None:
    bounds = windows(tokens, room)
    covered = {at for first, last in bounds for at in range(first, last)}
    assert covered == set(range(tokens))
    assert all(last - first == min(room, tokens) for first, last in bounds)
    assert len(set(bounds)) == len(bounds)
    if room >= 4:
        assert all(one[1] > other[0] for one, other in pairwise(bounds))
