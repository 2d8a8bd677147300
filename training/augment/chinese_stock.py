"""The names that a Chinese corpus offers, by their sort."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from training.augment.chinese_names import SUFFIXES, SURNAMES, TRANSLITERATION
from training.augment.chinese_text import fit, traditional
from training.swaps import Passage

WORK = re.compile(r"《[^《》（）()\d，、：！ ]{2,10}》")
_WORK_ENDS = "報报法約约案典史傳传記记經经志誌錄录集論论書书曲歌詩诗圖图刊令言說说學学"
FOREIGN = re.compile(
    rf"(?:(?<=[，。、；（「由與与和及是為为的被將将家師师員员人者手授隊队])|\A)"
    rf"[{TRANSLITERATION}]{{2,6}}(?:·[{TRANSLITERATION}]{{2,6}}){{1,2}}"
    r"(?=[，。、；（」的是在於于和與与及等將将曾也說说被以出擔担成])"
)
_BORN = re.compile(r"\A[^，。]{2,6}[（(，][^。]{0,60}(?:\d{3,4}年|字|人[，。]|生于|生於|出生)")


@dataclass(frozen=True, slots=True)
class Stock:
    """What a corpus offers: names by their sort, and what each title names."""

    names: Mapping[tuple[str, bool], Sequence[str]]
    sorts: Mapping[str, str]
    by_title: Mapping[tuple[str, str], Sequence[str]]


def stock(passages: Sequence[Passage]) -> Stock:
    """The names of a corpus, by sort and script (traditional or not), and those of each document."""
    names: defaultdict[tuple[str, bool], set[str]] = defaultdict(set)
    by_title: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    sorts: dict[str, str] = {}
    for passage in passages:
        script = traditional(passage.text)
        if (found := sort_of(passage.title, passage.text)) and passage.title in passage.text:
            sorts[passage.title] = found
            names[found, script].add(passage.title)
        for sentence in filter(fit, passage.sentences):
            for pattern in (WORK, FOREIGN):
                for match in pattern.finditer(sentence):
                    sort = sort_of_mention(match[0])
                    names[sort, script].add(match[0])
                    by_title[sort, passage.title].add(match[0])
    return Stock(
        {key: sorted(found) for key, found in names.items()},
        sorts,
        {key: sorted(found) for key, found in by_title.items()},
    )


def sort_of(title: str, text: str) -> str:
    """What a title names: a suffix (`大学`), `foreign` or `person`; empty where nothing tells."""
    if not re.fullmatch(r"[\u4e00-\u9fff·]{2,12}", title):
        return ""
    if "·" in title:
        return "foreign" if FOREIGN.fullmatch(title) else ""
    for suffix in SUFFIXES:
        if title.endswith(suffix) and len(title) >= len(suffix) + 2:
            return suffix
    person = len(title) in (2, 3) and title[0] in SURNAMES and text.startswith(title) and _BORN.match(text)
    return "person" if person else ""


def sort_of_mention(name: str) -> str:
    """Of a name in a sentence: `foreign`, or `work` with the last character where that tells: a newspaper, a
    treaty, a dictionary."""
    if not name.endswith("》"):
        return "foreign"
    return f"work {name[-2]}" if name[-2] in _WORK_ENDS else "work"
