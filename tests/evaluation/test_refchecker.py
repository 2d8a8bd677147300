"""`python -m evaluation refchecker`: people's labels by every rule, and a checker beside them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evaluation.__main__ import main
from evaluation.refchecker.data import Asked, Context, Response, asked, checked, copy_rate, read_responses
from evaluation.refchecker.figures import rate, score
from proxy.types import Triplet, Verdict
from tests.evaluation.files import write_lines

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "papers" / "refchecker"
QUICK = ["--resamples", "20", "--json"]
YES, NO, NONE, FAILED = Verdict.SUPPORTED, Verdict.CONTRADICTED, Verdict.UNSUPPORTED, Verdict.UNVERIFIED
LABELS = {YES: "Entailment", NO: "Contradiction", NONE: "Neutral"}


def response(name: str, *human: Verdict, model: str = "m", setting: Any = "noisy") -> Response:
    claims = tuple(Triplet("The mill", "has", f"{number} wheels") for number in range(len(human)))
    return Response(setting, name, model, "The mill has wheels.", claims, human)


def context(name: str, *passages: str, setting: Any = "noisy") -> Context:
    return Context(setting=setting, id=name, passages=passages or ("The mill has 0 wheels.",))


def judged(*pairs: tuple[Response, tuple[Verdict, ...]]) -> Any:
    """The responses with these verdicts, each claim held against one passage."""
    questions = [Asked(one, context(one.id)) for one, _ in pairs]
    return checked(questions, [verdict for _, verdicts in pairs for verdict in verdicts])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models in the noisy context; the second abstains once."""
    claims = [
        {"triplet": ["The town of Elm", "has", "24 mills"], "human_label": "Entailment"},
        {"triplet": ["The town of Elm", "has", "324 mills"], "human_label": "Contradiction"},
    ]
    said = "The town of Elm has 24 mills."
    answers = {
        "one": [{"id": "7", "response": said, "claude2_response_kg": claims}],
        "two": [
            {"id": "7", "response": said, "claude2_response_kg": claims[:1]},
            {"id": "8", "response": "I don't know.", "claude2_response_kg": []},
        ],
    }
    (tmp_path / "noisy_context").mkdir()
    for model, rows in answers.items():
        path = tmp_path / "noisy_context" / f"msmarco_{model}_answers.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
    return tmp_path


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_without_contexts_there_is_what_people_say_and_what_is_missing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["refchecker", "--data", str(folder), *QUICK]) == 0
    one, two, all_ = lines(capsys.readouterr().out)
    assert (one["table"], one["setting"], one["model"], one["claims"]) == ("human", "noisy", "one", 2)
    assert (one["supported"], one["contradicted"], one["scalar"], one["strict"]) == (0.5, 0.5, 0.0, 1.0)
    assert (two["abstained"], two["supported"], two["strict"], two["major"]) == (0.5, 1.0, 0.0, 0.0)
    assert (all_["model"], all_["n"], all_["supported"], all_["strict"]) == ("all", 3, 0.75, 0.5)
    assert main(["refchecker", "--data", str(folder)]) == 0
    assert "Nothing was checked" in capsys.readouterr().out


