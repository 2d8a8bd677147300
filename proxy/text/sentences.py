"""The one sentence splitter: English, Chinese or mixed plain text, by exact offsets.

NLTK's Punkt (Kiss and Strunk, Unsupervised Multilingual Sentence Boundary Detection, 2006) decides what a
full stop means. It reads no trained data, only the word lists below, so that a text is split the same way on
every machine. Punkt needs a space after a stop, so the ends of Chinese sentences are found first and Punkt
sees what is between them.

The lists are lower case and without the final stop. Words that are also whole English words (sun, mass, no,
art) are not abbreviations here where that would join sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

from proxy.text.scripts import UNSPACED

SPLITTER = "punkt-en-zh-4"
"""Name and version of this splitter, for the manifest of an index.

Passages end where sentences end, and a passage's id depends on its text: change this with any change to the
splits.
"""

LEADING = frozenset(
    """
    adm amb approx assoc attn bros brig bldg capt cf cmdr cmdt col comdr cpl cpt dept det dr drs e.g eg
    eq eqs esp fig figs fr gen gov hon i.e ie insp lieut lt lt.col maj messrs mlle mm mme mmes mr mrs ms
    msgr mt mx myr n.b nos ofc pl pp pref pres prof pvt rep reps rev rt sen sens sgt st ste supt viz vol vols
    vs
    """.split()
)
"""Abbreviations that belong to the word after them: no sentence ends with one (`Dr. Smith`, `e.g. tin`)."""

MONTHS = frozenset("jan feb mar apr jun jul aug sep sept oct nov dec".split())

BEFORE_NUMBER = MONTHS | frozenset("art ca ch chap cl fol no p para pt pts sec secs sect tab ver".split())
"""Abbreviations that belong to a number after them (`Jan. 5`, `No. 7`) and may end a sentence otherwise."""

TRAILING = MONTHS | frozenset(
    """
    a.d a.k.a a.m abbr al assn ave b.a b.b.a b.c b.c.e b.s b.sc blvd c.e c.i.a cert co conf cong const corp ct
    ctr d.c d.d.s d.phil dem dist div e.u ed eds edn encl eng env esq et.al etc ext f.b.i ft fwd g.b g.m.t ger
    h.q hist hr hrs hwy ibid illus inc incl intl j.d jr kan kg km l.a l.l.b l.l.m lb lbs ltd m.a m.b.a
    m.d m.p m.p.h m.s m.sc mfg mich minn misc n.a n.c n.d n.h n.j n.m n.y n.y.c nat natl o.k o.s okla
    orch org oz p.c p.j p.m p.o p.s ph.d phil pkg plc pty prov publ q.v qt r.a.f r.i r.n rd recd rpm s.a
    s.c s.d s.e soc sq sr subj suppl syn tenn therm treas tues u.a.e u.k u.n u.s u.s.a u.s.c u.s.s
    u.s.s.r univ usu w.va wis wk wt wyo yd yds yr yrs tue thu thur thurs
    """.split()
)
"""Abbreviations with which a sentence may or may not end (`in Washington D.C.`, `Apple Inc. was`)."""

STARTERS = frozenset(
    """
    a after all also although an and another are as at because before both but by during each even every
    finally first for from furthermore he her here his how however i if in is it its later many meanwhile
    more moreover most my no now of on once one only other our overall she since so some soon such that
    the their then there therefore these they this those though through thus to today two under unlike
    until we what when where whether which while who with would yet you your
    """.split()
)
"""Words that, capitalised after a TRAILING abbreviation, start a new sentence."""

_ABBREVIATIONS = LEADING | TRAILING | BEFORE_NUMBER

NUMBER_WORDS = frozenset("three four five six seven eight nine ten".split())
"""More such words, but only after a single capital letter (`atop a Saturn V. Four days later`)."""

WIDE_STOPS = "。！？；｡।؟۔"
"""What ends a sentence in Chinese, Hindi, Arabic and Urdu, without a space behind it too."""

STOPS = f".!?…{WIDE_STOPS}"
"""What ends a sentence, and no heading."""

Span = tuple[int, int]

CITATION = re.compile(
    r"\[[1-9]\d{0,2}(?:[ \t]?[-–,，、;][ \t]?[1-9]\d{0,2}){0,20}\](?!\()"
    r"|【\d{1,3}(?:[-–,，、†:][^【】\n]{0,40})?】"
    r"|\[\^\w{1,32}\](?![:(])"
    r"|\[(?:citation|cite|source|ref):[ ]?\d{1,3}\](?!\()"
    r"|\[\[[1-9]\d{0,2}\]\((?:[^\s()]|\([^\s()]{0,200}\)){1,2000}+\)\](?!\()"
    r"|\[\([1-9]\d{0,2}\)\]\((?:[^\s()]|\([^\s()]{0,200}\)){1,2000}+\)"
)
"""One citation marker as models write it, `[1]`, `[1, 2]`, `[1-3]`, `【1】`, `[^1]`, `[[1](url)]`, or as
Vouch links it: `[(1)](url)`."""

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_UNITS = "kg|km|mm|lbs?|oz|ft|hrs?|yds?|rpm|[mghslt]"
"""Units that are abbreviations above, or single letters. Not capitals: `in 1990 A. Smith wrote`."""
_WIDE_END = re.compile(
    rf"[{WIDE_STOPS}][{WIDE_STOPS}!?…]*|(?<=[{UNSPACED}])…+[。！？!?]*|[!?](?=[{UNSPACED}])"
    rf"|(?:(?<=[{UNSPACED}])|(?<=[a-zA-Z]{{2}})|(?<=\d{{3}}))\.(?=[{UNSPACED}])"
    rf"|(?<=\d)[^\S\n]?(?:sq\.? )?(?:{_UNITS})\."
    rf"(?=[\"'”’)*_]{{0,3}}(?:\s{{1,3}}[\"'“‘(*_]{{0,3}}[A-ZÀ-ÖØ-Þ]|\s?[{UNSPACED}]))"
)
_CLOSERS = "”’」』）】》〉〕］)]}"
_QUOTED_END = re.compile(r"[!?][\"'”’»)\]]+$")
_OPENS_NEXT = re.compile(r"\s[«(]")
_GOES_ON = "，、。；：,"
"""What follows a quotation that ends in a stop of its own, where its sentence goes on."""
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]")
_ABBREVIATED = re.compile(
    r"(?<![^\W_])[^\W\d_A-Z]\. (?!m)[^\W\d_]\.$"
    r"|(?<!I )\b(?:[Aa][bm]|[Bb]is|[Dd]e[mnr]|[Ii]m|[Ss]eit|[Vv]om|[Zz]um) \d{1,2}\.$"
)
"""What ends no sentence in German: `z. B.`, `am 31.` before a month, `im 19.` before a noun."""
NOTE_SIGN = "†"
SIGNS = (
    r"[\u00b9\u00b2\u00b3\u2070\u2074-\u2079*†‡]{1,100}+|\^\d{1,3}"
    r"|[\U0001f1e6-\U0001faff\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200b-\u200f\u2060\ufeff\u00ad]{1,100}+"
    rf"|\((?!\w{{1,3}}\))[^()\n{WIDE_STOPS}]{{1,200}}\)|\[(?!\w{{1,3}}\])[^\[\]\n{WIDE_STOPS}]{{1,200}}\](?!\()"
)
"""What stands right behind a stop and belongs to its sentence: signs of notes, pictures, parentheses, and
what is not seen."""
_CITATIONS = re.compile(rf"(?:[ \t]{{0,2}}(?:{CITATION.pattern})){{1,20}}")
_MARKS = re.compile(rf"(?:[ \t]{{0,2}}(?:{CITATION.pattern})|{SIGNS}){{1,20}}")
_MARKED_STOP = re.compile(rf"([{STOPS}][\"'”’」』）)*_]{{0,4}})({_MARKS.pattern})(?=(\s{{0,3}})(\S?))")
_WINDOW = 4096
_UNSPACED = re.compile(f"[{UNSPACED}]")
_SAFE_CUT = re.compile(r"\w,?[ \t\n](?=\w)")
_LAST_CAPITAL = re.compile(r"[A-Z][a-z]*$")
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘（「*_]{1,20}$")
_WORD = re.compile(r"\w{1,40}")
_INITIAL = re.compile(r"[^\W\d_]\.")
_LAST_INITIAL = re.compile(r"(?<![^\W_])[^\W\d_]\.$")
_ENUMERATOR = re.compile(r"[(（]?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)）、]{1,2}")


def sentence_spans(text: str) -> tuple[Span, ...]:
    """Spans of the sentences of `text`, in order, disjoint, none empty or with white space at either end.

    Together they cover every character that is not white space. Blank lines always end a sentence, single
    line ends never. A citation marker after the stop stays with the sentence it cites for. Linear in the
    length of the text. The spans of the last short texts are kept: a paragraph is read again for every
    sentence that is written after it, and a passage for every claim.
    """
    return _kept_spans(text) if len(text) <= _KEPT_CHARS else _spans(text)


def _spans(text: str) -> tuple[Span, ...]:
    masked = _MARKED_STOP.sub(_blank_marks, text)
    spans: list[Span] = []
    for start, end in _wide_pieces(masked):
        spans += _latin_spans(masked, start, end)
    return tuple(_with_marks(text, spans))


_KEPT_TEXTS, _KEPT_CHARS = 2048, 4_000
"""Texts whose spans are kept, and the length of the longest one."""
_kept_spans = lru_cache(_KEPT_TEXTS)(_spans)


def quotable_spans(text: str) -> tuple[Span, ...]:
    """Spans of what can be quoted of a passage: its sentences, which line ends also end."""
    return tuple(
        (start + line.start(), start + line.end())
        for start, end in sentence_spans(text)
        for line in _LINE.finditer(text[start:end])
    )


_LINE = re.compile(r"[^\n]*\S[^\n]*")


def _tokenizer() -> PunktSentenceTokenizer:
    """Punkt with the lists of this module in place of trained data."""
    parameters = PunktParameters()
    parameters.abbrev_types = set(LEADING | TRAILING)
    parameters.sent_starters = set(STARTERS)
    # A Counter: Punkt looks up every word that follows an initial, and a defaultdict would keep them all.
    parameters.ortho_context = Counter(dict.fromkeys(STARTERS | NUMBER_WORDS, _SEEN_IN_LOWER_CASE))
    return PunktSentenceTokenizer(parameters)


_SEEN_IN_LOWER_CASE = 1 << 5
"""Punkt's flag for a word known in lower case: capitalised after a single letter, it starts a sentence."""

