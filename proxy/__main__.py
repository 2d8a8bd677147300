"""The command line.

Signatures and help texts only. Each command's work is in its own module under `proxy.cli`, which is imported
when the command runs: torch alone takes a second to import, and `vouch --help` should answer at once.
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from proxy import __version__
from proxy.errors import RequestError, VouchError

# Those of the settings, which would take a second to import.
CheckerName = Literal["nli", "llm", "cross_encoder", "repc", "cascade"]
DenseChoice = Literal["auto", "exact", "ivf", "hnsw", "sq8", "fp16"]


class ScopeChoice(StrEnum):
    """The values of `vouch keys add --scope`. Typer has no lists of a `Literal`."""

    MODELS = "models"
    METRICS = "metrics"
    ADMIN = "admin"


app = typer.Typer(
    name="vouch",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""
An OpenAI-compatible proxy that checks and cites every sentence an LLM says against your own documents.

**Start:** `vouch index docs/ --out index`, then `vouch serve --index index --model openai/gpt-4o-mini`, then
point any OpenAI client's base URL at `http://127.0.0.1:8000/v1`. No key at hand? `vouch demo` shows it all.
""",
)

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        help="The settings file. Default: $VOUCH_CONFIG, or else ./config.yaml if it exists.",
    ),
]
CheckerOption = Annotated[CheckerName | None, typer.Option(help="Which checker decides. Default: nli.")]
IndexOption = Annotated[
    Path | None,
    typer.Option("--index", "-i", help="The folder that `vouch index` wrote to. Default: `index`."),
]


