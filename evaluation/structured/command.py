"""Replies with headings, lists and tables: does a fact count for the thing that it stands under?"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.arguments import add_checker_arguments, add_files_argument
from evaluation.judged_rows import JudgedRows, add_rows_out_argument
from evaluation.judges import add_limit_argument, open_checker
from evaluation.measurement import Judged, picked, progress
from evaluation.metrics import Figures, Flags, nested, share, shown, two_way
from evaluation.output import Report, failures, table
from evaluation.retrievers import Accurate, verify
from evaluation.structured.data import DEV, HELD_OUT, Statement, StructuredReply, read_replies, statements
from proxy.claims.segment import segment
from proxy.config.load import load
from proxy.errors import ConfigError
from proxy.protocols import Checker
from proxy.types import Finding, Judgement, Page, Verdict

NAME = "structured"
HELP = "replies with headings, lists and tables: is a fact taken for the thing that it stands under?"

ALL = "all"
_COLUMNS = {
    "accuracy": "judged right",
    "recall.supported": "right ones supported",
    "wrongly_supported": "wrong ones supported",
    "auc": "AUC",
}


@dataclass(frozen=True, slots=True)
class Part:
    """The figures of the facts of one language and form, or of `all` forms."""

    language: str
    form: str
    facts: int
    figures: Figures


@dataclass(frozen=True, slots=True)
class Structured:
    """A checker's figures over these files. It failed on `unverified` facts: these count as judged wrong."""

    files: tuple[str, ...]
    checker: str
    parts: tuple[Part, ...]
    unverified: int


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts and what the checker said of them; arrays of shape (facts,)."""

    languages: Sequence[str]
    forms: Sequence[str]
    right: Flags
    judged: Judged


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """See `Command`."""
    add_checker_arguments(parser)
    add_files_argument(parser, "--data", "replies (JSON Lines) instead of the project's", required=False)
    parser.add_argument("--held-out", action="store_true", help="the project's held-out replies instead")
    add_limit_argument(parser, "replies of each file")
    add_rows_out_argument(parser)


def run(options: argparse.Namespace) -> None:
    """All replies are read, and the place to write is tried, before the work begins."""
    if options.data and options.held_out:
        raise ConfigError("--held-out measures on the project's replies, --data on others: give one of them.")
    settings = load(options.config)
    files: Sequence[Path] = options.data or (HELD_OUT if options.held_out else DEV)
    replies = [reply for path in files for reply in read_replies(path, options.limit)]
    judged_rows = JudgedRows(options.rows_out)

    async def judge_all() -> _Facts:
        async with open_checker(settings, options.checker) as checker:
            return await judge(replies, checker, judged_rows)

    facts = asyncio.run(judge_all())
    report = Report(options.json, _as_json, _as_markdown)
    names = tuple(path.name for path in files)
    report.add(Structured(names, options.checker, tuple(measure(facts)), facts.judged.unverified))
    report.end()


async def judge(replies: Sequence[StructuredReply], checker: Checker, out: JudgedRows) -> _Facts:
    """Checks each reply against its documents, as the proxy does, and writes what it found."""
    languages: list[str] = []
    forms: list[str] = []
    right: list[bool] = []
    verdicts: list[Verdict] = []
    scores: list[float] = []
    with progress("replies", len(replies)) as advance:
        for reply in replies:
            claims = segment(reply.reply)
            pages = [Page(document.text, document.title) for document in reply.documents]
            verified = await verify(claims, reply.question, checker, Accurate(*pages), len(pages))
            findings: dict[int, Finding] = {found.claim.start: found for found in verified}
            for stated in statements(reply):
                finding = findings[stated.claim.start]
                if stated.part is not None and finding.parts:
                    finding = finding.parts[stated.part]
                languages.append(reply.language)
                forms.append(reply.form)
                right.append(stated.right)
                verdicts.append(finding.verdict)
                scores.append(finding.score)
                out.of([_told(reply, stated)])([_judgement(finding)])
            advance(1)
    return _Facts(languages, forms, np.array(right), Judged(tuple(verdicts), np.array(scores), 0.0))


def _told(reply: StructuredReply, stated: Statement) -> dict[str, Any]:
    label = "supported" if stated.right else "not_supported"
    which = {"id": reply.id, "form": reply.form, "language": reply.language}
    return {**which, "claim": stated.plain, "label": label}


def _judgement(finding: Finding) -> Judgement:
    """The finding as one; the reason is that of the first check that failed."""
    judgements = (item.judgement for item in finding.evidence if item.judgement)
    failed = (judgement.reason for judgement in judgements if judgement.verdict is Verdict.UNVERIFIED)
    return Judgement(finding.verdict, finding.score, reason=next(failed, ""))


def measure(facts: _Facts) -> Iterator[Part]:
    """The figures of each language: the whole, then form by form."""
    languages, forms = np.array(facts.languages), np.array(facts.forms)
    for language in sorted(set(facts.languages)):
        own = languages == language
        yield _part(language, ALL, facts, own)
        for form in sorted(set(forms[own].tolist())):
            yield _part(language, form, facts, own & (forms == form))


def _part(language: str, form: str, facts: _Facts, chosen: Flags) -> Part:
    """The figures of the chosen facts, flags of shape (facts,)."""
    judged, right = picked(facts.judged, chosen), facts.right[chosen]
    called = np.where(judged.failed, ~right, judged.called)
    figures = {**two_way(right, called, judged.scores), "wrongly_supported": share(called[~right])}
    return Part(language, form, len(right), figures)


def _as_json(done: Structured) -> dict[str, Any]:
    return {
        "files": done.files,
        "checker": done.checker,
        "unverified": done.unverified,
        "groups": [
            {"language": part.language, "form": part.form, "facts": part.facts, **nested(part.figures)}
            for part in done.parts
        ],
    }


def _as_markdown(done: Sequence[Structured]) -> str:
    return "\n".join(map(_table, done))


def _table(done: Structured) -> str:
    rows = [
        [part.language, part.form, f"{part.facts:,}", *(shown(part.figures[name]) for name in _COLUMNS)]
        for part in done.parts
    ]
    head = f"Checker `{done.checker}`, {', '.join(done.files)}.\n\n"
    text = table(["language", "form", "facts", *_COLUMNS.values()], rows)
    return head + text + failures(done.unverified, "judged wrong")
