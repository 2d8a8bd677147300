"""English pairs about modality, causes, attribution, scope and who is who."""

from __future__ import annotations

from random import Random

from training.generated.drafts import Draft, capital, swapped
from training.generated.english_names import FIRMS, PEOPLE, PLACES, names

_DEEDS = (
    ("build a second runway", "a second runway"),
    ("close the mine", "the closure of the mine"),
    ("raise fares", "higher fares"),
    ("move its head office", "a new head office"),
    ("ban diesel cars", "a ban on diesel cars"),
    ("release a sequel", "a sequel"),
    ("cut 300 jobs", "300 job losses"),
    ("plant 10,000 trees", "10,000 new trees"),
)


def modality(rng: Random) -> Draft:
    """May, will, must, plans, did: what is possible, certain, required, done."""
    who = rng.choice(FIRMS + [f"the council of {place}" for place in PLACES])
    do, noun = rng.choice(_DEEDS)
    level = rng.choice(("may", "plans", "must", "did", "wont"))
    facts = {
        "may": (
            f"{who} may {do} next year.",
            f"{who} is considering whether to {do}.",
            f"It is possible that {who} will {do}.",
            f"{who} could {do}, a spokesman said.",
        ),
        "plans": (
            f"{who} plans to {do} next year.",
            f"{who} intends to {do}.",
            f"{who} has announced that it will {do} in two years.",
        ),
        "must": (f"{who} must {do} by law.", f"{who} is obliged to {do}.", f"A court ordered {who} to {do}."),
        "did": (
            f"{who} decided to {do} and did so last year.",
            f"{who}'s decision to {do} was carried out in May.",
        ),
        "wont": (
            f"{who} will not {do}.",
            f"{who} has ruled out that it will {do}.",
            f"{who} dropped its plan to {do}.",
        ),
    }
    said = {
        "may": (
            f"It is not yet certain whether {who} will {do}.",
            f"No final decision on {noun} has been taken.",
            f"{noun} remains one possibility among others.",
        ),
        "plans": (
            f"{who} has made up its mind to {do}, but has not done so yet.",
            f"{noun} is firmly planned and still to come.",
            f"{who} wants to {do}.",
        ),
        "must": (
            f"{who} has no choice but to {do}.",
            f"{noun} is compulsory for {who}.",
            f"The law leaves {who} no way around {noun}.",
        ),
        "did": (
            f"{noun} is already a reality.",
            f"{who} has gone through with {noun}.",
            f"{who} no longer just talks of {noun}: it is done.",
        ),
        "wont": (f"{noun} is off the table.", f"{who} has decided against {noun}.", f"{who} will not {do}."),
    }
    others = [name for name in said if name != level]
    pairs = [(rng.choice(said[level]), rng.choice(said[other])) for other in rng.sample(others, 3)]
    return Draft(capital(rng.choice(facts[level])), pairs, "modality", "not_supported")


_CAUSES = (
    ("a long drought", "the harvest failed"),
    ("heavy snow", "the pass was closed"),
    ("a strike", "the trains stood still"),
    ("a burst pipe", "the cellar flooded"),
    ("a shortage of teachers", "the school closed"),
    ("the new dam", "the village had to move"),
    ("a software error", "the bills were wrong"),
    ("rising rents", "the artists left the quarter"),
    ("a bridge collapse", "traffic was diverted"),
    ("an outbreak of flu", "the concert was called off"),
)


def cause(rng: Random) -> Draft:
    """What brought about what."""
    why, what = rng.choice(_CAUSES)
    other = rng.choice([reason for reason, _ in _CAUSES if reason != why])
    place = rng.choice(PLACES)
    fact = rng.choice(
        (
            f"In {place}, {what} because of {why}.",
            f"{capital(why)} was the reason why {what} in {place}.",
            f"Owing to {why}, {what} in {place}.",
            f"{capital(what)} in {place}. Investigators blamed {why}, not {other}.",
            f"Although many in {place} suspected {other}, it was because of {why} that {what}.",
        )
    )
    frames = (
        "{Why} led to this.",
        "Had it not been for {why}, things would have gone differently.",
        "The fact that {what} was a result of {why}.",
        "In {place}, {what} because of {why}.",
        "{Why} was what brought it about.",
        "The blame lies with {why}.",
    )
    fill = {"what": what, "place": place}
    pairs = swapped(
        frames, {**fill, "why": why, "Why": capital(why)}, {**fill, "why": other, "Why": capital(other)}
    )
    turned = (f"{capital(why)} came first, and then {what}.", f"{capital(what)} first, and then came {why}.")
    return Draft(fact, [*pairs, turned], "cause", "not_supported")


