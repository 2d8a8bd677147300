"""The real clients against a live server; docs/clients.md says what came of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proxy.cli.compose import Library
from tests.clients.clients import CLIENTS, Client
from tests.clients.columns import COLUMNS, Column
from tests.clients.lab import Lab, laboratory
from tests.clients.matrix import modes_of, rendered, shown
from tests.scripted_upstream import Upstream

CELLS = [
    pytest.param(
        client, column, streamed, id=f"{client.title()}-{column.name}-{'streamed' if streamed else 'whole'}"
    )
    for client in CLIENTS
    for column in COLUMNS
    if column.name not in client.untried
    for streamed in modes_of(client, column)
]

pytestmark = pytest.mark.timeout(300)  # the first one waits until a corpus is encoded


@pytest.fixture(scope="module")
def lab(
    session_upstream: Upstream, corpus: Library, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lab]:
    with laboratory(session_upstream, corpus, tmp_path_factory.mktemp("clients")) as lab:
        yield lab


@pytest.mark.parametrize(("client", "column", "streamed"), CELLS)
def test_a_client_gets_what_its_users_expect(
    lab: Lab, client: Client, column: Column, streamed: bool
) -> None:
    if client.place.program() is None:
        pytest.skip(client.place.advice)
    wrong, known = lab.wrong(client, column, streamed), client.known_of(column.name, streamed)
    if known:
        assert wrong, f"it holds now, so it is no longer true that {known}"
    else:
        assert not wrong


@pytest.mark.timeout(600)
def test_the_documentation_shows_what_came_of_it(lab: Lab) -> None:
    for client in CLIENTS:
        if client.place.program() is None:
            pytest.skip(client.place.advice)
    assert rendered(lab.wrong) == shown(), "write it anew: `make matrix`"
