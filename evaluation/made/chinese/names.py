"""Chinese places and names: word lists that identify them, and the names that a corpus offers, by kind."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.datasets import Passage
from evaluation.made.chinese.script import fit, traditional

PLACES = tuple(
    group.split()
    for group in (
        "美国 日本 法国 英国 德国 韩国 泰国 俄国 印度 巴西 越南 埃及 希腊 瑞典 荷兰 意大利 西班牙 加拿大 "
        "俄罗斯 "
        "墨西哥 阿根廷 澳大利亚 新加坡 马来西亚 葡萄牙 挪威 芬兰 丹麦 波兰 瑞士 奥地利 比利时 土耳其 伊朗 "
        "伊拉克 "
        "以色列 古巴 智利 秘鲁 新西兰 爱尔兰 匈牙利 菲律宾 巴基斯坦 缅甸 乌克兰 南非",
        "美國 日本 法國 英國 德國 韓國 泰國 俄國 印度 巴西 越南 埃及 希臘 瑞典 荷蘭 義大利 西班牙 加拿大 "
        "俄羅斯 "
        "墨西哥 阿根廷 澳大利亞 新加坡 馬來西亞 葡萄牙 挪威 芬蘭 丹麥 波蘭 瑞士 奧地利 比利時 土耳其 伊朗 "
        "伊拉克 "
        "以色列 古巴 智利 秘魯 紐西蘭 愛爾蘭 匈牙利 菲律賓 巴基斯坦 緬甸 烏克蘭 南非",
        "广东省 广西省 湖南省 湖北省 河南省 河北省 山东省 山西省 江苏省 浙江省 福建省 四川省 云南省 贵州省 "
        "陕西省 "
        "甘肃省 青海省 安徽省 江西省 辽宁省 吉林省 黑龙江省 海南省",
        "廣東省 湖南省 湖北省 河南省 河北省 山東省 山西省 江蘇省 浙江省 福建省 四川省 雲南省 貴州省 陝西省 "
        "甘肅省 "
        "青海省 安徽省 江西省 遼寧省 吉林省 黑龍江省 海南省",
        "广东 广西 四川 云南 贵州 浙江 江苏 福建 安徽 甘肃 陕西 辽宁 吉林 黑龙江 新疆 西藏",
        "廣東 廣西 四川 雲南 貴州 浙江 江蘇 福建 安徽 甘肅 陝西 遼寧 吉林 黑龍江 新疆 西藏",
        "北京 上海 天津 重庆 广州 深圳 南京 武汉 成都 杭州 西安 沈阳 大连 青岛 厦门 苏州 长沙 昆明 哈尔滨",
        "北京 上海 天津 重慶 廣州 深圳 南京 武漢 成都 杭州 西安 瀋陽 大連 青島 廈門 蘇州 長沙 昆明 哈爾濱",
        "台北 台中 高雄 台南 新竹 基隆 嘉義 花蓮 宜蘭 屏東",
        "东京 大阪 京都 名古屋 横滨 神户 福冈 札幌 仙台 广岛",
        "東京 大阪 京都 名古屋 橫濱 神戶 福岡 札幌 仙台 廣島",
        "伦敦 巴黎 柏林 罗马 维也纳 莫斯科 马德里 布拉格 华沙 布鲁塞尔 雅典 慕尼黑 米兰 阿姆斯特丹",
        "倫敦 巴黎 柏林 羅馬 維也納 莫斯科 馬德里 布拉格 華沙 布魯塞爾 雅典 慕尼黑 米蘭 阿姆斯特丹",
        "纽约 洛杉矶 芝加哥 波士顿 西雅图 旧金山 费城 休斯顿 底特律",
        "紐約 洛杉磯 芝加哥 波士頓 西雅圖 舊金山 費城 休斯頓 底特律",
        "唐朝 宋朝 明朝 清朝 汉朝 元朝 隋朝 秦朝",
        "唐朝 宋朝 明朝 清朝 漢朝 元朝 隋朝 秦朝",
        "欧洲 亚洲 非洲 南美洲 北美洲 大洋洲",
        "歐洲 亞洲 非洲 南美洲 北美洲 大洋洲",
        "太平洋 大西洋 印度洋 北冰洋",
        "东北部 西北部 东南部 西南部 中部",
        "東北部 西北部 東南部 西南部 中部",
        "东部 西部 南部 北部",
        "東部 西部 南部 北部",
    )
)
"""Groups in which one place can stand for another; of one script each."""

NOT_A_PLACE_BEFORE = "海洋教語语字裔特半群岸方邊边面麓话話系洲家壮壯回维維自"
"""What makes another word of a place's name: 日本海, 印度教."""

SURNAMES = (
    " "
    "王李张張刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何高林罗羅郑鄭梁谢謝宋唐许許韩韓冯馮邓鄧曹彭曾萧蕭田董袁潘"
    " "
    "于蒋蔣蔡余杜叶葉程苏蘇魏吕呂丁任沈姚卢盧姜崔钟鐘谭譚陆陸汪范金石廖贾賈夏韦韋方白邹鄒孟熊秦邱江尹薛闫段雷侯龙龍"
    "史陶黎贺賀顾顧毛郝龚龔邵万萬钱錢严嚴武戴莫孔向汤湯"
)

