"""What Chinese numbers count and measure."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple


class Measure(NamedTuple):
    """Two numbers are about the same where `dimension` is one; they can be equal where `base` is one too, of
    which a unit has so many."""

    dimension: str
    base: str
    size: Decimal


_SIZES = {
    "length": "公里 1000 千米 1000 km 1000 公尺 1 米 1 公分 0.01 厘米 0.01 cm 0.01 毫米 0.001 mm 0.001 "
    "英里 1609.344 海里 1852 英尺 0.3048 英寸 0.0254",
    "area": "平方公里 1000000 平方千米 1000000 平方公尺 1 平方米 1 公顷 10000 公頃 10000",
    "mass": "公斤 1 千克 1 kg 1 公克 0.001 克 0.001 公噸 1000 吨 1000 噸 1000 斤 0.5 磅 0.45359237",
    "time": "小时 3600 小時 3600 分钟 60 分鐘 60 秒 1",
    "people": "人 1 名 1 位 1",
    "share": "% 1 ％ 1 ‰ 0.1",
    "degrees": "度 1 ° 1 ℃ 1 ℉ 0.5556",
}
"""Units by what they measure, each with how many of one base unit it is."""
_CURRENCIES = {
    "美元": "美元",
    "日元 日圆 日圓": "日元",
    "欧元 歐元": "欧元",
    "英镑 英鎊": "英镑",
    "港元 港币 港幣": "港元",
    "元 人民币 人民幣": "元",
}
_COUNTS = (
    "个百分点 個百分點 年代 世纪 世紀 个月 個月 年级 年級 年 月 天 周 週 岁 歲 个 個 座 次 种 種 条 條 "
    "层 層 届 屆 所 支 艘 架 部 首 家 间 間 倍 场 場 项 項 类 類 章 篇 幅 辆 輛 颗 顆 只 隻 张 張 站 户 戶 "
    "集 件 级 級 号 號 期 比"
)
_KNOWN = (
    {
        unit: Measure(dimension, dimension, Decimal(size))
        for dimension, units in _SIZES.items()
        for unit, size in zip(units.split()[::2], units.split()[1::2], strict=True)
    }
    | {
        name: Measure("money", base, Decimal(1))
        for names, base in _CURRENCIES.items()
        for name in names.split()
    }
    | {unit: Measure(unit, unit, Decimal(1)) for unit in _COUNTS.split()}
)
SHARE = _KNOWN["%"]
NOTHING = Measure("", "", Decimal(1))
"""Of a number that stands alone."""
MEASURES = "|".join(re.escape(unit) for unit in sorted(_KNOWN, key=len, reverse=True))
"""A pattern for all that is known, longest first."""


def is_measure(word: str) -> bool:
    """Whether a word behind a number is known to be its unit, or what it counts by."""
    return word.lower() in _KNOWN


def measure_of(word: str) -> Measure:
    """What the word behind a number makes of it; a word that is not known measures itself."""
    return _KNOWN.get(word.lower(), Measure(word, word, Decimal(1))) if word else NOTHING
