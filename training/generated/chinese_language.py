"""Chinese pairs about order, roles, quantifiers, negation, modality, causes and who is who."""

from __future__ import annotations

from random import Random

from training.generated.chinese_names import FIRMS, PEOPLE, PLACES, names
from training.generated.drafts import Draft, swapped


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
    return Draft(fact, swapped(frames, {"a": one, "b": two}, {"a": two, "b": one}), "order")


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
        swapped([f for f in frames if f != fact], {"a": a, "b": b}, {"a": b, "b": a}),
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


def negation(rng: Random) -> Draft:
    """A state and its reverse, each with and without a negation word."""
    sides = list(rng.choice(_STATES))
    rng.shuffle(sides)
    fill = names(rng)
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
    fill = names(rng)
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
    other, place = rng.choice([reason for reason, _ in _CAUSES if reason != why]), rng.choice(PLACES)
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
    return Draft(
        fact, swapped(frames, {**fill, "why": why}, {**fill, "why": other}), "cause", "not_supported"
    )


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
    return Draft(fact, swapped(frames, {**fill, "a": a, "b": b}, {**fill, "a": b, "b": a}), "attribution")


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
    stem = stem.format(**names(rng))
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
        fact,
        swapped(frames, {**fill, "i": inside, "o": outside}, {**fill, "i": outside, "o": inside}),
        "scope",
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
        swapped(frames, {**fill, "a": a, "b": b, "old": old}, {**fill, "a": b, "b": a, "old": young}),
        "entity",
    )
