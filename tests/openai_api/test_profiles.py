"""Each profile's own fields, as its clients look for them, whole and streamed."""

from __future__ import annotations

import html
import re
from typing import get_args
from urllib.parse import quote

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from proxy.errors import RequestError
from proxy.openai_api.profiles import PROFILES, choose_profile, open_webui_fields, split_alias
from proxy.types import Claim, Evidence, Finding, Json, Passage, ProfileName, Verdict
from tests.openai_api.rendered_replies import PASSAGES, Dressed, dressed, rendered

DRAFT = "Paris is the capital of France. It has the Louvre. 巴黎是首都。Who knows?"
CLAIMS = [(0, 31, PASSAGES[:1]), (32, 50, PASSAGES[1:2]), (51, 57, PASSAGES[2:4]), (57, 67, [])]
OPENABLE = [
    "https://a.example/x_%28y%29#:~:text=Paris%20is%20the%20capital%20of%20France.",
    "http://here/v1/references/b",
    f"https://c.example/1#:~:text={quote('巴黎是法国首都。')}",
]
URLS = [*OPENABLE, "https://a.example/x_%28y%29#:~:text=Paris%20lies%20on%20the%20Seine."]


def findings(*cited: tuple[int, int, list[Passage]]) -> list[Finding]:
    return [
        Finding(
            Claim(start, end, DRAFT[start:end], DRAFT[start:end]),
            Verdict.SUPPORTED if passages else Verdict.UNSUPPORTED,
            0.9,
            cited=tuple(Evidence(one, 0.5) for one in passages),
        )
        for start, end, passages in cited
    ]


def show(name: ProfileName, *, sign: str = "", editable: bool = True) -> Dressed:
    return rendered(DRAFT, findings(*CLAIMS), editable, name, sign=sign)


def message(reply: Dressed) -> Json:
    found: Json = reply.whole["choices"][0]["message"]
    return found


@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_is_valid_openai_and_says_the_same_whole_and_streamed(name: ProfileName) -> None:
    reply = show(name)
    ChatCompletion.model_validate(reply.whole | {"model": "m", "created": 1})
    for chunk in reply.chunks:
        ChatCompletionChunk.model_validate(chunk)
        assert len(chunk["choices"]) == 1
    assert "".join(reply.pieces) == reply.content
    assert [chunk["choices"][0]["finish_reason"] for chunk in reply.chunks[:-1]] == [None] * (
        len(reply.chunks) - 1
    )
    last = reply.chunks[-1]
    assert last["choices"][0]["finish_reason"] == "stop"
    for key in ("references", "verification", "citations", "search_results", "sources"):
        assert last.get(key) == reply.whole.get(key)
    assert last["choices"][0]["delta"].get("annotations") == message(reply).get("annotations")
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in reply.chunks}) == 1


def test_openai_is_as_the_reply_comes() -> None:
    reply = show("openai", sign="[?]")
    assert reply.content == (
        "Paris is the capital of France.[1] It has the Louvre.[2] 巴黎是首都。[3][4]Who knows?[?]"
    )
    assert [one["url_citation"]["url"] for one in message(reply)["annotations"]] == URLS
    assert set(reply.whole) == {"id", "created", "object", "choices", "usage", "references", "verification"}


def test_perplexity_lists_urls_and_results_in_the_order_of_the_marks() -> None:
    reply = show("perplexity")
    assert reply.whole["citations"] == URLS
    assert reply.whole["search_results"][2] == {
        "title": "巴黎",
        "url": OPENABLE[2],
        "snippet": "巴黎是法国首都。",
    }
    assert [one["url"] for one in reply.whole["search_results"]] == URLS
    assert "annotations" not in message(reply)
    assert [chunk for chunk in reply.chunks if "citations" in chunk] == reply.chunks[-1:]


def test_a_position_in_perplexity_s_lists_is_always_the_mark_s_number() -> None:
    numbers = {"a.md": 4, "b.md": 2, "c.md": 70_000}
    claims = [*CLAIMS[:2], (51, 57, PASSAGES[2:3])]
    reply = rendered(DRAFT, findings(*claims), True, "perplexity", numbers=numbers)
    assert "France.[4]" in reply.content
    assert "Louvre.[2]" in reply.content
    assert reply.whole["citations"] == ["", OPENABLE[1], "", OPENABLE[0]]
    assert [one["url"] for one in reply.whole["search_results"]] == reply.whole["citations"]


