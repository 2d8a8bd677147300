"""How right the checkers are, how sure, and how steady: one command per table, `python -m evaluation`.

Nothing in `proxy` imports this package; it needs scikit-learn, and for plots matplotlib, which the proxy
does not.
"""