def test_with_contexts_claims_and_responses_are_checked(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passages = ["Elm lies on a river.", "The town of Elm has 24 mills."]
    row = {"setting": "noisy", "id": "7", "question": "How many mills?", "passages": passages}
    contexts = write_lines(tmp_path / "contexts.jsonl", [row])
    assert main(["refchecker", "--data", str(folder), "--contexts", str(contexts), *QUICK]) == 0
    noisy, all_ = lines(capsys.readouterr().out)[3:]
    assert (noisy["table"], noisy["setting"], noisy["n"], noisy["checked_claims"]) == (
        "checked",
        "noisy",
        2,
        3,
    )
    assert set(noisy["claims"]) == {"accuracy", "macro_f1"}
    assert noisy["claims"]["accuracy"] >= 0.6  # a contradiction may be called unsupported
    assert set(noisy["strict"]) == {"accuracy", "f1_factual", "f1_nonfactual"}
    assert noisy["copy_rate"] == 1.0
    assert all_["setting"] == "all"
    assert main(["refchecker", "--data", str(folder), "--contexts", str(contexts), "--resamples", "5"]) == 0
    printed = capsys.readouterr().out
    assert "2 of 2 responses that claim something have a context" in printed
    assert "| strict: F1, nonfactual | " in printed


def test_a_claim_is_decided_by_its_surest_passage_as_the_paper_orders_verdicts() -> None:
    one = Asked(response("1", YES, NO, NONE, YES), context("1", "a", "b"))
    verdicts = [NO, YES, NONE, NO, NONE, NONE, FAILED, NONE]
    (found,) = checked([one], verdicts)
    assert found.verdicts == (YES, NO, NONE, FAILED)


def test_abstentions_and_responses_without_a_context_are_not_asked_about() -> None:
    rows = [response("1", YES), response("2", YES), response("3"), response("1", YES, setting="zero")]
    (question,) = asked(rows, {("noisy", "1"): context("1"), ("noisy", "3"): context("3")})
    assert question.response is rows[0]
    assert [pair.claim for pair in question.pairs()] == ["The mill has 0 wheels"]


def test_figures_of_claims_and_of_every_rule() -> None:
    rows = judged(
        (response("1", YES, YES), (YES, YES)),
        (response("2", YES, NO), (YES, NONE)),
        (response("3", NONE, NONE, YES), (YES, YES, YES)),
        (response("4", YES, YES, YES, NO), (YES, YES, YES, NO)),
    )
    found = score("noisy", rows, 20)
    assert (found.n, found.claims, found.unverified) == (4, 11, 0)
    figures = found.estimates.figures
    assert figures["claims.accuracy"] == pytest.approx(8 / 11)
    assert figures["claims.macro_f1"] == pytest.approx((14 / 16 + 2 / 3 + 0) / 3)
    assert figures["strict.accuracy"] == 0.5  # the second is unsupported, not contradicted; the third holds
    assert figures["strict.f1_factual"] == pytest.approx(2 / 3)
    assert figures["strict.f1_nonfactual"] == pytest.approx(4 / 5)
    assert figures["major.f1_factual"] == pytest.approx(4 / 5)
    assert 0 < figures["soft.pearson"] < 1
    assert found.estimates.intervals["claims.accuracy"][0] <= figures["claims.accuracy"]


def test_a_failed_check_is_right_for_no_label_and_never_factual() -> None:
    found = score("noisy", judged((response("1", YES), (FAILED,)), (response("2", NO), (NO,))), 5)
    assert found.unverified == 1
    assert found.estimates.figures["claims.accuracy"] == 0.5
    assert found.estimates.figures["strict.f1_factual"] == 0.0
    assert math.isnan(found.estimates.figures["soft.pearson"])  # both count as not supported: nothing varies


def test_equal_shares_share_their_rank() -> None:
    rows = judged(
        (response("1", YES, YES), (YES, YES)),
        (response("2", YES, NO), (YES, YES)),
        (response("3", NO, NO), (NO, YES)),
    )
    figures = score("noisy", rows, 5).estimates.figures
    assert figures["soft.spearman"] == pytest.approx(math.sqrt(3) / 2)


def test_the_copy_rate_is_the_mean_share_of_n_grams() -> None:
    assert copy_rate("the old mill", ["The old mill stands."]) == 1.0
    assert copy_rate("old, the mill", ["the old", "mill"]) == pytest.approx((1 + 0 + 0) / 3)
    assert copy_rate("a b c d e f", ["a b c d e x f"]) == pytest.approx(
        (1 + 4 / 5 + 3 / 4 + 2 / 3 + 1 / 2) / 5
    )
    assert math.isnan(copy_rate("...", ["the old mill"]))
    (zero,) = checked([Asked(response("1", YES, setting="zero"), context("1", setting="zero"))], [YES])
    assert zero.copied is None


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"setting": "noisy", "id": "7", "passages": []}, "passages"),
        ({"setting": "loud", "id": "7", "passages": ["a"]}, "setting"),
        ({"setting": "noisy", "id": "other", "passages": ["a"]}, "none of its contexts"),
    ],
)
def test_contexts_that_can_not_be_used_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, Any], said: str
) -> None:
    contexts = write_lines(tmp_path / "contexts.jsonl", [row])
    assert main(["refchecker", "--data", str(folder), "--contexts", str(contexts), *QUICK]) == 2
    assert said in (printed := capsys.readouterr().err)
    assert str(contexts) in printed


def test_a_context_twice_or_a_broken_response_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"setting": "noisy", "id": "7", "passages": ["a"]}
    contexts = write_lines(tmp_path / "contexts.jsonl", [row, row])
    assert main(["refchecker", "--data", str(folder), "--contexts", str(contexts)]) == 2
    assert "7 has two contexts" in capsys.readouterr().err
    bad = folder / "noisy_context" / "msmarco_bad_answers.json"
    bad.write_text('[{"id": "1", "response": "r", "claude2_response_kg": [{"triplet": ["a", "b"]}]}]')
    assert main(["refchecker", "--data", str(folder)]) == 2
    assert "msmarco_bad_answers.json: 0.claude2_response_kg.0.triplet.2" in capsys.readouterr().err
    bad.write_text('[{"id": "1", "response": "r", "gpt4_response_kg": []}]')
    assert main(["refchecker", "--data", str(folder)]) == 2
    assert "msmarco_bad_answers.json: 0.claude2_response_kg: Field required" in capsys.readouterr().err
    assert main(["refchecker", "--data", str(tmp_path / "absent")]) == 2
    assert "holds no responses" in capsys.readouterr().err


@pytest.mark.skipif(not DATA.is_dir(), reason="the data folder is not beside the repository")
def test_the_public_labels_are_all_read() -> None:
    responses = read_responses(DATA)
    assert (len(responses), sum(len(one.claims) for one in responses)) == (2100, 10_733)
    by_name = {(one.setting, one.model): one for one in rate(responses)}
    assert len(by_name) == 24
    assert by_name["zero", "gpt4"].abstained == 0
    assert by_name["zero", "gpt4"].strict < by_name["zero", "alpaca_7B"].strict
