"""English pairs about negation and opposites."""

from __future__ import annotations

import re
from random import Random

from training.generated.drafts import Draft, capital
from training.generated.english_names import names

# A state said plainly, said with a negation word, said otherwise; and the reverse in the same three ways
_STATES = (
    (
        (
            "The {b} in {p} charges for admission",
            "Visitors to the {b} in {p} have to buy a ticket",
            "Entry to the {b} in {p} is not free",
        ),
        (
            "The {b} in {p} does not charge for admission",
            "Visitors to the {b} in {p} get in without paying",
            "Entry to the {b} in {p} is free",
        ),
    ),
    (
        ("{w} accepted the prize", "{w} did not turn down the prize", "{w} took the award"),
        ("{w} did not accept the prize", "{w} refused the prize", "{w} turned down the award"),
    ),
    (
        ("{w} finished the race", "{w} made it to the finish line", "{w} did not drop out of the race"),
        ("{w} did not finish the race", "{w} gave up during the race", "{w} failed to reach the finish line"),
    ),
    (
        ("{f} met its deadline", "{f} delivered on time", "{f} was not late"),
        ("{f} missed its deadline", "{f} did not deliver on time", "{f} was late"),
    ),
    (
        ("{an} can swim", "{an} is able to swim", "{an} is no stranger to swimming"),
        ("{an} cannot swim", "{an} is unable to swim", "swimming is beyond {an}"),
    ),
    (
        (
            "The {b} in {p} is still standing",
            "The {b} in {p} has not been demolished",
            "The {b} in {p} exists to this day",
        ),
        (
            "The {b} in {p} no longer stands",
            "The {b} in {p} has been demolished",
            "Nothing remains of the {b} in {p}",
        ),
    ),
    (
        ("{w} knew about the plan", "{w} was aware of the plan", "the plan was no secret to {w}"),
        (
            "{w} did not know about the plan",
            "{w} was unaware of the plan",
            "{w} had been kept in the dark about the plan",
        ),
    ),
    (
        (
            "The {b} in {p} has a lift",
            "There is a lift in the {b} in {p}",
            "The {b} in {p} is equipped with a lift",
        ),
        ("The {b} in {p} has no lift", "The {b} in {p} lacks a lift", "The {b} in {p} is without a lift"),
    ),
    (
        (
            "{f} made a profit last year",
            "{f} ended last year in the black",
            "{f} did not lose money last year",
        ),
        ("{f} made no profit last year", "{f} ended last year with a loss", "{f} lost money last year"),
    ),
    (
        (
            "Smoking is allowed in the {b} of {p}",
            "People may smoke in the {b} of {p}",
            "The {b} of {p} does not forbid smoking",
        ),
        (
            "Smoking is not allowed in the {b} of {p}",
            "The {b} of {p} bans smoking",
            "Smoking is forbidden in the {b} of {p}",
        ),
    ),
    (
        ("{w} was present at the meeting", "{w} attended the meeting", "{w} did not miss the meeting"),
        ("{w} was absent from the meeting", "{w} missed the meeting", "{w} did not attend the meeting"),
    ),
    (
        ("{an} is common in {p}", "{an} is often seen around {p}", "there is no shortage of {an} in {p}"),
        ("{an} is rare in {p}", "{an} is seldom seen around {p}", "{an} is not common in {p}"),
    ),
    (
        ("{w} denied the charges", "{w} pleaded not guilty", "{w} rejected the accusations"),
        ("{w} admitted the charges", "{w} pleaded guilty", "{w} did not deny the charges"),
    ),
    (
        ("{an} is active at night", "{an} is nocturnal", "{an} sleeps by day"),
        ("{an} is active by day", "{an} is diurnal", "{an} sleeps at night"),
    ),
    (
        (
            "The bridge at {p} is open to lorries",
            "Lorries may cross the bridge at {p}",
            "The bridge at {p} is not closed to lorries",
        ),
        (
            "The bridge at {p} is closed to lorries",
            "Lorries may not cross the bridge at {p}",
            "The bridge at {p} is off limits to lorries",
        ),
    ),
    (
        (
            "The software of {f} works offline",
            "The software of {f} needs no internet connection",
            "The software of {f} runs without a network",
        ),
        (
            "The software of {f} does not work offline",
            "The software of {f} requires an internet connection",
            "The software of {f} is useless without a network",
        ),
    ),
)
# Opposites: fact, true otherwise said, false
_OPPOSITES = (
    (
        "{p}'s population {grew} between 1990 and 2010",
        "grew",
        "shrank",
        ("there were {more} people in {p} in 2010 than in 1990", "more", "fewer"),
    ),
    (
        "version 3 {added} support for the old format",
        "added",
        "dropped",
        ("the old format {works} in version 3", "can be used", "can no longer be used"),
    ),
    (
        "the {left} bank of the river is the steeper one",
        "left",
        "right",
        ("the bank on the {other} is less steep", "right", "left"),
    ),
    (
        "{an} usually {survives} the winter",
        "survives",
        "dies in",
        ("most of the time {an} {lives}", "is still alive in spring", "is dead by spring"),
    ),
    (
        "the price of {crop} {rose} last month",
        "rose",
        "fell",
        ("{crop} became {dear} last month", "dearer", "cheaper"),
    ),
    ("{w} was {for} the reform", "in favour of", "against", ("{w} {backed} the reform", "backed", "opposed")),
    (
        "the {p} road leads {up} to the chapel",
        "uphill",
        "downhill",
        ("the chapel lies {high} than {p}", "higher", "lower"),
    ),
    (
        "{f} {hired} 200 people this year",
        "hired",
        "laid off",
        ("the workforce of {f} got {big}", "bigger", "smaller"),
    ),
    (
        "the match ended with a {win} for {g}",
        "win",
        "defeat",
        ("{g} {won}", "beat the other side", "were beaten"),
    ),
    (
        "the drug {speeds} the heartbeat",
        "speeds up",
        "slows down",
        ("the heart beats {fast} under the drug", "faster", "more slowly"),
    ),
    (
        "{w} arrived {early}",
        "early",
        "late",
        ("{w} was there {ahead} the appointed time", "ahead of", "after"),
    ),
    (
        "the lake is {shallow} near {p}",
        "shallow",
        "deep",
        ("near {p} the bottom of the lake is {near} the surface", "close to", "far below"),
    ),
    (
        "{an} has a {long} tail",
        "long",
        "short",
        ("the tail of {an} is {not_short}", "anything but short", "anything but long"),
    ),
    (
        "the north side of {p} is the {rich} part",
        "richer",
        "poorer",
        ("people in the south of {p} have {less} money", "less", "more"),
    ),
    (
        "{f} {imports} its timber",
        "imports",
        "exports",
        ("the timber of {f} comes {from} abroad", "from", "to customers"),
    ),
)


