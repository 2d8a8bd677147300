"""Chinese pairs: numbers, comparison, order, roles, quantifiers, negation, opposites, modality and more."""

from __future__ import annotations

from random import Random

from nli.generate.shape import Draft, Pair, swap

PEOPLE = [
    "林晓梅",
    "陈国栋",
    "王立群",
    "赵敏",
    "周海涛",
    "吴思远",
    "郑秋云",
    "何建平",
    "马丽华",
    "孙志强",
    "黄文博",
    "徐静怡",
    "高鹏",
    "罗雨桐",
    "梁志远",
    "宋佳",
    "唐明",
    "许若兰",
    "邓启航",
    "冯雪",
    "曹振宇",
    "彭慧",
    "萧然",
    "田野",
    "董欣",
    "潘伟",
    "范晓东",
    "石磊",
]
PLACES = [
    "青石镇",
    "河湾县",
    "云岭市",
    "南浦",
    "松原村",
    "白沙港",
    "临川区",
    "东岭",
    "柳溪",
    "沙湖镇",
    "北塘",
    "凤鸣县",
    "石桥",
    "宁丰市",
    "海棠岛",
    "长泽",
]
FIRMS = [
    "恒远钢铁",
    "华澜科技",
    "绿源食品",
    "东启汽车",
    "明川银行",
    "新航船运",
    "北辰能源",
    "天朗软件",
    "嘉禾纺织",
    "锐光电子",
    "金峰矿业",
    "沃土农业",
]
BUILDINGS = [
    "博物馆",
    "图书馆",
    "体育馆",
    "剧院",
    "火车站",
    "灯塔",
    "医院",
    "展览馆",
    "游泳馆",
    "天文台",
    "科技馆",
    "古塔",
]
ANIMALS = ["雪雀", "水獭", "沙蜥", "江豚", "角鸮", "麋鹿", "林蛙", "野兔", "白鹭", "刺猬"]
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


def _hanzi(number: int) -> str:
    """A whole number under a hundred in characters."""
    if number <= 10:
        return _DIGITS[number]
    tens, ones = divmod(number, 10)
    return ("" if tens == 1 else _DIGITS[tens]) + "十" + (_DIGITS[ones] if ones else "")


def _turned(frame: str, one: str, other: str, first: bool) -> Pair:
    return (frame.format(one), frame.format(other)) if first else (frame.format(other), frame.format(one))


def _big(number: float) -> str:
    """A number with 万 where it is big."""
    return f"{number / 10000:g}万" if number >= 10000 else f"{number:g}"


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
    pairs = swap(frames, {**fill, "n": _big(base)}, {**fill, "n": _big(away)})
    pairs += [
        _turned(f"{thing}{{}}{_big(base)}{one}。", "不到", "超过", under),
        _turned(f"{who}的{thing}比{_big(base)}{one}{{}}。", "略少", "略多", under),
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
    wrong = rng.choice([found for found in _SHARES if abs(found[3] - share) > 0.12])
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
            _turned(f"{{}}的{group}{did}。", "多数", "少数", most),
            _turned(f"{did}的{group}{{}}一半。", "超过", "不到", most),
            _turned(f"{{}}的{group}{dont}。", "多数", "少数", not most),
        ]
    return Draft(fact, pairs, "shares")


