"""What the built-in checker takes for the same words, and which sentence it holds a claim against."""

from __future__ import annotations

from typing import Literal
from unicodedata import normalize

import pytest

from proxy.checkers.builtin.claim_view import Lexicon
from proxy.checkers.builtin.evidence_windows import EvidenceReader
from proxy.checkers.builtin.pair_view import Reading
from proxy.checkers.builtin.tokens import tokenize
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


def _texts(claim: str, evidence: str, *, always_before: bool = False) -> tuple[str, ...]:
    lexicon = Lexicon(idf={}, rarest=1.0)
    reading = Reading({"en": lexicon, "zh": lexicon}, EvidenceReader(), always_before=always_before)
    read = reading.read(Pair(claim, evidence))
    assert read is not None
    (extract,) = read.extracts
    return extract.texts


BEFORE = "The bakery belongs to Anna."


@pytest.mark.parametrize(
    ("before", "window", "claim"),
    [
        (BEFORE, "It opens at seven.", "Opens at seven."),
        (BEFORE, "“This shop opens at seven.", "Opens at seven."),
        (BEFORE, "the same opens at seven.", "Opens at seven."),
        ("面包店是安娜开的。", "它每天早上七点开门营业。", "每天早上七点开门营业。"),
        ("面包店是安娜开的。", "该店每天早上七点开门营业。", "每天早上七点开门营业。"),
    ],
)
def test_a_window_that_leans_on_the_sentence_before_is_read_without_and_with_it(
    before: str, window: str, claim: str
) -> None:
    gap = " " if before.isascii() else ""
    assert _texts(claim, f"{before}{gap}{window}") == (window, f"{before} {window}")
    assert _texts(claim, f"{before}\n{window}") == (window, f"{before} {window}")


@pytest.mark.parametrize("gap", ["\n\n", "\n \t\n", "\r\n\r\n"])
def test_no_window_leans_on_another_paragraph(gap: str) -> None:
    assert _texts("Opens at seven.", f"{BEFORE}{gap}It opens at seven.") == ("It opens at seven.",)


@pytest.mark.parametrize(
    "window", ["Item opens at seven.", "Anna opens at seven.", "The shop opens at seven."]
)
def test_a_window_that_stands_alone_is_read_alone_but_in_rows_to_learn(window: str) -> None:
    evidence = f"{BEFORE} {window}"
    assert _texts("Opens at seven.", evidence) == (window,)
    assert _texts("Opens at seven.", evidence, always_before=True) == (window, evidence)


def test_what_another_sentence_adds_is_read_too() -> None:
    claim, window = "Anna opens the bakery at seven.", "Anna opens it at seven."
    alone, wide = _texts(claim, f"The bakery is new. {NOTHING * 2}{window}")
    assert (alone, wide) == (window, f"The bakery is new. … {window}")


@pytest.mark.parametrize(
    ("claim", "first", "second", "core"),
    [
        ("Anna opens the bakery at seven and rye sells.", "Anna opens the bakery at seven.", "Rye sells.", 0),
        ("Rye sells and Anna opens the bakery at seven.", "Rye sells.", "Anna opens the bakery at seven.", 1),
    ],
)
def test_of_a_window_of_several_sentences_the_one_that_says_most_is_read_alone_too(
    claim: str, first: str, second: str, core: int
) -> None:
    assert _texts(claim, f"{first} {second} {NOTHING}") == ((first, second)[core], f"{first} {second}")


def test_a_window_is_no_wider_than_what_it_says() -> None:
    claim = "The bakery opens at seven, and wheat grows along the river." + " and" * 60
    assert _window(claim, f"{OTHERS} {NOTHING * 20}") == OTHERS.partition(" The harvest")[0]
