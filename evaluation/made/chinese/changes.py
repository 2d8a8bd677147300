"""Makes a Chinese claim wrong (negate, flip, reverse, add, cross), or cuts a clause from its evidence."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from evaluation.datasets import Passage
from evaluation.made.chinese.names import sort_of
from evaluation.made.chinese.restatements import stands
from evaluation.made.chinese.script import (
    clauses,
    fit,
    foreign_script,
    in_script_of,
    missing,
    traditional,
    values,
)
from evaluation.made.chinese.values import years
from evaluation.made.chinese.vocabulary import (
    ACTS,
    CLAUSE_STARTS,
    DEGREES,
    OPPOSED_ACTS,
    OPPOSITES,
    QUANTITIES,
)

_ACT = "|".join(ACTS)
_DENIED = re.compile(r"[不没沒未无無非否勿莫]")
_UNSURE = re.compile(r"可能|也许|也許|或许|或許|据说|據說|傳說|传说|如果|若|除了|除非|似乎|好像")
_REASONED = re.compile(
    r"因|由于|由於|所以|导致|導致|从而|從而|使(?![用者馆館命])|但|不过|不過|然而|[却卻]|而是|虽|雖|尽管|儘管|仍"
)
"""Words that tie two statements together: with one turned round, the two would not go together."""
_DENY = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (rf"(?<![为為除就便才也都又亦])({_ACT})了", r"没有\1"),
        (r"(?<=[\u4e00-\u9fff])(?<![何孙孫亦也都])曾(?:经|經)?(?=[在于於被为為获獲担擔参參是与與])", "从未"),
        (
            r"(?<=[\u4e00-\u9fff》）a-z])(?<![但只就还還不而可若要总總凡于於便即都也的均算正乃又更说說作容])是(?=[\u4e00-\u9fff\d《])(?!否|指|因|为了|為了|以|说|說|非)(?=[^，；。]*。)",
            "不是",
        ),
        (r"能够|能夠", "无法"),
        (r"(?<![不])可以(?![^，。；]{0,10}的)", "不能"),
        (r"(?<=[\u4e00-\u9fff》])(?<![不])(位于|位於|属于|屬於|包括)", r"不\1"),
        (r"需要(?=[\u4e00-\u9fff])", "不需要"),
    )
)
_AFFIRM = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?<![是而])不是(?!因)(?=[^，；。]*。)", "是"),
        (r"并未|並未|从未|從未", "曾"),
        (r"(?<=[\u4e00-\u9fff])没有(?!任何)(?=[\u4e00-\u9fff]{2})(?<![还還就])", "有"),
        (r"沒有(?!任何)(?=[\u4e00-\u9fff]{2})", "有"),
        (r"不能(?!不)(?![^，。；]{0,10}的)", "能"),
        (r"无法|無法", "能够"),
        (r"不会(?!不)", "会"),
        (r"不會(?!不)", "會"),
        (r"(?:已经|已經|已)?不再", "仍然"),
        (r"不需要", "需要"),
        (r"不可以", "可以"),
        (r"不属于", "属于"),
        (r"不屬於", "屬於"),
        (r"未能", "成功"),
    )
)
_PART = r"[^，。；]{5,26}"
_CAUSES = (
    re.compile(
        rf"\A(?P<head>(?:[^。]*[，；])?)(?P<c>因为|因為|由于|由於)(?P<a>{_PART})，(?:所以|因此|因而|故|于是|於是)?(?P<b>{_PART})。\Z"
    ),
    re.compile(
        rf"\A(?P<head>(?:[^。]*[，；])?)(?P<b>{_PART})，(?P<c>是因为|是因為|因为|因為)(?P<a>{_PART})。\Z"
    ),
)
_SO = re.compile(
    rf"\A(?P<head>(?:[^。]*[，；])?)(?P<a>{_PART})，(?P<c>因此|因而|所以|导致|導致|造成|使得|从而使|從而使|引发了?|引發了?)(?P<b>{_PART})。\Z"
)
_LEANING = re.compile(
    r"\A(?:其|该|該|此|这|這|那|两者|兩者|双方|雙方|当时|當時|同年|不得|而|被|则|則|也|就|才|便|使|未|没|沒|並|并|只|以|受|在|是|"
    r"向|对|對|将|將|把|从|從|到|至|但|且|还|還|又|于|於|為|为|甚|无法|無法|不|而且|转|轉|可|因|由|除|另|间接|間接|让|讓|确|確|常|都|仍|必|需)|.*的[\u4e00-\u9fff]{1,4}\Z"
)
_PRONOUN = re.compile(r"[他她它其该該此这這那]|同年|当时|當時|后者|後者|前者|同时|同時")
_CLAUSE = re.compile(rf"(?!由于|由於)(?:{'|'.join(CLAUSE_STARTS)})")
_VAGUE = ("之一", "一个", "一個", "一种", "一種", "名称", "名稱", "简称", "簡稱", "其中", "作品")
_DEFINED = re.compile(r"\A[^。，]{2,40}?(?:是|为|為)[^，。]{2,40}([\u4e00-\u9fff]{2})[，。]")
_PAIRED = re.compile(
    r"\A(?:虽|雖|尽管|儘管|由于|由於|因|为了|為了|如果|若|当|當|随|隨|除|不仅|不僅|不但|在|自|从|從|既|一方面|无论|無論|即使|据|據)"
)
_LINKED = re.compile(
    r"\A(?:但|而|却|卻|则|則|因此|所以|从而|從而|使|也|以致|其|这|這|此|又|还|還|并|並|才|就|便|故)"
)
_UNMENTIONED = 0.6
"""The share of a cut clause's character pairs that the rest of the evidence must lack."""


