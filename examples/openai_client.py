"""Asks one question and prints the cited reply with its references.

    python examples/openai_client.py [MODEL] [QUESTION]

The environment may name another server (OPENAI_BASE_URL) and a key for it (OPENAI_API_KEY).
"""

from __future__ import annotations

import os
import sys

from openai import OpenAI

BASE_URL = "http://127.0.0.1:8000/v1"
MODEL = "vouch/demo"
QUESTION = "When was the Eiffel Tower built, and how tall is it?"


def ask(model: str, question: str) -> None:
    client = OpenAI(
        base_url=os.environ.get("OPENAI_BASE_URL", BASE_URL), api_key=os.environ.get("OPENAI_API_KEY", "none")
    )
    response = client.chat.completions.create(model=model, messages=[{"role": "user", "content": question}])
    print(response.choices[0].message.content)

    # Fields that the SDK does not know are in `model_extra`; `response.references` reads them, too.
    extra = response.model_extra or {}
    for reference in extra.get("references", []):
        print(f"[{reference['n']}] {reference['title']} <{reference['url']}>")
        print(f"    “{reference['quote']}”")


if __name__ == "__main__":
    arguments = dict(enumerate(sys.argv))
    ask(arguments.get(1, MODEL), arguments.get(2, QUESTION))
