"""The table of docs/reader.md: what someone reads who reads nothing but the text, cell by cell, over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from proxy.cli.compose import Library
from proxy.cli.compose_checkers import nli_size
from proxy.config.checker_settings import Checker as CheckerSettings
from proxy.correction.rewrite import read_rewriting
from proxy.types import ProfileName
from tests.scripted_upstream import Answer, Reply, Upstream, tool_calls
from tests.server.facts import FALSE, FALSE_ZH, GREETING, TRUE, TRUE_TOO, UNKNOWN
from tests.serving import serving, settings_for

PAGE = Path(__file__).parents[2] / "docs" / "reader.md"
QUESTION = "What do you know about the Eiffel Tower?"
TAGS = (
    '### Task:\nGenerate 1-3 broad tags.\n### Output:\nJSON format: { "tags": ["tag1", "tag2"] }\n'
    "### Chat History:\n<chat_history>\nUSER: Hi\n</chat_history>"
)
SENTENCES = {TRUE: "Holds.", TRUE_TOO: "Holds too.", FALSE: "Wrong.", UNKNOWN: "Unknown.", FALSE_ZH: "错句。"}
"""What the sentences are called in the table."""
JSON_VALUE = json.dumps({"tags": ["Paris", f"{FALSE} {UNKNOWN}"]})
LOOK = tool_calls(("look", '{"x": 1}'))

COLUMNS: Mapping[str, Sequence[tuple[ProfileName, bool]]] = {
    "`openai`, `perplexity`, `open_webui` not streamed": [
        ("openai", False),
        ("openai", True),
        ("perplexity", False),
        ("perplexity", True),
        ("open_webui", False),
    ],
    "`open_webui`, streamed": [("open_webui", True)],
    "`markdown`": [("markdown", False), ("markdown", True)],
    "`none`": [("none", False), ("none", True)],
}
"""The profiles that show a reply alike, each with whether it is streamed."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What the upstream drafts and, when it is to correct that, answers; and what holds of the reply.

    `options` are those of the request, `status`, `verdicts` and `error` what `verification` says. `streamed`
    is None where the reader sees the same in a stream and in a whole reply. `once`: it is asked only once,
    since there is nothing to correct. `dead`: the upstream is.
    """

    draft: Answer
    correction: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    question: str = QUESTION
    verdicts: frozenset[str] = frozenset()
    status: str = "ok"
    error: str = ""
    once: bool = False
    streamed: bool | None = None
    dead: bool = False

    def answer(self, body: Mapping[str, Any]) -> Answer:
        """What the upstream says to a request. A stream's prompt asks for the sentence that failed; one
        without the chat gets nothing."""
        messages = body["messages"]
        if self.correction and read_rewriting(messages[-1]["content"]):
            return self.correction.removeprefix(TRUE).strip()
        if messages[0]["content"] == self.question and len(messages) == 1:
            return self.draft
        return self.correction if messages[0]["content"] == self.question else ""


FAILED = frozenset({"contradicted", "unsupported"})
SITUATIONS: Mapping[str, Situation] = {
    "a source supports it": Situation(f"{TRUE} {TRUE_TOO}", verdicts=frozenset({"supported"}), once=True),
    "a source contradicts it, and the model corrects it": Situation(
        f"{TRUE} {FALSE}", f"{TRUE} {TRUE_TOO}", verdicts=frozenset({"supported"})
    ),
    "a source contradicts it, and the model does not": Situation(
        f"{TRUE} {TRUE_TOO} {FALSE}", verdicts=FAILED | {"supported"}
    ),
    "no source has it": Situation(f"{TRUE} {TRUE_TOO} {UNKNOWN}", verdicts=FAILED | {"supported"}),
    "half of it failed, or more": Situation(f"{TRUE} {UNKNOWN}", verdicts=FAILED | {"supported"}),
    "all of it failed": Situation(f"{FALSE} {UNKNOWN}", verdicts=FAILED),
    "all of it failed, in Chinese": Situation(FALSE_ZH, question="都江堰是什么？", verdicts=FAILED),
    "all of it failed, with `preset: strict`": Situation(
        f"{FALSE} {UNKNOWN}", options={"preset": "strict"}, verdicts=FAILED
    ),
    "some of it failed, with `preset: strict`": Situation(
        f"{TRUE} {FALSE} {UNKNOWN}", options={"preset": "strict"}, verdicts=FAILED | {"supported"}
    ),
    "it could not be checked": Situation(
        TRUE,
        options={"deadline": 0.000001},
        verdicts=frozenset({"unverified"}),
        status="skipped",
        error="deadline",
    ),
    "it could not be checked, with `preset: strict`": Situation(
        TRUE, options={"preset": "strict", "deadline": 0.000001}
    ),
    "nothing in it can be checked": Situation(GREETING, verdicts=frozenset({"not_checkable"})),
    "the upstream is dead": Situation("", dead=True),
    "the upstream breaks off, in a stream": Situation(
        Reply(f"{TRUE} {TRUE_TOO}", drop_after=35, pace=0.01), streamed=True
    ),
    "the upstream breaks off, not in a stream": Situation(Reply(TRUE, drop_after=0), streamed=False),
    "a task asks for JSON": Situation(
        JSON_VALUE, question=TAGS, status="skipped", error="tags for the chat", once=True
    ),
    "it is JSON that nobody asked for": Situation(JSON_VALUE, verdicts=FAILED | {"supported"}, once=True),
    "it is a tool call": Situation(Reply(LOOK, finish_reason="tool_calls"), once=True),
}
"""What may become of a reply, in the words of the table's first column."""


