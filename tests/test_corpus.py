"""The example corpus: what demo and tests index must stay small, whole and citable."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from index_builder.documents import Document
from index_builder.sources import documents

EXAMPLES = Path(__file__).parents[1] / "examples"
ARTICLES = sorted((EXAMPLES / "corpus").iterdir())
URL = "https://vouch.example/corpus/"
HAN = re.compile(r"[\u4e00-\u9fff]")

each_article = pytest.mark.parametrize("path", ARTICLES, ids=lambda path: path.stem)


def parse(path: Path) -> tuple[dict[str, Any], str]:
    """The front matter and what follows it."""
    before, front_matter, body = path.read_text(encoding="utf-8").split("---\n", 2)
    assert before == ""
    return yaml.safe_load(front_matter), body.strip()


def prose(body: str) -> str:
    return "\n".join(line for line in body.splitlines() if not line.startswith("#"))


@each_article
def test_article_names_itself_in_file_title_url_and_heading(path: Path) -> None:
    meta, body = parse(path)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*\.md", path.name)
    assert set(meta) <= {"title", "url", "lang"}
    assert meta["url"] == URL + path.stem
    assert body.startswith(f"# {meta['title']}\n")


@each_article
def test_article_says_that_it_is_chinese(path: Path) -> None:
    meta, body = parse(path)
    assert meta.get("lang", "en") == ("zh" if HAN.search(meta["title"] + body) else "en")


@each_article
def test_article_is_short_and_has_sections(path: Path) -> None:
    meta, body = parse(path)
    if meta.get("lang") == "zh":
        assert 250 <= len(re.sub(r"\s", "", prose(body))) <= 500
    else:
        assert 150 <= len(prose(body).split()) <= 350
    assert 2 <= len(re.findall(r"^## ", body, re.MULTILINE)) <= 4


@each_article
def test_article_is_plain_declarative_prose(path: Path) -> None:
    """Every paragraph is one line of whole sentences, so that any of them can be quoted."""
    _, body = parse(path)
    for paragraph in filter(None, prose(body).splitlines()):
        assert paragraph.endswith((".", "。"))
        assert not re.search(r"[?!？！*_`\[\]<>|]", paragraph)


def test_there_are_enough_articles_in_both_languages() -> None:
    languages = [parse(path)[0].get("lang", "en") for path in ARTICLES]
    assert languages.count("en") >= 38
    assert languages.count("zh") >= 12


def test_titles_are_unique() -> None:
    titles = [parse(path)[0]["title"] for path in ARTICLES]
    assert len(set(titles)) == len(titles)


def test_no_sentence_is_in_the_corpus_twice() -> None:
    """Else it would be chance which passage a claim cites."""
    texts = (prose(parse(path)[1]) for path in ARTICLES)
    found = [sentence for text in texts for sentence in re.split(r"(?<=[.。])\s*(?=\D)", text) if sentence]
    assert len(set(found)) == len(found)


def test_index_builder_reads_every_article_with_its_title_url_and_sections() -> None:
    found = [one for one in documents([str(EXAMPLES / "corpus")]) if isinstance(one, Document)]
    expected = [parse(path) for path in ARTICLES]
    assert [(one.title, one.url) for one in found] == [(meta["title"], meta["url"]) for meta, _ in expected]
    assert [[name for _, name in one.sections] for one in found] == [
        re.findall(r"^## (.+)$", body, re.MULTILINE) for _, body in expected
    ]


def test_readme_counts_the_articles() -> None:
    languages = [parse(path)[0].get("lang", "en") for path in ARTICLES]
    counts = f"{len(ARTICLES)} short encyclopedic articles, {languages.count('en')} in English"
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert f"{counts} and {languages.count('zh')} in Chinese" in readme
