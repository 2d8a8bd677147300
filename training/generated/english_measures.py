"""English pairs about dates, durations and units."""

from __future__ import annotations

from random import Random

from training.generated.drafts import Claims, Draft, capital
from training.generated.english_names import BUILDINGS, MONTHS, PEOPLE, PLACES, spoken


def durations(rng: Random) -> Draft:
    """Two dates against the time between them."""
    start = rng.randint(1780, 1985)
    choices = (3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 25, 30, 40, 48, 50, 60, 75, 100)
    building, place = rng.choice(BUILDINGS), rng.choice(PLACES)
    person, role = (
        rng.choice(PEOPLE),
        rng.choice(("mayor", "director", "editor", "head teacher", "conductor")),
    )
    last = person.split()[-1]
    house = rng.random() < 0.5
    years = rng.choice(choices if house else choices[:13])
    end = start + years
    wrong = rng.choice([span for span in choices if abs(span - years) > max(1, years // 5)])
    if house:
        fact = rng.choice(
            (
                f"The {building} in {place} opened in {start} and closed in {end}.",
                f"Opened in {start}, the {place} {building} shut its doors for good in {end}.",
                f"The {place} {building} was in use from {start} until {end}.",
            )
        )
        frames: tuple[str, ...] = (
            f"The {building} operated for {{}}.",
            "It closed {} after it had opened.",
            f"The {building} in {place} was open for {{}}.",
            f"The {building} of {place} served for {{}} in all.",
        )
        ends: list[Claims] = [
            (f"The {building} in {place} opened in {start}.", f"The {building} in {place} opened in {end}."),
            (
                f"The {building} in {place} was shut in {end}.",
                f"The {building} in {place} was shut in {start}.",
            ),
        ]
    else:
        fact = rng.choice(
            (
                f"{person} was {role} of {place} from {start} to {end}.",
                f"{person} became {role} in {place} in {start} and stepped down in {end}.",
                f"In {start} {person} was appointed {role}; {last} retired in {end}.",
            )
        )
        frames = (
            f"{last} held the post for {{}}.",
            f"{person} left the job {{}} after taking it.",
            f"{person} was {role} for {{}}.",
        )
        ends = [
            (f"{person} became {role} in {start}.", f"{person} became {role} in {end}."),
            (f"{last} ceased to be {role} in {end}.", f"{last} ceased to be {role} in {start}."),
        ]
    pairs = [(frame.format(_span(rng, years)), frame.format(_span(rng, wrong))) for frame in frames] + ends
    pairs.append(
        (
            f"This began in the {_century(start)} century.",
            f"This began in the {_century(start + rng.choice((-100, 100)))} century.",
        )
    )
    return Draft(fact, pairs, "durations")


def _span(rng: Random, years: int) -> str:
    options = [f"{years} years"]
    if years < 100:
        options.append(f"{spoken(years)} years")
    if years % 10 == 0 and years >= 20:
        options.append({50: "half a century", 100: "a century"}.get(years, f"{spoken(years // 10)} decades"))
    options += {10: ["a decade"], 75: ["three quarters of a century"], 25: ["a quarter of a century"]}.get(
        years, []
    )
    return rng.choice(options)


def _century(year: int) -> str:
    number = (year - 1) // 100 + 1
    return f"{number}{'st' if number % 10 == 1 and number != 11 else 'th'}"


_UNITS = (
    ("kilometres", "miles", 0.621371, "long"),
    ("metres", "feet", 3.28084, "high"),
    ("kilograms", "pounds", 2.20462, "in weight"),
    ("litres", "gallons", 0.264172, "in volume"),
    ("hectares", "acres", 2.47105, "in area"),
    ("centimetres", "inches", 0.393701, "wide"),
)
_SCALED = (
    ("kilometres", "metres", 1000, "length"),
    ("metres", "centimetres", 100, "length"),
    ("tonnes", "kilograms", 1000, "mass"),
    ("kilograms", "grams", 1000, "mass"),
    ("hours", "minutes", 60, "time"),
    ("minutes", "seconds", 60, "time"),
    ("days", "hours", 24, "time"),
    ("weeks", "days", 7, "time"),
    ("years", "months", 12, "time"),
    ("litres", "millilitres", 1000, "volume"),
)
_EVENTS = {
    "time": (
        ("The crossing from {p} takes {{}}.", "The journey takes {{}}."),
        ("{w} needed {{}} to finish the repair.", "The repair took {w} {{}}."),
        ("The talks in {p} lasted {{}}.", "They talked for {{}} in {p}."),
        ("The permit of {w} is valid for {{}}.", "{w}'s permit runs out after {{}}."),
    ),
    "length": (
        ("The path to {p} runs for {{}}.", "The way to {p} measures {{}}."),
        ("{w} walked {{}} along the river.", "{w}'s walk covered {{}}."),
    ),
    "mass": (
        ("The bell of {p} weighs {{}}.", "The weight of the bell is {{}}."),
        ("{w} collected {{}} of honey.", "{w}'s honey came to {{}}."),
    ),
    "volume": (
        ("The tank in {p} holds {{}}.", "There is room for {{}} in the tank."),
        ("{w} drank {{}} of water.", "{w}'s intake of water was {{}}."),
    ),
}


def units(rng: Random) -> Draft:
    """A measure in one unit against the same and other measures in another."""
    if rng.random() < 0.5:
        thing, place = (
            rng.choice(
                ("tunnel", "bridge", "tower", "tank", "crate", "estate", "canal", "statue", "beam", "trail")
            ),
            rng.choice(PLACES),
        )
        unit, other, factor, how = rng.choice(_UNITS)
        value = rng.choice((rng.randint(2, 90), rng.randint(10, 60) * 10, rng.randint(2, 9) * 100))
        if rng.random() < 0.5:
            unit, other, factor = other, unit, 1 / factor
        there = value * factor
        shown = _short(there)
        wrong = str(value) if rng.random() < 0.6 else _short(there * rng.choice((0.4, 0.6, 1.6, 2.5)))
        fact = rng.choice(
            (
                f"The {thing} in {place} is {value} {unit} {how}.",
                f"At {value} {unit} {how}, the {place} {thing} is well known.",
            )
        )
        pairs = [
            (frame.format(shown), frame.format(wrong))
            for frame in (
                f"It is about {{}} {other} {how}.",
                f"The {thing} measures some {{}} {other}.",
                f"The {thing} in {place} is roughly {{}} {other} {how}.",
                f"In {other}, that is around {{}}.",
            )
        ]
        return Draft(fact, pairs, "units")
    unit, other, factor, sort = rng.choice(_SCALED)
    value_ = rng.choice((2, 3, 4, 5, 6, 8, 9, 12, 1.5, 2.5, 0.5))
    here, there_ = f"{value_:g} {unit}", f"{value_ * factor:,.10g} {other}"
    if rng.random() < 0.5:
        here, there_ = there_, here
        number, word = f"{value_ * factor:,.10g}", unit
    else:
        number, word = f"{value_:g}", other
    slips = [
        f"{number} {word}",
        f"{value_ * factor * rng.choice((10, 0.1, 2, 0.5)):,.10g} {other}",
        f"{value_ * rng.choice((2, 3, 10)):g} {unit}",
    ]
    fill = {"p": rng.choice(PLACES), "w": rng.choice(PEOPLE)}
    event, plain = (text.format(**fill) for text in rng.choice(_EVENTS[sort]))
    frames = (event, plain, "That comes to {}.", "The figure equals {}.")
    return Draft(
        event.format(here),
        [(frame.format(there_), frame.format(rng.choice(slips))) for frame in frames],
        "units",
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}"


_FIRSTS = (
    ("published a first novel", "the debut novel"),
    ("founded a school for girls", "the school"),
    ("won the national chess title", "the title"),
    ("patented a sewing machine", "the patent"),
    ("opened a clinic", "the clinic"),
    ("crossed the desert on foot", "the crossing"),
)


def dates(rng: Random) -> Draft:
    """Dates against decades, centuries, ages."""
    person = rng.choice(PEOPLE)
    last = person.split()[-1]
    born, age = rng.randint(1800, 1960), rng.randint(19, 60)
    year, month, day = born + age, rng.choice(MONTHS), rng.randint(2, 27)
    deed, short = rng.choice(_FIRSTS)
    fact = rng.choice(
        (
            f"Born in {born}, {person} {deed} on {day} {month} {year}.",
            f"{person} (born {born}) {deed} in {month} {year}.",
            f"On {month} {day}, {year}, {person}, who was born in {born}, {deed}.",
            f"{person} was born in {born}. In {month} {year}, {last} {deed}.",
        )
    )
    decade, wrong = year // 10 * 10, year // 10 * 10 + rng.choice((-30, -20, -10, 10, 20, 30))
    wrong_age = age + rng.choice((-11, -8, 9, 12))
    century, wrong_century = _century(year), _century(year + rng.choice((-100, 100)))
    pairs = [
        (f"{capital(short)} came in the {decade}s.", f"{capital(short)} came in the {wrong}s."),
        (f"{person} {deed} in the {decade}s.", f"{person} {deed} in the {wrong}s."),
        (f"This happened in the {century} century.", f"This happened in the {wrong_century} century."),
        (f"{person} {deed} in the {century} century.", f"{person} {deed} in the {wrong_century} century."),
        (
            f"{last} was about {age} years old at the time.",
            f"{last} was about {wrong_age} years old at the time.",
        ),
        (f"{person} {deed} at the age of {age}.", f"{person} {deed} at the age of {wrong_age}."),
        (f"{person} was born in {born}.", f"{person} was born in {year}."),
        (
            f"The date of {short} is {month} {year}.",
            f"The date of {short} is {rng.choice([m for m in MONTHS if m != month])} {year}.",
        ),
    ]
    return Draft(fact, pairs, "dates")
