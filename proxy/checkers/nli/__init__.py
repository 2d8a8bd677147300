"""The checker `nli`: a cross-encoder trained for entailment."""

from __future__ import annotations

from proxy.checkers.nli.checker import NLIChecker
from proxy.checkers.nli.weights import load
from proxy.checkers.nli_sizes import packaged
from proxy.types import Size


def packaged_checker(english: Size, base_model: str | None = None) -> NLIChecker:
    """The checker with the weights that come with the package: those of the size `english` for claims in
    English, the small ones for Chinese. `base_model` names another place of the large one's base model.

    Raises:
        ConfigError: a file is missing or broken.
    """
    small = load(packaged("small"))
    return NLIChecker({"en": load(packaged("base"), base_model) if english == "base" else small, "zh": small})


__all__ = ["NLIChecker", "load", "packaged_checker"]
