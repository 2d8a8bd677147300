"""RepC: shallow classifiers on a model's hidden states (RefChecker, EMNLP 2024, section 4)."""

from proxy.checkers.repc.repc import RepCChecker

__all__ = ["RepCChecker"]
