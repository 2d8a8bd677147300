"""`vouch config`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax

from proxy.config.load import load
from proxy.config.masked import dump
from proxy.config.settings import Settings


def run(config: Path | None) -> Settings:
    """Prints the effective settings as YAML, plain when it is not read by a person, and returns them."""
    settings = load(config)
    text = dump(settings)
    console = Console(soft_wrap=True)
    if console.is_terminal:
        console.print(Syntax(text, "yaml", background_color="default"))
    else:
        print(text, end="")
    return settings