def test_open_webui_gets_an_event_for_each_source_in_the_order_of_the_marks() -> None:
    reply = show("open_webui")
    events = [chunk["event"] for chunk in reply.chunks if "event" in chunk]
    assert [event["type"] for event in events] == ["source"] * 4
    sources = [event["data"] for event in events]
    assert sources == reply.whole["sources"]
    assert sources[0] == {
        "source": {"id": URLS[0], "name": "Paris", "url": URLS[0]},
        "document": ["Paris is the capital of France."],
        "metadata": [{"source": URLS[0], "name": "Paris", "source_url": URLS[0], "external": True}],
        "distances": [0.5],
    }
    assert "annotations" not in reply.chunks[-1]["choices"][0]["delta"]


def open_webui_chips(sources: list[Json]) -> list[str]:
    """What `[1]`, `[2]`, ... resolve to, as `ContentRenderer.svelte` and `Citations.svelte` count: both go
    through every document of every source, the one by name, the other by `metadata.source`."""
    documents = [(source, at) for source in sources for at in range(len(source["document"]))]
    names = dict.fromkeys(source["metadata"][at]["name"] for source, at in documents)
    ids = dict.fromkeys(source["metadata"][at]["source"] for source, at in documents)
    assert len(names) == len(ids)
    return list(ids)


def test_open_webui_s_chips_lead_to_the_right_sources() -> None:
    assert open_webui_chips(show("open_webui").whole["sources"]) == URLS


def test_open_webui_is_not_told_of_the_documents_that_it_sent_itself() -> None:
    reply = rendered(DRAFT, findings((0, 31, PASSAGES[4:])), True, "open_webui", url="urn:document:e")
    assert "sources" not in reply.whole
    assert [chunk for chunk in reply.chunks if "event" in chunk] == []
    assert len(reply.whole["references"]) == 1


def test_markdown_links_its_marks_and_lists_its_sources() -> None:
    reply = show("markdown")
    assert reply.content == (
        f"Paris is the capital of France.[(1)]({URLS[0]}) It has the Louvre.[(2)]({URLS[1]}) "
        f"巴黎是首都。[(3)]({URLS[2]})[(4)]({URLS[3]})Who knows?"
        f"\n\n---\n\n1. [Paris]({URLS[0]})\n"
        f"2. [&#42;The&#42; &#91;Louvre&#93; &#124; &#96;art&#96; &#60;b&#62;]({URLS[1]})\n"
        f"3. [巴黎]({URLS[2]})\n4. [Paris (2)]({URLS[3]})"
    )
    for one in message(reply)["annotations"]:
        citation = one["url_citation"]
        assert citation["url"] in reply.content[citation["start_index"] : citation["end_index"]]
    assert reply.pieces[-1].startswith("\n\n---\n\n")


def test_a_source_that_no_browser_opens_is_listed_without_a_link() -> None:
    reply = rendered(DRAFT, findings((0, 31, PASSAGES[4:])), True, "markdown", url="urn:document:e")
    assert reply.content.endswith("\n\n---\n\n- (1) C:&#92;dir &#36;5 &#38; &#126;x&#126;")


def test_numbers_that_markdown_would_count_otherwise_stand_in_the_list_s_text() -> None:
    numbers = {"a.md": 4, "b.md": 2}
    reply = rendered(DRAFT, findings(*CLAIMS[:2]), True, "markdown", numbers=numbers)
    _, listed = reply.content.split("\n\n---\n\n")
    assert [line[:7] for line in listed.split("\n")] == ["- (2) [", "- (4) ["]
    following = rendered(DRAFT, findings(*CLAIMS[:2]), True, "markdown", numbers={"a.md": 4, "b.md": 3})
    _, listed = following.content.split("\n\n---\n\n")
    assert [line[:4] for line in listed.split("\n")] == ["3. [", "4. ["]


@pytest.mark.parametrize("editable", [True, False])
def test_there_is_no_list_behind_what_has_no_marks(editable: bool) -> None:
    assert rendered(DRAFT, findings(*CLAIMS), editable, "markdown", "none").content == DRAFT
    assert rendered(DRAFT, findings((57, 67, [])), editable, "markdown").content == DRAFT
    assert (show("markdown", editable=editable).content == DRAFT) is not editable


def test_a_title_is_shown_as_it_is() -> None:
    titles = [one.title for one in PASSAGES]
    other = rendered(DRAFT, findings((0, 31, PASSAGES[4:])), True, "markdown")
    listed = show("markdown").footer + other.footer
    shown = re.findall(r"^\d\. \[(.*)\]\(", listed, re.M)
    assert {html.unescape(one).removesuffix(" (2)") for one in shown} == set(titles)


