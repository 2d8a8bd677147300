"""Chinese sentences restated with nothing added: shortened, merged, paraphrased."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence

from evaluation.made.chinese.script import balanced, clauses, cleaned, fit, in_script_of, traditional
from evaluation.made.chinese.values import CLASSIFIERS
from evaluation.made.chinese.vocabulary import MAKING, SYNONYMS, TRANSITIVE

_BRACKETED = re.compile(r"（[^（）]*）|\([^()]*\)")
_CONNECTIVE = re.compile(
    r"\A(?:但是|然而|不过|不過|此外|另外|因此|所以|同时|同時|其后|其後|后来|後來|而且|并且|並且|于是|於是|最后|最後|"
    r"事实上|事實上|例如|比如|其实|其實|总之|總之|目前|现在|現在|至今)，"
)
_ACCORDING = re.compile(r"\A(?:根据|根據|据|據|按照|依据|依據)[^，。]{2,24}，")
_FRONTED = re.compile(
    r"\A(?:在?\d{3,4}年(?:\d{1,2}月)?(?:\d{1,2}[日號号])?|在[^，。]{2,16}[中后後时時期间間里裡])，"
)
_DEPENDENT = re.compile(
    r"\A(?:虽|雖|尽管|儘管|由于|由於|因|为了|為了|如果|若|假如|当|當|随着|隨著|除|不仅|不僅|不但|只要|只有|無論|无论|即使|简单来说|所以|(?:后来|後來)?有?[鉴鑑鑒]|"
    r"在|自|从|從|于|於|据|據|根|与|與|对|對|经|經|通过|通過|作为|作為|一方面|不是|与其)"
)
_CONTINUING = re.compile(
    r"\A(?:但|而|却|卻|则|則|也|因此|所以|从而|從而|使|以致|导致|導致|其|以及|或|和|及|并非|並非|就|才|便|仍|还|還|又|"
    r"否则|否則|然|只|甚至|包括|例如|如|即|这|這|此|故|之后|之後)"
)
_PREDICATE = re.compile(
    r"是|为|為|有|位于|位於|属|屬|生于|生於|成立|建|称|稱|获|獲|任|出版|发行|發行|[\u4e00-\u9fff]了"
)
_HEDGED = re.compile(r"可能|也许|也許|或许|或許|据说|據說|传说|傳說|相传|相傳|如果|假如")
_TOPIC = re.compile(
    r"\A(?:他们|他們|她们|她們|它们|它們|他|她|它|该[\u4e00-\u9fff]{1,3}|該[\u4e00-\u9fff]{1,3})"
)
_NUMERALS = "零一二三四五六七八九十"
_DIGIT = re.compile(rf"(?<![\d.,第\-–—~～至到、:A-Za-z])([3-9]|10)(?=[{CLASSIFIERS}](?![国國民地]))")
_WORDED = re.compile(
    rf"(?<![一二三四五六七八九十百千万萬两兩第数數几幾周週期初年同唯统統])([三四五六七八九十])(?=[{CLASSIFIERS}](?![国國民地名大]))"
)
_TIME = r"\d{3,4}年(?:\d{1,2}月(?:\d{1,2}[日號号])?)?"
_PASSIVE = re.compile(
    rf"\A([^，。、的被]{{2,10}})被([^，。、的被]{{2,8}})({'|'.join(TRANSITIVE)})(。|，[^。]*。)\Z"
)
_MADE_BY = re.compile(
    rf"\A([^，。、]{{2,16}}?)是?由([^，。、的由]{{2,14}}?)({'|'.join(MAKING)})(?:的[^，。]{{0,12}})?。\Z"
)
_ADVERB = re.compile(
    r"\d|[後后]来|[後后]|最终|最終|曾|已|也|都|亦|又|再|将|將|均|皆|便|就|才|没|沒|不|其|他|她|它|首次"
)


def literal(sentences: Sequence[str], _title: str, _chance: random.Random) -> str | None:
    """The sentence as it is."""
    return sentences[0]


def compressed(sentences: Sequence[str], _title: str, chance: random.Random) -> str | None:
    """Without brackets, "据…" or a fronted adverbial, or without one of its clauses that can go."""
    claim = sentences[0]
    cuts: list[str] = [_BRACKETED.sub("", claim), _CONNECTIVE.sub("", claim)]
    if not _HEDGED.search(claim):
        cuts += [_ACCORDING.sub("", claim), _FRONTED.sub("", claim), *_shorter(claim)]
    shorter = [cut for cut in dict.fromkeys(map(cleaned, cuts)) if cut != claim and fit(cut)]
    if not shorter:
        return None
    cut = chance.choice(shorter)
    again = _CONNECTIVE.sub("", _BRACKETED.sub("", cut))
    return again if chance.random() < 0.5 and fit(again) else cut


def merged(sentences: Sequence[str], title: str, _chance: random.Random) -> str | None:
    """Two sentences as one, the subject of the second left out where it is that of the first."""
    if len(sentences) < 2 or sum(map(len, sentences)) > 110:
        return None
    first, second = sentences[0], _CONNECTIVE.sub("", sentences[1])
    if _CONTINUING.match(second):
        return None
    if title and first.startswith(title) and second.startswith(title) and second[len(title)] not in "的（":
        second = second[len(title) :]
    same = _TOPIC.match(second) is not None or second != _CONNECTIVE.sub("", sentences[1])
    return f"{first[:-1]}{'，' if same else '；'}{second}"


def paraphrased(sentences: Sequence[str], title: str, chance: random.Random) -> str | None:
    """In other words: synonyms, numerals, passive and active, the date at another place."""
    claim = sentences[0]
    told = [claim]
    for recast in chance.sample(_RECASTS, len(_RECASTS)):
        if (other := recast(claim, title)) and balanced(other):
            told.append(other)
            break
    other = _reworded(told[-1], chance)
    return other if other != claim else None


def _reworded(claim: str, chance: random.Random) -> str:
    """Up to three synonyms, outside quotations."""
    changed, done = claim, 0
    for pattern, others in chance.sample(SYNONYMS, len(SYNONYMS)):
        if done == 3:
            break
        match = pattern.search(changed)
        if match and not any(
            changed.count(mark, 0, match.start()) > changed.count(end, 0, match.start())
            for mark, end in ("《》", "“”", "「」")
        ):
            other = in_script_of(claim, chance.choice(others))
            changed = changed[: match.start()] + other + changed[match.end() :]
            done += 1
    return changed


def _shorter(claim: str) -> list[str]:
    """`claim` without one clause, where what is left can stand alone."""
    parts = clauses(claim)
    if len(parts) < 2 or not stands(parts[0]):
        return []
    cuts = [parts[0][:-1] + "。"]
    for index in range(1, len(parts)):
        rest = parts[:index] + parts[index + 1 :]
        after = parts[index + 1] if index + 1 < len(parts) else ""
        if (
            not _CONTINUING.match(after)
            and not _DEPENDENT.match(parts[index])
            and not _DEPENDENT.match(parts[index - 1])
        ):
            joined = "".join(rest)
            cuts.append(joined if joined.endswith("。") else joined[:-1] + "。")
    return cuts


def stands(clause: str) -> bool:
    """Whether a sentence's first clause can do without the one after it."""
    return len(clause) > 6 and not _DEPENDENT.match(clause) and _PREDICATE.search(clause) is not None


