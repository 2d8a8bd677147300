"""The papers' methods from an unmodified OpenAI client, by options of the request alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai import OpenAI

from proxy.cli.compose import Library
from tests.scripted_upstream import Reply, Upstream, tool_calls
from tests.server.facts import FALSE, GREETING, TRUE, TRUE_TOO, UNKNOWN
from tests.serving import serving, settings_for

TOWER = (
    "The Eiffel Tower is a wrought-iron tower on the Champ de Mars in Paris. It is 330 metres tall with its "
    "antennas and was about 312 metres tall when it opened."
)
IRON = "The iron frame of the Eiffel Tower weighs about 7,300 tonnes."
OTHER = "Penicillin was discovered in 1928 by Alexander Fleming at St Mary's Hospital in London."


def ask(client: OpenAI, messages: list[dict[str, Any]] | None = None, **vouch: Any) -> dict[str, Any]:
    completion = client.chat.completions.create(
        model="test",
        messages=messages or [{"role": "user", "content": "What about the Eiffel Tower?"}],  # type: ignore[arg-type]
        extra_body={"vouch": {"max_rounds": 0, **vouch}},
    )
    reply: dict[str, Any] = json.loads(completion.model_dump_json())
    return reply


def content_of(reply: dict[str, Any]) -> str:
    content: str = reply["choices"][0]["message"]["content"]
    return content


def verdicts(reply: dict[str, Any]) -> list[str]:
    return [claim["verdict"] for claim in reply["verification"]["claims"]]


def test_documents_are_cited_with_the_numbers_that_the_client_gave_them(
    client: OpenAI, upstream: Upstream
) -> None:
    upstream.enqueue(Reply(f"{TRUE} {TRUE_TOO}"))
    documents = [
        {"number": 7, "title": "Height", "text": TOWER},
        {"number": 3, "title": "Weight", "text": IRON},
        {"number": 5, "title": "Else", "text": OTHER},
    ]
    reply = ask(client, documents=documents, evidence="request")
    assert content_of(reply) == f"{TRUE}[7] {TRUE_TOO}[3]"
    assert [(one["n"], one["title"]) for one in reply["references"]] == [(3, "Weight"), (7, "Height")]
    urls = [one["url_citation"]["title"] for one in reply["choices"][0]["message"]["annotations"]]
    assert urls == ["Weight", "Height"]


def test_a_documents_title_does_not_name_the_subject_of_another(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply("Marie Curie discovered the mould in 1928 on a dish at the hospital."))
    nearer = "Marie Curie discovered radium. In 1928 Marie Curie opened a hospital."
    further = (
        "The doctor discovered the mould in 1928 on a dish at the hospital. Every spring he left the city, "
        "travelled to the lakes and fished there for weeks, and in autumn he read novels and grew roses. His "
        "sister kept bees, his brother mended clocks, and the three of them played cards on Sunday evenings."
    )
    documents = [{"title": "Marie Curie", "text": nearer}, {"title": "Alexander Fleming", "text": further}]
    reply = ask(client, documents=documents, evidence="request")
    assert verdicts(reply) != ["supported"]
    assert reply["references"] == []


RAG = [
    {"role": "system", "content": f"Answer from the documents.\n\n[1] Weight\n{IRON}\n\n[2] Height\n{TOWER}"},
    {"role": "user", "content": "How heavy is the Eiffel Tower?"},
]


def test_passages_of_a_rag_prompt_are_the_evidence(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{TRUE_TOO} {TRUE}"))
    reply = ask(client, RAG, evidence="request")
    assert content_of(reply) == f"{TRUE_TOO}[1] {TRUE}[2]"
    assert upstream.requests[-1].body["messages"] == RAG


def test_what_the_request_does_not_hold_is_unsupported_though_the_corpus_holds_it(
    client: OpenAI, upstream: Upstream
) -> None:
    tool = [
        {"role": "user", "content": "How heavy is it?"},
        {"role": "assistant", "content": None, **tool_calls(("search", "{}"))},
        {"role": "tool", "tool_call_id": "call_0", "content": json.dumps([{"title": "W", "content": IRON}])},
    ]
    for evidence, expected in (("request", "unsupported"), ("both", "supported"), ("corpus", "supported")):
        upstream.enqueue(Reply(f"{TRUE_TOO} {TRUE}"))
        assert verdicts(ask(client, tool, evidence=evidence)) == ["supported", expected]


def test_a_request_without_documents_supports_nothing(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply(TRUE))
    reply = ask(client, evidence="request")
    assert verdicts(reply) == ["unsupported"]
    assert reply["references"] == []


def test_clauses_are_checked_one_by_one(client: OpenAI, upstream: Upstream) -> None:
    said = "The Eiffel Tower stands in Paris, and it was built in 1712."
    upstream.enqueue(Reply(said))
    reply = ask(client, granularity="sub_sentence", on_unsupported="keep", notice=False)
    (claim,) = reply["verification"]["claims"]
    assert claim["verdict"] in ("unsupported", "contradicted")
    first, second = claim["parts"]
    assert (first["verdict"], second["verdict"]) == ("supported", claim["verdict"])
    for part in claim["parts"]:
        assert said[part["start"] : part["end"]].strip(" ,.") in said
    assert content_of(reply) == said


def test_triplets_are_extracted_by_the_model_and_checked(client: OpenAI, upstream: Upstream) -> None:
    said = "The iron frame of the Eiffel Tower weighs about 7,300 tonnes."
    triplet = '("The iron frame of the Eiffel Tower", "weighs", "about 7,300 tonnes")'
    upstream.enqueue(Reply(said), Reply(f"[1]\n{triplet}"))
    reply = ask(client, granularity="triplet")
    (claim,) = reply["verification"]["claims"]
    assert claim["parts"][0]["triplet"] == [
        "The iron frame of the Eiffel Tower",
        "weighs",
        "about 7,300 tonnes",
    ]
    assert claim["verdict"] == "supported"
    assert content_of(reply) == f"{said}[1]"
    assert reply["usage"]["verification"]["total_tokens"] > 0


@pytest.mark.parametrize("answer", ["", "I can't.", '[1]\n("x", "y"', "```\n[9]\n('a', 'b', 'c')\n```"])
def test_an_extractor_that_talks_nonsense_supports_nothing(
    client: OpenAI, upstream: Upstream, answer: str
) -> None:
    upstream.enqueue(Reply(FALSE), Reply(answer), Reply(answer))
    reply = ask(client, granularity="triplet")
    assert set(verdicts(reply)) <= {"unsupported", "contradicted", "unverified"}


def test_verdicts_add_up_as_asked(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(*[Reply(f"{TRUE} {TRUE_TOO} {UNKNOWN}")] * 3)
    said = [ask(client, aggregation=rule)["verification"] for rule in ("strict", "major", "soft")]
    assert [one["verdict"] for one in said] == ["unsupported", "supported", "unsupported"]
    assert said[2]["shares"] == {"supported": 0.6667, "unsupported": 0.3333, "contradicted": 0.0}


def test_what_failed_is_marked_and_the_mark_comes_out_of_the_history(
    client: OpenAI, upstream: Upstream
) -> None:
    said = f"{TRUE} {UNKNOWN} And more."
    upstream.enqueue(Reply(said), Reply("Fine."))
    reply = ask(client, on_unsupported="mark")
    shown = content_of(reply)
    assert shown.startswith(f"{TRUE}[1] {UNKNOWN} ⚠️")
    history = [
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": shown},
        {"role": "user", "content": "Go on."},
    ]
    ask(client, history, on_unsupported="keep")
    assert upstream.requests[-1].body["messages"][1]["content"] == said


def test_what_failed_is_dropped(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{GREETING}\n\n- {TRUE}\n- {UNKNOWN}\n- {TRUE_TOO}"))
    reply = ask(client, on_unsupported="drop", citation_style="none")
    left_out = "⚠️ 1 statement was left out because the sources do not bear it out."
    assert content_of(reply) == f"{GREETING}\n\n- {TRUE}\n- {TRUE_TOO}\n\n{left_out}"
    assert reply["verification"]["dropped"] == [UNKNOWN]
    assert "unsupported" not in verdicts(reply)


def test_only_the_sentence_that_failed_is_written_anew(client: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(Reply(f"{TRUE}\n\n*{FALSE}*"), Reply(f"=== 1\n*{TRUE_TOO}*\n=== end"))
    reply = ask(client, max_rounds=1, regeneration="claims", citation_style="none")
    assert content_of(reply) == f"{TRUE}\n\n*{TRUE_TOO}*"
    assert set(verdicts(reply)) == {"supported"}
    asked = upstream.requests[-1].body["messages"]
    assert asked[1]["content"] == f"{TRUE}\n\n*{FALSE}*"


def test_the_upstreams_own_citations_are_verified(client: OpenAI, upstream: Upstream) -> None:
    documents = [
        {"number": 1, "title": "Weight", "text": IRON},
        {"number": 2, "title": "Height", "text": TOWER},
    ]
    said = f"{TRUE_TOO}[1][2] {TRUE}[1]"
    upstream.enqueue(*[Reply(said)] * 3)
    verified = ask(client, documents=documents, citations="verify", evidence="request")
    assert content_of(verified) == f"{TRUE_TOO}[1] {TRUE}[2]"
    assert [one["citations"] for one in verified["verification"]["claims"]] == [
        {"kept": [1], "dropped": [2], "added": []},
        {"kept": [], "dropped": [1], "added": [2]},
    ]
    merged = ask(client, documents=documents, citations="merge", evidence="request")
    assert content_of(merged) == f"{TRUE_TOO}[1][2] {TRUE}[1][2]"
    replaced = ask(client, documents=documents, evidence="request")
    assert content_of(replaced) == content_of(verified)
    assert "citations" not in replaced["verification"]["claims"][0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"granularity": "word"},
        {"aggregation": "mean"},
        {"evidence": "web"},
        {"regeneration": "half"},
        {"on_unsupported": "hide"},
        {"citations": "trust"},
        {"mark_nonfactual": "?" * 65},
        {"documents": [{"text": "x", "number": 0}]},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_what_is_wrong_is_named(client: OpenAI, upstream: Upstream, wrong: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=next(iter(wrong))):
        ask(client, **wrong)
    assert not upstream.requests


def test_claims_about_one_passage_are_asked_about_together(corpus: Library, upstream: Upstream) -> None:
    checker = {"name": "llm", "llm": {"claims_per_call": 10, "prompt": "refchecker"}}
    settings = settings_for(upstream.url, checker=checker, regeneration={"max_rounds": 0})
    upstream.enqueue(Reply(f"{TRUE} {TRUE_TOO} {UNKNOWN}"), Reply("1: Entailment\n2: Entailment\n3: Neutral"))
    with serving(settings, corpus) as base_url, OpenAI(base_url=base_url, api_key="none") as client:
        reply = ask(client, documents=[{"text": f"{TOWER} {IRON}"}], evidence="request")
    assert verdicts(reply) == ["supported", "supported", "unsupported"]
    assert len(upstream.requests) == 2
