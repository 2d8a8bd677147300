"""Forms of one word to a single form: full-width letters, accents, inflection."""

from __future__ import annotations

from unicodedata import category, normalize

COMBINING_MARKS = "".join(
    chr(code) for code in range(0x300, 0x10000) if category(chr(code)) in ("Mn", "Mc", "Me")
)
"""Accents and vowel signs that are characters of their own, as decomposed text (PDFs, macOS) has them."""

INVISIBLE_JOINERS = "\u00ad\u200c\u200d\u2060"
"""The soft hyphen and other characters inside a word that are not shown."""

_NARROW = {
    code: code - 0xFEE0 for code in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))
}
_IRREGULAR_FORMS = """
write wrote written|win won|begin began begun|become became|make made|find found|lead led|hold held
build built|sing sang sung|give gave given|take took taken|grow grew grown|know knew known|leave left
lose lost|speak spoke spoken
rise rose risen|fall fell fallen|fight fought|teach taught|think thought|buy bought
bring brought|sell sold|tell told|say said|see saw seen|run ran|come came|go went gone|drive drove driven
choose chose chosen|draw drew drawn|spend spent|send sent|meet met|man men|woman women|child children
person people|die died dies dead death|percent percentage|usa us|good better best|mouse mice|foot feet
"""
_IRREGULAR = {
    form: forms.split()[0]
    for forms in _IRREGULAR_FORMS.strip().replace("\n", "|").split("|")
    for form in forms.split()
}


def narrow(text: str) -> str:
    """Full-width digits and letters as ASCII: one character for one, so that offsets hold."""
    return text.translate(_NARROW)


def without_accents(word: str) -> str:
    """A word's letters alone: "bolívar" is "bolivar", whether the accent is a character of its own or not."""
    return "".join(char for char in normalize("NFKD", word) if char.isalnum()) or word


def stem(word: str) -> str:
    """A lower-case English word without its inflection, by a few suffixes and irregular forms.

    It is lighter than Porter's stemmer, which also takes `-ation` and `-ness` away. The shipped checker was
    trained on these stems: with other ones it has to be trained anew.
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    size = len(word)
    if size > 4 and word.endswith(("ies", "ied")):
        return word[:-3] + "y"
    if size > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word, size = word[:-1], size - 1
    for suffix in ("ing", "ed", "ly"):
        if size > len(suffix) + 3 and word.endswith(suffix):
            word = word[: -len(suffix)]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word
