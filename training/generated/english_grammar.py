"""English pairs about the order of events, roles and quantifiers."""

from __future__ import annotations

from random import Random

from training.generated.drafts import Draft, capital, swapped
from training.generated.english_names import FIRMS, GROUPS, PEOPLE, PLACES

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
    (n1, c1), (n2, c2) = (
        [text.format(**names) for text in event] for event, names in zip((one, two), fill, strict=True)
    )
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
    pairs = swapped(
        frames, {"n1": n1, "n2": n2, "c1": c1, "c2": c2}, {"n1": n2, "n2": n1, "c1": c2, "c2": c1}
    )
    return Draft(capital(fact), pairs, "order")


# active past, passive participle, converse verb phrase (B ... A), tail, paraphrase of the active
_Role = tuple[str, str, str, str, tuple[str, ...]]
_ROLES: tuple[_Role, ...] = (
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
_FIRM_ROLES: tuple[_Role, ...] = (
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
    return Draft(capital(fact), swapped(frames, {"a": a, "b": b}, {"a": b, "b": a}), "roles")


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
