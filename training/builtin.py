"""Makes the built-in checker's weights: `python -m training.builtin --data DIR --out FILE`.

The same data gives the same bytes. Figures are printed, and stored beside the weights.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from proxy.backends.checkers.builtin.checker import Reading
from proxy.backends.checkers.builtin.claims import Lexicon
from proxy.backends.checkers.builtin.contradiction import contradiction
from proxy.backends.checkers.builtin.features import FEATURES, Comparison, features
from proxy.backends.checkers.builtin.model import LanguageModel
from proxy.backends.checkers.builtin.tokens import tokenize
from proxy.backends.checkers.builtin.windows import EvidenceReader
from proxy.types import Language, Verdict
from training.data import CORPORA, FILES, DataFile, Example, describe, read_examples, read_rows, read_swaps
from training.fit import (
    Floats,
    Table,
    cross_fitted,
    figures,
    fit_both,
    fit_scaling,
    folds_of,
    out_of_fold,
)

SEED = 7
_RARE = 8
"""Passages that a word must be in to get a weight of its own."""
_UNSURE = 0.3
_SUPPORTED_ROW: Mapping[Language, float] = {"en": 1.0, "zh": 3.0}
"""What a truly supported row counts as one without an exchanged detail. More in Chinese, where such rows have
gaps that look like one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m training.builtin", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with train/, dev/ and corpora/")
    parser.add_argument("--out", type=Path, required=True, help="the weights.json to write")
    options = parser.parse_args(arguments)
    missing = [file.path for file in (*FILES, *CORPORA) if not (options.data / file.path).is_file()]
    if missing:
        sys.stderr.write(f"not in {options.data}: {', '.join(missing)}\n")
        return 2
    weights = make_weights(options.data)
    options.out.write_text(render(weights), encoding="utf-8")
    for language, model in weights["languages"].items():
        for source, row in model["figures"].items():
            shown = "  ".join(f"{name}={value}" for name, value in row.items())
            sys.stdout.write(f"{language}  {source:28} {shown}\n")
    return 0


def make_weights(
    folder: Path, files: Sequence[DataFile] = FILES, corpora: Sequence[DataFile] = CORPORA
) -> dict[str, Any]:
    """The whole content of `weights.json`, out of the data in `folder`."""
    languages = {
        corpus.language: _language_model(
            folder, [file for file in files if file.language == corpus.language], corpus
        )
        for corpus in corpora
    }
    return {
        "features": list(FEATURES),
        "seed": SEED,
        "sources": describe(folder, (*files, *corpora)),
        "languages": languages,
    }


def render(weights: Mapping[str, Any]) -> str:
    """The weights as JSON, a list to a line."""
    text = json.dumps(weights, ensure_ascii=False, indent=1)
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda match: f"[{' '.join(match[1].split())}]", text) + "\n"


def _language_model(folder: Path, files: Sequence[DataFile], corpus: DataFile) -> dict[str, Any]:
    idf, rarest = word_weights([row["text"] for row in read_rows(folder / corpus.path)], corpus.language)
    lexicon = Lexicon({word: float(value) for value, words in idf.items() for word in words.split()}, rarest)
    examples = [
        *(example for file in files for example in read_examples(folder, file, SEED)),
        *read_swaps(folder, corpus, SEED),
    ]
    examples, comparisons = _compare(examples, lexicon)
    table = _table(examples, comparisons, corpus.language)
    support, swap = fit_both(table, np.ones(len(examples), dtype=np.bool_))
    raw = out_of_fold(table)
    scaling = fit_scaling(table, raw, np.ones(len(examples), dtype=np.bool_))
    model = LanguageModel(
        idf=idf,
        rarest=rarest,
        support=support,
        swap=swap,
        slope=scaling.slope,
        offset=scaling.offset,
        threshold=scaling.threshold,
        figures=_measure(examples, comparisons, table, raw),
    )
    return model.model_dump(mode="json")


def word_weights(texts: Sequence[str], language: Language) -> tuple[dict[str, str], float]:
    """Inverse document frequencies of common keys, in steps of a half, and that of the rarest of them.

    Only words written in lower case count in English: a name never gets a common word's weight.
    """
    kinds = ("word",) if language == "en" else ("word", "han")
    held: Counter[str] = Counter()
    for text in texts:
        held.update({token.key for token in tokenize(text) if token.kind in kinds})
    bins: defaultdict[float, list[str]] = defaultdict(list)
    for word in sorted(held):
        if held[word] >= _RARE:
            bins[max(0.5, round(2 * math.log(len(texts) / held[word])) / 2)].append(word)
    rarest = max(0.5, round(2 * math.log(max(len(texts), _RARE) / _RARE)) / 2)
    return {str(idf): " ".join(words) for idf, words in sorted(bins.items())}, rarest


def _compare(examples: Sequence[Example], lexicon: Lexicon) -> tuple[list[Example], list[Comparison]]:
    """The examples that can be compared at all, and their comparisons."""
    reading = Reading({"en": lexicon, "zh": lexicon}, EvidenceReader())
    compared = [(example, reading.compare(example.pair)) for example in examples]
    kept = [(example, pair[0]) for example, pair in compared if pair]
    return [example for example, _ in kept], [comparison for _, comparison in kept]


def _table(examples: Sequence[Example], comparisons: Sequence[Comparison], language: Language) -> Table:
    made = np.array([example.source.startswith("wikipedia") for example in examples])
    fit = np.array([example.role == "fit" for example in examples])
    supported = np.array([example.supported for example in examples])
    weights = np.array([example.weight for example in examples])
    scaled = np.array([example.role == "calibrate" for example in examples])
    if not scaled.any():
        scaled = fit & ~made
    real = np.where(supported, _SUPPORTED_ROW[language], _UNSURE)
    return Table(
        values=np.array([features(comparison) for comparison in comparisons]),
        supported=supported,
        swapped=np.array([bool(example.swap) for example in examples]),
        support=np.where(fit & (~made | (language == "en")), weights, 0.0),
        swap=np.where(fit, np.where(made, 1.0, real), 0.0),
        calibration=np.where(scaled, 1.0, np.where(fit & made, weights, 0.0)),
        factors=np.array([comparison.factor for comparison in comparisons]),
        folds=folds_of([example.group for example in examples], SEED),
        sources=np.array([example.source for example in examples]),
    )


def _measure(
    examples: Sequence[Example], comparisons: Sequence[Comparison], table: Table, raw: Floats
) -> dict[str, dict[str, float]]:
    """The figures of each source by cross validation, of `contradicted` too where it is labelled."""
    scores, verdicts = cross_fitted(table, raw)
    called = ~verdicts & np.array([contradiction(comparison) is not None for comparison in comparisons])
    measured: dict[str, dict[str, float]] = {}
    for source in dict.fromkeys(table.sources.tolist()):
        rows = table.sources == source
        found = dict(figures(table.supported[rows], scores[rows], verdicts[rows]))
        labels = [example.verdict for example, own in zip(examples, rows, strict=True) if own]
        if Verdict.CONTRADICTED in labels:
            truth = np.array([label is Verdict.CONTRADICTED for label in labels])
            hits = int((truth & called[rows]).sum())
            found["contradicted_called"] = int(called[rows].sum())
            found["contradicted_precision"] = round(hits / max(int(called[rows].sum()), 1), 3)
            found["contradicted_recall"] = round(hits / int(truth.sum()), 3)
        measured[source] = found
    return measured


if __name__ == "__main__":
    sys.exit(main())
