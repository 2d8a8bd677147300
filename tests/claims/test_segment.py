from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from proxy.citations.markers import marks, strip_markers
from proxy.claims.checkable import is_checkable
from proxy.claims.context import rendered
from proxy.claims.json_values import segment_json
from proxy.claims.segment import MAX_CLAIM, segment
from proxy.types import Claim
from tests.drafts import chinese_replies, drafts, real_replies


def marked(draft: str) -> tuple[Claim, ...]:
    """The claims of a draft with markers in it."""
    return segment(draft, (marker for run in marks(draft) for marker in run.each))


def claims(draft: str) -> list[str]:
    return [claim.text for claim in marked(draft)]


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ("Paris.", ["Paris."]),
        ("**Bold one. Second one.** Third", ["**Bold one.", "Second one.**", "Third"]),
        ("He said “Go.” Then *left.*", ["He said “Go.”", "Then *left.*"]),
        ("A [link. text](http://a.b/c_(d)) here. End", ["A [link. text](http://a.b/c_(d)) here.", "End"]),
        ("Use `a. b` and $x. y$ now. End", ["Use `a. b` and $x. y$ now.", "End"]),
        ("It costs $5. And $10.", ["It costs $5.", "And $10."]),
        ("- one\n- *two.* three\n\n1. four", ["one", "*two.*", "three", "four"]),
        ("| A | B |\n|-|-|\n| c. d | **e** |\n| f |  |", ["A | B", "c. d | **e**", "f"]),
        ("| A | B |\n|-|-|\n| c | d | e |\n| f |\n\n| g | h | i |", ["A | B", "c | d", "f", "g | h | i"]),
        ("A | |\n-|-\nc | `d|e`\n| | | f |", ["A", "c | `d", "f"]),
        ("Name: Tom\nAge: 5", ["Name: Tom", "Age: 5"]),
        ("A long line that its author\nwrapped. End", ["A long line that its author\nwrapped.", "End"]),
        ("甲是乙；丙是丁。\n1.戊是己。", ["甲是乙；", "丙是丁。", "戊是己。"]),
        ("See Wikipedia at https://x.y/z. Then go.", ["See Wikipedia at", "Then go."]),
        ("https://x.y/z", []),
        ("Fact.(see note) End. Next", ["Fact.(see note)", "End.", "Next"]),
        ("Fact.<sup>1</sup> End.[a](http://b.c) Next", ["Fact.<sup>1</sup>", "End.[a](http://b.c)", "Next"]),
        ("Node.[js](http://a.b) is.🗼 Next", ["Node.[js](http://a.b) is.🗼", "Next"]),
        ("<ul><li>One is.</li><li class='a'>Two</li></ul><p>Three</p>", ["One is.", "Two", "Three"]),
        ("```\ncode. here\n```\n$$\nx. y\n$$\n---\nText.", ["Text."]),
        ("$x = 1.$\n\n`code`", []),
        ("Fact [1]. Other. [2][3] Third", ["Fact [1].", "Other. [2][3]", "Third"]),
        ("one<br>two", ["one", "two"]),
        ("It is tall\\\nand deep. *It* is *old*\\\nSo", ["It is tall", "and deep.", "*It* is *old*", "So"]),
        ("Three \\", ["Three"]),
        ("`a\\` is code, and so is `b\\`\nNext", ["`a\\` is code, and so is `b\\`", "Next"]),
    ],
)  # fmt: skip
def test_claims_end_where_a_mark_can_stand(draft: str, expected: list[str]) -> None:
    assert claims(draft) == expected


def test_plain_is_what_people_read() -> None:
    draft = "**Bold** and [text](http://x.y) with `code`, $x$, <b>b</b>\nand wrapped [1]. \\*End\\*"
    assert [claim.plain for claim in marked(draft)] == [
        "Bold and text with code, $x$, b and wrapped.",
        "*End*",
    ]
    assert [claim.plain for claim in segment("| A | **b** |\n|-|-|\n| [c](d.e) | f |")] == [
        "A | b",
        "c, b: f",
    ]


