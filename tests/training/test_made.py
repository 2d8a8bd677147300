"""Rows made by rule: their labels hold, and nothing of them is in the evidence by chance."""

from __future__ import annotations

from random import Random
from typing import get_args

import numpy as np
import pytest

from evaluation.contrast.data import likeness
from evaluation.datasets import read_lines
from evaluation.metrics import area_under_roc
from proxy.types import LANGUAGES, Language
from training.made import Made, made_rows
from training.rows import TrainingRow
from training.training_data import CONTRAST

TEXTS = (
    "The tower is 330 metres tall. It was finished in 1889 by an engineer from Dijon.",
    "The bridge carries 12,400 cars a day. It opened to traffic on 3 May 1964 after a long delay.",
    "这座博物馆建于1925年，收藏文物约180万件。馆内每周一闭馆，其余时间免费开放。",
    "The orchard has 250 trees. Its pears ripen late in a cool and rainy September.",
)
CLAIMS = (
    "The tower is 330 metres tall.",
    "The bridge opened in 1964.",
    "博物馆收藏文物约180万件。",
    "It has 250 trees.",
)
TITLES = ("The tower", "The bridge", "博物馆", "The orchard")


def rows() -> list[TrainingRow]:
    return [
        TrainingRow(id=f"r{number}", claim=claim, evidence=text, title=title, label="supported")
        for number, (text, claim, title) in enumerate(zip(TEXTS, CLAIMS, TITLES, strict=True))
    ]


def made(kind: Made, seed: int = 1) -> list[TrainingRow]:
    return made_rows(rows(), kind, Random(seed))


def test_the_same_seed_gives_the_same_rows() -> None:
    for kind in get_args(Made):
        assert made(kind) == made(kind)


def test_claims_that_never_name_their_subject_introduce_nothing() -> None:
    own = TrainingRow(id="r", claim="It rained.", evidence="It rained.", title="Log", label="supported")
    assert made_rows([own], "introduced", Random(1)) == []


def test_a_claim_is_put_beside_the_evidence_of_another() -> None:
    own = dict(zip(CLAIMS, TEXTS, strict=True))
    found = made("mismatched")
    assert len(found) == len(TEXTS)
    assert all(own[row.claim] != row.evidence and row.label == "unsupported" for row in found)


def test_another_digit_makes_a_number_that_the_evidence_does_not_have() -> None:
    for seed in range(20):
        for row in made("misnumbered", seed):
            assert row.label == "contradicted"
            assert row.claim not in CLAIMS
            assert len(row.claim) in map(len, CLAIMS)


def test_what_does_not_hold_is_not_misnumbered() -> None:
    wrong = [row.model_copy(update={"label": "contradicted"}) for row in rows()]
    assert made_rows(wrong, "misnumbered", Random(1)) == []


def test_a_copied_sentence_is_supported_and_with_another_digit_not() -> None:
    by_label = {row.label: row for row in made("copied")}
    assert by_label["supported"].claim in by_label["supported"].evidence
    assert by_label["contradicted"].claim not in by_label["contradicted"].evidence


def test_a_sentence_with_the_name_of_another_article_is_not_supported() -> None:
    found = made("renamed")
    assert {row.label for row in found} == {"supported", "unsupported"}
    for row in found:
        assert (row.claim in row.evidence) == row.supported
        assert any(title in row.claim for title in TITLES)


def test_a_row_beside_another_passage_keeps_its_label() -> None:
    own = {row.claim: row for row in rows()}
    found = made("beside")
    assert len(found) == len(own)
    for row in found:
        first = own[row.claim]
        assert row.label == first.label
        assert {row.evidence, row.other} > {first.evidence}
        assert {row.title, row.other_title} > {first.title}
    assert [page.title for page in found[0].pair().others] == [found[0].other_title]


def test_what_holds_for_one_passage_does_not_hold_for_the_other_one_in_the_window() -> None:
    found = made("confused")
    assert {row.label for row in found} == {"supported", "unsupported"}
    for row in found:
        assert (row.claim in row.evidence or row.claim in row.other) == row.supported
        assert any(title in row.claim for title in (row.title, row.other_title))


def test_claims_under_a_heading_are_read_with_it_and_with_a_question() -> None:
    claims = ("It was finished in the 1880s.", "It was finished in the 1960s.")
    labels = ("supported", "contradicted")
    own = [
        TrainingRow.model_validate(
            {"id": f"{number}-{label}", "claim": claim, "evidence": TEXTS[0], "title": "Iron", "label": label}
        )
        for number in range(20)
        for claim, label in zip(claims, labels, strict=True)
    ]
    found = made_rows(own, "headed", Random(1))
    assert {(row.claim, row.label) for row in found} == set(zip(claims, labels, strict=True))
    outlines = {row.topic for row in found}
    assert "Iron:" in outlines
    assert any(topic.startswith("Iron: ") for topic in outlines)
    assert all(row.pair().statement == f"{row.topic} {row.claim}" for row in found)
    assert any(row.pair().context for row in found)


