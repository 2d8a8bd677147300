"""An English number in another unit."""

from __future__ import annotations

import pytest

from proxy.checkers.builtin.conflicts import exchanged_unit, read_units
from proxy.checkers.builtin.tokens import tokenize


def _instead(claim: str, evidence: str) -> list[str] | None:
    found = exchanged_unit(claim, tokenize(claim), evidence, tokenize(evidence))
    return None if found is None else [evidence[one.start : one.end] for one in found.instead]


@pytest.mark.parametrize(
    ("claim", "evidence", "instead"),
    [
        ("It is 330 feet tall.", "It is 330 metres tall.", ["330 metres"]),
        ("It is 330-foot tall.", "It is 330 m tall.", ["330 m"]),
        ("It weighs 12 kg.", "It weighs twelve pounds.", ["twelve pounds"]),
        ("They paid €5 million.", "They paid $5 million.", ["$5 million"]),
        ("They paid 5 million euros.", "They paid $5 million.", ["$5 million"]),
        ("It took three days.", "It took 3 hours.", ["3 hours"]),
        ("It was 40 degrees Celsius.", "It was 40 °F that day.", ["40 °F"]),
        ("It runs at 90 mph.", "It runs at 90 km/h, 90 km/h at most.", ["90 km/h", "90 km/h"]),
        ("It makes 600 kilowatts.", "It makes 600 MW.", ["600 MW"]),
    ],
)
def test_a_number_in_another_unit_only_is_seen(claim: str, evidence: str, instead: list[str]) -> None:
    assert _instead(claim, evidence) == instead


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It is 330 metres tall.", "It is 330 m tall."),
        ("It is 330 meters tall.", "It is 330 metres (1,083 feet) tall."),
        ("It is 1,083 feet tall.", "It is 330 metres (1,083 feet) tall."),
        ("It is 1,083 feet tall.", "It is 330 metres tall."),
        ("It is 330 feet tall.", "Room 330 is on floor 3."),
        ("It is 330 tall.", "It is 330 metres tall."),
        ("They paid 5 million dollars.", "They paid $5 million."),
        ("It took 3 weeks.", "In three weeks it was done, after 3 months of talks."),
        ("It weighs 12 pounds.", "It is 12 feet long."),
        ("", "It is 12 feet long."),
        ("It is 12 feet long.", ""),
    ],
)
def test_the_same_unit_another_number_or_another_thing_is_none(claim: str, evidence: str) -> None:
    assert _instead(claim, evidence) is None


def test_units_are_read_with_their_place() -> None:
    text = "For $ 12 it goes 3 km/h; ¥400 buys 7 of 9 seats."
    assert [
        (text[one.start : one.end], one.dimension, one.unit) for one in read_units(text, tokenize(text))
    ] == [("$ 12", "money", "dollar"), ("3 km/h", "speed", "km/h"), ("¥400", "money", "yen")]


@pytest.mark.parametrize("text", ["$" * 5000, "9" * 5000 + " km", "1 " * 3000, "3\u00a0km", "٣ km", "$"])
def test_odd_texts_are_read_without_error(text: str) -> None:
    assert _instead(text, text) is None
