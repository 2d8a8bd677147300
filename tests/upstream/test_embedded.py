"""The upstream without a key: what it answers, the error it plants, how it mends, and its litellm door."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.correction.reprompt import Document, Revision, revision
from proxy.correction.rewrite import Rewriting, Sentence, read_rewrites, rewrite
from proxy.correction.splice import spliced
from proxy.errors import RetrievalError, UpstreamError
from proxy.protocols import LLM
from proxy.types import Attempt, Chat, Claim, Draft, Evidence, Finding, Json, Passage, Usage, Verdict
from proxy.upstream.embedded.composition import corrected, mend
from proxy.upstream.embedded.embedded_llm import DEMO, DESCRIPTIONS, EXTRACTIVE, NOTHING, WELCOME, EmbeddedLLM
from proxy.upstream.embedded.planted_error import plant
from proxy.upstream.embedded.sentence_terms import pieces, sentences, similarity, terms, whole


def document(title: str, *texts: str) -> list[Passage]:
    starts = [sum(map(len, texts[:number])) for number in range(len(texts))]
    return [
        Passage(
            f"{title}-{start}",
            title,
            title,
            "",
            text,
            f"https://example.org/{title}",
            start,
            start + len(text),
        )
        for start, text in zip(starts, texts, strict=True)
    ]


BRIDGE = document(
    "Rialto Bridge",
    "# The bridge\nThe Rialto Bridge is the oldest of the four bridges over the Grand Canal in Venice. It "
    "was finished in 1591 after three years of work. Its stone arch spans 28 metres. Sellers have kept their "
    "shops on the Rialto Bridge for centuries.",
    "The engineer Antonio da Ponte designed the Rialto Bridge. Why did the critics laugh? They expected the "
    "arch of the Rialto Bridge to collapse. and of which the rest | is lost",
)
TOWER = document(
    "Galata Tower (Istanbul)",
    "The Galata Tower is a stone tower in Istanbul. The Galata Tower was built by the Genoese. Visitors "
    "climb the Galata Tower for its view.",
)
LAKE = document(
    "洱海", "洱海是云南省大理市的一个高原湖泊。洱海面积约二百五十平方公里。它的水流入澜沧江。洱海的景色很美。"
)
HILL = document("玉山", "玉山是台湾最高的山峰，海拔3952米。玉山的名字来自山上的白雪。")
CORPUS = [*BRIDGE, *TOWER, *LAKE, *HILL]


class Shelf:
    """A `Retriever` over a few passages: most shared terms first."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = passages

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        return [self._best(terms(query), k) for query in queries]

    def _best(self, wanted: frozenset[str], k: int) -> tuple[Evidence, ...]:
        found = [Evidence(p, similarity(wanted, terms(f"{p.title} {p.text}"))) for p in self.passages]
        return tuple(sorted(found, key=lambda evidence: -evidence.score)[:k])


class Burnt:
    """A `Retriever` whose corpus is gone."""

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        raise RetrievalError("the index is closed")


EXTRACT = EmbeddedLLM(Shelf(CORPUS))
ERRING = EmbeddedLLM(Shelf(CORPUS), plant_error=True)


def asking(*turns: str, **body: object) -> Chat:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": turn} for at, turn in enumerate(turns)]
    return Chat({"messages": messages, **body}, question=turns[-1])


async def answer(llm: LLM, *turns: str) -> str:
    return (await llm.complete(asking(*turns))).drafts[0].text


async def test_an_answer_is_made_of_whole_sentences_of_the_passages_the_best_first() -> None:
    text = await answer(EXTRACT, "Who designed the Rialto Bridge?")
    told = {sentence for passage in BRIDGE for sentence in sentences(passage.text)}
    said = sentences(text)
    assert 3 <= len(said) <= 5
    assert said[0] == "The engineer Antonio da Ponte designed the Rialto Bridge."
    assert set(said) <= told
    assert len(set(said)) == len(said)
    assert not any(scrap in text for scrap in ("#", "|", "Why did", "Galata"))


