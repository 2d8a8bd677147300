"""How the built-in checker is made: data, rule-made rows, features, regression, calibration, export.

Nothing in `proxy` imports this package; it needs scikit-learn, which the proxy does not.
"""
