"""Tells an answer from what is none: our own prompt said back, talk about the correction, a refusal.

A model that is re-prompted may answer with pieces of the prompt, with long copies of the documents, with an
apology, or not at all. Such a text is no draft: it must neither be checked nor reach a reader, since scraps
of a prompt can well be "supported" by the documents that stand in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from proxy.text.delimiters import LENGTH
from proxy.text.scripts import HAN, language_of
from proxy.types import Chat

Fault = Literal["leaked", "refused"]

_RUN = {"en": 6, "zh": 10}
"""Words (in Chinese, characters) in a row that an answer may not share with the prompt's instructions."""
_COPY = {"en": 60, "zh": 120}
"""The same, with the documents of the prompt. Quoting a sentence or two is no copy."""

_WORD = re.compile(rf"[{HAN}]|[^\W{HAN}]+")
_DELIMITER = re.compile(rf"===\s*[0-9a-f]{{{LENGTH}}}\b|</?\w+-[0-9a-f]{{{LENGTH}}}>", re.I)
_HEADER = re.compile(
    r"^[ \t>*#]*={3,}[ \t]*(?:\d{1,3}\b|end\b|document|contradicted|unsupported|not borne out"
    r"|结束|文档|相矛盾|无依据|没有依据)",
    re.I | re.M,
)
_EXAMPLE = re.compile("orvane|奥凡涅", re.I)
"""The made-up names in the prompts' examples."""
_HERE = r"here(?:['’]s| is| are)\b[^\n:]"
_PREAMBLE = re.compile(
    r"\A\s*(?:(?:sure|certainly|of course|okay|absolutely)[,.!]?\s*)?"
    rf"(?:(?:{_HERE}{{0,60}}?|the )\b(?:corrected|revised|rewritten|updated)\b[^\n:]{{0,120}}:\s*"
    rf"|{_HERE}{{0,120}}:[ \t]*\n\s*)"
    r"|\A\s*(?:好的[，,。！]?)?(?:以下是|下面是|这是)(?:我)?(?:更正|修正|改写|修改|重写)[^\n：:]{0,40}[：:]\s*",
    re.I,
)
THINKING = re.compile(r"\s*<think(?:ing)?>")
"""Where something thought aloud begins. For matching: a search would be quadratic in white space."""
THOUGHT = re.compile(r"</think(?:ing)?>")
_ABOUT_THE_CORRECTION = re.compile(
    r"\b(?:in )?my (?:previous|earlier|last|original) (?:response|answer|reply|statement)\b"
    r"|\byour (?:previous|original) (?:response|answer|reply|statements?|sentences?)\b"
    r"|\b(?:corrected|rewritten|revised|updated) (?:sentence|statement|version|response|answer|text)\b"
    r"|\b(?:the )?following (?:statements?|sentences?) (?:is|are|was|were|have|has|do|does|did)\b"
    r"|\bnot (?:supported|borne out) by (?:any of )?(?:the|these|those) (?:documents?|sources?|passages?)\b"
    r"|\b(?:provided|given|supplied|retrieved|reference) (?:documents?|passages?|evidence)\b"
    r"|\bfactual inaccurac(?:y|ies)\b|\b(?:i|we) (?:sincerely )?apologi[sz]e\b|\bmy apologies\b"
    r"|\b(?:sorry|apologies) for (?:the|any|my) (?:confusion|mistakes?|errors?|inaccurac|misunderstanding)"
    r"|\bthank you for (?:the correction|pointing|bringing|providing|your feedback)"
    r"|\bi(?: ha|['’])ve (?:corrected|rewritten|revised|updated|removed|left out)\b"
    r"|(?:我|你|您)?(?:上一次|之前|先前|刚才)的?(?:回答|回复|陈述)|(?:更正|修正|改写|修改)(?:后|过)的"
    r"|(?:以下|上述|这些)(?:陈述|句子)(?:有|与|在|没有|不)|(?:参考|所给|提供的)(?:文档|资料|材料)"
    r"|为(?:此|之前的?(?:错误|混淆))(?:致歉|道歉)|(?:抱歉|对不起)[，,](?:之前|刚才|我(?:之前|刚才|更正))"
    r"|感谢(?:您|你)?的?(?:指正|更正|纠正|提醒)",
    re.I,
)
_SORRY = (
    r"(?:(?:i['’]?m|i am|we['’]re|we are)\s+(?:(?:very|really|so|deeply)\s+)?(?:sorry|afraid)|sorry|"
    r"unfortunately|regrettably|apologies|my apologies|as (?:an?|your) "
    r"(?:ai|artificial|large|language|virtual)"
    r"[\w\s-]{0,30}?(?:model|assistant|intelligence|ai))"
)
_REFUSAL = re.compile(
    rf"\A\W*(?:{_SORRY}[\s,.;:!–—-]+)*(?:but[\s,]+)?"
    r"(?:(?:i|we)\b[\w\s,'’-]{0,40}?\b(?:cannot|can['’]?t|can not"
    r"|could(?: not|n['’]t)|won['’]t|will not|am not able|['’]m not able|are not able|am unable|['’]m unable"
    r"|are unable|am not allowed|must decline|have to decline|decline to|do not (?:have|know)|don['’]t "
    r"(?:have|know)"
    r"|refuse)"
    r"|(?:there is |there['’]s )?(?:not enough|insufficient) (?:information|evidence|data)\b"
    r"|(?:there is |there['’]s )?no information\b"
    r"|none of (?:these|the) (?:sentences|statements|documents|sources)"
    r"|(?:it|that|this) (?:is|['’]s) not possible (?:for me )?to"
    r"|the (?:documents?|sources?|texts?|passages?) (?:do(?:es)? not|don['’]t|doesn['’]t)"
    r"|(?:please )?(?:provide|share|give me|clarify)\b|what would you like|how (?:can|may) i (?:help|assist))"
    rf"|\A\W*{_SORRY}\b(?=[\w\s,'’-]{{0,60}}\b(?:cannot|can['’]?t|unable|not able|no |not |don['’]t))"
    r"|\A\W*as (?:an?|your) (?:ai|artificial|large|language)\b"
    r"|\A\W*(?:很?抱歉|对不起|非常抱歉|不好意思|遗憾的是)"
    r"|\A\W*作为(?:一个|一名|一款)?(?:AI|人工智能|语言|大型|智能)"
    r"|\A\W*(?:目前)?(?:我|我们|本人)(?:暂时)?(?:无法|不能|没有办法|没法|不知道|不便|拒绝|没有足够)"
    r"|\A\W*(?:文档|资料|来源)(?:中|里)?(?:没有|并未|未)(?:提供|提到|提及|包含)"
    r"|\A\W*(?:没有|缺乏)足够的?(?:信息|资料|依据)|\A\W*(?:请提供|请问您|您想|有什么)",
    re.I,
)
_NEVER_NEW = (_DELIMITER, _HEADER, _EXAMPLE, _ABOUT_THE_CORRECTION, THOUGHT)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model was shown when it was re-prompted.

    `instructions` are the prompt's own words, `documents` the texts shown. `draft` is the text to correct and
    `messages` those of the client: what stands there may stand in an answer too.
    """

    instructions: Sequence[str]
    documents: Sequence[str]
    draft: str = ""
    messages: str = ""


def asked_with(chat: Chat, instructions: Sequence[str], documents: Iterable[str], draft: str) -> Asked:
    """What a re-prompt of `chat` for another version of `draft` shows."""
    return Asked(instructions, tuple(documents), draft, "\n".join(map(_content, chat.body["messages"])))


def fault(text: str, asked: Asked) -> Fault | None:
    """Why the text is no answer, or None. Nothing counts that the client's messages or the draft have too.

    `leaked`: it has a delimiter, the header of a block or the end of a thought, shares a run of words with
    the instructions, talks about the correction, or copies much of a document. `refused`: it begins as a
    refusal does.
    """
    known = f"{asked.messages}\n{asked.draft}"
    if any(_new(pattern, text, known) for pattern in _NEVER_NEW):
        return "leaked"
    said = _words(text)
    runs = {size: _runs(said, size) for size in {*_RUN.values(), *_COPY.values()}}
    for shown, longest in ((asked.instructions, _RUN), (asked.documents, _COPY)):
        for each in shown:
            size = longest[language_of(each)]
            if not _said_in(runs[size] & _runs(_words(each), size), known):
                return "leaked"
    return "refused" if _REFUSAL.search(text) and not _REFUSAL.search(asked.draft) else None


def has_delimiters(text: str, draft: str) -> bool:
    """Whether a text has a delimiter, header or example of a re-prompt that the draft doesn't have."""
    return any(_new(pattern, text, draft) for pattern in (_DELIMITER, _HEADER, _EXAMPLE))


