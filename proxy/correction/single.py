"""The re-prompt for one sentence at a time: for models that don't follow a longer one.

Source: none of the papers. The model sees one passage and how the sentence begins, up to the first words that
nothing bears out, and completes it. It does not see the rest of the sentence: small models repeat what they
are shown, the error too. An example stands before as a turn of its own.

The passage stands without delimiters. A model that follows an instruction in it changes one sentence, which
is checked like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain

from proxy.citations.cited_numbers import in_parentheses
from proxy.citations.markers import strip_markers
from proxy.claims.segment import segment
from proxy.correction.leaks import Asked, fault, instructions_of, without_preamble
from proxy.correction.reprompt import CALLING
from proxy.correction.rewrite import unshaped
from proxy.text.scripts import language_of
from proxy.types import Chat, Evidence, Finding, Json, Language, Verdict

MAX_SENTENCES = 8
"""Asked for in one round, each in a call of its own."""
MAX_SOURCE_CHARS = 1_500
"""Code points of the passage, from the quoted sentence on where it is longer."""

MAX_QUOTE_CHARS = 400
"""Of a quotation that stands in place of a contradicted sentence."""

_OPENING = {"en": 4, "zh": 6}
"""Words (in Chinese, characters) that a sentence begins with, where it is not known which of them fail."""
_FEWEST = {"en": 2, "zh": 2}


@dataclass(frozen=True, slots=True)
class _Words:
    """One language's wording. The example's text, the beginning of its sentence, and the answer."""

    request: str
    example: tuple[str, str, str]


_WORDS: dict[Language, _Words] = {
    "en": _Words(
        request="Text:\n{text}\n\nWrite one sentence that says only what the text says, and begins like "
        "this: "
        "{beginning}",
        example=(
            "The bridge over the Orvane opened in 1937 and is 270 metres long. It was built of steel.",
            "The bridge over the Orvane opened",
            "The bridge over the Orvane opened in 1937 and is made of steel.",
        ),
    ),
    "zh": _Words(
        request="文本：\n{text}\n\n请写一个句子，只说文本中说到的内容，并以此开头：{beginning}",
        example=(
            "奥凡涅河大桥于1937年通车，全长270米，用钢材建成。",
            "奥凡涅河大桥",
            "奥凡涅河大桥于1937年通车，用钢材建成。",
        ),
    ),
}

INSTRUCTIONS = instructions_of(words.request for words in _WORDS.values())
"""What an answer to this prompt may not repeat."""


def complete_sentence(chat: Chat, finding: Finding) -> Chat | None:
    """The chat that asks for one sentence in place of a claim that failed, or None where no passage was
    found.

    It has none of the client's messages: the passage and the sentence's beginning are all that it is about.
    Keys of the body that shape a whole reply are left out, as are tools and all about them.
    """
    source = finding.decisive or next(iter(finding.evidence), None)
    if source is None:
        return None
    words = _WORDS[language_of(finding.claim.plain)]
    text, beginning, answer = words.example
    asked = words.request.format(text=_excerpt(source), beginning=_beginning(finding, source))
    turns: list[Json] = [
        {"role": "user", "content": words.request.format(text=text, beginning=beginning)},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": asked},
    ]
    tools = {*chain.from_iterable(CALLING.items()), "parallel_tool_calls"}
    body = {key: value for key, value in unshaped(chat.body).items() if key not in tools}
    return replace(chat, body={**body, "messages": turns, "n": 1})


def read_sentence(answer: str, asked: Asked) -> str | None:
    """The first sentence of the answer, or None where it leaks the prompt, refuses, or is no sentence."""
    text = in_parentheses(strip_markers(without_preamble(answer), known=())).strip().strip('"“”')
    said = next((claim.text for claim in segment(text) if claim.checkable), "").strip()
    return said if said and fault(answer, asked) is None else None


def quoted(finding: Finding) -> str | None:
    """The sentence that contradicts a claim, in quotation marks; None where no short one is known."""
    source = finding.decisive if finding.verdict is Verdict.CONTRADICTED else None
    if source is None or source.judgement is None or source.judgement.quote is None:
        return None
    quote = " ".join(source.quote.split())
    return f"“{quote}”" if quote and len(quote) <= MAX_QUOTE_CHARS else None


def _excerpt(source: Evidence) -> str:
    """The passage under its title; of a long one, the part from the quoted sentence on."""
    passage, quote = source.passage, source.judgement.quote if source.judgement else None
    start = quote[0] if quote and len(passage.text) > MAX_SOURCE_CHARS else 0
    text = passage.text[start : start + MAX_SOURCE_CHARS]
    return f"{passage.heading}\n{text}".lstrip("\n")


def _beginning(finding: Finding, source: Evidence) -> str:
    """The claim's words before the first that the passage does not bear out, if there are enough of them."""
    plain = " ".join(finding.claim.plain.split())
    language = language_of(plain)
    words = list(plain) if language == "zh" else plain.split(" ")
    joint = "" if language == "zh" else " "
    missing = source.judgement.missing if source.judgement else ()
    until = min((start for start, _ in missing), default=0)
    borne_out = finding.claim.plain[:until].split()
    count = len(finding.claim.plain[:until]) if language == "zh" else len(borne_out)
    if count < _FEWEST[language] or count >= len(words):
        count = min(_OPENING[language], max(1, len(words) // 2))
    return joint.join(words[:count])
