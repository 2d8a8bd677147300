"""Drafts to test with: real replies where the machine has them, and generated Markdown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import strategies as st

DATA = Path(__file__).parents[1] / "../shared/data"

_WORDS = st.sampled_from(
    """
    Paris Tolkien 1976 3.5 $5 $10 the of is e.g. Dr. U.S. it's a_b snake_case 北京 首都 是 很大 items[0] a[1]
    x * _ ** ` [link](http://a.b/c_(d)) ![i](x.png) `code. x[1]` $x^2.$ $$y=1.$$ \\(a_1\\) <b>bold.</b> <br>
    https://x.com/a?b=c. (https://y.z) <http://a.b> **bold.** *em!* __u.__ ~~del~~ [1] [2][3] [1,2] 【4】 [^1]
    [[1](http://u.v/w)] (see [x] [ ] "quoted." “引用。” （括号。） \\* \\[ $ | [a [b](c.d)](e.f)
    """.split()
)
_STOPS = st.sampled_from([". ", "。", "! ", "？", "；", "……", ": ", ", ", " ", " ", ".", "\n", "  \n"])
_TEXT = st.lists(st.tuples(_WORDS, _STOPS), min_size=1, max_size=8).map(
    lambda pairs: "".join(word + stop for word, stop in pairs)
)
_BLOCKS = st.sampled_from(
    [
        "{}\n",
        "- {}\n",
        "  * {}\n",
        "1. {}\n",
        "2.{}\n",
        "（1）{}\n",
        "- [ ] {}\n",
        "> {}\n",
        "> - {}\n",
        "# {}\n",
        "| A | {} |\n|---|:-:|\n| {} | b |\n| c | {} |\n",
        "A | {}\n--|--\n{} | d\n",
        "```\n{}\n```\n",
        "```py\n{}\n",
        "    {}\n",
        "$$\n{}\n$$\n",
        "\\[\n{}\n\\]\n",
        "[^1]: {}\n",
        "[1]: http://a.b {}\n",
        "[1] {}\n",
        "<!-- {} -->\n",
        "---\n",
        "{}\n===\n",
    ]
)


@st.composite
def drafts(draw: st.DrawFn) -> str:
    """A few blocks of Markdown, apart by a line end or a blank line."""
    parts = []
    for _ in range(draw(st.integers(1, 5))):
        block = draw(_BLOCKS)
        parts.append(block.format(*(draw(_TEXT) for _ in range(block.count("{}")))))
    return draw(st.sampled_from(["", "\n"])).join(parts)


def real_replies() -> list[str]:
    """184 answers of ChatGPT and 377 of GPT-3.5; skips the test where they are absent."""
    folder = DATA / "papers"
    if not folder.is_dir():
        pytest.skip("the papers' data are not on this machine")
    felm = json.loads((folder / "ceg_felm_wk_top10.json").read_text("utf-8"))
    halueval = json.loads((folder / "ceg_halueval_377.json").read_text("utf-8"))
    replies = [row["answer"] for row in felm] + [row["text"] for row in halueval]
    return [reply for reply in dict.fromkeys(replies) if isinstance(reply, str)]


def chinese_replies() -> list[str]:
    """Answers of a Chinese RAG system; skips the test where they are absent."""
    path = DATA / "dev" / "citecheck_dev.jsonl"
    if not path.is_file():
        pytest.skip("the Chinese replies are not on this machine")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return list(dict.fromkeys(row["answer"] for row in rows if isinstance(row.get("answer"), str)))
