"""The small closed word lists that the features look up: fillers, negations, opposites."""

from __future__ import annotations

STOP_WORDS = frozenset(
    """
        a an the this that these those of to in on at by for from with as and or but if than then so
        such it its he him his she her hers they them their theirs we us our i me my you your who whom
        whose which what when where how why is are was were be been being am do does did done doing
        have has had having will would can could may might shall should must also there here about into
        over under between through during while because although though however both each other another
        same own very more most just too up down out off again further once s t re ve ll d m don doesn
        didn isn aren wasn weren wouldn hasn haven hadn couldn shouldn not no nor never according known
        called named used using include includes including included well many some any all
    """.split()
)
STOP_CHARS = frozenset(
    "的了是在和与及也就都而着或地得之其这那个们于以为等把被让使对从到中上下来去并且但还又很会要可能吗呢吧啊您你我他她它"
)
HAN_FILLERS = tuple(
    """什么 为什么 哪里 哪儿 哪个 哪些 哪一 多少 怎么 怎样 如何 何时 何处 是谁 谁
    例如 比如 首先 其次 然后 最后 此外 另外 因此 所以 因为 由于 从而 然而 但是 不过 虽然 尽管 同时 并且
    而且 以及 或者 或是 还是 如果 那么 即使 除了
    除此之外 其中 之一 非常 十分 相当 比较 特别 尤其 通常 一般 往往 经常 常常 目前 现在 当时 已经 曾经
    正在 可能 也许 大概 大约 可以 能够 需要 应该 主要
    包括 包含 一些 一种 一个 一定 这些 那些 这个 那个 这种 这样 这里 有些 有的 某些 各种 许多 很多 原因
    情况 方面 方式 形式 问题 时候 之后 之前 以后 以前
    期间 进行 具有 拥有 存在 属于 成为 作为 认为 表示 指出 提到 显示 反映 关于 对于 根据 按照 通过 随着
    为了 至于 所谓 称为 被称 就是 也是 都是
    便是 即是 不仅 不但 甚至 例子 以上 以下 总的来说 总之 实际上 事实上 具体 相关 有关 某种 等等 左右
    具体来说 换句话说 也就是说 与此同时 因而 故而
    以便 使得 导致 造成 产生 出现 发生 来说 而言 方法 建议 介绍 选择""".split()
)
"""Words that join or pad a Chinese sentence; longest first where one starts with another."""
PRONOUNS = frozenset(
    """
    he she it they his her its their him them this that these those the such there
""".split()
)
HAN_PRONOUNS = ("他", "她", "它", "该", "此", "这", "其", "那")

NEGATIONS = frozenset(
    """
        not no never none nor neither cannot without nothing nobody nowhere t hardly fails failed fail
        unable refused denied rejected lacks lacked
    """.split()
)
HAN_NEGATIONS = frozenset("不没未无非否勿莫")

STRONG_WORDS = frozenset(
    """
        only all every always never entirely completely exclusively solely first last final oldest
        youngest largest biggest smallest highest lowest longest best worst most least main primary
        sole unique none must
    """.split()
)
HAN_STRONG = (
    "仅",
    "只有",
    "唯一",
    "全部",
    "所有",
    "一直",
    "从不",
    "首次",
    "首个",
    "第一",
    "最",
    "必须",
    "一定",
    "完全",
    "每",
    "总是",
    "主要",
)

_ANTONYMS = """
increase decrease|increase reduce|rise fall|raise lower|grow shrink|more less|more fewer|higher lower|high low
largest smallest|biggest smallest|large small|big small|long short|longest shortest|oldest youngest|old young
old new|old modern|first last|early late|earlier later|before after|north south|northern southern|east west
eastern western|win lose|won lost|victory defeat|always never|all none|male female|man woman|men women
husband wife|father mother|son daughter|brother sister|king queen|actor actress|alive dead|born died|begin end
start end|began ended|open close|opened closed|buy sell|bought sold|accept reject|accepted rejected
approve reject|succeed fail|success failure|love hate|positive negative|public private|major minor|best worst
good bad|hot cold|warm cold|warmer colder|warming cooling|fast slow|strong weak|rich poor|right left|up down
above below|inside outside|internal external|maximum minimum|legal illegal|possible impossible|enter leave
import export|include exclude|majority minority|safe dangerous|true false|single married|single multiple
strengthen weaken|expand contract|gain lose|present absent|ascend descend|domestic foreign|urban rural
fiction nonfiction|protagonist antagonist|hero villain|amateur professional|democrat republican|comedy tragedy
"""
_HAN_ANTONYMS = """
增加 减少|增加 降低|提高 降低|提升 降低|上升 下降|上涨 下跌|增长 下降|增强 减弱|扩大 缩小|大于 小于
高于 低于|多于 少于|超过 低于|最大 最小
最高 最低|最多 最少|最长 最短|最早 最晚|之前 之后|以前 以后|以上 以下|支持 反对|允许 禁止|成功 失败
胜利 失败|有利 不利|有益 有害|安全 危险|男性 女性
男 女|父亲 母亲|丈夫 妻子|儿子 女儿|哥哥 弟弟|姐姐 妹妹|东 西|南 北|左 右|内部 外部|国内 国外|开始 结束
开放 关闭|合法 非法|可以 不能
能够 不能|容易 困难|正确 错误|积极 消极|正面 负面|主动 被动|直接 间接|长期 短期|大型 小型|快 慢|热 冷
强 弱|进口 出口|买入 卖出|白天 夜晚|早上 晚上
上午 下午|促进 抑制|加速 减缓|加快 减慢|酸性 碱性|阳性 阴性|公开 秘密|首次 再次|第一 最后|喜欢 讨厌
赞成 反对|接受 拒绝|富含 缺乏|充足 不足
"""


def _both_ways(table: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in table.replace("\n", "|").split("|"):
        if pair.strip():
            one, other = pair.split()
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


ANTONYMS = _both_ways(_ANTONYMS)
HAN_ANTONYMS = _both_ways(_HAN_ANTONYMS)

HAN_PLACES = (
    "中国 美国 日本 法国 英国 德国 韩国 泰国 俄国 印度 巴西 越南 埃及 希腊 瑞典 "
    "荷兰 北京 上海 天津 重庆 广州 深圳 香港 台湾 澳门 南京 武汉 成都 广东 广西 "
    "湖南 湖北 河南 河北 山东 山西 江苏 浙江 福建 四川 云南 贵州 唐朝 宋朝 明朝 "
    "清朝 汉朝 元朝 欧洲 亚洲 非洲 美洲 意大利 西班牙 加拿大 俄罗斯 墨西哥 阿根廷 "
    "澳大利亚 新加坡 马来西亚 印度尼西亚 "
).split()
"""Countries, provinces, cities, dynasties: a claim is seldom right in one that its evidence lacks."""
