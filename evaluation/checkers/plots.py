"""Reliability, ROC and precision-recall curves of one file. matplotlib is imported only for plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.metrics import precision_recall_curve, roc_curve

from evaluation.metrics import Flags, Floats, calibration_bins
from proxy.errors import ConfigError

_PANEL = 4.0
"""Inches that a panel is wide and high."""
_COLOUR = "#2f6f8f"
_GREY = "#999999"
_STYLE = {"svg.hashsalt": "vouch", "axes.spines.top": False, "axes.spines.right": False}
"""With a fixed salt and no date the same figures give the same bytes."""


def load_matplotlib() -> ModuleType:
    """matplotlib with its figures. Raises `ConfigError` where it is not installed."""
    try:
        import matplotlib.figure
    except ModuleNotFoundError:
        raise ConfigError(
            "Plots need matplotlib, which is not installed: pip install 'vouch[evaluation]'"
        ) from None
    return matplotlib


def plot_paths(folder: Path, data: Sequence[Path]) -> list[Path]:
    """Where the plot of each file goes: named after it, numbered where several have one name."""
    stems = [path.stem for path in data]
    return [
        folder / (f"{stem}.svg" if stems.count(stem) == 1 else f"{stem}-{stems[: index + 1].count(stem)}.svg")
        for index, stem in enumerate(stems)
    ]


def plot(
    matplotlib: ModuleType, path: Path, title: str, supported: Flags, called: Flags, scores: Floats
) -> None:
    """Three panels as one SVG at `path`; arrays of shape (n,).

    The points on the curves are the verdicts, at the shipped thresholds. Rows of one class have no curves.
    Raises `ConfigError` where the file can't be written.
    """
    with matplotlib.rc_context(_STYLE):
        figure = matplotlib.figure.Figure(figsize=(3 * _PANEL, _PANEL), layout="constrained")
        reliability, roc, precision_recall = figure.subplots(1, 3)
        figure.suptitle(title, parse_math=False)
        _reliability(reliability, supported, scores)
        _frame(roc, "ROC", "false positive rate", "recall of supported")
        _frame(precision_recall, "Precision and recall", "recall of supported", "precision of supported")
        if supported.any() and not supported.all():
            _roc(roc, supported, called, scores)
            _precision_recall(precision_recall, supported, called, scores)
        try:
            figure.savefig(path, metadata={"Date": None})
        except OSError as error:
            raise ConfigError(f"{path} can't be written: {error.strerror}.") from error


def _reliability(axes: Any, supported: Flags, scores: Floats) -> None:
    bins = calibration_bins(supported, scores)
    largest = max(bin_.count for bin_ in bins)
    _frame(axes, "Reliability", "score", "share supported")
    axes.plot([0, 1], [0, 1], color=_GREY, linestyle=":")
    axes.bar(
        [bin_.score for bin_ in bins],
        [0.2 * bin_.count / largest for bin_ in bins],
        width=0.03,
        color=_GREY,
        alpha=0.4,
        label=f"rows (at most {largest:,})",
    )
    axes.plot([bin_.score for bin_ in bins], [bin_.supported for bin_ in bins], marker="o", color=_COLOUR)
    axes.legend(loc="upper left", frameon=False)


def _roc(axes: Any, supported: Flags, called: Flags, scores: Floats) -> None:
    false, true, _ = roc_curve(supported, scores)
    axes.plot([0, 1], [0, 1], color=_GREY, linestyle=":")
    axes.plot(false, true, color=_COLOUR)
    axes.plot([called[~supported].mean()], [called[supported].mean()], marker="o", color=_COLOUR)


def _precision_recall(axes: Any, supported: Flags, called: Flags, scores: Floats) -> None:
    precision, recall, _ = precision_recall_curve(supported, scores)
    axes.axhline(supported.mean(), color=_GREY, linestyle=":")
    axes.plot(recall, precision, color=_COLOUR, drawstyle="steps-post")
    if called.any():
        axes.plot([called[supported].mean()], [supported[called].mean()], marker="o", color=_COLOUR)


def _frame(axes: Any, title: str, across: str, up: str) -> None:
    axes.set(title=title, xlabel=across, ylabel=up, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
