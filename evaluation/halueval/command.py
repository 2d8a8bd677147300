"""CEG Table 3: does a model that picks one of two answers pick better once its reasoning is checked?"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

from evaluation.arguments import add_checker_arguments, add_resamples_argument, counted
from evaluation.cached_llm import Meter
from evaluation.datasets import read_lines
from evaluation.halueval.data import Order, Question, Recorded, read_recorded
from evaluation.halueval.figures import (
    asked_as_json,
    asked_as_markdown,
    check_recorded,
    measure_asked,
    measure_recorded,
    recorded_as_json,
    recorded_as_markdown,
)
from evaluation.halueval.loop import Chosen, Parts, choose
from evaluation.judges import add_limit_argument, add_llm_arguments, in_order, open_judge, open_llm
from evaluation.output import print_json
from evaluation.retrievers import Accurate, open_corpus
from proxy.config.load import load
from proxy.config.settings import Settings
from proxy.protocols import Retriever
from proxy.types import Finding, Page

NAME = "halueval"
HELP = "a model picks the right of two answers, before and after its reasoning is checked (CEG Table 3)"

_ROUNDS = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--data",
        type=Path,
        metavar="FILE",
        help="HaluEval QA: knowledge, question, right_answer, hallucinated_answer (JSON Lines)",
    )
    source.add_argument(
        "--recorded", type=Path, metavar="FILE", help="CEG's case_HaluEval.json: no model is asked to choose"
    )
    add_checker_arguments(parser)
    add_llm_arguments(parser)
    add_limit_argument(parser, "questions")
    parser.add_argument(
        "--rounds",
        type=counted,
        default=_ROUNDS,
        metavar="T",
        help=f"re-prompts at most; default: {_ROUNDS}",
    )
    parser.add_argument(
        "--evidence",
        choices=("knowledge", "corpus"),
        default="knowledge",
        help="each question's own knowledge, or what the settings' index has; default: knowledge",
    )
    parser.add_argument(
        "--order",
        choices=get_args(Order),
        default="mixed",
        help="which answer comes first: either, or, as in the paper, always the right one; default: mixed",
    )
    add_resamples_argument(parser)


def run(options: argparse.Namespace) -> None:
    """See `Command`."""
    settings = load(options.config)
    if options.recorded:
        _replay(settings, options, read_recorded(options.recorded, options.limit))
    else:
        questions = list(read_lines(options.data, Question))[: options.limit]
        _ask(settings, options, questions)


def _ask(settings: Settings, options: argparse.Namespace, questions: Sequence[Question]) -> None:
    done, meter = asyncio.run(_choose_all(settings, options, questions))
    asked = measure_asked(done, options.resamples)
    if options.json:
        head = {"file": str(options.data), "checker": options.checker, "evidence": options.evidence}
        print_json({**head, "order": options.order, "rounds": options.rounds, **asked_as_json(asked, meter)})
        return
    sys.stdout.write(
        f"{options.data}: {asked.n:,} questions, `--order {options.order}`, `--evidence {options.evidence}`, "
        f"at most {options.rounds} re-prompts. Checker `{options.checker}`; accuracies, 95% bootstrap "
        f"intervals in brackets.\n\n{asked_as_markdown(asked, meter)}"
    )


async def _choose_all(
    settings: Settings, options: argparse.Namespace, questions: Sequence[Question]
) -> tuple[list[Chosen], Meter]:
    async with (
        open_llm(settings, options) as asked,
        open_judge(settings, options, asked) as judge,
        _evidence(settings, options) as evidence,
    ):
        parts = Parts(
            asked.llm,
            judge.checker,
            evidence,
            settings.retrieval.top_k,
            options.rounds,
            options.order,
            settings.checker.llm.params,
        )

        async def one(question: Question) -> Chosen:
            return await choose(question, parts)

        return await in_order(questions, one, options.concurrency, options.data.name), asked.meter


@asynccontextmanager
async def _evidence(
    settings: Settings, options: argparse.Namespace
) -> AsyncIterator[Callable[[Question], Retriever]]:
    if options.evidence == "knowledge":
        yield lambda question: Accurate(Page(question.knowledge))
        return
    async with open_corpus(settings) as corpus:
        yield lambda _: corpus


def _replay(settings: Settings, options: argparse.Namespace, questions: Sequence[Recorded]) -> None:
    found, meter = asyncio.run(_check_all(settings, options, questions))
    replayed = measure_recorded(questions, found, options.resamples)
    if options.json:
        head = {"file": str(options.recorded), "checker": options.checker}
        print_json({**head, **recorded_as_json(replayed, meter)})
        return
    sys.stdout.write(
        f"{options.recorded}: {replayed.n:,} questions; 95% bootstrap intervals in brackets.\n\n"
        f"{recorded_as_markdown(replayed, options.checker, meter)}"
    )


async def _check_all(
    settings: Settings, options: argparse.Namespace, questions: Sequence[Recorded]
) -> tuple[list[tuple[Finding, ...]], Meter | None]:
    async with open_judge(settings, options) as judge:

        async def one(question: Recorded) -> tuple[Finding, ...]:
            return await check_recorded(judge.checker, question)

        findings = await in_order(questions, one, options.concurrency, options.recorded.name)
        return findings, judge.meter
