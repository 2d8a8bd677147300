"""Rules that overrule a model: when they fire, and when they leave it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.datasets import read_lines
from proxy.checkers.nli import packaged_checker
from proxy.checkers.nli_sizes import default_size
from proxy.checkers.vetoes import changed_number
from proxy.types import Pair, Verdict
from training.calibrate import THRESHOLDS
from training.rows import TrainingRow

DATA = Path(__file__).parents[2] / "../shared/data"
PEOPLES = (
    "dev/fm2_dev",
    "dev/fever_symmetric_v02_dev",
    "dev/paws_wiki_dev",
    "dev/attributionbench_dev",
    "dev/wice_dev",
    "dev/frank_val",
    "dev/citecheck_dev",
    "train/summedits",
    "train/defacto",
    "train/check_covid",
)
"""Claims that people wrote or labelled, none of which the rule was written on."""
FIR = "The town of Fir has 30 mills on 2 rivers."


@pytest.mark.parametrize(
    ("claim", "evidence", "number"),
    [
        ("The town of Fir has 35 mills.", FIR, "35"),
        ("The town of Fir has 30 mills.", FIR, None),
        ("The town of Fir has about 35 mills.", FIR, None),
        ("At least 25 mills stand in the town of Fir.", FIR, None),
        ("Fir boasts 35 grinding works.", FIR, None),
        ("The town of Fir has 35 mills.", "The town of Fir has thirty-five mills, 20 of them old.", None),
        ("The town of Fir has 35 mills.", "The town of Fir has mills.", None),
        ("The tower weighs 7,300 tonnes.", "The tower weighs 7300 tonnes.", None),
        ("The tower weighs 7,400 tonnes.", "The tower weighs 7,300 tonnes.", "7,400"),
        ("这座塔高335米。", "这座塔高330米。", None),
        ("", "", None),
    ],
)
def test_a_copy_with_another_number_is_found(claim: str, evidence: str, number: str | None) -> None:
    assert changed_number(claim, [evidence, ""]) == number


async def test_the_checker_says_which_rule_overruled_the_model() -> None:
    checker = packaged_checker(default_size())
    claims = ["The town of Fir has 35 mills.", "The town of Fir has 30 mills."]
    try:
        changed, copied = await checker.check([Pair(claim=claim, evidence=FIR) for claim in claims])
    finally:
        checker.close()
    assert changed.verdict in (Verdict.CONTRADICTED, Verdict.UNSUPPORTED)
    assert (copied.verdict, copied.veto) == (Verdict.SUPPORTED, "")
    if changed.score >= THRESHOLDS["en"]:
        assert changed.veto == "number"
        assert "35" in changed.reason


@pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not here")
def test_of_peoples_claims_it_meets_few_that_are_right() -> None:
    right = wrong = 0
    for name in PEOPLES:
        for row in read_lines(DATA / f"{name}.jsonl", TrainingRow):
            if changed_number(row.claim, [row.evidence, row.title]):
                right += row.supported
                wrong += not row.supported
    print(f"the veto for numbers meets {right} claims that are right, and {wrong} that are wrong")
    assert wrong > 4 * right
