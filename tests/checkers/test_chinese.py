"""What a Chinese claim and its evidence have in common: pieces, scope, features."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from proxy.checkers.builtin.builtin_weights import gated
from proxy.checkers.builtin.chinese import ALIGNMENT, FEATURES_ZH, Block, cover, features_zh
from proxy.checkers.builtin.claim_view import Lexicon, read_claim
from proxy.checkers.builtin.comparison import Comparison, compare
from proxy.checkers.builtin.evidence_windows import EvidenceReader, Window, scope
from proxy.checkers.builtin.features import FEATURES, features
from proxy.checkers.builtin.matching import read_window
from proxy.checkers.builtin.tokens import tokenize
from proxy.types import Language, Pair

_LEXICONS: Mapping[Language, Lexicon] = {"en": Lexicon({}, 3.0), "zh": Lexicon({}, 3.0)}


def _comparison(claim: str, evidence: str) -> Comparison:
    """The claim against all of a short evidence."""
    tokens = tuple(tokenize(evidence))
    found = read_window(evidence, tokens, ())
    return compare(read_claim(Pair(claim, evidence), _LEXICONS), found, found.keys, tokens)


def _named(claim: str, evidence: str) -> dict[str, float]:
    return dict(zip(FEATURES_ZH, features_zh(_comparison(claim, evidence)), strict=True))


def test_a_claim_is_cut_into_the_longest_runs_of_the_evidence() -> None:
    coverage = cover("abcxdef", "zdefzabcz")
    assert coverage.blocks == (Block(0, 3), Block(4, 7))
    assert coverage.length == (3, 3, 3, 0, 3, 3, 3)
    assert coverage.stitches() == 3
    assert [coverage.places(block) for block in coverage.blocks] == [[5], [1]]


def test_runs_may_overlap_and_the_longest_counts() -> None:
    coverage = cover("abcd", "abc-bcd")
    assert coverage.blocks == (Block(0, 3), Block(1, 4))
    assert coverage.stitches() == 2
    assert coverage.anchors(3) == (Block(0, 3),)


def test_keys_of_several_characters_are_compared_whole() -> None:
    assert cover(["#12"], ["#123", "1", "2"]).length == (0,)
    assert cover(["#12", "年"], ["#12", "年"]).length == (2, 2)


def test_a_key_that_only_the_evidence_has_matches_nothing() -> None:
    assert cover(["中"], ["unknown", "other"]).blocks == ()
    assert cover([], ["中"]).stitches() == 0


def test_a_copied_claim_lacks_nothing() -> None:
    named = _named("长江全长6300公里，流入东海。", "众所周知，长江全长6300公里，流入东海。")
    assert (named["lost_share_2"], named["worst_clause_3"], named["numbers_lost"]) == (0.0, 1.0, 0.0)
    assert named["longest_block_share"] == 1.0


def test_an_exchanged_number_is_lost_and_stands_in_place_of_another() -> None:
    named = _named("长江发源于青海，全长5464公里左右流入东海。", "长江发源于青海，全长6300公里左右流入东海。")
    assert (named["numbers_lost"], named["lost_runs_2"]) == (1.0, 1.0)
    assert named["inserted"] + named["replaced"] == 1.0


def test_the_clause_that_nothing_says_is_the_worst() -> None:
    evidence = "苹果富含维生素和膳食纤维。"
    whole = _named("苹果富含维生素和膳食纤维。", evidence)
    added = _named("苹果富含维生素和膳食纤维，长期食用致癌危险。", evidence)
    assert whole["worst_clause_2"] == 1.0
    assert added["worst_clause_2"] < 0.5 < added["clause_mean_2"] + 0.2
    assert added["second_clause_2"] == 1.0


def test_the_shared_features_are_the_english_ones() -> None:
    comparison = _comparison("长江流入东海。", "长江流入黄海。")
    assert features_zh(comparison)[: len(FEATURES)] == features(comparison)
    assert (*FEATURES, *ALIGNMENT) == FEATURES_ZH
    assert len(set(FEATURES_ZH)) == len(FEATURES_ZH)


def test_a_claim_without_content_has_no_features() -> None:
    assert set(features_zh(_comparison("的了是。", "长江流入东海。"))) == {0.0}


def test_the_scope_does_not_change_what_english_weighs() -> None:
    comparison = _comparison("Ada was born in Bern.", "Ada was born in Basel.")
    bare = compare(comparison.claim, comparison.found, comparison.near)
    assert features(bare) == features(comparison)


@pytest.mark.parametrize("claim", ["长江", "2020", "A股。", "《》", "百分之" * 50, "的" * 300])
def test_odd_claims_have_finite_features(claim: str) -> None:
    assert all(math.isfinite(value) for value in features_zh(_comparison(claim, "长江在2020年。")))


_FILLER = "天气预报说明天有雨。大家记得带伞出门。公园里开满了鲜花。孩子们正在踢球。"


def _scope(claim: str, text: str, sentence: int) -> str:
    evidence = EvidenceReader().read(text)
    chosen = scope(tokenize(claim), evidence, Window(sentence, sentence))
    return "".join(text[slice(*evidence.sentences[at])] for at in chosen)


def test_a_sentence_far_away_that_says_the_claim_is_in_the_scope() -> None:
    text = "长江发源于青海。" + _FILLER * 3 + "唐古拉山脉的主峰终年积雪。" + _FILLER
    assert "唐古拉" in _scope("长江发源于青海的唐古拉山脉的主峰。", text, 0)


def test_other_text_changes_nothing() -> None:
    claim = "长江发源于青海。"
    text = _FILLER + claim + _FILLER
    assert _scope(claim, text, 4) == _scope(claim, _FILLER * 5 + text + _FILLER * 5, 24)


@pytest.mark.parametrize(("support", "swap"), [(0.0, 0.0), (3.0, -2.0), (-5.0, 1.5), (2.0, 6.0)])
def test_both_doubts_count(support: float, swap: float) -> None:
    both = 1 / (1 + math.exp(-support)) * (1 - 1 / (1 + math.exp(-swap)))
    assert gated(support, swap) == pytest.approx(math.log(both / (1 - both)), abs=1e-9)


@pytest.mark.parametrize("large", [800.0, -800.0])
def test_extreme_odds_do_not_overflow(large: float) -> None:
    assert math.isfinite(gated(large, -large))
    assert math.isfinite(gated(large, large))
