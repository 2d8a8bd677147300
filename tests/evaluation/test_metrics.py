"""The figures, against values reckoned by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evaluation.metrics import (
    Figures,
    Flags,
    Indexes,
    calibration_bins,
    contradiction,
    expected_calibration_error,
    intervals,
    majority,
    share,
    three_way,
    three_way_codes,
    two_way,
)
from proxy.types import Verdict

SUPPORTED = np.array([True, True, True, False, False])
SCORES = np.array([0.9, 0.8, 0.3, 0.6, 0.1])


def flags(*values: int) -> Flags:
    return np.array(values, dtype=np.bool_)


def test_two_way_figures_are_those_of_the_textbook() -> None:
    found = two_way(SUPPORTED, SCORES >= 0.5, SCORES)
    assert found["accuracy"] == pytest.approx(3 / 5)
    assert found["recall.supported"] == pytest.approx(2 / 3)
    assert found["recall.not_supported"] == pytest.approx(1 / 2)
    assert found["balanced_accuracy"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert found["macro_f1"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert found["auc"] == pytest.approx(5 / 6)  # of six pairs only 0.3 against 0.6 is the wrong way round


def test_calibration_error_weighs_each_bin_by_its_rows() -> None:
    supported = flags(1, 0, 1, 1)
    scores = np.array([0.05, 0.05, 0.95, 1.0])
    first, last = calibration_bins(supported, scores)
    assert (first.count, first.supported, last.count, last.supported) == (2, 0.5, 2, 1.0)
    assert [first.score, last.score] == pytest.approx([0.05, 0.975])
    assert expected_calibration_error(supported, scores) == pytest.approx(0.5 * 0.45 + 0.5 * 0.025)


def test_a_score_on_a_border_belongs_to_the_bin_above() -> None:
    assert [one.count for one in calibration_bins(flags(1, 1, 1), np.array([0.49, 0.5, 0.59]))] == [1, 2]


@pytest.mark.parametrize("value", [True, False])
def test_rows_of_one_class_have_no_auc_and_no_recall_of_the_other(value: bool) -> None:
    found = two_way(np.array([value, value]), flags(1, 0), np.array([0.9, 0.1]))
    there, absent = ("supported", "not_supported") if value else ("not_supported", "supported")
    assert math.isnan(found["auc"])
    assert math.isnan(found[f"recall.{absent}"])
    assert found[f"recall.{there}"] == found["balanced_accuracy"] == found["accuracy"] == 0.5
    assert found["macro_f1"] == pytest.approx(2 / 3)


def test_three_way_figures_are_over_the_labels_that_are_there() -> None:
    codes = three_way_codes(
        ["supported", "contradicted", "contradicted", "supported"],
        [Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.UNSUPPORTED, Verdict.SUPPORTED],
    )
    assert codes is not None
    assert three_way(*codes) == {
        "accuracy": 0.75,
        "macro_f1": pytest.approx((1 + 2 / 3) / 2),
        "recall.supported": 1.0,
        "recall.contradicted": 0.5,
        "precision.contradicted": 1.0,
    }


def test_the_precision_of_contradicted_counts_all_rows_that_are_called_so() -> None:
    codes = three_way_codes(
        ["contradicted", "supported", "unsupported", "contradicted"],
        [*3 * [Verdict.CONTRADICTED], Verdict.UNSUPPORTED],
    )
    assert codes is not None
    assert three_way(*codes)["precision.contradicted"] == pytest.approx(1 / 3)


def test_there_is_no_precision_where_nothing_is_called_contradicted() -> None:
    codes = three_way_codes(["contradicted", "supported"], 2 * [Verdict.SUPPORTED])
    assert codes is not None
    assert "precision.contradicted" not in three_way(*codes)


def test_the_precision_at_half_recall_takes_the_surest_rows_that_hold_half_of_the_contradicted() -> None:
    contradicted = flags(1, 0, 1, 1, 0, 1)
    doubt = np.array([1.9, 1.8, 1.7, 0.6, 0.5, 0.4])
    assert contradiction(contradicted, doubt >= 1, doubt) == {
        "precision": pytest.approx(2 / 3),
        "recall": 0.5,
        "precision_at_half_recall": pytest.approx(2 / 3),
    }
    assert contradiction(contradicted, doubt > 2, 0 * doubt)["precision_at_half_recall"] == pytest.approx(
        4 / 6
    )


def test_where_nothing_is_contradicted_the_verdict_has_no_figures() -> None:
    assert all(map(math.isnan, contradiction(flags(0, 0), flags(1, 0), np.array([1.0, 0.0])).values()))


def test_a_failed_check_is_right_for_none_of_the_three_labels() -> None:
    codes = three_way_codes(["supported", "contradicted", "unsupported"], 3 * [Verdict.UNVERIFIED])
    assert codes is not None
    assert set(three_way(*codes).values()) == {0.0}


def test_two_way_labels_have_no_three_way_figures_and_are_left_out_of_others() -> None:
    assert three_way_codes(["supported", "not_supported"], 2 * [Verdict.SUPPORTED]) is None
    codes = three_way_codes(["unsupported", "not_supported"], 2 * [Verdict.UNSUPPORTED])
    assert codes is not None
    assert [one.tolist() for one in codes] == [[2], [2]]


def test_the_majority_baseline_says_what_is_most_frequent() -> None:
    assert majority(flags(1, 0, 0, 0)) == 0.75


def test_a_share_of_nothing_is_no_number() -> None:
    assert share(flags(1, 1, 0, 0)) == 0.5
    assert math.isnan(share(flags()))


def mean_of(values: Flags) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[float, float]]]:
    def figures(rows: Indexes) -> Figures:
        return {"mean": share(values[rows]), "never": math.nan}

    return intervals(figures, len(values)), intervals(figures, len(values))


def test_intervals_hold_the_figure_are_as_wide_as_theory_says_and_the_same_each_time() -> None:
    first, second = mean_of(np.arange(400) % 2 == 0)
    assert first == second
    low, high = first["mean"]
    assert low < 0.5 < high
    assert high - low == pytest.approx(2 * 1.96 * 0.5 / math.sqrt(400), rel=0.15)


def test_a_figure_that_no_resample_gives_has_no_interval() -> None:
    assert set(mean_of(flags(1, 0, 1))[0]) == {"mean"}
