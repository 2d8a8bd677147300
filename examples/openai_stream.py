"""Asks one question and prints the cited reply as it comes, then its references and the verdicts.

    python examples/openai_stream.py [MODEL] [QUESTION]

The environment may name another server (OPENAI_BASE_URL) and a key for it (OPENAI_API_KEY).
"""

from __future__ import annotations

import os
import sys
from typing import Any

from openai import OpenAI

BASE_URL = "http://127.0.0.1:8000/v1"
MODEL = "vouch/demo"
QUESTION = "When did Apollo 11 land on the Moon, and who was its crew?"


def ask(model: str, question: str) -> None:
    client = OpenAI(
        base_url=os.environ.get("OPENAI_BASE_URL", BASE_URL), api_key=os.environ.get("OPENAI_API_KEY", "none")
    )
    chunks = client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": question}], stream=True
    )
    extra: dict[str, Any] = {}
    for chunk in chunks:
        for choice in chunk.choices:  # none in a usage chunk; no content in a heartbeat
            print(choice.delta.content or "", end="", flush=True)
            if choice.finish_reason:
                extra = chunk.model_extra or {}
    print()
    report(extra)


def report(extra: dict[str, Any]) -> None:
    """Prints what the finish chunk says beside the text: passages cited, and the verdict on each claim."""
    for reference in extra.get("references", []):
        print(f"[{reference['n']}] {reference['title']} <{reference['url']}>")
    if verification := extra.get("verification"):
        print(f"Verification: {verification['status']} after {verification['rounds']} re-prompt(s)")
        for claim in verification["claims"]:
            print(f"  {claim['verdict']:>13}  {claim['text']}")


if __name__ == "__main__":
    arguments = dict(enumerate(sys.argv))
    ask(arguments.get(1, MODEL), arguments.get(2, QUESTION))
