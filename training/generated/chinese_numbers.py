"""Chinese pairs about numbers: rounding, shares, durations, units, sums, lists, comparison."""

from __future__ import annotations

from random import Random

from training.generated.chinese_names import BUILDINGS, COUNTED, PEOPLE, PLACES, in_characters, with_myriads
from training.generated.drafts import Draft, either_way, swapped


def rounding(rng: Random) -> Draft:
    """An exact count against rounded ones."""
    unit = rng.choice((10, 100, 1000, 10000))
    base = rng.randint(3, 40) * unit
    under = rng.random() < 0.5
    slip = max(1, int(unit * rng.uniform(0.02, 0.2)))
    value = base - slip if under else base + slip
    away = max(unit, int(base * rng.choice((0.5, 0.7, 1.4, 2, 10))) // unit * unit)
    away = away if away != base else base * 2
    (thing, one), who = rng.choice(COUNTED), rng.choice(PLACES) + rng.choice(BUILDINGS)
    year = rng.randint(1950, 2024)
    fact = rng.choice(
        (
            f"{year}年，{who}共有{value}{one}{thing}。",
            f"据{year}年统计，{who}的{thing}为{value}{one}。",
            f"{who}在{year}年登记的{thing}达{value}{one}。",
        )
    )
    about = rng.choice(("约", "大约", "差不多", "将近" if under else "约"))
    frames = (
        "{who}的{thing}{about}{n}{one}。",
        "{thing}有{about}{n}{one}。",
        "{thing}的数量四舍五入后是{n}{one}。",
        "那里{about}有{n}{one}{thing}。",
    )
    fill = {"who": who, "thing": thing, "about": about, "one": one}
    pairs = swapped(frames, {**fill, "n": with_myriads(base)}, {**fill, "n": with_myriads(away)})
    pairs += [
        either_way(f"{thing}{{}}{with_myriads(base)}{one}。", "不到", "超过", under),
        either_way(f"{who}的{thing}比{with_myriads(base)}{one}{{}}。", "略少", "略多", under),
    ]
    return Draft(fact, pairs, "rounding")


_SHARES = (
    (1, 2, ("一半", "百分之五十"), 0.5),
    (1, 4, ("四分之一", "25%"), 0.25),
    (3, 4, ("四分之三", "75%"), 0.75),
    (1, 3, ("三分之一", "约33%"), 1 / 3),
    (2, 3, ("三分之二", "约67%"), 2 / 3),
    (1, 5, ("五分之一", "两成"), 0.2),
    (4, 5, ("五分之四", "八成"), 0.8),
    (9, 10, ("十分之九", "九成"), 0.9),
    (1, 10, ("十分之一", "一成"), 0.1),
    (3, 5, ("五分之三", "六成"), 0.6),
)
_DID = (
    ("通过了检查", "没有通过检查"),
    ("支持这项计划", "不支持这项计划"),
    ("装了太阳能板", "没装太阳能板"),
    ("按时到达", "迟到了"),
    ("会说方言", "不会说方言"),
    ("得到了补助", "没有得到补助"),
)


def shares(rng: Random) -> Draft:
    """Counts against fractions, percentages, majorities."""
    part, whole, names, share = rng.choice(_SHARES)
    times = rng.randint(3, 60)
    group = rng.choice(("住户", "农场", "学生", "受访者", "商户", "志愿者"))
    did, dont = rng.choice(_DID)
    wrong = rng.choice([other for other in _SHARES if abs(other[3] - share) > 0.12])
    fact = rng.choice(
        (
            f"在{rng.choice(PLACES)}的{whole * times}户{group}中，有{part * times}户{did}。",
            f"{rng.choice(PLACES)}调查了{whole * times}名{group}，其中{part * times}名{did}。",
            f"{rng.choice(PLACES)}的{group}有{rng.choice(names)}{did}。",
        )
    )
    way = rng.randrange(2)
    pairs = [
        (frame.format(names[way]), frame.format(wrong[2][way]))
        for frame in (f"{group}中有{{}}{did}。", f"{{}}的{group}{did}。", f"{did}的占{{}}。")
    ]
    if share != 0.5:
        most = share > 0.5
        pairs += [
            either_way(f"{{}}的{group}{did}。", "多数", "少数", most),
            either_way(f"{did}的{group}{{}}一半。", "超过", "不到", most),
            either_way(f"{{}}的{group}{dont}。", "多数", "少数", not most),
        ]
    return Draft(fact, pairs, "shares")


def durations(rng: Random) -> Draft:
    """Two dates against the time between them."""
    years = rng.choice((3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50))
    wrong = rng.choice(
        [span for span in (2, 3, 5, 8, 10, 15, 20, 30, 40, 60) if abs(span - years) > max(1, years // 5)]
    )
    start = rng.randint(1900, 1970)
    end = start + years
    if rng.random() < 0.5:
        who = rng.choice(PLACES) + rng.choice(BUILDINGS)
        fact = rng.choice(
            (
                f"{who}于{start}年启用，{end}年关闭。",
                f"{who}从{start}年一直用到{end}年。",
                f"{start}年开放的{who}在{end}年停止使用。",
            )
        )
        frames = (f"{who}一共使用了{{}}。", f"{who}开放了{{}}后关闭。", "它前后用了{}。")
        ends = [
            (f"{who}在{end}年关闭。", f"{who}在{start}年关闭。"),
            (f"{who}是{start}年启用的。", f"{who}是{end}年启用的。"),
        ]
    else:
        who, role = rng.choice(PEOPLE), rng.choice(("校长", "主编", "馆长", "厂长"))
        fact = rng.choice(
            (
                f"{who}{start}年起任{role}，{end}年卸任。",
                f"{who}在{start}年至{end}年间担任{role}。",
                f"{start}年，{who}出任{role}；{end}年退休。",
            )
        )
        frames = (
            f"{who}当了{{}}{role}。",
            f"{who}任{role}的时间为{{}}。",
            f"{who}就任{{}}后离开了{role}的岗位。",
        )
        ends = [(f"{who}在{start}年成为{role}。", f"{who}在{end}年成为{role}。")]
    style = rng.random() < 0.5
    text = [f"{in_characters(n)}年" if style else f"{n}年" for n in (years, wrong)]
    return Draft(
        fact, [(frame.format(text[0]), frame.format(text[1])) for frame in frames] + ends, "durations"
    )


_UNITS = (
    ("公里", "米", 1000),
    ("米", "厘米", 100),
    ("吨", "公斤", 1000),
    ("公斤", "斤", 2),
    ("公里", "里", 2),
    ("小时", "分钟", 60),
    ("天", "小时", 24),
    ("周", "天", 7),
    ("年", "个月", 12),
    ("平方公里", "公顷", 100),
    ("升", "毫升", 1000),
)


def units(rng: Random) -> Draft:
    """A measure in one unit against another."""
    unit, other, factor = rng.choice(_UNITS)
    value = rng.choice((2, 3, 4, 5, 6, 8, 12, 1.5, 2.5))
    here, there = f"{value:g}{unit}", f"{value * factor:g}{other}"
    slips = [f"{value:g}{other}", f"{value * factor * rng.choice((10, 0.1, 2)):g}{other}"]
    if rng.random() < 0.4:
        here, there, slips = (
            there,
            here,
            [f"{value * factor:g}{unit}", f"{value * rng.choice((2, 3, 10)):g}{unit}"],
        )
    what = {
        "小": "手术持续了",
        "天": "会谈持续了",
        "周": "集训持续了",
        "年": "合同期限为",
        "吨": "这口钟重",
        "公": "",
        "米": "桥面宽",
        "升": "水箱能装",
        "平": "保护区面积为",
    }[unit[0]]
    if not what:
        what = {"公里": "这条路长", "公斤": "这条鱼重"}[unit]
    place = rng.choice(PLACES)
    fact = rng.choice((f"在{place}，{what}{here}。", f"{place}：{what}{here}。", f"据介绍，{what}{here}。"))
    frames = (what + "{}。", "换算下来是{}。", "也就是{}。", f"在{place}，{what}{{}}。")
    return Draft(fact, [(frame.format(there), frame.format(rng.choice(slips))) for frame in frames], "units")


def sums(rng: Random) -> Draft:
    """Two amounts against sum, difference, direction."""
    (thing, one), place = rng.choice(COUNTED), rng.choice(PLACES)
    a, b = rng.sample(range(11, 400), 2)
    if rng.random() < 0.3:
        b = a * 2
    first, second = rng.choice(
        (("春季", "秋季"), ("2019年", "2020年"), ("上半年", "下半年"), ("五月", "六月"))
    )
    fact = rng.choice(
        (
            f"{place}{first}登记了{a}{one}{thing}，{second}登记了{b}{one}。",
            f"{first}，{place}有{thing}{a}{one}；{second}为{b}{one}。",
        )
    )
    up, gap, slip = b > a, abs(a - b), rng.choice((-30, -7, 8, 20, 50))
    pairs = [
        (f"两次合计{a + b}{one}。", f"两次合计{a + b + abs(slip)}{one}。"),
        (
            f"{place}{first}和{second}一共登记了{a + b}{one}{thing}。",
            f"{place}{first}和{second}一共登记了{a + b + abs(slip)}{one}{thing}。",
        ),
        either_way(f"{second}的{thing}比{first}{{}}。", "多", "少", up),
        either_way(f"{thing}的数量{{}}了{gap}{one}。", "增加", "减少", up),
        either_way("后一个数字更{}。", "大", "小", up),
        (f"{second}登记的{thing}是{b}{one}。", f"{second}登记的{thing}是{a}{one}。"),
    ]
    if b == 2 * a:
        pairs += [(f"{thing}的数量翻了一番。", f"{thing}的数量增加到三倍。")] * 2
    return Draft(fact, pairs, "sums")


def counts(rng: Random) -> Draft:
    """A list against the number of its items."""
    kind, verb, items = rng.choice(
        (
            ("种作物", "种植", ["水稻", "小麦", "玉米", "大豆", "棉花", "油菜"]),
            ("种语言", "会说", ["英语", "法语", "日语", "俄语", "德语", "韩语"]),
            ("个国家", "去过", ["泰国", "智利", "肯尼亚", "挪威", "希腊", "加拿大"]),
            ("门课", "教", ["数学", "历史", "物理", "化学", "音乐", "地理"]),
        )
    )
    size = rng.randint(2, 5)
    chosen = rng.sample(items, size)
    rest = rng.choice([item for item in items if item not in chosen])
    wrong = rng.choice([n for n in (size - 1, size + 1, size + 2) if n > 1])
    who = rng.choice(PEOPLE)
    listed = "、".join(chosen[:-1]) + "和" + chosen[-1]
    word = [("两" if n == 2 else in_characters(n)) + kind for n in (size, wrong)]
    pairs = [
        (f"{who}{verb}{word[0]}。", f"{who}{verb}{word[1]}。"),
        (f"文中列出了{word[0]}。", f"文中列出了{word[1]}。"),
        (f"{who}{verb}{chosen[-1]}。", f"{who}{verb}{rest}。"),
        (f"{chosen[0]}也在其中。", f"{rest}也在其中。"),
    ]
    return Draft(f"{who}{verb}{listed}。", pairs, "counts", "not_supported")


_MEASURES = (
    ("{a}高{x}米", "{b}高{y}米", "高", "矮", "塔"),
    ("{a}重{x}公斤", "{b}重{y}公斤", "重", "轻", "钟"),
    ("{a}长{x}公里", "{b}长{y}公里", "长", "短", "河"),
    ("{a}售价{x}元", "{b}售价{y}元", "贵", "便宜", "门票"),
    ("{a}深{x}米", "{b}深{y}米", "深", "浅", "湖"),
    ("{a}建于{x}年", "{b}建于{y}年", "新", "旧", "庙"),
)


def comparison(rng: Random) -> Draft:
    """Two measures against more and less."""
    one, two, more, less, noun = rng.choice(_MEASURES)
    a, b = (f"{place}{noun}" for place in rng.sample(PLACES, 2))
    x, y = rng.sample(range(1450, 1920) if noun == "庙" else range(120, 990), 2)
    high, low = (a, b) if x > y else (b, a)
    fact = one.format(a=a, x=x) + rng.choice(("，", "，而")) + two.format(b=b, y=y) + "。"
    if rng.random() < 0.3:
        fact = rng.choice(
            (f"{high}比{low}{more}。", f"{low}没有{high}{more}。", f"与{high}相比，{low}{less}一些。")
        )
    frames = (
        "{h}比{l}" + more + "。",
        "{l}比{h}" + less + "。",
        "两者之中，{h}更" + more + "。",
        "{l}不如{h}" + more + "。",
        "{h}并不比{l}" + less + "。",
    )
    return Draft(fact, swapped(frames, {"h": high, "l": low}, {"h": low, "l": high}), "comparison")
