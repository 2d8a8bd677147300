"""The built-in checker: overlap features and a calibrated logistic regression per language."""
