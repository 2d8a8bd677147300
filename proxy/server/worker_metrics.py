"""Metrics of several workers as one, by the files of prometheus-client's multiprocess mode.

Its counters and histograms are in those files by themselves, and stay when a worker ends. What is only asked
when Prometheus comes (gauges, the counters of caches) is not, so each worker mirrors it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

_Mode = Literal["livesum", "livemax", "livemin"]
_Labels = tuple[str, ...]
M = TypeVar("M", Gauge, Counter)

MODES: Mapping[str, _Mode] = {
    "vouch_queue_depth": "livesum",
    "vouch_requests_running": "livesum",
    "process_virtual_memory_bytes": "livesum",
    "process_resident_memory_bytes": "livesum",
    "process_open_fds": "livesum",
    "process_max_fds": "livemin",
    "process_start_time_seconds": "livemin",
}
"""How gauges of the workers become one; that of the others is the largest."""

_GONE = "vouch_index_info"
"""A gauge whose rows go away: a row with the value 0 is left out."""


class Mirror:
    """Puts what collectors tell into metrics that the workers share."""

    def __init__(self, collectors: Sequence[Collector]) -> None:
        self._collectors = collectors
        self._registry = CollectorRegistry()
        self._gauges: dict[str, Gauge] = {}
        self._counters: dict[str, Counter] = {}
        self._counted: dict[tuple[str, _Labels], float] = {}
        self._rows: dict[str, set[_Labels]] = {}

    def update(self) -> None:
        """Asks the collectors again."""
        for collector in self._collectors:
            for family in collector.collect():
                if family.type == "counter":
                    self._count(family)
                elif family.type == "gauge":
                    self._set(family)

    def _set(self, family: Metric) -> None:
        rows = self._rows.setdefault(family.name, set())
        now: set[_Labels] = set()
        for sample in family.samples:
            if family.name not in self._gauges:
                mode = MODES.get(family.name, "livemax")
                self._gauges[family.name] = Gauge(
                    family.name,
                    family.documentation,
                    tuple(sample.labels),
                    registry=self._registry,
                    multiprocess_mode=mode,
                )
            labels = tuple(sample.labels.values())
            now.add(labels)
            _row(self._gauges[family.name], labels).set(sample.value)
        for labels in rows - now:
            _row(self._gauges[family.name], labels).set(0)
        rows |= now

    def _count(self, family: Metric) -> None:
        for sample in family.samples:
            if not sample.name.endswith("_total"):
                continue
            if family.name not in self._counters:
                self._counters[family.name] = Counter(
                    family.name, family.documentation, tuple(sample.labels), registry=self._registry
                )
            labels = tuple(sample.labels.values())
            before = self._counted.get((family.name, labels), 0.0)
            self._counted[family.name, labels] = sample.value
            _row(self._counters[family.name], labels).inc(max(0.0, sample.value - before))


def _row(metric: M, labels: _Labels) -> M:
    return metric.labels(*labels) if labels else metric


class AllWorkers(Collector):
    """What all workers told, those that have ended included."""

    def __init__(self, folder: Path) -> None:
        self._all = MultiProcessCollector(None, str(folder))  # type: ignore[no-untyped-call]

    def collect(self) -> Iterable[Metric]:
        """Implements `Collector`."""
        for family in self._all.collect():  # type: ignore[no-untyped-call]
            if family.name == _GONE:
                family.samples = [sample for sample in family.samples if sample.value]
            yield family
