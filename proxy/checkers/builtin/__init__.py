"""The built-in checker: overlap features, a small NLI model and a calibrated model per language."""
