"""Contrast pairs: one right and one wrong claim of the same passage, written by hand."""
