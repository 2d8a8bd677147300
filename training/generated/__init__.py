"""Rows made from frames, in which a claim alone does not tell its label."""
