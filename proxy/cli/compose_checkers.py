"""Settings to checkers."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from proxy.checkers.batching import Batching
from proxy.checkers.cache import Cached
from proxy.checkers.cascade import Cascade, Step
from proxy.checkers.llm_checker import LLMChecker
from proxy.checkers.micro_batching import MicroBatcher
from proxy.config.checker_settings import NEEDED, CheckerName
from proxy.config.checker_settings import Checker as CheckerSettings
from proxy.errors import ConfigError
from proxy.protocols import LLM, Checker


class LocalChecker(Checker, Protocol):
    """A checker that computes in this process, on a thread of its own."""

    @property
    def version(self) -> str:
        """What its judgements depend on besides the pair."""
        ...

    def close(self) -> None:
        """Ends the thread."""
        ...


@dataclass(frozen=True, slots=True)
class Checkers:
    """The checkers that the settings describe. The local ones are loaded once, for all models."""

    settings: CheckerSettings
    local: Mapping[str, Checker]
    closing: Sequence[Callable[[], None]]

    def over(self, llm: LLM | None = None, llm_name: str = "") -> dict[str, Checker]:
        """By name every checker that is loaded, and, over an LLM, those that ask one.

        `llm_name` tells LLMs apart where their answers are kept.
        """
        found: dict[str, Checker] = dict(self.local)
        if llm is not None:
            found["llm"] = self._llm(llm, llm_name)
        steps = self.settings.cascade.steps
        if steps and all(step.name in found for step in steps):
            found["cascade"] = Cascade([Step(found[step.name], *step.sure) for step in steps])
        return found

    def _llm(self, llm: LLM, name: str) -> Checker:
        asked = self.settings.llm
        checker: Checker = LLMChecker(
            llm,
            prompt=asked.prompt,
            claims_per_call=asked.claims_per_call,
            concurrency=asked.concurrency,
            timeout=asked.timeout,
            params=asked.params,
        )
        if asked.claims_per_call > 1:
            checker = MicroBatcher(checker)
        version = json.dumps(["llm", name, asked.prompt, asked.claims_per_call, asked.params], default=str)
        return cached(checker, version, self.settings) if self.settings.cache_llm else checker

    def close(self) -> None:
        """Ends the local checkers' threads."""
        for close in self.closing:
            close()


def load_checkers(settings: CheckerSettings, names: Sequence[CheckerName] | None = None) -> Checkers:
    """The checkers of those names, of a cascade its steps; without `names` all that are configured.

    What a local checker needs (torch takes a second to import) is only imported for one that is named.
    Raises `ConfigError`.
    """
    wanted: set[CheckerName] = set(settings.configured if names is None else names)
    for name in sorted(wanted):
        if name not in settings.configured:
            raise ConfigError(f"The checker {name} is not configured: set {NEEDED[name]}.")
    if "cascade" in wanted:
        wanted |= {step.name for step in settings.cascade.steps}
    made: dict[CheckerName, LocalChecker] = {}
    try:
        for name, make in _LOCAL.items():
            if name in wanted:
                made[name] = make(settings)
    except ConfigError:
        for one in made.values():
            one.close()
        raise
    local: dict[str, Checker] = {
        name: cached(batched(one, settings), one.version, settings) for name, one in made.items()
    }
    return Checkers(settings, local, [one.close for one in made.values()])


def batched(checker: Checker, settings: CheckerSettings) -> Checker:
    """The checker with concurrent requests' pairs joined, as configured."""
    return Batching(
        checker,
        wait=settings.batch_ms / 1000,
        max_pairs=settings.batch_pairs,
        max_waiting=settings.batch_waiting,
    )


def cached(checker: Checker, version: str, settings: CheckerSettings) -> Checker:
    """The checker with its judgements kept, as configured."""
    if not settings.cache_pairs:
        return checker
    return Cached(checker, version, max_pairs=settings.cache_pairs, max_chars=settings.cache_chars)


def _builtin(_: CheckerSettings) -> LocalChecker:
    module = importlib.import_module("proxy.checkers.builtin.checker")
    checker: LocalChecker = module.BuiltinChecker()
    return checker


def _cross_encoder(settings: CheckerSettings) -> LocalChecker:
    module = importlib.import_module("proxy.checkers.cross_encoder")
    checker: LocalChecker = module.CrossEncoderChecker(**settings.cross_encoder.model_dump())
    return checker


def _repc(settings: CheckerSettings) -> LocalChecker:
    module = importlib.import_module("proxy.checkers.repc")
    checker: LocalChecker = module.RepCChecker(**settings.repc.model_dump())
    return checker


_LOCAL: Mapping[CheckerName, Callable[[CheckerSettings], LocalChecker]] = {
    "cross_encoder": _cross_encoder,
    "repc": _repc,
    "builtin": _builtin,
}
"""In the order in which they are loaded: those first that settings can get wrong."""