@pytest.mark.parametrize(
    ("header", "row", "plain"),
    [
        ("| City | People |", "| Paris | **2 million** |", "Paris, People: 2 million"),
        ("| City | People | Founded |", "| Rome |  | 753 BC |", "Rome, Founded: 753 BC"),
        (
            "| City | People | Founded |",
            "| Rome | 3 million[1] | 753 BC [2] |",
            "Rome, People: 3 million; Founded: 753 BC",
        ),
        ("City | People", "Paris | 2 million", "Paris, People: 2 million"),
        ("| | Paris |", "| People | 2 million |", "People, Paris: 2 million"),
        ("| Property | Value |", "| Height | 330 m |", "Height: 330 m"),
        ("| # | Name | Born |", "| 1 | Ada | 1815 |", "Ada, Born: 1815"),
        ("| City | Founded |", "| Rome | |", "Rome"),
        ("| 城市 | 人口 |", "| 北京 | 2100万 |", "北京, 人口: 2100万"),
        ("| A | B |", "| a \\| b | c |", "a | b, B: c"),
        ("| Setting | Default |", "| The port | `8080` |", "The port, Default: 8080"),
        ("| Setting | Default |", "| `port` | `8080` |", "port, Default: 8080"),
        ("| Shape | Area |", "| circle | $\\pi r^2$ |", "circle, Area: $\\pi r^2$"),
        ("| Name | Shape |", "| input | [64, 128] |", "input, Shape: [64, 128]"),
        ("| Name | Site |", "| Ada | https://ada.org |", "Ada, Site: https://ada.org"),
    ],
)
def test_a_row_is_read_with_its_headings(header: str, row: str, plain: str) -> None:
    ruler = "|".join("-" * (header.strip("|").count("|") + 1))
    draft = f"{header}\n|{ruler}|\n{row}\n\nNo row."
    found = marked(draft)
    assert [(claim.plain, claim.row, claim.checkable) for claim in found[1:]] == [
        (plain, True, True),
        ("No row.", False, True),
    ]
    assert draft[found[1].start : found[1].end] == found[1].text
    assert strip_markers(f"{draft[: found[1].end]}[7]{draft[found[1].end :]}") == strip_markers(draft)


def test_code_that_names_a_value_in_code_is_a_claim() -> None:
    draft = "- `--port`: `8080`\n- **`host`** = `localhost`\n- `a`, `b`\n- `x`\n\n`retries` → `3`"
    assert [claim.plain for claim in segment(draft)] == [
        "--port: 8080",
        "host = localhost",
        "retries → 3",
    ]


def test_a_row_has_its_values_one_by_one() -> None:
    rows = "| People | 2 million | 3 million | many |\n| River | Seine |"
    table = f"| City | Paris | Rome | Value |\n|-|-|-|-|\n{rows}"
    _, people, river = segment(table)
    assert people.values == ("People, Paris: 2 million", "People, Rome: 3 million", "People: many")
    assert river.values == ()
    many = "|".join(map(str, range(10)))
    assert segment(f"|{many}|\n|{'-|' * 10}\n|{many}|")[1].values == ()


def test_a_row_of_one_cell_of_code_says_nothing() -> None:
    assert [claim.plain for claim in segment("| A | B |\n|-|-|\n| `x` | |")] == ["A | B"]


@pytest.mark.parametrize(
    ("draft", "plain"),
    [
        ("The shape is [64, 128].", "The shape is [64, 128]."),
        ("sum([1, 2, 3]) returns 6 [1].", "sum([1, 2, 3]) returns 6."),
        ("The item a[1] is 5.[2]", "The item a[1] is 5."),
        ("According to [1], it is tall.[[1](http://a.b)]", "According to [1], it is tall."),
        ("It is tall.[1](http://a.b)", "It is tall."),
        ("输出结果为[1, 2, 3]。[1]", "输出结果为[1, 2, 3]。"),
        ("As noted[^1] it is tall.", "As noted it is tall."),
    ],
)
def test_numbers_in_brackets_are_read_unless_they_are_a_marker(draft: str, plain: str) -> None:
    runs = marks(draft, known=(1, 2))
    (claim,) = segment(draft, (marker for run in runs for marker in run.each))
    assert claim.plain == plain
    shown = rendered(claim)
    assert shown is None or shown.text == plain


def test_headings_end_with_their_table() -> None:
    rows = segment("| City | People |\n|-|-|\n| Paris | 2 |\n\n| Rome | 3 |\n\nText.\n\n| Oslo | 4 |")
    assert [claim.plain for claim in rows if claim.row] == [
        "City | People",
        "Paris, People: 2",
        "Rome | 3",
        "Oslo | 4",
    ]


