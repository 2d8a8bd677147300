"""Python commands in processes of their own that need not import their libraries again.

Each is forked from a process that has imported what takes long, and nothing else. Beyond that it is what
`python -m MODULE` is: its own arguments, environment, folder, standard streams and exit code.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

PRELOADED = [
    "nltk.tokenize.punkt",
    "sentence_transformers",
    "torch._dynamo",
    "transformers.models.auto.modeling_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.mpnet.modeling_mpnet",
    "faiss",
    "uvicorn",
    "proxy.cli.compose",
    "index_builder.build",
]
STREAMS = ("stdin", "stdout", "stderr")
READ_AT_IMPORT = ("HF_", "OMP_", "PYTHON", "TRANSFORMERS_")
"""Beginnings of environment variables that count when a library, or Python, begins."""


def run(
    module: str, *arguments: str, folder: Path, env: Mapping[str, str], stdin: str = "", timeout: float = 280
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` with `[sys.executable, "-m", module, *arguments]`."""
    differs = {key for key in {*env, *os.environ} if env.get(key) != os.environ.get(key)}
    # Outside Linux a fork may break what the libraries have begun.
    if sys.platform != "linux" or any(key.startswith(READ_AT_IMPORT) for key in differs):
        return subprocess.run(
            [sys.executable, "-m", module, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=folder,
            env=env,
            timeout=timeout,
        )
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with tempfile.TemporaryDirectory() as name:
        streams = Path(name)
        (streams / "stdin").write_text(stdin, encoding="utf-8")
        process = context.Process(target=_run, args=(module, arguments, folder, dict(env), streams))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired([module, *arguments], timeout)
        said, failed = ((streams / name).read_text(encoding="utf-8") for name in STREAMS[1:])
    return subprocess.CompletedProcess([module, *arguments], process.exitcode, said, failed)


def _run(module: str, arguments: tuple[str, ...], folder: Path, env: dict[str, str], streams: Path) -> None:
    for number, name in enumerate(STREAMS):
        file = os.open(streams / name, os.O_RDWR | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.argv = ["-m", *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
