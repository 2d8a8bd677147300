"""Small indexes for tests, made by the real builder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from index_builder.build import Report, build
from proxy.cli.compose import Library
from proxy.retrieval import Corpus, open_corpus, search_thread
from proxy.retrieval.chunks import WindowedEncoder
from proxy.retrieval.index_files import open_index
from proxy.types import Vectors
from tests.encoders import HashingEncoder

ANIMALS = [
    "The blue whale is the largest animal known ever to have existed.",
    "Penguins are flightless birds that live almost exclusively in the Southern Hemisphere.",
    "The cheetah can run at up to 104 kilometres per hour.",
    "An octopus has three hearts and nine brains, eight of them in its arms.",
    "Giraffes sleep less than two hours a day, mostly standing up.",
]


def write_source(path: Path, texts: Sequence[str] = ANIMALS) -> Path:
    """A `.jsonl` source with one document per text."""
    rows = [
        {"id": f"d{number}", "title": f"Document {number}", "text": text} for number, text in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def build_index(
    out: Path, texts: Sequence[str] = ANIMALS, *, encoder: WindowedEncoder | None = None
) -> Report:
    """An index of those texts, by the hashing encoder if no other is given."""
    out.parent.mkdir(parents=True, exist_ok=True)
    source = write_source(out.parent / f"{out.name}.jsonl", texts)
    return build([str(source)], out, encoder=encoder or HashingEncoder())


def vectors_of(corpus: Corpus) -> Vectors:
    """All vectors of a corpus that was never updated."""
    return corpus.vectors.take(np.arange(len(corpus.passages)))


def library_of(path: Path) -> Library:
    """An index that the hashing encoder made, open: nothing has to be loaded."""
    index = open_index(path)
    return Library(open_corpus(index), HashingEncoder(), search_thread(), index.manifest.generation, path)


def page(number: int, title: str, text: str, extra: str = "<ns>0</ns>") -> str:
    """A page of a MediaWiki dump, with an older revision."""
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return (
        f"<page><title>{title}</title>{extra}<id>{number}</id>"
        f"<revision><id>1</id><timestamp>2020-01-01T00:00:00Z</timestamp><model>wikitext</model>"
        f'<text xml:space="preserve">old</text></revision>'
        f"<revision><id>2</id><timestamp>2021-01-01T00:00:00Z</timestamp><model>wikitext</model>"
        f'<text xml:space="preserve">{text}</text></revision></page>'
    )


def dump(*pages: str) -> str:
    """A MediaWiki dump."""
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en"><siteinfo>'
        "<sitename>Wiki</sitename><dbname>testwiki</dbname><base>https://en.example.org/wiki/Main_Page</base>"
        '<namespaces><namespace key="0" case="first-letter" /><namespace key="6" case="first-letter">Bestand'
        f"</namespace></namespaces></siteinfo>{''.join(pages)}</mediawiki>"
    )