@settings(max_examples=120, deadline=None)
@given(drafts() | st.text(max_size=80))
def test_spans_are_exact_ordered_and_disjoint(draft: str) -> None:
    position = 0
    for claim in segment(draft):
        assert position <= claim.start < claim.end
        assert claim.text == draft[claim.start : claim.end] == claim.text.strip()
        assert claim.plain == claim.plain.strip() != ""
        position = claim.end


def test_marks_never_change_how_a_real_reply_renders() -> None:
    render = MarkdownIt("commonmark").enable("table").enable("strikethrough").render
    for reply in real_replies() + chinese_replies():
        draft = strip_markers(reply)
        marked, position = "", 0
        for claim in segment(draft):
            marked += draft[position : claim.end] + "[977]"
            position = claim.end
        assert render(marked + draft[position:]).replace("[977]", "") == render(draft)


NOT_CHECKABLE = """
Sure!|Yes.|No.|Of course.|Hello!|Hi there!|Thank you for your question.|You're welcome!
I hope this helps!|Let me know if you need more.|Feel free to ask.
If you have any questions, please let me know.|Is there anything else?|In my opinion, it is good.
I think Paris is nicer.|As an AI language model, I can't.
I'm sorry, but I don't have that information.|I can't help with that.|I don't know.
However, I cannot confirm it.|Here is a summary:|Here are the main points:
Sure, here are some examples:|Based on the provided documents:|I apologize for the confusion.
Please provide more context.|The tools include:|Key facts:|Step 1:|🎉|你好！|您好，我是AI助手。
希望对你有帮助！|希望以上信息能帮到您。|作为一个AI，我没有感情。|以下是主要内容：|我认为这很好。
抱歉，我无法回答这个问题。|我不知道。|请问您还需要什么？|如果您有其他问题，请随时告诉我。
根据提供的文档，主要原因如下：|好的。|是的。|当然可以！
I think this book is beautiful.|I think so.|I believe in you.|I feel great.|I guess we should go.
I really think it's the best city, and it's lovely.|I think I can help with that.|I love Paris.
In my view, the film was rather boring.|Personally, I prefer tea.|My favourite is the second.
我觉得这本书很美。|我认为应该再读一遍。|在我看来，这座城市很漂亮，也很有趣。|我推荐这本书。|我喜欢它。
It is.|That was it.|So they are.|它是的。
"I can help with that."|“我不能帮你。”|以上就是全部步骤，希望对你有所帮助。|以上内容仅供参考。
"""
CHECKABLE = """
Paris.|42.|Paris is the capital.|Sure, Paris is the capital.
I apologize for the confusion, the capital is Canberra.|Hello Kitty is a character by Sanrio.
Yes, it is the largest.|No, a falcon has feathers.|The Su-57 has three variants:
Note that Paris has 2 million people.|As of 2021, there are 94 reactors.
However, it was built in 1889.|Enjoyment is a noun.|Here, the river bends.
Thank You is an album by Dido.|If water freezes, it expands.|Igneous rock is formed by magma.
巴黎是法国的首都。|巴黎|好的咖啡来自哥伦比亚。|我国有34个省级行政区。|希望小学建于1990年。
请客在中国很常见。|当然，巴黎是首都。
I think that Apollo 11 landed on Mars in 1999.|I believe Paris is the capital of Italy.
I would say the tower is about 400 metres tall.|In my opinion, the war ended in 1950.
I'm sure he won the prize.
I guess the author was Goethe.|As far as I know, it was built by the Romans.|My guess is that it was sold.
I don't think Apollo 11 landed on the Moon.|I'm not sure, but the capital is Sydney.
It seems to me that he died.
I think the book is beautiful and was written by Goethe.|If I recall correctly, Everest is in Peru.
I think it is a great city with 12 million people.|Sure, I think that Rome is in Spain.
我认为阿波罗11号于1999年登陆火星。|我觉得北京是法国的首都。|据我所知，长城建于宋代。
我觉得北京很漂亮，是法国的首都。|在我看来，李白是宋代诗人。|如果我没记错的话，珠穆朗玛峰在秘鲁。
The Who.|No.5 Park|It is 5.
I Will Always Love You was written by Whitney Houston in 1992.|Here Comes the Sun was written by Ringo Starr.
Let's Encrypt was founded in 1987.|Have a Nice Day is an album by Bon Jovi.|You're Welcome is a song of 2016.
As an assistant professor in Zurich, Einstein published 300 papers.|As a laboratory assistant, she found it.
"I Will Always Love You" sold over 20 million copies.|"I Will Survive" – Gloria Gaynor
“我不能没有你”是一首歌。|《请回答1988》讲述了五个家庭的故事。|以上城市中，北京最大。
希望工程于1959年发起，帮助了五亿名儿童重返校园。|祝融号火星车于1999年顺利着陆火星。|作为助手，居里夫人于1950年发现了镭。
"""

