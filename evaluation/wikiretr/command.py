"""CEG on WikiRetr: agreement with people (Table 5), and recall of the passages of claims (Figure 3)."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from evaluation.arguments import add_checker_arguments, add_files_argument, add_resamples_argument
from evaluation.cached_llm import Meter
from evaluation.judged_rows import JudgedRows, add_rows_out_argument
from evaluation.judges import add_limit_argument, add_llm_arguments, open_judge
from evaluation.measurement import Judged, judge, pooled, progress
from evaluation.output import Report
from evaluation.wikiretr.data import Subset, joined, read_subset
from evaluation.wikiretr.figures import (
    Searched,
    agreement_as_json,
    agreement_as_markdown,
    compare,
    retriever_figures,
)
from evaluation.wikiretr.figures import searched_as_json as searched_as_json
from evaluation.wikiretr.figures import searched_as_markdown as searched_as_markdown
from evaluation.wikiretr.passage_recall import (
    RememberingEncoder,
    Sought,
    Space,
    places,
    rankings,
    read_beside,
    read_passages,
    read_sought,
    vectors_of,
)
from evaluation.wikiretr.stores import milvus_rankings, search_times
from index_builder.vectors import measure_threshold, sample_rows
from proxy.cli.compose import make_encoder
from proxy.config.load import load
from proxy.config.settings import Encoder as EncoderSettings
from proxy.config.settings import Settings
from proxy.config.store_settings import StoreName
from proxy.errors import ConfigError
from proxy.retrieval.lexical import postings_of
from proxy.retrieval.rankings import Ranking
from proxy.types import Passage, RetrievalMode

NAME = "wikiretr"
HELP = "WikiRetr: agreement with people on claims (CEG Table 5), and recall of their passages (Figure 3)"

_LEXICAL: RetrievalMode = "lexical"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    add_files_argument(parser, "--data", "subsets with human_eval (JSON): agreement", required=False)
    add_files_argument(
        parser, "--claims", "claims (JSON): recall of their passages in --corpus", required=False
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="FILE",
        help="passages with title and text (JSON Lines), indexed as they are",
    )
    parser.add_argument(
        "--retrievers",
        nargs="+",
        choices=get_args(RetrievalMode),
        default=get_args(RetrievalMode),
        help="default: all; lexical alone encodes nothing",
    )
    parser.add_argument(
        "--store",
        choices=get_args(StoreName),
        default="faiss",
        help="milvus: the server of the settings too, and how long one claim's search takes with each",
    )
    parser.add_argument(
        "--beside",
        nargs="+",
        default=(),
        metavar="SOURCE",
        help="files and folders whose passages are searched too",
    )
    parser.add_argument("--vectors", type=Path, metavar="FOLDER", help="keep what was encoded there")
    add_checker_arguments(parser)
    add_llm_arguments(parser)
    add_limit_argument(parser, "claims of each file")
    add_resamples_argument(parser)
    add_rows_out_argument(parser)


def run(options: argparse.Namespace) -> None:
    """See `Command`. Several subsets are also shown as one."""
    if bool(options.claims) != bool(options.corpus):
        raise ConfigError("--claims and --corpus belong together: what is searched for, and where.")
    if not options.data and not options.claims:
        raise ConfigError("Name subsets with --data, or --claims and a --corpus.")
    if options.rows_out and not options.data:
        raise ConfigError("--rows-out needs --data: claims that are only searched for are not judged.")
    settings = load(options.config)
    if options.data:
        _agreement(options, settings)
    if options.claims:
        _retrieval(options, settings)


def _agreement(options: argparse.Namespace, settings: Settings) -> None:
    subsets = [read_subset(path, options.limit) for path in options.data]
    judged_rows = JudgedRows(options.rows_out)

    async def judge_all() -> tuple[list[Judged], Meter | None]:
        async with open_judge(settings, options) as opened:
            judged = [
                await judge(
                    opened.checker,
                    subset.pairs,
                    len(subset.pairs),
                    subset.name,
                    record=judged_rows.of(_told(subset)),
                )
                for subset in subsets
            ]
            return judged, opened.meter

    judged, meter = asyncio.run(judge_all())
    if len(subsets) > 1:
        subsets.append(joined("all", subsets))
        judged.append(pooled(judged))
    report = Report(options.json, agreement_as_json, agreement_as_markdown)
    for subset, own in zip(subsets, judged, strict=True):
        report.add(compare(subset, own, options.checker, options.resamples))
    report.end(meter=meter)


def _told(subset: Subset) -> Iterator[dict[str, Any]]:
    for number, (pair, supported) in enumerate(zip(subset.pairs, subset.human.tolist(), strict=True), 1):
        label = "supported" if supported else "not_supported"
        yield {"file": subset.name, "row": number, "claim": pair.claim, "label": label}


def _retrieval(options: argparse.Namespace, settings: Settings) -> None:
    corpus = read_passages(options.corpus)
    sought = [read_sought(path, corpus, options.limit) for path in options.claims]
    beside = read_beside(options.beside, corpus, settings.index.words)
    passages = corpus + beside
    vectorial = set(options.retrievers) != {_LEXICAL}
    space = _space(passages, settings.encoder, options.vectors) if vectorial else None
    postings = postings_of(passages)
    searches = list(rankings(options.retrievers, postings, space))
    if options.store == "faiss":
        _report(options, (len(corpus), len(beside)), sought, searches)
        return
    if space is None:
        raise ConfigError("--store milvus needs vectors: name another retriever than lexical.")
    with milvus_rankings(settings, options.retrievers, passages, postings, space) as in_milvus:
        _report(options, (len(corpus), len(beside)), sought, [*searches, *in_milvus], timed=True)


def _report(
    options: argparse.Namespace,
    sizes: tuple[int, int],
    sought: Sequence[Sought],
    searches: Sequence[tuple[str, Ranking]],
    *,
    timed: bool = False,
) -> None:
    report = Report(options.json, searched_as_json, searched_as_markdown)
    for targets in sought:
        report.add(
            Searched(
                file=targets.name,
                n=len(targets.claims),
                passages=sizes[0],
                beside=sizes[1],
                retrievers=tuple(
                    retriever_figures(
                        name,
                        places(ranking, targets),
                        options.resamples,
                        search_times(ranking, targets.claims) if timed else None,
                    )
                    for name, ranking in searches
                ),
            )
        )
    report.end()


def _space(passages: Sequence[Passage], settings: EncoderSettings, folder: Path | None) -> Space:
    """The passages' vectors, with the threshold that `vouch index` would measure."""
    encoder = make_encoder(settings)
    with progress("passages", len(passages)) as advance:
        vectors = vectors_of(passages, encoder, folder, advance)
    sample = sample_rows(len(passages))
    threshold = measure_threshold([passages[row] for row in sample], vectors[sample], encoder)
    return Space(vectors, RememberingEncoder(encoder), threshold)
