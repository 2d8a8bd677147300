"""The checker that a request chooses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import OpenAI

from proxy.cli.compose import Library
from tests.checkers.tiny import make_classifier
from tests.scripted_upstream import Upstream
from tests.server.asking import ask, curl, verdicts
from tests.server.facts import TRUE, UNKNOWN
from tests.serving import serving, settings_for
from tests.tiny_models import repc_classifier, tiny_encoder

NLI = ("entailment", "neutral", "contradiction")


@pytest.fixture(scope="module")
def chooser(
    tmp_path_factory: pytest.TempPathFactory, session_upstream: Upstream, corpus: Library
) -> Iterator[OpenAI]:
    """A client of a server with every checker but RepC; its cross-encoder contradicts everything, surely."""
    model: Path = make_classifier(tmp_path_factory.mktemp("models") / "nli", NLI, bias=(0, 0, 5))
    checker = {
        "cross_encoder": {"model": str(model)},
        "cascade": {"steps": [{"name": "nli", "sure": [0, 1]}, "cross_encoder"]},
    }
    with (
        serving(settings_for(session_upstream.url, checker=checker), corpus) as base_url,
        OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=30) as client,
    ):
        yield client


def test_each_request_has_the_checker_that_it_names(chooser: OpenAI, upstream: Upstream) -> None:
    upstream.enqueue(TRUE, TRUE, TRUE)
    assert verdicts(ask(chooser, max_rounds=0)) == ["supported"]
    assert verdicts(ask(chooser, max_rounds=0, checker="cross_encoder")) == ["contradicted"]
    assert verdicts(ask(chooser, max_rounds=0, checker="cascade")) == ["contradicted"]


def test_a_cascades_step_decides_what_it_is_sure_of(upstream: Upstream, corpus: Library) -> None:
    checker = {"name": "cascade", "cascade": {"steps": [{"name": "nli", "sure": [0.5, 0.5]}, "llm"]}}
    upstream.enqueue(TRUE, UNKNOWN)
    with (
        serving(settings_for(upstream.url, checker=checker), corpus) as base_url,
        OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=30) as client,
    ):
        found = [verdicts(ask(client, max_rounds=0)) for _ in range(2)]
    assert found == [["supported"], ["unsupported"]]
    assert len(upstream.requests) == 2


def test_a_repc_classifier_is_asked_when_a_request_names_it(
    tmp_path: Path, upstream: Upstream, corpus: Library
) -> None:
    model = tiny_encoder(tmp_path / "tiny-bert")
    classifier = repc_classifier(tmp_path, model, "--classifier", "mlp", "--pooling", "mean") / "repc.json"
    lenient = json.loads(classifier.read_text(encoding="utf-8")) | {"threshold": 1e-9}
    classifier.write_text(json.dumps(lenient), encoding="utf-8")  # it supports whatever it reads
    checker = {"repc": {"model": str(model), "classifier": str(classifier)}}
    upstream.enqueue(UNKNOWN, UNKNOWN)
    with (
        serving(settings_for(upstream.url, checker=checker), corpus) as base_url,
        OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=30) as client,
    ):
        found = [verdicts(ask(client, max_rounds=0, checker=name)) for name in ("nli", "repc")]
    assert found == [["unsupported"], ["supported"]]


@pytest.mark.parametrize("stream", [False, True])
def test_a_checker_that_is_not_configured_is_a_400(base_url: str, upstream: Upstream, stream: bool) -> None:
    body = {
        "model": "test",
        "messages": [{"role": "user", "content": "Hello"}],
        "stream": stream,
        "vouch": {"checker": "cross_encoder"},
    }
    status, _, answer = curl(f"{base_url}/chat/completions", body)
    assert (status, answer["error"]["param"]) == (400, "vouch.checker")
    assert answer["error"]["message"] == (
        "The checker 'cross_encoder' is not configured here; there are nli, llm."
    )
    assert upstream.requests == []