def test_a_claim_that_names_its_subject_also_stands_under_another_heading() -> None:
    own = [
        TrainingRow.model_validate(
            {"id": f"{number}-{label}", "claim": claim, "evidence": text, "title": title, "label": label}
        )
        for number in range(20)
        for text, title, right, wrong in (
            (TEXTS[0], "The tower", "The tower is of the 1880s.", "The tower is of the 1960s."),
            (TEXTS[1], "Bridge", "It opened in the 1960s.", "It opened in the 1950s."),
        )
        for claim, label in ((right, "supported"), (wrong, "contradicted"))
    ]
    found = made_rows(own, "headed", Random(1))
    named = [row for row in found if row.claim.startswith("The tower")]
    assert {row.label for row in named if "Bridge" in row.topic} == {"supported", "contradicted"}
    assert any("The tower" in row.topic for row in named)
    assert not any("The tower" in row.topic for row in found if row.claim.startswith("It"))


def test_a_claim_behind_another_of_its_evidence_keeps_its_label() -> None:
    written = list(read_lines(CONTRAST / "en.jsonl", TrainingRow))[:400]
    by_id = {f"{row.id}#preceded": row for row in written}
    others = {(row.evidence, row.claim) for row in written}
    found = made_rows(written, "preceded", Random(1))
    assert found
    for row in found:
        own = by_id[row.id]
        assert (row.claim, row.label, row.evidence) == (own.claim, own.label, own.evidence)
        assert row.context != row.claim
        assert (row.evidence, row.context) in others


def test_a_pronoun_means_what_the_sentence_before_it_names() -> None:
    right, wrong, *_ = made("leaning")
    assert (right.label, wrong.label) == ("supported", "unsupported")
    assert right.claim == wrong.claim == "It was finished in 1889 by an engineer from Dijon."
    assert right.context == "The tower is 330 metres tall."
    assert wrong.context in {f"{title} is 330 metres tall." for title in TITLES[1:]}


def test_a_paragraphs_beginning_tells_only_what_does_not_name_its_subject() -> None:
    written = list(read_lines(CONTRAST / "en.jsonl", TrainingRow))
    claims = {(row.evidence, row.claim): row for row in written}
    titled = {row.title for row in written}
    found = made_rows(written, "introduced", Random(1))
    assert {row.label for row in found} == {"supported", "contradicted", "unsupported"}
    for row in found:
        own = claims[row.evidence, row.claim]
        of_it = (row.evidence, row.context) in claims
        if row.id.endswith("-wrong"):
            assert (own.label, row.label) == ("supported", "unsupported")
            assert any(title in (row.context or "") for title in titled - {row.title})
        else:
            assert row.label == own.label
        assert of_it is (row.title not in row.claim and not row.id.endswith("-wrong"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_in_balanced_rows_likeness_to_the_evidence_tells_nothing(language: Language) -> None:
    written = list(read_lines(CONTRAST / f"{language}.jsonl", TrainingRow))
    balanced = made_rows(written, "balanced", Random(1))
    assert len(balanced) > len(written) / 4
    assert {row.id for row in balanced} <= {row.id for row in written}
    for side in (True, False):
        assert sum(row.supported is side for row in balanced) == len(balanced) / 2
    alike = np.array([likeness(row.claim, f"{row.title}\n{row.evidence}") for row in balanced])
    assert abs(area_under_roc(np.array([row.supported for row in balanced]), alike) - 0.5) < 0.05
    assert made_rows(written, "balanced", Random(1)) == balanced


def test_a_row_without_its_title_keeps_its_label_where_the_subject_is_still_known() -> None:
    own = [
        TrainingRow.model_validate(
            {
                "id": f"{number}-{label}",
                "claim": claim,
                "evidence": text,
                "title": "The tower",
                "label": label,
            }
        )
        for number in range(20)
        for text, right, wrong in (
            (f"{TEXTS[0]} The tower is red.", "The tower is of the 1880s.", "The tower is of the 1960s."),
            (
                "It was opened in the 1880s.",
                "The tower opened in the 1880s.",
                "The tower opened in the 1960s.",
            ),
        )
        for claim, label in ((right, "supported"), (wrong, "contradicted"))
    ]
    found = made_rows(own, "untitled", Random(1))
    assert {(row.claim, row.label) for row in found} == {
        ("The tower is of the 1880s.", "supported"),
        ("The tower is of the 1960s.", "contradicted"),
    }
    assert "" in {row.title for row in found} != {""}
    assert not any("tower" in row.title for row in found)


def test_a_section_stands_under_its_documents_title_or_is_named_by_its_heading() -> None:
    own = [
        TrainingRow.model_validate(
            {
                "id": f"{number}{label}",
                "claim": claim,
                "evidence": f"The tower {number} was built in 1889.",
                "title": f"Tower {number}",
                "label": label,
            }
        )
        for number in range(8)
        for claim, label in (("It is old.", "supported"), ("It is new.", "contradicted"))
    ]
    titles = [made.title.split("\n") for made in made_rows(own, "sectioned", Random(1))]
    assert len(titles) == len(own)
    assert {len(lines) for lines in titles} == {2}
    assert {lines[0].startswith("Tower") for lines in titles} == {True, False}
    assert all(any(line.startswith("Tower") for line in lines) for lines in titles)
