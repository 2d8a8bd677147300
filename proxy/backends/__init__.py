"""Adapters, one heavy dependency each."""
