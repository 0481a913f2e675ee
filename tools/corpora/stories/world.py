"""Who and what can be in a story, and by what names they are called."""

import random
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache

from tools.corpora.stories import words as lists

PRONOUNS = {
    "she": {
        "he": "she",
        "him": "her",
        "his": "her",
        "himself": "herself",
        "hers": "hers",
    },
    "he": {"he": "he", "him": "him", "his": "his", "himself": "himself", "hers": "his"},
}
SELVES = frozenset({"he", "him", "his", "himself", "hers", "hand", "hands"})
RARE = 0.05  # share of the people with a name that is in no list
SEASONS = {
    "spring": ("sun", "rain", "wind", "cloud"),
    "summer": ("sun", "heat", "rain", "cloud"),
    "autumn": ("wind", "fog", "rain", "cloud", "sun"),
    "winter": ("snow", "cold", "fog", "wind"),
}
OUT = {"in": "out of", "under": "from under", "behind": "from behind", "on": "from"}
TIMES = ("morning", "afternoon", "evening", "night")


@dataclass(frozen=True)
class Entity:
    """Somebody or something: forms of its name, and what kinds it belongs to."""

    forms: dict[str, str]
    kinds: frozenset[str] = field(default_factory=frozenset)


def article(words: str) -> str:
    """The words behind "a" or "an"."""
    return f"{'an' if words[0].lower() in 'aeiou' else 'a'} {words}"


@cache
def table(text: str) -> list[tuple[str, list[str]]]:
    """The lines of a word list: what stands before the colon, and what behind."""
    rows = []
    for line in text.strip().splitlines():
        head, *rest = (part.strip() for part in line.split(":"))
        rows.append((head, rest))
    return rows


THINGS = table(lists.THINGS)
CONTAINERS = table(lists.CONTAINERS)
PLACES = table(lists.PLACES)


def name(rng: random.Random, pronoun: str) -> str:
    """A first name; now and then one that nobody has heard of."""
    if rng.random() < RARE:
        return "".join(rng.choices(lists.SYLLABLES, k=rng.choice((2, 2, 3)))).title()
    return rng.choice(lists.GIRLS if pronoun == "she" else lists.BOYS)


def person(rng: random.Random, pronoun: str, animal: str = "", but: str = "") -> Entity:
    """A child, or a young animal of the given kind, whose name is not `but`."""
    called = name(rng, pronoun)
    while called == but:
        called = name(rng, pronoun)
    kind = animal or ("girl" if pronoun == "she" else "boy")
    age = rng.choice(("young", "little", "small")) if animal else ""
    whole = f"{age} {kind}".strip()
    limb = "paw" if animal else "hand"
    forms = PRONOUNS[pronoun] | {
        "name": called,
        "kind": kind,
        "a": article(f"{whole} named {called}"),
        "one": article(whole),
        "hand": limb,
        "hands": limb + "s",
    }
    return Entity(forms, frozenset({"animal" if animal else "human"}))


def kin(rng: random.Random, hero: Entity, pronoun: str, but: str = "") -> Entity:
    """Somebody of the hero's family."""
    who = rng.choice([one for one in lists.KIN[pronoun] if one != but])
    forms = PRONOUNS[pronoun] | {
        "name": f"{hero.forms['his']} {who}",
        "who": who,
        "call": lists.CALLS[who],
    }
    return Entity(forms)


def villager(rng: random.Random) -> Entity:
    """Somebody of the village, called by a trade."""
    trade, (adjectives,) = rng.choice(table(lists.VILLAGERS))
    adjective = rng.choice(adjectives.split(", "))
    forms = {
        "name": f"the {trade}",
        "trade": trade,
        "a": article(f"{adjective} {trade}"),
        "the": f"the {adjective} {trade}",
    }
    return Entity(forms)


