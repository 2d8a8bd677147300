"""`python -m evaluation felm`: factual errors in answers, by passages, with any checker."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.__main__ import main
from evaluation.felm.data import Selection, read_felm
from evaluation.felm.figures import counted, figures
from tests.evaluation.files import judge_config
from tests.scripted_upstream import Answer, Hang, Status, Upstream

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data" / "papers" / "ceg_felm_wk_top10.json"
QUICK = ["--resamples", "20"]
FACTS = (("Elm", 20), ("Fir", 30))


def segment(question: str, text: str, factual: bool, *passages: str) -> dict[str, Any]:
    return {
        "question": question,
        "answer": math.nan,
        "response": text,
        "tag": factual,
        "ress": {
            "res": [{"title": "Towns", "session": "", "content": passage} for passage in passages],
            "dis": [0.9 - 0.2 * at for at in range(len(passages))],
            "tag": [1 if text == passage else -1 for passage in passages],
        },
    }


def town(name: str, mills: int) -> str:
    return f"The town of {name} has {mills} mills."


def rows() -> list[dict[str, Any]]:
    """Two answers of two segments; the passage that bears a right one out is the second."""
    found = []
    for name, mills in FACTS:
        passages = ("The river Ash is 90 kilometres long.", town(name, mills))
        found.append(segment(f"What of {name}?", town(name, mills), True, *passages))
        said = mills if name == "Elm" else mills + 5
        found.append(segment(f"What of {name}?", town(name, said), name == "Elm", *passages))
    return found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "felm.json"
    path.write_text(json.dumps(rows()), encoding="utf-8")
    return path


def judge_of(counter: list[str]) -> Callable[[dict[str, Any]], Answer]:
    """Says Entailment where the claim stands in the reference, as a checker would."""

    def answer(body: dict[str, Any]) -> Answer:
        said = body["messages"][0]["content"]
        claim = said.rpartition("### Claim:")[2].splitlines()[2]
        counter.append(claim)
        reference = said.partition("### Reference:")[2].partition("### Claim:")[0]
        return "Entailment" if claim in reference else "Neutral"

    return answer


def run(data: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["felm", "--data", str(data), *QUICK, "--json", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def line(
    lines: list[dict[str, Any]], judge: str, k: int | None, threshold: float | None = None
) -> dict[str, Any]:
    (found,) = (one for one in lines if (one["judge"], one["k"], one["threshold"]) == (judge, k, threshold))
    return found


def test_more_passages_bear_more_segments_out(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(data, capsys, "--k", "1", "2", "--threshold", "0.8")
    one, two = line(lines, "builtin", 1), line(lines, "builtin", 2)
    assert (one["responses"], one["segments"], one["unverified"], one["llm"]) == (2, 4, 0, None)
    assert one["segment"]["recall_factual"] == 0.0
    assert two["segment"] == {
        "f1": 1.0,
        "precision": 1.0,
        "recall_nonfactual": 1.0,
        "recall_factual": 1.0,
        "balanced_accuracy": 1.0,
    }
    assert two["response"]["f1"] == 1.0
    assert line(lines, "builtin", 2, 0.8)["segment"] == one["segment"]  # only the first is over it
    assert line(lines, "builtin, contradicted only", 2)["segment"]["recall_factual"] == 1.0
    assert line(lines, "recorded", 1)["segment"]["recall_factual"] == 0.0
    assert line(lines, "recorded", 2)["segment"]["f1"] == 1.0
    always = line(lines, "always nonfactual", None)
    assert (always["segment"]["f1"], always["segment"]["balanced_accuracy"]) == (0.4, 0.5)
    assert (always["response"]["f1"], always["response"]["precision"]) == (0.6667, 0.5)


def test_the_table_shows_both_levels_the_baselines_and_the_paper(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VOUCH_CHECKER__NLI__SIZE")
    assert main(["felm", "--data", str(data), *QUICK, "--k", "2", "--threshold", "--how", "joined"]) == 0
    printed = capsys.readouterr().out
    assert "2 answers, 4 segments, 1 of them nonfactual" in printed
    assert printed.count("| builtin | 2 | none | 1.000") == 2
    assert printed.count("| always nonfactual | – | – |") == 2
    assert "What differs" in printed


def test_what_says_nothing_is_not_asked_about_and_counts_as_factual(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "felm.json"
    path.write_text(json.dumps([segment("Q?", "Let me know if I can help!", True, "Elm.")]), encoding="utf-8")
    for how in ("each", "joined"):
        lines = run(path, capsys, "--k", "1", "--threshold", "--how", how)
        assert line(lines, "builtin", 1)["segment"]["recall_factual"] == 1.0


def test_an_llm_judges_and_is_not_asked_twice(
    data: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    upstream.answer = judge_of(asked)
    llm = ["--config", str(judge_config(tmp_path, upstream)), "--cache", str(tmp_path / "kept")]
    command = ["--checker", "llm", "--k", "1", "2", "--threshold", *llm]
    first = run(data, capsys, *command)
    assert line(first, "llm", 2)["segment"]["f1"] == 1.0
    counts = line(first, "llm", 2)["llm"]
    assert counts["calls"] == len(asked) == len(upstream.requests)
    assert (counts["failed"], counts["cost"]) == (0, None)
    second = run(data, capsys, *command)
    assert len(asked) == counts["calls"]
    assert line(second, "llm", 2)["llm"]["calls"] == 0
    assert line(second, "llm", 2)["segment"] == line(first, "llm", 2)["segment"]


def test_one_that_stopped_in_the_middle_goes_on_there(
    data: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    answer = judge_of(asked)
    upstream.answer = lambda body: answer(body) if len(asked) < 2 else Status(401)
    llm = ["--config", str(judge_config(tmp_path, upstream)), "--cache", str(tmp_path / "kept")]
    command = ["--checker", "llm", "--k", "2", "--threshold", "--concurrency", "1", *llm]
    assert main(["felm", "--data", str(data), *QUICK, *command]) == 2
    assert "the checker's model is not available" in capsys.readouterr().err
    assert len(asked) == 2
    upstream.answer = answer
    done = line(run(data, capsys, *command), "llm", 2)
    assert done["llm"]["cached"] >= 2
    assert done["llm"]["calls"] == len(asked) - 2
    assert done["segment"]["f1"] == 1.0


def test_one_that_was_interrupted_goes_on_there(
    data: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    hanging = threading.Event()
    answer = judge_of(asked)

    def some(body: dict[str, Any]) -> Answer:
        if len(asked) < 2:
            return answer(body)
        hanging.set()
        return Hang()

    upstream.answer = some
    llm = ["--config", str(judge_config(tmp_path, upstream)), "--cache", str(tmp_path / "kept")]
    command = ["--checker", "llm", "--k", "2", "--threshold", "--concurrency", "1", *llm]
    running = subprocess.Popen(
        [sys.executable, "-m", "evaluation", "felm", "--data", str(data), *QUICK, *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert hanging.wait(100)
        running.send_signal(signal.SIGINT)
        output, error = running.communicate(timeout=60)
    finally:
        running.kill()
    assert (running.returncode, output) == (130, "")
    assert "Traceback" not in error
    upstream.answer = answer
    counts = line(run(data, capsys, *command), "llm", 2)["llm"]
    assert counts["cached"] >= 2
    assert counts["calls"] == len(asked) - 2


def test_malformed_answers_are_counted_and_never_borne_out(
    data: Path, tmp_path: Path, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.answer = lambda _: "Well, it depends: Entailment or Neutral?"
    llm = ["--config", str(judge_config(tmp_path, upstream)), "--cache", str(tmp_path / "kept")]
    command = ["--checker", "llm", "--k", "2", "--threshold", *llm]
    done = line(run(data, capsys, *command), "llm", 2)
    assert done["unverified"] == 4
    assert done["segment"]["recall_factual"] == 0.0
    assert main(["felm", "--data", str(data), *QUICK, *command]) == 0
    printed = capsys.readouterr().out
    assert "The checker failed on 4 of the 4 checks" in printed
    assert "at a price that litellm does not know" in printed or "0 calls" in printed


def test_the_first_passage_stays_however_low_its_score(data: Path) -> None:
    evidence = read_felm(data)[0].segments[0].evidence
    assert Selection(2).of(evidence) == evidence
    assert Selection(2, 0.95).of(evidence) == evidence[:1]
    assert Selection(2, 0.7).of(evidence) == evidence[:1]  # 0.7 is not over 0.7
    assert Selection(2, 0.5).of(evidence) == evidence


def test_figures_without_a_class_are_nan() -> None:
    right = [np.array([False, False])]
    found = figures(counted(right, right), np.arange(1))
    assert found["segment.recall_factual"] == 1.0
    assert all(math.isnan(found[f"segment.{name}"]) for name in ("f1", "precision", "recall_nonfactual"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "is empty"),
        ("{", "Invalid JSON"),
        (json.dumps([{**rows()[0], "tag": "maybe"}]), "0.tag"),
        (json.dumps([{**rows()[0], "ress": {"res": [], "dis": [], "tag": []}}]), "as long as each other"),
    ],
)
def test_what_is_no_felm_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, said: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    assert main(["felm", "--data", str(path)]) == 2
    assert said in (printed := capsys.readouterr().err)
    assert str(path) in printed
    assert main(["felm", "--data", str(tmp_path / "absent.json")]) == 2
    assert "absent.json can't be read" in capsys.readouterr().err


@pytest.mark.skipif(not DATA.is_file(), reason="the data folder is not beside the repository")
def test_cegs_file_is_read_whole() -> None:
    responses = read_felm(DATA)
    segments = [segment for response in responses for segment in response.segments]
    assert (len(responses), len(segments)) == (184, 532)
    assert sum(not segment.factual for segment in segments) == 147
    assert all(len(segment.evidence) == 10 for segment in segments)
    assert len(read_felm(DATA, 3)) == 3


@pytest.mark.parametrize("threshold", ["nan", "inf", "-inf", "high"])
def test_a_threshold_that_is_no_finite_number_is_refused(
    threshold: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["felm", "--data", str(data), f"--threshold={threshold}"])
    assert ended.value.code == 2
    assert f"{threshold!r} is not a finite number" in capsys.readouterr().err


def test_a_segment_that_names_nothing_has_its_own_passages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The proxy searches for it twice: alone, and behind what its paragraph begins with."""
    texts = (town("Elm", 20), "Construction took nine years.", town("Fir", 30))
    path = tmp_path / "felm.json"
    path.write_text(json.dumps([segment("Towns?", text, True, text) for text in texts]), encoding="utf-8")
    found = line(run(path, capsys, "--k", "1"), "builtin", 1)
    assert (found["unverified"], found["segment"]["recall_factual"]) == (0, 1.0)