@pytest.mark.parametrize(
    "question", ["How long does the Rialto Bridge span?", "Tell me about the Rialto Bridge."]
)
async def test_a_sentence_that_leans_follows_the_one_it_leans_on(question: str) -> None:
    said = sentences(await answer(EXTRACT, question))
    order = [s for passage in BRIDGE for s in sentences(passage.text)]
    for before, sentence in zip(["", *said], said, strict=False):
        if sentence.startswith(("It ", "Its ")):
            assert order.index(before) + 1 == order.index(sentence)
        assert not sentence.startswith("They")  # its antecedent is a question, which is never said


async def test_a_chinese_question_is_answered_in_chinese() -> None:
    text = await answer(EXTRACT, "请问洱海在哪里？")
    assert text.startswith("洱海是云南省大理市的一个高原湖泊。")
    assert " " not in text
    assert "玉山" not in text


async def test_a_subject_of_one_chinese_character_is_found() -> None:
    shelf = Shelf([*CORPUS, *document("茶", "中国人喝茶已有数千年的历史。茶树原产于中国西南部。")])
    assert "茶树原产于中国西南部。" in await answer(EmbeddedLLM(shelf), "介绍一下茶")


async def test_a_question_about_two_things_gets_something_of_each() -> None:
    text = await answer(EXTRACT, "Compare the Galata Tower with the Rialto Bridge.")
    assert "Galata Tower" in text
    assert "Rialto Bridge" in text


async def test_a_question_in_a_language_that_the_corpus_lacks_gets_no_foreign_sentences() -> None:
    assert await answer(EmbeddedLLM(Shelf(LAKE)), "What is 洱海, the lake that you know of?") == NOTHING["en"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the boiling point of tungsten?", NOTHING["en"]),
        ("When was it built?", NOTHING["en"]),
        ("量子计算机是谁发明的？", NOTHING["zh"]),
        ("", WELCOME["en"]),
        (" \n", WELCOME["en"]),
        ("Hello!", WELCOME["en"]),
        ("你好！", WELCOME["zh"]),
    ],
)
async def test_what_the_corpus_does_not_hold_is_said_honestly_and_nothing_is_planted_in_it(
    question: str, expected: str
) -> None:
    assert await answer(EXTRACT, question) == expected
    assert await answer(ERRING, question) == expected


async def test_an_empty_corpus_and_no_user_turn_are_answered_too() -> None:
    assert await answer(EmbeddedLLM(Shelf([])), "Who designed the Rialto Bridge?") == NOTHING["en"]
    reply = await EXTRACT.complete(Chat({"messages": [{"role": "system", "content": "Be brief."}]}))
    assert reply.drafts[0].text == WELCOME["en"]
    assert (await EXTRACT.complete(Chat({"messages": []}))).drafts[0].text == WELCOME["en"]


async def test_a_follow_up_is_understood_by_the_question_before() -> None:
    first = await answer(EXTRACT, "Tell me about the Galata Tower.")
    assert "built by the Genoese" in await answer(
        EXTRACT, "Tell me about the Galata Tower.", first, "Who built it?"
    )


async def test_content_in_parts_is_read_and_pictures_are_passed_over() -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": "data:,"}},
        {"type": "text", "text": "Who designed the Rialto Bridge?"},
    ]
    reply = await EXTRACT.complete(Chat({"messages": [{"role": "user", "content": parts}]}))
    assert reply.drafts[0].text == await answer(EXTRACT, "Who designed the Rialto Bridge?")


async def test_a_question_of_five_megabytes_is_answered_in_time() -> None:
    async with asyncio.timeout(10):
        await answer(ERRING, "Rialto Bridge " * 360_000)
        await answer(ERRING, "洱" * 1_600_000)


QUESTIONS = ["Who designed the Rialto Bridge?", "What is the Galata Tower?", "洱海有多大？", "玉山有多高？"]


@pytest.mark.parametrize("question", QUESTIONS)
async def test_the_demo_model_plants_one_error_and_mends_it_when_it_is_re_prompted(question: str) -> None:
    right, wrong = await answer(EXTRACT, question), await answer(ERRING, question)
    planted = [sentence for sentence in sentences(wrong) if sentence not in sentences(right)]
    kept = [sentence for sentence in sentences(right) if sentence in sentences(wrong)]
    assert len(planted) == 1
    assert len(kept) == len(sentences(right)) - 1
    assert wrong == await answer(ERRING, question), "the same question gets the same error"
    assert not any(planted[0] in passage.text for passage in CORPUS)

    evidence = (await Shelf(CORPUS).search(planted, 4))[0]
    asked = revision(asking(question), attempt(wrong, planted[0], *evidence))
    mended = await ERRING.complete(asked)
    assert mended.drafts[0].text == right


