"""Serves an index while it is rebuilt, and asks without a pause: half of `benchmarks.kills --serve`.

    python -m benchmarks.kills_served --index DIR

It watches the folder every 50 ms and prints a line once it serves. Chats go over HTTP, and their replies are
checked; searches ask for all passages. It stops when its standard input ends, and prints one JSON object.
What counts as wrong: an answer that is not 200, a chat without a citation, an answer with passages of two
versions of the documents, or an index that could not be used. Nothing is computed by a model: vectors are
hashes, and the checker compares words.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from benchmarks.gateways_servers import free_port, running
from benchmarks.scale_build import Hashes
from proxy.cli.compose import Library, make_backends, with_others
from proxy.cli.compose_checkers import Checkers
from proxy.config.load import validate
from proxy.retrieval import open_corpus, search_thread
from proxy.retrieval.index_files import open_index
from proxy.server.app import create_app
from proxy.types import Judgement, Pair, Verdict

MOST = 100
"""Passages that a search may ask for."""


class SameWords:
    """`protocols.Checker`: a claim is supported by evidence that says it word for word."""

    async def check(self, pairs: Sequence[Pair]) -> Sequence[Judgement]:
        """One judgement per pair, in order."""
        return [
            Judgement(Verdict.SUPPORTED if pair.claim.strip() in pair.evidence else Verdict.UNSUPPORTED, 1.0)
            for pair in pairs
        ]


@contextlib.contextmanager
def served(out: Path, upstream: str) -> Iterator[str]:
    """The address of a server over the index, which watches it, before that upstream."""
    settings = validate(
        {
            "index": {"path": str(out), "watch": 0.05},
            "upstreams": [{"model": "openai/bench", "api_base": upstream, "api_key": "none"}],
            "retrieval": {"mode": "lexical"},
            "limits": {"options": {"top_k": MOST}},
        }
    )
    index = open_index(out)
    searching = search_thread()
    library = Library(open_corpus(index), Hashes(), searching, index.manifest.generation, out)
    backends = make_backends(settings, library, Checkers(settings.checker, {"nli": SameWords()}, []))
    app = create_app(with_others(backends, backends.over(library.corpus, library.generation)), settings)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread_of_server = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread_of_server.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread_of_server.join()
            searching.shutdown()


class Client:
    """Asks, and counts what came of it."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        self.counted: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.generations: set[str] = set()

    def ask(self, number: int) -> None:
        """A chat, a search, and whether the server is ready."""
        texts = self._chat(number)
        self._same_version("chat", texts)
        body = self._answer("POST", "/v1/search", {"query": "document", "top_k": MOST})
        self._same_version("search", [hit["text"] for hit in body.get("data", [])])
        ready = self._answer("GET", "/readyz")
        self.generations.add(ready.get("index", {}).get("generation", ""))
        if ready.get("index", {}).get("stale"):
            self.wrong.append(f"an index could not be used: {ready}")

    def _chat(self, number: int) -> list[str]:
        reply = " ".join(f"Document {number + each} is old." for each in range(3))
        messages = [{"role": "user", "content": json.dumps({"reply": reply})}]
        asked = {"messages": messages, "vouch": {"max_rounds": 0}}
        body = self._answer("POST", "/v1/chat/completions", asked)
        texts = [reference["text"] for reference in body.get("references", [])]
        if not texts:
            self.wrong.append(f"a chat without a citation: {json.dumps(body)[:300]}")
        return texts

    def _answer(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        content = json.dumps(body) if body is not None else None
        self._connection.request(method, path, content, {"content-type": "application/json"})
        response = self._connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
        self.counted[path] += 1
        if response.status != 200:
            self.wrong.append(f"{path}: {response.status}: {json.dumps(answer)[:300]}")
        return answer

    def _same_version(self, what: str, texts: Sequence[str]) -> None:
        """What `benchmarks.kills` writes: in the second version each twentieth document is changed."""
        numbered = {text: int(text.split()[1]) for text in texts}
        twentieth = {text.split()[-1] for text, number in numbered.items() if not number % 20}
        if len(twentieth) > 1 or any("changed" in text for text, number in numbered.items() if number % 20):
            self.wrong.append(f"a {what} over two versions: {sorted(texts)}")


def main() -> None:
    """Serves and asks until standard input ends."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills_served")
    parser.add_argument("--index", type=Path, required=True)
    over = threading.Event()

    def read() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=read, daemon=True).start()
    out, port = parser.parse_args().index, free_port()
    upstream = [sys.executable, "-m", "benchmarks.faulty_upstream", "--port", str(port)]
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder), "upstream", upstream, port) as bad,
        served(out, bad.url) as address,
    ):
        client = Client(address)
        print("serving", flush=True)
        number = 0
        while not over.is_set():
            number += 1
            client.ask(number % 40 + 10)
        time.sleep(1)  # the last version is found
        client.ask(20)
    figures = {
        "asked": client.counted,
        "generations served": len(client.generations),
        "wrong": client.wrong[:20],
    }
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
