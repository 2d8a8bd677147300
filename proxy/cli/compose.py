"""Builds the application from the settings: the only place where backends are made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol, get_args, runtime_checkable

from proxy.claims.decompose.clauses import ClauseExtractor
from proxy.claims.decompose.triplet_extractor import LLMExtractor
from proxy.cli.compose_checkers import Checkers, load_checkers
from proxy.cli.servable import endpoint, require_key, require_servable
from proxy.config.checker_settings import CheckerName
from proxy.config.settings import Encoder, Runtime, Settings
from proxy.config.settings import Extractor as ExtractorSettings
from proxy.config.settings import Upstream as UpstreamSettings
from proxy.config.store_settings import Milvus
from proxy.engine.app_context import TOKEN_LIMITS, AppContext, IndexSource, Model
from proxy.errors import ConfigError
from proxy.protocols import LLM, Checker, Extractor, Retriever
from proxy.retrieval import SearchableCorpus, open_corpus, search_thread
from proxy.retrieval.chunks import WindowedEncoder
from proxy.retrieval.index_files import open_index
from proxy.retrieval.milvus.milvus_search import MilvusCorpus, MilvusPlace, milvus_place
from proxy.retrieval.request_corpus import RequestCorpora
from proxy.tracing import Tracer
from proxy.types import Granularity, RetrievalMode
from proxy.upstream.budget import Budgeted
from proxy.upstream.embedded.embedded_llm import DEMO, DESCRIPTIONS, EmbeddedLLM
from proxy.upstream.endpoint import Relay
from proxy.upstream.endpoint import Upstream as UpstreamClient
from proxy.upstream.provider import make_upstream
from proxy.upstream.retry import Retrying, RetryingRelay
from proxy.upstream.stream_adapter import StreamAdapter
from proxy.upstream.traced import TracedLLM, traced

MODES: tuple[RetrievalMode, ...] = get_args(RetrievalMode)


@dataclass(frozen=True, slots=True)
class Library:
    """The corpus, what encodes queries to it, and the thread that searches it: the part that loads slowly."""

    corpus: SearchableCorpus
    encoder: WindowedEncoder
    thread: Executor
    generation: str = ""
    """Of the index."""
    path: Path | None = None
    """The folder of the index; None where it is not to be opened again."""
    place: MilvusPlace | None = None
    """Where in Milvus the index is; None where it is in the folder."""

    def close(self) -> None:
        """Ends the thread, and what waits for Milvus."""
        self.thread.shutdown(wait=True, cancel_futures=True)
        if self.place is not None:
            self.place.close()


def use_runtime(settings: Runtime) -> None:
    """Sets how many threads torch computes with, and where, in the whole process. Called before a model
    loads. Raises `ConfigError` where the machine has no such device."""
    if settings.threads != "auto":
        import torch

        torch.set_num_threads(settings.threads)
    if settings.device != "auto":
        from proxy.model_files import use_device

        use_device(settings.device)


def make_encoder(settings: Encoder) -> WindowedEncoder:
    """The configured encoder. Raises `ConfigError`.

    Its module takes seconds to import (torch, transformers). It is imported here, so that a wrong path or a
    missing key is reported before.
    """
    from proxy.retrieval.encoder import SentenceTransformerEncoder

    return SentenceTransformerEncoder(
        settings.model,
        precision=settings.precision,
        batch_size=settings.batch_size,
    )


def silent(_said: str) -> None:
    """Tells nobody what is being loaded."""


def load_library(settings: Settings, say: Callable[[str], None] = silent) -> Library:
    """The configured index with its encoder. Raises `BrokenIndexError`, `ConfigError`."""
    if settings.retrieval.store == "milvus":
        return _load_from_milvus(settings, say)
    say(f"Opening the index {settings.index.path} ...")
    path = Path(settings.index.path)
    index = open_index(path)
    manifest = index.manifest
    say(f"  {manifest.documents:,} documents, {manifest.passages:,} passages, of {manifest.created[:10]}")
    say(f"Loading the encoder {settings.encoder.model} ...")
    use_runtime(settings.runtime)
    encoder = make_encoder(settings.encoder)
    index.require(encoder)
    from proxy.retrieval.encoder import CachedEncoder

    corpus = open_corpus(index)
    return Library(corpus, CachedEncoder(encoder), search_thread(), index.manifest.generation, path)


def _load_from_milvus(settings: Settings, say: Callable[[str], None]) -> Library:
    path = Path(settings.index.path)
    place = milvus_place(settings.retrieval.milvus, path)
    try:
        say(f"Opening the index {place.name} in Milvus ...")
        stored = place.find()
        say(f"  {stored.documents:,} documents, {stored.passages:,} passages, of {stored.created[:10]}")
        say(f"Loading the encoder {settings.encoder.model} ...")
        use_runtime(settings.runtime)
        encoder = make_encoder(settings.encoder)
        stored.require(encoder)
        from proxy.retrieval.encoder import CachedEncoder

        corpus = place.open(stored)
    except BaseException:
        place.close()
        raise
    return Library(corpus, CachedEncoder(encoder), search_thread(), stored.generation, path, place)


def compose(settings: Settings, say: Callable[[str], None] = silent) -> AppContext:
    """Everything that the settings describe. `say` is told what is being loaded. Raises `ConfigError`,
    `BrokenIndexError`."""
    require_servable(settings)
    library = load_library(settings, say)
    say(f"Loading the checker {settings.checker.name} ...")
    backends = replace(make_backends(settings, library), threads=(library.thread,))
    return with_others(backends, backends.over(library.corpus, library.generation), say)


def with_others(backends: Backends, first: AppContext, say: Callable[[str], None] = silent) -> AppContext:
    """The components, with those over the further indexes. Raises `BrokenIndexError`."""
    others: dict[str, AppContext] = {}
    closes = [first.close]
    for name, path in backends.settings.indexes.items():
        say(f"Opening the index {name}, {path} ...")
        others[name] = backends.apart(name, path).reopen()
        closes.insert(0, others[name].close)

    async def close() -> None:
        for each in closes:
            await each()

    return replace(first, others=others, close=close) if others else first


def make_tracer(settings: Settings) -> Tracer | None:
    """What traces requests, where that is wanted. Raises `ConfigError` where OpenTelemetry is missing."""
    if not settings.traces.enabled:
        return None
    try:
        from proxy.server.telemetry import RecordedTraces
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"traces.enabled needs OpenTelemetry ({error.name} is missing): pip install 'vouch[otel]'.",
            param="traces.enabled",
        ) from None
    return RecordedTraces(settings.traces)


@runtime_checkable
class Apart(Protocol):
    """An encoder that keeps vectors."""

    def apart(self) -> WindowedEncoder:
        """The same encoder, keeping its own."""
        ...


@dataclass(frozen=True, slots=True)
class Backends:
    """What outlives an index: clients of upstreams, checkers, encoder and threads.

    It holds nothing of an index, so that one that was replaced is let go when the last request over it ends.
    """

    settings: Settings
    encoder: WindowedEncoder
    searching: Executor
    path: Path | None
    place: MilvusPlace | None
    forwarders: Mapping[str, UpstreamClient]
    checkers: Checkers
    request_corpora: RequestCorpora
    models: Mapping[str, Model] = field(default_factory=dict)
    """Models that no index is part of, once they are made."""
    threads: tuple[Executor, ...] = ()
    """Those that end with the application."""
    closes_clients: bool = True
    """Whether the clients of upstreams end with this."""

    def over(self, corpus: SearchableCorpus, generation: str) -> AppContext:
        """The application's components over an index."""
        chosen = self.settings.retrieval.threshold
        retrievers: dict[RetrievalMode, Retriever] = {
            mode: corpus.retriever(
                self.encoder,
                mode,
                thread=self.searching,
                threshold=None if chosen == "auto" else chosen,
            )
            for mode in MODES
        }
        models = make_models(self, retrievers[self.settings.retrieval.mode])
        embedded = _embedded(self.settings)
        lasting = {
            name: model for name, model in models.items() if not embedded & _asked(self.settings, name)
        }
        next_time = replace(self, models=lasting)
        return AppContext(
            models,
            retrievers,
            corpus.passages,
            partial(self.request_corpora.open, random_cosine=corpus.threshold),
            self.close,
            generation,
            self._source(next_time),
            found=corpus.passages.kept if isinstance(corpus, MilvusCorpus) else None,
        )

    def _source(self, next_time: Backends) -> IndexSource | None:
        if self.path is None:
            return None
        return IndexSource(self.path, next_time.reopen, self.place.current if self.place else None)

    def apart(self, name: str, path: str) -> Backends:
        """The same for a further index: in another folder, or in Milvus under the name `path`. Models and
        clients are shared, and end with this one; judgements and vectors that are kept are not shared."""
        encoder = self.encoder.apart() if isinstance(self.encoder, Apart) else self.encoder
        return replace(
            self,
            encoder=encoder,
            path=Path(path),
            place=self.place
            and replace(self.place, name=path, filter=self._milvus.filters.get(name, ""), folder=None),
            checkers=self.checkers.apart(),
            request_corpora=_request_corpora(self.settings, encoder, self.searching),
            models={},
            threads=(),
            closes_clients=False,
        )

    def reopen(self) -> AppContext:
        """The components over the index as it is now. Blocking. Raises `BrokenIndexError`."""
        if self.place is not None:
            stored = self.place.find()
            stored.require(self.encoder)
            return self.over(self.place.open(stored), stored.generation)
        index = open_index(self.path or "")
        index.require(self.encoder)
        return self.over(open_corpus(index), index.manifest.generation)

    async def close(self) -> None:
        """Closes connections and ends threads."""
        for forwarder in self.forwarders.values() if self.closes_clients else ():
            await forwarder.close()
        self.checkers.close()
        self.request_corpora.close()
        for thread in self.threads:
            thread.shutdown(wait=True, cancel_futures=True)
        if self.place is not None and self.closes_clients:
            self.place.close()

    @property
    def _milvus(self) -> Milvus:
        return self.settings.retrieval.milvus


