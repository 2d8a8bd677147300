"""The checker `nli`: a cross-encoder trained for entailment."""

from proxy.checkers.nli.checker import NLIChecker
from proxy.checkers.nli.weights import INSTALL_BASE, Size, available, load, packaged

__all__ = ["INSTALL_BASE", "NLIChecker", "Size", "available", "load", "packaged"]
