"""`vouch config`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax

from proxy.config.load import load
from proxy.config.masked import dump


def run(config: Path | None) -> None:
    """Prints the effective settings as YAML; plain when it is not read by a person.

    Raises `ConfigError`, once they are printed, where `vouch serve` would refuse them.
    """
    settings = load(config)
    text = dump(settings)
    console = Console(soft_wrap=True)
    if console.is_terminal:
        console.print(Syntax(text, "yaml", background_color="default"))
    else:
        print(text, end="")
    from proxy.cli.compose import require_servable  # a second of imports, after what is already to be seen

    require_servable(settings)
