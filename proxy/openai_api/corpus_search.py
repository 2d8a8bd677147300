"""Request and response of `/v1/search`: which passages a query finds, and by which half of the search."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from proxy.errors import RequestError
from proxy.openai_api.bodies import validated
from proxy.openai_api.references import passage_object
from proxy.protocols import Retriever
from proxy.types import Evidence, Json, RetrievalMode

MAX_CHARACTERS = 10_000
MAX_PASSAGES = 100

_HALVES: tuple[RetrievalMode, ...] = ("dense", "lexical")


class SearchRequest(BaseModel):
    """The body. Without `retrieval` the corpus is searched as it is for claims."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str = Field(min_length=1, max_length=MAX_CHARACTERS)
    top_k: int = Field(10, ge=1, le=MAX_PASSAGES)
    retrieval: RetrievalMode | None = None


def parse_search(body: Json) -> SearchRequest:
    """Parses the body. Raises `RequestError` that names the parameter."""
    search = validated(SearchRequest, body, {})
    if not search.query.strip():
        raise RequestError("`query` is empty: there is nothing to search for.", param="query")
    return search


async def search_corpus(
    search: SearchRequest, retrievers: Mapping[RetrievalMode, Retriever], configured: RetrievalMode
) -> Json:
    """The response: the passages in the order of the chosen search. Raises `RetrievalError`.

    A half has found a passage that is among its own first `top_k`; `ranks` says where.
    """
    mode = search.retrieval or configured
    asked: tuple[RetrievalMode, ...] = ("hybrid", *_HALVES)
    answers = await asyncio.gather(*(retrievers[name].search([search.query], search.top_k) for name in asked))
    found = {name: hits for name, (hits,) in zip(asked, answers, strict=True)}
    ranks = {name: {hit.passage.id: rank for rank, hit in enumerate(found[name], 1)} for name in _HALVES}
    known = [hit for hits in found.values() for hit in hits]
    return {
        "object": "search",
        "query": search.query,
        "retrieval": mode,
        "data": [_hit(hit, rank, ranks, known) for rank, hit in enumerate(found[mode], 1)],
    }


def _hit(
    hit: Evidence, rank: int, ranks: Mapping[RetrievalMode, Mapping[str, int]], known: Sequence[Evidence]
) -> Json:
    """A passage with its place in the result and what each half says about it."""
    same = [each for each in known if each.passage.id == hit.passage.id]
    scores = {
        "dense": next((round(each.score, 4) for each in same if each.score), None),
        "lexical": next((round(each.bm25, 4) for each in same if each.bm25), None),
    }
    return {
        **passage_object(hit.passage),
        "object": "search.passage",
        "rank": rank,
        "found_by": [name for name in _HALVES if hit.passage.id in ranks[name]],
        "ranks": {name: ranks[name].get(hit.passage.id) for name in _HALVES},
        "scores": scores,
    }