@app.callback(invoke_without_command=True)
def vouch(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Options of every command."""
    if version:
        typer.echo(f"vouch {__version__}")
        raise typer.Exit


@app.command()
def serve(
    config: ConfigOption = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The LLM that answers, by litellm's name: `openai/gpt-4o-mini`, `ollama/llama3.2`. "
            "`vouch/extractive` and `vouch/demo` need no LLM: they answer from the index. "
            "Replaces the upstreams of the settings file."
        ),
    ] = None,
    api_base: Annotated[str | None, typer.Option(help="The address of the LLM's server, with `/v1`.")] = None,
    api_key: Annotated[
        str | None, typer.Option(help="The key for the LLM. Safer in the environment: `OPENAI_API_KEY`, ….")
    ] = None,
    index: IndexOption = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on. Default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 picks a free one. Default: 8000.")] = None,
    workers: Annotated[
        int | None,
        typer.Option(help="Processes that serve the port, each with models of its own. Default: 1."),
    ] = None,
    checker: CheckerOption = None,
) -> None:
    """Serve `/v1/chat/completions` and the rest of the API.

    Examples:

    - `vouch serve` (as config.yaml says)

    - `vouch serve --model openai/gpt-4o-mini --index index`

    - `vouch serve --model openai/llama3.2 --api-base http://127.0.0.1:11434/v1 --index index --port 9000`
    """
    from proxy.cli import serve as command

    command.run(
        config,
        upstream=_given(model=model, api_base=api_base, api_key=api_key),
        overrides=_sections(
            server=_given(host=host, port=port, workers=workers),
            index=_given(path=index and str(index)),
            checker=_given(name=checker),
        ),
    )


@app.command("index")
def index_command(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            show_default=False,
            help="Files, folders with all in them, globs, or `-` for standard input. Formats: .txt .md "
            ".html .pdf .docx .jsonl (id, title, text, url) .csv .tsv and MediaWiki dumps (.xml, .xml.bz2).",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder to write the index to. Default: `index`.")
    ] = None,
    config: ConfigOption = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="Hub id or folder of an encoder other than the packaged all-MiniLM-L6-v2."),
    ] = None,
    words: Annotated[int | None, typer.Option(help="Words per passage, about. Default: 100.")] = None,
    dense: Annotated[
        DenseChoice | None,
        typer.Option(
            help="How vectors are searched: all of them, or by an index of FAISS. Default: auto, which is "
            "exact up to 100,000 passages, else ivf."
        ),
    ] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(
            help="Cut the vectors that an index of FAISS searches to their first dimensions (Matryoshka); "
            "what it finds is ranked again by whole vectors. Default: no cut."
        ),
    ] = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help="Read only files that have changed since the index was built, and write only what changed.",
        ),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail when a document can't be read.")] = False,
    store: Annotated[
        Literal["faiss", "milvus"] | None,
        typer.Option(
            help="Where the index is searched: `milvus` sends it to a Milvus server too "
            "(`retrieval.milvus.uri`). Default: faiss."
        ),
    ] = None,
    collection: Annotated[
        str | None, typer.Option(help="The index's name in Milvus. Default: `vouch`.")
    ] = None,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Where passages are encoded: in this process, or on a Ray cluster."),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(help="With `--engine ray`: HOST:PORT or `auto`. Default: a cluster on this machine."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="With `--engine ray`: how many workers encode. Default: 2."),
    ] = None,
) -> None:
    """Index documents, or update an index: only passages that changed are encoded again.

    An existing index stays in use until the new one is complete. You can stop this at any time.

    Examples:

    - `vouch index docs/ --out index`

    - `vouch index 'reports/**/*.pdf' notes.jsonl --out index --strict`

    - `vouch index docs/ --out index --update`
    """
    from index_builder.ray_engine import Cluster
    from proxy.cli import index as command

    overrides = _sections(
        index=_given(path=out and str(out), words=words, dense=dense, dimensions=dimensions),
        encoder=_given(model=encoder),
        retrieval=_sections(milvus=_given(collection=collection), **_given(store=store)),
    )
    if engine != "ray" and (address or workers):
        raise RequestError("--address and --workers are of a Ray cluster: add --engine ray.")
    cluster = Cluster(workers or 2, address) if engine == "ray" else None
    command.run(sources, config, overrides, update=update, strict=strict, cluster=cluster)


@app.command()
def watch(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", show_default=False, help="As for `vouch index`, without `-`."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder to write the index to. Default: `index`.")
    ] = None,
    config: ConfigOption = None,
    every: Annotated[
        float, typer.Option(min=0.1, max=86400, help="Seconds between two looks at the sources.")
    ] = 2.0,
) -> None:
    """Keep an index up to date: index the sources, and again whenever they change, until Ctrl-C.

    Files that are being written are waited for, for 30 seconds at most. A build that fails leaves the index
    as it was.

    Example: `vouch watch docs/ --out index`
    """
    from proxy.cli import watch as command

    command.run(sources, config, _sections(index=_given(path=out and str(out))), every)


@app.command()
def check(
    text: Annotated[
        str, typer.Argument(metavar="[TEXT | -]", help="The text to check; `-` reads it from standard input.")
    ] = "-",
    index: IndexOption = None,
    config: ConfigOption = None,
    question: Annotated[str, typer.Option("--question", "-q", help="The question that it answers.")] = "",
    checker: CheckerOption = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print content, references and verification as the API's JSON."),
    ] = False,
    cited: Annotated[
        bool, typer.Option("--cited", help="Check the text's own citations `[n]` against `--documents`.")
    ] = False,
    documents: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="The documents that `[1]`, `[2]`, … cite: a file, a folder (its files in sorted order), or "
            "a .jsonl file with `text` and optionally `number` in each line. Can be given several times.",
        ),
    ] = None,
) -> None:
    """Check a text against the index, and print what became of each claim, and why.

    On a terminal the text is coloured by verdict; elsewhere each claim is a line of plain text.

    The exit status is 3 if a claim is contradicted or unsupported, or, with `--cited`, if a statement is not
    fully supported by the documents that it cites. Otherwise it is 0.

    Examples:

    - `vouch check "The Eiffel Tower was completed in 1889." --index index`

    - `pbpaste | vouch check - --index index --json`

    - `vouch check --cited --documents sources/ "The Eiffel Tower was completed in 1889.[1]"`
    """
    if cited != bool(documents):
        raise RequestError(
            "Give both or neither: --cited checks citations, --documents says what they stand for."
        )
    overrides = _sections(index=_given(path=index and str(index)), checker=_given(name=checker))
    if documents:
        from proxy.cli import cited as cited_command

        cited_command.run(text, documents, config, overrides, question, as_json=json)
    else:
        from proxy.cli import check as command

        command.run(text, config, overrides, question, as_json=json)


@app.command()
def demo(
    question: Annotated[
        str | None, typer.Argument(help="The question to ask. Default: one that the example corpus answers.")
    ] = None,
    llm: Annotated[
        Literal["smollm2"] | None,
        typer.Option(help="Let a real language model answer: `smollm2`, if its packages are installed."),
    ] = None,
) -> None:
    """Show Vouch at work: index the example corpus, serve it, ask a question, print the cited reply.

    The model answers from the corpus and makes one error in its first draft, which Vouch finds and corrects.
    It needs no key and no download.
    """
    from proxy.cli import demo as command

    command.run(question, llm=llm)


@app.command("open")
def open_command(
    config: ConfigOption = None,
    host: Annotated[
        str | None, typer.Option(help="The address that the server listens on. Default: 127.0.0.1.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Its port. Default: 8000.")] = None,
) -> None:
    """Open the page of a server that runs: ask, check a text, search the index, look at the evidence.

    The address is printed too, for machines without a browser.
    """
    from proxy.cli import page as command

    command.run(config, _sections(server=_given(host=host, port=port)))


@app.command()
def audit(
    path: Annotated[
        Path | None, typer.Option(help="The audit record. Default: `audit.path` of the settings.")
    ] = None,
    config: ConfigOption = None,
    request: Annotated[str | None, typer.Option(help="The id of the request (`x-request-id`).")] = None,
    key: Annotated[str | None, typer.Option(help="The name of the key.")] = None,
    model: Annotated[str | None, typer.Option(help="The model's name.")] = None,
    index: Annotated[str | None, typer.Option(help="The generation of the index.")] = None,
    verdict: Annotated[
        str | None, typer.Option(help="A claim of the answer has this verdict: `contradicted`, say.")
    ] = None,
    evidence: Annotated[
        str | None, typer.Option(help="A claim was checked against the passage of this id.")
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="Question or answer has this text, if text is recorded (`audit.text`).")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="From this time on: `2026-11-23` or with `T20:15`.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Up to this time.")] = None,
    last: Annotated[int | None, typer.Option(min=1, help="Only so many, the newest.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the records as they were written.")] = False,
) -> None:
    """Search the record of checked answers (`audit` in the settings), its rotated files too.

    Examples:

    - `vouch audit --verdict contradicted --since 2026-11-01`

    - `vouch audit --request 3f2a… --json`
    """
    from proxy.cli import audit as command

    wanted = {"request": request, "key": key, "model": model, "index": index, "verdict": verdict}
    times = {"since": since, "until": until}
    command.run(path, config, last, as_json=json, evidence=evidence, text=text, **wanted, **times)


keys_app = typer.Typer(
    name="keys",
    no_args_is_help=True,
    help="""
Make, list and revoke the keys of clients, in a file that holds only their hashes (`server.key_file`).

A running server reads the file again when it has changed.
""",
)
app.add_typer(keys_app)

KeyFileOption = Annotated[
    Path | None, typer.Option("--file", "-f", help="The key file. Default: `server.key_file`.")
]


@keys_app.command("add")
def keys_add(
    name: Annotated[
        str, typer.Argument(help="Whose key it is: the name in logs, metrics and audit records.")
    ],
    scope: Annotated[
        list[ScopeChoice] | None,
        typer.Option(help="What the key may use; can be given several times. Default: `models`."),
    ] = None,
    index: Annotated[
        str | None, typer.Option(help="The index that it reads, one of `indexes`. Default: `index.path`.")
    ] = None,
    file: KeyFileOption = None,
    config: ConfigOption = None,
) -> None:
    """Make a key, and print it this once.

    Examples:

    - `vouch keys add team-a --file keys.jsonl`

    - `vouch keys add prometheus --scope metrics`
    """
    from proxy.cli import keys as command

    command.add(name, [str(each) for each in scope or (ScopeChoice.MODELS,)], file, config, index)


@keys_app.command("list")
def keys_list(file: KeyFileOption = None, config: ConfigOption = None) -> None:
    """Print name, scopes, date and the beginning of the hash of each key."""
    from proxy.cli import keys as command

    command.show(file, config)


@keys_app.command("revoke")
def keys_revoke(
    name: Annotated[str, typer.Argument(help="The name of the key.")],
    file: KeyFileOption = None,
    config: ConfigOption = None,
) -> None:
    """Take a key away: a running server refuses it within seconds."""
    from proxy.cli import keys as command

    command.revoke(name, file, config)


@app.command("config")
def config_command(config: ConfigOption = None) -> None:
    """Print the settings in effect, out of defaults, settings file and environment. Secrets are masked.

    Says behind them what `vouch serve` would refuse.
    """
    from proxy.cli import show_config as command

    settings = command.run(config)
    from proxy.cli.servable import require_servable  # a second of imports, when all is to be seen already

    require_servable(settings)


def main() -> NoReturn:
    """The `vouch` command. An error is one line on standard error and exit status 2."""
    if sys.stdin is None:  # it is closed: that is, empty
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # or a full disk shows only when the interpreter ends
    except VouchError as error:
        _fail(error.message)
    except BrokenPipeError:  # whoever read the output has seen enough
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _drop_output()
        _fail(f"{f'{error.filename}: ' if error.filename else ''}{error.strerror or error}.")
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)


def _fail(message: str) -> NoReturn:
    Console(stderr=True, soft_wrap=True).print(f"[bold red]vouch:[/] {escape(message)}")
    sys.exit(2)


def _drop_output() -> None:
    """What could not be printed is not tried again when the interpreter ends."""
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123 - no path of ours
        os.dup2(nothing.fileno(), 1)


def _given(**options: Any) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def _sections(**sections: dict[str, Any]) -> dict[str, Any]:
    return {name: section for name, section in sections.items() if section}


if __name__ == "__main__":
    main()
