"""Which rows are learnt, in which order, and under which licences."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from random import Random

import pytest

from evaluation.datasets import DataError
from proxy.checkers.nli.weights import Manifest
from proxy.checkers.nli_sizes import packaged
from tests.training.toys import toy_base, toy_recipe
from training.measure import measured_sets
from training.plan import draw, make_plan, read_plan
from training.recipes import RECIPES, Recipe
from training.rows import TrainingRow
from training.run import Run, TrainingError, file_checksum, open_run
from training.training_data import CONTRAST, PERMITTED, Learnt, Part, Source, part_of, read_source

DATA = Path(__file__).parents[2] / "../shared/data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not here")
recipes = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES.keys())


def row(number: int, evidence: str, label: str, **more: str) -> TrainingRow:
    return TrainingRow.model_validate(
        {"id": str(number), "claim": f"Claim {number} is made.", "evidence": evidence, "label": label, **more}
    )


def test_rows_of_an_evidence_stay_together_and_contrasts_come_first() -> None:
    rows = [row(number, f"text {number % 10}", "supported") for number in range(20)]
    rows += [row(20 + number, f"text {number}", "contradicted") for number in range(5)]
    units = draw(rows, Source("train/x.jsonl", "MIT", 12), Random(0))
    assert all(len({each.evidence for each in unit}) == 1 for unit in units)
    assert [len({each.label for each in unit}) for unit in units] == [2, 2, 2, 2]
    assert sum(map(len, draw(rows, Source("train/x.jsonl", "MIT"), Random(0)))) == 25


def test_the_passages_of_a_corpus_are_lines_whatever_their_text_has(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    passage = {"id": "1", "title": "Elm", "text": "Elm has mills.\u2028They turn.", "section": ""}
    path.write_text(json.dumps(passage, ensure_ascii=False) + "\n\n", encoding="utf-8")
    source = Source("corpora/corpus.jsonl", "CC BY-SA")
    (found,) = read_source(source, path, "learn")
    assert (found.id, found.title, found.claim, found.evidence) == ("1", "Elm", *[passage["text"]] * 2)
    path.write_text(json.dumps(passage) + '\n{"id": "2"}\n')
    with pytest.raises(DataError, match=r"corpus\.jsonl:2: title"):
        read_source(source, path, "learn")


def test_the_facts_of_a_reply_are_read_beside_each_of_its_documents(tmp_path: Path) -> None:
    path = tmp_path / "structured_en.jsonl"
    texts = {"Elm": "Elm has 40 mills.", "Fir": "Fir has 70 mills."}
    reply = {
        "id": "r",
        "form": "headings",
        "question": "Mills?",
        "documents": [{"title": title, "text": text} for title, text in texts.items()],
        "reply": "## Elm\n\n- Mills: 40\n\n## Fir\n\n- Mill count: 40",
        "facts": [{"text": "Mills: 40", "by": [1]}, {"text": "Mill count: 40", "by": []}],
    }
    path.write_text("".join(json.dumps({**reply, "id": f"r{number}"}) + "\n" for number in range(20)))
    rows = read_source(Source("contrast/structured_en.jsonl", "own"), path, "learn")
    for one in rows:
        assert one.context == "Mills?"
        assert one.supported == (one.claim == "Mills: 40" and "Elm" in {one.title, one.other_title})
    alone = {(each.pair().statement, each.title, each.label) for each in rows if not each.other}
    assert alone == {
        ("Elm: Mills: 40", "Elm", "supported"),
        ("Elm: Mills: 40", "Fir", "not_supported"),
        ("Fir: Mill count: 40", "Elm", "not_supported"),
        ("Fir: Mill count: 40", "Fir", "not_supported"),
    }
    both = {(each.claim, each.label) for each in rows if each.other}
    assert both == {("Mills: 40", "supported"), ("Mill count: 40", "not_supported")}
    assert read_source(Source("contrast/structured_en.jsonl", "own"), path, "learn") == rows


def test_repetitions_are_spread_over_the_plan(tmp_path: Path) -> None:
    recipe = toy_recipe(toy_base(tmp_path / "base"), tmp_path / "data")
    source = Source("train/toy.jsonl", "MIT", repeat=3)
    plan_recipe = Recipe("base", recipe.base, (source,), {}, {}, recipe.settings)
    run = open_run(tmp_path / "run")
    make_plan(plan_recipe, Path(recipe.base), tmp_path / "data", run)
    plan = read_plan(run)
    ids = [each.id for line in plan.lines for each in plan.unit(line)]
    third = len(ids) // 3
    drawn = len(read_source(source, tmp_path / "data" / "train" / "toy.jsonl", "learn"))
    assert plan.rows == len(ids) == 3 * drawn
    assert 300 < drawn < 360
    assert all(len(set(ids[start : start + third])) == third for start in (0, third, 2 * third))
    assert plan.sources == [
        {
            "file": "train/toy.jsonl",
            "rows": drawn,
            "repeat": 3,
            "licence": "MIT",
            "sha256": file_checksum(tmp_path / "data" / "train" / "toy.jsonl"),
        }
    ]


def test_a_question_is_context_only_for_a_claim_that_needs_one() -> None:
    question = "How tall is the tower?"
    assert row(1, "It is 330 m tall.", "supported", question=question).pair().context == ""
    short = TrainingRow(id="1", claim="330 metres.", evidence="x", label="supported", question=question)
    assert short.pair().context == question


def test_a_title_goes_with_the_evidence() -> None:
    assert row(1, "It is tall.", "supported", title="Tower").pair().title == "Tower"
    leading = row(1, "Title: Tower\n\nIt is tall.", "supported").pair()
    assert (leading.title, leading.evidence) == ("Tower", "It is tall.")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"x\.jsonl is not there"):
        Source("train/x.jsonl", "MIT").path(tmp_path, Run(tmp_path))


@recipes
def test_all_that_is_learnt_may_be_distributed(recipe: Recipe) -> None:
    sources = [*recipe.plan, *(each for language in recipe.calibration.values() for each in language)]
    assert {source.licence for source in sources} <= PERMITTED


@needs_data
@recipes
def test_no_row_is_learnt_whose_licence_is_not_stated(recipe: Recipe) -> None:
    """By the table in the data folder's README."""
    table = (DATA / "README.md").read_text(encoding="utf-8")
    licences = dict(re.findall(r"^\| ((?:train|dev)/\w+\.jsonl) \|[^|]*\| ([^|]*) \|", table, re.M))
    files = [source.file for source in recipe.plan if source.file.startswith(("train/", "dev/"))]
    assert files
    for file in files:
        assert "none stated" not in licences[file]


