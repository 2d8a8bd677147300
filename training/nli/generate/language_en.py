"""English pairs about words: order, roles, quantifiers, negation, modality, opposites, cause and more."""

from __future__ import annotations

import re
from random import Random

from nli.generate.shape import Draft, capital, swap
from nli.generate.words import ANIMALS, BUILDINGS, FIRMS, GROUPS, LISTS, PEOPLE, PLACES

_EVENTS = (
    # noun phrase of an event, clause in the past, -ing form
    ("the completion of the {p} bridge", "the {p} bridge was completed"),
    ("the closure of the {p} mill", "the {p} mill closed"),
    ("the {p} flood", "{p} was flooded"),
    ("the opening of the {p} railway", "the {p} railway opened"),
    ("the {p} fire", "a fire destroyed much of {p}"),
    ("the arrival of electricity in {p}", "{p} got electricity"),
    ("{w}'s election", "{w} was elected"),
    ("{w}'s resignation", "{w} resigned"),
    ("{w}'s wedding", "{w} got married"),
    ("{w}'s move to {p}", "{w} moved to {p}"),
    ("the signing of the {p} treaty", "the {p} treaty was signed"),
    ("the sale of {f}", "{f} was sold"),
    ("{f}'s bankruptcy", "{f} went bankrupt"),
)


def order(rng: Random) -> Draft:
    """Two events against before and after."""
    one, two = rng.sample(_EVENTS, 2)
    fill = [{"p": rng.choice(PLACES), "w": rng.choice(PEOPLE), "f": rng.choice(FIRMS)} for _ in range(2)]
    (n1, c1), (n2, c2) = ([text.format(**fill[at]) for text in pair] for at, pair in enumerate((one, two)))
    year = rng.randint(1850, 2000)
    gap = rng.randint(1, 30)
    fact = rng.choice(
        (
            f"{c1} in {year}. {capital(c2)} in {year + gap}.",
            f"{c2} in {year + gap}, {gap if gap > 1 else 'one'} year{'s' if gap > 1 else ''} after {n1}.",
            f"After {c1}, {c2}.",
            f"Before {c2}, {c1}.",
            f"{c1}, and only then {'did things move on: ' if rng.random() < 0.3 else ''}{c2}.",
            f"{c2} once {c1}.",
            f"{n1} was followed by {n2}.",
            f"{n2} came later than {n1}.",
            f"It was not until {c1} that {c2}.",
        )
    )
    frames = (
        "{n1} came first.",
        "{n1} preceded {n2}.",
        "{n2} took place after {n1}.",
        "By the time {c2}, {n1} lay in the past.",
        "{n2} happened later than {n1}.",
        "When {c1}, {n2} was still to come.",
        "The earlier of the two events was {n1}.",
        "{c1} before {c2}.",
        "{c2} after {c1}.",
        "{n1} was followed by {n2}.",
        "Once {c1}, {c2}.",
    )
    pairs = swap(frames, {"n1": n1, "n2": n2, "c1": c1, "c2": c2}, {"n1": n2, "n2": n1, "c1": c2, "c2": c1})
    return Draft(capital(fact), pairs, "order")


