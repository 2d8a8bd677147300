"""Marks, offsets and references."""

from __future__ import annotations

import itertools
from dataclasses import replace
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.citations.history import bare
from proxy.citations.place import Annotated, annotate, strip_warning
from proxy.claims.segment import segment
from proxy.types import WARNING, CitationStyle, Claim, Evidence, Finding, Passage, Verdict

Ends = list[tuple[int, int, list[Passage]]]


def passage(name: str, url: str = "", title: str = "", section: str = "") -> Passage:
    return Passage(name, f"{name}.md", title, section, f"Text of {name}.", url, 0, 10)


def findings(draft: str, ends: Ends) -> list[Finding]:
    return [
        Finding(
            Claim(start, end, draft[start:end], draft[start:end]),
            Verdict.SUPPORTED if cited else Verdict.UNSUPPORTED,
            cited=tuple(Evidence(one, 0.5) for one in cited),
        )
        for start, end, cited in ends
    ]


def run(
    draft: str, ends: list[tuple[int, int, list[Passage]]], style: CitationStyle = "brackets"
) -> Annotated:
    return annotate(draft, findings(draft, ends), style, lambda one: f"http://here/{one.passage.id}")


def test_marks_stand_after_their_claims_numbered_by_first_appearance() -> None:
    a, b = passage("a"), passage("b")
    annotated = run("One. Two. 三。", [(0, 4, [b]), (5, 9, [a, b]), (10, 12, [])])
    assert annotated.content == "One.[1] Two.[1][2] 三。"
    assert [(r.n, r.evidence[0].passage.id, r.spans) for r in annotated.references] == [
        (1, "b", ((4, 7), (12, 15))),
        (2, "a", ((15, 18),)),
    ]
    assert [(c.start, c.end, c.references) for c in annotated.claims] == [
        (0, 4, (1,)),
        (8, 12, (1, 2)),
        (19, 21, ()),
    ]


def test_documents_that_the_client_numbered_keep_their_numbers() -> None:
    a, b, other, c = passage("a"), passage("b"), passage("other"), passage("c")
    numbers = {"a.md": 7, "c.md": 1}
    ends = [(0, 4, [b, a]), (5, 9, [a, other]), (10, 12, [c])]
    annotated = annotate("One. Two. 三。", findings("One. Two. 三。", ends), "brackets", str, numbers)
    assert annotated.content == "One.[2][7] Two.[3][7] 三。[1]"
    assert [(r.n, r.evidence[0].passage.id) for r in annotated.references] == [
        (1, "c"),
        (2, "b"),
        (3, "other"),
        (7, "a"),
    ]


def test_passages_of_one_numbered_document_are_one_reference() -> None:
    first, second = passage("a"), replace(passage("b"), document_id="a.md")
    ends = [(0, 4, [first]), (5, 9, [second])]
    annotated = annotate("One. Two.", findings("One. Two.", ends), "brackets", str, {"a.md": 3})
    assert annotated.content == "One.[3] Two.[3]"
    (reference,) = annotated.references
    assert [one.passage.id for one in reference.evidence] == ["a", "b"]
    assert reference.spans == ((4, 7), (12, 15))


def test_a_sign_stands_behind_what_failed_and_is_no_part_of_it() -> None:
    ends: Ends = [(0, 4, [passage("a")]), (5, 9, [])]
    annotated = annotate("One. Two. End", findings("One. Two. End", ends), "brackets", str, warning="[?]")
    assert annotated.content == "One.[1] Two.[?] End"
    assert [(c.start, c.end) for c in annotated.claims] == [(0, 4), (8, 12)]
    assert annotated.cuts == (7, 15)


def test_markdown_style_links_and_none_leaves_the_text_alone() -> None:
    a = passage("a", url="https://x.example/a_(b) c")
    linked = run("One.", [(0, 4, [a])], "markdown")
    assert linked.content == "One.[(1)](https://x.example/a_%28b%29%20c#:~:text=Text%20of%20a.)"
    plain = run("One.", [(0, 4, [a])], "none")
    assert plain.content == "One."
    assert plain.references[0].spans == ((0, 4),)


def test_a_link_opens_the_source_at_the_evidence() -> None:
    long = "The well-known tower opened in 1889, and its iron frame weighs about 7,300 tonnes."
    assert link("https://x.example/a", long) == (
        "https://x.example/a#:~:text=The%20well%2Dknown%20tower%20opened,weighs%20about%207%2C300%20tonnes."
    )
    assert link("https://x.example/a#top", "It is tall.") == "https://x.example/a#top:~:text=It%20is%20tall."
    assert link("https://x.example/a", "HR-10 | Price: EUR 31,500") == "https://x.example/a#:~:text=HR%2D10"
    chinese = link("https://x.example/a", "塔建于1889年，由铁制成，重7300吨。")
    assert unquote(chinese) == "https://x.example/a#:~:text=塔建于1889年,重7300吨"
    assert link("https://x.example/a.pdf", long, "page 12") == "https://x.example/a.pdf#page=12"
    assert link("https://x.example/a.pdf", long) == "https://x.example/a.pdf"


