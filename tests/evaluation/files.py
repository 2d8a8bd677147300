"""Small files of rows and passages, of the tests' own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.scripted_upstream import Upstream

TOWNS = (
    "Alder Birch Cedar Dogwood Elm Fir Ginkgo Hazel Juniper Larch Maple Olive Poplar Rowan Spruce Willow "
    "Aspen Beech Cypress Hickory Linden Magnolia Palm Sequoia Teak Walnut Yew Acacia Balsam Ebony"
).split()


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """A JSON Lines file."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def judge_config(folder: Path, upstream: Upstream) -> Path:
    """Settings whose LLM is the tests' upstream, asked one pair at a time."""
    path = folder / "config.yaml"
    path.write_text(
        f"upstreams:\n  - {{model: openai/judge, api_base: {upstream.url}, api_key: k, max_retries: 0}}\n"
        "checker:\n  llm: {prompt: refchecker, concurrency: 1}\n",
        encoding="utf-8",
    )
    return path


def town_rows(wrong: str = "not_supported") -> list[dict[str, str]]:
    """Two claims about each of ten towns: the first is borne out, the second has another number."""
    return [
        {
            "claim": f"The town of {name} has {at + 20 + shift} mills.",
            "evidence": f"Title: {name}\n\nThe town of {name} has {at + 20} mills. It lies on a river.",
            "label": label,
        }
        for at, name in enumerate(TOWNS[:10])
        for label, shift in (("supported", 0), (wrong, 300))
    ]


def town_passages() -> list[dict[str, str]]:
    """Passages of 60 titles."""
    return [
        {
            "title": f"{name} {place}",
            "text": f"The {place} near {name} was built by the engineer James {name} in {1820 + at}. "
            f"The {name} {place} was rebuilt after a fire in March {1900 + at}. "
            f"The walls of the {name} {place} are {at + 11} metres high.",
        }
        for at, name in enumerate(TOWNS)
        for place in ("bridge", "castle")
    ]