# active past, passive participle, converse verb phrase (B ... A), tail, paraphrase of the active
_ROLES = (
    (
        "taught",
        "was taught by",
        "learned from",
        " painting",
        ("{a} was {b}'s teacher.", "{b} was a pupil of {a}."),
    ),
    (
        "hired",
        "was hired by",
        "went to work for",
        " in 1984",
        ("{a} gave {b} a job.", "{b} was taken on by {a}."),
    ),
    (
        "defeated",
        "was defeated by",
        "lost to",
        " in the final",
        ("{a} won against {b}.", "{b} came off worse against {a}."),
    ),
    (
        "succeeded",
        "was succeeded by",
        "was replaced by",
        " as chair",
        ("{a} took over from {b}.", "{b} held the post before {a}."),
    ),
    (
        "sued",
        "was sued by",
        "was taken to court by",
        " over a patent",
        ("{a} brought a case against {b}.", "{b} was the defendant, {a} the plaintiff."),
    ),
    (
        "rescued",
        "was rescued by",
        "owed survival to",
        " from the wreck",
        ("{a} saved {b}.", "{b} survived thanks to {a}."),
    ),
    (
        "praised",
        "was praised by",
        "received praise from",
        "",
        ("{a} spoke highly of {b}.", "{b} earned compliments from {a}."),
    ),
    (
        "criticised",
        "was criticised by",
        "came under attack from",
        "",
        ("{a} found fault with {b}.", "{b} was faulted by {a}."),
    ),
    (
        "adopted",
        "was adopted by",
        "grew up in the family of",
        "",
        ("{a} became a parent to {b}.", "{b} was raised by {a}."),
    ),
    (
        "outlived",
        "was outlived by",
        "died earlier than",
        "",
        ("{a} lived longer than {b}.", "{b} died before {a}."),
    ),
    (
        "interviewed",
        "was interviewed by",
        "answered the questions of",
        " on the radio",
        ("{a} put questions to {b}.", "{b} was {a}'s guest."),
    ),
    (
        "followed",
        "was followed by",
        "walked ahead of",
        " into the cave",
        ("{b} went in first, {a} second.", "{a} came behind {b}."),
    ),
    (
        "paid",
        "was paid by",
        "got money from",
        " 400 dollars",
        ("{b} received 400 dollars from {a}.", "The money went from {a} to {b}."),
    ),
    (
        "warned",
        "was warned by",
        "got a warning from",
        " about the ice",
        ("{a} told {b} to beware of the ice.", "{b} was put on guard by {a}."),
    ),
    (
        "inspired",
        "was inspired by",
        "took ideas from",
        "",
        ("{b}'s work was shaped by {a}.", "{a} was an influence on {b}."),
    ),
)
_FIRM_ROLES = (
    (
        "bought",
        "was bought by",
        "was sold to",
        " for 30 million dollars",
        ("{a} acquired {b}.", "{b} passed into the hands of {a}.", "{a} became the owner of {b}."),
    ),
    (
        "supplies",
        "is supplied by",
        "gets its parts from",
        " with parts",
        ("{b} is a customer of {a}.", "{a} delivers parts to {b}."),
    ),
    (
        "lent",
        "was lent money by",
        "borrowed from",
        " 5 million dollars",
        ("{b} owes {a} money.", "{a} is a creditor of {b}."),
    ),
    (
        "owns",
        "is owned by",
        "belongs to",
        "",
        ("{b} is a subsidiary of {a}.", "{a} is the parent company of {b}."),
    ),
    (
        "overtook",
        "was overtaken by",
        "fell behind",
        " in sales",
        ("{a} now sells more than {b}.", "{b} sells less than {a}."),
    ),
)


def roles(rng: Random) -> Draft:
    """Who did what to whom."""
    if rng.random() < 0.65:
        frame, names = rng.choice(_ROLES), rng.sample(PEOPLE if rng.random() < 0.8 else GROUPS, 2)
    else:
        frame, names = rng.choice(_FIRM_ROLES), rng.sample(FIRMS, 2)
    active, passive, converse, tail, told = frame
    a, b = names
    said = {
        "active": "{a} " + active + " {b}" + tail + ".",
        "passive": "{b} " + passive + " {a}" + (tail if "money" not in passive else "") + ".",
        "converse": "{b} " + converse + " {a}.",
    }
    used = rng.choice(("active", "active", "passive", "converse"))
    fact = said[used].format(a=a, b=b)
    frames = [*told, *(text for name, text in said.items() if name != used)]
    return Draft(capital(fact), swap(frames, {"a": a, "b": b}, {"a": b, "b": a}), "roles")


_GROUP_DID = (
    ("students", "passed the exam", "failed the exam"),
    ("houses on the street", "have been restored", "are still unrestored"),
    ("members", "voted for the merger", "opposed the merger"),
    ("villages", "have a school", "lack a school"),
    ("players", "were fit for the match", "were unfit for the match"),
    ("letters", "survive", "are lost"),
    ("passengers", "were rescued", "drowned"),
    ("samples", "contained lead", "were free of lead"),
    ("shops", "reopened", "stayed shut"),
    ("species on the island", "can fly", "are flightless"),
    ("witnesses", "told the truth", "lied"),
)


