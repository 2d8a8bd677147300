from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.citations.cited_numbers import assign, read_citations
from proxy.citations.place import strip_warning
from proxy.claims.incremental import Incremental, Settled
from proxy.claims.segment import segment
from proxy.engine.reply_stream import reader
from proxy.types import Claim
from tests.drafts import DATA, chinese_replies, drafts, real_replies

MARKDOWN = """\
# Rivers of France

The **Seine** rises near *Dijon*. It is 777 km long, e.g. longer than the Thames [1]. “Is it?” Yes (see [2]).
It costs $5. And $10 more, i.e. US$ 15. A line that is wrapped by its author since it is a long one
goes on here. Dr. Smith of the U.S. Navy says 3.14 is π... And so on! Use `x. y` or $x. y$ or \\(a. b\\).

1. **Name.** Rouen lies on it. So does Paris.[3][4]
2. Le Havre
   - nested one. Two
   - nested

     indented text in a list. Of two

         code. In a list
3.北京是首都。上海不是；

> Quoted. Text
> goes on. > here

| River | Length. Of it |
|---|--:|
| Seine. And | **777** [1] |
| Loire | 1006 |
After the table. Text

```python
x = [1]  # not a claim. Not two
print("a. B")
```
~~~~text
``` is not the end. Of it
~~~
~~~~

$$
x = 1. Y
$$

[^1]: A note. It is with text. So it was
[^two]: Another. It is
[a]: http://x.y/z

See [a link. With stops](http://x.y/z_(a)) and <https://x.y/z>. Or https://x.y/z.
End: “Quoted.” Then *it. ends*.
<!-- a comment. Hidden --> <b>Bold. Text</b> and<br>a break. 他说：“很好。”然后走了……真的。
😀 Emoji. 👩‍👩‍👧 End
---
{"a": "One. Two", "b": [1, 2]}
An *open star. And `open code. And [open link. End
"""
HARD = (
    MARKDOWN,
    "Overview\n---\nHoney is old. **Uses**\n\n**Uses**\n\nTea is a use. So is mead\n---\n**Paris**\n",
    "概述\n---\n蜂蜜很甜。\n\n**用途**\n\n可以泡茶。**巴黎**",
    MARKDOWN.replace("\n", "\r\n"),
    "**Bold one. Second one.** Third one. Fourth",
    "**Bold one. Second one. Third one. Fourth",
    "A. Foo | bar\n---|---\nIt is. Two | b\nplain. Text",
    "$$\nOne. Two three. Four\nFive. Six",
    "<think>\nOne. Two three. Four\n</think>\nFive is odd. Six is not. Seven",
    "It is tall\\\nand deep. It is *old*\\\nThree \\\n\nFour is. Five",
    "| | |\n|---|---|\n| `a` |\n"
    + "| Paris is. A capital of France | yes |\n" * 6
    + "| a | b | c |\n\n| a | b | c |\n",
    "It is 330 m. Lakes are 5 kg.🗼 The end.¹ So.<sup>1</sup> So it is.(see it) A [a](http://b.c) is. So",
    "It is tall.长城很长。(见下文)李白写诗。(2)It is.[a](http://b.c) One.🗼 and two.* Three.^1 Four",
    "<ul><li>One is.</li><li>Two is it</li></ul><p>Three is. Four</p> Five",
    "<think>One. Two three. Four</think> Five is odd. Six is not.\n<think>Seven. Eight</think> Nine is. Ten",
    "One is odd. It is so.\n\n**Sources:**\n\n"
    + "".join(f"{n}. https://example.com/a/rather/long/address/of/page-{n}\n" for n in range(1, 15))
    + "\nThat is all. It\n1. Two. Three\n",
    "Read [the guide. It is][2] and [the docs][1]. Then [more. Or][x] go. On [it goes\n\n[1]: https://a.b\n",
    "See [a. b c](http://x.y). Next [1]. Then [2] and [3] more. End [1",
    "```\ncode. Here\n\nnever closed. At all",
    "One is odd.\n\n    code. Here\n\nTwo is even. Three",
    "Pi is 3.\n14 is a number. No. 5 is alive. Fig. 3 too. E.g. this. Mr. X. Y. Smith",
    "甲是乙。“丙是丁。”戊是己！？庚是“辛。”。壬…… 癸。It is. 3. 4",
    "1.\n2. Two.\n3.",
    "",
    "\n\n",
    "word",
)


read = reader("replace", "")
"""As replies are read where nothing is set."""


