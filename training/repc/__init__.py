"""Makes classifiers for the RepC checker (RefChecker, EMNLP 2024, section 4) and measures them."""
