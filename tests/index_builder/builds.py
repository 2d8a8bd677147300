"""Builds in child processes, to be killed: `python -m tests.index_builder.builds OUT SOURCE SOURCE`.

For each number read from standard input, a child starts to build OUT out of the sources in turn and is killed
after that many seconds. Says `ready` first, then of each child `killed`, or how many seconds it took and its
exit status. Children are forked, so that they begin to build at once, tables loaded; nothing here has started
a thread before.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from itertools import cycle
from pathlib import Path

from index_builder.build import build
from index_builder.documents import Document
from proxy.retrieval.chunks import chunk
from tests.encoders import HashingEncoder


def main(out: Path, sources: list[str]) -> None:
    """Until standard input ends."""
    chunk(Document("d", "Warm", "The tokenizer's table and Punkt are loaded once."))
    print("ready", flush=True)
    for line, source in zip(sys.stdin, cycle(sources), strict=False):
        child = os.fork()
        if child == 0:
            build([source], out, encoder=HashingEncoder())
            os._exit(0)
        start = time.monotonic()
        deadline = start + float(line)
        ended, status = 0, 0
        while not ended and time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.0005)
        if not ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        took = time.monotonic() - start
        print("killed" if os.WIFSIGNALED(status) else f"{took} {os.WEXITSTATUS(status)}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
