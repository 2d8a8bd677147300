"""Numbers and dates of an evidence, spelt as the claim spells them."""

from __future__ import annotations

import pytest

from proxy.checkers.builtin.quantities import respelt


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        ("约1.7万名观众到场观看。", "共有17158名观众到场观看。", "共有1.7万名观众到场观看。"),
        ("该市有1247.5万人。", "该市有12475000人。", "该市有1247.5万人。"),
        ("面积约8852平方公里。", "面积8851.8平方公里，共三个区。", "面积约8852平方公里，共三个区。"),
        ("首架飞机于2017年首飞。", "首架于二〇一七年五月五日首飞。", "首架于2017年5月5日首飞。"),
        ("于一九八七年列入。", "1987年列入。", "一九八七年列入。"),
        ("建于公元前1046年。", "建于公元前一〇四六年三月。", "建于公元前1046年3月。"),
        ("有30%的人同意。", "百分之三十的人同意。", "30%的人同意。"),
    ],
)
def test_what_bears_a_number_out_is_spelt_alike(claim: str, evidence: str, expected: str) -> None:
    assert respelt(claim, evidence).replace("约", "") == expected.replace("约", "")


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("约2.7万名观众到场观看。", "共有17158名观众到场观看。"),
        ("首架飞机于2016年首飞。", "首架于二〇一七年五月五日首飞。"),
        ("于1987年3月列入。", "1987年12月列入。"),
        ("长城是防御工程。", "全长8851.8公里，1987年列入。"),
        ("该市有1247.5亿人。", "该市有1247.5万人。"),
        ("有三座桥。", ""),
        ("原因有五种。", "18:48:05这种情况有两种。"),
        ("女性在30多岁时机会较高。", "女性在20多岁时机会较高。"),
        ("覆盖逾5000万人次。", "覆盖逾4000万人次。"),
        ("规模达到6.06万亿美元。", "规模突破6.05万亿美元。"),
        ("全程100公里。", "全程100海里。"),
    ],
)
def test_another_number_stays_as_it_is(claim: str, evidence: str) -> None:
    assert respelt(claim, evidence) == evidence
