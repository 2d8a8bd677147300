"""Generated rows: a claim alone does not tell its label."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from proxy.types import LANGUAGES, Language
from training.generated.generate import GENERATORS, generated

PER_KIND = 150
languages = pytest.mark.parametrize("language", LANGUAGES)


def rows(language: Language) -> list[dict[str, str]]:
    return list(generated(language, PER_KIND * len(GENERATORS[language].kinds), seed=1))


@languages
def test_a_bag_of_words_of_claims_is_near_chance_in_every_kind(language: Language) -> None:
    by_kind: dict[str, list[dict[str, str]]] = {}
    for row in rows(language):
        by_kind.setdefault(row["source"], []).append(row)
    assert len(by_kind) == len(GENERATORS[language].kinds)
    areas = {}
    for kind, own in by_kind.items():
        counter = CountVectorizer(
            analyzer="char" if language == "zh" else "word", ngram_range=(1, 2), min_df=3
        )
        counts = counter.fit_transform([row["claim"] for row in own])
        right = np.array([row["label"] == "supported" for row in own])
        scores = cross_val_predict(
            LogisticRegression(C=0.1, solver="liblinear"),
            counts,
            right,
            groups=[row["group"] for row in own],
            cv=GroupKFold(3),
            method="decision_function",
        )
        areas[kind] = float(roc_auc_score(right, scores))
    assert np.mean(list(areas.values())) < 0.58
    assert {kind: area for kind, area in areas.items() if area > 0.72} == {}


@languages
def test_rows_are_complete_and_both_labels_alike_frequent(language: Language) -> None:
    made = rows(language)
    labels = Counter(row["label"] == "supported" for row in made)
    assert 0.45 < labels[True] / len(made) < 0.55
    assert not [row for row in made if set("{}") & set(row["claim"] + row["evidence"])]
    assert not [row for row in made if row["claim"] in row["evidence"]]
    assert len({row["id"] for row in made}) == len(made)


@languages
def test_the_same_seed_gives_the_same_rows(language: Language) -> None:
    first, again, other = (list(generated(language, 40, seed)) for seed in (1, 1, 2))
    assert first == again != other
