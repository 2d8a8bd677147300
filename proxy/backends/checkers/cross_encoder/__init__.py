"""Any sequence-classification model for natural language inference or grounding as a checker."""

from proxy.backends.checkers.cross_encoder.checker import CrossEncoderChecker

__all__ = ["CrossEncoderChecker"]
