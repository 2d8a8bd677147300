"""What a draft shows beside its text: blocks of code, formulas on lines of their own, images."""

from __future__ import annotations

import re

from proxy.text.inline import tokens
from proxy.text.markdown import blocks, skipped

_MAY_HOLD = re.compile(r"```|~~~|\$\$|\\\[|\\begin\{|!\[")
_DISPLAYED = ("$$", "\\[", "![")
_CODE = re.compile(r"(`{3,}|~{3,})[^\n]*(.*?)(?:^[ \t>]*\1[`~]*\s*)?", re.S | re.M)


def verbatim(draft: str) -> frozenset[str]:
    """The content of each fenced code block, display formula and image, without its delimiters and with white
    space folded; of an image it is the address. Linear in the length of the draft."""
    if not _MAY_HOLD.search(draft):
        return frozenset()
    shown = [_content(draft[start:end].strip()) for start, end in skipped(draft)]
    for block in blocks(draft):
        if not _MAY_HOLD.search(draft, block.lines[0][0], block.lines[-1][1]):
            continue
        inline = (draft[token.start : token.end] for token in tokens(draft, block.lines[0], block.lines[1:]))
        shown += [_content(text) for text in inline if text.startswith(_DISPLAYED)]
    return frozenset(content for content in shown if content)


def _content(text: str) -> str:
    """The content of code, a formula or an image; empty for other text that is not read (a comment, say)."""
    if code := _CODE.fullmatch(text):
        text = code[2]
    elif text.startswith("!["):
        text = text.rpartition("](")[2].rstrip(")")
    elif text.startswith(("$$", "\\[")):
        text = text[2:].removesuffix("$$").removesuffix("\\]")
    elif not text.startswith("\\begin"):
        return ""
    return " ".join(text.split())