def denied(claim: str, chance: random.Random) -> Iterator[str]:
    """The claim with one "not" put in, or, where it has one, taken out."""
    if _UNSURE.search(claim) or _REASONED.search(claim):
        return
    patterns = _AFFIRM if _DENIED.search(claim) else _DENY
    for pattern, replacement in chance.sample(patterns, len(patterns)):
        matches = [match for match in pattern.finditer(claim) if not _quoted(claim, match.start())]
        if len(matches) == 1:
            match = matches[0]
            yield (
                claim[: match.start()] + in_script_of(claim, match.expand(replacement)) + claim[match.end() :]
            )


def flipped(claim: str, evidence: str, kind: str, chance: random.Random) -> Iterator[str]:
    """A comparative, quantifier or other word as its opposite, which the evidence does not have."""
    if _REASONED.search(claim):
        return
    options: list[tuple[re.Pattern[str], str]] = []
    if kind == "quantifier":
        options = list(QUANTITIES)
    else:
        pairs = DEGREES if kind == "comparative" else (*OPPOSITES, *OPPOSED_ACTS)
        for pair, other in pairs:
            verb = "(?<![的得])" if (pair, other) in OPPOSED_ACTS else ""
            options += [
                (re.compile(f"{verb}{pair}(?![者值])"), other),
                (re.compile(f"{verb}{other}(?![者值])"), pair),
            ]
    for pattern, plain in chance.sample(options, len(options)):
        other = in_script_of(claim, plain)
        matches = list(pattern.finditer(claim))
        if len(matches) != 1 or other in evidence or foreign_script(other, claim):
            continue
        if not _quoted(claim, matches[0].start()):
            yield claim[: matches[0].start()] + other + claim[matches[0].end() :]


def turned_round(claim: str) -> str | None:
    """Cause and effect exchanged, where each is one clause with a subject of its own."""
    before, behind = _CAUSES
    for pattern, shape in (
        (before, "{head}{c}{b}，{a}。"),
        (behind, "{head}{a}，{c}{b}。"),
        (_SO, "{head}{b}，{c}{a}。"),
    ):
        match = pattern.match(claim)
        if match and not any(_LEANING.match(match[part]) for part in "ab"):
            return shape.format(**match.groupdict())
    return None


