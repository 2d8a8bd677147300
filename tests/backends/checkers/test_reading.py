"""What the built-in checker takes for the same words, and which sentence it holds a claim against."""

from __future__ import annotations

from typing import Literal
from unicodedata import normalize

import pytest

from proxy.backends.checkers.builtin.claims import Lexicon
from proxy.backends.checkers.builtin.reading import Reading
from proxy.backends.checkers.builtin.tokens import tokenize
from proxy.backends.checkers.builtin.windows import EvidenceReader
from proxy.types import Pair


def _keys(text: str) -> list[str]:
    return [token.key for token in tokenize(text)]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("text", ["Simón Bolívar", "Řehoř Dvořák", "Ångström", "Αθήνα", "हिन्दी भाषा"])
def test_accents_of_their_own_are_part_of_the_word(
    text: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]
) -> None:
    written = normalize(form, text)
    assert _keys(written) == _keys(text)
    assert len(_keys(text)) == len(text.split())
    assert [written[token.start : token.end] for token in tokenize(written)] == written.split()


@pytest.mark.parametrize("written", ["co\u00adoperation", "coop\u2060eration", "coo\u200cpera\u200dtion"])
def test_what_is_not_seen_does_not_part_a_word(written: str) -> None:
    assert _keys(written) == _keys("cooperation")


def test_a_mark_without_a_letter_is_no_word() -> None:
    assert _keys("\u0301\u0301 a\u0301\u0302b \u00ad") == ["ab"]
    assert len(_keys("a" + "\u0301" * 10_000 + " " + "\u0301a" * 10_000)) == 2


@pytest.mark.parametrize(
    "written", ["12%", "12 %", "12 percent", "12 per cent", "twelve Per\nCent", "12 percentage"]
)
def test_percent_has_one_key(written: str) -> None:
    assert _keys(written) == ["#12", "percent"]


@pytest.mark.parametrize("written", ["hyper cent", "per centre", "per 100"])
def test_what_only_begins_like_percent_is_not(written: str) -> None:
    assert "percent" not in _keys(written)


def _window(claim: str, evidence: str) -> str:
    lexicon = Lexicon(idf={}, rarest=1.0)
    read = Reading({"en": lexicon, "zh": lexicon}, EvidenceReader()).read(
        Pair(claim=claim, evidence=evidence)
    )
    assert read is not None
    return evidence[slice(*read.quote)]


NOTHING = "Nobody came. "
OTHERS = "The bakery opens at seven. Wheat grows along the river. The harvest was good."


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("Cyprus is in Europe.", "Larnaca is a European port."),
        ("They nationalised it.", "National ownership followed."),
        ("The bakery is European.", "The bakery opens at seven."),
    ],
)
def test_where_no_word_stands_exactly_its_other_forms_tell(claim: str, sentence: str) -> None:
    assert _window(claim, f"{OTHERS} Larnaca is a European port. National ownership followed.") == sentence


def test_of_sentences_that_say_as_much_the_first_is_the_window() -> None:
    assert _window("Zebras sleep.", OTHERS) == "The bakery opens at seven."
    assert _window("The harvest.", f"{OTHERS} Another harvest failed.") == "The harvest was good."


def test_a_window_is_no_wider_than_what_it_says() -> None:
    claim = "The bakery opens at seven, and wheat grows along the river." + " and" * 60
    assert _window(claim, f"{OTHERS} {NOTHING * 20}") == OTHERS.partition(" The harvest")[0]