def make_context(settings: Settings, library: Library) -> AppContext:
    """The components over a library that is loaded; its thread stays its owner's to end."""
    return make_backends(settings, library).over(library.corpus, library.generation)


def make_backends(settings: Settings, library: Library, checkers: Checkers | None = None) -> Backends:
    """What outlives the library's corpus. The configured checkers are loaded, unless others are given."""
    return Backends(
        settings,
        library.encoder,
        library.thread,
        library.path,
        library.place,
        forwarders={
            upstream.name: _client(upstream, settings)
            for upstream in settings.upstreams
            if upstream.model not in DESCRIPTIONS
        },
        checkers=checkers or load_checkers(settings.checker),
        request_corpora=_request_corpora(settings, library.encoder, library.thread),
    )


def _request_corpora(settings: Settings, encoder: WindowedEncoder, searching: Executor) -> RequestCorpora:
    return RequestCorpora(
        encoder,
        thread=searching,
        words=settings.index.words,
        threshold=None if settings.retrieval.threshold == "auto" else settings.retrieval.threshold,
    )


def _embedded(settings: Settings) -> set[str]:
    """The upstreams that answer from the index."""
    return {upstream.name for upstream in settings.upstreams if upstream.model in DESCRIPTIONS}


def _asked(settings: Settings, name: str) -> set[str]:
    """The upstreams that a model asks: the one that writes, checks, and extracts."""
    return {name, settings.checker.llm.model or name, settings.claims.extractor.model or name}