TRANSLITERATION = (
    " "
    "阿埃艾安恩翰查奥奧巴拜班邦鲍鮑贝貝本比彼毕畢宾賓波伯博布查达達戴丹道得德登邓迪蒂蒙弗菲费費芬佛夫福盖蓋甘冈岡格葛戈哥根古"
    " "
    "哈海汉漢赫黑亨胡華怀懷惠霍基吉加贾賈杰傑金卡凯凱坎康考科柯克肯库庫夸昆拉莱萊兰蘭朗劳勞勒雷蕾里利莉丽麗立林琳卢盧"
    " "
    "鲁魯路伦倫罗羅洛马馬玛瑪迈邁麦麥曼梅门門孟米密敏摩莫墨姆穆拿纳納娜奈内內南尼妮涅宁寧纽紐努诺諾欧歐帕派潘佩彭皮平"
    " "
    "珀普齐齊奇恰乔喬切琼瓊让讓热熱日荣瑞萨薩塞赛賽桑森莎沙珊尚舍圣聖施史斯丝絲苏蘇索塔泰坦汤湯唐陶特滕提廷图圖托"
    " "
    "瓦万萬旺威韦韋维維温溫文沃乌烏吾伍武西希锡夏香肖谢謝辛欣休许許雪雅亚亞延扬揚耶叶葉伊易因英尤约約泽澤扎詹珍芝朱兹茲"
)
"""The characters that foreign names are written with."""

SUFFIXES = (
    "大学 大學 学院 學院 中学 中學 小学 小學 公司 集团 集團 乐团 樂團 乐队 樂隊 战争 戰爭 战役 戰役 之战 "
    "之戰 机场 機場 "
    "高速公路 公路 铁路 鐵路 大桥 大橋 车站 車站 出版社 电视台 電視台 足球俱乐部 医院 醫院 寺 县 縣 岛 島 "
    "湖 河 江 山 "
    "帝 宗 王 站 线 線 星 语 語 党 黨 报 報 节 節 奖 獎 宫 宮 桥 橋 市 镇 鎮 乡 鄉 村 区 區 州 级 級 科 属 "
    "屬 目"
).split()
"""The ends of names that tell what is named."""


WORK = re.compile(r"《[^《》（）()\d，、：！ ]{2,10}》")
_WORK_ENDS = "報报法約约案典史傳传記记經经志誌錄录集論论書书曲歌詩诗圖图刊令言說说學学"
FOREIGN = re.compile(
    rf"(?:(?<=[，。、；（「由與与和及是為为的被將将家師师員员人者手授隊队])|\A)"
    rf"[{TRANSLITERATION}]{{2,6}}(?:·[{TRANSLITERATION}]{{2,6}}){{1,2}}"
    r"(?=[，。、；（」的是在於于和與与及等將将曾也說说被以出擔担成])"
)
_BORN = re.compile(r"\A[^，。]{2,6}[（(，][^。]{0,60}(?:\d{3,4}年|字|人[，。]|生于|生於|出生)")


@dataclass(frozen=True, slots=True)
class Stock:
    """What a corpus offers: names by their sort, and what each title names."""

    names: Mapping[tuple[str, bool], Sequence[str]]
    sorts: Mapping[str, str]
    by_title: Mapping[tuple[str, str], Sequence[str]]


def stock(passages: Sequence[Passage]) -> Stock:
    """The names of a corpus, by sort and script (traditional or not), and those of each document."""
    names: defaultdict[tuple[str, bool], set[str]] = defaultdict(set)
    by_title: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    sorts: dict[str, str] = {}
    for passage in passages:
        script = traditional(passage.text)
        if (found := sort_of(passage.title, passage.text)) and passage.title in passage.text:
            sorts[passage.title] = found
            names[found, script].add(passage.title)
        for sentence in filter(fit, passage.sentences):
            for pattern in (WORK, FOREIGN):
                for match in pattern.finditer(sentence):
                    sort = sort_of_mention(match[0])
                    names[sort, script].add(match[0])
                    by_title[sort, passage.title].add(match[0])
    return Stock(
        {key: sorted(members) for key, members in names.items()},
        sorts,
        {key: sorted(members) for key, members in by_title.items()},
    )


def sort_of(title: str, text: str) -> str:
    """What a title names: a suffix (`大学`), `foreign` or `person`; empty where nothing tells."""
    if not re.fullmatch(r"[\u4e00-\u9fff·]{2,12}", title):
        return ""
    if "·" in title:
        return "foreign" if FOREIGN.fullmatch(title) else ""
    for suffix in SUFFIXES:
        if title.endswith(suffix) and len(title) >= len(suffix) + 2:
            return suffix
    person = len(title) in (2, 3) and title[0] in SURNAMES and text.startswith(title) and _BORN.match(text)
    return "person" if person else ""


def sort_of_mention(name: str) -> str:
    """Of a name in a sentence: `foreign`, or `work` with the last character where that tells: a newspaper, a
    treaty, a dictionary."""
    if not name.endswith("》"):
        return "foreign"
    return f"work {name[-2]}" if name[-2] in _WORK_ENDS else "work"