_OPINIONS = (
    ("the tax is fair", "the tax is unfair"),
    ("the wall dates from Roman times", "the wall is medieval"),
    ("the painting is genuine", "the painting is a forgery"),
    ("the dam is safe", "the dam is dangerous"),
    ("the scheme will pay for itself", "the scheme will lose money"),
    ("the letter was written in 1612", "the letter was written later"),
)


def attribution(rng: Random) -> Draft:
    """Who said or thought what."""
    one, two = rng.choice(_OPINIONS)
    a, b = rng.sample(PEOPLE, 2)
    if rng.random() < 0.5:
        one, two = two, one
    fact = rng.choice(
        (
            f"{a} argued that {one}, while {b} maintained that {two}.",
            f"According to {a}, {one}; {b} disagrees and believes that {two}.",
            f'"{capital(one)}," said {a}. {b} replied that {two}.',
            f"{b} is convinced that {two}, a view that {a} rejects: {one}, {a} says.",
        )
    )
    frames = (
        "In {a}'s view, {one}.",
        "{b} thinks that {two}.",
        "That {two} is what {b} holds.",
        "{a} argued that {one}.",
        "According to {b}, {two}.",
        "{a} does not believe that {two}.",
    )
    pairs = swapped(
        frames, {"a": a, "b": b, "one": one, "two": two}, {"a": b, "b": a, "one": one, "two": two}
    )
    return Draft(fact, pairs, "attribution")


_SCOPES = (
    ("The ferry to {p} runs", "on weekdays", "on Sundays", "there is a ferry"),
    ("The {b} in {p} is open", "in summer", "in January", "visitors can get in"),
    ("The vaccine made by {f} is approved", "for adults", "for children", "it may be given"),
    ("The discount at {f} applies", "to new customers", "to long-standing customers", "they pay less"),
    ("Dogs are allowed in the {b} of {p}", "on a lead", "off the lead", "dogs are welcome"),
    ("Permits for {p} are issued", "to residents", "to tourists", "they can get one"),
    ("Bus 14 stops at {p}", "in the morning", "in the evening", "one can catch it there"),
)


def scope(rng: Random) -> Draft:
    """Only, except, unless: where a statement holds and where not."""
    frame, inside, outside, plain = rng.choice(_SCOPES)
    if rng.random() < 0.5:
        inside, outside = outside, inside
    stem = frame.format(**names(rng))
    low = stem[0].lower() + stem[1:] if stem.split()[0] in ("The", "Dogs", "Permits", "Bus") else stem
    fact = rng.choice(
        (
            f"{stem} only {inside}.",
            f"{stem} {inside}, but not {outside}.",
            f"{stem} {inside} alone.",
            f"{capital(inside)}, {low}; not so {outside}.",
        )
    )
    frames = (
        "It is not the case that {low} {outside}.",
        "{Outside}, nothing of the kind applies.",
        "There is a restriction: {inside} yes, {outside} no.",
        "{stem} {inside}.",
        "{stem} only {inside}.",
        "{Inside}, {plain}.",
    )
    fill = {"low": low, "stem": stem, "plain": plain}
    pairs = swapped(
        frames,
        {
            **fill,
            "inside": inside,
            "outside": outside,
            "Inside": capital(inside),
            "Outside": capital(outside),
        },
        {
            **fill,
            "inside": outside,
            "outside": inside,
            "Inside": capital(outside),
            "Outside": capital(inside),
        },
    )
    return Draft(fact, pairs, "scope")


def entity(rng: Random) -> Draft:
    """Two things told of in one passage: which is which."""
    a, b = rng.sample(FIRMS, 2)
    p, q = rng.sample(PLACES, 2)
    w, v = rng.sample(PEOPLE, 2)
    x, y = rng.sample(range(1880, 2015), 2)
    fact = rng.choice(
        (
            f"{a} was founded in {p} by {w} in {x}. "
            f"{b}, its rival, goes back to {v}, who set it up in {q} in {y}.",
            f"{w} started {a} in {p} in {x}; {v} started {b} in {q} in {y}.",
            f"Two firms share the market: {a}, which {w} founded in {p} in {x}, "
            f"and {b}, founded by {v} in {q} in {y}.",
        )
    )
    frames = (
        "{w} created {a}.",
        "{b} has its origins in {q}.",
        "The year in which {b} came into being was {y}.",
        "{older} is the older of the two firms.",
        "{v} is the person behind {b}.",
        "{p} is where {a} began.",
        "{a} was founded in {p}.",
        "{b} was set up in {y}.",
    )
    old, young = (a, b) if x < y else (b, a)
    fill = {"w": w, "v": v, "p": p, "q": q, "y": str(y)}
    pairs = swapped(frames, {**fill, "a": a, "b": b, "older": old}, {**fill, "a": b, "b": a, "older": young})
    return Draft(fact, pairs, "entity")