def read_assigned(raw: str) -> tuple[str, tuple[Claim, ...]]:
    """With the numbers that the upstream cited, and without the signs behind claims."""
    cited = read_citations(raw)
    if "[?]" in raw:
        text = strip_warning(cited.text, "[?]")
        return text, segment(text)
    return cited.text, assign(segment(cited.text), cited)


def pieces(text: str, sizes: Iterator[int]) -> Iterator[str]:
    position = 0
    while position < len(text):
        size = next(sizes)
        yield text[position : position + size]
        position += size


def of_size(size: int) -> Iterator[int]:
    while True:
        yield size


def at_random(seed: int) -> Iterator[int]:
    generator = random.Random(seed)
    while True:
        yield generator.choice([1, 1, 2, 3, 4, 4, 5, 8, 20, 60])


def extends(later: Settled, earlier: Settled) -> bool:
    count = len(earlier.claims)
    return (
        later.text.startswith(earlier.text)
        and later.claims[:count] == earlier.claims
        and all(claim.start >= len(earlier.text) for claim in later.claims[count:])
    )


def check(text: str, sizes: Iterator[int], assigned: bool = False) -> bool:
    """Feeds the text; whether it went on in a way that was not foreseen."""
    whole = read_assigned if assigned else read
    reading, before = Incremental(whole), Settled()
    for piece in pieces(text, sizes):
        settled = reading.feed(piece)
        if settled is not before:
            assert extends(settled, before)
            assert all(settled.text[claim.start : claim.end] == claim.text for claim in settled.claims)
            before = settled
    end = reading.end()
    assert extends(end, before)
    assert reading.parted or end == Settled(*whole(text))
    return reading.parted


def refchecker_replies() -> list[str]:
    folder = DATA / "papers" / "refchecker"
    if not folder.is_dir():
        pytest.skip("RefChecker's responses are not on this machine")
    files = sorted(folder.glob("*/*.json"))
    rows = (row for file in files for row in json.loads(file.read_text("utf-8")))
    return list(dict.fromkeys(row["response"] for row in rows if isinstance(row.get("response"), str)))


def none_parted(replies: Iterable[str], assigned: bool = False) -> None:
    assert [text for at, text in enumerate(replies) if check(text, at_random(at), assigned)] == []


@pytest.mark.parametrize("assigned", [False, True])
def test_real_replies_settle_to_what_the_whole_says(assigned: bool) -> None:
    none_parted(real_replies()[int(assigned) :: 6], assigned)


def test_real_chinese_replies_settle_to_what_the_whole_says() -> None:
    none_parted(chinese_replies()[::8], assigned=True)


def test_replies_of_seven_models_settle_to_what_the_whole_says() -> None:
    none_parted(refchecker_replies()[::16])


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize("text", HARD, ids=range(len(HARD)))
def test_markdown_settles_to_what_the_whole_says(text: str, size: int) -> None:
    assert not check(text, of_size(size), assigned=size == 5)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drafts() | st.text(max_size=80), st.integers(0, 1000))
def test_nothing_settled_is_ever_taken_back(draft: str, seed: int) -> None:
    check(draft, at_random(seed))


def settled_at(text: str, size: int = 4) -> list[int]:
    """After how many pieces each claim was settled; those that only the end settles are left out."""
    reading = Incremental(read)
    found: list[int] = []
    for at, piece in enumerate(pieces(text, of_size(size))):
        found += [at] * (len(reading.feed(piece).claims) - len(found))
    return found