TALK_BEFORE_A_FACT = """
I could not find the height, but the Eiffel Tower was built in 1950 in London.
I don't have the exact figure, but the Eiffel Tower stands in London.
I'm not aware of the builder; the Eiffel Tower was built by Napoleon.
Unfortunately, I cannot verify this, but the Eiffel Tower opened in 1950.
I can't help with that, although aspirin is safe for cats.
I'm sorry, I can't say, as it depends on the Walk Off, which was a series of strikes in Australia.
Here is the answer: the Eiffel Tower is 500 metres tall.|Here is the answer: Paris.
I can confirm that the Eiffel Tower was built in London.|I have found that Paris is in Italy.
I need to point out that Paris has 90 million inhabitants.|I want to stress that Rome is in Spain.
I can tell you the Eiffel Tower is in London.|I understand the Eiffel Tower was built by Napoleon.
As an AI language model, I can tell you that the Eiffel Tower is in London.
I'm not able to browse, but I can tell you that car 95 is driven by various drivers.
Thanks for asking, the Eiffel Tower is 500 metres tall.|Let me explain: the tower was built by Napoleon.
Please keep in mind that the Eiffel Tower is 500 metres tall.|I hope this is clear: Rome is in Spain.
If you visit Paris, let me know; the Eiffel Tower is closed.|To answer your question, Rome is in Spain.
Please give the child 500 mg of paracetamol every hour.|I recommend 500 mg of ibuprofen every hour.
Please check the blood pressure every 10 minutes.|Let's begin with Superman, created by two students in 1933.
Based on the provided passages, Johnny Rivers has been married twice:
我没有找到确切资料，不过埃菲尔铁塔高500米，位于伦敦。|我无法确定建造者，但埃菲尔铁塔位于伦敦。
以下是答案：埃菲尔铁塔高500米。|以下是答案：巴黎。|请您注意，该药每日最多可服用十片。|请您每日服用十片。
我可以为您确认：埃菲尔铁塔建于1950年。|我可以告诉您，埃菲尔铁塔位于伦敦。|我将说明：埃菲尔铁塔位于伦敦。
抱歉，埃菲尔铁塔其实建于1950年。|非常遗憾，我查到埃菲尔铁塔高500米。|我建议每小时服用500毫克布洛芬。
如果您想了解，我可以告诉您埃菲尔铁塔高500米。|作为人工智能助手，我可以告诉您埃菲尔铁塔高500米。
抱歉，根据已有信息，氮气和氢气在零下280摄氏度的条件下并不会发生反应。
"""
TALK_AND_NO_FACT = """
I can give you 3 examples.|Here are 5 tips:|I'll walk you through the two options.
Please see section 5 for details.
I could not find that in the documents.|I couldn't find anything about the 2023 elections in the documents.
I can't find the 1990–1995 data.|I don't have that information, but I can help with other questions.
I don't have real-time data, but you can check the official website.
I cannot recommend one, but it is a beautiful city.|I can't help but smile.
As an AI language model, I don't have opinions.|As an AI, I can't tell you that.
Thank you for asking!|Thank you for your patience, and I hope this helps.
Thank you for your patience and support.
I understand that you are frustrated.|I understand your question.|I can tell you more about Paris.
I can help you with that question.|I'd be happy to tell you more about that.|I can confirm that information.
If you have any questions about the 2020 census, feel free to ask.|I recommend reading the book.
My training data ends in September 2021.|Based on the documents, I cannot answer this.
Please provide more context: the name of the song or the artist.|Let me break this down: first, the basics.
Based on the passages, there are a few key points about beets:|Based on the passages, you need to:
我可以为您提供3个例子。|以下是5条建议：|我没有找到相关信息，但我可以帮您查找其他资料。|我在文档中没有找到相关信息。
抱歉，我无法回答这个问题，不过您可以查看官网。|很抱歉给您带来困扰。|抱歉，根据已有信息无法回答您的问题。
请您提供更多信息。|作为人工智能助手，我没有个人观点。|我可以告诉您更多关于巴黎的信息。|感谢您的提问！
我很乐意帮助您解答2023年的问题。|我建议您咨询医生。|根据提供的文档，我无法回答这个问题。|以下是一些例子: 1.
希望这些建议能对你有所帮助，祝你学习顺利！
"""


