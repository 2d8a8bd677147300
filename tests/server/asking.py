"""Asking a Vouch server through the OpenAI SDK and curl, and looking at what it says."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from openai import OpenAI
from openai.types.chat import ChatCompletion

from proxy.citations.history import notice_span
from proxy.types import WARNING

QUESTION = "What do you know about the Eiffel Tower?"


def ask(client: OpenAI, question: str = QUESTION, model: str = "test", **vouch: Any) -> ChatCompletion:
    messages: Any = [{"role": "user", "content": question}]
    return client.chat.completions.create(model=model, messages=messages, extra_body={"vouch": vouch})


def extra(completion: ChatCompletion) -> dict[str, Any]:
    assert completion.model_extra is not None
    return completion.model_extra


def verdicts(completion: ChatCompletion) -> list[str]:
    return [claim["verdict"] for claim in extra(completion)["verification"]["claims"]]


def check_offsets(completion: ChatCompletion, draft: str) -> None:
    """Every offset is right, and without what Vouch put in the content is the draft."""
    content = completion.choices[0].message.content
    assert content is not None
    references, verification = extra(completion)["references"], extra(completion)["verification"]
    for claim in verification["claims"]:
        assert content[claim["start"] : claim["end"]] == claim["text"]
    spans = sorted({(*span, reference["n"]) for reference in references for span in reference["spans"]})
    bare = content
    for start, end, n in reversed(spans):
        assert content[start:end] == f"[{n}]"
        bare = bare[:start] + bare[end:]
    ending = notice_span(bare, [WARNING])
    bare = bare[: ending[0]] if ending else bare
    assert bare.replace(WARNING, "").replace(WARNING.lstrip(), "") == draft
    annotations = completion.choices[0].message.annotations or []
    assert [a.url_citation.url for a in annotations] == [r["url"] for r in references]
    for annotation, reference in zip(annotations, references, strict=True):
        citation = annotation.url_citation
        assert [citation.start_index, citation.end_index] == reference["spans"][0]
        assert citation.title == reference["title"]
        assert (reference["n"], bool(reference["url"]), bool(reference["title"])) == (
            references.index(reference) + 1,
            True,
            True,
        )


def curl(url: str, body: Any, *options: str) -> tuple[int, dict[str, str], Any]:
    """Status, headers (lower case) and JSON body."""
    command = ["curl", "-s", "-i", "--max-time", "30", *options, "-H"]
    command.append("content-type: application/json")
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    done = subprocess.run([*command, "--data-binary", "@-", url], input=data, capture_output=True, check=True)
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    while head.startswith(b"HTTP/1.1 100"):
        head, _, content = content.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(first.split()[1]), headers, json.loads(content)
