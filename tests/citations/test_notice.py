"""The line that says that most of a reply failed, and what becomes of it when it comes back."""

from __future__ import annotations

import pytest

from proxy.citations.history import appended, bare, notice, summary
from proxy.claims.segment import segment
from proxy.types import WARNING, Finding, Verdict

VERDICTS = {
    "+": Verdict.SUPPORTED,
    "-": Verdict.UNSUPPORTED,
    "!": Verdict.CONTRADICTED,
    "?": Verdict.UNVERIFIED,
}


def findings(text: str, verdicts: str) -> list[Finding]:
    named = [VERDICTS.get(each, Verdict.NOT_CHECKABLE) for each in verdicts]
    return [Finding(claim, verdict) for claim, verdict in zip(segment(text), named, strict=True)]


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ("+++", ""),
        ("++-", ""),
        ("+--", "2 of 3 statements were not found in the sources."),
        ("+-.", "1 of 2 statements were not found in the sources."),
        ("-!-", "None of these 3 statements was found in the sources."),
        ("-..", "This statement was not found in the sources."),
        ("...", ""),
        ("???", "This reply could not be checked against the sources."),
        ("+??", "2 of 3 statements could not be checked against the sources."),
    ],
)
def test_it_says_how_much_failed(verdicts: str, said: str) -> None:
    text = "One thing is true. Another thing is so. A third one too."
    assert notice(text, findings(text, verdicts)) == said


@pytest.mark.parametrize(
    ("verdicts", "corrected", "dropped", "said"),
    [
        ("+++", 0, 0, "3 of 3 statements found"),
        ("+-?", 0, 0, "1 of 3 statements found · 1 not checked"),
        ("++.", 1, 2, "2 of 4 statements found · 1 corrected · 2 left out"),
        ("...", 0, 1, "0 of 1 statements found · 1 left out"),
        ("...", 1, 0, ""),
    ],
)
def test_a_summary_says_what_was_found_and_what_became_of_the_rest(
    verdicts: str, corrected: int, dropped: int, said: str
) -> None:
    text = "One thing is true. Another thing is so. A third one too."
    assert summary(text, findings(text, verdicts), corrected=corrected, dropped=dropped) == said


@pytest.mark.parametrize(
    ("verdicts", "dropped", "said"),
    [
        ("+++", 1, "1 statement was left out because the sources do not bear it out."),
        ("++-", 6, "6 statements were left out because the sources do not bear them out."),
        (
            "?+?",
            2,
            "2 statements were left out because the sources do not bear them out. "
            "2 of 3 statements could not be checked against the sources.",
        ),
        ("...", 3, ""),
    ],
)
def test_it_counts_what_was_left_out(verdicts: str, dropped: int, said: str) -> None:
    text = "One thing is true. Another thing is so. A third one too."
    given = notice(text, findings(text, verdicts), dropped=dropped)
    assert given == said
    assert bare([text + appended(text, given, WARNING)], [WARNING]) == [text]


def test_it_counts_what_was_left_out_in_chinese() -> None:
    text = "长城很长。黄河很宽。"
    one, six = (notice(text, findings(text, "++"), dropped=count) for count in (1, 6))
    assert (one, six) == ("有 1 句陈述在资料中没有依据，已略去。", "有 6 句陈述在资料中没有依据，已略去。")
    both = notice(text, findings(text, "??"), dropped=1)
    assert both == f"{one}本回答未能对照资料核实。"
    for said in (one, six, both):
        assert bare([text + appended(text, said, WARNING)], [WARNING]) == [text]


def test_it_speaks_the_reply_s_language() -> None:
    text = "长城很长。黄河很宽。"
    assert notice(text, findings(text, "-+")) == "2 句陈述中有 1 句未在资料中找到依据。"
    assert notice(text, findings(text, "??")) == "本回答未能对照资料核实。"


@pytest.mark.parametrize(
    "content", ["One.", "- One\n- Two", "| a |\n|---|\n| b |", "# Title", "> Said", "x\n"]
)
@pytest.mark.parametrize("verdicts", ["-", "?"])
@pytest.mark.parametrize("warning", ["", WARNING, "[?]"])
def test_it_goes_when_the_reply_comes_back(content: str, verdicts: str, warning: str) -> None:
    said = notice("One.", findings("One.", verdicts))
    shown = content + appended(content, said, warning)
    assert shown.startswith(f"{content}\n\n")
    assert bare([shown], [WARNING, "[?]"]) == [content]
    assert bare([f"{shown}\n"], [WARNING, "[?]"]) in ([content], [f"{content}\n"])


def test_it_stays_out_of_code_that_was_cut_off() -> None:
    assert appended("Look:\n\n```py\nx = 1", "This statement was not found in the sources.", WARNING) == ""


def test_what_the_model_says_itself_stays() -> None:
    text = "One.\n\n2 of 3 statements were not found in the sources of the study."
    assert bare([text], [WARNING]) == [text]
