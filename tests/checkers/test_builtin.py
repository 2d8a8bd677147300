"""The built-in checker, through its one method and with the weights of the package."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.checkers.builtin.builtin_checker import BuiltinChecker
from proxy.checkers.builtin.builtin_weights import load_weights
from proxy.checkers.builtin.nli import Entailment, LazyNLI
from proxy.types import LANGUAGES, Judgement, Page, Pair, Verdict

TOWER = (
    "The Eiffel Tower is a wrought-iron lattice tower on the Champ de Mars in Paris, France. It is named "
    "after the engineer Gustave Eiffel, whose company built the tower from 1887 to 1889. It is 330 metres "
    "tall. The tower received 5,889,000 visitors on 3 May 2022. Some artists did not like the tower at "
    "first. About 20% of the visitors came from three countries."
)
WALL = (
    "长城是中国古代的军事防御工程。明长城东起虎山，西至嘉峪关，全长8851.8公里。"
    "1987年12月，长城被列入世界文化遗产。秦始皇修建了长城，动用了三十万人。"
    "该工程由Apple公司的iPhone 15拍摄。"
)
NOISE = (
    "The river flows north through several valleys before it reaches the lake. Farmers along its banks grow "
    "wheat and barley, and sell most of the harvest at the weekly market. A small railway once linked "
    "both towns. "
)

SUPPORTED = [
    "The Eiffel Tower is a wrought-iron lattice tower on the Champ de Mars in Paris, France.",
    "It is named after the engineer Gustave Eiffel, whose company built the tower from 1887 to 1889.",
    "The Eiffel Tower is 330 metres tall.",
    "The tower received 5889000 visitors on 3 May 2022.",
    "The tower received 5.889 million visitors on May 3rd, 2022.",
    "Some artists did not like the tower at first.",
    "About 20 percent of the visitors came from 3 countries.",
]
SUPPORTED_ZH = [
    "长城是中国古代的军事防御工程。",
    "明长城东起虎山，西至嘉峪关，全长8851.8公里。",
    "1987年12月，长城被列入世界文化遗产。",
    "秦始皇修建了长城，动用了30万人。",
    "该工程由Apple公司的iPhone 15拍摄。",
]
WRONG = [
    "The Eiffel Tower is 300 metres tall.",
    "It is named after the engineer Robert Smith, whose company built the tower from 1887 to 1889.",
    "It is named after the engineer Gustave Eiffel, whose company built the tower from 1887 to 1899.",
    "The tower received 5,889,000 visitors on 3 July 2022.",
    "The tower received 6,889,000 visitors on 3 May 2022.",
    "The Eiffel Tower is not 330 metres tall.",
    "Some artists did like the tower at first.",
    "About 40% of the visitors came from three countries.",
    "The Eiffel Tower is a wrought-iron lattice tower on the Champ de Mars in London, England.",
    "The Eiffel Tower is 330 metres tall and has seventy restaurants run by Alain Ducasse.",
    "Mount Everest is the highest mountain on Earth.",
]
WRONG_ZH = [
    "明长城东起虎山，西至嘉峪关，全长6300公里。",
    "1988年12月，长城被列入世界文化遗产。",
    "汉武帝修建了长城，动用了三十万人。",
    "秦始皇修建了长城，动用了五十万人。",
    "长城是法国古代的军事防御工程。",
    "长城不是中国古代的军事防御工程。",
    "该工程由Google公司的iPhone 15拍摄。",
    "珠穆朗玛峰是世界上最高的山峰。",
]


@pytest.fixture(scope="module")
def checker() -> Iterator[BuiltinChecker]:
    made = BuiltinChecker()
    yield made
    made.close()


@pytest.fixture(scope="module")
def ruled() -> Iterator[BuiltinChecker]:
    """The same without what was learnt of contradictions."""
    weights = load_weights()
    english = weights.languages["en"].model_copy(update={"contradiction": None})
    made = BuiltinChecker(weights.model_copy(update={"languages": {**weights.languages, "en": english}}))
    yield made
    made.close()


async def judge(
    checker: BuiltinChecker, claim: str, evidence: str, context: str = "", question: str = "", title: str = ""
) -> Judgement:
    (judgement,) = await checker.check([Pair(claim, evidence, context, question, title)])
    return judgement


@pytest.mark.parametrize("claim", SUPPORTED)
async def test_what_the_evidence_says_is_supported(checker: BuiltinChecker, claim: str) -> None:
    judgement = await judge(checker, claim, TOWER, title="Eiffel Tower")
    assert judgement.verdict is Verdict.SUPPORTED, judgement
    assert judgement.score > 0.4


@pytest.mark.parametrize("claim", SUPPORTED_ZH)
async def test_what_chinese_evidence_says_is_supported(checker: BuiltinChecker, claim: str) -> None:
    judgement = await judge(checker, claim, WALL, title="长城")
    assert judgement.verdict is Verdict.SUPPORTED, judgement
    assert judgement.score > 0.4


@pytest.mark.parametrize("claim", WRONG)
async def test_a_changed_or_added_detail_is_not_supported(checker: BuiltinChecker, claim: str) -> None:
    judgement = await judge(checker, claim, TOWER, title="Eiffel Tower")
    assert judgement.verdict.nonfactual, judgement
    assert judgement.reason


@pytest.mark.parametrize("claim", WRONG_ZH)
async def test_a_changed_detail_in_chinese_is_not_supported(checker: BuiltinChecker, claim: str) -> None:
    judgement = await judge(checker, claim, WALL, title="长城")
    assert judgement.verdict.nonfactual, judgement
    assert judgement.reason


@pytest.mark.parametrize(
    ("claim", "evidence", "reason"),
    [
        ("It is 300 metres tall.", TOWER, "numbers differ: 300 / 330"),
        ("It is named after the engineer Robert Smith.", TOWER, "names differ: Robert Smith / Gustave"),
        ("Some artists did like the tower at first.", TOWER, "the evidence denies what the claim says"),
        ("1988年12月，长城被列入世界文化遗产。", WALL, "numbers differ: 1988年12月 / 1987年12月"),
    ],
)
async def test_a_detail_that_differs_is_a_contradiction(
    checker: BuiltinChecker, claim: str, evidence: str, reason: str
) -> None:
    judgement = await judge(checker, claim, evidence)
    assert (judgement.verdict, judgement.reason) == (Verdict.CONTRADICTED, reason)


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The company was a failure.", "The company was a great success."),
        ("The city lacks a railway station.", "The city has a railway station and two ports."),
        ("The bridge lacks a footpath.", "The bridge has a footpath and four lanes."),
    ],
)
async def test_the_nli_model_finds_contradictions_that_no_rule_names(
    checker: BuiltinChecker, ruled: BuiltinChecker, claim: str, evidence: str
) -> None:
    judgement = await judge(checker, claim, evidence)
    assert (judgement.verdict, judgement.reason) == (Verdict.CONTRADICTED, "the evidence says otherwise")
    alone = await judge(ruled, claim, evidence)
    assert alone.verdict is Verdict.UNSUPPORTED
    assert (alone.score, alone.quote, alone.missing) == (judgement.score, judgement.quote, judgement.missing)


@pytest.mark.parametrize(
    "claim", ["The tower is run by a bank.", "The tower is a home.", "The tower is a hotel with nine floors."]
)
async def test_what_is_only_not_said_is_no_contradiction(checker: BuiltinChecker, claim: str) -> None:
    assert (await judge(checker, claim, "The tower is a hotel in Vienna.")).verdict is Verdict.UNSUPPORTED


async def test_evidence_about_something_else_contradicts_nothing(checker: BuiltinChecker) -> None:
    said = "The city has a railway station and two ports."
    judgement = await judge(checker, "It lacks a railway station.", said, context="Vienna is old.")
    assert judgement.verdict is Verdict.UNSUPPORTED
    assert judgement.reason == "the evidence is about something else than the claim's subject or question"


async def test_a_detail_the_evidence_is_silent_on_is_no_contradiction(checker: BuiltinChecker) -> None:
    judgement = await judge(checker, "The company built the tower with Marie Curie.", TOWER)
    assert judgement.verdict is Verdict.UNSUPPORTED
    assert judgement.reason == '"Marie Curie" is not in the evidence'


async def test_a_one_word_answer_is_read_with_its_question(checker: BuiltinChecker) -> None:
    question = "What city is the Eiffel Tower in?"
    evidence = "The Eiffel Tower stands in the city of Paris. France has many towers."
    right = await judge(checker, "Paris.", evidence, question=question)
    wrong = await judge(checker, "London.", evidence, question=question)
    elsewhere = await judge(checker, "Paris.", evidence, question="Where was Marie Curie's daughter born?")
    assert right.verdict is Verdict.SUPPORTED
    assert wrong.verdict.nonfactual
    assert elsewhere.verdict.nonfactual


async def test_a_pronoun_stands_for_a_name_of_its_context(checker: BuiltinChecker) -> None:
    claim, evidence = "He was born in San Francisco in 1955.", "Jobs was born in San Francisco in 1955."
    same = await judge(checker, claim, evidence, context="Steve Jobs led Apple.")
    titled = await judge(
        checker, claim, evidence.replace("Jobs", "He"), context="Steve Jobs led Apple.", title="Steve Jobs"
    )
    other = await judge(checker, claim, evidence, context="Bill Gates led Microsoft.")
    assert same.verdict is titled.verdict is Verdict.SUPPORTED
    assert other.verdict is Verdict.UNSUPPORTED


@pytest.mark.parametrize("evidence", ["", "   \n\n ", "…!?", "\u200b"])
async def test_no_evidence_supports_nothing(checker: BuiltinChecker, evidence: str) -> None:
    judgement = await judge(checker, "The tower is tall.", evidence)
    assert (judgement.verdict, judgement.score, judgement.quote) == (Verdict.UNSUPPORTED, 0.0, None)


@pytest.mark.parametrize("claim", ["", "It is.", "…", "的"])
async def test_a_claim_without_words_is_not_supported(checker: BuiltinChecker, claim: str) -> None:
    assert (await judge(checker, claim, TOWER)).verdict is Verdict.UNSUPPORTED


@pytest.mark.parametrize("claim", [*SUPPORTED, *WRONG])
async def test_50_kb_around_the_evidence_change_nothing(checker: BuiltinChecker, claim: str) -> None:
    noise = NOISE * (25_000 // len(NOISE))
    alone = await judge(checker, claim, TOWER, title="Eiffel Tower")
    lost = await judge(checker, claim, f"{noise}\n\n{TOWER}\n\n{noise}", title="Eiffel Tower")
    assert lost.score == pytest.approx(alone.score, abs=0.05)
    assert lost.verdict is alone.verdict


async def test_the_quote_is_the_sentence_that_decided(checker: BuiltinChecker) -> None:
    evidence = f"{NOISE}\n\n{TOWER}\n\n{WALL}"
    english = await judge(checker, "It is 330 metres tall.", evidence)
    chinese = await judge(checker, "1987年12月，长城被列入世界文化遗产。", evidence)
    assert english.quote
    assert evidence[slice(*english.quote)] == "It is 330 metres tall."
    assert chinese.quote
    assert evidence[slice(*chinese.quote)] == "1987年12月，长城被列入世界文化遗产。"


async def test_a_claim_of_10000_words_is_read_whole(checker: BuiltinChecker) -> None:
    evidence = " ".join(f"Station {number} lies in Ward {number * 7} of town." for number in range(1300))
    whole, changed = await checker.check(
        [
            Pair(evidence, evidence),
            Pair(evidence + " It all belongs to Quentin Blackwood of Zanzibar.", evidence),
        ]
    )
    assert whole.verdict is Verdict.SUPPORTED
    assert changed.score < whole.score


@pytest.mark.parametrize(
    "hostile",
    [
        "9" * 200_000,
        "1," * 100_000,
        "a" * 500_000,
        "三" * 200_000,
        "百分之" * 50_000,
        "《" * 100_000,
        "not " * 100_000,
    ],
)
async def test_hostile_text_is_read_to_its_end(checker: BuiltinChecker, hostile: str) -> None:
    judgements = await checker.check([Pair(hostile, TOWER), Pair("It is 330 metres tall.", hostile)])
    assert not any(judgement.verdict is Verdict.SUPPORTED for judgement in judgements)


@settings(deadline=None, max_examples=150)
@given(claim=st.text(max_size=80), evidence=st.text(max_size=200), question=st.text(max_size=30))
def test_any_text_gets_a_judgement(claim: str, evidence: str, question: str) -> None:
    checker = SHARED
    (judgement,) = asyncio.run(checker.check([Pair(claim, evidence, claim, question, question)]))
    assert 0 <= judgement.score <= 1
    if judgement.quote:
        start, end = judgement.quote
        assert 0 <= start < end <= len(evidence)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from([*SUPPORTED, *WRONG, *SUPPORTED_ZH]), max_size=6))
def test_a_batch_gives_what_its_pairs_give_alone(claims: list[str]) -> None:
    pairs = [Pair(claim, f"{TOWER}\n\n{WALL}") for claim in claims]
    together = asyncio.run(SHARED.check(pairs))
    alone = [asyncio.run(SHARED.check([pair]))[0] for pair in pairs]
    # A batch of another shape is summed up in another order, so scores may differ in their last digits.
    assert [one.score for one in together] == pytest.approx([one.score for one in alone], abs=1e-6)
    assert [replace(one, score=0.0) for one in together] == [replace(one, score=0.0) for one in alone]


SHARED = BuiltinChecker()
"""For property tests, which take no fixtures of a narrower scope; its thread ends with the interpreter."""


async def test_the_event_loop_stays_free(checker: BuiltinChecker) -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.005)
            beats += 1

    heart = asyncio.create_task(beat())
    await checker.check([Pair("It is 330 metres tall.", (NOISE + TOWER) * 400)])
    heart.cancel()
    assert beats >= 5


async def test_a_caller_that_goes_away_leaves_nothing_waiting(checker: BuiltinChecker) -> None:
    long = asyncio.create_task(
        checker.check([Pair(claim, (NOISE + TOWER) * 100 + claim) for claim in SUPPORTED * 20])
    )
    await asyncio.sleep(0.05)
    long.cancel()
    await judge(checker, SUPPORTED[0], TOWER)
    assert long.cancelled()


def beside(claim: str, first: str, *others: str) -> Pair:
    """The claim and several passages without titles."""
    return Pair(claim, first, others=tuple(map(Page, others)))


async def test_the_title_of_one_passage_does_not_name_the_subject_of_another(checker: BuiltinChecker) -> None:
    claim = "Marie Curie discovered penicillin in 1928 at St Mary's Hospital."
    curie = Page("She was a physicist and chemist who pioneered research on radioactivity.", "Marie Curie")
    fleming = "The scientist discovered penicillin in 1928 at St Mary's Hospital."
    own, another, together, swapped = await checker.check(
        [
            Pair(claim, fleming, title=curie.title),
            Pair(claim, fleming, title="Alexander Fleming"),
            Pair(claim, curie.text, title=curie.title, others=(Page(fleming, "Alexander Fleming"),)),
            Pair(claim, fleming, title="Alexander Fleming", others=(curie,)),
        ]
    )
    assert own.verdict is Verdict.SUPPORTED
    assert another.verdict is not Verdict.SUPPORTED
    for one in (together, swapped):
        assert one.verdict is another.verdict
        assert one.score == pytest.approx(another.score, abs=1e-3)


async def test_a_passage_that_supports_it_alone_does_so_beside_others_in_its_own_words(
    checker: BuiltinChecker,
) -> None:
    claim, reply = "I am not sure.", "Err...I don't know."
    apology = "If my at-times flippant edit summaries were misconstrued as incivility, then I am sorry, I am."
    alone, among = await checker.check([Pair(claim, reply), beside(claim, apology, reply, NOISE)])
    assert alone.verdict is among.verdict is Verdict.SUPPORTED
    assert among.score == pytest.approx(alone.score, abs=1e-3)


async def test_a_claim_of_very_many_parts_is_only_asked_as_a_whole(checker: BuiltinChecker) -> None:
    claim = "Ada Lovelace was born in London" + " and was praised in Hucknall" * 2_000 + "."
    [judgement] = await checker.check([beside(claim, TOWER, NOISE)])
    assert judgement.verdict is Verdict.UNSUPPORTED


async def test_two_passages_do_not_bear_out_together_what_neither_says(checker: BuiltinChecker) -> None:
    fleming = "Penicillin was discovered by Alexander Fleming in 1928."
    curie = "Marie Curie discovered polonium in 1898."
    claim = "Penicillin was discovered by Marie Curie in 1928."
    (together,) = await checker.check([beside(claim, fleming, curie)])
    assert together.verdict is not Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("长城位于法国。", "八达岭长城位于北京市延庆区，法律保护长城，各国游客都来参观。"),
        ("李白是宋代诗人。", "李白是中国唐代的著名诗人，字太白。"),
        ("Tim Berners-Lee did not invent the Web.", "Tim Berners-Lee proposed the Web in March 1989."),
    ],
)
async def test_a_short_claim_is_not_supported_without_the_word_it_turns_on(
    checker: BuiltinChecker, claim: str, evidence: str
) -> None:
    (judgement,) = await checker.check([Pair(claim, evidence)])
    assert judgement.verdict is not Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "first", "second"),
    [
        (
            "Ada Lovelace was born in London in 1815 and was buried in Hucknall.",
            "Ada Lovelace was born in London in 1815. Her mother was fond of mathematics.",
            "Ada Lovelace was buried in Hucknall beside her father.",
        ),
        (
            "青岛啤酒厂始建于1903年，并位于登州路56号。",
            "青岛啤酒厂始建于1903年。该厂由英德商人合资开办。",
            "青岛啤酒厂位于登州路56号。厂内设有博物馆。",
        ),
    ],
)
async def test_a_claim_whose_parts_two_passages_say_is_supported_by_both(
    checker: BuiltinChecker, claim: str, first: str, second: str
) -> None:
    alone, other, together = await checker.check(
        [Pair(claim, first), Pair(claim, second), beside(claim, first, second)]
    )
    assert alone.verdict is not Verdict.SUPPORTED
    assert other.verdict is not Verdict.SUPPORTED
    assert together.verdict is Verdict.SUPPORTED


async def test_parts_that_one_passage_says_far_apart_count_no_more_beside_another(
    checker: BuiltinChecker,
) -> None:
    claim = "Ada Lovelace was born in London in 1815 and was buried in Hucknall beside her father the poet."
    both = (
        f"Ada Lovelace was born in London in 1815. {NOISE * 20} "
        "Ada Lovelace was buried in Hucknall beside her father the poet."
    )
    alone, among = await checker.check([Pair(claim, both), beside(claim, both, NOISE)])
    assert among.verdict is alone.verdict is Verdict.UNSUPPORTED
    assert among.score == pytest.approx(alone.score, abs=0.05)


async def test_a_place_in_another_passage_bears_nothing_out(checker: BuiltinChecker) -> None:
    claim, evidence = "这首诗出自中国诗人之手。", "这首诗出自一位诗人之手，写于一个冬日的夜晚。"
    alone, among = await checker.check(
        [Pair(claim, evidence), beside(claim, evidence, "中国的长城全长8851.8公里。")]
    )
    assert alone.verdict is not Verdict.SUPPORTED
    assert among.score == pytest.approx(alone.score, abs=0.01)


async def test_two_passages_of_two_subjects_do_not_bear_out_a_claim_of_one(checker: BuiltinChecker) -> None:
    claim = "Ada Lovelace was born in London in 1815 and was buried in Hucknall."
    first = "Ada Lovelace was born in London in 1815. Her mother was fond of mathematics."
    second = "Gustave Eiffel was buried in Hucknall beside his father."
    [together] = await checker.check([beside(claim, first, second)])
    assert together.verdict is not Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Ada Lovelace was buried in Hucknall.", "Gustave Eiffel was buried in Hucknall beside his father."),
        ("The museum was opened by the King of Norway.", "The museum was opened by the King of Sweden."),
        ("The tower was built between 1887 and 1899.", "The tower was built from 1887 to 1889."),
        ("It was sold for 5 million pounds sterling.", "It was sold for $5 million in 2004."),
    ],
)
async def test_a_name_number_or_currency_in_anothers_place_is_not_supported(
    checker: BuiltinChecker, claim: str, evidence: str
) -> None:
    assert (await judge(checker, claim, evidence)).verdict is not Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("It does not produce wine.", "No wine is produced there; it makes beer and cider."),
        ("The town does not have a port.", "The town lacks a port."),
    ],
)
async def test_a_denial_that_the_evidence_bears_out_in_other_words_is_supported(
    checker: BuiltinChecker, claim: str, evidence: str
) -> None:
    assert (await judge(checker, claim, evidence)).verdict is Verdict.SUPPORTED


async def test_what_carries_a_claim_and_what_it_lacks_are_shown(checker: BuiltinChecker) -> None:
    right = await judge(checker, "The Eiffel Tower is 330 metres tall.", TOWER, title="Eiffel Tower")
    claim = "The tower received 5,889,000 visitors on 3 July 2022."
    wrong = await judge(checker, claim, TOWER, title="Eiffel Tower")
    assert "330 metres tall" in [TOWER[start:end] for start, end in right.carrying]
    assert right.missing == ()
    assert "July" in " ".join(claim[start:end] for start, end in wrong.missing)
    assert all(0 <= start < end <= len(claim) for start, end in wrong.missing)


class Failing:
    """An NLI model that fails."""

    version = "failing"

    def entailments(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        raise RuntimeError(f"no memory for {len(pairs)} pairs")


async def test_a_model_that_fails_leaves_what_it_was_asked_unverified() -> None:
    pairs = [Pair("It is 330 metres tall.", TOWER), Pair("长城是中国古代的军事防御工程。", WALL)]
    for failing in LANGUAGES:
        models = {one: Failing() if one == failing else LazyNLI(one) for one in LANGUAGES}
        checker = BuiltinChecker(nli=models)
        told = dict(zip(LANGUAGES, await checker.check(pairs), strict=True))
        checker.close()
        failed = told.pop(failing)
        assert (failed.verdict, failed.score) == (Verdict.UNVERIFIED, 0.0)
        assert "RuntimeError" in failed.reason
        assert [one.verdict for one in told.values()] == [Verdict.SUPPORTED]


async def test_irrelevant_passages_beside_the_evidence_move_nothing(checker: BuiltinChecker) -> None:
    claim = "The Eiffel Tower is 330 metres tall."
    alone = await judge(checker, claim, TOWER)
    for pair in (
        beside(claim, TOWER, *[NOISE] * 20),
        beside(claim, *[NOISE] * 20, TOWER),
        Pair(claim, f"{TOWER}\n\n{NOISE}", title="Eiffel Tower"),
    ):
        [among] = await checker.check([pair])
        assert among.score == pytest.approx(alone.score, abs=0.05)


@pytest.mark.parametrize("gap", ["\n\n", "\n", " "])
@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The Eiffel Tower is 330 metres tall.", "The Eiffel Tower is 330 metres tall."),
        (
            "Yale University's alumni include five presidents.",
            "Yale has graduated many notable alumni, including five U.S. presidents and many heads of state.",
        ),
        (
            "Melancholia's director was Lars von Trier.",
            "Melancholia is a 2011 drama written and directed by Lars von Trier, starring Kirsten Dunst.",
        ),
        ("I guess it is ninety two.", "i think it's ninety two"),
    ],
)
async def test_other_text_before_and_after_an_evidence_of_one_sentence_takes_nothing_from_it(
    checker: BuiltinChecker, claim: str, evidence: str, gap: str
) -> None:
    noise = NOISE.strip()
    alone, *among = await checker.check(
        [
            Pair(claim, evidence),
            *(Pair(claim, gap.join([*before, evidence, noise])) for before in ([], [noise], [noise] * 9)),
        ]
    )
    assert alone.verdict is Verdict.SUPPORTED
    for one in among:
        assert one.verdict is Verdict.SUPPORTED
        assert one.score > alone.score - 0.05


@pytest.mark.parametrize(
    ("claim", "evidence", "beside"),
    [
        (
            "Reign Over Me was released in 2007.",
            "Distributed by Columbia Pictures, the film was released on March 23, 2007.",
            "Dorsey developed a platform to accept card payments on a mobile device, released in May 2010.",
        ),
        (
            "Daggering is associated with the genre of dancehall music.",
            "It is of recent origin, associated with the 2006 wave of dancehall music.",
            "Despite advancements in the visibility of the genre, K-pop was yet to fully establish a Korean"
            " crossover act within the music industry.",
        ),
    ],
)
async def test_a_sentence_with_a_word_of_the_claim_beside_the_evidence_takes_nothing_from_it(
    checker: BuiltinChecker, claim: str, evidence: str, beside: str
) -> None:
    alone, after, before = await checker.check(
        [Pair(claim, evidence), Pair(claim, f"{evidence} {beside}"), Pair(claim, f"{beside} {evidence}")]
    )
    assert alone.verdict is Verdict.SUPPORTED
    assert min(after.score, before.score) > alone.score - 0.05


def test_the_version_tells_weights_and_adapter_apart(checker: BuiltinChecker) -> None:
    for replaced in LANGUAGES:
        models = {one: Failing() if one == replaced else LazyNLI(one) for one in LANGUAGES}
        other = BuiltinChecker(nli=models)
        other.close()
        assert checker.version != other.version
    assert checker.version == BuiltinChecker().version