@pytest.mark.parametrize("plain", NOT_CHECKABLE.strip().replace("\n", "|").split("|"))
def test_talk_is_not_checkable(plain: str) -> None:
    assert not is_checkable(plain)


@pytest.mark.parametrize("plain", CHECKABLE.strip().replace("\n", "|").split("|"))
def test_facts_are_checkable(plain: str) -> None:
    assert is_checkable(plain)


@pytest.mark.parametrize("plain", TALK_BEFORE_A_FACT.strip().replace("\n", "|").split("|"))
def test_a_fact_behind_talk_is_checkable(plain: str) -> None:
    assert is_checkable(plain)


@pytest.mark.parametrize("plain", TALK_AND_NO_FACT.strip().replace("\n", "|").split("|"))
def test_talk_with_a_figure_or_a_second_part_is_still_talk(plain: str) -> None:
    assert not is_checkable(plain)


@pytest.mark.parametrize(
    "heading",
    [
        "## Overview",
        "## 10 reasons to visit Paris",
        "## How the tower was built",
        "## Films made in Paris (1950–1960)",
        "## Things that are left",
        "## 关于我们",
        "**Overview**",
        "__Overview:__",
        "***Design and Construction of the Eiffel Tower***",
        "**Overview**:",
        "Overview:",
        "Some key facts about the tower:",
        "**Step 2: Assembly**",
        "**1. Health benefits**",
        "Overview\n---",
        "Design and construction\n===",
        "> **Overview**\n>",
        "**概述**",
        "**一、建筑特点**",
        "建筑特点：",
        "建筑特点\n---",
    ],
)
def test_what_only_names_the_text_below_is_a_heading(heading: str) -> None:
    gap = "\n" if heading.startswith(">") else "\n\n"
    found = segment(f"{heading}{gap}Honey never spoils.")
    assert [claim.checkable for claim in found] == [False, True]


@pytest.mark.parametrize(
    ("draft", "why"),
    [
        ("**Paris**", "an answer, with nothing below"),
        ("**Paris**\n", "the same"),
        ("**330 metres**\n\nThat is tall.", "a number"),
        ("**Paris is the capital of France**\n\nMore.", "a verb"),
        ("**Gustave Eiffel designed it**\n\nMore.", "a verb"),
        ("**Honey never spoils.**\n\nMore.", "a sentence's end"),
        ("**Height: unknown**\n\nMore.", "a value"),
        ("**Overview**: Honey never spoils.\n\nMore.", "a statement behind it"),
        ("**Overview** of honey\n\nMore.", "only a part is bold"),
        ("- **Paris**\n- **Lyon**", "items of a list"),
        ("Honey contains water\n---\nMore.", "a verb over the ruler"),
        ("Honey never spoils.\n---\nMore.", "a sentence before a ruler"),
        ("**李白是唐代诗人**\n\n他很有名。", "a verb"),
        ("## The Eiffel Tower was built in 1950 in London.\n\nMore.", "a sentence"),
        ("# Paris is the capital of Italy #\n\nMore.", "a sentence without its stop"),
        ("## 埃菲尔铁塔位于伦敦\n\n更多。", "a sentence"),
        ("## 埃菲尔铁塔高500米。\n\n更多。", "a number with what it measures"),
        ("**公元前256年**\n\n都江堰建成。", "a number"),
    ],
)
def test_a_statement_in_bold_or_before_a_ruler_is_checked(draft: str, why: str) -> None:
    assert segment(draft)[0].checkable, why


@pytest.mark.parametrize(
    "draft",
    [
        "## 什么是光合作用",
        "## 为什么天空是蓝色的",
        "## 首都是哪里",
        "## Why it was built.",
        "[^1]: BBC News, 5 May 2020.",
        "[^1]: Will Smith, BBC News.",
        "[^1]: Last accessed 3 June 2020.",
        "[^1]: Retrieved from https://a.b on 5 May 2020.",
        "[^1]: 王小明，《埃菲尔铁塔》，出版于2001年。",
    ],
)
def test_a_question_in_a_heading_and_a_source_in_a_footnote_state_nothing(draft: str) -> None:
    assert not any(claim.checkable for claim in segment(f"{draft}\n"))


