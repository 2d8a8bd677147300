"""Which tokens of a claim a window of evidence says, and how well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from proxy.checkers.builtin.evidence_windows import KIN
from proxy.checkers.builtin.numbers import agrees
from proxy.checkers.builtin.tokens import Token

_MOST = 200
"""Numbers and names of a window that a claim's are held against one by one; equal ones are found anyway."""
_KINSHIP = 0.6
"""What a word counts that the window has another form of ("nation", "national")."""
_LONE_CHARACTER = 0.4
"""What a Chinese character counts that the window has, but next to other ones."""


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that a window of evidence, with the title of its document, can match.

    `tokens` are the window's own, with offsets into `text`, the whole evidence; `places`
    says where a key first is among them.
    """

    text: str
    tokens: Sequence[Token]
    keys: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    places: dict[str, int]
    numbers: tuple[str, ...]
    prefixes: frozenset[str]
    names: frozenset[str]
    initials: frozenset[str]


def read_window(text: str, tokens: Sequence[Token], title: Sequence[Token]) -> Found:
    """What the window's `tokens`, out of the evidence `text`, and those of the title can match."""
    places: dict[str, int] = {}
    for at, token in enumerate(tokens):
        places.setdefault(token.key, at)
    both = [*tokens, *title]
    keys = frozenset(token.key for token in both)
    names = frozenset(token.key for token in both if token.kind == "name")
    return Found(
        text=text,
        tokens=tokens,
        keys=keys,
        pairs=frozenset((one.key, other.key) for part in (tokens, title) for one, other in pairwise(part)),
        places=places,
        numbers=tuple(dict.fromkeys(token.key for token in both if token.kind == "number"))[:_MOST],
        prefixes=frozenset(key[:KIN] for key in keys if len(key) > KIN),
        names=names,
        initials=frozenset(_initials(both)),
    )


def matches(tokens: Sequence[Token], found: Found) -> list[float]:
    """How far the window says each of a claim's tokens, from 0 (not at all) to 1."""
    spelt_out = _spelt_out(tokens, found)
    known = sorted(found.names)[:_MOST]
    matched = []
    for at, token in enumerate(tokens):
        if token.kind == "han":
            matched.append(_han_match(tokens, at, found))
        elif token.key in found.keys or at in spelt_out:
            matched.append(1.0)
        elif token.kind == "number":
            matched.append(float(any(agrees(token.key, number) for number in found.numbers)))
        elif token.kind == "name":
            matched.append(float(token.key in found.initials or _same_name(token.key, known)))
        else:
            kin = len(token.key) >= KIN and token.key[:KIN] in found.prefixes
            matched.append(_KINSHIP if kin and token.kind == "word" else 0.0)
    return matched


def _han_match(tokens: Sequence[Token], at: int, found: Found) -> float:
    key = tokens[at].key
    if key not in found.keys:
        return 0.0
    before = at > 0 and (tokens[at - 1].key, key) in found.pairs
    after = at + 1 < len(tokens) and (key, tokens[at + 1].key) in found.pairs
    return 1.0 if before or after else _LONE_CHARACTER


def _same_name(key: str, names: Iterable[str]) -> bool:
    """Whether one of `names` is the start of `key` or the other way round: "german" and "germany"."""
    return any(
        min(len(key), len(name)) >= 4
        and abs(len(key) - len(name)) <= 3
        and (key.startswith(name) or name.startswith(key))
        for name in names
    )


def _name_runs(tokens: Sequence[Token]) -> Iterable[list[int]]:
    """Runs of names, "of" and "the" between them left out: the indexes of each run of two and more."""
    run: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind == "name":
            run.append(at)
        elif token.key not in ("of", "the", "and", "for"):
            if len(run) > 1:
                yield run
            run = []
    if len(run) > 1:
        yield run


def _initials(tokens: Sequence[Token]) -> Iterable[str]:
    for run in _name_runs(tokens):
        initials = "".join(tokens[at].key[0] for at in run)
        yield initials
        if initials == "us":
            yield "usa"


def _spelt_out(tokens: Sequence[Token], found: Found) -> frozenset[int]:
    """The claim's names that the window abbreviates: "World Health Organization" where it says "WHO"."""
    runs = ((run, "".join(tokens[at].key[0] for at in run)) for run in _name_runs(tokens))
    return frozenset(
        at
        for run, initials in runs
        if initials in found.names or (initials == "us" and "usa" in found.names)
        for at in run
    )
