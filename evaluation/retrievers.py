"""Retrievers for benchmarks that check whole replies, and the check itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from proxy.claims.context import contexts, queries
from proxy.cli.compose import load_library
from proxy.config.settings import Settings
from proxy.engine.verifier import Verifier
from proxy.errors import CheckError
from proxy.protocols import Checker, Retriever
from proxy.types import Claim, Evidence, Finding, Page, Passage

_PATIENCE = 24 * 3600.0
"""Seconds that the claims of one reply may take: a table waits where a client would not."""


class Given:
    """`protocols.Retriever` over evidence that is there already for the checkable ones of `claims`, in their
    order. All searches for a claim find the same.
    """

    def __init__(
        self, claims: Sequence[Claim], question: str, evidence: Iterable[tuple[Evidence, ...]]
    ) -> None:
        needs = zip(claims, contexts(claims, question), strict=True)
        asked = (queries(claim, context) for claim, context in needs if claim.checkable)
        self._evidence = [hits for hits, of_claim in zip(evidence, asked, strict=True) for _ in of_claim]

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        """The first k passages of each, in the order given."""
        return [hits[:k] for hits, _ in zip(self._evidence, queries, strict=True)]


class Accurate:
    """`protocols.Retriever` over trusted passages: RefChecker's accurate context."""

    def __init__(self, *pages: Page) -> None:
        self._evidence = tuple(
            Evidence(passage(page.title, page.text), 1.0) for page in pages if page.text.strip()
        )

    async def search(self, queries: Sequence[str], k: int) -> Sequence[tuple[Evidence, ...]]:
        """The first k passages that have text, whatever the query."""
        return [self._evidence[:k] for _ in queries]


def passage(title: str, text: str) -> Passage:
    """A passage out of a file of an evaluation, where text alone tells them apart."""
    return Passage(text, text, title, "", text, "", 0, len(text))


@asynccontextmanager
async def open_corpus(settings: Settings) -> AsyncIterator[Retriever]:
    """The index of the settings, searched as they say. Raises `ConfigError`, `BrokenIndexError`."""
    library = await asyncio.to_thread(load_library, settings)
    wanted = settings.retrieval
    threshold = None if wanted.threshold == "auto" else wanted.threshold
    try:
        yield library.corpus.retriever(
            library.encoder, wanted.mode, thread=library.thread, threshold=threshold
        )
    finally:
        library.close()


async def verify(
    claims: Sequence[Claim], question: str, checker: Checker, evidence: Retriever, k: int
) -> tuple[Finding, ...]:
    """The findings of the claims, as the proxy comes to them, over at most k passages each.

    Raises `CheckError` where checking was not possible as a whole: a table must not go on without.
    """
    until = asyncio.get_running_loop().time() + _PATIENCE
    verified = await Verifier(evidence, checker, top_k=k, max_claims=len(claims)).verify(
        claims, question, until
    )
    judged = (item.judgement for finding in verified.findings for item in finding.evidence)
    if verified.error and not any(judged):
        raise CheckError(verified.error)
    return verified.findings