def test_a_footnote_is_checked_where_it_is_a_sentence() -> None:
    draft = "Tall.[^1]\n\n[^1]: The tower was built in 1950. It is *old*.\n[^b]: Smith (2020), p. 5\n[^3]: https://a.b"
    note, second, source = segment(draft)[1:]
    assert [note.text, second.text, source.text] == [
        "The tower was built in 1950.",
        "It is *old*.",
        "Smith (2020), p. 5",
    ]
    assert [claim.checkable for claim in (note, second, source)] == [True, True, False]
    for claim in (note, second):
        assert draft[claim.start : claim.end] == claim.text
        marked = f"{draft[: claim.end]} [7]{draft[claim.end :]}"
        assert strip_markers(marked) == strip_markers(draft)


def test_a_fact_after_a_short_lead_keeps_its_own_claim() -> None:
    found = [
        (claim.text, claim.checkable)
        for claim in segment("# Sure\nSure! Paris is the capital. Anything else?")
    ]
    assert found == [
        ("Sure", False),
        ("Sure!", False),
        ("Paris is the capital.", True),
        ("Anything else?", False),
    ]


def test_strings_of_json_are_claims_and_keys_are_not() -> None:
    draft = json.dumps(
        {"capital of x": 'Paris is "big". It\'s 中文 😀 nice.', "n": [{"a": "Rome."}], "u": "https://x.y"}
    )
    assert [(claim.text, claim.plain) for claim in segment_json(draft)] == [
        ('Paris is \\"big\\".', 'Paris is "big".'),
        ("It's \\u4e2d\\u6587 \\ud83d\\ude00 nice.", "It's 中文 😀 nice."),
        ("Rome.", "Rome."),
    ]


def test_numbers_and_booleans_of_json_are_read_with_their_keys() -> None:
    tree = {
        "name": "Everest",
        "height_m": 8849,
        "open": True,
        "owner": None,
        "id": 7,
        "first ascent": {"year": 1953, "climbers": [{"title": "Tenzing Norgay", "age": 39}, {"age": 33.5}]},
        "years": [1924, -2.5e3],
    }
    draft = json.dumps(tree, indent=2)
    found = [claim for claim in segment_json(draft) if not claim.text[0].isupper()]
    assert [(claim.text, claim.plain, claim.checkable) for claim in found] == [
        ("8849", "Everest, height_m: 8849", True),
        ("true", "Everest, open: true", True),
        ("null", "Everest, owner: null", False),
        ("7", "Everest, id: 7", False),
        ("1953", "first ascent, year: 1953", True),
        ("39", "Tenzing Norgay, age: 39", True),
        ("33.5", "climbers, age: 33.5", True),
        ("1924", "Everest, years: 1924", True),
        ("-2500.0", "Everest, years: -2500.0", True),
    ]
    assert all(draft[claim.start : claim.end] == claim.text for claim in found)
    assert [claim.plain for claim in segment_json('{"height_m": 3321}')] == ["height_m: 3321"]
    assert [claim.plain for claim in segment_json('{"a": 1, "a": 2, "b": [3]}')] == ["a: 1", "a: 2", "b: 3"]
    assert not any(claim.checkable for claim in segment_json("[1, 2.5, false]"))


@pytest.mark.parametrize("draft", ["", "Paris.", '"Paris."', '{"a": "b.', "[" * 100_000, "12", "NaN"])
def test_text_that_is_no_json_object_has_no_json_claims(draft: str) -> None:
    assert segment_json(draft) == ()


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=40) | st.lists(st.text(max_size=20), max_size=3)),
    st.booleans(),
)
def test_json_offsets_are_into_the_raw_text(value: dict[str, object], ascii_only: bool) -> None:
    draft, position = json.dumps(value, ensure_ascii=ascii_only), 0
    for claim in segment_json(draft):
        assert position <= claim.start < claim.end
        assert claim.text == draft[claim.start : claim.end]
        assert " ".join(json.loads(f'"{claim.text}"').split()) == claim.plain
        position = claim.end


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("word " * 10_000, "word"),
        ("a few words, " * 4_000, ","),
        ("北京" * 50_000, "京"),
        ("**bold** " * 8_000, "**"),
    ],
)
def test_a_long_sentence_without_a_stop_is_divided(text: str, ends: str) -> None:
    for found, source in (
        (segment(text), text),
        (segment_json(json.dumps([text], ensure_ascii=False)), f'["{text}"]'),
    ):
        assert max(len(claim.plain) for claim in found) <= MAX_CLAIM
        assert len(found) < 2.2 * len(text) / MAX_CLAIM + 2
        assert "".join("".join(claim.text for claim in found).split()) == "".join(text.split())
        assert all(claim.checkable and claim.text == source[claim.start : claim.end] for claim in found)
    assert all(claim.text.endswith(ends) for claim in segment(text))


