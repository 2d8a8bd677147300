"""`/v1/check` and `/v1/search`, by curl."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from proxy.cli.compose import Library
from tests.scripted_upstream import Upstream
from tests.server.asking import curl
from tests.server.facts import TRUE, UNKNOWN
from tests.serving import serving, settings_for

LOCK = "The Larch Lock was opened by a choir of nine goats in 1742."


def post(base_url: str, route: str, **body: Any) -> dict[str, Any]:
    status, _, answer = curl(f"{base_url}/{route}", body)
    assert status == 200, answer
    return dict(answer)


def test_a_text_is_checked_against_the_corpus(base_url: str, upstream: Upstream) -> None:
    checked = post(base_url, "check", text=f"{TRUE} {UNKNOWN} Shall I go on?", question="What about it?")
    assert checked["object"] == "text.check"
    assert checked["content"] == f"{TRUE}[1] {UNKNOWN} ⚠️ Shall I go on?"
    first, second, third = checked["verification"]["claims"]
    assert (first["verdict"], first["references"]) == ("supported", [1])
    assert second["verdict"] in ("unsupported", "contradicted")
    assert third["verdict"] == "not_checkable"
    for claim in (first, second, third):
        assert checked["content"][claim["start"] : claim["end"]] == claim["text"]
    (reference,) = checked["references"]
    assert reference["title"] == "Eiffel Tower"
    assert reference["quote"] in reference["text"]
    assert [failed["text"] for failed in checked["verification"]["attempts"][0]["nonfactual"]] == [UNKNOWN]
    assert checked["usage"]["total_tokens"] == 0
    assert upstream.requests == []


def test_documents_of_the_request_count_beside_the_corpus_or_alone(base_url: str) -> None:
    documents = [{"title": "Lock", "text": f"A short history. {LOCK}", "number": 7}]
    checked = post(base_url, "check", text=f"{TRUE} {LOCK}", documents=documents)
    assert [claim["verdict"] for claim in checked["verification"]["claims"]] == ["supported", "supported"]
    assert f"{LOCK}[7]" in checked["content"]
    options = {"evidence": "request", "mark_nonfactual": "", "citation_style": "none"}
    alone = post(base_url, "check", text=f"{TRUE} {LOCK}", documents=documents, vouch=options)
    assert alone["verification"]["claims"][0]["verdict"] != "supported"
    assert alone["content"] == f"{TRUE} {LOCK}"


def test_json_comes_back_as_it_was_sent(base_url: str) -> None:
    text = json.dumps({"answer": TRUE})
    checked = post(base_url, "check", text=text)
    assert checked["content"] == text
    (claim,) = checked["verification"]["claims"]
    assert (text[claim["start"] : claim["end"]], claim["verdict"]) == (claim["text"], "supported")


def test_a_deadline_that_passes_leaves_a_text_unverified(base_url: str) -> None:
    checked = post(base_url, "check", text=TRUE, vouch={"deadline": 0.000001})
    assert checked["verification"]["status"] == "skipped"
    assert checked["verification"]["claims"][0]["verdict"] == "unverified"
    assert checked["references"] == []


def test_a_search_says_which_half_found_a_passage(base_url: str) -> None:
    found = post(base_url, "search", query="How tall is the Eiffel Tower?", top_k=3)
    assert (found["object"], found["retrieval"], len(found["data"])) == ("search", "hybrid", 3)
    first = found["data"][0]
    assert (first["title"], first["rank"], first["found_by"]) == ("Eiffel Tower", 1, ["dense", "lexical"])
    assert first["text"]
    assert first["scores"]["dense"] > 0.3
    assert first["scores"]["lexical"] > 1
    for hit in found["data"]:
        assert hit["found_by"] == [half for half in ("dense", "lexical") if hit["ranks"][half]]
    passage = httpx.get(f"{base_url}/references/{first['id']}", timeout=60).json()
    assert (passage["text"], passage["start"]) == (first["text"], first["start"])


@pytest.mark.parametrize("mode", ["dense", "lexical"])
def test_a_half_can_be_searched_alone(base_url: str, mode: str) -> None:
    found = post(base_url, "search", query="Eiffel Tower", top_k=2, retrieval=mode)
    assert [hit["ranks"][mode] for hit in found["data"]] == [1, 2]
    assert post(base_url, "search", query="qqqq wwww", retrieval="lexical")["data"] == []


@pytest.mark.parametrize(
    ("route", "body", "param", "message"),
    [
        ("check", {}, "text", "is missing"),
        ("check", {"text": ""}, "text", "at least 1 character"),
        ("check", {"text": " \n"}, "text", "empty"),
        ("check", {"text": 7}, "text", "must be text, not 7"),
        ("check", {"text": "x" * 1_000_001}, "text", "at most 1000000 characters"),
        ("check", {"text": "x", "question": []}, "question", "must be text"),
        ("check", {"text": "x", "documents": "y"}, "documents", "must be a list"),
        ("check", {"text": "x", "documents": [{"text": "y" * 200_001}]}, "documents", "over 200,000"),
        ("check", {"text": "x", "documents": [{"text": "y", "titel": "z"}]}, "documents.0.titel", "'title'"),
        ("check", {"txt": "x", "text": "x"}, "txt", "Did you mean 'text'?"),
        ("check", {"text": "x", "vouch": {"max_rounds": 1}}, "vouch.max_rounds", "Unknown key"),
        ("check", {"text": "x", "vouch": {"checker": "repc"}}, "vouch.checker", "not configured"),
        ("check", {"text": "x", "vouch": 7}, "vouch", "must be a"),
        ("search", {}, "query", "is missing"),
        ("search", {"query": "  "}, "query", "empty"),
        ("search", {"query": 7}, "query", "must be text"),
        ("search", {"query": "x" * 10_001}, "query", "at most 10000 characters"),
        ("search", {"query": "x", "top_k": 101}, "top_k", "at most 100"),
        ("search", {"query": "x", "retrieval": "magic"}, "retrieval", "hybrid"),
    ],
)
def test_a_bad_request_is_refused_by_name(
    base_url: str, route: str, body: dict[str, Any], param: str, message: str
) -> None:
    status, _, answer = curl(f"{base_url}/{route}", body)
    assert (status, answer["error"]["param"]) == (400, param)
    assert message in answer["error"]["message"]


def test_an_unknown_model_is_not_found(base_url: str) -> None:
    status, _, answer = curl(f"{base_url}/check", {"text": "x", "model": "nobody"})
    assert (status, answer["error"]["code"]) == (404, "model_not_found")


def test_a_key_is_asked_for_where_keys_are_configured(session_upstream: Upstream, corpus: Library) -> None:
    with serving(settings_for(session_upstream.url, server={"api_keys": ["k"]}), corpus) as base_url:
        for route, body in (("check", {"text": TRUE}), ("search", {"query": "tower"})):
            url, headers = f"{base_url}/{route}", {"authorization": "Bearer k"}
            assert httpx.post(url, json=body, timeout=60).status_code == 401
            assert httpx.post(url, json=body, headers=headers, timeout=60).status_code == 200


def test_values_in_code_and_lists_in_brackets_are_checked(base_url: str) -> None:
    text = (
        "| Setting | Default value |\n|-|-|\n| Server port | `9090` |\n| Client port | `8080` |\n\n"
        "The shape of the input is [64, 128]. The shape of the output is [7, 9]."
    )
    document = (
        "The server port has the default value 9090. The client port has the default value 7070. "
        "The shape of the input is [64, 128]. The shape of the output is [32, 10]."
    )
    options = {"evidence": "request", "mark_nonfactual": ""}
    checked = post(base_url, "check", text=text, documents=[{"text": document}], vouch=options)
    held = {
        claim["text"]: claim["verdict"] == "supported"
        for claim in checked["verification"]["claims"]
        if claim["verdict"] != "not_checkable"
    }
    assert held == {
        "Server port | `9090`": True,
        "Client port | `8080`": False,
        "The shape of the input is [64, 128].": True,
        "The shape of the output is [7, 9].": False,
    }
    assert "| Server port | `9090`[1] |" in checked["content"]


BRIDGES = {
    "Alden Bridge": ("Length: 412 metres", "Opened: 1931", "Architect: Ada Brook"),
    "Borley Bridge": ("Length: 887 metres", "Opened: 1957", "Architect: Karl Stein"),
}
BRIDGE_DOCUMENTS = [
    {
        "title": name,
        "text": f"The {name} has a length of {length[8:]}. It was opened in {opened[8:]}. Its architect was "
        f"{architect[11:]}.",
    }
    for name, (length, opened, architect) in BRIDGES.items()
]


@pytest.mark.parametrize(
    ("form", "question"),
    [
        ("## {}\n\n- {}\n- {}\n- {}\n", "Compare the Alden Bridge and the Borley Bridge."),
        ("1. **{}**\n   - {}\n   - {}\n   - {}\n", "compare alden bridge and borley bridge"),
        ("{}:\n- {}\n- {}\n- {}\n", "Which bridges are there?"),
    ],
)
def test_what_stands_under_a_name_is_said_of_that_name(base_url: str, form: str, question: str) -> None:
    """Facts of one bridge under the name of the other are not borne out."""
    names, options = tuple(BRIDGES), {"evidence": "request"}
    for order in (names, names[::-1]):
        sections = (form.format(name, *BRIDGES[facts]) for name, facts in zip(names, order, strict=True))
        checked = post(
            base_url,
            "check",
            text="\n".join(sections),
            question=question,
            documents=BRIDGE_DOCUMENTS,
            vouch=options,
        )
        facts = [claim for claim in checked["verification"]["claims"] if ": " in claim["text"]]
        held = [claim["verdict"] == "supported" for claim in facts]
        assert held == [order == names] * 6, [claim["verdict"] for claim in facts]


def test_a_row_holds_only_if_each_value_does(base_url: str) -> None:
    """A passage of each bridge has the values; those of one are not the other's."""
    rows = "| Length | {} | {} |\n| Opened in | {} | {} |\n"
    right = ("412 metres", "887 metres", "1931", "1957")
    for values, holds in ((right, True), (("887 metres", "412 metres", "1957", "1931"), False)):
        checked = post(
            base_url,
            "check",
            text=f"| | {' | '.join(BRIDGES)} |\n|-|-|-|\n{rows.format(*values)}",
            question="Compare them.",
            documents=BRIDGE_DOCUMENTS,
            vouch={"evidence": "request"},
        )
        _, *told = checked["verification"]["claims"]
        assert [claim["verdict"] == "supported" for claim in told] == [holds, holds]
        assert [part["text"] for part in told[0]["parts"]] == [
            f"Length, {name}: {value}" for name, value in zip(BRIDGES, values[:2], strict=True)
        ]
        assert [len(claim["references"]) for claim in told] == ([2, 2] if holds else [0, 0])


