"""Small tests without a base model: windows, losses, generators, draws, probabilities."""

from __future__ import annotations

import random
from random import Random

import torch

from nli.data import Source, draw
from nli.generate.__main__ import rows
from nli.losses import label_loss, rank_loss
from nli.score import Calibration
from nli.windows import overlap, sentences, windows


def _count(texts):
    return [len(text.split()) for text in texts]


def test_short_evidence_is_one_window_with_its_title():
    assert windows("It opened in 1912.", "It opened.", _count, 50, "Mill") == ["Mill. It opened in 1912."]


def test_long_evidence_keeps_what_the_claim_speaks_of():
    filler = " ".join(f"Nothing of note happened in year {n} here." for n in range(40))
    found = windows(
        f"{filler} The mill burnt down in a storm. {filler}", "A storm burnt the mill.", _count, 40
    )
    assert "The mill burnt down in a storm." in found[0] and len(found[0].split()) <= 40


def test_chinese_sentences_and_overlap():
    assert sentences("博物馆收门票。每天开放！") == ["博物馆收门票。", "每天开放！"]
    assert overlap("博物馆收门票", "博物馆收门票。") == 1.0


def test_a_row_of_unknown_kind_is_right_with_either_other_label():
    logits = torch.tensor([[-9.0, 3.0, 3.0]])
    assert float(label_loss(logits, torch.tensor([-1]))) < 1e-3
    assert float(label_loss(logits, torch.tensor([1]))) > 0.6


def test_ranking_counts_within_a_group_only():
    logits = torch.tensor([[2.0, 0, 0], [-2.0, 0, 0], [5.0, 0, 0]])
    labels = torch.tensor([0, 1, 1])
    apart = rank_loss(logits, labels, torch.tensor([0, 0, 1]))
    together = rank_loss(logits, labels, torch.tensor([0, 0, 0]))
    assert float(apart) < float(together)


def test_generated_claims_of_both_labels_come_from_the_same_frames():
    for lang in ("en", "zh"):
        made = rows(lang, 400, Random(1))
        right = sum(row["label"] == "supported" for row in made) / len(made)
        assert 0.4 < right < 0.6
        assert all("{" not in row["claim"] + row["evidence"] for row in made)


def test_a_balanced_draw_leaves_overlap_without_meaning():
    data = [
        {
            "id": str(n),
            "claim": f"alpha beta {n}",
            "evidence": f"alpha beta {n} {n * 7}",
            "label": "supported",
        }
        for n in range(90)
    ] + [
        {"id": f"x{n}", "claim": f"gamma {n}", "evidence": f"delta {n + 900}", "label": "contradicted"}
        for n in range(90)
    ]
    drawn = [row for unit in draw(data, Source("train/x.jsonl", 40), random.Random(0)) for row in unit]
    shares = [overlap(row["claim"], row["evidence"]) for row in drawn if row["label"] == "supported"]
    others = [overlap(row["claim"], row["evidence"]) for row in drawn if row["label"] != "supported"]
    assert not drawn or abs(sum(shares) / len(shares) - sum(others) / len(others)) < 0.3


def test_the_best_window_counts_and_all_adds_up():
    found = Calibration().probabilities([(-3.0, 2.0, 0.0), (3.0, 0.0, 0.0)])
    assert found[0] > 0.8 and abs(sum(found) - 1) < 1e-9