_PUNKT = _tokenizer()


def _blank_marks(match: re.Match[str]) -> str:
    """The stop and spaces. Other marks than citations stand there only where a sentence may begin behind."""
    stop, marks, gap, following = match.groups()
    cited = _CITATIONS.match(marks)
    kept = marks[cited.end() :] if cited else marks
    begins = following.isupper() or _UNSPACED.match(following)
    if gap:  # a formula alone would be no sentence
        begins = not following.islower() and following not in ("$", "\\")
    if begins or not following:
        return stop.rstrip("*").ljust(len(stop) + len(marks))
    return stop.ljust(len(stop) + len(marks) - len(kept)) + kept


def _wide_pieces(text: str) -> Iterator[Span]:
    """The pieces between blank lines and Chinese sentence ends, for Punkt to split further."""
    start = 0
    for paragraph_end, next_paragraph in _paragraph_ends(text):
        for match in _WIDE_END.finditer(text, start, paragraph_end):
            end = _past_closers(text, start, match.end(), paragraph_end)
            quoted = end > match.end() and (text[end - 1] == "》" or text[end : end + 1] in _GOES_ON)
            if text[match.start()] == "." and _is_abbreviation(text, start, match.start()):
                continue
            if match.start() > start and not (quoted and end < paragraph_end):
                yield start, end
                start = end
        if start < paragraph_end:
            yield start, paragraph_end
        start = next_paragraph


