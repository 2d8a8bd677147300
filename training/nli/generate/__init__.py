"""Pairs in many wordings for what the data lacks: arithmetic, order, roles, quantifiers, negation and more."""