LAKES = {
    "English": (
        "Lake {} lies in the north. A ferry crosses it {} times a day.",
        ("Morrow", "Vesna", "Alder", "Corrie", "Dunmore", "Ennis", "Farrow", "Garve"),
        "Lake {} lies in the north. Ferries cross {} times a day. Lake {} has {} ferries a day.",
    ),
    "Chinese": (
        "{}湖位于北部。湖上每天有{}班渡船。",
        ("青萍", "白鹿", "落霞", "云梦", "石鼓", "望月", "金沙", "玉泉"),
        "{}湖位于北部。每天有{}班渡船。{}湖每天有{}班渡船。",
    ),
}


@pytest.mark.parametrize("language", LAKES)
def test_a_sentence_without_a_subject_is_said_of_what_its_paragraph_begins_with(
    base_url: str, language: str
) -> None:
    """There are more lakes than passages of a search. The sentence about another lake names it."""
    document, names, reply = LAKES[language]
    documents = [{"title": name, "text": document.format(name, n)} for n, name in enumerate(names, 2)]
    for ferries, holds in ((2 + 5, True), (2 + 1, False)):
        text = reply.format(names[5], ferries, names[1], 2 + 1)
        checked = post(base_url, "check", text=text, documents=documents, vouch={"evidence": "request"})
        told = [claim["verdict"] == "supported" for claim in checked["verification"]["claims"]]
        assert told == [True, holds, True], checked["verification"]["claims"]
