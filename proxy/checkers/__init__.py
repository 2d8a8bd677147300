"""Checkers: (claim, evidence) pairs to judgements."""
