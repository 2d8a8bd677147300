"""What asking an LLM came to: calls, tokens, and what they cost by litellm's price list."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any

from proxy.types import Usage

_DOLLAR_DIGITS = 6


@dataclass(slots=True)
class Meter:
    """Counts of one command's calls, filled while it runs.

    `calls` were answered by the model, `cached` from the disk, `failed` not at all. `usage` is of the first,
    `saved` of the second: what the cached answers had cost when they were asked for.
    """

    model: str
    calls: int = 0
    cached: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)
    saved: Usage = field(default_factory=Usage)

    def as_json(self) -> dict[str, Any]:
        """The counts, and in dollars what this run and the answers on disk cost; null without a price."""
        return {
            "model": self.model,
            "calls": self.calls,
            "cached": self.cached,
            "failed": self.failed,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cost": cost(self.model, self.usage),
            "cached_cost": cost(self.model, self.saved),
        }

    def as_markdown(self) -> str:
        """The same as a sentence."""
        price = cost(self.model, self.usage)
        spent = f"${price:.4f}" if price is not None else "at a price that litellm does not know"
        failed = f", {self.failed:,} failed" if self.failed else ""
        tokens = f"{self.usage.prompt_tokens:,} + {self.usage.completion_tokens:,} tokens"
        return (
            f"\n`{self.model}`: {self.calls:,} calls ({tokens}, {spent}), "
            f"{self.cached:,} answers from the disk{failed}.\n"
        )


def cost(model: str, usage: Usage) -> float | None:
    """Dollars, by litellm's name of the model; None for one that its price list does not have.

    A server of one's own that calls its model by a name of OpenAI's is priced as OpenAI's. litellm (2 s to
    import) is only asked where there is something to price.
    """
    if usage == Usage():
        return 0.0
    importlib.import_module("proxy.upstream.litellm_client")  # it keeps litellm from fetching its list
    try:
        asked, said = importlib.import_module("litellm").cost_per_token(
            model=model, prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens
        )
    except Exception:  # of several kinds, all of which say that it has no price
        return None
    return round(float(asked + said), _DOLLAR_DIGITS)
