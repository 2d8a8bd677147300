"""Benchmarks: how accurate, calibrated and robust the checkers are.

One package per benchmark (`data.py` reads its files, `figures.py` computes, `command.py` is its subcommand of
`python -m evaluation`); what several share is at the top. Nothing in `proxy` imports this package. It needs
scikit-learn, and matplotlib for plots: `pip install 'vouch[evaluation]'`.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ModuleNotFoundError(
        "Benchmarks need scikit-learn, which is not installed: pip install 'vouch[evaluation]'"
    )
