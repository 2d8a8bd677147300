"""Fitting an adapter, on a tiny model of the test's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from proxy.checkers.builtin.alignment import Logits, load_base
from proxy.checkers.builtin.nli import NLI, merge
from proxy.checkers.builtin.tensors import TokenPair, join, stacked
from tests.tiny_models import tiny_encoder
from training.batches import NOT_SUPPORTED, Encoded, encode, loss, shuffled, tensors
from training.lora import Settings, adapted, exported, fit, restore
from training.run import Run, write_rows

TOWNS = "alder birch cedar elm fir ginkgo hazel juniper larch maple olive poplar rowan spruce willow".split()
SETTINGS = Settings(
    rank=4, alpha=8.0, dropout=0.0, hidden_dropout=0.0, rate=5e-3, epochs=4, batch_tokens=256, longest=48
)


def rows() -> list[dict[str, str]]:
    """Each town has mills; a claim of another town is wrong."""
    found = []
    for at, town in enumerate(TOWNS):
        other = TOWNS[(at + 4) % len(TOWNS)]
        excerpt = f"the town of {town} has many mills ."
        found.append({"claim": f"{town} has mills .", "excerpt": excerpt, "label": "supported"})
        found.append(
            {"claim": f"{other} has mills .", "excerpt": excerpt, "label": "contradicted", "changed": other}
        )
    return found * 8


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tiny_encoder(tmp_path / "base")


def test_a_fitted_adapter_tells_right_from_wrong(base: Path, tmp_path: Path) -> None:
    run = Run(tmp_path)
    write_rows(tmp_path / "rows.jsonl", rows())
    adapter = fit(run, "one.safetensors", [tmp_path / "rows.jsonl"], base, replace(SETTINGS, epochs=12))
    found = NLI(base, adapter, "fp32").entailments(
        [(row["excerpt"], row["claim"]) for row in rows()[: 2 * len(TOWNS)]]
    )
    right = [
        (one.supported > 0.5) == (row["label"] == "supported")
        for one, row in zip(found, rows(), strict=False)
    ]
    assert sum(right) / len(right) > 0.8


def test_a_stopped_fit_goes_on_to_the_same_adapter(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.lora._SAVE_EVERY", 5)
    write_rows(tmp_path / "rows.jsonl", rows())
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    whole.mkdir()
    stopped.mkdir()
    name, written = "one.safetensors", [tmp_path / "rows.jsonl"]
    expected = load_file(fit(Run(whole), name, written, base, SETTINGS))

    steps = 0

    def interrupted(logits: Logits, labels: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        nonlocal steps
        steps += 1
        if steps == 13:
            raise KeyboardInterrupt
        return loss(logits, labels, words)

    with monkeypatch.context() as patch:
        patch.setattr("training.lora.loss", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fit(Run(stopped), name, written, base, SETTINGS)
    assert (stopped / "one.safetensors.checkpoint").exists()
    found = load_file(fit(Run(stopped), name, written, base, SETTINGS))
    for weight, tensor in expected.items():
        torch.testing.assert_close(found[weight], tensor)


def test_what_is_done_is_not_done_again(base: Path, tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.jsonl", rows())
    one = Run(tmp_path), "one.safetensors", [tmp_path / "rows.jsonl"], base, replace(SETTINGS, epochs=1)
    adapter = fit(*one)
    made = adapter.stat().st_mtime_ns
    assert fit(*one) == adapter
    assert adapter.stat().st_mtime_ns == made


def test_a_fit_can_begin_with_an_adapter(base: Path, tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.jsonl", rows())
    first = fit(Run(tmp_path), "one.safetensors", [tmp_path / "rows.jsonl"], base, SETTINGS)
    model = adapted(base, SETTINGS)
    restore(model, load_file(first), SETTINGS)
    for name, tensor in exported(model, SETTINGS).items():
        torch.testing.assert_close(tensor, load_file(first)[name])
    still = replace(SETTINGS, rate=0.0, epochs=1)
    second = fit(Run(tmp_path), "two.safetensors", [tmp_path / "rows.jsonl"], base, still, first)
    for name, tensor in load_file(second).items():
        torch.testing.assert_close(tensor, load_file(first)[name])


def test_merging_gives_what_peft_computes(base: Path) -> None:
    model = adapted(base, SETTINGS).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.05)
    merged = load_base(base).eval()
    merge(merged, exported(model, SETTINGS))
    tokenizer = AutoTokenizer.from_pretrained(base)
    inputs = stacked([one.pair for one in encode(rows()[:4], tokenizer, 48)])
    with torch.no_grad():
        torch.testing.assert_close(
            merged(**inputs).classes[:4], model(**inputs).classes[:4], atol=2e-3, rtol=2e-2
        )


def test_an_adapter_is_in_half_precision_and_small(base: Path, tmp_path: Path) -> None:
    found = exported(adapted(base, SETTINGS), SETTINGS)
    assert {tensor.dtype for tensor in found.values()} == {torch.float16}
    assert {name.split(".")[0] for name in found} == {"encoder", "head"}
    save_file(found, tmp_path / "adapter.safetensors")
    assert (tmp_path / "adapter.safetensors").stat().st_size < 100_000


def test_a_row_that_is_only_not_supported_is_marginal() -> None:
    classes = torch.tensor([[0.0, 5.0, -5.0], [0.0, -5.0, 5.0]])
    words = torch.zeros(2, 3)
    unknown = torch.full((2, 3), -1)
    both = loss(Logits(classes, words), torch.tensor([NOT_SUPPORTED, NOT_SUPPORTED]), unknown)
    swapped = loss(Logits(classes.flip(0), words), torch.tensor([NOT_SUPPORTED, NOT_SUPPORTED]), unknown)
    assert both == pytest.approx(swapped.item())
    expected = -torch.log_softmax(classes[0], -1)[1:].logsumexp(-1)
    assert loss(Logits(classes[:1], words[:1]), torch.tensor([NOT_SUPPORTED]), unknown[:1]) == pytest.approx(
        expected.item(), abs=1e-6
    )


def test_only_the_changed_words_of_a_wrong_claim_are_wrong(base: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base)
    supported, wrong = encode(rows()[:2], tokenizer, 48)
    assert set(supported.words) == {0}
    assert wrong.words == (1, 0, 0, 0)
    _, labels, words = tensors([supported, wrong])
    assert labels.tolist() == [0, 1]
    assert words[1, wrong.pair.start : wrong.pair.start + 4].tolist() == [1, 0, 0, 0]
    assert (words[1, : wrong.pair.start] == -1).all()


def test_a_claim_that_leaves_no_room_is_left_out(base: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base)
    long = {"claim": "mills " * 40, "excerpt": "the town", "label": "supported"}
    assert encode([long, rows()[0]], tokenizer, 48) == encode([rows()[0]], tokenizer, 48)


def test_every_row_is_in_one_batch_each_epoch() -> None:
    tokenizer_free = [Encoded(pair, 0, ()) for pair in _pairs(100)]
    for seed in (1, 2):
        found = shuffled(tokenizer_free, 256, seed)
        assert sorted(at for batch in found for at in batch) == list(range(100))
    assert shuffled(tokenizer_free, 256, 1) == shuffled(tokenizer_free, 256, 1)
    assert shuffled(tokenizer_free, 256, 1) != shuffled(tokenizer_free, 256, 2)


def _pairs(count: int) -> list[TokenPair]:
    return [join(range(5 + at % 30), range(4), 1, 2, 64) for at in range(count)]
