"""The public surface: what `from proxy import ...` offers to programs that embed Vouch. See docs/library.md.

Names that are not listed here may change with any release.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxy.errors import (
    BrokenIndexError,
    CheckError,
    ConfigError,
    RequestError,
    RetrievalError,
    SourceError,
    UpstreamError,
    VouchError,
)
from proxy.protocols import LLM, Checker, Encoder, Extractor, Retriever
from proxy.types import (
    Chat,
    Claim,
    Document,
    Draft,
    Evidence,
    Finding,
    Judgement,
    Pair,
    Passage,
    Reply,
    Usage,
    Verdict,
)

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from proxy.config.settings import Settings

__all__ = [
    "LLM",
    "BrokenIndexError",
    "Chat",
    "CheckError",
    "Checker",
    "Claim",
    "ConfigError",
    "Document",
    "Draft",
    "Encoder",
    "Evidence",
    "Extractor",
    "Finding",
    "Judgement",
    "Pair",
    "Passage",
    "Reply",
    "RequestError",
    "RetrievalError",
    "Retriever",
    "SourceError",
    "UpstreamError",
    "Usage",
    "Verdict",
    "VouchError",
    "create_app",
    "load_settings",
]


def load_settings(path: Path | None = None, overrides: Mapping[str, Any] | None = None) -> Settings:
    """The effective settings: defaults, config file, environment variables, then `overrides`.

    Parameters:
        path: the config file. None: the one that `VOUCH_CONFIG` names, else `config.yaml` where there is one.
        overrides: sections as in the config file, for example `{"index": {"path": "index"}}`.

    Raises:
        ConfigError: a setting is unknown, missing or wrong.
    """
    from proxy.config.load import load

    return load(path, overrides)


def create_app(settings: Settings) -> Starlette:
    """The ASGI application that `vouch serve` runs, for any ASGI server or to mount in another application.

    The index, the encoder and the checkers are loaded before this returns, which takes some seconds. They are
    closed when the application's lifespan ends.

    Raises:
        ConfigError: a setting is wrong, or an upstream has no key.
        BrokenIndexError: the index is missing, damaged, or was made by another encoder.
    """
    from proxy.cli.compose import compose, make_tracer
    from proxy.server.app import create_app

    return create_app(compose(settings), settings, make_tracer(settings))
