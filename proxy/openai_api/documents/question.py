"""The user's own question, without the documents and the template that a RAG client wrote around it.

A checker must give the same verdict whichever way a document arrives. So the question that it may see must
not hold the document, nor the instructions that came with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from proxy.openai_api.documents import material_spans

_MAX_LINE = 300
"""Code points of a line in which a label or an instruction is looked for."""

_TAG = re.compile(r"<((?:user|current)?[_-]?(?:query|question|input|message|prompt))>", re.I)
_LABEL = re.compile(
    r"[\W_]{0,8}(?:(?:user(?:'s)?|my|the|customer|current|final|original|follow[- ]?up) )?"
    r"(?:question|query|user input|user message|human|user|(?:用户|客户|我的|当前)?的?(?:问题|提问|查询"
    r"|输入|消息))"
    r"(?: is|是|为)?[\])】*_ \t]{0,6}(?:[:：]|$)[*_ \t]{0,6}",
    re.I,
)
_OTHER_LABEL = re.compile(
    r"[\W_]{0,8}(?:(?:your|the|helpful|final|standalone) )?(?:answer|response|reply|assistant|ai|output"
    r"|contexts?"
    r"|documents?|sources?|instructions?|rules?|guidelines?|requirements?|回答|答案|助手|输出|上下文|参考资料|要求)"
    r"[\])】*_ \t]{0,6}(?:[:：]|$)",
    re.I,
)
_MENTIONS_MARKUP = re.compile(
    r"</?(?:context|source|document)s?\b|\[(?:webpage|context|document|file) ", re.I
)
_TEMPLATE = re.compile(
    r"[\W_]{0,8}(?:use the (?:following|above|provided|context)|you (?:are|must|should)|respond to|if you"
    r"|when "
    r"answer|avoid mention|do not|don't|never|based on|given the|below (?:is|are)|here (?:is|are)|the "
    r"following|the "
    r"user has|refer to|answer (?:the|based|using|according)|请?(?:根据|基于|参考|使用|结合)(?:以上|以下"
    r"|上述|下面|给定|参考)"
    r"|以[上下](?:是|为)|在我给你的|你是|如果你?(?:不|无))",
    re.I,
)


def user_question(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of the last user message that asks something, without documents and their template.

    A message that is nothing but documents asks nothing. Parts that are not text (images, audio) are left
    out. A message without documents is returned as it is.
    """
    for message in reversed(messages):
        if message.get("role") == "user":
            asked = "\n".join(filter(None, map(without_documents, _texts(message.get("content")))))
            if asked:
                return asked
    return ""


def without_documents(text: str) -> str:
    """What a user's message asks, without documents in it and the template around them.

    Templates name the question (`Question: …`, `<user_query>…</user_query>`), else it stands behind the
    documents, else before them. Linear in the length of the text.
    """
    spans = material_spans(text)
    if not spans:
        return text
    before, behind = text[: spans[0][0]], text[spans[-1][1] :]
    readings = (
        (_tagged, behind),
        (_tagged, before),
        (_labelled, behind),
        (_last_paragraphs, behind),
        (_labelled, before),
        (_first_paragraphs, before),
        (_unlabelled, behind),
        (_only_line, before),
    )
    return next(filter(None, (read(part) for read, part in readings)), "")


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str):
                yield part["text"]


def _tagged(text: str) -> str:
    """What stands between the tags of a question."""
    opening = _TAG.search(text)
    closing = text.rfind(f"</{opening.group(1)}>", opening.end()) if opening else -1
    return text[opening.end() : closing].strip() if opening and closing >= 0 else ""


def _labelled(text: str) -> str:
    """What stands behind the last label that says that the question follows."""
    question: list[str] | None = None
    found = ""
    for line in text.split("\n"):
        start = line[:_MAX_LINE].rstrip("\r")
        if label := _LABEL.match(start):
            found = _joined(question) or found
            question = [line[label.end() :]]
        elif question is not None and _OTHER_LABEL.match(start):
            found = _joined(question) or found
            question = None
        elif question is not None:
            question.append(line)
    return _joined(question) or found


def _last_paragraphs(text: str) -> str:
    """The paragraphs behind the last instruction of a template, and what else its paragraph says."""
    return "\n\n".join(reversed(list(_own_words(reversed(_paragraphs(text)))))).strip()


def _first_paragraphs(text: str) -> str:
    """The paragraphs before the first instruction of a template."""
    return "\n\n".join(_own_words(_paragraphs(text))).strip()


def _paragraphs(text: str) -> list[str]:
    return re.split(r"\n[ \t\r]*+\n", text)


def _own_words(paragraphs: Iterable[str]) -> Iterator[str]:
    """The paragraphs up to the first with an instruction of a template; of that one the other lines."""
    for paragraph in paragraphs:
        lines = [line for line in paragraph.split("\n") if line.strip()]
        own = [line for line in lines if not _is_template(line[:_MAX_LINE])]
        if own:
            yield "\n".join(own).strip()
        if len(own) < len(lines):
            return


def _unlabelled(text: str) -> str:
    """The text without the lines that only announce an answer."""
    return "\n".join(line for line in text.split("\n") if not _OTHER_LABEL.match(line[:_MAX_LINE])).strip()


def _only_line(text: str) -> str:
    """The text, where it is one line."""
    text = text.strip()
    return "" if "\n" in text or _OTHER_LABEL.match(text[:_MAX_LINE]) else text


def _is_template(line: str) -> bool:
    """Whether a line is a label, a heading, or an instruction about the documents."""
    asks = line.rstrip().endswith(("?", "？"))
    if not any(char.isalnum() for char in line) or line.lstrip().startswith("#"):
        return True
    if _OTHER_LABEL.match(line) or _MENTIONS_MARKUP.search(line):
        return True
    return not asks and _TEMPLATE.match(line) is not None


def _joined(lines: list[str] | None) -> str:
    return "\n".join(lines or ()).strip()
