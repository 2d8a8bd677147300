"""CiteCheck (2025)."""
