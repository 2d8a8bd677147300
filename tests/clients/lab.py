"""A live server before an upstream of ours, and every client asking it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from proxy.cli.compose import Library
from tests.clients.clients import Client
from tests.clients.columns import DRAFT, KEY, QUESTION, Column, Exchange, Expected, Seen
from tests.clients.drivers import Driver
from tests.scripted_upstream import Status, Upstream
from tests.serving import serving, settings_for

_SERVER = {"api_keys": [KEY], "heartbeat": 0.2}
"""Heartbeats so often that every stream has some."""


class Lab:
    """Remembers what it has seen, since columns share exchanges."""

    def __init__(self, base_url: str, upstream: Upstream, folder: Path) -> None:
        self._base_url = base_url
        self._upstream = upstream
        self._folder = folder
        self._drivers: dict[int, Driver] = {}
        self._seen: dict[tuple[int, int, bool], Seen] = {}
        self._citations = self._cited()

    def wrong(self, client: Client, column: Column, streamed: bool) -> str:
        """What is wrong with a cell; nothing where all is well."""
        expected = Expected(client.kinds, client.tells_retry, self._citations)
        steps = ((judge, self._exchanged(client, exchange, streamed)) for exchange, judge in column.steps)
        return next((wrong for judge, seen in steps if (wrong := judge(seen, expected))), "")

    def close(self) -> None:
        """Ends the clients."""
        for driver in self._drivers.values():
            driver.close()

    def _exchanged(self, client: Client, exchange: Exchange, streamed: bool) -> Seen:
        key = (id(client), id(exchange), streamed)
        if key not in self._seen:
            self._seen[key] = self._exchange(self._driver(client), exchange, streamed)
        return self._seen[key]

    def _exchange(self, driver: Driver, exchange: Exchange, streamed: bool) -> Seen:
        self._upstream.clear()
        self._upstream.enqueue(*exchange.answers[:-1])
        last = exchange.answers[-1] if exchange.answers else Status(500, "not to be asked")
        self._upstream.answer = lambda _body: last
        result = driver.ask(self._request(exchange, streamed))
        left = exchange.leaves and self._left()
        return Seen(result, [request.body for request in self._upstream.requests], left)

    def _left(self) -> bool:
        try:
            self._upstream.wait_for_disconnect()
        except AssertionError:
            return False
        return True

    def _request(self, exchange: Exchange, streamed: bool) -> dict[str, Any]:
        return {
            "base_url": self._base_url,
            "api_key": KEY,
            "model": "test",
            "messages": [{"role": "user", "content": QUESTION}],
            "stream": streamed,
            "max_retries": 0,
            "timeout": 30,
            "tools": [],
            "leave": False,
            "then": "",
            **exchange.request,
        }

    def _driver(self, client: Client) -> Driver:
        if id(client) not in self._drivers:
            program = client.place.program()
            if program is None:
                raise RuntimeError(client.place.advice)
            folder = self._folder / str(len(self._drivers))
            folder.mkdir(parents=True)
            self._drivers[id(client)] = client.open(program, folder)
        return self._drivers[id(client)]

    def _cited(self) -> list[list[str]]:
        """Url and title of what the draft is cited with, off the wire."""
        self._upstream.clear()
        self._upstream.enqueue(DRAFT)
        body = {"model": "test", "messages": [{"role": "user", "content": QUESTION}]}
        headers = {"authorization": f"Bearer {KEY}"}
        response = httpx.post(f"{self._base_url}/chat/completions", json=body, headers=headers, timeout=60)
        annotations = response.raise_for_status().json()["choices"][0]["message"]["annotations"]
        return [[one["url_citation"]["url"], one["url_citation"]["title"]] for one in annotations]


@contextmanager
def laboratory(upstream: Upstream, corpus: Library, folder: Path) -> Iterator[Lab]:
    """The server, up, with keys of its own and no re-prompts, so that streams are let go claim by claim."""
    settings = settings_for(upstream.url, server=_SERVER, regeneration={"max_rounds": 0})
    with serving(settings, corpus) as base_url:
        lab = Lab(base_url, upstream, folder)
        try:
            yield lab
        finally:
            lab.close()
