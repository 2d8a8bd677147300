"""Contrast pairs: right and wrong claims of the same passage, written by hand."""
