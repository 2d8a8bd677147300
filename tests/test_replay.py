"""Real replies, replayed through a real server over a real corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from benchmarks.replay import felm, problems
from proxy.citations.markers import strip_markers
from proxy.cli import index as index_command
from proxy.cli.compose import load_library
from proxy.config.settings import Settings
from tests.conftest import DATA
from tests.scripted_upstream import Upstream
from tests.serving import serving, settings_for

FELM = DATA / "papers" / "ceg_felm_wk_top10.json"
HALUEVAL = DATA / "papers" / "ceg_halueval_377.json"
PASSAGES, ANSWERS, STEP = 100, 6, 60
"""Of 5,795 and 184, and one of as many of 377 drafts: the benchmark replays them all."""
CORPUS = DATA / "corpora" / "wikipedia_en.jsonl"

pytestmark = [
    pytest.mark.skipif(not CORPUS.exists(), reason="needs the public data sets beside the project"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def wikipedia_url(tmp_path_factory: pytest.TempPathFactory, session_upstream: Upstream) -> Iterator[str]:
    """A server over the papers' passages."""
    folder = tmp_path_factory.mktemp("wikipedia")
    index, corpus = folder / "index", folder / "passages.jsonl"
    lines = CORPUS.read_text(encoding="utf-8").splitlines(keepends=True)
    corpus.write_text("".join(lines[:PASSAGES]), encoding="utf-8")
    index_command.run([str(corpus)], None, {"index": {"path": str(index)}}, strict=True)
    library = load_library(Settings.model_validate({"index": {"path": str(index)}}))
    quick: dict[str, Any] = {"checker": {"nli": {"size": "small"}}, "retrieval": {"top_k": 2}}
    settings = settings_for(session_upstream.url, **quick)
    with serving(settings, library) as url:
        yield url
    library.close()


def ask(client: httpx.Client, url: str, question: str, max_rounds: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    body = {
        "model": "test",
        "messages": messages,
        "vouch": {"max_rounds": max_rounds, "mark_nonfactual": "", "notice": False},
    }
    response = client.post(f"{url}/chat/completions", json=body, timeout=120)
    assert response.status_code == 200, response.text
    reply: dict[str, Any] = response.json()
    return reply


def test_answers_of_chatgpt_come_back_whole(wikipedia_url: str, upstream: Upstream) -> None:
    answers = dict(list(felm(DATA).items())[:ANSWERS])
    upstream.answer = lambda body: answers[body["messages"][-1]["content"]]
    with httpx.Client() as client, ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda question: ask(client, wikipedia_url, question, 0), answers))
    wrong = {
        question: found
        for (question, answer), reply in zip(answers.items(), replies, strict=True)
        if (found := problems(reply["choices"][0]["message"]["content"], reply, answer))
    }
    assert wrong == {}
    verdicts = [claim["verdict"] for reply in replies for claim in reply["verification"]["claims"]]
    assert len(replies) == ANSWERS
    assert len(verdicts) > 2 * ANSWERS
    assert "unverified" not in verdicts
    assert "supported" in verdicts


def test_first_drafts_and_re_answers_of_gpt_3_5_come_back_whole(
    wikipedia_url: str, upstream: Upstream
) -> None:
    rows = json.loads(HALUEVAL.read_text(encoding="utf-8"))[::STEP]
    drafts = {f"{n}: {row['question']}": (row["text"], row["text_rege"]) for n, row in enumerate(rows)}
    upstream.answer = lambda body: drafts[body["messages"][0]["content"]][len(body["messages"]) > 1]
    with httpx.Client() as client, ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda question: ask(client, wikipedia_url, question, 1), drafts))
    rounds = 0
    for texts, reply in zip(drafts.values(), replies, strict=True):
        verification = reply["verification"]
        rounds += verification["rounds"]
        draft = strip_markers(texts[verification["best"]])
        assert problems(reply["choices"][0]["message"]["content"], reply, draft) == []
        if best := verification["best"]:
            failed = [len(attempt["nonfactual"]) for attempt in verification["attempts"]]
            supported = sum(claim["verdict"] == "supported" for claim in verification["claims"])
            assert failed[best] < failed[0] or supported > 0, "no better"
    assert rounds > 0
