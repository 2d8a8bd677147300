"""What people say around facts, in English and Chinese: patterns that `proxy.claims.checkable` takes off."""

from __future__ import annotations

import re

from proxy.claims.material import REFERENCE, REFERENCE_ZH, SOURCED, SOURCED_ZH


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives))


_AI = r"(?:ai|artificial intelligence|(?:large )?language model|llm|assistant|chatbot)\b"
LEAD = _any(
    r"(?:well|so|also|however|but|and|overall|okay|ok|sure(?: thing)?|certainly|of course|absolutely"
    r"|definitely|great|yes|no|yeah|nope|got it|understood|alright|great question|good question|thank you"
    r"|thanks|you(?:'re| are) (?:absolutely )?(?:right|correct)|unfortunately|regrettably"
    r"|i'm sorry|i am sorry|sorry|apologies|my apologies|i apologi[sz]e"
    r"(?: for (?:the|any|my) (?:confusion|mistake|error|inconvenience|oversight|misunderstanding))?)"
    r"(?:[,!.;:—–-]+[ ]?|$)(?:but[ ,]+)?",
    rf"as an? (?:\w+ ){{0,2}}{_AI}, (?=i (?:can|must|should|want to) (?:tell|confirm|say|inform|point)"
    r"|(?!.{0,80}\b(?:i|me|my|we|our)\b))",
    r"(?:please )?(?:keep in mind|bear in mind|note|remember|be aware)(?: that|,|:) ",
    r"(?:based on|according to|to answer) (?:the|these|this|your)\b[^,:]{0,80}, "
    r"(?!there (?:are|is) (?:a few|several|some|many)\b|.*\b(?:to|for|by|as|of|were|points|reasons|ways):$)",
    r"(?:here(?:'s| is)|below is) (?:the|your|my) (?:(?:correct|short|final) )?answer: ",
)
"""A short lead before the actual sentence. What follows decides (`Sure, Paris is the capital.`)."""
MAX_LEADS = 6
HEDGE = re.compile(
    r"(?:in my (?:humble |personal )?(?:opinion|view|experience|understanding)|imh?o|personally|if i "
    r"(?:recall|remember)"
    r"(?: correctly| right(?:ly)?)?|(?:as|so) far as i (?:know|can tell|remember|am aware)|to (?:the best "
    r"of )?my"
    r" knowledge|from what i (?:know|remember|understand)|i(?:'m| am) not (?:\w+ )?(?:sure|certain),? "
    r"but)[, ]+(?:that )?"
    r"|(?:i (?:(?:personally|would|also|do|really|strongly|firmly|honestly|still|just) )*(?:think|believe"
    r"|guess|suppose"
    r"|suspect|assume|imagine|reckon|say|argue|recall|remember)|i (?:do not|don't|did not|didn't) (?:think"
    r"|believe)"
    r"|i(?:'m| am) (?:\w+ )?(?:sure|certain|confident|convinced)|it seems to me|my (?:guess|understanding"
    r"|opinion|view) is)"
    r",? (?:that )?|i (?:\w+ )?feel (?:that|like) "
)
"""What a speaker puts before a statement without changing what it states."""
_SAYING = (
    r"(?:confirm|say|add|note|point out|stress|mention|emphasi[sz]e|state|report|verify|clarify|conclude|see"
    r"|found|checked|read|learned|seen|verified|confirmed)"
)
SPEECH = _any(
    rf"(?:i(?:'ll|'d|'ve|'m)?|let me)(?: (?!cannot|not|never|unable|no\b)\w+){{0,4}}? "
    rf"(?:{_SAYING}(?: to you)?|(?:tell|assure|inform|remind|show) (?:you|everyone)) that ",
    r"i (?:can|must|will|should) (?:tell|assure) you,? (?!about|more|that|what|how|why|when|where|who|which"
    r"|a |some|any|every)",
    r"i(?: can)? understand (?!(?:that )?(?:you|your|how|what|why|the (?:question|concern|importance))\b)"
    r"(?:that )?",
    r"(?:thank you|thanks) for (?:asking|waiting|(?:your|the) \w+), (?!and\b)",
    r"i (?:love|like) (?:it )?that ",
    r"the following \w+ (?:shows|says|states) that ",
)
"""What announces a statement, which is to follow."""
_EVALUATIVE = (
    r"(?:beautiful|pretty|lovely|ugly|nice|nicer|nicest|good|better|best|bad|worse|worst|great|greatest|wonderful"
    r"|amazing|awesome|excellent|fantastic|terrible|awful|horrible|perfect|interesting|boring|fascinating|delicious|tasty"
    r"|fun|funny|cool|charming|elegant|impressive|inspiring|overrated|underrated|important|useful|helpful|valuable"
    r"|worthwhile|worth|fair|unfair|wise|silly|sad|exciting|enjoyable|pleasant|favou?rite|right|wrong|reasonable|ideal"
    r"|stunning|brilliant|superb|magnificent|remarkable|memorable|moving|clever|smart|cute)"
)
OPINION_BEHIND_HEDGE = re.compile(
    r"(?:\b(?:is|are|was|were|be|being|been|looks?|seems?|feels?|sounds?|tastes?|makes?|remains?)|'s|'re)\b"
    rf"(?: [\w'-]+){{0,3}}? {_EVALUATIVE}\b|\b(?:should|ought|deserves?|had better|you'(?:d|ll) (?:like"
    rf"|love|enjoy))\b"
)
NO_STATEMENT = re.compile(r"(?:so|not|in|of|about|for|it over|twice|this helps|that helps|it helps)\b[^,;]*$")
CLAUSE_BREAK = re.compile(r"[,;]| (?:and|but|because|since|which|who) ")
STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|had|won|wrote|made|led|held|became|began|built|took|[a-z]{3,}ed)\b"
)
_TOLD = (
    r"(?:stated|mentioned|specified|provided|given|discussed|addressed|included|described|listed|indicated"
    r"|clear|enough|possible)\b"
)
_TELL = (
    r"(?:mention|state|provide|specify|contain|say|discuss|address|give|indicate|include|offer|confirm|answer"
    r"|explain|describe|list|clarify)\b"
)
_DETAIL = r"(?:[\w-]+ ){0,3}?(?:information|mention|indication|details?|answer|data|statement)\b"
_UNTOLD = (
    r"(?:\b(?:is|are|was|were|seems?|appears?|remains?)(?:(?: not|n't)(?: [a-z]+ly)? "
    + _TOLD
    + r"|(?: [a-z]+ly)?"
    r" (?:unclear|(?:impossible|difficult|hard) to (?:determine|say|tell|know))\b)"
    r"|\b(?:cannot|can not|can't|could not|couldn't) be (?:[a-z]+ly )?"
    r"(?:determined|answered|inferred|confirmed|concluded|verified)\b"
    rf"|\b(?:no|not enough|insufficient) {_DETAIL})"
)
_TOPIC = r"(?:(?:as (?:for|to)|regarding|concerning|about|when it comes to) [^,;]{1,80}, )?"
_MATERIAL = (
    rf"(?:{REFERENCE}|(?:the|this|these|your|our) (?:[\w-]+ ){{0,2}}?(?:handbook|manual|polic(?:y|ies)"
    r"|guide(?:line)?s?|files?|documents?|documentation|sources?|knowledge base|faqs?|records?|passages?)\b)"
)
UNSAID = _any(
    rf"{_TOPIC}{_MATERIAL}(?: [a-z]+ly)? (?:do|does|did)(?: not|n't)(?: [a-z]+ly)? {_TELL}",
    rf"{_TOPIC}{_MATERIAL}(?: [a-z]+ly)? (?:contain|provide|give|offer|include|ha)[a-z]* no {_DETAIL}",
    rf"{_TOPIC}{_MATERIAL}(?: [a-z]+ly)? (?:say|ha[sv]e?|contain|provide|give|offer|include)s? nothing\b",
    rf"{_TOPIC}(?:none|neither|nothing) (?:of|in) {_MATERIAL} [a-z]+",
    rf"no {_DETAIL} (?:about|on|regarding|concerning) [^,;]{{1,80}} (?:was|were|is|could be)"
    r" (?:found|available)\b",
    rf"(?:[a-z]+, )?{SOURCED}, [^,;]{{0,80}}?{_UNTOLD}",
    rf"(?:[a-z]+, )?[^,;]{{0,120}}?{_UNTOLD}"
    rf"[^,;]{{0,120}}? (?:in|from|by|within|based on) (?:any of |one of )?{_MATERIAL}",
)
"""That the material does not tell something (`The provided documents do not mention it`)."""
EMPTY_TALK = _any(
    r"(?:hello|hi|hey|greetings|good (?:morning|afternoon|evening)|welcome)"
    r"(?: (?:there|everyone|all|back|again|friend))?[,!.]*$",
    r"(?:how can|how may) i (?:help|assist)",
    r"(?:thank you|thanks) for (?:your|asking|the|sharing|providing|letting|reaching)",
    r"you(?:'re| are) welcome",
    r"(?:good luck|have fun|take care|enjoy|happy [a-z]+ing)(?: with.*)?[!.]*$",
    r"have a (?:great|nice|good|wonderful)",
    r"(?:please )?(?:let me know|feel free|do not hesitate|don't hesitate|tell me)\b",
    r"(?:i )?hope (?:this|that|it|you|these|my|the (?:above|information))\b",
    r"if (?:you|there)(?:'d| would)? (?:have (?:any|more|other|further|questions)|need|want|like|could|can"
    r"|are (?:looking|interested)|is anything)\b.*\b(?:let me know|feel free|(?:just|please) ask|i can|i'd"
    r"|i'll|i would|i'm happy|happy to|hesitate|please provide)\b",
    r"i(?:'d| would|'m| am|'ll be| will be) (?:be )?(?:happy|glad|delighted|pleased|here) to\b",
    r"(?:happy|glad) to help",
    r"(?:would|do) you (?:like|want)\b",
    rf"as an? (?:\w+ )?{_AI}(?=.{{0,80}}?\b(?:i|me|my|we|our)\b)",
    rf"i(?:'m| am) (?:(?:just|only|currently|simply) )?(?:an? )?(?:\w+ )?{_AI}",
    r"i(?:'m| am) (?:not (?:sure|able|aware|certain|familiar)|unable|unaware|sorry|unsure)\b",
    r"i (?:do not|don't|did not|didn't) (?:know|have|see|find|recall|understand|possess|recognize)\b",
    r"i (?:cannot|can't|can not|could not|couldn't|am not able to|won't|will not|wasn't able to) \w+",
    r"i (?:apologi[sz]e|have no (?:information|knowledge|data|record|access|personal|opinion|way|idea))\b",
    r"my (?:knowledge|training)\b",
    r"i(?:'ll| will| can| need| want to| understand)\b",
    r"i've\b(?! (?:found|checked))|i have (?:provided|listed|summari[sz]ed|included)\b",
    r"(?:here|below|above|following)(?:'s| is| are| comes)\b",
    r"the following (?:is|are|table|list|section|points?|steps?|code|examples?)\b"
    r"(?=.*:$|.*(?:below|shows|lists|summari[sz]es))",
    r"(?:i|we) (?:hope|have) (?:answered|covered)",
    r"please (?:consult|verify|refer|provide|specify|clarify|contact|ask|see|share|rephrase|visit)\b",
    r"consult (?:a|an|your|with)\b|stay (?:safe|tuned)\b|try (?:again|asking)\b",
)
"""Talk that states nothing, whatever figures are in it."""
TALK = _any(
    r"if (?:you|there).*\b(?:let me know|feel free|(?:just|please) ask|i can|i'd|i'll|i would|i'm happy"
    r"|happy to|hesitate|please provide)\b",
    r"(?:shall|should) i\b|let me \w+|let's \w+|i(?:'m| am) afraid\b",
    r"i (?:(?:personally|would|also|do|really|strongly) )?(?:feel|recommend|suggest|prefer|advise|love"
    r"|like|hope)\b",
    r"my (?:favou?rite|advice|recommendation|personal)\b",
    r"i(?:'ve| have) (?:found|checked)\b",
    r"please (?:check|give|keep|try)\b|(?:make sure|be sure|remember) (?:to|you)\b|don't forget\b",
)
"""Talk that gives no fact without a figure (`I recommend 500 mg …`)."""
GOES_ON = _any(r"(?:now )?(?:i|my)\b|you (?:can|could|may|might|should|will|would)\b")
"""How talk goes on behind talk (`I don't know it, but you can ask a doctor.`)."""
TURN = re.compile(
    r"(?P<turn>(?<!nothing)(?<!help),? but |[,;] (?:however|although|though|yet|which|who),? )"
    r"|[:;] +|, and | [–—-] |—"
)
"""Where a sentence may turn from talk to facts: surely at a `turn`, else if a verb or a figure follows."""
_NUMBER_WORD = r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|fifty|hundred)"
COUNTED = re.compile(
    r"\b(?:chapter|documents?|figure|item|number|option|page|part|passages?|point|question|section|sources?|step"
    rf"|table|version) \d[\d,.]*|\b(?:\d[\d,.]*|{_NUMBER_WORD})(?: [a-z-]+){{0,3}} (?:details|documents?"
    r"|examples?|facts|ideas|items|methods|options|paragraphs|passages?|points|questions|reasons"
    r"|recommendations?|results?|sentences|sources|steps|strategies|suggestions|things|tips|titles|versions|ways|words)\b"
)
"""Numbers of parts of the reply or of the material."""
FIGURE = re.compile(rf"\d|\b{_NUMBER_WORD} [a-z]")

