"""What Prometheus can ask about the server. The middleware puts in what each request was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from proxy.aio import Ending, Gate
from proxy.checkers.batching import Batching
from proxy.checkers.cache import Cached
from proxy.server.audit_log import AuditLog
from proxy.server.reload import Reloader
from proxy.server.worker_group import WorkerGroup
from proxy.server.worker_metrics import AllWorkers, Mirror

PREFIX = "vouch_"
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320)

COUNTERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "vouch_claims": ("Claims of replies, by verdict.", ("verdict",)),
    "vouch_unverified": ("Claims that could not be checked, by the reason.", ("reason",)),
    "vouch_checked_pairs": ("Pairs of a claim and its evidence that a checker was asked about.", ()),
    "vouch_corrections": ("Corrections, by what was asked for and what came of it.", ("asked_for", "result")),
    "vouch_upstream_errors": ("Failed calls of upstreams, by kind.", ("kind",)),
    "vouch_tokens": ("Tokens of upstreams, by purpose.", ("purpose", "kind")),
    "vouch_verified_replies": ("Checked replies, by status.", ("status",)),
}
"""Counters that requests fill by `Asker.counts`, each with its labels besides the model."""


class Metrics:
    """The metrics of one application, in a registry of their own.

    Args:
        reloaders: by the names of their indexes.
        group: the workers that count together; None where this process is the only one.
    """

    def __init__(
        self,
        reloaders: Mapping[str, Reloader],
        gate: Gate,
        ending: Ending,
        audit: AuditLog | None = None,
        group: WorkerGroup | None = None,
    ) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "vouch_requests",
            "Requests, by route, status and the name of the key.",
            ("route", "status", "key"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "vouch_request_seconds",
            "Seconds from a request to the end of its answer.",
            ("route",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.phases = Histogram(
            "vouch_phase_seconds",
            "Seconds that a request spent in a phase, parallel calls added up.",
            ("phase",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.waits = Histogram(
            "vouch_queue_seconds",
            "Seconds that a request waited for its place.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.counters = {
            name: Counter(name, text, ("model", *labels), registry=self.registry)
            for name, (text, labels) in COUNTERS.items()
        }
        collectors = [
            _State(reloaders, gate, ending),
            _Index(reloaders),
            _Checkers(reloaders),
            *([_Audit(audit)] if audit is not None else []),
            ProcessCollector(registry=None),
        ]
        self._mirror = Mirror(collectors) if group else None
        if group:
            self.registry = CollectorRegistry()
            self.registry.register(AllWorkers(group.folder))
        else:
            for collector in collectors:
                self.registry.register(collector)

    def refresh(self) -> None:
        """Where there are several workers: tells the others what this one's gauges are now."""
        if self._mirror is not None:
            self._mirror.update()


class _State(Collector):
    """What the server is at."""

    def __init__(self, reloaders: Mapping[str, Reloader], gate: Gate, ending: Ending) -> None:
        served = reloaders.values()
        self._gauges: Mapping[str, tuple[str, Callable[[], float]]] = {
            "vouch_queue_depth": ("Requests that wait for a place.", lambda: gate.waiting),
            "vouch_requests_running": ("Requests that hold a place.", lambda: gate.running),
            "vouch_index_passages": (
                "Passages of all indexes.",
                lambda: sum(len(each.context.passages) for each in served),
            ),
            "vouch_index_stale": (
                "1 while an index was rebuilt and the new one can't be used.",
                lambda: float(any(each.failure for each in served)),
            ),
            "vouch_draining": ("1 while the server is being stopped.", lambda: float(ending.draining)),
        }

    def collect(self) -> Iterable[Metric]:
        """Implements `Collector`."""
        for name, (text, value) in self._gauges.items():
            yield GaugeMetricFamily(name, text, value())


class _Index(Collector):
    """The indexes that are served, and how often they were loaded again."""

    def __init__(self, reloaders: Mapping[str, Reloader]) -> None:
        self._reloaders = reloaders

    def collect(self) -> Iterable[Metric]:
        """Implements `Collector`."""
        several = ["index"] if len(self._reloaders) > 1 else []
        served = GaugeMetricFamily(
            "vouch_index_info", "The indexes that are served.", labels=["generation", *several]
        )
        for name, reloader in self._reloaders.items():
            served.add_metric([reloader.context.generation, name][: 1 + len(several)], 1)
        yield served
        reloads = CounterMetricFamily(
            "vouch_index_reloads", "How often a rebuilt index was loaded, by result.", labels=["result"]
        )
        for result in ("reloaded", "failed"):
            reloads.add_metric([result], sum(each.results[result] for each in self._reloaders.values()))
        yield reloads


class _Audit(Collector):
    """What became of audit records."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit

    def collect(self) -> Iterable[Metric]:
        """Implements `Collector`."""
        family = CounterMetricFamily("vouch_audit_records", "Audit records, by result.", labels=["result"])
        for result in ("written", "lost"):
            family.add_metric([result], self._audit.results[result])
        yield family


class _Checkers(Collector):
    """Hits and misses of the caches of judgements, and what local checkers computed at once."""

    def __init__(self, reloaders: Mapping[str, Reloader]) -> None:
        self._reloaders = reloaders

    def collect(self) -> Iterable[Metric]:
        """Implements `Collector`."""
        models = (model for each in self._reloaders.values() for model in each.context.models.values())
        checkers = [checker for model in models for checker in model.checkers.values()]
        caches = {id(checker): checker for checker in checkers if isinstance(checker, Cached)}
        family = CounterMetricFamily("vouch_cache", "Judgements that were looked up.", labels=["result"])
        family.add_metric(["hit"], sum(cache.hits for cache in caches.values()))
        family.add_metric(["miss"], sum(cache.misses for cache in caches.values()))
        yield family
        found = (checker.inner if isinstance(checker, Cached) else checker for checker in checkers)
        batching = {id(each): each for each in found if isinstance(each, Batching)}.values()
        for name, text, value in (
            ("batches", "Batches that local checkers computed.", sum(each.batches for each in batching)),
            ("batch_pairs", "Pairs in these batches.", sum(each.pairs for each in batching)),
            ("batch_seconds", "Seconds that these batches took.", sum(each.seconds for each in batching)),
        ):
            yield CounterMetricFamily(f"vouch_checker_{name}", text, value)