@pytest.fixture(scope="module")
def dead_url(corpus: Library) -> Iterator[str]:
    """A server whose upstream does not answer."""
    with serving(settings_for("http://127.0.0.1:1/v1"), corpus) as url:
        yield url


def seen(url: str, situation: Situation, profile: ProfileName, *, stream: bool) -> str:
    """What the reader sees of the reply, as the table has it: status first, an error last."""
    body = {
        "model": "test",
        "messages": [{"role": "user", "content": situation.question}],
        "stream": stream,
        "vouch": {"profile": profile, **situation.options},
    }
    answer = httpx.post(f"{url}/chat/completions", json=body, timeout=60)
    assert "127.0.0.1:1" not in answer.text
    if answer.status_code != 200:
        return f"error: {answer.json()['error']['message']}"
    holders = _chunks(answer) if stream else [answer.json()]
    last = next((each for each in reversed(holders) if "verification" in each), None)
    if last is not None:
        verification = last["verification"]
        assert verification["status"] == situation.status
        assert situation.error in verification.get("error", "")
        verdicts = {claim["verdict"] for claim in verification["claims"]}
        attempted = {claim["verdict"] for each in verification["attempts"] for claim in each["nonfactual"]}
        assert verdicts <= situation.verdicts
        assert bool(verdicts | attempted) == bool(situation.verdicts)
    key = "delta" if stream else "message"
    messages = [choice[key] for each in holders for choice in each.get("choices", ())]
    text = "".join(message.get("content") or "" for message in messages)
    called = [call for message in messages for call in message.get("tool_calls") or ()]
    events = [each["event"]["data"] for each in holders if each.get("event", {}).get("type") == "status"]
    status = f"({events[-1]['description']})" if events and events[-1]["description"] else ""
    errors = [f"error: {each['error']['message']}" for each in holders if "error" in each]
    called_one = ["(tool call)"] if called else []
    return " ".join(filter(None, [status, text, *called_one, *errors]))


def _chunks(answer: httpx.Response) -> list[dict[str, Any]]:
    lines = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def cell(shown: str) -> str:
    """What was seen, short enough for a table: sentences by their names, links without their addresses."""
    for sentence, name in SENTENCES.items():
        shown = shown.replace(sentence, name)
    shown = re.sub(r"\]\(<?http[^)>\s]*>?\)", "](url)", shown)
    shown = re.sub(r"(?m)^(- \(\d+\) |\d+\. )\[[^]]*\]", r"\1[title]", shown)
    return re.sub(r"\n+", " ⏎ ", shown.strip())


def table() -> dict[str, dict[str, str]]:
    """The cells of the page's table, by row and column."""
    text = (
        PAGE.read_text(encoding="utf-8").partition("<!-- table -->")[2].partition("<!-- end of table -->")[0]
    )
    rows = [
        [part.strip() for part in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        for line in text.strip().splitlines()
    ]
    return {row[0]: dict(zip(rows[0][1:], row[1:], strict=True)) for row in rows[2:]}


def test_the_table_has_these_rows_and_columns() -> None:
    rows = table()
    assert list(rows) == list(SITUATIONS)
    assert all(list(cells) == list(COLUMNS) for cells in rows.values())


@pytest.mark.parametrize("row", SITUATIONS)
@pytest.mark.parametrize(
    ("column", "profile", "stream"),
    [
        pytest.param(column, profile, stream, id=f"{profile}-{'stream' if stream else 'whole'}")
        for column, profiles in COLUMNS.items()
        for profile, stream in profiles
    ],
)
def test_a_reader_sees_what_the_table_says(
    base_url: str,
    dead_url: str,
    upstream: Upstream,
    row: str,
    column: str,
    profile: ProfileName,
    stream: bool,
) -> None:
    situation = SITUATIONS[row]
    upstream.answer = situation.answer
    if situation.streamed not in (None, stream):
        pytest.skip("the other way of asking has a row of its own")
    shown = seen(dead_url if situation.dead else base_url, situation, profile, stream=stream)
    assert f"`{cell(shown)}`" == table()[row][column]
    assert len(upstream.requests) == 1 or not situation.once


@pytest.mark.skipif(nli_size(CheckerSettings()) == "small", reason="the small weights never say contradicted")
@pytest.mark.parametrize(("claim", "verdict"), [(FALSE, "contradicted"), (UNKNOWN, "unsupported")])
def test_the_sentences_are_what_the_page_calls_them(
    base_url: str, upstream: Upstream, claim: str, verdict: str
) -> None:
    upstream.answer = lambda _body: f"{TRUE} {TRUE_TOO} {claim}"
    messages = [{"role": "user", "content": QUESTION}]
    body = {"model": "test", "messages": messages, "vouch": {"max_rounds": 0}}
    claims = httpx.post(f"{base_url}/chat/completions", json=body, timeout=60).json()["verification"][
        "claims"
    ]
    assert [each["verdict"] for each in claims] == ["supported", "supported", verdict]
