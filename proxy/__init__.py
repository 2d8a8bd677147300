"""Vouch: an OpenAI-compatible proxy that checks and cites every sentence an LLM says.

`proxy.public` lists what can be imported from here. It is loaded on first use: `import proxy` is instant.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from proxy.public import *  # noqa: F403
else:

    def __getattr__(name):
        import proxy.public

        if name in proxy.public.__all__:
            return getattr(proxy.public, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