def quantifiers(rng: Random) -> Draft:
    """All, most, some, few, none, both, neither, only."""
    group, did, not_ = rng.choice(_GROUP_DID)
    where = rng.choice(("", f" in {rng.choice(PLACES)}", f" of {rng.choice(PLACES)}"))
    whole = f"{group}{where}"
    if rng.random() < 0.5:
        did, not_ = not_, did
    level = rng.choices(("all", "most", "some", "few", "none"), (5, 2, 1, 2, 5))[0]
    facts = {
        "all": (
            f"All the {whole} {did}.",
            f"Every one of the {whole} {did}.",
            f"The {whole} {did}, without exception.",
            f"None of the {whole} {not_}.",
        ),
        "most": (
            f"Most of the {whole} {did}, but a few {not_}.",
            f"The great majority of the {whole} {did}.",
            f"Nearly all of the {whole} {did}, though not quite all.",
        ),
        "some": (
            f"Some of the {whole} {did}, others {not_}.",
            f"Not all of the {whole} {did}.",
            f"While several of the {whole} {did}, many {not_}.",
        ),
        "few": (
            f"Only a handful of the {whole} {did}.",
            f"Few of the {whole} {did}.",
            f"Hardly any of the {whole} {did}; nearly all {not_}.",
        ),
        "none": (
            f"None of the {whole} {did}.",
            f"Not a single one of the {whole} {did}.",
            f"The {whole} {not_}, every one of them.",
        ),
    }
    fact = rng.choice(facts[level])
    every = (f"Every one of the {whole} {did}.", f"At least one of the {whole} {not_}.")
    every_too = (
        f"There was no exception: the {group} {did}.",
        f"There were exceptions: not all the {group} {did}.",
    )
    half = (f"More than half of the {group} {did}.", f"Fewer than half of the {group} {did}.")
    half_too = (f"Most of the {whole} {did}.", f"Most of the {whole} {not_}.")
    any_ = (f"At least one of the {whole} {did}.", f"None of the {whole} {did}.")
    any_too = (f"Some of the {group} {did}.", f"The {group} {not_}, all of them.")
    pairs = []
    if level != "most" or "majority" not in fact:
        pairs += [pair if level == "all" else pair[::-1] for pair in (every, every_too)]
    if level != "some":
        pairs += [pair if level in ("all", "most") else pair[::-1] for pair in (half, half_too)]
    pairs += [pair[::-1] if level == "none" else pair for pair in (any_, any_too)]
    return Draft(fact, pairs, "quantifiers")


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


def _fill(rng: Random) -> dict[str, str]:
    return {
        "p": rng.choice(PLACES),
        "w": rng.choice(PEOPLE),
        "f": rng.choice(FIRMS),
        "an": rng.choice(ANIMALS),
        "b": rng.choice(BUILDINGS),
        "g": rng.choice(GROUPS),
        "crop": rng.choice(LISTS["crop"]),
    }


def negation(rng: Random) -> Draft:
    """A state and its reverse, each with and without a negation word."""
    sides = list(rng.choice(_STATES))
    rng.shuffle(sides)
    fill = _fill(rng)
    same, other = ([text.format(**fill) + "." for text in side] for side in sides)
    fact = rng.choice(same)
    pairs = [(right, wrong) for right, wrong in zip(same, other, strict=False) if right != fact]
    return Draft(capital(fact), pairs, "negation")


def opposites(rng: Random) -> Draft:
    """A word and its opposite, and what follows from either."""
    frame, word, reverse, (follow, then, otherwise) = rng.choice(_OPPOSITES)
    fill = _fill(rng)
    if rng.random() < 0.5:
        word, reverse, then, otherwise = reverse, word, otherwise, then

    def put(text: str, value: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: fill.get(found[1], value), text)

    lead = rng.choice(("It is wrong", "It is not true", "It would be a mistake"))
    pairs = [
        (put(follow, then) + ".", put(follow, otherwise) + "."),
        (put(frame, word) + " indeed.", put(frame, reverse) + " indeed."),
        (f"{lead} to say that {put(frame, reverse)}.", f"{lead} to say that {put(frame, word)}."),
    ]
    return Draft(capital(put(frame, word) + "."), [*pairs, pairs[0]], "opposites")


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
    other = rng.choice([found[0] for found in _CAUSES if found[0] != why])
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
    pairs = swap(
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
    pairs = swap(frames, {"a": a, "b": b, "one": one, "two": two}, {"a": b, "b": a, "one": one, "two": two})
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
    stem = frame.format(**_fill(rng))
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
    pairs = swap(
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
            f"{a} was founded in {p} by {w} in {x}. {b}, its rival, goes back to {v}, who set it up in {q} in {y}.",
            f"{w} started {a} in {p} in {x}; {v} started {b} in {q} in {y}.",
            f"Two firms share the market: {a}, which {w} founded in {p} in {x}, and {b}, founded by {v} in {q} in {y}.",
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
    pairs = swap(frames, {**fill, "a": a, "b": b, "older": old}, {**fill, "a": b, "b": a, "older": young})
    return Draft(fact, pairs, "entity")


KINDS = (order, roles, quantifiers, negation, opposites, modality, cause, attribution, scope, entity)