def _date_first(claim: str, title: str) -> str | None:
    """`X于1998年成立` as `1998年，X成立`."""
    match = re.match(
        rf"({re.escape(title)}|他|她|它|该[\u4e00-\u9fff]|該[\u4e00-\u9fff])[于於在]({_TIME})([^，。至到起的间間底末初前以]{{2,}}[，。].*)",
        claim,
    )
    return f"{match[2]}，{match[1]}{match[3]}" if match else None


def _date_later(claim: str, title: str) -> str | None:
    """`1998年，X成立` as `X于1998年成立`."""
    match = re.match(rf"({_TIME})，?({re.escape(title)}|他|她|它)([^，。]+[，。].*)", claim)
    if not match or _ADVERB.match(match[3]) or match[3][0] in "的和与與、（是在因於于被":
        return None
    return f"{match[2]}{'於' if traditional(claim) else '于'}{match[1]}{match[3]}"


def _numerals(claim: str, _title: str) -> str | None:
    changed = _DIGIT.sub(lambda match: _NUMERALS[int(match[1])], claim, count=1)
    if changed == claim:
        changed = _WORDED.sub(lambda match: str(_NUMERALS.index(match[1])), claim, count=1)
    return changed if changed != claim else None


def _active(claim: str, _title: str) -> str | None:
    """`甲被乙击败` as `乙击败了甲`; `甲由乙设计` as `乙设计了甲`."""
    if (
        (match := _PASSIVE.match(claim))
        and not _ADVERB.search(match[1])
        and "选" not in match[3]
        and "選" not in match[3]
    ):
        return f"{match[2]}{match[3]}了{match[1]}。"
    if (
        (match := _MADE_BY.match(claim))
        and not _ADVERB.search(match[1])
        and not re.search(r"[是为為在於于与與有并並而]|[主]?要", match[1])
    ):
        return f"{match[2]}{match[3]}了{match[1]}。"
    return None


Recast = Callable[[str, str], str | None]
_RECASTS: Sequence[Recast] = (_date_first, _date_later, _numerals, _active)
RESTATEMENTS: Mapping[str, Callable[[Sequence[str], str, random.Random], str | None]] = {
    "literal": literal,
    "compressed": compressed,
    "merged": merged,
    "paraphrased": paraphrased,
}
