"""Builds the checkers, each with batching and a cache around it, from the settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from proxy.checkers.batching import Batching, MicroBatcher
from proxy.checkers.cache import Cached
from proxy.checkers.cascade import Cascade, LocalChecker, Step
from proxy.checkers.llm_checker import LLMChecker
from proxy.checkers.nli_sizes import default_size
from proxy.config.checker_settings import NEEDED, CheckerName
from proxy.config.checker_settings import Checker as CheckerSettings
from proxy.errors import ConfigError
from proxy.protocols import LLM, Checker
from proxy.types import Size


@dataclass(frozen=True, slots=True)
class Checkers:
    """The checkers that the settings describe. The local ones are loaded once, for all models."""

    settings: CheckerSettings
    local: Mapping[str, Checker]
    closing: Sequence[Callable[[], None]]

    def over(self, llm: LLM | None = None, llm_name: str = "") -> dict[str, Checker]:
        """All loaded checkers by name; with an LLM also those that ask one.

        `llm_name` keeps the cached judgements of different LLMs apart.
        """
        checkers: dict[str, Checker] = dict(self.local)
        if llm is not None:
            checkers["llm"] = self._llm(llm, llm_name)
        steps = self.settings.cascade.steps
        if steps and all(step.name in checkers for step in steps):
            checkers["cascade"] = Cascade([Step(checkers[step.name], *step.sure) for step in steps])
        return checkers

    def needs_llm(self, name: CheckerName) -> bool:
        """Whether that checker, or a step of the cascade, asks an LLM."""
        steps = [step.name for step in self.settings.cascade.steps]
        return "llm" in (steps if name == "cascade" else [name])

    def _llm(self, llm: LLM, name: str) -> Checker:
        options = self.settings.llm
        checker: Checker = LLMChecker(
            llm,
            prompt=options.prompt,
            claims_per_call=options.claims_per_call,
            concurrency=options.concurrency,
            timeout=options.timeout,
            params=options.params,
        )
        if options.claims_per_call > 1:
            checker = MicroBatcher(checker)
        key = ["llm", name, options.prompt, options.claims_per_call, options.params]
        version = json.dumps(key, default=str)
        return cached(checker, version, self.settings) if self.settings.cache_llm else checker

    def apart(self) -> Checkers:
        """The same checkers, each behind a cache of its own. Their threads end with the first ones."""
        local = {
            name: checker.apart() if isinstance(checker, Cached) else checker
            for name, checker in self.local.items()
        }
        return Checkers(self.settings, local, ())

    def close(self) -> None:
        """Ends the local checkers' threads."""
        for close in self.closing:
            close()


def load_checkers(settings: CheckerSettings, names: Sequence[CheckerName] | None = None) -> Checkers:
    """The checkers of those names, with the steps of a cascade; without `names` all that are configured.

    What a local checker needs (torch takes a second to import) is only imported for one that is named.

    Raises:
        ConfigError: a checker is not configured, or its model can't be loaded.
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
        for checker in made.values():
            checker.close()
        raise
    local: dict[str, Checker] = {
        name: cached(batched(checker, settings), checker.version, settings) for name, checker in made.items()
    }
    return Checkers(settings, local, [checker.close for checker in made.values()])


def nli_size(settings: CheckerSettings) -> Size:
    """The size that reads English claims: with `auto` the large one where its base model is installed."""
    options = settings.nli
    if options.size != "auto":
        return options.size
    return "base" if options.base_model is not None else default_size()


def batched(checker: Checker, settings: CheckerSettings) -> Checker:
    """The checker with the pairs of concurrent requests computed together, as configured."""
    return Batching(
        checker,
        wait=settings.batch_ms / 1000,
        max_pairs=settings.batch_pairs,
        max_waiting=settings.batch_waiting,
    )


def cached(checker: Checker, version: str, settings: CheckerSettings) -> Checker:
    """The checker behind a cache of judgements, as configured."""
    if not settings.cache_pairs:
        return checker
    return Cached(checker, version, max_pairs=settings.cache_pairs, max_chars=settings.cache_chars)


def _nli(settings: CheckerSettings) -> LocalChecker:
    from proxy.checkers.nli import packaged_checker

    return packaged_checker(nli_size(settings), settings.nli.base_model)


def _cross_encoder(settings: CheckerSettings) -> LocalChecker:
    from proxy.checkers.cross_encoder import CrossEncoderChecker

    return CrossEncoderChecker(**settings.cross_encoder.model_dump())


def _repc(settings: CheckerSettings) -> LocalChecker:
    from proxy.checkers.repc import RepCChecker

    return RepCChecker(**settings.repc.model_dump())


_LOCAL: Mapping[CheckerName, Callable[[CheckerSettings], LocalChecker]] = {
    "cross_encoder": _cross_encoder,
    "repc": _repc,
    "nli": _nli,
}
"""In loading order: first those whose settings can be wrong."""