def make_models(backends: Backends, corpus: Retriever) -> dict[str, Model]:
    """A model per upstream, in their order; the embedded ones answer from `corpus`."""
    settings, forwarders, checkers = backends.settings, backends.forwarders, backends.checkers
    llms: dict[str, LLM] = {
        upstream.name: Retrying(Budgeted(StreamAdapter(forwarders[upstream.name])), upstream.max_retries)
        if upstream.name in forwarders
        else _embedded_llm(upstream, settings, corpus)
        for upstream in settings.upstreams
    }
    checking = {name: settings.checker.llm.model or name for name in llms}
    extracting = {name: settings.claims.extractor.model or name for name in llms}
    return {
        upstream.name: backends.models.get(upstream.name)
        or Model(
            name=upstream.name,
            llm=llms[upstream.name],
            checkers=checkers.over(llms[checking[upstream.name]], checking[upstream.name]),
            extractors=make_extractors(llms[extracting[upstream.name]], settings.claims.extractor),
            forwarder=forwarders.get(upstream.name),
            relay=_relay(forwarders.get(upstream.name), upstream.max_retries),
            description=DESCRIPTIONS.get(upstream.model, ""),
            full_name=upstream.model,
            stream_mode=upstream.stream_mode,
            max_reply_bytes=upstream.max_reply_bytes,
            max_tokens=token_limit(upstream.params),
        )
        for upstream in settings.upstreams
    }


