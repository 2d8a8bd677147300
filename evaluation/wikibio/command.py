"""CEG Table 1: does the checker find the wrong sentences in GPT-3's biographies?"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.arguments import add_checker_arguments, add_resamples_argument
from evaluation.cached_llm import Meter
from evaluation.judges import add_limit_argument, add_llm_arguments, in_order, open_judge
from evaluation.metrics import Estimates, Figures, Indexes, estimate
from evaluation.output import failures, print_json, table
from evaluation.retrievers import Accurate, open_corpus, verify
from evaluation.wikibio.data import Biography, Sentences, figures, read_wikibio
from proxy.config.load import load
from proxy.config.settings import Settings
from proxy.protocols import Retriever
from proxy.types import Finding, Page, Verdict

NAME = "wikibio"
HELP = "wrong sentences found in GPT-3's biographies, SelfCheckGPT's data (CEG Table 1)"

_COLUMNS = {
    "auc_pr.nonfact": "AUC-PR NonFact",
    "auc_pr.fact": "AUC-PR Factual",
    "verdict_auc_pr.nonfact": "NonFact, from verdicts",
    "verdict_auc_pr.fact": "Factual, from verdicts",
    "recall.nonfact": "recall, NonFact",
    "recall.fact": "recall, Factual",
    "balanced_accuracy": "balanced accuracy",
}
_PAPER = (
    "CEG with GPT-3.5-turbo-instruct: AUC-PR NonFact 92.31 (as wizwand.com lists the paper; the other "
    "columns of its Table 1 could not be read where this was written). What differs: CEG retrieves from "
    "Wikipedia, asks once about all passages, yes or no, and takes AUC-PR of that: compare the columns from "
    "verdicts.\n"
)


@dataclass(frozen=True, slots=True)
class Measured:
    """The sentences of one file, what they come to, and whether scores are graded."""

    n: int
    nonfactual: int
    unverified: int
    graded: bool
    estimates: Estimates


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="FILE",
        help="gpt3_sentences, annotation and wiki_bio_text (JSON array or JSON Lines)",
    )
    add_checker_arguments(parser)
    add_llm_arguments(parser)
    add_limit_argument(parser, "biographies")
    parser.add_argument(
        "--evidence",
        choices=("own", "corpus"),
        default="own",
        help="each one's own wiki_bio_text, or what the settings' index has; default: own",
    )
    add_resamples_argument(parser)


def run(options: argparse.Namespace) -> None:
    """See `Command`."""
    settings = load(options.config)
    biographies = read_wikibio(options.data, options.limit)
    found, meter = asyncio.run(_check(settings, options, biographies))
    measured = _measure(biographies, found, options.resamples)
    if options.json:
        print_json(_as_json(options, measured, meter))
    else:
        sys.stdout.write(_as_markdown(options, measured, meter))


async def _check(
    settings: Settings, options: argparse.Namespace, biographies: Sequence[Biography]
) -> tuple[list[tuple[Finding, ...]], Meter | None]:
    async with open_judge(settings, options) as judge, _corpus(settings, options) as corpus:

        async def check(biography: Biography) -> tuple[Finding, ...]:
            evidence = corpus or Accurate(Page(biography.wiki_bio_text))
            return await verify(biography.claims(), "", judge.checker, evidence, settings.retrieval.top_k)

        return await in_order(biographies, check, options.concurrency, options.data.name), judge.meter


@asynccontextmanager
async def _corpus(settings: Settings, options: argparse.Namespace) -> AsyncIterator[Retriever | None]:
    if options.evidence == "own":
        yield None
        return
    async with open_corpus(settings) as corpus:
        yield corpus


def _measure(
    biographies: Sequence[Biography], findings_of: Sequence[tuple[Finding, ...]], resamples: int
) -> Measured:
    """A sentence that could not be checked is called nonfactual, with no support."""
    factual = np.concatenate([biography.factual for biography in biographies])
    findings = [finding for own in findings_of for finding in own]
    called = np.array([finding.verdict is Verdict.SUPPORTED for finding in findings], dtype=np.bool_)
    scores = np.array([finding.score for finding in findings], dtype=np.float64)

    def of(rows: Indexes) -> Figures:
        return figures(Sentences(factual[rows], called[rows], scores[rows]))

    return Measured(
        n=len(factual),
        nonfactual=int((~factual).sum()),
        unverified=sum(finding.verdict is Verdict.UNVERIFIED for finding in findings),
        graded=bool(((scores > 0) & (scores < 1)).any()),
        estimates=estimate(of, len(factual), resamples),
    )


def _as_json(options: argparse.Namespace, measured: Measured, meter: Meter | None) -> dict[str, Any]:
    return {
        "file": str(options.data),
        "checker": options.checker,
        "evidence": options.evidence,
        "n": measured.n,
        "nonfactual": measured.nonfactual,
        "unverified": measured.unverified,
        "graded": measured.graded,
        **measured.estimates.as_json(),
        "llm": meter.as_json() if meter else None,
    }


def _as_markdown(options: argparse.Namespace, measured: Measured, meter: Meter | None) -> str:
    text = (
        f"{options.data}: {measured.n:,} sentences, {measured.nonfactual:,} of them nonfactual. Checker "
        f"`{options.checker}`, evidence `{options.evidence}`; 95% bootstrap intervals in brackets.\n\n"
    )
    text += table([*_COLUMNS.values()], [measured.estimates.cells(_COLUMNS)])
    if not measured.graded:
        text += "\nAll scores are 0 or 1: AUC-PR says no more than the verdicts do.\n"
    text += failures(measured.unverified).replace("pairs", "sentences")
    return f"{text}\n{_PAPER}" + (meter.as_markdown() if meter else "")
