"""A server for tests that are not about models: a small corpus, and a checker that compares strings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from proxy.cli.compose import Library, make_backends, make_tracer, with_others
from proxy.cli.compose_checkers import Checkers, cached
from proxy.config.settings import Settings
from proxy.engine.app_context import AppContext
from proxy.server.app import create_app
from proxy.types import Judgement, Pair, Verdict
from tests.corpora import library_of
from tests.serving import running


class Verbatim:
    """`protocols.Checker`: a claim is supported by evidence that says it word for word."""

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        return [
            Judgement(Verdict.SUPPORTED if pair.claim.strip() in pair.evidence else Verdict.UNSUPPORTED)
            for pair in pairs
        ]


def light_parts(settings: Settings, index: Path) -> AppContext:
    """The application's components over an index of the hashing encoder, without any model."""
    return light_parts_over(settings, library_of(index))


def light_parts_over(settings: Settings, library: Library) -> AppContext:
    """The same over a library that is open."""
    checker = cached(Verbatim(), "verbatim", settings.checker)
    checkers = Checkers(settings.checker, {"nli": checker}, [library.close])
    backends = make_backends(settings, library, checkers)
    return with_others(backends, backends.over(library.corpus, library.generation))


@contextmanager
def light_server(settings: Settings, index: Path) -> Iterator[str]:
    """The base URL, with `/v1`, of a server over that index."""
    with light_server_over(settings, library_of(index)) as url:
        yield url


@contextmanager
def light_server_over(settings: Settings, library: Library) -> Iterator[str]:
    """The same over a library that is open."""
    app = create_app(light_parts_over(settings, library), settings, make_tracer(settings))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5))
    with running(server) as url:
        yield url
