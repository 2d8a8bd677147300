"""Several claims in one prompt: the prompt, how its answer is read, and how its tokens are shared out.

After RefChecker's joint checking (section 3.3), which puts all claims of a response into one prompt with the
reference. Here a prompt holds a limited number of claims with the same evidence, title and question, each
with the text before it. The answer is read by its numbers and not by its order, so that a missing line shifts
nothing. CEG and CiteCheck check claims one by one; their prompts are the same here, except that CEG's is not
asked for its reasoning: one answer has no room for that of many claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from proxy.checkers.prompts import MAX_CONTEXT_CHARS, PROMPTS, bare
from proxy.text.delimiters import delimited
from proxy.types import Json, Pair, PromptName, Usage, Verdict


@dataclass(frozen=True, slots=True)
class Stated:
    """The verdict that an answer gives on one claim, and its line."""

    verdict: Verdict
    line: str


@dataclass(frozen=True, slots=True)
class Wording:
    """The texts of a prompt for several claims. `claim` and `context` are headings that take a number."""

    instruction: str
    claim: str
    context: str
    closing: str

    def blocks(self, pairs: Sequence[Pair]) -> Iterator[str]:
        """The claims in order, each between delimiters and after the end of the text that precedes it."""
        for number, pair in enumerate(pairs, 1):
            context = pair.context[-MAX_CONTEXT_CHARS:]
            if context.strip():
                yield f"{self.context.format(number)}\n{delimited('context', context)}"
            yield f"{self.claim.format(number)}\n{delimited('claim', pair.statement)}"


def grouped(pairs: Sequence[Pair], size: int) -> list[tuple[int, ...]]:
    """Indexes of the pairs that go into one prompt, at most `size`: pairs that differ in claim and context
    only. Ordered by their first pair."""
    alike: dict[tuple[str, str, str], list[int]] = {}
    for index, pair in enumerate(pairs):
        alike.setdefault((pair.evidence, pair.title, pair.question), []).append(index)
    return sorted(
        tuple(indexes[start : start + size])
        for indexes in alike.values()
        for start in range(0, len(indexes), size)
    )


def messages(name: PromptName, pairs: Sequence[Pair]) -> list[Json]:
    """One user turn about pairs that share everything but claim and context. Same pairs, same messages."""
    prompt, wording = PROMPTS[name], JOINT[name]
    blocks: list[str] = []
    for part in prompt.parts:
        if part == "claim":
            blocks += wording.blocks(pairs)
        elif part != "context":
            blocks += prompt.block(part, pairs[0])
    text = "\n\n".join((wording.instruction, prompt.guard, *blocks, wording.closing.format(len(pairs))))
    return [{"role": "user", "content": text}]


_NUMBERED = re.compile(r"^(?:[-•]\s{0,3})?(?:claim|segment|sentence|陈述)?\s{0,3}(\d{1,4})(?!\d)(.*)$", re.S)
_SEPARATOR = re.compile(r"^\s{0,3}[:：.、]\s{0,3}|^\s{1,3}")


def read(name: PromptName, answer: str, count: int) -> tuple[Stated | None, ...]:
    """The verdicts on `count` claims; None for a claim without a line, with two that differ, or without a
    known label.

    Text before the first numbered line is reasoning. If other text stands between or behind the lines (a
    retraction, an explanation), or a number belongs to no claim, the answer is ambiguous and nothing is read.
    """
    _, _, said = answer.rpartition("</think>")
    stated: dict[int, list[Stated | None]] = {}
    for line in said.splitlines():
        if not (plain := bare(line)):
            continue
        numbered = _NUMBERED.match(plain)
        if numbered:
            verdict = PROMPTS[name].label(_SEPARATOR.sub("", numbered[2]))
            statement = Stated(verdict, line.strip()) if verdict else None
            stated.setdefault(int(numbered[1]), []).append(statement)
        elif stated:
            return (None,) * count
    if not stated.keys() <= set(range(1, count + 1)):
        return (None,) * count
    return tuple(_agreed(stated.get(number, [])) for number in range(1, count + 1))


def shares(usage: Usage, count: int) -> tuple[Usage, ...]:
    """The usage in `count` nearly equal parts that add up to it exactly."""
    parts = zip(_parts(usage.prompt_tokens, count), _parts(usage.completion_tokens, count), strict=True)
    return tuple(Usage(prompt, completion) for prompt, completion in parts)


def _parts(tokens: int, count: int) -> list[int]:
    each, more = divmod(tokens, count)
    return [each + (part < more) for part in range(count)]


def _agreed(lines: Sequence[Stated | None]) -> Stated | None:
    verdicts = {line.verdict if line else None for line in lines}
    return lines[0] if len(verdicts) == 1 else None


_ONE_LINE_EACH = (
    "Judge each of the {{}} {what} on its own. Answer with one line for each, its number, a colon and "
    '{labels}, such as "1: {first}", and nothing else: no explanation, no reasoning.'
)
_ENGLISH_CONTEXT = "Text that precedes no. {} (only to understand what it refers to):"

JOINT: Mapping[PromptName, Wording] = {
    "ceg": Wording(
        instruction="You will see a question, numbered segments of a response to it, and a reference "
        "document. Assess of each segment whether it contains factual errors or not, with the help of the "
        'reference document alone. The answer is "Factual" only if the document bears out everything that '
        'the segment says. It is "Nonfactual" if the segment contains a factual error, or anything that the '
        "document does not bear out.",
        claim="Response segment {}:",
        context=_ENGLISH_CONTEXT,
        closing=_ONE_LINE_EACH.format(
            what="segments", labels='"Factual" or "Nonfactual"', first="Nonfactual"
        ),
    ),
    "ceg_yes_no": Wording(
        instruction="You will see a context and numbered sentences. Is each sentence supported by the "
        "context? It is, only if the context bears out everything that the sentence says.",
        claim="Sentence {}:",
        context=_ENGLISH_CONTEXT,
        closing=_ONE_LINE_EACH.format(what="sentences", labels='"Yes" or "No"', first="No"),
    ),
    "refchecker": Wording(
        instruction="A language model made the numbered claims in response to a question. Check of each "
        "claim whether it can be entailed from the provided reference, a list of passages.\n"
        'If the reference supports the claim as a whole, the answer is "Entailment". If it does not, and the '
        'reference contradicts the claim, the answer is "Contradiction". If it neither entails nor '
        'contradicts the claim, or lacks the information to verify it, the answer is "Neutral".\n'
        "Do not use knowledge of your own: only compare the claim with the reference.",
        claim="### Claim {}:",
        context=f"### {_ENGLISH_CONTEXT}",
        closing=_ONE_LINE_EACH.format(
            what="claims", labels='"Entailment", "Neutral" or "Contradiction"', first="Neutral"
        ),
    ),
    "citecheck": Wording(
        instruction="逐条判断各编号陈述是否完全得到参考文本的支撑。只要陈述中有任何内容未得到参考文本的支撑，"
        "或与参考文本不一致，该条就回答“否”。",
        claim="陈述{}：",
        context="陈述{}的上文（仅用于理解陈述所指）：",
        closing="答案（共{}条陈述，每条单独判断，各占一行，仅输出编号、冒号和“是”或“否”，例如“1: 否”）：",
    ),
}
"""By prompt, as in `PROMPTS`. The example in a closing never has the label of support, so that a model that
merely repeats it supports nothing."""