def _is_abbreviation(text: str, start: int, stop: int) -> bool:
    """Whether the word before a stop, or what it ends with (`ExampleInc.`), is an abbreviation."""
    match = _LAST_WORD.search(text, max(start, stop - 24), stop)
    word = match.group() if match else ""
    last = _LAST_CAPITAL.search(word)
    return any(each.lower() in _ABBREVIATIONS for each in (word, last.group() if last else ""))


def _paragraph_ends(text: str) -> Iterator[Span]:
    for match in _BLANK_LINE.finditer(text):
        yield match.span()
    yield len(text), len(text)


def _past_closers(text: str, start: int, end: int, limit: int) -> int:
    while end < limit:
        straight = text[end] in "\"'" and text.count(text[end], max(start, end - _WINDOW), end) % 2 == 1
        if not straight and text[end] not in _CLOSERS:
            break
        end += 1
    return end


def _latin_spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Punkt's spans of one piece, stripped; spans that belong together are joined again."""
    open_span: Span | None = None
    for window_start, window_end in _windows(text, start, end):
        for left, right in _PUNKT.span_tokenize(text[window_start:window_end]):
            span = _stripped(text, window_start + left, window_start + right)
            if span is None:
                continue
            windowed = left == 0 and window_start > start
            if open_span is None:
                open_span = span
            elif windowed or _belong_together(text, open_span, span):
                open_span = (open_span[0], span[1])
            else:
                last, open_span = _divided(text, open_span, span)
                yield last
    if open_span is not None:
        yield open_span


