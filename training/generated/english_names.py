"""Names and things that the English generators draw from."""

from __future__ import annotations

from random import Random


def _phrases(text: str) -> list[str]:
    """What stands between commas."""
    return [" ".join(phrase.split()) for phrase in text.split(",")]


PEOPLE = _phrases(
    """
    Mara Lindqvist, Tomas Okafor, Ines Carvalho, Ravi Menon, Greta Holm, Samuel Adeyemi, Yuki Tanabe,
    Clara Whitfield, Omar Haddad, Nadia Petrova, Luis Ferreira, Hannah Brandt, Piotr Zielinski, Amara
    Diallo, Kenji Mori, Elena Rossi, David Kimani, Sofia Marchetti, Anders Bakke, Leila Rahimi, George
    Pryce, Mei Wong, Jonas Keller, Fatima Zahra, Patrick Doyle, Ana Kovac, Victor Salazar, Ruth Abrams,
    Dmitri Volkov, Isabel Navarro, Kofi Mensah, Birgit Olsen
    """
)
PLACES = _phrases(
    """
    Harlow, Vestby, Port Elmar, Kilbride, Santa Orla, Tarnow, Lindale, Novi Grad, Ashford, Castel Rosso,
    Marden, Oakhaven, Drumore, Bergvik, Salto, Pine Ridge, Kamari, Elsworth, Montbel, Varna Bay,
    Rosslyn, Aldine, Brescott, Tivaro
    """
)
GROUPS = _phrases(
    """
    the Harlow Rovers, Vestby United, the Lindale Hawks, Port Elmar City, the Tarnow Bears, Kilbride
    Athletic, the Marden Lions, Ashford Town, the Oakhaven Comets, Salto Wanderers, the Drumore Eagles,
    Bergvik Stars
    """
)
FIRMS = _phrases(
    """
    Norvane, Calder Mills, Brightwell Foods, Osterman Steel, Kestrel Air, Lumen Optics, Hadley Motors,
    Pacifica Rail, Quillon Software, Tern Energy, Vantor Labs, Merrow Shipping, Aldgate Bank, Solis
    Power, Redfern Textiles, Ibex Outdoor
    """
)
ANIMALS = _phrases(
    """
    the marsh harrier, the spotted vole, the red-crowned ibis, the dune lizard, the bearded otter, the
    snow finch, the striped gecko, the river dolphin, the pygmy owl, the tufted hare, the cave newt, the
    silver carp
    """
)
BUILDINGS = _phrases(
    """
    lighthouse, town hall, cathedral, railway station, covered market, museum, observatory, grain mill,
    theatre, library, brewery, hospital, swimming hall, customs house
    """
)
COUNTED = """
    visitors residents trees books seats members students tickets workers sheep boats apartments letters
    paintings votes bicycles meals signatures streetlights photographs
""".split()
LISTS: dict[str, tuple[str, ...]] = {
    "crop": ("barley", "oats", "rye", "wheat", "flax", "hops", "maize", "beet"),
    "language": ("Polish", "Turkish", "Hindi", "Swahili", "Greek", "Dutch", "Korean", "Finnish"),
    "sport": ("rowing", "fencing", "judo", "archery", "handball", "tennis", "sailing", "boxing"),
    "instrument": ("cello", "oboe", "harp", "flute", "trumpet", "piano", "viola", "clarinet"),
    "metal": ("copper", "zinc", "nickel", "silver", "tin", "lead", "iron", "cobalt"),
    "country": ("Chile", "Kenya", "Norway", "Japan", "Portugal", "Canada", "Vietnam", "Greece"),
    "colour": ("red", "green", "ochre", "blue", "white", "violet", "black", "amber"),
    "subject": ("algebra", "chemistry", "history", "geography", "physics", "music", "biology", "drawing"),
}
FILLERS = (
    "The site is managed by a local trust.",
    "Records from the period are kept in the county archive.",
    "The work was paid for by a public appeal.",
    "Local newspapers followed the story closely.",
    "A small plaque marks the spot today.",
    "Officials declined to comment further.",
    "The report runs to some eighty pages.",
    "Weather in the region is mild for most of the year.",
    "The surrounding streets were later closed to cars.",
    "Several schools have since visited.",
    "The decision was welcomed by most of the neighbours.",
    "Further details are expected in the coming weeks.",
)
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spoken(number: int) -> str:
    """A whole number under a hundred in words."""
    if number <= 20:
        return SMALL[number]
    tens, ones = divmod(number, 10)
    return TENS[tens] + (f"-{SMALL[ones]}" if ones else "")


def names(rng: Random) -> dict[str, str]:
    """One of each, by the letters that frames have for them."""
    return {
        "p": rng.choice(PLACES),
        "w": rng.choice(PEOPLE),
        "f": rng.choice(FIRMS),
        "an": rng.choice(ANIMALS),
        "b": rng.choice(BUILDINGS),
        "g": rng.choice(GROUPS),
        "crop": rng.choice(LISTS["crop"]),
    }
