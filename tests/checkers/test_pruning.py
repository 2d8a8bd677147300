"""Token pruning: what of the evidence the upper layers of the cross-encoder read."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from transformers import BertModel, DistilBertConfig, DistilBertModel, MPNetModel

from proxy.checkers.nli.attention import ServedAttention
from proxy.checkers.nli.batch import Batch, SpecialTokens, TokenPair, batch_of
from proxy.checkers.nli.model import NLIModel, load_adapted, load_base
from proxy.checkers.nli.pruning import Pruning, pruned
from proxy.checkers.nli.weights import load
from proxy.errors import ConfigError
from tests.checkers.test_nli_checker import make_base, make_weights

SPECIAL = SpecialTokens(0, 2, 1)
HIDDEN = 8
WIDTH = 8


def matching() -> ServedAttention:
    """An attention in which a token attends to the tokens that share a place of its state."""
    layers = [nn.Linear(WIDTH, WIDTH) for _ in range(3)]
    for layer in layers:
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
    layers[0].weight.data *= 40
    return ServedAttention(layers[0], layers[1], layers[2], 1, nn.Identity())


def states_of(batch: Batch, vectors: dict[int, tuple[int, ...]]) -> Tensor:
    """A state for each token: ones at the places that its id is given, which count as what it is like."""
    states = torch.zeros(*batch.ids.shape, WIDTH)
    for token, places in vectors.items():
        for place in places:
            states[..., place][batch.ids == token] = 1.0
    return states


def nothing_added(batch: Batch) -> Tensor:
    masked = torch.zeros(batch.mask.shape).masked_fill(batch.mask == 0, torch.finfo(torch.float32).min)
    return masked[:, None, None]


def test_what_the_claim_attends_to_is_kept_and_what_that_attends_to_as_well() -> None:
    cell, heading, other, claim = 11, 12, 13, 14
    batch = batch_of([TokenPair((other, heading, other, other, cell, other), (claim,))], SPECIAL)
    states = states_of(
        batch, {cell: (0, 1), heading: (1,), other: (2,), claim: (0,), 0: (3,), 2: (3,), 1: (3,)}
    )
    kept = pruned(Pruning(layer=1, share=0.3, least=1), matching(), states, nothing_added(batch), batch)[2]
    assert kept.ids[kept.evidence > 0].tolist() == [heading, cell]


def test_only_evidence_is_dropped_and_the_order_stays() -> None:
    torch.manual_seed(1)
    pairs = [TokenPair(tuple(range(10, 40)), (50, 51, 52), (45, 46)), TokenPair((10, 11, 12), (50,))]
    batch = batch_of(pairs, SPECIAL)
    states = torch.randn(*batch.ids.shape, WIDTH)
    stage = Pruning(layer=1, share=0.25, least=4)
    left, added, kept = pruned(stage, matching(), states, nothing_added(batch), batch)
    assert kept.evidence.sum(1).tolist() == [8, 3]
    assert left.shape[:2] == kept.ids.shape == added.shape[::3]
    for number, pair in enumerate(pairs):
        ids = kept.ids[number][kept.mask[number] > 0].tolist()
        evidence = kept.ids[number][kept.evidence[number] > 0].tolist()
        assert evidence == sorted(evidence)
        assert ids == [0, *evidence, 2, 2, *pair.context, *pair.claim, 2]
        assert kept.ids[number][kept.claim[number] > 0].tolist() == list(pair.claim)
        for place, token in enumerate(evidence, 1):
            assert torch.equal(left[number, place], states[number][batch.ids[number] == token][0])


def save_encoder(kind: type[BertModel | MPNetModel], folder: Path) -> Path:
    torch.manual_seed(5)
    config = kind.config_class(
        vocab_size=90, hidden_size=24, num_hidden_layers=4, num_attention_heads=2, intermediate_size=32
    )
    encoder = kind(config, add_pooling_layer=False)
    if isinstance(encoder, MPNetModel):
        nn.init.normal_(encoder.encoder.relative_attention_bias.weight)
    encoder.save_pretrained(folder)
    return folder


def models(folder: Path, pruning: Pruning | None) -> tuple[NLIModel, NLIModel]:
    """The model that is trained and the one that serves, with the same weights."""
    plain = load_base(folder, HIDDEN, pruning)
    torch.manual_seed(2)
    head = {name: torch.randn_like(value) for name, value in plain.state_dict().items() if "head." in name}
    plain.load_state_dict(head, strict=False)
    return plain, load_adapted(folder, HIDDEN, head, torch.float32, pruning)


PRUNING = Pruning(layer=1, share=0.4, least=5)


@pytest.mark.parametrize("products", [False, True])
@pytest.mark.parametrize("kind", [BertModel, MPNetModel])
def test_the_model_that_serves_drops_what_the_trained_one_does(
    kind: type[BertModel | MPNetModel], products: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.checkers.nli.attention._multiplies", lambda _: products)
    plain, served = models(save_encoder(kind, tmp_path), PRUNING)
    pairs = [TokenPair(tuple(range(4, 4 + length)), (9, 8, 7)) for length in (40, 12, 3)]
    batch = batch_of(pairs, SPECIAL)
    with torch.inference_mode():
        torch.testing.assert_close(served(batch), plain(batch))
        assert not torch.allclose(plain(batch)[0], models(tmp_path, None)[0](batch)[0])


@pytest.mark.parametrize("kind", [BertModel, MPNetModel])
def test_a_verdict_does_not_depend_on_what_else_is_in_the_batch(
    kind: type[BertModel | MPNetModel], tmp_path: Path
) -> None:
    _, model = models(save_encoder(kind, tmp_path), PRUNING)
    short, long = TokenPair(tuple(range(4, 20)), (9, 8)), TokenPair(tuple(range(4, 64)), (30, 31, 32, 33))
    with torch.inference_mode():
        alone = model(batch_of([short], SPECIAL))[0]
        beside = model(batch_of([long, short], SPECIAL))[1]
    torch.testing.assert_close(alone, beside)


def test_evidence_that_is_kept_whole_gives_what_the_model_gives_without_pruning(tmp_path: Path) -> None:
    folder = save_encoder(MPNetModel, tmp_path)
    batch = batch_of([TokenPair(tuple(range(4, 24)), (9, 8)), TokenPair((5, 6), (7,))], SPECIAL)
    with torch.inference_mode():
        whole = models(folder, Pruning(layer=1, share=0.1, least=20))[1](batch)
        torch.testing.assert_close(whole, models(folder, None)[1](batch))


def test_the_layers_above_learn_through_what_is_kept(tmp_path: Path) -> None:
    plain, _ = models(save_encoder(MPNetModel, tmp_path), PRUNING)
    plain.train()(batch_of([TokenPair(tuple(range(4, 40)), (9, 8))], SPECIAL)).sum().backward()
    for layer in plain.encoder.encoder.layer:
        assert layer.intermediate.dense.weight.grad.abs().sum() > 0


def test_a_layer_that_the_base_model_lacks_is_named(tmp_path: Path) -> None:
    base = make_base(tmp_path / "base")
    weights = make_weights(tmp_path / "weights", base, pruning={"layer": 30, "share": 0.5, "least": 3})
    with pytest.raises(ConfigError, match="no layer 30"):
        load(weights)


def test_a_base_model_of_another_kind_is_refused_by_name(tmp_path: Path) -> None:
    config = DistilBertConfig(vocab_size=50, dim=24, n_layers=1, n_heads=2, hidden_dim=32)
    DistilBertModel(config).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="distilbert: only BERT and MPNet"):
        load_base(tmp_path, HIDDEN)