def _divided(text: str, first: Span, second: Span) -> tuple[Span, Span]:
    """Two sentences, where what opens the second (`«`, `(`) does not end the first."""
    opener = first[1] - 1
    opens = _OPENS_NEXT.fullmatch(text, opener - 1, first[1])
    rest = _stripped(text, first[0], opener) if opens else None
    return (rest, (opener, second[1])) if rest else (first, second)


def _windows(text: str, start: int, end: int) -> Iterator[Span]:
    """Stretches of bounded length, since Punkt gives up on a long text after five seconds.

    Punkt looks at one word on either side of a stop, so a cut between two words without a stop changes none
    of its decisions. The caller joins what a cut divided.
    """
    while end - start > _WINDOW:
        match = _SAFE_CUT.search(text, start + _WINDOW // 2, start + _WINDOW)
        cut = match.end() if match else start + _WINDOW
        yield start, cut
        start = cut
    yield start, end


def _stripped(text: str, start: int, end: int) -> Span | None:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else None


def _belong_together(text: str, first: Span, second: Span) -> bool:
    """Whether the stop at the end of `first` ends no sentence, against Punkt's decision."""
    tail = text[max(first[0], first[1] - 24) : first[1]]
    following = text[second[0]]
    if not any(char.isalnum() for char in text[second[0] : second[1]]):
        return True
    if len(tail) <= 8 and _ENUMERATOR.fullmatch(tail):
        return True
    if tail[-1] in "!?":
        return following.islower()
    if _QUOTED_END.search(tail):
        return following.islower() or following == "("
    if _ABBREVIATED.search(tail):
        return True
    if _LAST_INITIAL.search(tail) and _INITIAL.match(text, second[0]):
        return True
    match = _LAST_WORD.search(tail.removesuffix("."))
    written = match.group() if match and tail[-1] == "." else ""
    word = written.lower()
    if _INITIALS.fullmatch(written) and word not in TRAILING:
        return not (following.isupper() and _first_word(text, second) in STARTERS)
    return written == "v" or word in LEADING or (word in BEFORE_NUMBER and following.isdigit())


def _first_word(text: str, span: Span) -> str:
    match = _WORD.match(text, *span)
    return match.group().lower() if match else ""


def _with_marks(text: str, spans: list[Span]) -> list[Span]:
    """The spans, extended over the marks after them, which were blanked for Punkt."""
    result: list[Span] = []
    for (start, end), (following, _) in pairwise([*spans, (len(text), 0)]):
        match = _MARKS.match(text, end, following)
        result.append((start, match.end() if match else end))
    return result
