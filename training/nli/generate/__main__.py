"""Writes generated pairs: `python -m nli.generate en OUT --drafts N`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from nli.config import Config
from nli.generate import chinese, language_en, numbers_en
from nli.generate.shape import Draft, capital
from nli.generate.words import FILLERS

Generator = Callable[[Random], Draft]


def _generators(lang: str) -> tuple[tuple[Generator, ...], tuple[str, ...]]:
    if lang == "zh":
        return chinese.KINDS, chinese.FILLERS
    return (*numbers_en.KINDS, *language_en.KINDS), FILLERS


def rows(lang: str, drafts: int, rng: Random, name: str = "0") -> list[dict[str, str]]:
    """Rows of `drafts` evidences, the kinds in turn: of each two right and two wrong claims where it has them;
    `name` goes into the ids."""
    kinds, fillers = _generators(lang)
    glue = "" if lang == "zh" else " "
    found = []
    for number in range(drafts):
        draft = kinds[number % len(kinds)](rng)
        count = min(2, len(draft.pairs))
        right = [(pair[0], "supported") for pair in rng.sample(draft.pairs, count)]
        wrong = [(pair[1], draft.wrong) for pair in rng.sample(draft.pairs, count)]
        around = rng.sample(fillers, rng.choice((0, 0, 1, 2)))
        at = rng.randint(0, len(around))
        evidence = glue.join([*around[:at], draft.fact, *around[at:]])
        texts = {capital(text): label for text, label in right + wrong if capital(text) not in evidence}
        found += [
            {
                "id": f"generated-{lang}-{name}-{number}-{letter}",
                "group": f"generated-{lang}-{name}-{number}",
                "source": f"generated_{draft.kind}",
                "claim": text,
                "evidence": evidence,
                "label": label,
                "lang": lang,
            }
            for letter, (text, label) in zip("abcd", texts.items(), strict=False)
        ]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m nli.generate", description="Writes generated pairs.")
    parser.add_argument("lang", choices=("en", "zh"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--drafts", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=Config().seed)
    options = parser.parse_args(arguments)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    made = rows(options.lang, options.drafts, Random(options.seed), str(options.seed))
    with options.out.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in made)
    sys.stdout.write(f"{len(made)} rows\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
