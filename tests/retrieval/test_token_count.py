"""Token counts with no download."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from proxy.retrieval.chunks import count_tokens


@pytest.mark.parametrize(("text", "count"), [("", 0), ("Tin melts.", 4), ("<|endoftext|>", 7)])
def test_tokens_are_counted_and_special_ones_are_text(text: str, count: int) -> None:
    assert count_tokens(text) == count


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if "CACHE_DIR" not in name}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment | variables, capture_output=True, text=True, check=False
    )


def test_the_bundled_table_is_found_without_importing_litellm() -> None:
    done = run(
        "import os, socket, sys\n"
        "def refuse(*args): raise OSError('no network')\n"
        "socket.socket.connect = refuse\n"
        "from proxy.retrieval.chunks import count_tokens\n"
        "print(count_tokens('Tin melts.'), 'litellm' in sys.modules, os.environ['TIKTOKEN_CACHE_DIR'])"
    )
    assert done.stdout.startswith("4 False "), done.stderr
    assert "litellm_core_utils" in done.stdout


def test_a_missing_table_is_one_clear_error(tmp_path: object) -> None:
    done = run(
        "import socket\n"
        "def refuse(*args): raise OSError('no network')\n"
        "socket.getaddrinfo = refuse\n"
        "from proxy.retrieval.chunks import count_tokens\n"
        "from proxy.errors import ConfigError\n"
        "try: count_tokens('x')\n"
        "except ConfigError as error: print(error.message)",
        TIKTOKEN_CACHE_DIR=str(tmp_path),
        NO_PROXY="*",
        HTTPS_PROXY="",
    )
    assert "cl100k_base can't be loaded" in done.stdout, done.stderr
    assert "TIKTOKEN_CACHE_DIR" in done.stdout
