"""Upstream LLMs."""
