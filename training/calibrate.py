"""`calibrate`: word overlap and the NLI model's output become one calibrated model per language.

Writes `weights.json`. Also word weights (IDF) from a corpus, and the threshold on P(contradicted): the least
that rarely calls a claim contradicted that is not.
"""

from __future__ import annotations

import json
import logging
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proxy.checkers.builtin.builtin_weights import Contradiction, LanguageModel
from proxy.checkers.builtin.claim_view import Lexicon
from proxy.checkers.builtin.contradiction import contradicted, contradiction
from proxy.checkers.builtin.ensemble import ENTAILED, INPUTS, asked, inputs, overlap
from proxy.checkers.builtin.evidence_windows import EvidenceReader
from proxy.checkers.builtin.nli import Entailment, EntailmentModel, entailments
from proxy.checkers.builtin.pair_view import Read, Reading
from proxy.checkers.builtin.tokens import tokenize
from proxy.types import Language, Verdict
from training.regression import FIT, Flags, Floats, Table, cross_fitted, figures, fit_scaling, out_of_fold
from training.run import TrainingError, read_rows
from training.samples import CORPORA, SEED, SOURCES, Sample, Source, describe

_RARE = 8
"""Passages that a word must be in to get a weight of its own."""


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


ALARMS = 0.05
"""Of the failed claims of a source that nothing contradicts, the share that may be called contradicted."""
REPORTED = frozenset({"fever_symmetric"})
"""Sources that the threshold is measured on, and so not chosen by."""
_GRID = tuple(round(0.5 + 0.01 * step, 2) for step in range(50))


def fit_contradiction(
    table: Table, verdicts: Sequence[Verdict | None], supported: Flags, said: Flags, chances: Floats
) -> Contradiction:
    """The threshold on `chances`, and its figures beside those of the rule alone.

    All of length n: the right verdicts, which rows pass for support, and what `builtin.contradiction` makes
    of each: the rule's word and the probability. A row counts as not contradicted where it is labelled
    supported or unsupported; of one that is only labelled as not supported nothing is known.
    """
    known = np.array(
        [verdict in (Verdict.SUPPORTED, Verdict.UNSUPPORTED) for verdict in verdicts], dtype=np.bool_
    )
    true = np.array([verdict is Verdict.CONTRADICTED for verdict in verdicts], dtype=np.bool_)
    choosing = (table.calibration > 0) & ~np.isin(table.sources, list(REPORTED))
    threshold = _threshold(chances, known & ~supported & choosing, table.sources)
    called = ~supported & (said | (chances >= threshold))
    measured = {
        source: dict(_figures(true[rows], (~supported & said)[rows], called[rows]))
        for source in dict.fromkeys(table.sources[true].tolist())
        for rows in [(table.sources == source) & (true | known)]
    }
    return Contradiction(threshold=threshold, figures=measured)


def _threshold(chances: Floats, wrong: Flags, sources: NDArray[np.str_]) -> float:
    """The least at which in no source more than `ALARMS` of the rows `wrong` to call are called."""
    parts = [chances[wrong & (sources == source)] for source in sorted(set(sources[wrong].tolist()))]
    passing = (
        threshold for threshold in _GRID if all((part >= threshold).mean() <= ALARMS for part in parts)
    )
    return next(passing, 1.0)


def _figures(true: Flags, said: Flags, called: Flags) -> Mapping[str, float]:
    """Recall, and precision over rows of all three labels: of the rule alone, and of both together."""
    values = {
        "rows": len(true),
        "contradicted": true.sum(),
        "rule_recall": said[true].mean(),
        "rule_precision": _precision(true, said),
        "recall": called[true].mean(),
        "precision": _precision(true, called),
    }
    return {name: round(float(value), 3) for name, value in values.items()}


def _precision(true: Flags, called: Flags) -> float:
    """1 where none is called."""
    return float(true[called].mean()) if called.any() else 1.0


log = logging.getLogger("training")

_ASKED_AT_ONCE = 256
_SUPPORTED_ROW = 30.0
"""What a supported citation counts among copied sentences, for the model of exchanged details: citations have
gaps that look like one."""
_OTHER_ROW = 0.3
"""What one that is not supported counts there: it may be for an exchanged detail."""

Reader = Callable[[Source, Sample], EntailmentModel]
"""Which NLI model is asked about a sample: one that has not learnt it."""


def make_weights(
    folder: Path,
    readers: Mapping[Language, Reader],
    adapters: Mapping[Language, Mapping[str, Any]],
    other: Mapping[str, Any],
    sources: Sequence[Source] = SOURCES,
    corpora: Mapping[Language, str] = CORPORA,
) -> dict[str, Any]:
    """The whole content of `weights.json`, out of the data in `folder`, for the languages of `readers`; the
    rest is that of `other` weights.

    `adapters` tell how those of the NLI models came to be. Raises `TrainingError` where a file is missing.
    """
    paths = {*(source.path for source in sources), *corpora.values()}
    missing = sorted(path for path in paths if not (folder / path).is_file())
    if missing:
        raise TrainingError(f"not in {folder}: {', '.join(missing)}")
    languages = {
        language: _language_model(
            folder,
            language,
            corpora[language],
            [source for source in sources if source.language == language],
            reader,
        )
        for language, reader in readers.items()
    }
    return {
        "seed": SEED,
        "adapters": {**other["adapters"], **adapters},
        "sources": describe(folder, sources),
        "languages": {**other["languages"], **languages},
    }


