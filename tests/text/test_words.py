"""Which sentence of a passage says most of a text."""

from __future__ import annotations

import pytest

from proxy.text.words import closest, shared_spans

TOWER = (
    "The Eiffel Tower was completed in March 1889.",
    "The Eiffel Tower stands on the Champ de Mars near the Seine.",
    "Its company was that of Gustave Eiffel.",
    "The tower grows by several centimetres in summer.",
)


@pytest.mark.parametrize(
    ("claim", "index"),
    [
        ("The tower stands near the Thames.", 1),
        ("The Eiffel Tower grows in winter.", 3),
        ("The Eiffel Tower dates from 1789.", 0),
        ("The Eiffel Tower is red.", 0),
        ("A company of Nikola Tesla built the Eiffel Tower.", 2),
    ],
)
def test_the_closest_sentence_is_not_chosen_for_the_words_of_the_title(claim: str, index: int) -> None:
    assert closest(TOWER, claim, "Eiffel Tower") == index


def test_the_closest_of_chinese_sentences() -> None:
    dam = ("都江堰位于岷江。", "都江堰由李冰主持修建。", "它至今仍在使用。")
    assert closest(dam, "都江堰由大禹主持修建。", "都江堰") == 1


def test_shared_words_that_stand_together_are_one_span() -> None:
    sentence = TOWER[1]
    shown = [sentence[start:end] for start, end in shared_spans(sentence, "Eiffel's tower by the Seine")]
    assert shown == ["Eiffel Tower", "Seine"]