def link(url: str, text: str, section: str = "") -> str:
    cited = replace(passage("a", url=url, section=section), text=text)
    return run("One.", [(0, 4, [cited])]).references[0].url


def test_urls_and_titles_are_unique_and_never_empty() -> None:
    same = {"url": "https://x.example/doc", "title": "Doc"}
    cited = [
        passage("a", **same, section="Intro"),
        passage("b", **same, section="Intro"),
        passage("c", **same),
        passage("d"),
        passage("e", url="javascript:alert(1)", title=" "),
    ]
    references = run("One.", [(0, 4, cited)]).references
    assert [r.url for r in references] == [
        "https://x.example/doc#:~:text=Text%20of%20a.",
        "https://x.example/doc#:~:text=Text%20of%20b.",
        "https://x.example/doc#:~:text=Text%20of%20c.",
        "http://here/d",
        "http://here/e",
    ]
    assert [r.title for r in references] == ["Doc: Intro", "Doc: Intro (2)", "Doc", "d.md", "e.md"]


@pytest.mark.parametrize("numbers", [{}, {"a.md": 5, "b.md": 3}])
def test_what_comes_later_changes_no_marker_that_was_sent(numbers: dict[str, int]) -> None:
    a, b, c = (passage(name, url="https://x.example/report.pdf") for name in "abc")
    ends = [(0, 4, [a]), (5, 9, [b]), (10, 12, [c, a])]
    first, whole = (
        annotate(draft, findings(draft, ends[:count]), "markdown", str, numbers).content
        for draft, count in (("One.", 1), ("One. Two. 三。", 3))
    )
    assert whole.startswith(first)


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_every_offset_is_right_whatever_is_cited(data: st.DataObject) -> None:
    draft = data.draw(st.text(min_size=1, max_size=60))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(draft)), min_size=2, max_size=8)))
    pool = [passage(name) for name in "abcd"]
    cited = st.lists(st.sampled_from(pool), max_size=3, unique=True)
    spans = [(s, e, data.draw(cited)) for s, e in itertools.pairwise(cuts)]
    for style in ("brackets", "markdown", "none"):
        annotated = run(draft, spans, style)
        content = annotated.content
        for located in annotated.claims:
            assert content[located.start : located.end] == located.finding.claim.text
        marks = {span for r in annotated.references for span in r.spans}
        for reference in annotated.references:
            for start, end in reference.spans:
                assert style == "none" or content[start:end].startswith(
                    (f"[{reference.n}]", f"[({reference.n})](", f"[[{reference.n}](")
                )
                assert style == "none" or str(reference.n) in content[start:end]
        bare = content
        for start, end in sorted(marks, reverse=True) if style != "none" else ():
            bare = bare[:start] + bare[end:]
        assert bare == draft
        assert [r.n for r in annotated.references] == list(range(1, len(annotated.references) + 1))
        assert all(
            not (start < cut < end) for cut in annotated.cuts for start, end in marks if style != "none"
        )


TEXTS = st.lists(
    st.sampled_from(["Paris is big.", "It lies on the Seine.", "巴黎是首都。", "- An item here"]),
    min_size=1,
    max_size=6,
).map("\n".join)


@given(TEXTS, st.sampled_from(["[?]", " (unverified)", "【存疑】"]))
def test_signs_behind_claims_come_out_without_a_trace(text: str, sign: str) -> None:
    text = strip_warning(text, sign)
    marked = text
    for claim in reversed(segment(text)):
        marked = marked[: claim.end] + sign + marked[claim.end :]
    assert strip_warning(marked, sign) == text


def test_a_sign_inside_a_sentence_stays() -> None:
    assert strip_warning("The mark [?] means doubt.[?]", "[?]") == "The mark [?] means doubt."


def test_without_a_sign_nothing_is_looked_for() -> None:
    assert strip_warning("Really[?]", "") == "Really[?]"


def test_behind_chinese_a_warning_has_no_space_and_goes_again() -> None:
    draft = "总部位于上海。公司有420人。他说：“这很好。”那座塔高330米。\n\nThe tower is red."
    ends: Ends = [(claim.start, claim.end, []) for claim in segment(draft)]
    marked = annotate(draft, findings(draft, ends), "brackets", str, warning=WARNING).content
    assert marked == ("总部位于上海。⚠️公司有420人。⚠️他说：“这很好。”⚠️那座塔高330米。⚠️\n\nThe tower is red. ⚠️")
    assert bare([marked], [WARNING]) == [draft]
    assert strip_warning(marked, WARNING) == draft
