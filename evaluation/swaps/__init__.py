"""Sentences of a corpus with one detail exchanged."""