def attempt(draft: str, claim: str, *evidence: Evidence) -> Attempt:
    start = draft.index(claim)
    named = Claim(start, start + len(claim), claim, claim)
    return Attempt(Draft(draft, {}), Usage(), (Finding(named, Verdict.CONTRADICTED, evidence=evidence),))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("The arch was finished in 1591.", r"The arch was finished in 1\d{3}\."),
        ("It lies 12,700 metres away.", r"It lies \d{1,2},\d00 metres away\."),
        ("It opened on 14 July 1789.", r"It opened on 14 July 1[78]\d\d\."),
        ("She was born on 4 March.", r"She was born on \d{1,2} March\."),
        ("About 85% of it is water.", r"About \d{1,2}% of it is water\."),
        ("It has seven arches.", r"It has [a-z]+ arches\."),
        ("大桥建于1921年。", r"大桥建于1\d{3}年。"),
        ("大桥建于一九二一年。", r"大桥建于一九.一年。"),
        ("大桥有十个桥墩。", r"大桥有十.个桥墩。"),
        ("全长3.5公里。", r"全长\d\.5公里。"),
    ],
)
def test_a_number_is_changed_to_another_of_its_kind(text: str, same: str) -> None:
    for seed in "abcdefgh":
        wrong = plant(text, evidence=[text], subjects=[], others=["Anything"], seed=seed)
        assert wrong != text
        assert re.fullmatch(same, wrong), wrong


def test_numbers_that_are_parts_of_names_and_codes_are_left_alone() -> None:
    text = "The A380, ISO-8601, v2.0.1 and 3D are names."
    wrong = plant(text, evidence=[text], subjects=[], others=[], seed="s")
    assert wrong.startswith(text)
    assert re.fullmatch(r" The earliest record of it dates from \d{4}\.", wrong.removeprefix(text))


def test_without_a_number_a_name_is_exchanged_for_one_that_does_not_belong_there() -> None:
    text = "The Galata Tower stands in Istanbul."
    wrong = plant(
        text, evidence=[text], subjects=["Galata Tower"], others=["Rialto Bridge", "玉山"], seed="s"
    )
    assert wrong == "The Rialto Bridge stands in Istanbul."
    other = plant("People say that Antonio drew it.", evidence=[], subjects=[], others=["Venice"], seed="s")
    assert other == "People say that Venice drew it."
    chinese = plant(
        "玉山的名字来自白雪。", evidence=[], subjects=["玉山"], others=["洱海", "Venice"], seed="s"
    )
    assert chinese == "洱海的名字来自白雪。"


def test_a_year_stays_on_its_side_of_the_years_around_it() -> None:
    for seed in map(str, range(50)):
        wrong = plant("He lived from 1850 to 1871 there.", evidence=[], subjects=[], others=[], seed=seed)
        born, died = map(int, re.findall(r"\d{4}", wrong))
        assert (born, died) != (1850, 1871)
        assert born < died


@given(
    st.lists(st.sampled_from([str(year) for year in range(1850, 1950)]), max_size=90),
    st.text("abc", min_size=1, max_size=5),
)
@settings(deadline=None, max_examples=100)
def test_the_planted_value_is_never_in_the_evidence(years: list[str], seed: str) -> None:
    text = "The bridge was finished in 1900."
    wrong = plant(text, evidence=[text, *years], subjects=[], others=[], seed=seed)
    assert wrong != text
    assert not set(re.findall(r"\d+", wrong)) & {*years, "1900"} or wrong.startswith(text)


EVIDENCE = (Document("t", "The stone arch spans 28 metres across the canal. Doves nest under it."),)


def test_a_claim_is_mended_by_the_sentence_most_like_it_and_the_rest_stays_byte_for_byte() -> None:
    draft = "- One  thing.\n\nThe stone arch spans 82 metres across the canal.\t *Two*\r\n"
    wrong = "The stone arch spans 82 metres across the canal."
    assert mend(draft, Revision((wrong,), (), EVIDENCE)) == draft.replace("82", "28")


