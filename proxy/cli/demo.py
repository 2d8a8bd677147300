"""`vouch demo`: indexes the example corpus, serves it and asks, all through the public interfaces."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from openai import OpenAI, OpenAIError
from openai.types.chat import ChatCompletionChunk
from rich.cells import cell_len
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from proxy.cli import index as index_command
from proxy.cli import smollm2
from proxy.cli.check import reference_line
from proxy.errors import ConfigError, VouchError

QUESTION = "How tall is the Eiffel Tower, and when was it completed?"
MODEL = "vouch/demo"
HOLD = {0: "every claim holds", 1: "one claim did not hold"}
MANY = "several claims did not hold"
ABOUT = {
    True: "{model} answers from the corpus and plants one error in its draft.",
    False: "{model} is a real, very small language model: it makes up much of what it says.",
}
"""By whether an error is planted."""
START_SECONDS = 60
ANSWER_SECONDS = 60


class DemoError(VouchError):
    """The demo failed: no server, no answer, or no correction to show."""


def run(question: str | None, console: Console | None = None, llm: str | None = None) -> None:
    """Indexes, serves, asks, prints. Raises `DemoError` if the planted error is not found and corrected.

    With `llm` a real model answers, which plants nothing: what Vouch finds in its answer is shown, whatever
    it is. Raises `ConfigError` where that model is not installed.
    """
    question = question or QUESTION
    console = console or Console(highlight=False, soft_wrap=True)
    with contextlib.ExitStack() as stack:
        options = ["--model", MODEL]
        if llm is not None:
            if smollm2.model_file() is None:
                raise ConfigError(f"{llm} is not installed: {smollm2.INSTALL}")
            options = ["--model", f"openai/{smollm2.NAME}", "--api-key", "none"]
            options += ["--api-base", stack.enter_context(llm_server())]
        _show(question, console, options, planted=llm is None)


def _show(question: str, console: Console, options: list[str], *, planted: bool) -> None:
    model = MODEL if planted else smollm2.NAME
    with tempfile.TemporaryDirectory(prefix="vouch-demo-") as folder:
        index = Path(folder) / "index"
        console.print(Rule("1. Index the example corpus", align="left"))
        index_command.run([str(corpus())], None, {"index": {"path": str(index)}}, strict=True)
        console.print(Rule("2. Serve it", align="left"))
        with server(index, *options) as base_url:
            console.print(f"An OpenAI-compatible server listens on {base_url}")
            page = base_url.removesuffix("v1")
            console.print(f"A page for browsers is at {page} while this runs; `vouch serve` keeps it up.")
            console.print(Rule("3. Ask, through the OpenAI SDK, streaming", align="left"))
            console.print(Text(f"({ABOUT[planted].format(model=model)})", "dim"))
            console.print(Text("You: ", "bold") + Text(question))
            finish = ask(Typewriter(console), base_url, question, model)
    console.print("\n")
    for reference in finish["references"]:
        console.print(reference_line(reference))
    console.print(Rule("4. What happened", align="left"))
    trace(console, finish["verification"])
    if planted:
        require_mended(console, finish["verification"])


def corpus() -> Path:
    """The folder of the example corpus: in the installed package, or in the source tree."""
    packaged = Path(str(files("proxy"))) / "data" / "corpus"
    source = Path(__file__).parents[2] / "examples" / "corpus"
    for folder in (packaged, source):
        if folder.is_dir():
            return folder
    raise ConfigError(f"The example corpus is missing: neither {packaged} nor {source} is there.")


@contextlib.contextmanager
def server(
    index: Path, *options: str, patience: float = START_SECONDS, settings: Mapping[str, str] | None = None
) -> Iterator[str]:
    """`vouch serve` in a process of its own, on a free port. Yields its base URL. Raises `DemoError` where it
    is not up after `patience` seconds. `settings` are environment variables."""
    command = [sys.executable, "-m", "proxy", "serve", "--index", str(index), "--port", "0", *options]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("VOUCH_")}
    environment |= {"COLUMNS": "200", "VOUCH_SERVER__LOG_LEVEL": "warning", **(settings or {})}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=index, env=environment) as process:
        alarm = threading.Timer(patience, process.kill)
        alarm.start()
        try:
            try:
                base_url = _base_url(process)
            finally:
                alarm.cancel()
            yield base_url
        finally:
            process.terminate()


@contextlib.contextmanager
def llm_server() -> Iterator[str]:
    """The model's own server in a process of its own. Yields its base URL."""
    command = [sys.executable, smollm2.__file__]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield _base_url(process)
        finally:
            process.kill()


def _base_url(process: subprocess.Popen[str]) -> str:
    for line in process.stdout or ():
        if address := re.search(r"http://\S+", line):
            return address.group()
    raise DemoError("The server did not start; what it said is above.")


class Typewriter:
    """Prints a text that comes in pieces; breaks lines between words, colours citation markers."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._column = 0

    def write(self, piece: str, style: str = "") -> None:
        """Prints one more piece."""
        for word in re.findall(r"\s+|\[\d+\]|[^\s\[]+|\[", piece):
            fits = self._column + cell_len(word) < self._console.width
            if not fits:
                self._console.print()
                self._column = 0
            if fits or not word.isspace():
                marked = re.fullmatch(r"\[\d+\]", word)
                self._console.print(Text(word, "cyan" if marked else style), end="")
                self._column += cell_len(word)


def ask(screen: Typewriter, base_url: str, question: str, model: str = MODEL) -> dict[str, Any]:
    """Prints the reply as it comes. Returns the fields that Vouch adds to the finish chunk."""
    client = OpenAI(base_url=base_url, api_key="none", timeout=ANSWER_SECONDS)
    finish: dict[str, Any] = {}
    screen.write(f"{model}: ", "bold")
    try:
        chunk: ChatCompletionChunk
        for chunk in client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": question}], stream=True
        ):
            for choice in chunk.choices:
                screen.write(choice.delta.content or "")
            if chunk.model_extra and "verification" in chunk.model_extra:
                finish = chunk.model_extra
    except OpenAIError as error:
        raise DemoError(f"The server did not answer: {error}") from error
    if not finish:
        raise DemoError("The stream ended without a verification.")
    return finish


def trace(console: Console, verification: dict[str, Any]) -> None:
    """Prints each round: the claims that failed, the evidence against them, and the outcome."""
    for number, attempt in enumerate(verification["attempts"], 1):
        failed = attempt["nonfactual"]
        console.print(Text(f"Round {number}: ", "bold") + Text(HOLD.get(len(failed), MANY)))
        for claim in failed:
            console.print(Text(f"  {claim['verdict']}: ", "bold red") + Text(claim["text"], "red"))
            if evidence := claim["evidence"]:
                quote = " ".join(evidence["quote"].split())
                console.print(Text(f"  against {evidence['title']}: ", "dim") + Text(f"“{quote}”", "green"))
            if claim["reason"]:
                console.print(Text(f"  because {claim['reason']}", "dim"))
    for step in verification["correction"]:
        asked = f"asked for {step['asked_for']}: {step['result'].replace('_', ' ')}"
        console.print(Text(f"Correction {step['round']}, {asked}", "dim"))


def require_mended(console: Console, verification: dict[str, Any]) -> None:
    """Says that the planted error was corrected. Raises `DemoError` if it was not."""
    first, last = verification["attempts"][0], verification["attempts"][verification["best"]]
    if not first["nonfactual"] or last["nonfactual"]:
        raise DemoError("The planted error was not caught and mended for this question. Try another.")
    console.print(Text("The error was caught and mended.", "bold green"))