def durations(rng: Random) -> Draft:
    """Two dates against the time between them."""
    years = rng.choice((3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50))
    wrong = rng.choice(
        [found for found in (2, 3, 5, 8, 10, 15, 20, 30, 40, 60) if abs(found - years) > max(1, years // 5)]
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
    text = [f"{_hanzi(n)}年" if style else f"{n}年" for n in (years, wrong)]
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
        _turned(f"{second}的{thing}比{first}{{}}。", "多", "少", up),
        _turned(f"{thing}的数量{{}}了{gap}{one}。", "增加", "减少", up),
        _turned("后一个数字更{}。", "大", "小", up),
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
    word = [("两" if n == 2 else _hanzi(n)) + kind for n in (size, wrong)]
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
    return Draft(fact, swap(frames, {"h": high, "l": low}, {"h": low, "l": high}), "comparison")


def order(rng: Random) -> Draft:
    """Two events against before and after."""
    events = (
        [f"{p}大桥建成" for p in PLACES[:6]]
        + [f"{p}发大水" for p in PLACES[6:11]]
        + [f"{w}当选" for w in PEOPLE[:6]]
        + [f"{w}辞职" for w in PEOPLE[6:12]]
        + [f"{f}上市" for f in FIRMS[:6]]
        + [f"{f}破产" for f in FIRMS[6:]]
    )
    one, two = rng.sample(events, 2)
    year, gap = rng.randint(1950, 2000), rng.randint(1, 20)
    fact = rng.choice(
        (
            f"{year}年，{one}；{year + gap}年，{two}。",
            f"{one}之后，{two}。",
            f"{two}之前，{one}。",
            f"先是{one}，随后{two}。",
            f"直到{one}，才有了{two}。",
            f"{two}是在{one}{gap}年之后。",
        )
    )
    frames = (
        "{a}在先。",
        "{a}早于{b}。",
        "{b}发生在{a}以后。",
        "{b}的时候，{a}已是过去的事。",
        "{a}时，{b}还没有发生。",
        "{a}之后，{b}。",
        "{b}之前，{a}。",
        "较晚发生的是{b}。",
    )
    return Draft(fact, swap(frames, {"a": one, "b": two}, {"a": two, "b": one}), "order")


_ROLES = (
    ("{a}聘用了{b}。", "{b}被{a}聘用。", "{b}到{a}手下工作。", "给{b}工作的是{a}。"),
    (
        "{a}在决赛中击败了{b}。",
        "{b}在决赛中败给了{a}。",
        "决赛的赢家是{a}，输家是{b}。",
        "{b}在决赛中被{a}打败。",
    ),
    ("{a}教{b}画画。", "{b}跟{a}学画画。", "{a}是{b}的老师。", "{b}是{a}的学生。"),
    ("{a}救了{b}。", "{b}被{a}所救。", "{b}多亏{a}才脱险。", "{a}是{b}的救命恩人。"),
    ("{a}起诉了{b}。", "{b}被{a}告上法庭。", "原告是{a}，被告是{b}。", "{b}成了{a}的被告。"),
    (
        "{a}把房子卖给了{b}。",
        "{b}从{a}手里买下了房子。",
        "{a}的房子归了{b}。",
        "房子的买主是{b}，卖主是{a}。",
    ),
    ("{a}借给{b}五万元。", "{b}向{a}借了五万元。", "{b}欠{a}的钱。", "{a}是{b}的债主。"),
    ("{a}接替{b}出任主席。", "{b}的主席职位由{a}接任。", "{b}先当主席，{a}后当主席。", "{a}是{b}的继任者。"),
    ("{a}批评了{b}。", "{b}受到{a}的批评。", "挨批的是{b}。", "提出批评的是{a}。"),
    ("{a}采访了{b}。", "{b}接受了{a}的采访。", "提问的是{a}，回答的是{b}。", "{b}是{a}的采访对象。"),
    ("{a}比{b}先到。", "{b}比{a}晚到。", "{b}到的时候，{a}已经在了。", "后到的是{b}。"),
)


def roles(rng: Random) -> Draft:
    """Who did what to whom."""
    frames = list(rng.choice(_ROLES))
    a, b = rng.sample(PEOPLE, 2)
    fact = rng.choice(frames)
    return Draft(
        fact.format(a=a, b=b),
        swap([f for f in frames if f != fact], {"a": a, "b": b}, {"a": b, "b": a}),
        "roles",
    )


_GROUPS = (
    ("学生", "及格了", "没有及格"),
    ("村子", "有学校", "没有学校"),
    ("会员", "投了赞成票", "没有投赞成票"),
    ("商店", "重新营业", "仍然关门"),
    ("乘客", "获救", "没有获救"),
    ("样品", "含铅", "不含铅"),
    ("信件", "保存了下来", "没有保存下来"),
)


def quantifiers(rng: Random) -> Draft:
    """All, most, some, few, none."""
    group, did, dont = rng.choice(_GROUPS)
    if rng.random() < 0.5:
        did, dont = dont, did
    place = rng.choice(PLACES)
    level = rng.choices(("all", "most", "few", "none"), (5, 2, 2, 5))[0]
    fact = rng.choice(
        {
            "all": (
                f"{place}的{group}全都{did}。",
                f"{place}的{group}无一例外，{did}。",
                f"{place}所有{group}都{did}。",
            ),
            "most": (
                f"{place}的{group}大多{did}，但也有个别{dont}。",
                f"除少数外，{place}的{group}都{did}。",
            ),
            "few": (
                f"{place}只有个别{group}{did}，其余都{dont}。",
                f"{place}的{group}绝大多数{dont}，仅少数{did}。",
            ),
            "none": (
                f"{place}的{group}全都{dont}。",
                f"{place}的{group}无一例外，{dont}。",
                f"{place}所有{group}都{dont}。",
            ),
        }[level]
    )
    every = (f"每个{group}都{did}。", f"至少有一个{group}{dont}。")
    half = (f"{did}的{group}过半。", f"{did}的{group}不到一半。")
    half_too = (f"{place}大多数{group}{did}。", f"{place}大多数{group}{dont}。")
    any_ = (f"有的{group}{did}。", f"{group}全部{dont}。")
    pairs = [every if level == "all" else every[::-1]]
    pairs += [pair if level in ("all", "most") else pair[::-1] for pair in (half, half_too)]
    pairs.append(any_[::-1] if level == "none" else any_)
    return Draft(fact, pairs, "quantifiers")


_STATES = (
    (
        ("{p}{b}收门票", "参观{p}{b}要买票", "进{p}{b}不是免费的"),
        ("{p}{b}不收门票", "参观{p}{b}无需买票", "{p}{b}免费开放"),
    ),
    (("{w}接受了奖项", "{w}领了奖", "{w}没有拒绝奖项"), ("{w}没有接受奖项", "{w}拒绝领奖", "{w}谢绝了奖项")),
    (
        ("{w}跑完了全程", "{w}到达了终点", "{w}没有中途退赛"),
        ("{w}没有跑完全程", "{w}中途退赛", "{w}未能到达终点"),
    ),
    (("{f}按期交货", "{f}没有误期", "{f}准时交付"), ("{f}没有按期交货", "{f}误了期", "{f}延迟交付")),
    (
        ("{an}会游泳", "{an}能在水里游", "游泳难不倒{an}"),
        ("{an}不会游泳", "{an}下水游不了", "{an}没有游泳的能力"),
    ),
    (
        ("{p}{b}保存至今", "{p}{b}没有被拆除", "{p}{b}今天还在"),
        ("{p}{b}已不复存在", "{p}{b}被拆除了", "{p}{b}今天已经不在了"),
    ),
    (
        ("{w}知道这个计划", "{w}对计划知情", "计划没有瞒着{w}"),
        ("{w}不知道这个计划", "{w}对计划不知情", "{w}被蒙在鼓里"),
    ),
    (
        ("{f}去年盈利", "{f}去年赚了钱", "{f}去年没有亏损"),
        ("{f}去年亏损", "{f}去年没有赚钱", "{f}去年没有盈利"),
    ),
    (
        ("{p}{b}允许拍照", "在{p}{b}可以拍照", "{p}{b}不禁止拍照"),
        ("{p}{b}禁止拍照", "在{p}{b}不能拍照", "{p}{b}不允许拍照"),
    ),
    (
        ("{w}出席了会议", "{w}参加了会议", "{w}没有缺席会议"),
        ("{w}缺席了会议", "{w}没有参加会议", "{w}没到会"),
    ),
    (("{an}昼伏夜出", "{an}夜间活动", "{an}白天休息"), ("{an}白天活动", "{an}夜里休息", "{an}不在夜间活动")),
    (
        ("{f}的软件可以离线使用", "没有网络也能用{f}的软件", "{f}的软件不需要联网"),
        ("{f}的软件必须联网", "没有网络就用不了{f}的软件", "{f}的软件不能离线使用"),
    ),
    (("{w}否认了指控", "{w}不认罪", "{w}没有承认指控"), ("{w}承认了指控", "{w}认罪", "{w}没有否认指控")),
    (
        ("{p}{b}有电梯", "{p}{b}装了电梯", "{p}{b}里能乘电梯"),
        ("{p}{b}没有电梯", "{p}{b}未装电梯", "{p}{b}缺少电梯"),
    ),
)


def _fill(rng: Random) -> dict[str, str]:
    return {
        "p": rng.choice(PLACES),
        "b": rng.choice(BUILDINGS),
        "w": rng.choice(PEOPLE),
        "f": rng.choice(FIRMS),
        "an": rng.choice(ANIMALS),
    }


def negation(rng: Random) -> Draft:
    """A state and its reverse, each with and without a negation word."""
    sides = list(rng.choice(_STATES))
    rng.shuffle(sides)
    fill = _fill(rng)
    same, other = ([text.format(**fill) + "。" for text in side] for side in sides)
    fact = rng.choice(same)
    return Draft(
        fact, [(right, wrong) for right, wrong in zip(same, other, strict=False) if right != fact], "negation"
    )


_OPPOSITES = (
    ("{p}的人口{}了", "增加", "减少", "{p}的人比以前{}了", "多", "少"),
    ("新版本{}了对旧格式的支持", "增加", "取消", "旧格式在新版本里{}用", "可以", "不能"),
    ("{w}{}这项改革", "赞成", "反对", "{w}对改革持{}态度", "肯定", "否定"),
    ("{p}的房价{}了", "上涨", "下跌", "在{p}买房比以前{}了", "贵", "便宜"),
    ("{f}今年{}了两百人", "招聘", "裁减", "{f}的员工人数变{}了", "多", "少"),
    ("{w}{}到场", "提前", "迟迟才", "{w}来得比约定时间{}", "早", "晚"),
    ("这种药会使心跳{}", "加快", "减慢", "服药后心脏跳得更{}", "快", "慢"),
    ("{p}的湖水很{}", "深", "浅", "{p}那里的湖底离水面很{}", "远", "近"),
    ("{f}{}木材", "进口", "出口", "{f}的木材{}国外", "来自", "销往"),
    ("{an}通常{}冬天", "熬得过", "熬不过", "开春时{an}一般{}", "还活着", "已经死了"),
)


def opposites(rng: Random) -> Draft:
    """A word and its opposite, and what follows from either."""
    frame, word, reverse, follow, then, otherwise = rng.choice(_OPPOSITES)
    fill = _fill(rng)
    if rng.random() < 0.5:
        word, reverse, then, otherwise = reverse, word, otherwise, then

    def put(text: str, value: str) -> str:
        return text.replace("{}", value).format(**fill)

    pairs = [
        (put(follow, then) + "。", put(follow, otherwise) + "。"),
        (f"说{put(frame, reverse)}是不对的。", f"说{put(frame, word)}是不对的。"),
        ("的确，" + put(frame, word) + "。", "的确，" + put(frame, reverse) + "。"),
    ]
    return Draft(put(frame, word) + "。", [*pairs, pairs[0]], "opposites")


def modality(rng: Random) -> Draft:
    """May, plans, must, did, will not."""
    who, (do, noun) = (
        rng.choice(FIRMS),
        rng.choice(
            (
                ("扩建厂房", "扩建"),
                ("关闭矿井", "关矿"),
                ("提高票价", "涨价"),
                ("迁移总部", "搬迁"),
                ("裁员三百人", "裁员"),
            )
        ),
    )
    said = {
        "may": (
            f"{who}可能会{do}。",
            f"{who}是否{do}，尚无定论。",
            f"{who}正在考虑要不要{do}。",
            f"{noun}只是{who}的一种选择。",
        ),
        "plans": (
            f"{who}计划明年{do}。",
            f"{who}已决定{do}，但还没有实施。",
            f"{noun}已列入{who}明年的安排。",
        ),
        "must": (f"{who}必须{do}。", f"法院责令{who}{do}。", f"{noun}对{who}来说是强制的。"),
        "did": (f"{who}去年已经{do}。", f"{who}的{noun}已成事实。", f"{who}完成了{noun}。"),
        "wont": (f"{who}不会{do}。", f"{who}放弃了{noun}的计划。", f"{who}排除了{noun}的可能。"),
    }
    level = rng.choice(sorted(said))
    fact = rng.choice(said[level])
    same = [text for text in said[level] if text != fact]
    pairs = [
        (rng.choice(same), rng.choice(said[other]))
        for other in rng.sample([name for name in said if name != level], 3)
    ]
    return Draft(fact, pairs, "modality", "not_supported")


_CAUSES = (
    ("长期干旱", "庄稼歉收"),
    ("大雪", "山路封闭"),
    ("罢工", "列车停运"),
    ("水管爆裂", "地下室被淹"),
    ("师资不足", "学校停办"),
    ("软件故障", "账单出错"),
    ("租金上涨", "画家们搬走"),
    ("流感暴发", "音乐会取消"),
)


def cause(rng: Random) -> Draft:
    """What brought about what."""
    why, what = rng.choice(_CAUSES)
    other, place = rng.choice([found[0] for found in _CAUSES if found[0] != why]), rng.choice(PLACES)
    fact = rng.choice(
        (
            f"由于{why}，{place}{what}。",
            f"{place}{what}，原因是{why}，而不是{other}。",
            f"{why}导致{place}{what}。",
            f"{place}{what}。有人怪{other}，但调查认定是{why}所致。",
        )
    )
    frames = (
        "{place}{what}是{why}造成的。",
        "要不是{why}，情况就不同了。",
        "祸根是{why}。",
        "因为{why}，{place}{what}。",
        "{what}，责任在于{why}。",
    )
    fill = {"place": place, "what": what}
    return Draft(fact, swap(frames, {**fill, "why": why}, {**fill, "why": other}), "cause", "not_supported")


_OPINIONS = (
    ("这项税合理", "这项税不合理"),
    ("这幅画是真迹", "这幅画是赝品"),
    ("大坝安全", "大坝有危险"),
    ("城墙建于唐代", "城墙建于明代"),
    ("项目能盈利", "项目会亏本"),
)


def attribution(rng: Random) -> Draft:
    """Who said or thought what."""
    one, two = rng.choice(_OPINIONS)
    a, b = rng.sample(PEOPLE, 2)
    if rng.random() < 0.5:
        one, two = two, one
    fact = rng.choice(
        (
            f"{a}认为{one}，{b}则主张{two}。",
            f"“{one}。”{a}说。{b}却说{two}。",
            f"{b}坚信{two}，{a}不同意，认为{one}。",
        )
    )
    frames = (
        "在{a}看来，{one}。",
        "{b}的看法是{two}。",
        "主张{two}的是{b}。",
        "{a}不相信{two}。",
        "{a}说{one}。",
    )
    fill = {"one": one, "two": two}
    return Draft(fact, swap(frames, {**fill, "a": a, "b": b}, {**fill, "a": b, "b": a}), "attribution")


_SCOPES = (
    ("去{p}的渡轮", "工作日", "周末", "开行"),
    ("{p}{b}", "夏季", "冬季", "开放"),
    ("{f}的优惠", "对新客户", "对老客户", "有效"),
    ("{p}的14路车", "早上", "晚上", "停靠"),
    ("{f}的疫苗", "对成人", "对儿童", "适用"),
)


def scope(rng: Random) -> Draft:
    """Only, except: where a statement holds and where not."""
    stem, inside, outside, does = rng.choice(_SCOPES)
    stem = stem.format(**_fill(rng))
    if rng.random() < 0.5:
        inside, outside = outside, inside
    fact = rng.choice(
        (
            f"{stem}只{inside}{does}。",
            f"{stem}{inside}{does}，{outside}不{does}。",
            f"{stem}{outside}不{does}，仅{inside}{does}。",
        )
    )
    frames = (
        "{i}，{s}{d}。",
        "{s}{i}{d}。",
        "{o}，{s}是不{d}的。",
        "有一个限制：{i}行，{o}不行。",
        "{s}只{i}{d}。",
    )
    fill = {"s": stem, "d": does}
    return Draft(
        fact, swap(frames, {**fill, "i": inside, "o": outside}, {**fill, "i": outside, "o": inside}), "scope"
    )


def entity(rng: Random) -> Draft:
    """Two things told of in one passage: which is which."""
    a, b = rng.sample(FIRMS, 2)
    p, q = rng.sample(PLACES, 2)
    w, v = rng.sample(PEOPLE, 2)
    x, y = rng.sample(range(1950, 2015), 2)
    fact = rng.choice(
        (
            f"{w}于{x}年在{p}创办{a}，{v}于{y}年在{q}创办{b}。",
            f"{a}由{w}创立，{x}年成立于{p}；它的对手{b}由{v}创立，{y}年成立于{q}。",
        )
    )
    old, young = (a, b) if x < y else (b, a)
    frames = (
        "{w}是{a}的创始人。",
        "{b}起源于{q}。",
        "{b}成立于{y}年。",
        "两家公司中，{old}历史更久。",
        "{a}在{p}起家。",
        "{v}创办了{b}。",
    )
    fill = {"w": w, "v": v, "p": p, "q": q, "y": str(y)}
    return Draft(
        fact,
        swap(frames, {**fill, "a": a, "b": b, "old": old}, {**fill, "a": b, "b": a, "old": young}),
        "entity",
    )


KINDS = (
    rounding,
    shares,
    durations,
    units,
    sums,
    counts,
    comparison,
    order,
    roles,
    quantifiers,
    negation,
    opposites,
    modality,
    cause,
    attribution,
    scope,
    entity,
)
