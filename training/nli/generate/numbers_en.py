"""English pairs about numbers: rounding, shares, durations, units, counts, sums, rates, comparison, dates."""

from __future__ import annotations

from random import Random

from nli.generate.shape import Draft, Pair, capital, swap
from nli.generate.words import BUILDINGS, COUNTED, FIRMS, LISTS, MONTHS, PEOPLE, PLACES, spoken


def rounding(rng: Random) -> Draft:
    """An exact count against rounded ones."""
    unit = rng.choice((10, 100, 1000, 10000))
    base = rng.randint(3, 40) * unit
    under = rng.random() < 0.5
    slip = max(1, int(unit * rng.uniform(0.02, 0.2)))
    value = base - slip if under else base + slip
    away = max(unit, int(base * rng.choice((0.5, 0.6, 0.75, 1.3, 1.5, 2, 10))) // unit * unit)
    away = away if away != base else base * 2
    thing, place = rng.choice(COUNTED), rng.choice(PLACES)
    who = rng.choice((f"the archive in {place}", f"the {place} {rng.choice(BUILDINGS)}", rng.choice(FIRMS)))
    fact = rng.choice(
        (
            "In {year}, {who} counted {n} {thing}.",
            "A survey of {year} put the number of {thing} at {who} at {n}.",
            "{Who} had {n} {thing} at the end of {year}.",
            "According to the {year} report, {n} {thing} were recorded by {who}.",
            "{n} {thing}: that was the tally of {who} in {year}.",
        )
    ).format(year=rng.randint(1890, 2024), who=who, Who=capital(who), n=f"{value:,}", thing=thing)
    about = rng.choice(("about", "roughly", "around", "approximately", "some", "close to"))
    below = rng.choice(("just under", "almost", "nearly", "slightly fewer than"))
    above = rng.choice(("just over", "slightly more than", "a little over"))
    pairs = swap(
        (
            "There were {about} {n} {thing}.",
            "{Who} counted {about} {n} {thing}.",
            "The number of {thing}, rounded, was {n}.",
            "{About} {n} {thing} were found there.",
        ),
        {"n": f"{base:,}", "about": about, "About": capital(about), "thing": thing, "Who": capital(who)},
        {"n": f"{away:,}", "about": about, "About": capital(about), "thing": thing, "Who": capital(who)},
    )
    pairs += swap(
        ("There were {close} {n} {thing}.", "{Who} had {close} {n} {thing}."),
        {"close": below if under else above, "n": f"{base:,}", "thing": thing, "Who": capital(who)},
        {"close": above if under else below, "n": f"{base:,}", "thing": thing, "Who": capital(who)},
    )
    pairs += [
        _turned(f"The figure for {thing} was {{}} {base:,}.", "below", "above", under),
        _turned(f"{capital(who)} had {{}} than {base:,} {thing}.", "fewer", "more", under),
    ]
    return Draft(fact, pairs, "rounding")


def _turned(frame: str, one: str, other: str, first: bool) -> Pair:
    """The frame with the right of two words, and with the wrong one."""
    return (frame.format(one), frame.format(other)) if first else (frame.format(other), frame.format(one))


_SHARES = (
    (1, 2, ("half", "50%", "one in two"), 0.5),
    (1, 4, ("a quarter", "25%", "one in four"), 0.25),
    (3, 4, ("three quarters", "75%", "three in four"), 0.75),
    (1, 3, ("a third", "about 33%", "one in three"), 1 / 3),
    (2, 3, ("two thirds", "about 67%", "two in three"), 2 / 3),
    (1, 5, ("a fifth", "20%", "one in five"), 0.2),
    (4, 5, ("four fifths", "80%", "four in five"), 0.8),
    (1, 10, ("a tenth", "10%", "one in ten"), 0.1),
    (9, 10, ("nine tenths", "90%", "nine out of ten"), 0.9),
    (2, 5, ("two fifths", "40%", "two in five"), 0.4),
    (3, 5, ("three fifths", "60%", "three in five"), 0.6),
)
_DID = (
    ("have solar panels", "have no solar panels"),
    ("speak Welsh", "speak no Welsh"),
    ("passed the inspection", "failed the inspection"),
    ("backed the plan", "did not back the plan"),
    ("were repaired", "were left unrepaired"),
    ("use the service daily", "do not use the service daily"),
    ("tested positive", "did not test positive"),
    ("arrived on time", "arrived late"),
    ("own a car", "own no car"),
)


def shares(rng: Random) -> Draft:
    """Counts against fractions, percentages, majorities."""
    part, whole, names, share = rng.choice(_SHARES)
    times = rng.randint(2, 60)
    group = rng.choice(
        ("households", "farms", "patients", "pupils", "respondents", "drivers", "shops", "volunteers")
    )
    did, dont = rng.choice(_DID)
    n, total = part * times, whole * times
    wrong = rng.choice([found for found in _SHARES if abs(found[3] - share) > 0.12])
    fact = rng.choice(
        (
            f"Of the {total} {group} in {rng.choice(PLACES)}, {n} {did}.",
            f"{n} of {total} {group} surveyed in {rng.choice(PLACES)} {did}.",
            f"In {rng.choice(PLACES)} there were {total} {group}; {n} of them {did}.",
            f"Among the {group} of {rng.choice(PLACES)}, {rng.choice(names)} {did}.",
            f"{capital(rng.choice(names))} of the {group} {did}, the others {dont}.",
        )
    )
    way = rng.randrange(3)
    frames = (
        f"{{}} of the {group} {did}.",
        f"{{}} of them {did}.",
        f"According to the text, {{}} of the {group} {did}.",
    )
    pairs = []
    for frame in frames:
        start = frame.startswith("{")
        right, false = names[way], wrong[2][way]
        pairs.append(
            (
                frame.format(capital(right) if start else right),
                frame.format(capital(false) if start else false),
            )
        )
    if share != 0.5:
        most = share > 0.5
        pairs += [
            _turned(f"{{}} than half of the {group} {did}.", "More", "Fewer", most),
            _turned(f"{{}} of the {group} {did}.", "Most", "Only a minority", most),
            _turned(f"{{}} of the {group} {dont}.", "Most", "Only a minority", not most),
            _turned(f"The {group} that {did} were in the {{}}.", "majority", "minority", most),
        ]
    return Draft(fact, pairs, "shares")


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
    wrong = rng.choice([found for found in choices if abs(found - years) > max(1, years // 5)])
    if house:
        fact = rng.choice(
            (
                f"The {building} in {place} opened in {start} and closed in {end}.",
                f"Opened in {start}, the {place} {building} shut its doors for good in {end}.",
                f"The {place} {building} was in use from {start} until {end}.",
            )
        )
        frames = (
            f"The {building} operated for {{}}.",
            "It closed {} after it had opened.",
            f"The {building} in {place} was open for {{}}.",
            f"The {building} of {place} served for {{}} in all.",
        )
        ends: list[Pair] = [
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


_ITEM_VERBS = {
    "crop": ("grows", "sells"),
    "language": ("speaks", "teaches"),
    "sport": ("offers", "took part in"),
    "instrument": ("plays the", "collects the"),
    "metal": ("mines", "buys"),
    "country": ("has lived in", "exports to"),
    "colour": ("uses", "likes"),
    "subject": ("teaches", "studied"),
}


def counts(rng: Random) -> Draft:
    """A list against the number of its items."""
    kind = rng.choice(sorted(LISTS))
    size = rng.randint(2, 6)
    items = rng.sample(LISTS[kind], size)
    rest = rng.choice([item for item in LISTS[kind] if item not in items])
    many = {"country": "countries"}.get(kind, f"{kind}s")
    who, verb = rng.choice(PEOPLE + FIRMS), rng.choice(_ITEM_VERBS[kind])
    fact = f"{who} {verb} {_listed(items)}."
    if rng.random() < 0.3:
        fact = f"{who} {verb} {_listed(items)}, but not {rest}."
    wrong = rng.choice([found for found in (size - 2, size - 1, size + 1, size + 2) if found > 1])
    right_, wrong_ = spoken(size), spoken(wrong)
    changed = list(items)
    changed[rng.randrange(size)] = rest
    shuffled = rng.sample(items, size)
    pairs = [
        (f"{capital(right_)} {many} are named.", f"{capital(wrong_)} {many} are named."),
        (
            f"{who} {verb} {right_} {many}.".replace(" the ", " "),
            f"{who} {verb} {wrong_} {many}.".replace(" the ", " "),
        ),
        (f"The list has {right_} entries.", f"The list has {wrong_} entries."),
        (f"{who} {verb} {_listed(shuffled)}.", f"{who} {verb} {_listed(changed)}."),
        (f"{who} {verb} {items[-1]}.", f"{who} {verb} {rest}."),
        (
            f"{capital(items[0])} is among the {many} mentioned as {who}'s.",
            f"{capital(rest)} is among the {many} mentioned as {who}'s.",
        ),
    ]
    return Draft(fact, pairs, "counts", "not_supported")


def _listed(items: list[str]) -> str:
    return ", ".join(items[:-1]) + f" and {items[-1]}" if len(items) > 1 else items[0]


def sums(rng: Random) -> Draft:
    """Two amounts against their sum, difference, ratio."""
    thing, place = rng.choice(COUNTED), rng.choice(PLACES)
    a, b = rng.sample(range(11, 400), 2)
    times = 0
    if rng.random() < 0.3:
        times = rng.choice((2, 3, 4))
        b = a * times
    if rng.random() < 0.5 and not times:
        a, b = a // 10 * 10 + 10, b // 10 * 10 + 10
        b += 10 * (a == b)
    first, second = rng.choice(
        (
            ("spring", "autumn"),
            ("2019", "2020"),
            ("the first year", "the second year"),
            ("May", "June"),
            ("1998", "2008"),
        )
    )
    fact = rng.choice(
        (
            f"{place} registered {a} {thing} in {first} and {b} in {second}.",
            f"In {first} there were {a} {thing} in {place}; in {second} there were {b}.",
            f"The number of {thing} in {place} was {a} in {first}. In {second} it stood at {b}.",
        )
    )
    up = b > a
    gap = abs(a - b)
    slip = rng.choice((-30, -10, -7, 8, 10, 20, 50, 100))
    total, off = a + b, a + b + slip
    gap_off = gap + abs(slip)
    pairs = [
        (f"Together that makes {total} {thing}.", f"Together that makes {off} {thing}."),
        (
            f"{place} registered {total} {thing} in {first} and {second} together.",
            f"{place} registered {off} {thing} in {first} and {second} together.",
        ),
        (
            f"The difference between the two figures is {gap}.",
            f"The difference between the two figures is {gap_off}.",
        ),
        _turned(f"There were {gap} {{}} {thing} in {second} than in {first}.", "more", "fewer", up),
        _turned(f"The number of {thing} {{}} by {gap}.", "rose", "fell", up),
        _turned("The later figure was {}.", "higher", "lower", up),
        _turned(f"In {place} the number of {thing} {{}} between {first} and {second}.", "grew", "shrank", up),
        (f"In {second}, {place} registered {b} {thing}.", f"In {second}, {place} registered {a} {thing}."),
        (f"In {first}, {place} registered {a} {thing}.", f"In {first}, {place} registered {b} {thing}."),
    ]
    if times:
        words = {2: "doubled", 3: "tripled", 4: "quadrupled"}
        pairs += [
            (
                f"The number of {thing} {words[times]}.",
                f"The number of {thing} {rng.choice([w for t, w in words.items() if t != times])}.",
            )
        ] * 2
    return Draft(fact, pairs, "sums")


_RATES = (
    ("hour", "day", 24),
    ("day", "week", 7),
    ("month", "year", 12),
    ("week", "year", 52),
    ("minute", "hour", 60),
)


def rates(rng: Random) -> Draft:
    """So many a day against so many a week."""
    per, longer, factor = rng.choice(_RATES)
    n = rng.choice((2, 3, 5, 10, 12, 20, 40, 100, 200, 500, 2000))
    thing, place = rng.choice([*COUNTED, "eggs", "loaves", "parcels", "bottles"]), rng.choice(PLACES)
    verb = rng.choice(("handles", "ships", "receives", "counts"))
    site = rng.choice(("plant", "depot", "centre", "workshop"))
    long_first = rng.random() < 0.4
    here, there = ((n * factor, longer), (n, per)) if long_first else ((n, per), (n * factor, longer))
    each = rng.choice(("per", "each", "every"))
    fact = f"The {site} in {place} {verb} {here[0]:,} {thing} {each} {here[1]}."
    wrong = rng.choice(((here[0], there[1]), (there[0], here[1]), (there[0] * rng.choice((2, 3)), there[1])))
    pairs = [
        (frame.format(f"{there[0]:,}", there[1]), frame.format(f"{wrong[0]:,}", wrong[1]))
        for frame in (
            f"It {verb} {{}} {thing} {each} {{}}.",
            f"That is {{}} {thing} for every {{}}.",
            f"The {site} in {place} {verb} {{}} {thing} per {{}}.",
            f"{{}} {thing} pass through the {site} {each} {{}}.",
        )
    ]
    return Draft(fact, pairs, "rates")


_MEASURES = (
    ("{a} is {x} metres tall", "{b} rises to {y} metres", "taller", "shorter", "tower"),
    ("{a} weighs {x} kilograms", "{b} weighs {y}", "heavier", "lighter", "bell"),
    ("{a} was built in {x}", "{b} dates from {y}", "newer", "older", "church"),
    ("{a} has {x} inhabitants", "{b} counts {y}", "more populous", "less populous", "town"),
    ("{a} costs {x} dollars", "{b} sells for {y}", "more expensive", "cheaper", "model"),
    ("{a} is {x} kilometres long", "{b} runs for {y}", "longer", "shorter", "river"),
    ("{a} reaches {x} kilometres an hour", "{b} goes at {y}", "faster", "slower", "train"),
    ("{a} is {x} metres deep", "{b} goes down {y} metres", "deeper", "shallower", "mine"),
)


def comparison(rng: Random) -> Draft:
    """Two measures against more and less; or a comparison in words against its reverse."""
    one, two, more, less, noun = rng.choice(_MEASURES)
    names = rng.sample(FIRMS if noun == "model" else PLACES, 2)
    a, b = (f"the {name} {noun}" for name in names)
    x, y = rng.sample(range(1450, 1920) if noun == "church" else range(120, 990), 2)
    high, low = (a, b) if x > y else (b, a)
    fact = capital(
        one.format(a=a, x=x) + rng.choice((", while ", "; ", " and ")) + two.format(b=b, y=y) + "."
    )
    if rng.random() < 0.3:
        fact = rng.choice(
            (
                f"{capital(high)} is {more} than {low}.",
                f"{capital(low)} is {less} than {high}.",
                f"{capital(low)} is not as {_plain(more)} as {high}.",
            )
        )
    pairs = [
        (f"{capital(high)} is {more} than {low}.", f"{capital(low)} is {more} than {high}."),
        (f"{capital(low)} is {less} than {high}.", f"{capital(high)} is {less} than {low}."),
        (f"Of the two, {high} is {more}.", f"Of the two, {low} is {more}."),
        (f"Compared with {low}, {high} is {more}.", f"Compared with {high}, {low} is {more}."),
        (f"{capital(high)} is not {less} than {low}.", f"{capital(low)} is not {less} than {high}."),
    ]
    if str(x) in fact:
        gap = abs(x - y)
        pairs.append(
            (
                f"The difference between the two is {gap}.",
                f"The difference between the two is {gap + rng.choice((-7, 10, 25, 90))}.",
            )
        )
        pairs.append((capital(one.format(a=a, x=x)) + ".", capital(one.format(a=a, x=y)) + "."))
    return Draft(fact, pairs, "comparison")


def _plain(more: str) -> str:
    return {
        "taller": "tall",
        "heavier": "heavy",
        "newer": "new",
        "longer": "long",
        "faster": "fast",
        "deeper": "deep",
    }.get(more, more.removeprefix("more "))


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


KINDS = (rounding, shares, durations, units, counts, sums, rates, comparison, dates)
