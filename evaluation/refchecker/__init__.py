"""RefChecker's human-labelled claims (EMNLP 2024)."""