def without_thoughts(text: str) -> str:
    """The answer without what is thought aloud before it (`<think>…</think>`, of which the first tag may be
    missing)."""
    position = 0
    while opened := THINKING.match(text, position):
        end = THOUGHT.search(text, opened.end())
        if end is None:
            return ""
        position = end.end()
    if not position and (first := THOUGHT.search(text)) and text.find("<think", 0, first.start()) < 0:
        position = first.end()
    return text[position:].lstrip() if position else text


def without_preamble(text: str) -> str:
    """The text without what comes before an answer, such as "Here is the corrected answer:"."""
    return _PREAMBLE.sub("", text, count=1)


def instructions_of(fields: Iterable[str]) -> tuple[str, ...]:
    """The parts of a prompt's wording that are long enough to be recognised when they are said back."""
    return tuple(field for field in fields if len(_words(field)) >= _RUN[language_of(field)])


def _new(pattern: re.Pattern[str], text: str, known: str) -> bool:
    """Whether the pattern matches something in the text that `known` doesn't contain."""
    matches = {match.group().casefold() for match in pattern.finditer(text)}
    folded = known.casefold() if matches else ""
    return any(match not in folded for match in matches)


def _said_in(runs: set[tuple[str, ...]], known: str) -> bool:
    """Whether the known text has all these runs of words."""
    folded = f" {' '.join(_words(known))} " if runs else ""
    return all(f" {' '.join(run)} " in folded for run in runs)


def _words(text: str) -> tuple[str, ...]:
    """The words in lower case; every Chinese character is one."""
    return tuple(_WORD.findall(text.casefold()))


def _runs(words: Sequence[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + size]) for start in range(len(words) - size + 1)}


def _content(message: object) -> str:
    """The text of a message; its parts' joined."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""
