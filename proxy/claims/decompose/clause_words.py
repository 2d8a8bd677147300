"""Closed word lists for finding clauses. A word in none of them never begins a clause.

What the splitters of both languages make: clauses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

BE = frozenset("is are was were".split())
HAVE = frozenset("has have had".split())
PRESENT = HAVE | frozenset(
    """
    is are does do includes contains provides consists allows requires becomes remains serves belongs
    receives describes represents refers involves enables ensures prevents protects maintains creates
    generates attracts follows separates regulates absorbs converts comprises publishes employs competes
    operates owns sells writes teaches lies stands occurs exists depends
    """.split()
)
SINGULAR = (PRESENT - frozenset("are do have".split())) | {"was"}
PAST = frozenset(
    """
    was were had did went became began took wrote gave grew knew saw sang spoke fell drew drove rose broke
    chose swam threw flew stole
    """.split()
)
"""Forms that are always a past tense."""
PAST_OR_PARTICIPLE = frozenset(
    """
    won made led held built sold found found lost left taught brought bought fought sent spent kept met paid
    stood sat told felt heard caught
    """.split()
)
INTRANSITIVE = frozenset(
    """
    moved died lived worked served studied graduated returned retired emigrated immigrated appeared starred
    remained continued joined competed attended resigned participated collaborated
    """.split()
)
"""Past tenses that are rarely participles of a passive."""
NO_VERBS = frozenset("need speed seed breed feed weed deed reed indeed hundred sacred red bed shed".split())

ADVERBS = frozenset(
    """
    also later then eventually subsequently never still now even soon once finally often usually always
    thus therefore afterwards
    """.split()
)
DISCOURSE = frozenset(
    """
    however moreover furthermore additionally also overall instead finally meanwhile similarly historically
    today currently originally initially eventually later nevertheless nonetheless consequently
    """.split()
)
LEADING = frozenset("in on at during after before from by under throughout following within between".split())
"""Prepositions that open a phrase before the subject; the phrase belongs to all clauses after it."""
SCOPES = frozenset(
    """
    if unless when whenever once until till assuming whether because since as although though while whereas
    given according despite provided suppose had should were with without to for like unlike not only
    """.split()
)
"""First words of a sentence that stays whole: the phrase may belong to all clauses or to one."""
SUBORDINATORS = frozenset(
    """
    that which who whom whose where when whenever if because unless until whether how what why while whereas
    although though since once than lest either neither both
    """.split()
)
REPORTING = frozenset(
    """
    say says said believe believes believed claim claims claimed think thinks thought argue argues argued
    suggest suggests suggested show shows showed shown report reports reported estimate estimates estimated
    know knows knew mean means meant indicate indicates indicated reveal reveals revealed state states
    stated note notes noted denied denies deny allege alleged alleges rumored rumoured doubt doubts
    """.split()
)
"""Verbs of reporting: what follows is someone else's statement, not the reply's."""
MODALS = frozenset("can could will would may might must shall should did does do cannot".split())
RELATIVES = frozenset({"who", "which"})
CONTRASTS = frozenset("while whereas although though".split())
CONJUNCTIONS = frozenset({"and", "but"})
PRONOUNS = frozenset("he she it they we this these those there".split())
DETERMINERS = frozenset("the a an its his her their our this these those each every some many most".split())
PREPOSITIONS = frozenset(
    """
    in on at to for from with by of as into during after before under over near through between among
    throughout against about upon until since
    """.split()
)
NAME_LINKS = frozenset("of the de von van der la le al".split())

CHINESE_SCOPES = re.compile(
    r"如果|若|假如|倘若|要是|只要|只有|除非|无论|不管|即使|因为|由于|因此|所以|既然|虽然|尽管|不仅|不但|不是|或"
    r"|据[说称悉传]|[根依]据|按照|认为|表示|指出|声称|宣称|[他她们者人]说|说道|相信|建议|估计|预计|可能|应该?|可以|能够|不能"
    r"|将?会(?=[被使导造产引影增减变出更有是])|不会|将会|需要|想要|要求|必须|(?:^|[，,；;])当(?![时地代选])|为了|以便|使得|让"
    r"|[?？:：、]$"
)
CHINESE_VERBS = (
    r"(?:是(?!否)|位于|坐落于|地处|出生[于在]|生于|去世|逝世[于]?|成立于|创立于|创办于|建于|始建于|建成于|毕业于"
    r"|就读于|任教于|获得|荣获|赢得|成为|担任|出任|拥有|具有|属于|隶属于|发现|发明|创作|创办|创立|创建|建立"
    r"|提出|发表|出版|主演|执导|参加|加入|移居|迁居|定居|全长|总长|面积(?:为|约|达)|人口(?:为|约|达)|海拔|以.{1,12}(?:闻名|著称)"
    r"|被[^，；]{1,12}(?:为|誉为|称为|评为)"
    r"|(?<![所具没还只含设留占享持仅])有(?![效关限益机利力趣名时些的人点害毒序色望助意所]))"
)
CHINESE_LINKS = (
    r"(?:并且|并|而且|而|且|但是|但|同时|也|还|又|后来|后|随后|之后|此后|最终|最后|曾|曾经|先后"
    r"|于\d{3,4}年|\d{3,4}年)"
)
CHINESE_PRONOUNS = r"(?:他们|她们|它们|他|她|它|该[^，；]{1,6}?|其(?![中他余次实])[^，；]{0,4}?)"
CHINESE_LEAD = re.compile(
    r"(?:在|于|自|从)?[^，；]{0,16}(?:年|月|日|世纪|时期|期间|年间|年代|之后|以后|后|前|时|中|里|上)"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch `start:end` of a sentence's plain text; `plain` is its wording when it stands alone."""

    start: int
    end: int
    plain: str
