"""Vouch: an OpenAI-compatible proxy that checks and cites every sentence an LLM says."""

__version__ = "0.1.0"