def topic(passage: Passage) -> str:
    """What a passage is about: `person`, or the last noun of its first clause; empty where nothing tells."""
    if sort_of(passage.title, passage.text) in ("person", "foreign"):
        return "person"
    if not passage.text.startswith((passage.title, f"《{passage.title}")):
        return ""
    match = _DEFINED.match(passage.text)
    return match[1] if match and match[1] not in _VAGUE else ""


def donors(passages: Sequence[Passage]) -> Mapping[tuple[str, bool], Sequence[tuple[str, str]]]:
    """Clauses without a subject of their own, with the titles they are about, by topic and script."""
    by_sort: defaultdict[tuple[str, bool], list[tuple[str, str]]] = defaultdict(list)
    for passage in passages:
        if not (about := topic(passage)):
            continue
        for sentence in filter(fit, passage.sentences[:4]):
            if not sentence.startswith((passage.title, "他", "她", "它", "该", "該")):
                continue
            for clause in clauses(sentence)[1:]:
                text = clause[:-1]
                if len(text) in range(6, 23) and _CLAUSE.match(text) and not _PRONOUN.search(text):
                    by_sort[about, traditional(sentence)].append((text, passage.title))
    return by_sort


def added(claim: str, evidence: str, clause: str) -> str | None:
    """The claim with a clause of another article at its end."""
    if missing(clause, evidence) < 0.8 or values(clause) & values(evidence) or len(claim) + len(clause) > 110:
        return None
    return f"{claim[:-1]}，{clause}。"


def dated(claim: str, year: str) -> str | None:
    """The claim with a year that the evidence does not name: before a verb, or at its front."""
    if re.search(r"[\d年时時后後日月前昔古曾]", claim):
        return None
    match = re.search(
        rf"(?<=[\u4e00-\u9fff])(?<![就也都又便才还還不所被并並均皆曾已再而来來、的])({_ACT})了", claim
    )
    if match and not _quoted(claim, match.start()):
        link = "於" if traditional(claim) else "于"
        return f"{claim[: match.start()]}{link}{year}{claim[match.start() :]}"
    return None


def other_date(claim: str, sentence: str, sentences: Sequence[str], chance: random.Random) -> str | None:
    """The claim with the year of another sentence of its evidence."""
    own = years([claim])
    if len(own) != 1 or len(re.findall(r"\d+年", claim)) != 1 or "年代" in claim:
        return None
    rest = [text for text in sentences if text != sentence and own[0] not in text]
    others = [
        year for year in years(rest) if year != own[0] and len(year) == len(own[0]) and year not in sentence
    ]
    return claim.replace(own[0], chance.choice(others)) if others else None


def without(sentence: str, claim: str, evidence: str, chance: random.Random) -> str | None:
    """The evidence without the clause, or without the whole sentence, that carries the claim.

    None where what is left would not be a sentence, or still bears the claim out.
    """
    parts = clauses(sentence)
    cuts: list[str] = []
    for index in range(1, len(parts)):
        own, after = parts[index], parts[index + 1] if index + 1 < len(parts) else ""
        if index == 1 and not stands(parts[0]):
            continue
        if (
            len(own) < 6
            or own[:-1] not in claim
            or _PAIRED.match(own)
            or _PAIRED.match(parts[index - 1])
            or _LINKED.match(after)
        ):
            continue
        left = "".join(parts[:index] + parts[index + 1 :])
        cuts.append(left if left.endswith("。") else left[:-1] + "。")
    chance.shuffle(cuts)
    for left in [*cuts, ""]:
        rest = evidence.replace(sentence, left)
        lost = (
            claim if not left else next(part for part in parts if part not in left and part[:-1] not in left)
        )
        if evidence.count(sentence) == 1 and len(rest) > 40 and missing(lost, rest) >= _UNMENTIONED:
            return rest
    return None


def _quoted(text: str, position: int) -> bool:
    return any(
        text.count(mark, 0, position) > text.count(end, 0, position)
        for mark, end in ("《》", "「」", "“”", "『』")
    )