def test_there_is_no_list_in_code_that_was_cut_off() -> None:
    cut = dressed("Paris is big.\n\n```py\nx = 1", "markdown", seed=3)
    assert cut.whole["references"]
    assert cut.footer == ""
    assert dressed("Paris is big.\n\n```py\nx = 1\n```", "markdown", seed=3).footer


def test_none_shows_no_citations_but_what_failed() -> None:
    reply = show("none", sign="[?]")
    assert reply.content == f"{DRAFT}[?]"
    assert "annotations" not in message(reply)
    assert "references" not in reply.whole
    assert [one["verdict"] for one in reply.whole["verification"]["claims"]] == ["supported"] * 3 + [
        "unsupported"
    ]


@pytest.mark.parametrize("name", PROFILES)
def test_annotations_of_the_upstream_s_own_stay(name: ProfileName) -> None:
    theirs = {"type": "url_citation", "url_citation": {"url": "https://their.own", "title": "T"}}
    reply = rendered(DRAFT, findings(*CLAIMS), False, name, annotations=[theirs])
    assert message(reply)["annotations"][0] == theirs
    assert reply.chunks[-1]["choices"][0]["delta"]["annotations"][0] == theirs


def test_each_of_several_choices_has_its_own_footer_and_fields() -> None:
    one, two = (rendered(DRAFT, findings(claim), True, "openai").whole for claim in (CLAIMS[0], CLAIMS[1]))
    several = [
        {**whole["choices"][0], "index": at, "references": whole["references"]}
        for at, whole in enumerate((one, two))
    ]
    shown = PROFILES["perplexity"].whole({**one, "choices": several})
    assert shown["citations"] == shown["choices"][0]["citations"] == [URLS[0]]
    assert shown["choices"][1]["citations"] == [URLS[1]]
    assert "references" not in PROFILES["none"].whole({**one, "choices": several})["choices"][1]


def test_a_profile_leaves_what_it_is_given_as_it_is() -> None:
    before = show("openai").whole
    kept = repr(before)
    for profile in PROFILES.values():
        profile.whole(before)
    assert repr(before) == kept


def test_the_nearest_word_to_the_request_chooses_the_profile() -> None:
    assert choose_profile("none", "markdown", "perplexity") == "none"
    assert choose_profile(None, " markdown ", "perplexity") == "markdown"
    assert choose_profile(None, None, "perplexity") == "perplexity"
    assert choose_profile(None, "", None) is None


def test_a_header_that_names_no_profile_is_refused_by_name() -> None:
    with pytest.raises(RequestError, match=r"x-vouch-profile: .*'markdwon'.*'markdown'") as caught:
        choose_profile(None, "markdwon", None)
    assert caught.value.param == "x-vouch-profile"
    with pytest.raises(RequestError, match="There are openai, perplexity, open_webui, markdown, none"):
        choose_profile(None, "zzz", None)


def test_a_model_s_name_may_end_in_a_profile() -> None:
    assert split_alias("gpt-4o@perplexity") == ("gpt-4o", "perplexity")
    assert split_alias("llama3:8b@open_webui") == ("llama3:8b", "open_webui")
    assert split_alias("claude@20240620") == ("claude@20240620", None)
    assert split_alias("claude@20240620@none") == ("claude@20240620", "none")
    assert split_alias("@cf/meta/llama") == ("@cf/meta/llama", None)
    assert split_alias("@none") == ("@none", None)


def test_there_is_a_profile_for_each_name() -> None:
    assert set(PROFILES) == set(get_args(ProfileName))


@pytest.mark.parametrize(
    ("text", "quote", "shown"),
    [
        ("One. Two is it. Three.", "Two is it.", "One. **Two is it.** Three."),
        ("Two is it.", "Two is it.", "Two is it."),
        ("一。二是它。三。", "二是它。", "一。二是它。三。"),
        ("One. 2 * 3 is it.", "2 * 3 is it.", "One. 2 * 3 is it."),
        ("One.\nTwo\nlines.", "Two\nlines.", "One.\nTwo\nlines."),
        ("One. Two.", "", "One. Two."),
        ("One. Two.", "Nowhere.", "One. Two."),
    ],
)
def test_open_webui_shows_the_quote_in_bold_where_markdown_can(text: str, quote: str, shown: str) -> None:
    reference = {"n": 1, "title": "T", "url": "http://a.example", "text": text, "quote": quote, "score": 0.5}
    assert open_webui_fields([reference])["sources"][0]["document"] == [shown]
