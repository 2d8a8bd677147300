"""Rewrites of English sentences (numbers and dates too): some keep the meaning, some change it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from proxy.checkers.builtin.conflicts import MONTHS
from proxy.checkers.builtin.numbers import ONES

Rule = tuple[re.Pattern[str], str]

_SAME = (
    "began|started", "started|began", "located in|situated in", "is located in|is in", "located|situated",
    "approximately|about", "about|around", "around|approximately", "purchased|bought", "bought|purchased",
    "constructed|built", "built|constructed", "established|founded", "founded|established",
    "died|passed away", "children|kids", "film|movie", "movie|film", "numerous|many", "many|numerous",
    "several|a number of", "received|was given", "was awarded|received", "won|was the winner of",
    "attended|went to", "however, |", "became|turned into", "large|big", "small|little",
    "commenced|began", "assist|help", "help|assist", "obtained|got", "also |", "near|close to",
    "close to|near", "because|since", "until|till", "although|even though", "whilst|while",
    "currently|at present", "previously|formerly", "formerly|previously", "initially|at first",
    "prior to|before", "following|after", "subsequently|later", "primarily|mainly", "mainly|mostly",
    "often|frequently", "frequently|often", "inhabitants|residents", "residents|inhabitants",
    "ended|finished", "finished|ended", "required|needed", "resided|lived", "lived in|was a resident of",
    "married|wed", "killed|slain", "victory|win", "defeated|beat", "beat|defeated", "employed|used",
    "used|utilised", "released|put out", "author|writer", "writer|author", "occurred|happened",
    "took place|was held", "was held|took place", "created|made", "appeared in|was seen in",
    "stars|features", "starring|featuring", "inaugurated|opened", "opened|inaugurated", "ship|vessel",
    "entire|whole", "whole|entire", "main|principal", "principal|main", "noted for|known for",
    "known for|famous for", "famous for|known for", "renowned|well-known", "in order to|to",
    "such as|like", "made up of|composed of", "consists of|is made up of", "comprises|consists of",
    "launched|started", "demolished|torn down", "destroyed|wrecked", "selected|chosen", "chosen|selected",
    "raised|brought up", "grew up|was raised", "born in|a native of", "along with|together with",
    "additionally|also", "extensive|broad", "begins|starts", "ends|finishes", "dwelling|house",
    "physician|doctor", "doctor|physician", "automobile|car", "car|automobile", "aircraft|plane",
    "largest|biggest", "biggest|largest", "oldest|most ancient", "announced|made public",
    "stated|said", "said|stated", "claimed|asserted", "asserted|claimed", "permitted|allowed",
    "prohibited|banned", "banned|prohibited", "resigned|stepped down", "stepped down|resigned",
    "portrayed|played", "depicts|shows", "illustrates|shows", "composed|wrote", "penned|wrote",
)  # fmt: skip
_TURNED = (
    "first|last", "last|first", "largest|smallest", "smallest|largest", "highest|lowest", "lowest|highest",
    "oldest|newest", "newest|oldest", "longest|shortest", "best|worst", "worst|best", "before|after",
    "after|before", "more than|less than", "less than|more than", "more|less", "fewer|more", "less|more",
    "over|under", "above|below", "below|above", "increased|decreased", "decreased|increased",
    "rose|fell", "fell|rose", "won|lost", "lost|won", "defeated|lost to", "beat|lost to", "all|only some",
    "most|few", "many|few", "some|all", "few|most", "always|never", "never|always", "often|rarely",
    "rarely|often", "usually|seldom", "both|neither", "only|not only", "older|younger", "younger|older",
    "male|female", "female|male", "public|private", "private|public", "major|minor", "minor|major",
    "early|late", "late|early", "began|ended", "started|ended", "ended|began", "opened|closed",
    "closed|opened", "joined|left", "left|joined", "entered|left", "accepted|rejected",
    "rejected|accepted", "allowed|forbade", "supported|opposed", "opposed|supported", "positive|negative",
    "negative|positive", "successful|unsuccessful", "unsuccessful|successful", "popular|unpopular",
    "married|divorced", "born|buried", "died|was born", "bought|sold", "sold|bought", "at least|at most",
    "at most|at least", "inside|outside", "upper|lower", "lower|upper", "ancient|modern", "modern|ancient",
    "with|without", "including|excluding", "living|dead", "hot|cold", "cold|hot", "rich|poor", "poor|rich",
    "majority|minority", "minority|majority", "maximum|minimum", "minimum|maximum", "single|double",
    "alone|together", "possible|impossible", "impossible|possible", "true|false", "false|true",
    "safe|dangerous", "dangerous|safe", "strong|weak", "weak|strong", "simple|complex", "common|rare",
    "rare|common", "same|different", "different|same", "domestic|foreign", "foreign|domestic",
    "young|old", "rural|urban", "urban|rural", "professional|amateur", "amateur|professional",
    "gained|lost", "added|removed", "created|destroyed", "approved|rejected", "succeeded|failed",
    "failed|succeeded", "started|stopped", "completed|abandoned", "built|demolished", "full|partial",
)  # fmt: skip
_PASSIVE = {
    "directed": "directed", "produced": "produced", "written": "wrote", "founded": "founded",
    "designed": "designed", "built": "built", "discovered": "discovered", "invented": "invented",
    "published": "published", "released": "released", "recorded": "recorded", "owned": "owned",
    "created": "created", "developed": "developed", "acquired": "acquired", "composed": "composed",
    "led": "led", "won": "won", "captured": "captured", "defeated": "defeated", "painted": "painted",
    "established": "established", "operated": "operated", "played": "played", "edited": "edited",
}  # fmt: skip
_ACTIVE = {past: participle for participle, past in _PASSIVE.items()}
_NAME = r"[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)*"
_SUBJECT = r"((?:The |A |An )?[A-Z][\w’'-]*(?: (?:[A-Z][\w’'-]*|of|the|and))*)"
_IN_YEAR = re.compile(r"^In (\d{4}|[A-Z][a-z]+ \d{4}), (\S.*[^.])(\.?)$")
_YEAR_LAST = re.compile(r"^((?:[A-Z]\S* ?){1,4}[a-z].*) (in \d{4})(\.)$")
_WAS_BY = re.compile(rf"^{_SUBJECT} (?:is|was|were) ({'|'.join(_PASSIVE)}) by ({_NAME})(\.| in \d{{4}}\.)$")
_BY_ACTIVE = re.compile(rf"^({_NAME}) ({'|'.join(_ACTIVE)}) (the [a-z ]+|{_NAME})(\.| in \d{{4}}\.)$")
_PARENTHESIS = re.compile(r" ?\([^()]{1,120}\)")
_WHICH = re.compile(r", (?:which|who|whose|where|when|including|such as|according to)\b[^,;.]{3,90},(?= )")
_TAIL = re.compile(
    r"(?<=[a-z0-9]{3}), (?:which|who|where|when|and|but|while|with|including|[a-z]+ing)\b[^.]{3,}(?=\.$)"
)
_LEAD = re.compile(r"^(?:However|Moreover|Furthermore|Additionally|In addition|Also|As a result|Therefore), ")
_AUX = re.compile(
    r"\b(is|was|are|were|can|could|will|would|does|did|should|might|must|(?:has|have|had)(?= been| \w+ed))\b"
)
_NOT = re.compile(
    r"\b(is|was|are|were|can|could|will|would|has|have|had|does|did|should|may|might|must) not\b"
)
_PAST = re.compile(
    r"(?<=[a-z]) (won|became|joined|received|released|moved|worked|played|appeared|began|left)\b"
)
_BASE = {
    "won": "win", "became": "become", "joined": "join", "received": "receive", "released": "release",
    "moved": "move", "worked": "work", "played": "play", "appeared": "appear", "began": "begin",
    "left": "leave",
}  # fmt: skip
_BECAUSE = re.compile(r"^([A-Z][^,;]{15,}?),? because ([a-z][^,;.]{15,})\.$")
_TO_BECAUSE = re.compile(r"^(.{15,}?) (?:led to|resulted in) (.{10,})\.$")
_ADDED = (
    "reportedly controversial", "award-winning", "short-lived", "highly influential", "government-funded",
    "privately owned", "self-taught", "retired", "secret", "illegal", "internationally acclaimed",
    "record-breaking", "volunteer-run", "temporary", "unfinished", "part-time",
)  # fmt: skip
_ENDINGS = (
    "for the first time", "against the advice of experts", "for health reasons", "by a narrow margin",
    "without any compensation", "twice", "shortly before the war", "with the help of volunteers",
    "every year", "for financial reasons", "in less than a week", "by mistake", "on live television",
    "under a false name", "after a long legal dispute", "at the age of {age}", "at a cost of ${cost} million",
    "together with his brother", "in front of {crowd},000 people",
)  # fmt: skip


def _rules(pairs: Sequence[str]) -> tuple[Rule, ...]:
    split = (pair.split("|") for pair in pairs)
    return tuple(
        (re.compile(rf"(?<![\w-]){re.escape(old)}(?![\w-])" if old.strip() == old else re.escape(old)), new)
        for old, new in split
    )


_SYNONYMS, _OPPOSITES = _rules(_SAME), _rules(_TURNED)


def reworded(sentence: str, chance: random.Random) -> str:
    """The sentence with up to three words become synonyms of theirs."""
    fitting = [rule for rule in _SYNONYMS if rule[0].search(sentence)]
    for pattern, other in chance.sample(fitting, min(len(fitting), chance.randint(1, 3))):
        sentence = pattern.sub(other, sentence, count=1)
    return sentence


def compressed(sentence: str) -> str:
    """The sentence without brackets, relative clauses and what trails after a comma."""
    shorter = _LEAD.sub("", _PARENTHESIS.sub("", sentence))
    shorter = _TAIL.sub("", _WHICH.sub("", shorter))
    return shorter[:1].upper() + shorter[1:]


def recast(sentence: str) -> str:
    """The sentence with its year moved, or the passive and the active exchanged; itself where none fits."""
    if match := _IN_YEAR.match(sentence):
        body = match[2][0].upper() + match[2][1:] if not match[2].startswith("the ") else "T" + match[2][1:]
        return f"{body} in {match[1]}{match[3]}"
    if match := _WAS_BY.match(sentence):
        return f"{match[3]} {_PASSIVE[match[2]]} {_lowered(match[1])}{match[4]}"
    if match := _BY_ACTIVE.match(sentence):
        return f"{match[3][0].upper()}{match[3][1:]} was {_ACTIVE[match[2]]} by {match[1]}{match[4]}"
    if match := _YEAR_LAST.match(sentence):
        return f"In {match[2][3:]}, {match[1]}{match[3]}"
    return sentence


def crossed(sentence: str) -> str | None:
    """The roles of a passive or an active sentence exchanged, or its cause and effect."""
    if match := _BECAUSE.match(sentence):
        return f"{match[2][0].upper()}{match[2][1:]} because {_lowered(match[1])}."
    if match := _TO_BECAUSE.match(sentence):
        said = sentence[match.end(1) : match.start(2)]
        return f"{match[2][0].upper()}{match[2][1:]}{said}{_lowered(match[1])}."
    if match := _WAS_BY.match(sentence):
        return f"{match[1]} {_PASSIVE[match[2]]} {match[3]}{match[4]}"
    if match := _BY_ACTIVE.match(sentence):
        return f"{match[3][0].upper()}{match[3][1:]} {match[2]} {match[1]}{match[4]}"
    return None


def denied(sentence: str) -> str | None:
    """The sentence with a "not" more, or one less."""
    if _NOT.search(sentence):
        return _NOT.sub(r"\1", sentence, count=1)
    if _AUX.search(sentence):
        return _AUX.sub(r"\1 not", sentence, count=1)
    if match := _PAST.search(sentence):
        return f"{sentence[: match.start()]} did not {_BASE[match[1]]}{sentence[match.end() :]}"
    return None


def opposed(sentence: str, chance: random.Random) -> str | None:
    """The sentence with one word become its opposite, or a quantity another."""
    fitting = [rule for rule in _OPPOSITES if rule[0].search(sentence)]
    if not fitting:
        return None
    pattern, other = chance.choice(fitting)
    return pattern.sub(lambda _: other, sentence, count=1)


def added(sentence: str, known: str, chance: random.Random) -> str | None:
    """The sentence with a modifier that `known` does not bear out."""
    if chance.random() < 0.4 and (match := re.search(r"\b([Aa])n? (?=[a-z]{4,})", sentence)):
        word = chance.choice(_ADDED)
        if word not in known:
            article = match[1] + ("n" if word[0] in "aeiou" else "")
            return f"{sentence[: match.start()]}{article} {word} {sentence[match.end() :]}"
    ending = chance.choice(_ENDINGS).format(
        age=chance.randint(14, 90), cost=chance.randint(2, 900), crowd=chance.randint(2, 90)
    )
    if ending in known or not sentence.endswith(".") or len(sentence) > 220:
        return None
    return f"{sentence[:-1]} {ending}."


def _lowered(text: str) -> str:
    """The text as it stands within a sentence: a leading article in lower case."""
    return re.sub(r"^(?:The|A|An|It|He|She|They|This|These|There)\b", lambda match: match[0].lower(), text)


_SMALL = (*ONES, "twenty")
_VALUES = {word: str(value) for value, word in enumerate(_SMALL)}
_MONTHS = "|".join(MONTHS)
_MONTH_DAY = re.compile(rf"\b({_MONTHS}) (\d{{1,2}}), (\d{{4}})\b,?")
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}}) ({_MONTHS}) (\d{{4}})\b")
_GROUPED = re.compile(r"(?<![\w.,=])\d{1,3}(?:,\d{3})+(?![\w,]|\.\d)")
_PLAIN = re.compile(r"(?<![\w.,:/=$£€-])[1-9]\d{4,8}(?![\w:/%-]|[.,]\d)")
_MILLIONS = re.compile(r"(?<![\w.,])(\d{1,3}(?:\.\d{1,2})?) (million|billion)\b")
_WORD = re.compile(r"(?<![\w-])(" + "|".join(_SMALL[2:]) + r")(?= [a-z])")
_DIGITS = re.compile(r"(?<=[a-z] )(1?\d|20)(?= [a-z]{3,})(?! (?:million|billion|percent|per))")
_PERCENT = re.compile(r"(?<=\d) per ?cent\b")
_SIGN = re.compile(r"(?<=\d)%")

Respelling = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]


def _spelt_out(match: re.Match[str]) -> str:
    """5.9 million as 5,900,000."""
    whole, _, part = match[1].partition(".")
    zeros = 6 if match[2] == "million" else 9
    return f"{int(whole + part.ljust(zeros, '0')):,}"


_RESPELLINGS: Sequence[Respelling] = (
    (_MONTH_DAY, lambda match: f"{match[2]} {match[1]} {match[3]}"),
    (_DAY_MONTH, lambda match: f"{match[2]} {match[1]}, {match[3]}"),
    (_GROUPED, lambda match: match[0].replace(",", "")),
    (_PLAIN, lambda match: f"{int(match[0]):,}"),
    (_MILLIONS, _spelt_out),
    (_WORD, lambda match: _VALUES[match[1]]),
    (_DIGITS, lambda match: _SMALL[int(match[1])]),
    (_PERCENT, lambda match: "%"),
    (_SIGN, lambda match: " percent"),
)


def respelled(sentence: str, chance: random.Random) -> str:
    """The sentence with one of its numbers or dates in another spelling; itself where it has none."""
    matches = [
        (match, spell) for pattern, spell in _RESPELLINGS for match in pattern.finditer(sentence) if match[0]
    ]
    if not matches:
        return sentence
    match, spell = chance.choice(matches)
    return sentence[: match.start()] + spell(match) + sentence[match.end() :]
