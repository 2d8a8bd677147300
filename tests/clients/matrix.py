"""The matrix of clients in docs/clients.md.

python -m tests.clients.matrix      # runs every client and writes it there
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from proxy.cli import index as index_command
from proxy.cli.compose import load_library
from proxy.config.settings import Settings
from tests.clients.clients import CLIENTS, Client
from tests.clients.columns import COLUMNS, Column
from tests.clients.lab import laboratory
from tests.scripted_upstream import Upstream

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "clients.md"
BEGIN, END = "<!-- matrix -->\n", "<!-- end of matrix -->\n"

_CELLS: Mapping[tuple[bool, ...], str] = {
    (True, True): "yes",
    (False, False): "no",
    (True, False): "whole only",
    (False, True): "streamed only",
    (True,): "yes",
    (False,): "no",
}

Wrong = Callable[[Client, Column, bool], str]


def rendered(wrong: Wrong) -> str:
    """The table and its notes, in Markdown, from what `wrong` says of each cell."""
    notes: dict[str, int] = {}
    head = ["client", *(column.name for column in COLUMNS)]
    rows = [[client.title(), *_cells(client, wrong, notes)] for client in CLIENTS]
    table = [head, ["---"] * len(head), *rows]
    lines = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([*lines, "", *(f"{n}. {note}." for note, n in notes.items()), ""])


def _cells(client: Client, wrong: Wrong, notes: dict[str, int]) -> Iterator[str]:
    for column in COLUMNS:
        if note := client.untried.get(column.name):
            yield _noted("–", [note], notes)
            continue
        modes = modes_of(client, column)
        held = {streamed: not wrong(client, column, streamed) for streamed in modes}
        said = [
            client.known_of(column.name, streamed) or "Unknown" for streamed in modes if not held[streamed]
        ]
        if column.name in client.needs and any(held.values()):
            said.append(client.needs[column.name])
        yield _noted(_CELLS[tuple(held.values())], said, notes)


def _noted(cell: str, said: Iterable[str], notes: dict[str, int]) -> str:
    """The cell with the numbers of its notes, each note numbered once."""
    return cell + "".join(f" ({notes.setdefault(note, len(notes) + 1)})" for note in dict.fromkeys(said))


def modes_of(client: Client, column: Column) -> tuple[bool, ...]:
    """In which modes a client is put through a column: whole, streamed."""
    return tuple(streamed for streamed in client.modes() if streamed or not column.streamed_only)


def shown() -> str:
    """The matrix as the page has it."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def main() -> int:
    """Runs all clients and writes the page. 2 where one is missing."""
    missing = sorted({client.place.advice for client in CLIENTS if client.place.program() is None})
    if missing:
        sys.stderr.write("\n".join(missing) + "\n")
        return 2
    with tempfile.TemporaryDirectory() as folder, Upstream() as upstream:
        index = {"index": {"path": str(Path(folder) / "index")}}
        index_command.run([str(ROOT / "examples" / "corpus")], None, index, strict=True)
        corpus = load_library(Settings.model_validate(index))
        with laboratory(upstream, corpus, Path(folder) / "clients") as lab:
            matrix = rendered(lab.wrong)
        corpus.close()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + matrix + END + rest.partition(END)[2], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