def test_a_sentence_is_settled_once_the_next_one_has_its_first_word() -> None:
    lags = []
    for text in real_replies()[::6]:
        stripped, claims = read(text)
        found = settled_at(text)
        if stripped == text:
            assert len(found) >= len(claims) - 1
            for claim, following, at in zip(claims, claims[1:], found, strict=False):
                word = text[following.start :].split(maxsplit=1)[0]
                lags.append(at - (following.start + len(word)) // 4)
                assert claim.end <= 4 * (at + 1)
    assert sum(lags) / len(lags) <= 1
    assert sorted(lags)[len(lags) * 95 // 100] <= 3


@pytest.mark.parametrize(
    ("written", "settled"),
    [
        ("Paris is big. It", ""),
        ("Paris is big. It ", "Paris is big."),
        ("Paris is big.\n\n", "Paris is big.\n\n"),
        ("He came to the U.S. The ", "He came to the U.S."),
        ("He came to the U.S. navy ", ""),
        ("Pi is 3.14 and ", ""),
        ("It is so [1]. That ", "It is so (1)."),
        ("It is so.[1] That ", "It is so."),
        ("It is so.[1", ""),
        ("**Paris is big. It is ", ""),
        ("**Paris is big. It is** old. So ", "**Paris is big. It is** old."),
        ("Use `x. Foo is ", ""),
        ("See [a. B is ", ""),
        ("| a | b |\n", ""),
        ("| a | b |\n|---|---|\n", "| a | b |\n|---|---|\n"),
        ("$$\nx is it. Y is\n\nZ is that. A ", ""),
        ("巴黎是首都。", ""),
        ("巴黎是首都。它", "巴黎是首都。"),
        ("他说：“是。”它", "他说：“是。”"),
        ("One.\n\n```py\nx = 1\ny", "One.\n\n```py\nx = 1\n"),
        ("It is. One\n```\nx = 1\n```\nIt is so. And ", "It is. One\n```\nx = 1\n```\nIt is so."),
        ("```\nx = 1\n```\nIt is so. And ", "```\nx = 1\n```\nIt is so."),
    ],
)  # fmt: skip
def test_text_leaves_when_nothing_can_change_it(written: str, settled: str) -> None:
    reading = Incremental(read)
    last = Settled()
    for char in written:
        last = reading.feed(char)
    assert last.text == settled


def test_code_streams_by_the_line_and_is_not_read_again() -> None:
    seen: list[int] = []

    def counted(raw: str) -> tuple[str, tuple[Claim, ...]]:
        seen.append(len(raw))
        return read(raw)

    reading = Incremental(counted)
    reading.feed("Here it is:\n\n```py\n")
    first = len(seen)
    for line in range(2000):
        settled = reading.feed(f"x = [{line}]  # It is. So\n")
        assert settled.text.endswith(f"x = [{line}]  # It is. So\n")
    assert len(seen) <= first + 40


def test_much_code_leaves_many_lines_at_once_and_whole() -> None:
    """Each time that a line leaves, the text before it is copied."""
    reading, lengths = Incremental(read), set()
    code = "".join(f"x = [{line}]  # It is. So\n" for line in range(40_000))
    for piece in pieces("Here it is:\n\n```py\n" + code + "```\nIt is so. And that is all.", of_size(25)):
        lengths.add(len(reading.feed(piece).text))
    assert max(lengths) > 0.98 * len(code) > 900_000
    assert sum(lengths) < 100 * len(code) + sum(range(0, 66_000, 25))
    assert reading.end().text.endswith(code + "```\nIt is so. And that is all.")


def test_most_pieces_are_only_kept() -> None:
    """A look may take long, and is then taken in a thread."""
    reading, looks = Incremental(read), 0
    words = pieces("The tower of iron is old, and it stands near the river Seine in Paris. " * 50, of_size(5))
    for word in words:
        if reading.add(word):
            looks += 1
            reading.look()
    assert 49 <= looks <= 110
    assert len(reading.settled.claims) == 49


@pytest.mark.parametrize(
    "text",
    [
        "Paris is the capital of France. " * 400,
        "- Paris is the capital of France\n" * 400,
        "| Paris | It is the capital. Of France |\n" * 300,
        "巴黎是法国的首都。" * 600,
        "**" + "Paris is the capital of France. " * 400,
        "word " * 10_000,
        "a." * 20_000,
        "    code. Of it\n" * 3000,
        "<think>\n" + "Paris is the capital of France.\n\n" * 400,
    ],
    ids=["prose", "list", "table", "Chinese", "bold", "no stops", "no spaces", "indented", "thinking"],
)
def test_what_is_read_again_is_bounded(text: str) -> None:
    seen: list[int] = []

    def counted(raw: str) -> tuple[str, tuple[Claim, ...]]:
        seen.append(len(raw))
        return read(raw)

    reading = Incremental(counted)
    for piece in pieces(text, of_size(40)):
        reading.feed(piece)
    assert sum(seen) <= 200_000 + 60 * len(text)


def test_a_text_that_goes_on_as_nobody_foresaw_keeps_what_was_settled() -> None:
    def fickle(raw: str) -> tuple[str, tuple[Claim, ...]]:
        """Says that all was one claim once a certain word comes."""
        text, claims = read(raw)
        if "abracadabra" in raw:
            return text, (Claim(0, len(text), text, text),)
        return text, claims

    reading = Incremental(fickle)
    before = reading.feed("Paris is big. It is old. So ")
    reading.feed("says abracadabra.")
    end = reading.end()
    assert reading.parted
    assert [claim.text for claim in before.claims] == ["Paris is big.", "It is old."]
    assert extends(end, before)
    assert end.text == "Paris is big. It is old. So says abracadabra."
    assert [end.text[claim.start : claim.end] for claim in end.claims] == [claim.text for claim in end.claims]