def test_a_claim_that_nothing_resembles_is_dropped() -> None:
    draft = "Bees make honey. Cats rule the internet. Doves nest under it."
    dropped = Revision((), ("Cats rule the internet.",), EVIDENCE)
    assert mend(draft, dropped) == "Bees make honey. Doves nest under it."
    assert mend("Bees make honey. Cats rule the internet.", dropped) == "Bees make honey."
    assert mend("Cats rule the internet.", dropped) == ""


def test_a_claim_is_dropped_where_mending_would_say_a_thing_twice() -> None:
    draft = (
        "The stone arch spans 28 metres across the canal. The stone arch spans 82 metres across the canal."
    )
    wrong = Revision(("The stone arch spans 82 metres across the canal.",), (), EVIDENCE)
    assert mend(draft, wrong) == "The stone arch spans 28 metres across the canal."


def test_claims_that_are_not_in_the_draft_change_nothing() -> None:
    assert mend("Bees make honey.", Revision(("Cats bark.", ""), (), EVIDENCE)) == "Bees make honey."


async def test_a_re_prompt_that_drops_everything_ends_in_the_honest_answer() -> None:
    asked = revision(asking("Who?"), attempt("Cats rule the internet.", "Cats rule the internet."))
    assert (await EXTRACT.complete(asked)).drafts[0].text == NOTHING["en"]


@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=4), st.text(max_size=200))
@settings(deadline=None, max_examples=80)
def test_mending_survives_any_text_and_adds_nothing_but_evidence(
    draft: str, claims: list[str], told: str
) -> None:
    mended = mend(draft, Revision(tuple(claims), (), (Document("", told),)))
    if not any(whole(sentence, "en") or whole(sentence, "zh") for sentence in sentences(told)):
        assert len(mended) <= len(draft)


@pytest.mark.parametrize("question", QUESTIONS)
async def test_the_demo_model_mends_its_error_when_only_the_sentence_is_asked_for(question: str) -> None:
    right, wrong = await answer(EXTRACT, question), await answer(ERRING, question)
    (planted,) = [sentence for sentence in sentences(wrong) if sentence not in sentences(right)]
    failed = attempt(wrong, planted, *(await Shelf(CORPUS).search([planted], 4))[0])
    for model in (ERRING, EXTRACT):
        reply = await model.complete(rewrite(asking(question), failed))
        read = read_rewrites(reply.drafts[0].text, 1)
        assert set(read) == {1}
        mended = spliced(failed.draft, failed.nonfactual, read, dropping=True)
        assert mended is not None
        assert mended.text == right


async def test_a_sentence_that_nothing_resembles_is_answered_with_the_word_to_drop_it() -> None:
    asked = rewrite(asking("Who?"), attempt("Cats rule the internet. Bees fly.", "Cats rule the internet."))
    assert read_rewrites((await EXTRACT.complete(asked)).drafts[0].text, 1) == {1: None}
    chinese = rewrite(asking("谁？"), attempt("猫统治互联网。", "猫统治互联网。"))
    assert (await EXTRACT.complete(chinese)).drafts[0].text == "=== 1\n删除\n=== 结束"


def test_no_two_sentences_are_corrected_to_the_same() -> None:
    wrong = Sentence("The stone arch spans 82 metres across the canal.")
    other = Sentence("The stone arch spans 83 metres across the canal.")
    right = "The stone arch spans 28 metres across the canal."
    assert corrected("", Rewriting((wrong, other), EVIDENCE)) == {1: right, 2: None}
    assert corrected(f"So: {right}", Rewriting((wrong,), EVIDENCE)) == {1: None}


