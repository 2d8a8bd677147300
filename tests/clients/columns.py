"""What each client is put through, and what its users expect of it then."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.scripted_upstream import Answer, Hang, Reply, Status, tool_calls
from tests.server.facts import TRUE, TRUE_ELSEWHERE

Json = dict[str, Any]

QUESTION = "What about the Eiffel Tower?"
NEXT_QUESTION = "And in winter?"
DRAFT = f"{TRUE} {TRUE_ELSEWHERE}"
FIRST = f"{TRUE}[1]"
CITED = f"{FIRST} {TRUE_ELSEWHERE}[2]"
KEY = "sk-of-the-clients"

LOOK_UP: Json = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Looks a page up.",
        "parameters": {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]},
    },
}


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of a client: how the upstream answers it (in order; the last answer again and again), what
    of the request differs from the plain one, whether the upstream must see its caller leave."""

    answers: Sequence[Answer]
    request: Mapping[str, Any] = field(default_factory=dict)
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """What a client made of it, and what the upstream was asked."""

    result: Json
    asked: Sequence[Json]
    left: bool = False


@dataclass(frozen=True, slots=True)
class Expected:
    """What depends on the client: the kinds of its errors by status, of a `time-out` and of a `broken`
    stream, and whether they tell when to try again; and url and title of what is cited."""

    kinds: Mapping[int | str, str]
    tells_retry: bool
    citations: Sequence[Sequence[str]]


Judge = Callable[[Seen, Expected], str]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the matrix. `judge` says what is wrong, nothing where all is well."""

    name: str
    steps: Sequence[tuple[Exchange, Judge]]
    streamed_only: bool = False


def content(seen: Seen, _: Expected) -> str:
    """Whole, with its marks; a stream in more than one piece."""
    result = seen.result
    if result["error"] or result["content"] != CITED:
        return f"{result['error'] or result['content']}"
    return ""


def citations(seen: Seen, expected: Expected) -> str:
    """Title and url of each reference, in order."""
    return differs(seen.result["citations"], expected.citations)


def references(seen: Seen, _: Expected) -> str:
    """The references' numbers and the verdict."""
    return differs([seen.result["references"], seen.result["verdict"]], [[1, 2], "supported"])


def next_turn(seen: Seen, _: Expected) -> str:
    """The upstream is shown its own words again: no mark, no annotation."""
    if seen.result["error"]:
        return f"{seen.result['error']}"
    messages = seen.asked[-1]["messages"]
    extra = {"annotations", "references", "verification"} & set(messages[1])
    shown = [(message["role"], plain(message["content"])) for message in messages]
    said = [("user", QUESTION), ("assistant", DRAFT), ("user", NEXT_QUESTION)]
    return differs(shown, said) or (f"{extra}" if extra else "")


def tools(seen: Seen, _: Expected) -> str:
    """The call, its arguments as JSON or parsed."""
    calls = [
        [name, json.loads(arguments) if isinstance(arguments, str) else arguments]
        for name, arguments in seen.result["tool_calls"]
    ]
    return differs(calls, [["look_up", {"page": 7}]])


def status(code: int, says: str, retry_after: str | None = None) -> Judge:
    """The client's error for that status, saying why, and when to try again."""

    def judge(seen: Seen, expected: Expected) -> str:
        error = seen.result["error"]
        if not error:
            return "no error"
        told = [error["kind"], error["status"], says in error["message"]]
        wrong = differs(told, [expected.kinds[code], code, True])
        return wrong or (differs(error["retry_after"], retry_after) if expected.tells_retry else "")

    return judge


def retried(seen: Seen, expected: Expected) -> str:
    """The second try's reply."""
    return content(seen, expected) or differs(len(seen.asked), 2)


def timed_out(seen: Seen, expected: Expected) -> str:
    """The client's own time-out, and the upstream was let go."""
    error = seen.result["error"] or {"kind": "none"}
    return differs([error["kind"], seen.left], [expected.kinds["time-out"], True])


def broken(seen: Seen, expected: Expected) -> str:
    """An error behind what was checked before it; never an end as if all were well."""
    error = seen.result["error"] or {"kind": "none", "message": ""}
    told = [seen.result["content"], error["kind"], "broke off" in error["message"]]
    return differs(told, [FIRST, expected.kinds["broken"], True])


def left(seen: Seen, _: Expected) -> str:
    """The upstream sees it."""
    return "" if seen.left else "the upstream went on"


def differs(got: object, wanted: object) -> str:
    """Both, where they are not the same."""
    return "" if got == wanted else f"{got} instead of {wanted}"


def plain(text: Any) -> str:
    """A message's content, which may be in parts."""
    return text if isinstance(text, str) else "".join(part.get("text", "") for part in text)


SLOW: Json = {"size": 20, "pace": 0.1}
"""Of 188 characters the first claim is there after 5 pieces, and checked well before the last."""

PLAIN = Exchange([DRAFT])
NEXT = Exchange([DRAFT, "Fine."], {"then": NEXT_QUESTION})
CALL = Exchange(
    [Reply(tool_calls(("look_up", '{"page": 7}')), finish_reason="tool_calls"), DRAFT], {"tools": [LOOK_UP]}
)

COLUMNS = (
    Column("content", [(PLAIN, content)]),
    Column("citations", [(PLAIN, citations)]),
    Column("references", [(PLAIN, references)]),
    Column("next turn", [(NEXT, next_turn)]),
    Column("tool calls", [(CALL, tools)]),
    Column(
        "errors",
        [
            (Exchange([Status(400, "bad tool")]), status(400, "bad tool")),
            (Exchange([], {"api_key": "sk-wrong"}), status(401, "API key")),
            (Exchange([], {"model": "missing"}), status(404, "does not exist")),
            (Exchange([Status(429, "slow down", retry_after="1")]), status(429, "slow down", "1")),
            (Exchange([Status(500, "on fire")]), status(500, "on fire")),
        ],
    ),
    Column("retries", [(Exchange([Status(429, retry_after="1"), DRAFT], {"max_retries": 1}), retried)]),
    Column("time-out", [(Exchange([Hang()], {"timeout": 0.7}, leaves=True), timed_out)]),
    Column("broken stream", [(Exchange([Reply(DRAFT, drop_after=9, **SLOW)]), broken)], streamed_only=True),
    Column(
        "leaving",
        [(Exchange([Reply(DRAFT, **SLOW)], {"leave": True}, leaves=True), left)],
        streamed_only=True,
    ),
)
