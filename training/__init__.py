"""How the built-in checker is made: data, rule-made rows, features, regression, calibration, export.

Nothing in `proxy` or `evaluation` imports this package. It needs scikit-learn and PEFT:
`pip install 'vouch[training]'`.
"""

from importlib.util import find_spec

if missing := [name for name in ("sklearn", "peft") if find_spec(name) is None]:
    raise ModuleNotFoundError(
        f"Training needs {' and '.join(missing)}, not installed here: pip install 'vouch[training]'"
    )
