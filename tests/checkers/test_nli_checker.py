"""The trained cross-encoder: what it reads, how its scores become judgements, and what happens when it fails.

The models are real and tiny: a BERT of two layers with random weights, and an adapter made on the spot.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from transformers import BertModel, BertTokenizerFast, MPNetModel

from proxy.checkers.nli import NLIChecker, load
from proxy.checkers.nli.attention import ServedAttention
from proxy.checkers.nli.batch import SpecialTokens, TokenPair, batch_of
from proxy.checkers.nli.checker import Scores, decisive
from proxy.checkers.nli.model import NLIModel, load_adapted, load_base
from proxy.checkers.nli.packed import PACKED, PackedEmbedding, packed, read_packed
from proxy.checkers.nli.reader import CLAIM_TOKENS, MOST_PIECES, ClaimTooLongError, Reader, Window
from proxy.checkers.nli.weights import Loaded
from proxy.checkers.nli_sizes import packaged
from proxy.errors import ConfigError
from proxy.types import Page, Pair, Verdict
from tests.tiny_models import tiny_encoder

WORDS = """the a of in is was and not tower bridge castle stands old tall metres built by king queen town
river north south 1889 330 430 . , : title it he she no nothing said""".split()
HIDDEN = 8


def make_base(folder: Path, words: list[str] | None = None) -> Path:
    tiny_encoder(folder, words=words or WORDS, window=512)
    BertTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    return folder


def make_weights(folder: Path, base: Path, *, seed: int = 1, **manifest: object) -> Path:
    """An adapter for a tiny base: one changed layer and a random head."""
    folder.mkdir(parents=True, exist_ok=True)
    model = load_base(base, HIDDEN)
    torch.manual_seed(seed)
    head = {
        name: torch.randn_like(value) for name, value in model.named_parameters() if name.startswith("head.")
    }
    layer = "encoder.encoder.layer.0.output.dense"
    rows, columns = dict(model.named_parameters())[f"{layer}.weight"].shape
    lora = {f"{layer}.lora_down": torch.randn(2, columns), f"{layer}.lora_up": torch.randn(rows, 2)}
    save_file(head | lora, folder / "adapter.safetensors")
    calibration = {language: {"scale": 1.0, "bias": 0.0} for language in ("en", "zh")}
    told = {"base": str(base), "hidden": HIDDEN, "window_tokens": 32, "calibration": calibration} | manifest
    (folder / "manifest.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_base(tmp_path_factory.mktemp("nli") / "base")


@pytest.fixture(scope="module")
def loaded(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return load(make_weights(tmp_path_factory.mktemp("nli") / "weights", base))


@pytest.fixture
def checker(loaded: Loaded) -> Iterator[NLIChecker]:
    checker = NLIChecker({"en": loaded, "zh": loaded})
    yield checker
    checker.close()


@pytest.mark.parametrize("lengths", [(30, 7, 18), (12, 12)])
@pytest.mark.parametrize("products", [False, True])
@pytest.mark.parametrize("kind", [BertModel, MPNetModel])
def test_the_layers_that_serve_compute_what_those_of_transformers_do(
    kind: type[BertModel | MPNetModel],
    products: bool,
    lengths: tuple[int, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("proxy.checkers.nli.attention._multiplies", lambda _: products)
    torch.manual_seed(5)
    config = kind.config_class(
        vocab_size=50, hidden_size=24, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32
    )
    encoder = kind(config, add_pooling_layer=False)
    if isinstance(encoder, MPNetModel):
        torch.nn.init.normal_(encoder.encoder.relative_attention_bias.weight)
    encoder.save_pretrained(tmp_path)
    plain = load_base(tmp_path, HIDDEN)
    head = {name: torch.randn_like(value) for name, value in plain.state_dict().items() if "head." in name}
    plain.load_state_dict(head, strict=False)
    served = load_adapted(tmp_path, HIDDEN, head, torch.float32)
    pairs = [TokenPair(tuple(range(4, 4 + length)), (9, 8, 7)) for length in lengths]
    with torch.inference_mode():
        batch = batch_of(pairs, SpecialTokens(0, 2, 1))
        torch.testing.assert_close(served(batch), plain(batch))
    assert sum(isinstance(module, ServedAttention) for module in served.modules()) == 3


TOWER = "the tower is 330 metres tall. it stands in the town. the king built a castle."


def test_evidence_that_fits_is_read_whole_and_under_its_title(base: Path) -> None:
    (window,) = Reader(base, 64).read(Pair("the tower is 330 metres tall", TOWER, title="the castle"))
    tokenizer = BertTokenizerFast.from_pretrained(base)
    assert tokenizer.decode(window.tokens.evidence) == f"the castle. {TOWER}"
    assert tokenizer.decode(window.tokens.claim) == "the tower is 330 metres tall"
    assert TOWER[slice(*window.sentences[0])] == "the tower is 330 metres tall."


def test_of_long_evidence_the_sentences_that_cover_the_claim_are_read(base: Path) -> None:
    filler = " ".join("the queen said nothing of the river." for _ in range(40))
    evidence = f"{filler} the king built a castle. {filler} it stands in the north. {filler}"
    windows = Reader(base, 32).read(Pair("the king built a castle in the north", evidence))
    read = [evidence[slice(*span)] for span in windows[0].sentences]
    assert read[:2] == ["the king built a castle.", "it stands in the north."]
    assert all(len(window.tokens.evidence) <= 32 for window in windows)


def test_the_manifest_says_how_many_windows_are_read(base: Path, tmp_path: Path) -> None:
    filler = " ".join("the queen said nothing of the river." for _ in range(40))
    evidence = f"{filler} the king built a castle. {filler}"
    for most in (1, 3):
        reader = load(make_weights(tmp_path / str(most), base, most_windows=most)).reader
        assert len(reader.read(Pair("the king said nothing of the river", evidence))) == most


def test_the_context_is_read_before_the_claim_and_is_not_judged(base: Path) -> None:
    (window,) = Reader(base, 64).read(Pair("it is tall", TOWER, context="the tower is old"))
    tokenizer = BertTokenizerFast.from_pretrained(base)
    assert tokenizer.decode(window.tokens.context) == "the tower is old"
    batch = batch_of([window.tokens], Reader(base).special)
    judged = batch.ids[0][batch.claim[0] == 1]
    assert tokenizer.decode(judged) == "it is tall"


def test_several_passages_are_read_in_one_window_each_under_its_title(base: Path) -> None:
    pair = Pair(
        "the king and the queen",
        "the king is old.",
        title="castle",
        others=(Page("the queen is tall.", "river"),),
    )
    (window,) = Reader(base, 64).read(pair)
    decoded = BertTokenizerFast.from_pretrained(base).decode(window.tokens.evidence)
    assert decoded == "castle. the king is old. river. the queen is tall."


def test_a_table_is_also_read_with_the_rows_that_the_claim_names_alone(base: Path) -> None:
    rows = [
        "tower | old | tall",
        "king | old: 1 | tall: 2",
        "queen | old: 3 | tall: 4",
        "river | old: 5 | tall: 6",
    ]
    evidence = "the bridge is old.\n\n" + "\n".join(rows)
    whole, named = Reader(base, 96).read(Pair("the queen is old", evidence))
    assert (whole.place, named.place) == (0, 0)
    assert {evidence[slice(*span)] for span in whole.sentences} == {"the bridge is old.", *rows}
    assert {evidence[slice(*span)] for span in named.sentences} == {"the bridge is old.", rows[0], rows[2]}
    assert len(Reader(base, 96).read(Pair("all of them are old", evidence))) == 1  # it names no row


def test_of_two_readings_of_a_place_the_mean_counts() -> None:
    def window(piece: int, place: int) -> Window:
        return Window(TokenPair((), ()), (), piece, place)

    windows = [window(0, 0), window(0, 0), window(0, 1), window(1, 0)]
    scores = [Scores(3, 0.2), Scores(-1, 0.6), Scores(0, 0.9), Scores(2, 0.1)]
    assert decisive(windows, scores) == (windows[0], Scores(1, 0.9))
    assert decisive(windows[3:], scores[3:]) == (windows[3], scores[3])


def test_an_overlong_sentence_is_cut_and_nothing_is_lost(base: Path) -> None:
    evidence = " ".join(["the river"] * 60) + " 1889 " + " ".join(["the bridge"] * 60)
    windows = Reader(base, 32).read(Pair("1889", evidence))
    assert "1889" in evidence[slice(*windows[0].sentences[0])]


def test_a_claim_longer_than_a_window_is_read_in_pieces_and_a_far_longer_one_not_at_all(base: Path) -> None:
    reader = Reader(base, 32)
    pieces = reader.read(Pair("the tower is tall " * 100, "the tower is tall."))
    assert {window.piece for window in pieces} == set(range(4))
    assert all(len(window.tokens.claim) <= CLAIM_TOKENS for window in pieces)
    with pytest.raises(ClaimTooLongError):
        reader.read(Pair("the tower " * CLAIM_TOKENS * MOST_PIECES, "the tower is tall."))


async def test_the_quote_of_a_failed_claim_is_the_sentence_that_says_most_of_it(loaded: Loaded) -> None:
    filler = " ".join("the queen said nothing of the river." for _ in range(40))
    evidence = f"{filler} the king built a castle. {filler}"
    checker = NLIChecker({"en": loaded, "zh": loaded})
    (judgement,) = await checker.check([Pair("the king built a bridge", evidence)])
    checker.close()
    assert judgement.quote is not None
    assert evidence[slice(*judgement.quote)] == "the king built a castle."


@pytest.mark.parametrize("text", ["北京" * 20_000, "the tower " * 10_000, "(" * 100_000, "1. " * 5_000])
async def test_evidence_without_end_is_read_all_the_same(checker: NLIChecker, text: str) -> None:
    (judgement,) = await asyncio.wait_for(checker.check([Pair("the tower is tall", text)]), 60)
    assert judgement.verdict is not Verdict.UNVERIFIED
    (judgement,) = await asyncio.wait_for(checker.check([Pair(text, "the tower is tall.")]), 60)
    assert judgement.verdict is not Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "evidence", "reason"),
    [
        ("the tower is tall", "", "there is no evidence"),
        ("the tower is tall", " \n\t", "there is no evidence"),
        ("...", "the tower is tall.", "the claim has no words to check"),
        ("", "the tower is tall.", "the claim has no words to check"),
    ],
)
async def test_where_there_is_nothing_to_read_nothing_is_supported(
    checker: NLIChecker, claim: str, evidence: str, reason: str
) -> None:
    (judgement,) = await checker.check([Pair(claim, evidence)])
    assert (judgement.verdict, judgement.score, judgement.reason) == (Verdict.UNSUPPORTED, 0.0, reason)


async def test_a_pair_gets_the_same_score_alone_and_among_others_whatever_the_question(
    checker: NLIChecker,
) -> None:
    claims = [
        "the tower is tall",
        "the bridge was built in 1889 by the king of the town",
        "no river",
        "it is old",
    ]
    pairs = [Pair(claim, TOWER, title=title) for claim in claims for title in ("", "castle")]
    together = await checker.check(pairs)
    for pair, judgement in zip(pairs, together, strict=True):
        for question in ("", "when was it built?", "tell me about the tower"):
            asked = Pair(pair.claim, pair.evidence, title=pair.title, question=question)
            (alone,) = await checker.check([asked])
            assert alone.score == pytest.approx(judgement.score, abs=1e-4)
            assert alone.verdict is judgement.verdict


async def test_the_threshold_decides_and_what_fails_names_the_doubted_words(
    base: Path, tmp_path: Path
) -> None:
    claim = "the bridge is tall"
    found = {}
    for threshold in (0.001, 0.999):
        calibration = {
            language: {"threshold": threshold, "contradiction": 0.0, "scale": 0.01}
            for language in ("en", "zh")
        }
        weights = load(make_weights(tmp_path / str(threshold), base, calibration=calibration))
        checker = NLIChecker({"en": weights, "zh": weights})
        (found[threshold],) = await checker.check([Pair(claim, TOWER)])
        checker.close()
    low, high = found[0.001], found[0.999]
    assert (low.verdict, high.verdict) == (Verdict.SUPPORTED, Verdict.CONTRADICTED)
    assert low.score == high.score
    assert low.missing == ()
    assert low.carrying != ()
    assert [claim[start:end] for start, end in high.missing] == ["bridge"]
    assert low.quote is not None
    assert TOWER[slice(*low.quote)].endswith(".")


async def test_a_model_that_fails_leaves_what_it_was_asked_unverified(base: Path, tmp_path: Path) -> None:
    weights = load(make_weights(tmp_path, base))
    weights.model.head.out.bias.data.fill_(float("nan"))
    checker = NLIChecker({"en": weights, "zh": weights})
    (judgement,) = await checker.check([Pair("the tower is tall", TOWER)])
    checker.close()
    assert (judgement.verdict, judgement.score) == (Verdict.UNVERIFIED, 0.0)


async def test_a_caller_that_goes_away_leaves_nothing_waiting(checker: NLIChecker) -> None:
    task = asyncio.ensure_future(checker.check([Pair(f"the tower is {n} tall", TOWER) for n in range(2_000)]))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (judgement,) = await asyncio.wait_for(checker.check([Pair("the tower is tall", TOWER)]), 10)
    assert judgement.verdict is not Verdict.UNVERIFIED


async def test_without_a_model_for_its_language_a_claim_is_unverified(loaded: Loaded) -> None:
    english = NLIChecker({"en": loaded})
    (none,) = await english.check([Pair("这座塔很高", TOWER)])
    english.close()
    assert (none.verdict, none.score) == (Verdict.UNVERIFIED, 0.0)


def test_packed_weights_are_read_back_within_half_a_step(tmp_path: Path) -> None:
    numbers = torch.randint(0, 16, (4, 64))
    scales = torch.rand(4, 2).half()
    low, high = numbers.view(4, 2, 32)[..., :16], numbers.view(4, 2, 32)[..., 16:]
    nibbles = (low | high << 4).view(4, 32).to(torch.uint8)
    save_file(packed("layer.weight", nibbles, scales), tmp_path / PACKED)
    wanted = (numbers.view(4, 2, 32) - 8) * scales.float()[..., None]
    assert torch.equal(dict(read_packed(tmp_path / PACKED))["layer.weight"], wanted.view(4, 64))
    assert dict(read_packed(tmp_path / PACKED, but="layer.weight")) == {}


def test_a_packed_vocabulary_gives_the_vectors_that_reading_it_gives() -> None:
    file, name = packaged("small") / "base_model" / PACKED, "embeddings.word_embeddings.weight"
    ids = torch.tensor([[0, 5, 999], [20_000, 5, 1]])
    for kind in (torch.float32, torch.bfloat16):
        looked_up = PackedEmbedding(file, name, kind)(ids)
        assert torch.equal(looked_up, dict(read_packed(file))[name].to(kind)[ids])
    elsewhere = PackedEmbedding(file, name, torch.float32).to("meta")
    assert elsewhere(ids.to("meta")).device.type == "meta"


def test_padding_changes_no_logits(loaded: Loaded) -> None:
    model: NLIModel = loaded.model
    short, long = TokenPair((5, 6, 7), (8, 9)), TokenPair(tuple(range(5, 30)), tuple(range(6, 20)))
    with torch.inference_mode():
        alone = model(batch_of([short], loaded.reader.special))
        beside = model(batch_of([long, short], loaded.reader.special))
    assert torch.allclose(alone[0], beside[1], atol=1e-4)


@pytest.mark.parametrize(
    ("break_it", "told"),
    [
        (lambda folder: (folder / "adapter.safetensors").unlink(), "adapter.safetensors"),
        (lambda folder: (folder / "adapter.safetensors").write_bytes(b"x"), "can't be used"),
        (lambda folder: (folder / "manifest.json").write_text("{}"), "can't be used"),
        (lambda folder: save_file({"other": torch.zeros(1)}, folder / "adapter.safetensors"), "other"),
    ],
)
def test_broken_weights_are_refused_with_what_to_do(
    base: Path, tmp_path: Path, break_it: object, told: str
) -> None:
    folder = make_weights(tmp_path, base)
    assert callable(break_it)
    break_it(folder)
    with pytest.raises(ConfigError, match=told) as refused:
        load(folder)
    assert "python -m training" in str(refused.value)


def test_the_version_changes_with_the_weights_and_the_calibration(base: Path, tmp_path: Path) -> None:
    versions = {
        load(make_weights(tmp_path / name, base, **options)).version
        for name, options in (("a", {}), ("b", {"seed": 2}), ("c", {"window_tokens": 48}))
    }
    assert len(versions) == 3


async def test_short_claims_beside_a_long_one_are_not_padded_to_its_length(loaded: Loaded) -> None:
    """Or else the memory of a batch would have no bound."""
    sizes: list[tuple[int, int]] = []
    watch = loaded.model.register_forward_pre_hook(
        lambda _, args: sizes.append((args[0].ids.shape[0], args[0].ids.shape[1]))
    )
    checker = NLIChecker({"en": loaded}, workers=1)
    long = Pair("The mill has a river .", "The town has mills and a cedar river . " * 60)
    try:
        await checker.check([long, *[Pair("mills", "river")] * 3000])
    finally:
        watch.remove()
        checker.close()
    assert sum(rows for rows, _ in sizes) >= 3001
    assert all(rows * length <= 1.5 * 576 or rows == 1 for rows, length in sizes)