@pytest.mark.parametrize("solid", ["`{}`", "[{}](http://a.b)", "http://a.b/{}"])
def test_a_long_sentence_is_not_divided_inside_code_or_a_link(solid: str) -> None:
    text = f"See {solid.format('x' * 900)} and " * 20
    for claim in segment(text):
        assert claim.text.count("`") % 2 == 0
        assert claim.text.count("[") == claim.text.count("]")
        assert text[claim.end : claim.end + 1] in ("", " ")


@pytest.mark.parametrize("word", ["QmFzZTY0+/" * 300, "a,b:c;" * 800, "1,642" * 300, "é" * 5_000])
def test_a_long_word_is_never_divided(word: str) -> None:
    text = f"The tower is old, and its key is {word} for now."
    for found in (segment(text), segment_json(json.dumps([text], ensure_ascii=False))):
        assert sum(word in claim.text for claim in found) == 1
        assert not any(claim.checkable and len(claim.plain) > 4_000 for claim in found)


def test_what_is_too_long_and_can_not_be_divided_is_not_checked() -> None:
    row = "| a |\n|-|\n| " + "word " * 10_000 + "| b |"
    code = "Call `" + "x" * 10_000 + "` now."
    assert not any(
        claim.checkable and len(claim.plain) > 4_000 for text in (row, code) for claim in segment(text)
    )


def test_real_replies_have_claims_to_check() -> None:
    replies = real_replies()
    found = [claim for reply in replies for claim in segment(reply)]
    assert sum(claim.checkable for claim in found) > len(replies)


@pytest.mark.parametrize(
    "unit",
    ["[", "[a](", "![", "(", "`", "``a`", "$", "$$ a", "\\[\n", "\\begin{a}\n", "<!--", "<a b ", "*", "_a", "http://(",
     "|\n", "- a\n", "> ", "```\n", "a`b`", "<br>", "“", "。[1]", "a(http://a) ", "If you ",
     "北京", "Passages 1, 2, ", "the passages in ", "文档1、2，", "根据提供的资料", "[1-3, ", '"[1-3, "',
     "word", "word,", " (", "x" * 1001 + " "],
)  # fmt: skip
def test_segmenting_any_repetition_comes_to_an_end(unit: str) -> None:
    text = unit * (200_000 // len(unit))  # in quadratic time it would not, before pytest's time-out
    assert all(text[claim.start : claim.end] == claim.text for claim in segment(text))


@pytest.mark.parametrize(
    "draft",
    [
        "Sources: (1)",
        "来源：(1)、(2)",
        "1. [Eiffel Tower](https://example.com/a)",
        "[More](https://a.b)",
        "See https://en.wikipedia.org/wiki/Eiffel_Tower.",
        "More at www.example.com/a_(b).",
        "Visit <https://example.org>.",
        "The site is https://example.org",
        "(1) Eiffel Tower, https://example.com/eiffel",
        "参见 https://a.b。",
        "> [!NOTE]",
    ],
)
def test_what_only_names_a_source_is_no_fact(draft: str) -> None:
    assert not any(claim.checkable for claim in segment(draft))


@pytest.mark.parametrize(
    "draft",
    [
        "[The Eiffel Tower is 330 metres tall.](https://example.com)",
        "[330 metres](https://example.com)",
        "The Eiffel Tower is 330 metres tall (https://example.com)",
        "- Height: 330 metres, https://example.com",
        "Capital: Paris (https://example.com)",
        "Dodos eat fruit, https://example.com",
        "Sources: 3 million people",
    ],
)
def test_a_fact_beside_the_address_of_its_source_is_one(draft: str) -> None:
    assert [claim.checkable for claim in segment(draft)] == [True]


def test_a_marker_within_a_text_says_nothing() -> None:
    (claim,) = segment("It is old (1)(2).", [(10, 13), (13, 16)])
    assert (claim.text, claim.plain) == ("It is old (1)(2).", "It is old.")
