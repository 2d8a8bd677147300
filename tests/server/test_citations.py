"""`/v1/citations/check`, by curl."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from proxy.cli.compose import Library
from tests.scripted_upstream import Raw, Status, Upstream
from tests.server.asking import curl
from tests.serving import serving, settings_for

DOCUMENTS: list[dict[str, Any]] = [
    {
        "title": "Eiffel Tower",
        "text": "The Eiffel Tower is 330 metres tall. It was completed in 1889 in Paris.",
    },
    {"id": "design", "text": "Maurice Koechlin drew the first design of the Eiffel Tower in 1884."},
    {"text": "都江堰位于四川省都江堰市，由秦国蜀郡太守李冰主持修建。"},
]
ANSWER = (
    "# Sights 🗼\n\nThe Eiffel Tower is 330 metres tall [1][2]. It is 430 metres tall.[1] "
    "Maurice Koechlin drew its first design in 1884. 都江堰位于四川省【3】。It is in Paris.[9] Shall I go on?"
)


def check(base_url: str, **body: Any) -> dict[str, Any]:
    status, _, answer = curl(
        f"{base_url}/citations/check", {"answer": ANSWER, "documents": DOCUMENTS, **body}
    )
    assert status == 200, answer
    return dict(answer)


def statement(report: dict[str, Any], part: str) -> dict[str, Any]:
    (found,) = (one for one in report["statements"] if part in one["text"])
    return dict(found)


def test_each_statement_is_held_against_what_it_cites(base_url: str) -> None:
    report = check(base_url)
    assert (report["object"], report["status"]) == ("citation.check", "ok")
    for one in report["statements"]:
        assert ANSWER[one["start"] : one["end"]] == one["text"]
    tall = statement(report, "330")
    assert (tall["verdict"], tall["cited"]) == ("supported", [1, 2])
    assert tall["citations"] == [
        {"n": 1, "supports": True, "superfluous": False},
        {"n": 2, "supports": False, "superfluous": True},
    ]
    wrong = statement(report, "430")
    assert wrong["verdict"] in ("contradicted", "unsupported")
    assert ("unsupported", wrong["uncovered"], wrong["missing_citations"]) == ("unsupported", ["430"], [])
    bare = statement(report, "Koechlin")
    assert (bare["verdict"], bare["reason"], bare["missing_citations"]) == ("unsupported", "no citation", [2])
    assert statement(report, "都江堰")["verdict"] == "supported"
    lost = statement(report, "Paris")
    assert (lost["verdict"], lost["reason"]) == ("unsupported", "no document [9]")
    assert lost["citations"] == [{"n": 9, "supports": False, "superfluous": None, "error": "no document [9]"}]
    assert statement(report, "go on")["verdict"] == "not_checkable"


def test_the_figures_are_those_of_alce(base_url: str) -> None:
    report = check(base_url)
    counts = report["counts"]
    assert counts["statements"] == 5 + (statement(report, "Sights 🗼")["verdict"] != "not_checkable")
    assert (counts["supported"], counts["citations"]) == (2, 5)
    assert report["citation_recall"] == round(2 / counts["statements"], 4)
    assert report["citation_precision"] == round(2 / 5, 4)


def test_documents_have_the_numbers_that_the_client_gives(base_url: str) -> None:
    documents = [{"number": 12, "text": DOCUMENTS[0]["text"]}, {"number": 4, "text": DOCUMENTS[1]["text"]}]
    report = check(base_url, answer="The Eiffel Tower is 330 metres tall.[12]", documents=documents)
    assert report["statements"][0]["verdict"] == "supported"
    report = check(base_url, answer="The Eiffel Tower is 330 metres tall.[4]", documents=documents)
    assert report["statements"][0]["missing_citations"] == [12]


def test_an_answer_that_leans_on_the_question_is_understood(base_url: str) -> None:
    report = check(base_url, answer="In 1889.[1]", question="When was the Eiffel Tower completed?")
    assert report["statements"][0]["verdict"] == "supported"


def test_without_documents_nothing_is_supported(base_url: str) -> None:
    report = check(base_url, documents=[])
    assert (report["status"], report["citation_recall"], report["citation_f1"]) == ("ok", 0, 0)


@pytest.mark.parametrize("answer", [" ", "```\nx[1]\n```", "[1]"])
def test_an_answer_that_states_nothing_has_no_figures(base_url: str, answer: str) -> None:
    report = check(base_url, answer=answer)
    assert (report["status"], report["statements"], report["citation_recall"]) == ("ok", [], None)


def test_the_llm_checker_is_asked_where_it_is_named_and_its_cost_counted(
    base_url: str, upstream: Upstream
) -> None:
    upstream.answer = lambda _body: "The document says so.\nAnswer: Factual"
    body = {"answer": "The tower is tall.[1]", "model": "test", "vouch": {"checker": "llm"}}
    report = check(base_url, **body)
    assert [one["verdict"] for one in report["statements"]] == ["supported"]
    assert report["usage"]["total_tokens"] > 0
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("failure", [Status(500, "oh no"), Raw(b"{not json")])
def test_a_checker_that_is_down_supports_nothing(base_url: str, upstream: Upstream, failure: Any) -> None:
    upstream.answer = lambda _body: failure
    report = check(base_url, answer="The Eiffel Tower is 330 metres tall.[1]", vouch={"checker": "llm"})
    assert report["status"] == "skipped"
    assert [one["verdict"] for one in report["statements"]] == ["unverified"]
    assert (report["citation_recall"], report["citation_precision"]) == (0, 0)


def test_a_deadline_that_passes_supports_nothing(base_url: str) -> None:
    report = check(base_url, vouch={"deadline": 0.000001})
    assert (report["status"], report["error"]) == ("skipped", "the deadline passed")
    assert report["counts"]["supported"] == 0


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({"documents": []}, "answer", "is missing"),
        ({"answer": "x"}, "documents", "is missing"),
        ({"answer": "", "documents": []}, "answer", "at least 1 character"),
        ({"answer": 7, "documents": []}, "answer", "answer must be text, not 7"),
        ({"answer": "x", "documents": "y"}, "documents", "documents must be a list"),
        ({"answer": "x", "documents": [{"txt": "y"}]}, "documents.0.text", "is missing"),
        ({"answer": "x", "documents": [{"text": ""}]}, "documents.0.text", "at least 1 character"),
        ({"answer": "x", "documents": [{"text": "y", "nr": 1}]}, "documents.0.nr", "Unknown key"),
        ({"answer": "x", "documents": [{"text": "y", "numbr": 1}]}, "documents.0.numbr", "'number'"),
        (
            {"answer": "x", "documents": [{"text": "y", "number": 0}]},
            "documents.0.number",
            "must be at least 1",
        ),
        (
            {"answer": "x", "documents": [{"text": "y", "number": 2}, {"text": "z"}]},
            "documents",
            "Two documents are numbered 2",
        ),
        ({"answer": "x", "documents": [{"text": "y" * 200_001}]}, "documents", "over 200,000 characters"),
        ({"answer": "x", "documents": [], "answr": 1}, "answr", "Did you mean 'answer'?"),
        ({"answer": "x", "documents": [], "vouch": {"chekker": "llm"}}, "vouch.chekker", "'checker'"),
        ({"answer": "x", "documents": [], "vouch": {"checker": "x"}}, "vouch.checker", "nli"),
        ({"answer": "x", "documents": [], "vouch": {"checker": "repc"}}, "vouch.checker", "not configured"),
        ({"answer": "x", "documents": [], "vouch": {"deadline": 0}}, "vouch.deadline", "must be more than 0"),
    ],
)
def test_a_bad_request_is_refused_by_name(base_url: str, body: Any, param: str, message: str) -> None:
    status, headers, answer = curl(f"{base_url}/citations/check", body)
    assert (status, answer["error"]["param"]) == (400, param)
    assert headers["x-request-id"]
    assert message in answer["error"]["message"]


def test_an_unknown_model_is_not_found(base_url: str) -> None:
    status, _, answer = curl(
        f"{base_url}/citations/check", {"answer": "x", "documents": [], "model": "nobody"}
    )
    assert (status, answer["error"]["code"]) == (404, "model_not_found")


def test_a_key_is_asked_for_where_keys_are_configured(session_upstream: Upstream, corpus: Library) -> None:
    settings = settings_for(session_upstream.url, server={"api_keys": ["k"]})
    with serving(settings, corpus) as base_url:
        body = {"answer": "The tower is tall.", "documents": []}
        url = f"{base_url}/citations/check"
        assert httpx.post(url, json=body).status_code == 401
        assert httpx.post(url, json=body, headers={"authorization": "Bearer k"}).status_code == 200