def negation(rng: Random) -> Draft:
    """A state and its reverse, each with and without a negation word."""
    sides = list(rng.choice(_STATES))
    rng.shuffle(sides)
    fill = names(rng)
    same, other = ([text.format(**fill) + "." for text in side] for side in sides)
    fact = rng.choice(same)
    pairs = [(right, wrong) for right, wrong in zip(same, other, strict=False) if right != fact]
    return Draft(capital(fact), pairs, "negation")


def opposites(rng: Random) -> Draft:
    """A word and its opposite, and what follows from either."""
    frame, word, reverse, (follow, then, otherwise) = rng.choice(_OPPOSITES)
    fill = names(rng)
    if rng.random() < 0.5:
        word, reverse, then, otherwise = reverse, word, otherwise, then

    def put(text: str, value: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda name: fill.get(name[1], value), text)

    lead = rng.choice(("It is wrong", "It is not true", "It would be a mistake"))
    pairs = [
        (put(follow, then) + ".", put(follow, otherwise) + "."),
        (put(frame, word) + " indeed.", put(frame, reverse) + " indeed."),
        (f"{lead} to say that {put(frame, reverse)}.", f"{lead} to say that {put(frame, word)}."),
    ]
    return Draft(capital(put(frame, word) + "."), [*pairs, pairs[0]], "opposites")
