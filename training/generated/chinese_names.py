"""Names and things that the Chinese generators draw from."""

from __future__ import annotations

from random import Random

PEOPLE = """
    林晓梅 陈国栋 王立群 赵敏 周海涛 吴思远 郑秋云 何建平 马丽华 孙志强 黄文博 徐静怡 高鹏 罗雨桐
    梁志远 宋佳 唐明 许若兰 邓启航 冯雪 曹振宇 彭慧 萧然 田野 董欣 潘伟 范晓东 石磊
""".split()
PLACES = """
    青石镇 河湾县 云岭市 南浦 松原村 白沙港 临川区 东岭 柳溪 沙湖镇 北塘 凤鸣县 石桥 宁丰市 海棠岛 长泽
""".split()
FIRMS = """
    恒远钢铁 华澜科技 绿源食品 东启汽车 明川银行 新航船运
    北辰能源 天朗软件 嘉禾纺织 锐光电子 金峰矿业 沃土农业
""".split()
BUILDINGS = """
    博物馆 图书馆 体育馆 剧院 火车站 灯塔 医院 展览馆 游泳馆 天文台 科技馆 古塔
""".split()
ANIMALS = """
    雪雀 水獭 沙蜥 江豚 角鸮 麋鹿 林蛙 野兔 白鹭 刺猬
""".split()
COUNTED = (
    ("游客", "名"),
    ("图书", "册"),
    ("树", "棵"),
    ("居民", "名"),
    ("学生", "名"),
    ("船只", "艘"),
    ("门票", "张"),
    ("画作", "幅"),
    ("信件", "封"),
    ("座位", "个"),
)
FILLERS = (
    "该处由当地基金会管理。",
    "有关档案保存在县志馆。",
    "经费来自社会捐款。",
    "当地报纸对此作了连续报道。",
    "如今原址立有一块小牌子。",
    "官方未作进一步评论。",
    "整份报告约八十页。",
    "当地气候全年大多温和。",
    "此后多所学校前来参观。",
    "更多细节将在数周内公布。",
)
_DIGITS = "零一二三四五六七八九十"


def in_characters(number: int) -> str:
    """A whole number under a hundred in characters."""
    if number <= 10:
        return _DIGITS[number]
    tens, ones = divmod(number, 10)
    return ("" if tens == 1 else _DIGITS[tens]) + "十" + (_DIGITS[ones] if ones else "")


def with_myriads(number: float) -> str:
    """A number with 万 where it is big."""
    return f"{number / 10000:g}万" if number >= 10000 else f"{number:g}"


def names(rng: Random) -> dict[str, str]:
    """One of each, by the letters that frames have for them."""
    return {
        "p": rng.choice(PLACES),
        "b": rng.choice(BUILDINGS),
        "w": rng.choice(PEOPLE),
        "f": rng.choice(FIRMS),
        "an": rng.choice(ANIMALS),
    }