LEAD_IN = _any(
    r"(?:here|below|sure|certainly|based on|according to|in (?:summary|short|conclusion|brief)"
    r"|to (?:summari[sz]e|sum up)|step \d+)\b",
    r".*\b(?:following|below|as follows|such as|includes?|including|are|is|these|here|example"
    r"|for instance)[:：]$",
    r".*\b(?:the following|listed below|as follows)\b",
    r"(?:(?:some|the|a few|other|more) )?(?:key|main|notable|important|interesting|relevant) [a-z]+\b",
)
VERB = re.compile(
    r"\b(?:am|is|are|was|were|be|been|has|have|had|do|does|did|can|cannot|will|would|could|should|may|might|must"
    r"|won|wrote|made|led|held|became|began|built|took|lies|died|remains?|contains?|consists?|includes?)\b"
    r"|n't\b|\b(?:he|it|she|that|there)'s\b|\bthey're\b|(?<=\w )[a-z]{3,}ed\b",
    re.I,
)
VERB_ZH = re.compile(r"是|为(?!什么|何)|有|在|于|被|由|了|属|来自|包括|包含|成为|[建生死](?=于)|建成")
_AI_ZH = r"(?:人工智能|AI|语言模型|大型?语言模型|智能助手|助手)"
LEAD_ZH = _any(
    r"(?:好的|当然(?:可以)?|没问题|我?[非常很十分]{0,2}(?:抱歉|对不起|不好意思|遗憾(?:的是)?))"
    r"[，,。！!：:]+ ?(?!.*我(?:无法|不能|没法))",
    r"请[您你]?(?:务必)?(?:注意|记住|留意|知悉)[，,：:] ?",
    rf"作为(?:一[个款名位])?{_AI_ZH}[^，,]{{0,8}}[，,](?=我(?:可以|能|要)(?:告诉|确认|说明)|(?!.{{0,40}}我))",
    r"(?:根据|基于)(?:[^，,：:]{0,20})?(?:文档|资料|信息|内容|文献|材料|上下文)(?:的内容)?[，,] ?",
    r"(?:以下|下面|这)(?:是|为)(?:[您你]的?|正确)?(?:的)?答案[：:] ?",
)
SPEECH_ZH = _any(
    r"(?:如果[^，,]{0,20}[，,])?(?:但是?|不过)?我(?:可以|能够?|要|想)(?:为[您你])?(?:告诉[您你]|确认|肯定|补充|说明)"
    r"(?:的是)?[，,：:]? ?(?!更多|一些|有关|关于|如何|怎[样么])",
)
_UNTOLD_ZH = (
    r"(?:无法|不能|难以|无从|没法)(?:准确|直接|明确|完全)?(?:地)?(?:确定|判断|得知|回答|提供|确认|给出|知道|知晓|推断)"
    r"|不得而知"
)
_TOPIC_ZH = r"(?:(?:关于|对于|至于|有关)[^，,。；;]{1,40}[，,])?"
_MATERIAL_ZH = (
    rf"(?:{REFERENCE_ZH}|(?:[这该本您][份本篇个]?)?[^，,。；;]{{0,6}}?"
    r"(?:手册|文件|制度|指南|规定|说明书|知识库)[中里]?(?:的内容)?)"
)
UNSAID_ZH = _any(
    rf"{_TOPIC_ZH}{_MATERIAL_ZH}[中里]?(?:并|都|均|也|似乎|还){{0,2}}(?:没有?|未能?|并未|无)(?:明确|直接|具体|详细|任何){{0,2}}地?"
    r"(?:提到|提及|说明|提供|给出|涉及|包含|指出|记载|相关|关于|有关|信息|描述|讨论)"
    rf"|{SOURCED_ZH}[中里]?[，,]?[^，,。；;]{{0,40}}?(?:{_UNTOLD_ZH})"
    rf"|[^，,。；;]{{0,40}}?(?:没有|未)在{_MATERIAL_ZH}"
)
EMPTY_TALK_ZH = _any(
    r"(?:你好|您好|大家好|嗨|早上好|下午好|晚上好|亲爱的)[^，。]{0,6}[，。！!~]*$",
    r"(?:你好|您好)[，,！!]\s*(?:我是|很高兴|请问|有什么)",
    r"(?:当然(?:可以)?|好的|没问题|可以|是的|是|不是|否|对的?|不对|(?:感谢|谢谢)(?:[您你][^，,]{0,8})?|不客气|嗯|好|明白了?|了解)[，。！!.,~]*$",
    r"(?:希望(?:[你您这此我能对]|大家|以上|上述|可以)|祝(?:[你您]|大家|.{0,6}(?=愉快|顺利|好运)))"
    r"(?=.*(?:帮助|帮到|有用|有所|愉快|顺利|好运|参考|满意|解答|喜欢))",
    rf"作为(?:一[个款名位])?{_AI_ZH}(?=.{{0,40}}?我)",
    rf"我(?:只)?是(?:一[个款名])?(?:由.{{1,12}})?{_AI_ZH}",
    r"(?:非常|很|十分)?(?:抱歉|对不起|不好意思|遗憾，我)",
    r"(?:但|但是|不过)?我(?:在[^，,]{1,12}[中里]|还)?"
    r"(?:无法|不能|没法|不知道|不清楚|不确定|不太|没有(?:足够|相关|办法|能力|找到))",
    r"(?:如果|若|如|倘若)(?:[你您]?(?:还?有|还?想|还?需要|希望|对)|您还|还).*"
    r"(?:请(?:随时|告诉|联系|让|继续|提)|告诉我|联系我|提问|随时|欢迎|我可以|我会|我很)",
    r"请(?:随时|告诉|提供|问|让我|放心|查看|参考|咨询|联系|告知|稍)",
    r"(?:以上|上述)(?:就?是|内容|信息|建议|回答)[^，,。\d]{0,30}(?:[，,]希望[^，,。\d]{0,20}(?:帮|用|参考)|仅供参考)",
    r"(?:以下|下面|下列)(?:是|为|就是|列出|将|我|内容)",
    r"我(?:可以(?:帮|为|告诉)|会尽|将)",
    r"(?:欢迎|随时)(?:提问|咨询|联系|告诉)|有什么(?:我)?(?:可以|能)|我很(?:乐意|高兴)",
)
TALK_ZH = _any(
    r"(?:我|我们|本人|个人|我个人|笔者)(?:建议|推荐|希望|喜欢)|我的(?:看法|观点|建议)",
    r"请[您你]",
    r"(?:如果|若|如|倘若)(?:你|您|还|有).*"
    r"(?:请(?:随时|告诉|联系|让|继续|提)|告诉我|联系我|提问|随时|欢迎|我可以|我会|我很)",
)
GOES_ON_ZH = _any(r"[您你](?:也|还)?(?:可以|可|不妨|能)|(?:也|还)?建议|我(?![国省市县区校院])")
TURN_ZH = re.compile(r"(?P<turn>[，,；;](?:但是?|不过|然而|其实|可是))[，,]?|[：:；;] ?|——")
_NUMBER_ZH = r"(?:\d[\d,.]*|[一二两三四五六七八九十百千万亿]+)"
COUNTED_ZH = re.compile(rf"{_NUMBER_ZH} ?[多几]?(?:个|点|条|种|本|部|款|篇|首|项|步|句)|[这那第]{_NUMBER_ZH}")
FIGURE_ZH = re.compile(
    r"\d|[两三四五六七八九十百千万亿](?:片|粒|颗|毫克|千?克|公斤|斤|公?里|米|次|年|月|天|小时|分钟|岁|元|倍|度|毫?升|名|位|座)"
)
HEDGE_ZH = re.compile(
    r"(?:(?:我|我们|本人|个人|我个人|笔者)(?:也|还|一直|不|并不)?(?:认为|觉得|感觉|相信|猜测?|想|想说|估计|推测|记得)"
    r"|据我所知|据我了解|在我看来|依我看|就我(?:个人)?(?:而言|来说|所知)|我的理解是|如果我没记错(?:的话)?"
    r"|我不(?:太)?确定[，,]但(?:是)?)[，,：:]?(?:是)?"
)
EVALUATIVE_ZH = re.compile(
    r"好看|漂亮|美丽|优美|[很最真太更]美|[很最真太更]好|还好|不错|真棒|很棒|最棒|精彩|有趣|有意思|优秀|出色|伟大|糟糕|难看|无聊"
    r"|可爱|感人|完美|理想|值得|应该|应当|喜欢|好吃|好听|好玩|讨厌|可惜|遗憾|合理|重要|没问题|[你您我们还挺]可以|有道理|[你您]说得对"
)
CLAUSE_BREAK_ZH = re.compile(r"[，,；;]")
MIN_LENGTH = 4
"""Words, or Chinese characters, of a clause that can state something."""

LEAD_IN_ZH = _any(
    r"(?:以下|下面|下列|当然|好的|根据|综上|总之|总的来说|例如|比如)",
    r".*(?:以下|如下|下面|下列|包括|包含|分别[是为]|例如|比如|有)[^，。]{0,12}[:：]$",
)
