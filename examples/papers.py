"""The three papers' methods, from an unmodified OpenAI client, by options of the request alone.

    python examples/papers.py [MODEL]

- CEG: answer first, check every sentence against the corpus, re-prompt what fails.
- RefChecker: claims finer than sentences, held against the passages that the request brings along.
- CiteCheck: does an answer's own citation fully support what it cites it for?

The environment may name another server (OPENAI_BASE_URL) and a key for it (OPENAI_API_KEY).
"""

from __future__ import annotations

import os
import sys
from typing import Any

from openai import OpenAI

BASE_URL = "http://127.0.0.1:8000/v1"
MODEL = "vouch/demo"
QUESTION = "How deep is Lake Baikal, and how old is it?"
PASSAGES = (
    "Answer from these passages.\n\n"
    "[1] Lake Baikal is the deepest lake in the world: its greatest depth is 1,642 metres.\n\n"
    "[2] Lake Baikal is about 25 million years old, which makes it the oldest lake in the world."
)


def ceg(client: OpenAI, model: str) -> None:
    options = {"max_rounds": 2, "top_k": 5, "on_unsupported": "mark"}
    reply: Any = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": QUESTION}], extra_body={"vouch": options}
    )
    print("CEG:", reply.choices[0].message.content)
    print("  rounds:", reply.verification["rounds"])


def refchecker(client: OpenAI, model: str) -> None:
    options = {"granularity": "sub_sentence", "evidence": "request", "aggregation": "strict", "max_rounds": 0}
    reply: Any = client.chat.completions.create(
        model=model,
        messages=[{"role": "system", "content": PASSAGES}, {"role": "user", "content": QUESTION}],
        extra_body={"vouch": options},
    )
    print("RefChecker:", reply.choices[0].message.content)
    print("  verdict:", reply.verification["verdict"], reply.verification["shares"])
    for claim in reply.verification["claims"]:
        for part in claim.get("parts", [claim]):
            print("  -", part["verdict"], part["text"])


def citecheck(client: OpenAI) -> None:
    body = {
        "answer": "Lake Baikal is 1,642 metres deep.[1] Lake Baikal is about 25 million years old.[1]",
        "documents": [{"text": text} for text in PASSAGES.split("\n\n")[1:]],
    }
    report: Any = client.post("/citations/check", body=body, cast_to=object)
    print("CiteCheck: precision", report["citation_precision"], "recall", report["citation_recall"])
    for statement in report["statements"]:
        print("  -", statement["verdict"], statement["text"], "missing:", statement["missing_citations"])


if __name__ == "__main__":
    asked = OpenAI(
        base_url=os.environ.get("OPENAI_BASE_URL", BASE_URL), api_key=os.environ.get("OPENAI_API_KEY", "none")
    )
    name = sys.argv[1] if len(sys.argv) > 1 else MODEL
    ceg(asked, name)
    refchecker(asked, name)
    citecheck(asked)