def beast(
    rng: random.Random, text: str, named: bool, kinds: Collection[str] = ()
) -> Entity:
    """An animal that does not talk, with or without a name; of `kinds`, if given."""
    rows = [row for row in table(text) if not kinds or row[0] in kinds]
    kind, (adjectives, sound, many) = rng.choice(rows)
    adjective = rng.choice(adjectives.split(", "))
    called = rng.choice(lists.PET_NAMES) if named else ""
    forms = {
        "name": called or f"the {kind}",
        "kind": kind,
        "a": article(f"{adjective} {kind}" + (f" named {called}" if called else "")),
        "one": article(f"{adjective} {kind}"),
        "the": f"the {adjective} {kind}",
        "sound": sound,
        "many": many,
        "adj": adjective,
    }
    return Entity(forms, frozenset({"named"} if called else ()))


def thing(rng: random.Random, wanted: Collection[str] = (), but: str = "") -> Entity:
    """A thing that a child may own, of one of the wanted kinds."""
    fitting = [
        row
        for row in THINGS
        if row[0].split()[0] != but
        and (not wanted or set(row[0].split()[1:]) & set(wanted))
    ]
    head, (adjectives,) = rng.choice(fitting)
    noun, *kinds = head.split()
    adjective = rng.choice(adjectives.split(", "))
    forms = {
        "name": noun,
        "adj": adjective,
        "a": article(f"{adjective} {noun}"),
        "the": f"the {adjective} {noun}",
        "one": article(noun),
    }
    return Entity(forms, frozenset(kinds))


def container(
    rng: random.Random,
    wanted: Collection[str] = (),
    but: Collection[str] = (),
    nouns: Collection[str] = (),
) -> Entity:
    """A box, a drawer, a place under a bed.

    Args:
        rng: draws it
        wanted: kinds, all of which it has
        but: nouns that it is not
        nouns: the nouns to choose from; all, if empty
    """
    fitting = [
        row
        for row in CONTAINERS
        if set(wanted) <= set(row[0].split())
        and row[0].split()[1] not in but
        and (not nouns or row[0].split()[1] in nouns)
    ]
    head, (adjectives,) = rng.choice(fitting)
    side, noun, *kinds = head.split()
    adjective = rng.choice(adjectives.split(", "))
    whole = f"{adjective} {noun}" if rng.random() < 0.6 else noun
    again = whole if rng.random() < 0.3 else noun
    marked = f"{again[: -len(noun)]}\x01{noun}\x02"
    forms = {
        "name": noun,
        "a": article(f"{adjective} {noun}"),
        "the": f"the {whole}",
        "in": f"{side} the {whole}",
        "into": f"{'into' if side == 'in' else side} the {whole}",
        "out": f"{OUT[side]} the {marked}",
        "where": f"{side} the {marked}",
    }
    return Entity(forms, frozenset((side, *kinds)))


def place(rng: random.Random, wanted: Collection[str] = (), but: str = "") -> Entity:
    """A place to go to: one of the wanted nouns, if any are given."""
    fitting = [
        row
        for row in PLACES
        if row[0].split()[1] != but and (not wanted or row[0].split()[1] in wanted)
    ]
    head, (sight,) = rng.choice(fitting)
    side, noun = head.split()
    forms = {
        "name": noun,
        "the": f"the {noun}",
        "at": f"{side} the {noun}",
        "to": f"to the {noun}",
        "sight": sight,
    }
    return Entity(forms)


def food(rng: random.Random, nouns: Collection[str] = ()) -> Entity:
    """Something to eat; one of the nouns, if any are given."""
    rows = [row for row in table(lists.FOODS) if not nouns or row[0] in nouns]
    noun, (adjectives, many) = rng.choice(rows)
    adjective = rng.choice(adjectives.split(", "))
    forms = {
        "name": noun,
        "a": article(f"{adjective} {noun}"),
        "many": many,
        "the": f"the {adjective} {noun}",
    }
    return Entity(forms)


def home(rng: random.Random, text: str) -> Entity:
    """Where somebody lives."""
    where = rng.choice(text.strip().splitlines())
    return Entity({"name": where, "near": where})


def fear(rng: random.Random) -> Entity:
    """Something to be afraid of, and what one has to do all the same."""
    what, (where, deed, did) = rng.choice(table(lists.FEARS))
    return Entity({"name": what, "where": where, "deed": deed, "did": did})


def words(text: str) -> Entity:
    """Any words as an entity."""
    return Entity({"name": text, "a": article(text)})