async def test_the_reply_is_a_chat_completion() -> None:
    reply = await EXTRACT.complete(asking("Who designed the Rialto Bridge?", n=2, model="vouch/extractive"))
    raw = reply.raw
    assert raw["object"] == "chat.completion"
    assert raw["id"].startswith("chatcmpl-")
    assert raw["model"] == EXTRACTIVE
    assert [choice["index"] for choice in raw["choices"]] == [0, 1]
    assert {choice["finish_reason"] for choice in raw["choices"]} == {"stop"}
    assert [draft.text for draft in reply.drafts] == [raw["choices"][0]["message"]["content"]] * 2
    usage = raw["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (5, usage["completion_tokens"])
    assert (await ERRING.complete(asking("hi"))).raw["model"] == DEMO


@pytest.mark.parametrize("n", [-1, 17, "2", 1.5])
async def test_a_wrong_n_is_the_clients_error(n: object) -> None:
    with pytest.raises(UpstreamError) as caught:
        await EXTRACT.complete(asking("hi", n=n))
    assert (caught.value.status, caught.value.param) == (400, "n")


async def test_the_stream_adds_up_to_the_reply() -> None:
    chat = asking("Who designed the Rialto Bridge?", n=2, stream=True, stream_options={"include_usage": True})
    chunks = [chunk.raw async for chunk in EXTRACT.stream(chat)]
    whole_reply = await EXTRACT.complete(chat)
    texts = ["", ""]
    finished: list[int] = []
    for chunk in chunks[:-1]:
        (choice,) = chunk["choices"]
        texts[choice["index"]] += choice["delta"].get("content", "")
        finished += [choice["index"]] * (choice["finish_reason"] == "stop")
    assert texts == [draft.text for draft in whole_reply.drafts]
    assert finished == [0, 1]
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert (chunks[-1]["choices"], chunks[-1]["usage"]) == ([], whole_reply.raw["usage"])
    assert len({(chunk["id"], chunk["created"], chunk["model"], chunk["object"]) for chunk in chunks}) == 1
    assert len(chunks) > 10
    plain = [chunk.raw async for chunk in EXTRACT.stream(asking("hi"))]
    assert all(chunk["choices"] and "usage" not in chunk for chunk in plain)


@given(st.text(max_size=300))
@settings(deadline=None, max_examples=100)
def test_pieces_lose_nothing(text: str) -> None:
    assert "".join(pieces(text)) == text


async def test_a_corpus_that_can_not_be_searched_is_an_upstream_error() -> None:
    with pytest.raises(UpstreamError, match="the index is closed"):
        await EmbeddedLLM(Burnt()).complete(asking("Who designed the Rialto Bridge?"))


def test_both_models_say_what_they_are() -> None:
    assert set(DESCRIPTIONS) == {EXTRACTIVE, DEMO}
    assert "planted error" in DESCRIPTIONS[DEMO]


@pytest.fixture
def _registered() -> Iterator[None]:
    litellm = pytest.importorskip("litellm")
    from proxy.upstream.embedded.litellm_provider import register

    before = list(litellm.custom_provider_map)
    register({EXTRACTIVE: EXTRACT, DEMO: ERRING})
    register({EXTRACTIVE: EXTRACT, DEMO: ERRING})
    assert len(litellm.custom_provider_map) == len(before) + 1
    yield
    litellm.custom_provider_map = before


MESSAGES: list[Json] = [{"role": "user", "content": "Who designed the Rialto Bridge?"}]


@pytest.mark.usefixtures("_registered")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:litellm", "ignore:.*:UserWarning:pydantic")
class TestLitellm:
    """The door the models have for users of litellm."""

    async def test_a_reply_comes_through(self) -> None:
        import litellm

        for model, llm in ((EXTRACTIVE, EXTRACT), (DEMO, ERRING)):
            reply = await litellm.acompletion(model=model, messages=MESSAGES)
            expected = await llm.complete(asking("Who designed the Rialto Bridge?"))
            assert reply.choices[0].message.content == expected.drafts[0].text
            assert reply.choices[0].finish_reason == "stop"
            assert reply.usage.completion_tokens == expected.usage.completion_tokens

    async def test_a_stream_comes_through(self) -> None:
        import litellm

        stream = await litellm.acompletion(
            model=DEMO, messages=MESSAGES, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
        text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
        assert text == await answer(ERRING, "Who designed the Rialto Bridge?")
        assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == [
            "stop"
        ]
        assert sum(1 for chunk in chunks if getattr(chunk, "usage", None)) == 1

    async def test_an_unknown_model_is_not_found(self) -> None:
        import litellm

        with pytest.raises(Exception, match="there is no model vouch/other"):
            await litellm.acompletion(model="vouch/other", messages=MESSAGES)