@needs_data
@recipes
def test_what_is_measured_is_not_learnt(recipe: Recipe) -> None:
    claims: set[str] = set()
    evidences: set[str] = set()
    for file in {source.file for source in recipe.plan if not source.file.startswith(("corpora", "gen"))}:
        source = Source(file, "")
        for row in read_source(source, source.path(DATA, Run(DATA)), "learn"):
            claims.add(row.claim)
            evidences.add(row.evidence)
    for language in recipe.measured:
        for name, rows in measured_sets(recipe, language, DATA, Run(DATA)):
            assert len(rows) > 100, name
            assert not {row.claim for row in rows} & claims, name
            assert not {row.evidence for row in rows} & evidences, name


def test_a_row_is_learnt_whose_claim_or_sentence_a_source_has(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    sentence = "The old bridge over the river was closed to all traffic in 1987."
    rows = [  # of which a tenth is for calibration
        TrainingRow(id=f"{n}", claim="The bridge closed.", evidence=f"{n}. {sentence}", label="supported")
        for n in range(30)
    ]
    (tmp_path / "train/rows.jsonl").write_text("".join(each.model_dump_json() + "\n" for each in rows))
    learnt = Learnt([Source("train/rows.jsonl", "MIT", made="balanced")], tmp_path, Run(tmp_path))

    def has(claim: str, evidence: str) -> bool:
        return learnt.has(TrainingRow(id="2", claim=claim, evidence=evidence, label="supported"))

    assert has("the bridge closed", "Another text.")
    assert has("Another claim.", f"A page that begins otherwise. {sentence.upper()}")
    assert not has("Another claim.", "It is red. The old bridge was closed.")


def test_a_shared_file_is_parted_by_evidence() -> None:
    parts = [part_of(f"text {number}") for number in range(1000)]
    assert [round(parts.count(part) / 100) for part in ("learn", "calibrate", "measure")] == [7, 1, 2]


def test_minimal_pairs_stay_together(tmp_path: Path) -> None:
    """Each claim stands beside both texts, so a text that is measured must not have taught its claims."""
    lines = [
        {"claim": f"claim {group} {claim}", "evidence": f"text {group} {text}", "label": label}
        for group in range(100)
        for claim, text, label in (
            (1, 1, "supported"),
            (1, 2, "contradicted"),
            (2, 1, "contradicted"),
            (2, 2, "supported"),
        )
    ]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps({"id": str(n), **line}) + "\n" for n, line in enumerate(lines)))
    source = Source("dev/fever_symmetric_v02_dev.jsonl", "MIT")
    parts: tuple[Part, ...] = ("learn", "calibrate", "measure")
    rows = {part: read_source(source, path, part) for part in parts}
    assert sum(map(len, rows.values())) == len(lines)
    assert len(rows["learn"]) > len(rows["measure"]) > len(rows["calibrate"]) > 0
    for one, other in itertools.combinations(parts, 2):
        assert not {row.claim for row in rows[one]} & {row.claim for row in rows[other]}
        assert not {row.evidence for row in rows[one]} & {row.evidence for row in rows[other]}


@recipes
def test_weights_that_ship_list_permitted_licences_only(recipe: Recipe) -> None:
    sources = shipped(recipe).sources
    assert sources
    assert {source["licence"] for source in sources} <= PERMITTED
    assert {source["file"] for source in sources} <= {source.file for source in recipe.plan}


@needs_data
@recipes
def test_weights_that_ship_are_of_the_data_at_hand(recipe: Recipe) -> None:
    for source in shipped(recipe).sources:
        folder, _, name = str(source["file"]).partition("/")
        path = CONTRAST / name if folder == "contrast" else DATA / str(source["file"])
        assert source["licence"] in PERMITTED
        assert int(source["rows"]) > 0
        if folder != "generated" and (not path.exists() or file_checksum(path) != source["sha256"]):
            pytest.skip(f"{source['file']} has changed since the weights were made")


def shipped(recipe: Recipe) -> Manifest:
    path = packaged(recipe.size) / "manifest.json"
    if not path.exists():
        pytest.skip(f"the weights of size {recipe.size} are not packaged")
    return Manifest.model_validate_json(path.read_bytes())