def render(weights: Mapping[str, Any]) -> str:
    """The weights as JSON, a list to a line."""
    text = json.dumps(weights, ensure_ascii=False, indent=1)
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda match: f"[{' '.join(match[1].split())}]", text) + "\n"


def _language_model(
    folder: Path, language: Language, corpus: str, sources: Sequence[Source], reader: Reader
) -> dict[str, Any]:
    idf, rarest = word_weights([row["text"] for row in read_rows(folder / corpus)], language)
    lexicon = Lexicon.of(idf, rarest)
    samples = [(source, sample) for source in sources for sample in source.read(folder / source.path, source)]
    kept, reads = _read([sample for _, sample in samples], lexicon, language)
    samples = [samples[index] for index in kept]
    values = _values(reads, [reader(*sample) for sample in samples])
    table = _table(
        language, [sample for sample, _ in samples], [sample for _, sample in samples], reads, values
    )
    verdicts = [sample.verdict for _, sample in samples]
    log.info("calibrate: %s: %d samples", language, len(kept))
    folds = table.folds(SEED)
    fit = FIT[language]
    odds = out_of_fold(table, folds, fit, SEED)
    everything = np.ones(len(kept), dtype=np.bool_)
    scaling = fit_scaling(table, odds, everything)
    scores, passed = cross_fitted(table, odds, folds)
    measured = {
        source: dict(figures(table.supported[rows], scores[rows], passed[rows]))
        for source in dict.fromkeys(table.sources.tolist())
        for rows in [table.sources == source]
    }
    for source, row in measured.items():
        log.info("calibrate: %s %s", source, "  ".join(f"{name}={value}" for name, value in row.items()))
    return LanguageModel(
        idf=idf,
        rarest=rarest,
        inputs=INPUTS[language],
        model=fit(table, everything, SEED),
        slope=scaling.slope,
        offset=scaling.offset,
        threshold=scaling.threshold,
        contradiction=_contradiction(table, reads, verdicts, scores, passed) if language == "en" else None,
        figures=measured,
    ).model_dump(mode="json")


def _read(samples: Sequence[Sample], lexicon: Lexicon, language: Language) -> tuple[list[int], list[Read]]:
    """The indexes of those samples that can be read, in that language, and what is read of them."""
    reading = Reading({"en": lexicon, "zh": lexicon}, EvidenceReader())
    readings = [(index, reading.read(sample.pair)) for index, sample in enumerate(samples)]
    kept = [(index, read) for index, read in readings if read and read.comparison.claim.language == language]
    return [index for index, _ in kept], [read for _, read in kept]


def _table(
    language: Language,
    sources: Sequence[Source],
    samples: Sequence[Sample],
    reads: Sequence[Read],
    values: Sequence[Sequence[float]],
) -> Table:
    names = np.array([source.name for source in sources])
    share = np.array([float(source.weight) for source in sources])
    share /= np.array([(names == name).sum() for name in names])
    roles = np.array([source.role for source in sources])
    copied = np.array([sample.copied for sample in samples])
    supported = np.array([sample.supported for sample in samples])
    gate = np.zeros(len(samples))
    if language == "zh":
        # A denial is not learnt: a rule of the checker sees to it.
        denied = np.array([sample.swap == "negation" for sample in samples])
        real = np.where(supported, _SUPPORTED_ROW, _OTHER_ROW) * ~np.array(
            [sample.made for sample in samples]
        )
        gate = np.where((roles == "fit") & ~denied, np.where(copied, 1.0, real), 0.0)
    entailed = [row[INPUTS[language].index(ENTAILED)] for row in values]
    groups = {group: index for index, group in enumerate(dict.fromkeys(sample.group for sample in samples))}
    return Table(
        values=np.array(values),
        supported=supported,
        swapped=np.array([bool(sample.swap) for sample in samples]),
        fit=np.where((roles == "fit") & ~((language == "zh") & copied), share, 0.0),
        gate=gate,
        calibration=np.where(roles == "measure", 0.0, share),
        factors=np.array(
            [read.comparison.factor(entailment) for read, entailment in zip(reads, entailed, strict=True)]
        ),
        groups=np.array([groups[sample.group] for sample in samples]),
        sources=names,
    )


def _contradiction(
    table: Table,
    reads: Sequence[Read],
    verdicts: Sequence[Verdict | None],
    scores: Floats,
    passed: Flags,
) -> Contradiction:
    """English only: no Chinese set but rule-made claims has all three labels, so there the rule decides."""
    comparisons = [read.comparison for read in reads]
    told = zip(comparisons, table.values.tolist(), scores.tolist(), strict=True)
    return fit_contradiction(
        table,
        verdicts,
        passed,
        said=np.array([contradiction(comparison) is not None for comparison in comparisons], dtype=np.bool_),
        chances=np.array([contradicted(*told_row) for told_row in told]),
    )


def _values(reads: Sequence[Read], models: Sequence[EntailmentModel]) -> list[tuple[float, ...]]:
    """The inputs of each, its NLI model asked where the checker would ask it."""
    values = [overlap(read.comparison) for read in reads]
    told: dict[int, Entailment] = {}
    for model in dict.fromkeys(models):
        own = [
            index for index, fitted in enumerate(models) if fitted is model and asked(reads[index].comparison)
        ]
        for start in range(0, len(own), _ASKED_AT_ONCE):
            batch = own[start : start + _ASKED_AT_ONCE]
            inputs_of = entailments(model, [reads[index].extracts for index in batch])
            told.update(zip(batch, inputs_of, strict=True))
    return [inputs(value, told.get(index)) for index, value in enumerate(values)]
