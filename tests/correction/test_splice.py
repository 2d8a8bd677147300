"""Rewrites into a draft, failed sentences out of it: the rest stays byte for byte, and is read the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.claims.segment import segment
from proxy.correction.cuts import cuts, headers
from proxy.correction.splice import fitted, spliced, without
from proxy.types import Attempt, Claim, Draft, Usage, Verdict
from tests.correction.failing import attempt_of, finding
from tests.drafts import chinese_replies, drafts, real_replies


def mended(text: str, wrong: str, right: str | None, *, dropping: bool = True) -> str | None:
    """The draft with one sentence rewritten, or dropped; None where nothing changed."""
    attempt = attempt_of(text, [wrong])
    draft = spliced(attempt.draft, attempt.nonfactual, {1: right}, dropping=dropping)
    return draft.text if draft else None


def trimmed(text: str, *wrong: str) -> str:
    attempt = attempt_of(text, wrong)
    left = without(attempt.draft, attempt.nonfactual)
    return left.text if left else text


WRONG, RIGHT = "It was built in 1893.", "It was built in 1889."


@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "The tower is tall. {} Paris  has it.\t\n\n\n*End* of it. \r\n",
        "- The tower is tall.\n- {}\n  - Paris has it.\n",
        "1. The tower. {}\n2. Paris has it.",
        "> The tower is tall.\n> {}\n",
        "Facts **about {} The tower is tall.** So.",
        "```\nIt was built in 1893.\n```\n\n{}\n\n| a | b |\n|---|---|\n| c c | d d |\n",
    ],
)
def test_one_sentence_is_replaced_and_the_rest_stays_byte_for_byte(frame: str) -> None:
    text = frame.format(WRONG)
    wrong = next(claim.text for claim in segment(text) if "1893" in claim.text)
    assert mended(text, wrong, wrong.replace("1893", "1889")) == frame.format(RIGHT)


def test_several_rewrites_go_to_their_numbers_and_a_missing_one_changes_nothing() -> None:
    attempt = attempt_of("A is one. B is two. C is three.", ["A is one.", "B is two.", "C is three."])
    draft = spliced(attempt.draft, attempt.nonfactual, {3: "C is thirty.", 1: "A is ten.", 7: "D is four."})
    assert draft == Draft("A is ten. B is two. C is thirty.", {"index": 0})
    assert spliced(attempt.draft, attempt.nonfactual, {}) is None
    assert spliced(attempt.draft, attempt.nonfactual, {1: "A is one."}) is None


@pytest.mark.parametrize(
    ("text", "wrong", "right"),
    [
        (
            "The tower is 330 metres high. The tower has a lift.",
            "The tower has a lift.",
            "The tower is 330 metres high.",
        ),
        ("It weighs about 7,300 tonnes. It is red.", "It is red.", "It weighs 7300 tonnes."),
        ("塔高330米。塔是红色的。", "塔是红色的。", "这塔高330米。"),
        ("It opened in 1889. It is red.", "It is red.", "It is tall. It opened in 1889."),
    ],
)
def test_a_rewrite_does_not_repeat_another_sentence(text: str, wrong: str, right: str) -> None:
    assert mended(text, wrong, right) is None


def test_a_rewrite_may_say_a_part_of_a_longer_sentence() -> None:
    told = "Gustave Eiffel built the tower in Paris from 1887 to 1889 for the fair of that year."
    text = f"{told} It opened in 1893."
    assert mended(text, "It opened in 1893.", "It was built in 1889.") is not None


def test_two_rewrites_that_say_the_same_are_used_once() -> None:
    attempt = attempt_of("A is one. B is two. C is three.", ["B is two.", "C is three."])
    same = "The river is deep."
    draft = spliced(attempt.draft, attempt.nonfactual, {1: same, 2: same})
    assert draft is not None
    assert draft.text == f"A is one. {same} C is three."


def test_a_text_that_may_not_be_touched_is_not() -> None:
    attempt = attempt_of("A is one. B is two.", ["B is two."])
    fixed = replace(attempt, draft=replace(attempt.draft, editable=False))
    assert spliced(fixed.draft, fixed.nonfactual, {1: "B is ten."}, dropping=True) is None
    assert without(fixed.draft, fixed.nonfactual) is None


def test_a_sentence_is_left_out_only_where_that_is_wanted() -> None:
    text = f"Paris has a tower. {WRONG} Many people visit it."
    assert mended(text, WRONG, None, dropping=False) is None
    assert mended(text, WRONG, None) == "Paris has a tower. Many people visit it."


def test_sentences_may_be_rewritten_and_left_out_together() -> None:
    attempt = attempt_of(
        "A is one. B is two. C is three. D is four.", ["A is one.", "B is two.", "D is four."]
    )
    draft = spliced(
        attempt.draft, attempt.nonfactual, {1: "A is a hundred.", 2: None, 3: None}, dropping=True
    )
    assert draft is not None
    assert draft.text == "A is a hundred. C is three."


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("It was built\nin 1889.", RIGHT),
        ("- It was built in 1889.", RIGHT),
        ("## It was built in 1889.", RIGHT),
        ("> It was built in 1889.", RIGHT),
        ("1. It was built in 1889.", RIGHT),
        ("It was built in 1889", RIGHT),
        ("It was built in 1889. It took two years.", "It was built in 1889. It took two years."),
    ],
)
def test_a_rewrite_is_made_to_fit_its_place(said: str, expected: str) -> None:
    for frame in ("Paris has it. {} Many come.", "- {}\n- Many come.", "{}\nMany come."):
        assert mended(frame.format(WRONG), WRONG, said) == frame.format(expected)


def test_wrapped_chinese_is_joined_without_a_space() -> None:
    assert (
        mended("铁塔建于1893年。它很高。", "铁塔建于1893年。", "铁塔\n建于1889年")
        == "铁塔建于1889年。它很高。"
    )


@pytest.mark.parametrize(
    ("frame", "wrong"),
    [
        ("It is so (see it. {}) and tall.", f"{WRONG})"),
        ("He said “it is so. {}” Many come.", f"{WRONG}”"),
        ("The <b>tower is so. {}</b> Many come.", f"{WRONG}</b>"),
        ("**It is so. {}** Many come.", f"{WRONG}**"),
        ("“{} It is so.” Many come.", f"“{WRONG}"),
        ("<i>{} It is so.</i> Many come.", f"<i>{WRONG}"),
    ],
)
def test_a_rewrite_keeps_the_marks_that_other_sentences_close_or_open(frame: str, wrong: str) -> None:
    text = frame.format(WRONG)
    for said in (RIGHT, wrong.replace(WRONG, RIGHT)):
        assert mended(text, wrong, said) == frame.format(RIGHT)


def test_a_rewrite_gets_no_marks_that_its_sentence_has_in_pairs() -> None:
    for wrong in (f"“{WRONG}”", "It (the tower) was **built** in 1893.", "It’s of 1893, the dogs’ year."):
        assert mended(f"Paris has it. {wrong} So it is.", wrong, RIGHT) == f"Paris has it. {RIGHT} So it is."


@pytest.mark.parametrize(
    "said",
    [
        "它建于1889年。",
        "It was built in 1889. " * 40,
        "It was built in 1889, see https://evil.example/?q=secret.",
        "It was built in 1889 ![x](https://evil.example/pixel).",
        "It was [built](javascript:alert) in 1889.",
        "It was built in 1889.<img src=x onerror=alert(1)>",
        "As [1] says, it was built in 1889.",
        "According to the documents, it was built in 1889.",
        "The document does not mention when it was built.",
        "I apologize for the mistake: it was built in 1889.",
        "The corrected sentence, on one line.",
        "When was it built?",
        "I don't know when it was built.",
        "***",
        "~~~",
        "<!-- It was built in 1889.",
    ],
)
def test_a_rewrite_that_does_not_fit_is_not_made(said: str) -> None:
    assert mended(f"Paris has a tower. {WRONG} Many people visit it.", WRONG, said) is None
    assert mended(f"Paris has a tower.\n\n{WRONG}", WRONG, said) is None


def test_what_the_sentence_itself_has_may_come_back() -> None:
    for text in (
        "According to the documents, it was built in 1893.",
        "It was built in 1893, says [a page](https://a.example/b).",
        "铁塔建于1893年（根据参考文档）。",
    ):
        assert mended(text, text, text.replace("1893", "1889")) == text.replace("1893", "1889")


def test_a_rewrite_that_would_swallow_what_follows_is_not_made_and_others_are() -> None:
    attempt = attempt_of("A is `one`. B is two. C has `three`. D is four.", ["A is `one`.", "B is two."])
    draft = spliced(attempt.draft, attempt.nonfactual, {1: "A is `ten.", 2: "B is twenty."})
    assert draft is not None
    assert draft.text == "A is `one`. B is twenty. C has `three`. D is four."


TABLE = "| City | Built |\n|---|---|\n| Paris | 1893 |\n| Rome | 1700 |\n\nMany people visit it.\n"


@pytest.mark.parametrize("said", ["Paris | 1889", "| Paris | 1889 |", " |Paris | 1889|"])
def test_a_row_of_a_table_keeps_its_cells(said: str) -> None:
    assert (mended(TABLE, "Paris | 1893", said) or "").replace(" ", "") == TABLE.replace(
        "1893", "1889"
    ).replace(" ", "")


@pytest.mark.parametrize("said", ["Paris was built in 1889.", "Paris | 1889 | tall", "Paris | "])
def test_a_row_with_other_cells_is_not_made(said: str) -> None:
    assert mended(TABLE, "Paris | 1893", said) is None


def test_a_sentence_does_not_become_a_row() -> None:
    assert mended(f"{WRONG}\nSo.", WRONG, "| It was built | in 1889. |") is None
    table = TABLE.partition("\nMany")[0]
    assert mended(f"{table}{WRONG}", WRONG, "It was built | in 1889.") is None


@pytest.mark.parametrize(
    ("text", "wrong", "expected"),
    [
        ("One is it. Bad is it. Two is it.", ["Bad is it."], "One is it. Two is it."),
        ("Bad is it. Two is it.", ["Bad is it."], "Two is it."),
        ("One is it. Bad is it.\n", ["Bad is it."], "One is it.\n"),
        ("One is it. Bad is it. Worse is it.\n\nTwo.", ["Bad is it.", "Worse is it."], "One is it.\n\nTwo."),
        ("一是它。二是它。三是它。", ["二是它。"], "一是它。三是它。"),
        ("One is it.\n\nBad is it.\n\nTwo is it.\n", ["Bad is it."], "One is it.\n\nTwo is it.\n"),
        ("One is it.\n\nBad is it.\n", ["Bad is it."], "One is it.\n"),
        ("Bad is it.\n\nOne is it.", ["Bad is it."], "One is it."),
        (
            "One is it.\r\n\r\nBad is it.\r\n\r\nTwo is it.\r\n",
            ["Bad is it."],
            "One is it.\r\n\r\nTwo is it.\r\n",
        ),
        (
            "One is it.\n\nBad is it. Worse is it.\n\nVile is it.\n",
            ["Bad is it.", "Worse is it.", "Vile is it."],
            "One is it.\n",
        ),
        ("# Head\nBad is it.\n\nOne is it.", ["Bad is it."], "# Head\n\nOne is it."),
        (
            "Intro:\n- One is it.\n- Bad is it.\n- Two is it.\n",
            ["Bad is it."],
            "Intro:\n- One is it.\n- Two is it.\n",
        ),
        ("- One is it.\n\n- Bad is it.\n\n- Two is it.", ["Bad is it."], "- One is it.\n\n- Two is it."),
        ("- One is it.\n- Bad is it.", ["Bad is it."], "- One is it."),
        ("1. One is it.\n2. Bad is it. So it is.\n", ["Bad is it."], "1. One is it.\n2. So it is.\n"),
        ("- One is it.\n  - Bad is it.\n- Two is it.", ["Bad is it."], "- One is it.\n- Two is it."),
        ("- [x] Bad is it.\n- [ ] One is it.", ["Bad is it."], "- [ ] One is it."),
        (
            "> One is it.\n>\n> Bad is it.\n>\n> Two is it.\n",
            ["Bad is it."],
            "> One is it.\n>\n> Two is it.\n",
        ),
        ("> Bad is it.\n> One is it.\n", ["Bad is it."], "> One is it.\n"),
        ("One is it.  \nBad is it.  \nTwo is it.", ["Bad is it."], "One is it.  \nTwo is it."),
        ("- Bad is it.\n  One is it.", ["Bad is it."], "- One is it."),
        (TABLE, ["Paris | 1893"], TABLE.replace("| Paris | 1893 |\n", "")),
        (TABLE, ["Paris | 1893", "Rome | 1700"], "Many people visit it.\n"),
        (
            f"It is so.\n\n{TABLE}",
            ["Paris | 1893", "Rome | 1700"],
            "It is so.\n\nMany people visit it.\n",
        ),
        (
            "One is it.\n\n> | City | Built |\n> |---|---|\n> | Paris | 1893 |\n",
            ["Paris | 1893"],
            "One is it.\n",
        ),
        ("**Bad is it. One is it.**", ["**Bad is it."], "**One is it.**"),
        ("**One is it. Bad is it.** Two is it.", ["Bad is it.**"], "**One is it.** Two is it."),
        ("One is it. **Bad is it.** Two is it.", ["**Bad is it.**"], "One is it. Two is it."),
        ("**Bad is it.**\n\nOne is it.", ["**Bad is it.**"], "One is it."),
        ("“Bad is it. One is it.” So.", ["“Bad is it."], "“One is it.” So."),
        ('He said: "One is it. Bad is it."', ['Bad is it."'], 'He said: "One is it."'),
        ("One is (two is it. Bad is it.) and so.", ["Bad is it.)"], "One is (two is it.) and so."),
        ("One <b>is it. Bad is it.</b> Two is it.", ["Bad is it.</b>"], "One <b>is it.</b> Two is it."),
        ("The <b>bad is it. One is it.</b> So.", ["The <b>bad is it."], "<b>One is it.</b> So."),
        ("> He said “bad is it.\n> One is it.”", ["He said “bad is it."], "> “One is it.”"),
        ("**One is it.\nBad is it.**\nTwo is it.", ["Bad is it.**"], "**One is it.**\nTwo is it."),
    ],
)
def test_a_sentence_takes_with_it_what_it_leaves_empty(text: str, wrong: list[str], expected: str) -> None:
    assert trimmed(text, *wrong) == expected


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("- Bad is it.\n  - One is it.\n- Two is it.", "Bad is it."),
        ("- Bad is it.\n\n  One is it.", "Bad is it."),
        ("One is it.\n\nBad is it.\n---\nTwo is it.", "Bad is it."),
        ("# Bad is it\n\nOne is it.", "Bad is it"),
        ("Only bad is it.", "Only bad is it."),
        ("Hello!\n\nOnly bad is it.", "Only bad is it."),
        ("| Bad | it |\n|---|---|\n| One | it |", "Bad | it"),
    ],
)
def test_a_sentence_stays_where_the_rest_would_be_read_otherwise_or_say_nothing(
    text: str, wrong: str
) -> None:
    attempt = attempt_of(text, [wrong])
    assert without(attempt.draft, attempt.nonfactual) is None


def test_an_item_goes_together_with_those_nested_under_it() -> None:
    text = "- Bad is it.\n  - Worse is it.\n- Two is it."
    assert trimmed(text, "Bad is it.", "Worse is it.") == "- Two is it."


def test_what_can_not_go_does_not_keep_the_others() -> None:
    assert trimmed("# Bad\n\nOne is it. Worse is it.", "Bad", "Worse is it.") == "# Bad\n\nOne is it."


def test_nothing_failed_and_nothing_changes() -> None:
    assert without(attempt_of("One is it.", []).draft, ()) is None


SHARED = '*_~"“”‘’「」『』《》（）()[]'
"""Marks that a sentence may share with one that goes, and then has alone."""


def failing(text: str, chosen: Callable[[Claim], bool]) -> Attempt:
    verdicts = {True: Verdict.UNSUPPORTED, False: Verdict.SUPPORTED}
    findings = tuple(finding(claim, verdicts[chosen(claim)]) for claim in segment(text))
    return Attempt(Draft(text, {}), Usage(), findings)


def check_rewritten(text: str, chosen: Callable[[Claim], bool], said: Callable[[Claim], str]) -> None:
    """Untouched claims come out exactly as they went in, and so does every byte between the touched."""
    attempt = failing(text, chosen)
    failed = attempt.nonfactual
    draft = spliced(attempt.draft, failed, {n: said(one.claim) for n, one in enumerate(failed, 1)})
    if draft is None:
        return
    kept = [one.claim for one in attempt.findings if one not in failed]
    left = iter([(one.text, one.plain, one.checkable) for one in segment(draft.text)])
    assert all((one.text, one.plain, one.checkable) in left for one in kept), (text, draft.text)
    starts = [0, *(one.claim.end for one in failed)]
    ends = [*(one.claim.start for one in failed), len(text)]
    pieces = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    assert draft.text.startswith(pieces[0])
    assert draft.text.endswith(pieces[-1])
    position = 0
    for piece in pieces:
        position = draft.text.index(piece, position) + len(piece)


def check_dropped(text: str, chosen: Callable[[Claim], bool]) -> None:
    """What is left is read as before, and nothing that held is gone."""
    attempt = failing(text, chosen)
    failed = attempt.nonfactual
    draft = without(attempt.draft, failed)
    if draft is None:
        return
    claims = segment(draft.text)
    assert any(claim.checkable for claim in claims)
    left = [claim.plain.strip(SHARED) for claim in claims]
    before = iter([one.claim.plain.strip(SHARED) for one in attempt.findings])
    assert all(plain in before for plain in left), "no claim is new or moved"
    staying = iter(left)
    emptied = headers(text, [one.claim for one in failed])
    assert all(
        one.claim.plain.strip(SHARED) in staying
        for one in attempt.findings
        if one not in failed and (one.claim.start, one.claim.end) not in emptied
    )
    characters = iter(text)
    assert all(char in characters for char in draft.text), "nothing is added or moved"


REWRITES = st.sampled_from(
    [
        "It is 330 metres high.",
        "**It is so.",
        "a | b",
        "| a |",
        "`",
        "```",
        "- It is.",
        "[a](b",
        "$x",
        "…",
        "> <b>",
    ]
)


@given(drafts(), st.integers(0, 2**16), REWRITES)
@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
def test_generated_drafts_are_spliced_without_a_trace_elsewhere(text: str, seed: int, said: str) -> None:
    def chosen(claim: Claim) -> bool:
        return bool((seed >> (claim.start % 16)) & 1)

    check_rewritten(text, chosen, lambda _: said)
    check_dropped(text, chosen)


def test_real_replies_are_spliced_without_a_trace_elsewhere() -> None:
    for number, text in enumerate(real_replies()[::3] + chinese_replies()[::9]):

        def chosen(claim: Claim, number: int = number) -> bool:
            return (claim.start + number) % 3 == 0

        check_rewritten(text, chosen, lambda claim: f"Truly, {claim.text}")
        check_dropped(text, chosen)


def test_nearly_every_sentence_of_a_real_reply_can_be_taken_out() -> None:
    texts = real_replies()[::2]
    claims = [(text, claim) for text in texts for claim in segment(text)[:4] if claim.checkable]
    stay = [claim.text for text, claim in claims if not cuts(text, [claim])]
    assert len(claims) > 300
    assert len(stay) < len(claims) / 100, stay


def test_a_rewrite_is_fitted_without_change_where_it_fits() -> None:
    claim = Claim(0, len(WRONG), WRONG, WRONG)
    assert fitted(RIGHT, claim) == RIGHT
    assert fitted(" \n ", claim) is None
