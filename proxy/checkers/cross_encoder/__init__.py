"""Any sequence-classification model for natural language inference or grounding as a checker."""

from proxy.checkers.cross_encoder.cross_encoder import CrossEncoderChecker

__all__ = ["CrossEncoderChecker"]
