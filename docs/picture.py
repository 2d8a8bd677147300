"""Draws docs/demo.svg: what `vouch demo` prints, as a terminal shows it.

python docs/picture.py
"""

from __future__ import annotations

import re
from pathlib import Path

from rich.console import Console

from proxy.cli import demo


def main() -> None:
    """Runs the demo and saves its screen."""
    console = Console(record=True, width=100, force_terminal=True, highlight=False)
    demo.run(None, console)
    path = Path(__file__).with_name("demo.svg")
    svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="vouch demo"), flags=re.S)
    path.write_text(svg, encoding="utf-8")  # without fonts from elsewhere


if __name__ == "__main__":
    main()
