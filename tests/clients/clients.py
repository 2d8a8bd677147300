"""The clients: where each is, how it is asked, and what each is known not to do."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.clients.curl import Curl
from tests.clients.drivers import HERE, Driver, Script
from tests.clients.llm_command import Llm

PROGRAMS = HERE / ".venv" / "bin"
MODULES = HERE / "node_modules"


@dataclass(frozen=True, slots=True)
class Place:
    """Where packages are: the program that runs them, or what to do where there is none; their versions."""

    program: Callable[[], str | None]
    advice: str
    version: Callable[[str], str]


def _pinned(package: str) -> str:
    text = (HERE / "requirements.txt").read_text(encoding="utf-8")
    return str(re.findall(rf"^{package}==(.+)$", text, re.M)[0])


def _locked(package: str) -> str:
    lock = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))
    return str(lock["packages"][f"node_modules/{package}"]["version"])


def _there(path: Path) -> str | None:
    return str(path) if path.exists() else None


OURS = Place(lambda: sys.executable, "", importlib.metadata.version)
THEIRS = Place(
    lambda: _there(PROGRAMS / "python"), "tests/clients/.venv is not there: `make clients`", _pinned
)
LLM = Place(lambda: _there(PROGRAMS / "llm"), THEIRS.advice, _pinned)
NODE = Place(
    lambda: shutil.which("node") if MODULES.exists() else None,
    "Node.js or tests/clients/node_modules is not there: `make clients`",
    _locked,
)
SYSTEM = Place(lambda: shutil.which("curl"), "curl is not installed", lambda _: "")


@dataclass(frozen=True, slots=True)
class Client:
    """One row of the matrix.

    `package` is what its version is that of, `open` takes the program and an empty folder. `known` says of a
    column what is wrong with it and why (`COLUMN (whole)` or `COLUMN (streamed)` of one mode), `untried` why
    it is not tried, `needs` what its user has to do for it.
    """

    name: str
    package: str
    place: Place
    open: Callable[[str, Path], Driver]
    kinds: Mapping[int | str, str]
    tells_retry: bool = True
    whole: bool = True
    known: Mapping[str, str] = field(default_factory=dict)
    untried: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)

    def modes(self) -> tuple[bool, ...]:
        """Whether streamed."""
        return (False, True) if self.whole else (True,)

    def known_of(self, column: str, streamed: bool) -> str:
        """What is wrong there, if anything."""
        mode = "streamed" if streamed else "whole"
        return self.known.get(column) or self.known.get(f"{column} ({mode})", "")

    def title(self) -> str:
        """Name and version."""
        return f"{self.name} {self.place.version(self.package)}".strip()


def _script(name: str, *arguments: str) -> Callable[[str, Path], Driver]:
    return lambda program, _folder: Script([program, HERE / "asking" / name, *arguments])


def _curl(_program: str, folder: Path) -> Driver:
    return Curl(folder)


def _llm(program: str, folder: Path) -> Driver:
    return Llm(program, folder)


_PYTHON: Mapping[int | str, str] = {
    400: "BadRequestError",
    401: "AuthenticationError",
    404: "NotFoundError",
    429: "RateLimitError",
    500: "InternalServerError",
    "time-out": "APITimeoutError",
    "broken": "APIError",
}
_LANGCHAIN: Mapping[int | str, str] = {
    400: "OpenAIInvalidRequestError",
    401: "OpenAIAuthenticationError",
    404: "OpenAIModelNotFoundError",
    429: "OpenAIRateLimitError",
    500: "OpenAIAPIError",
    "time-out": "OpenAITimeoutError",
    "broken": "APIError",
}
_NODE = {**_PYTHON, "time-out": "APIConnectionTimeoutError"}
_STATUSES: tuple[int | str, ...] = (400, 401, 404, 429, 500)
_VERCEL = {**dict.fromkeys(_STATUSES, "AI_APICallError"), "time-out": "TimeoutError", "broken": "Object"}

_UNKNOWN_FIELDS = "LangChain drops fields that it does not know"
_RAW = "With `__includeRawResponse: true`"
_INCLUDED = "With `include: { responseBody: true }`, streamed with `includeRawChunks: true`"
_STORE = "With `store: false`; else it refers to items by id, and is told that Vouch stores none"
_BUILT_ANEW = "Of a stream its log keeps the text and the usage"

CLIENTS = (
    Client("`openai`, Python", "openai", OURS, _script("openai_sdk.py"), _PYTHON),
    Client("`openai`, Python", "openai", THEIRS, _script("openai_sdk.py"), _PYTHON),
    Client("its stream helper", "openai", THEIRS, _script("openai_helper.py"), _PYTHON, whole=False),
    Client("its `responses`", "openai", THEIRS, _script("openai_responses.py"), _PYTHON),
    Client("`openai`, Node", "openai", NODE, _script("openai_sdk.mjs"), _NODE),
    Client(
        "`litellm`",
        "litellm",
        OURS,
        _script("litellm_sdk.py"),
        {**_PYTHON, "time-out": "Timeout", "broken": "MidStreamFallbackError"},
        known={"tool calls": "`litellm` raises ModuleNotFoundError unless `mcp` is installed too"},
    ),
    Client(
        "`langchain-openai`",
        "langchain-openai",
        THEIRS,
        _script("langchain_sdk.py"),
        _LANGCHAIN,
        known={"citations": _UNKNOWN_FIELDS, "references": _UNKNOWN_FIELDS},
    ),
    Client(
        "its `use_responses_api`",
        "langchain-openai",
        THEIRS,
        _script("langchain_sdk.py", "responses"),
        _LANGCHAIN,
        known={"references": _UNKNOWN_FIELDS},
    ),
    Client(
        "`@langchain/openai`",
        "@langchain/openai",
        NODE,
        _script("langchain_sdk.mjs"),
        {**_NODE, "time-out": "TimeoutError"},
        needs={"citations": _RAW, "references": _RAW},
    ),
    Client(
        "its `useResponsesApi`",
        "@langchain/openai",
        NODE,
        _script("langchain_sdk.mjs", "responses"),
        {**_NODE, "time-out": "TimeoutError"},
        known={"references": _UNKNOWN_FIELDS},
    ),
    Client(
        "`ai`, `openai.chat()`",
        "@ai-sdk/openai",
        NODE,
        _script("vercel.mjs", "chat"),
        _VERCEL,
        needs={"references": _INCLUDED},
    ),
    Client(
        "`ai`, `openai()`",
        "@ai-sdk/openai",
        NODE,
        _script("vercel.mjs", "responses"),
        _VERCEL,
        needs={"references": _INCLUDED, "next turn": _STORE},
    ),
    Client(
        "`ai`, compatible",
        "@ai-sdk/openai-compatible",
        NODE,
        _script("vercel.mjs", "compatible"),
        _VERCEL,
        known={"citations": "It has no sources; use the references"},
        needs={"references": "With a `metadataExtractor`"},
    ),
    Client(
        "`llm`",
        "llm",
        LLM,
        _llm,
        {**dict.fromkeys(_STATUSES, "exit 1"), "broken": "exit 1"},
        tells_retry=False,
        known={"citations (streamed)": _BUILT_ANEW, "references (streamed)": _BUILT_ANEW},
        untried={"time-out": "It has no option for one"},
    ),
    Client(
        "curl",
        "curl",
        SYSTEM,
        _curl,
        {**dict.fromkeys(_STATUSES, "exit 22"), "time-out": "exit 28", "broken": "event"},
    ),
)
