"""English pairs about amounts: rounding, shares, lists, sums, rates, comparison."""

from __future__ import annotations

from random import Random

from training.generated.drafts import Draft, capital, either_way, swapped
from training.generated.english_names import BUILDINGS, COUNTED, FIRMS, LISTS, PEOPLE, PLACES, spoken


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
    pairs = swapped(
        (
            "There were {about} {n} {thing}.",
            "{Who} counted {about} {n} {thing}.",
            "The number of {thing}, rounded, was {n}.",
            "{About} {n} {thing} were found there.",
        ),
        {"n": f"{base:,}", "about": about, "About": capital(about), "thing": thing, "Who": capital(who)},
        {"n": f"{away:,}", "about": about, "About": capital(about), "thing": thing, "Who": capital(who)},
    )
    pairs += swapped(
        ("There were {close} {n} {thing}.", "{Who} had {close} {n} {thing}."),
        {"close": below if under else above, "n": f"{base:,}", "thing": thing, "Who": capital(who)},
        {"close": above if under else below, "n": f"{base:,}", "thing": thing, "Who": capital(who)},
    )
    pairs += [
        either_way(f"The figure for {thing} was {{}} {base:,}.", "below", "above", under),
        either_way(f"{capital(who)} had {{}} than {base:,} {thing}.", "fewer", "more", under),
    ]
    return Draft(fact, pairs, "rounding")


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
    wrong = rng.choice([other for other in _SHARES if abs(other[3] - share) > 0.12])
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
            either_way(f"{{}} than half of the {group} {did}.", "More", "Fewer", most),
            either_way(f"{{}} of the {group} {did}.", "Most", "Only a minority", most),
            either_way(f"{{}} of the {group} {dont}.", "Most", "Only a minority", not most),
            either_way(f"The {group} that {did} were in the {{}}.", "majority", "minority", most),
        ]
    return Draft(fact, pairs, "shares")


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
    wrong = rng.choice([count for count in (size - 2, size - 1, size + 1, size + 2) if count > 1])
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
        either_way(f"There were {gap} {{}} {thing} in {second} than in {first}.", "more", "fewer", up),
        either_way(f"The number of {thing} {{}} by {gap}.", "rose", "fell", up),
        either_way("The later figure was {}.", "higher", "lower", up),
        either_way(
            f"In {place} the number of {thing} {{}} between {first} and {second}.", "grew", "shrank", up
        ),
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