def _client(upstream: UpstreamSettings, settings: Settings) -> UpstreamClient:
    """What calls the upstream, in traces where there are any."""
    where = endpoint(upstream)
    client = make_upstream(where, upstream.client)
    return traced(client, where) if settings.traces.enabled else client


def _embedded_llm(upstream: UpstreamSettings, settings: Settings, corpus: Retriever) -> LLM:
    llm = EmbeddedLLM(corpus, plant_error=upstream.model == DEMO)
    return TracedLLM(llm, endpoint(upstream)) if settings.traces.enabled else llm


def token_limit(params: Mapping[str, object]) -> tuple[str, int] | None:
    """The parameter that bounds a reply's tokens for all clients, and its value, where one is configured."""
    found = ((name, params.get(name)) for name in TOKEN_LIMITS)
    return next(((name, most) for name, most in found if isinstance(most, int)), None)


def _relay(client: object, max_retries: int) -> Relay | None:
    return RetryingRelay(client, max_retries) if isinstance(client, Relay) else None


def make_extractors(llm: LLM, settings: ExtractorSettings) -> dict[Granularity, Extractor]:
    """Extractors by granularity; `sentence` needs none."""
    return {
        "sub_sentence": ClauseExtractor(),
        "triplet": LLMExtractor(
            llm,
            sentences=settings.sentences,
            concurrency=settings.concurrency,
            timeout=settings.timeout,
            params=settings.params,
        ),
    }


@asynccontextmanager
async def open_checker(settings: Settings, name: CheckerName) -> AsyncIterator[Checker]:
    """The checker of that name as the settings describe it, without an index.

    One that asks an LLM asks `checker.llm.model`, or else the first upstream. Raises `ConfigError`.
    """
    use_runtime(settings.runtime)
    checkers = load_checkers(settings.checker, [name])
    try:
        if not checkers.needs_llm(name):
            yield checkers.over()[name]
            return
        wanted = settings.checker.llm.model or settings.upstreams[0].name
        upstream = next(upstream for upstream in settings.upstreams if upstream.name == wanted)
        if upstream.model in DESCRIPTIONS:
            raise ConfigError(
                f"{upstream.model} answers from the corpus and can't judge. Name an LLM under upstreams, "
                "and in checker.llm.model if it is not the first."
            )
        require_key(upstream)
        client = make_upstream(endpoint(upstream), upstream.client)
        try:
            yield checkers.over(Retrying(client, upstream.max_retries), upstream.name)[name]
        finally:
            await client.close()
    finally:
        checkers.close()
