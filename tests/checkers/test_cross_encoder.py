"""The cross-encoder, with tiny real models: what it reads, how its classes count, how it fails."""

from __future__ import annotations

import asyncio
import math
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, BertForSequenceClassification, BertModel

from proxy.checkers.cross_encoder import CrossEncoderChecker
from proxy.checkers.cross_encoder.classifier import read_classes
from proxy.checkers.cross_encoder.cross_encoder import Reader
from proxy.checkers.windows import LEAST_ROOM
from proxy.errors import ConfigError
from proxy.types import Judgement, NLILabel, Page, Pair, Verdict
from tests.checkers.tiny import NUMBERS, WINDOW, make_classifier

NLI = ("entailment", "neutral", "contradiction")
CLAIM = "the claim w1 w2 ."
PAIR = Pair(CLAIM, "w3 w4 .")
SPECIAL = 3
ROOM = WINDOW - SPECIAL - len(CLAIM.split())


@pytest.fixture(scope="module")
def nli(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_classifier(tmp_path_factory.mktemp("models") / "nli", NLI)


@pytest.fixture(scope="module")
def checker(nli: Path) -> Iterator[CrossEncoderChecker]:
    with closing(CrossEncoderChecker(str(nli), precision="fp32", overlap=8)) as made:
        yield made


@pytest.fixture(scope="module")
def tokenizer(nli: Path) -> Any:
    return AutoTokenizer.from_pretrained(nli)


def expected(folder: Path, evidence: str, claim: str = CLAIM) -> list[float]:
    """The probabilities of one window, by transformers alone."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(evidence, claim, return_tensors="pt")
    with torch.inference_mode():
        logits = BertForSequenceClassification.from_pretrained(folder).eval()(**inputs).logits[0]
    found: list[float] = (logits.sigmoid() if len(logits) == 1 else logits.softmax(0)).tolist()
    return found


async def judge(folder: Path, pair: Pair = PAIR, **options: Any) -> Judgement:
    with closing(CrossEncoderChecker(str(folder), precision="fp32", **options)) as made:
        return (await made.check([pair]))[0]


async def test_the_score_is_the_probability_of_entailment(nli: Path, checker: CrossEncoderChecker) -> None:
    evidence = ["w3 w4 .", "w9 w8 w7 w6 w5 .", "the claim w1 w2 ."]
    judgements = await checker.check([Pair(CLAIM, one) for one in evidence])
    for one, judgement in zip(evidence, judgements, strict=True):
        assert judgement.score == pytest.approx(expected(nli, one)[0], abs=1e-5)
        assert judgement.quote == (0, len(one))


async def test_evidence_is_the_premise_and_the_claim_the_hypothesis(
    nli: Path, checker: CrossEncoderChecker
) -> None:
    (judgement,) = await checker.check([Pair("w50 w60", "w70 w80 w90")])
    assert judgement.score == pytest.approx(expected(nli, "w70 w80 w90", "w50 w60")[0], abs=1e-5)
    assert judgement.score != pytest.approx(expected(nli, "w50 w60", "w70 w80 w90")[0], abs=1e-3)


@pytest.mark.parametrize(
    ("labels", "bias", "verdict"),
    [
        (NLI, (3, 0, 0), Verdict.SUPPORTED),
        (NLI, (0, 3, 0), Verdict.UNSUPPORTED),
        (NLI, (0, 0, 3), Verdict.CONTRADICTED),
        (("CONTRADICTION", "ENTAILMENT", "NEUTRAL"), (0, 3, 0), Verdict.SUPPORTED),
        (("Refutes", "Not Enough Info", "Supports"), (3, 0, 0), Verdict.CONTRADICTED),
        (("not_entailment", "entailment"), (0, 3), Verdict.SUPPORTED),
        (("entailment", "not_entailment"), (0, 3), Verdict.UNSUPPORTED),
        (("LABEL_0",), (3,), Verdict.SUPPORTED),
        (("LABEL_0",), (-3,), Verdict.UNSUPPORTED),
    ],
)
async def test_classes_count_by_their_names(
    tmp_path: Path, labels: tuple[str, ...], bias: tuple[float, ...], verdict: Verdict
) -> None:
    folder = make_classifier(tmp_path / "model", labels, bias=bias)
    judgement = await judge(folder)
    assert judgement.verdict is verdict
    high = 1 / (1 + math.exp(-3)) if len(bias) == 1 else math.exp(3) / (math.exp(3) + len(bias) - 1)
    assert (judgement.score == pytest.approx(high, abs=1e-4)) == (verdict is Verdict.SUPPORTED)


async def test_unnamed_classes_are_as_configured(tmp_path: Path) -> None:
    folder = make_classifier(tmp_path / "minicheck", ("LABEL_0", "LABEL_1"), bias=(0, 2))
    given: tuple[NLILabel, ...] = ("neutral", "entailment")
    assert (await judge(folder, labels=given)).verdict is Verdict.SUPPORTED
    with pytest.raises(ConfigError, match=r"its classes are called LABEL_0, LABEL_1: say in `labels`"):
        CrossEncoderChecker(str(folder))
    with pytest.raises(ConfigError, match=r"it has 2 classes \(LABEL_0, LABEL_1\), and `labels` names 3"):
        CrossEncoderChecker(str(folder), labels=NLI)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "names", [("entailment", "entails"), ("neutral", "contradiction"), ("entailment", "banana")]
)
def test_classes_that_are_not_understood_are_not_guessed(names: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="labels"):
        read_classes(dict(enumerate(names)))


async def test_the_threshold_decides(tmp_path: Path) -> None:
    folder = make_classifier(tmp_path / "model", NLI, bias=(math.log(3), 0, math.log(2)))  # 3 : 1 : 2
    assert (await judge(folder, threshold=0.5)).verdict is Verdict.SUPPORTED
    assert (await judge(folder, threshold=0.51)).verdict is Verdict.UNSUPPORTED


async def test_the_best_of_overlapping_windows_counts_and_is_the_quote(
    nli: Path, checker: CrossEncoderChecker
) -> None:
    words = NUMBERS[: 3 * ROOM]
    step = ROOM - 8
    windows = [words[at : at + ROOM] for at in range(0, len(words) - 8, step)]
    scores = [expected(nli, " ".join(window))[0] for window in windows]
    best = windows[scores.index(max(scores))]
    evidence = " ".join(words)
    (judgement,) = await checker.check([Pair(CLAIM, evidence)])
    assert judgement.score == pytest.approx(max(scores), abs=1e-5)
    assert judgement.quote is not None
    assert evidence[slice(*judgement.quote)] == " ".join(best)


async def test_the_quote_is_trimmed_to_whole_sentences(checker: CrossEncoderChecker) -> None:
    evidence = " ".join(f"The {' '.join(NUMBERS[n : n + 7])} w9." for n in range(0, 160, 8))
    (judgement,) = await checker.check([Pair(CLAIM, evidence)])
    assert judgement.quote is not None
    quote = evidence[slice(*judgement.quote)]
    assert quote.startswith("The ")
    assert quote.endswith("w9.")
    assert len(quote.split()) <= ROOM


async def test_the_claim_is_never_cut(checker: CrossEncoderChecker) -> None:
    longest = " ".join(NUMBERS[: WINDOW - SPECIAL - LEAST_ROOM])
    fits, too_long = await checker.check([Pair(longest, "w1 w2 w3"), Pair(f"{longest} w1", "w1 w2 w3")])
    assert fits.verdict is not Verdict.UNVERIFIED
    assert too_long.verdict is Verdict.UNVERIFIED
    assert too_long.reason == "the claim leaves no room for evidence in the model's 64 tokens"


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (Pair(CLAIM, ""), "there is no evidence"),
        (Pair(CLAIM, " \n\f\n "), "there is no evidence"),
        (Pair(CLAIM, "", title="the claim w1 w2"), "there is no evidence"),
        (Pair(" ", "w1"), "the claim has no words to check"),
    ],
)
async def test_nothing_to_compare_supports_nothing(tmp_path: Path, pair: Pair, reason: str) -> None:
    folder = make_classifier(tmp_path / "model", NLI, bias=(9, 0, 0))
    assert await judge(folder, pair) == Judgement(Verdict.UNSUPPORTED, 0.0, reason=reason)


async def test_the_title_is_read_but_never_quoted(nli: Path, checker: CrossEncoderChecker) -> None:
    (judgement,) = await checker.check([Pair(CLAIM, "w3 w4 .", title="title w5")])
    assert judgement.score == pytest.approx(expected(nli, "title w5\nw3 w4 .")[0], abs=1e-5)
    assert judgement.quote == (0, len("w3 w4 ."))


async def test_of_several_passages_each_is_read_under_its_own_title(
    nli: Path, checker: CrossEncoderChecker
) -> None:
    pair = Pair(CLAIM, "w3 w4 .", title="title w5", others=(Page("w6 .", "w7"), Page(" "), Page("w8 .")))
    (judgement,) = await checker.check([pair])
    read = "title w5\nw3 w4 .\n\f\nw7\nw6 .\n\f\nw8 ."
    assert judgement.score == pytest.approx(expected(nli, read)[0], abs=1e-5)


async def test_a_separator_in_a_text_is_text(nli: Path, checker: CrossEncoderChecker) -> None:
    sneaky, plain = await checker.check([Pair(CLAIM, "w3 [SEP] w4"), Pair(CLAIM, "w3 [ sep ] w4")])
    assert sneaky.score == pytest.approx(plain.score, abs=1e-6)
    assert sneaky.score != pytest.approx(expected(nli, "w3 [SEP] w4")[0], abs=1e-4)


def test_of_many_windows_those_near_the_claim_are_read(tokenizer: Any) -> None:
    reader = Reader(tokenizer, WINDOW, overlap=8, max_windows=2)
    noise = " ".join(NUMBERS[20:60] * 40)
    evidence = f"{noise} w1 w150 w160 w2 {noise}"
    windows = reader.read(Pair("the claim w150 w160 .", evidence))
    assert len(windows) == 2
    assert any("w150 w160" in evidence[slice(*window.span)] for window in windows)


@given(
    words=st.lists(st.sampled_from(["w1", "w2.", "w199", "unknown", "中文", "\n\f\n", "é"]), max_size=300),
    title=st.sampled_from(["", "title", " ".join(NUMBERS[:60])]),
    overlap=st.integers(0, 32),
    max_tokens=st.integers(32, WINDOW),
)
@settings(deadline=None, max_examples=50)
def test_windows_cover_the_evidence_and_hold_the_claim(
    tokenizer: Any, words: list[str], title: str, overlap: int, max_tokens: int
) -> None:
    evidence = " ".join(words)
    windows = Reader(tokenizer, max_tokens, overlap, max_windows=1000).read(
        Pair(CLAIM, evidence, title=title)
    )
    covered = {at for window in windows for at in range(*window.span)}
    assert {at for at, character in enumerate(evidence) if not character.isspace()} <= covered
    claim = tokenizer(CLAIM, add_special_tokens=False)["input_ids"]
    for window in windows:
        assert window.length <= max_tokens
        assert list(window.inputs["input_ids"][-len(claim) - 1 : -1]) == claim
        assert 0 <= window.span[0] < window.span[1] <= len(evidence)


async def test_a_models_failure_is_its_pairs_alone(tmp_path: Path, nli: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(nli, broken)
    model = BertForSequenceClassification.from_pretrained(nli)
    model.bert.embeddings.word_embeddings.weight.data[-1] = float("nan")  # w199
    model.save_pretrained(broken)
    with closing(CrossEncoderChecker(str(broken), precision="fp32", threshold=1e-9)) as made:
        ill, well = await made.check([Pair(CLAIM, "w3 w199"), Pair(CLAIM, "w3 w4")])
    assert (ill.verdict, ill.score, ill.reason) == (Verdict.UNVERIFIED, 0.0, "the checker's model failed")
    assert well.verdict is Verdict.SUPPORTED


async def test_pairs_of_all_lengths_together_are_judged_as_alone(checker: CrossEncoderChecker) -> None:
    mixed = [Pair(CLAIM, " ".join(NUMBERS[: 1 + 9 * n % 190])) for n in range(20)]
    together = await checker.check(mixed)
    for pair, judgement in zip(mixed, together, strict=True):
        (alone,) = await checker.check([pair])
        assert judgement.score == pytest.approx(alone.score, abs=1e-5)
        assert judgement.quote == alone.quote


async def test_bf16_agrees_with_fp32(nli: Path) -> None:
    with closing(CrossEncoderChecker(str(nli), precision="bf16")) as made:
        (judgement,) = await made.check([Pair(CLAIM, "w3 w4 .")])
    assert judgement.score == pytest.approx(expected(nli, "w3 w4 .")[0], abs=0.1)


async def test_the_event_loop_stays_free_and_a_caller_may_leave(checker: CrossEncoderChecker) -> None:
    many = [Pair(CLAIM, " ".join(NUMBERS))] * 400
    task = asyncio.create_task(checker.check(many))
    turns = 0
    until = time.monotonic() + 0.2
    while not task.done() and time.monotonic() < until:
        await asyncio.sleep(0)
        turns += 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert turns > 10
    assert len(await checker.check(many[:1])) == 1


def test_the_version_follows_the_weights_and_the_settings(nli: Path, tmp_path: Path) -> None:
    def version(folder: Path, **options: Any) -> str:
        with closing(CrossEncoderChecker(str(folder), **options)) as made:
            return made.version

    moved = tmp_path / "moved"
    shutil.copytree(nli, moved)
    assert version(moved) == version(nli)
    others = [
        version(make_classifier(tmp_path / "other", NLI, seed=1)),
        version(nli, threshold=0.6),
        version(nli, overlap=9),
        version(nli, max_windows=9),
        version(nli, labels=("neutral", "entailment", "contradiction")),
    ]
    assert len({version(nli), *others}) == 6


@pytest.mark.parametrize("model", ["./nowhere", "/nowhere/at/all", "~/nowhere"])
def test_a_missing_folder_is_one_clear_line(model: str) -> None:
    with pytest.raises(ConfigError, match=f"^No such cross-encoder folder: {model}$"):
        CrossEncoderChecker(model)


def test_a_folder_without_a_model_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"can't be loaded: .*a model and its tokenizer") as caught:
        CrossEncoderChecker(str(tmp_path))
    assert "\n" not in caught.value.message


def test_a_model_that_classifies_nothing_is_one_clear_line(nli: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    shutil.copytree(nli, plain)
    BertModel.from_pretrained(nli).save_pretrained(plain)
    with pytest.raises(ConfigError, match="is no classification model but BertModel: name one"):
        CrossEncoderChecker(str(plain))


def test_a_failed_download_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    # The hub's client, cut off by its own switch: without it, it tries for half a minute.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match=r"someone/nli can't be loaded: .* check the name") as caught:
        CrossEncoderChecker("someone/nli")
    assert "\n" not in caught.value.message
    assert "checker.cross_encoder.model" in caught.value.message
