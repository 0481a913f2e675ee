"""Who does what to whom: the meanings of the little language, without its words.

Nouns, verbs and adjectives are named by an English word; how each is said stands in the
file of a language. What is not listed here is not said: only people read, only a cat
chases a mouse, and nobody opens a river.
"""

from typing import NamedTuple

GROUPS = {
    "child": "boy girl",
    "grown": "man woman knight witch",
    "royal": "king queen prince princess",
    "kin": "father mother brother sister uncle aunt grandmother grandfather",
    "pet": "dog cat mouse",
    "farm": "horse cow sheep goat pig hen donkey",
    "wild": "fox wolf bear bird frog animal",
    "way": "street river bridge field square meadow stream",
    "place": "house garden forest kitchen castle barn village church market station "
    "lake tree wall",
    "food": "apple bread soup cake egg cheese fish meat carrot nut",
    "drink": "milk water coffee tea",
    "text": "book letter newspaper story poem",
    "opening": "door window box suitcase",
    "thing": "car bicycle clock chair table lamp boat cart key ring coat hat ball cup "
    "plate bottle",
}
UNIONS = {
    "worker": "grown kin",
    "person": "child grown royal kin",
    "beast": "pet farm wild",
    "animate": "person beast",
    "goods": "car bicycle clock chair table lamp boat ring coat hat",
    "portable": "key ring hat ball book letter",
}


def members(names: str) -> tuple[str, ...]:
    """The nouns that a list of groups, unions and single nouns stands for."""
    found: list[str] = []
    for name in names.split():
        inside = UNIONS.get(name) or GROUPS.get(name)
        found += members(inside) if inside else [name]
    return tuple(dict.fromkeys(found))


NOUNS = members(" ".join(GROUPS))
KINDS = tuple(  # nouns of which much the same is said
    frozenset(members(kind))
    for kind in ("person", "beast", *GROUPS)
    if kind not in "child grown royal kin pet farm wild".split()
)
PERSONS, BEASTS = frozenset(members("person")), frozenset(members("beast"))
FOOD = frozenset(members("food"))
SHE = frozenset(
    members("girl woman witch queen princess mother sister aunt grandmother")
)
ONLY = frozenset(members("garden forest kitchen village market station"))  # nor these
CORE = frozenset(  # the nouns of the smaller part of the language
    members(
        "boy girl man woman king queen animal dog cat horse cow goat hen sheep fox "
        "wolf mouse street river bridge field apple bread cheese fish meat carrot milk "
        "water book letter story door box window ball hat ring car cart"
    )
)
CORE_VERBS = frozenset(
    "cross eat drink read write open close wash buy find carry pull chase see hear "
    "help invite leave give sleep wait come_back go".split()
)
MASS = frozenset(members("bread soup cheese meat drink"))  # never with "a"
KIN = frozenset(members("kin"))  # the father, my father
MINE = frozenset(  # what people call their own
    members(
        "kin pet farm house garden kitchen barn village text suitcase box goods key "
        "ball cup plate apple cake egg soup coffee tea"
    )
)


def determiners(noun: str) -> tuple[str, ...]:
    """The determiners that a noun may have: the, a, this, my, or none at all."""
    if noun in KIN:
        return ("the", "my")
    found = ["the", "this", *[""] * (noun in MASS)]
    found += ["a"] * (noun not in MASS | ONLY)
    return (*found, "my") if noun in MINE else tuple(found)


# Adjectives: those that stand before the noun, then those said of it alone. What holds
# for a group stands first; a noun has its own besides.
QUALITIES = {
    "person": "; tired happy sad sick nervous hungry thirsty",
    "beast": "; happy sick thirsty nervous",
    "child": "small tired happy sad brave curious hungry",
    "grown": "old young tired brave",
    "royal": "tired sad",
    "king queen": "old",
    "prince princess": "young brave curious",
    "grandmother grandfather": "old",
    "kin": "tired",
    "father mother uncle aunt": "old",
    "brother sister": "big",
    "dog": "big small old young black white tired hungry lazy fast happy brave",
    "cat": "small old black white tired hungry lazy fast curious happy",
    "mouse": "small white fast hungry curious tired",
    "horse": "big old young black white fast strong tired hungry",
    "cow": "old black white tired hungry lazy slow",
    "sheep": "old young black white tired hungry slow",
    "goat": "old young black white tired hungry curious",
    "pig": "small old tired hungry lazy dirty",
    "hen": "small old black white tired hungry",
    "donkey": "old small tired hungry lazy strong slow",
    "fox": "old young tired hungry fast curious",
    "wolf": "old young black white tired hungry fast strong",
    "bear": "big old young black tired hungry strong slow",
    "bird": "small young black white blue tired hungry curious",
    "frog": "small green tired hungry fast",
    "animal": "big small old young tired hungry fast slow strong",
    "street": "wide long quiet old ; steep",
    "river": "wide deep cold quiet",
    "bridge": "narrow long old new ; steep",
    "field": "big green ; muddy",
    "square": "big old quiet beautiful",
    "meadow": "big green beautiful ; muddy steep",
    "stream": "small deep cold wide",
    "house": "old big small new dark quiet beautiful",
    "garden": "big small beautiful quiet",
    "forest": "big dark quiet",
    "kitchen": "small big ; dirty dark",
    "castle": "old big dark beautiful",
    "barn": "old big dark",
    "village": "small old quiet beautiful",
    "church": "old small beautiful",
    "market": "big old",
    "station": "old big new",
    "lake": "deep big cold beautiful",
    "tree": "old big green",
    "wall": "old long new",
    "apple": "red green sweet sour small ; hard good",
    "bread": "fresh dry hard ; good",
    "soup": "hot cold ; salty good",
    "cake": "fresh good sweet ; dry",
    "egg": "fresh white ; hot",
    "cheese": "old hard good ; salty",
    "fish": "fresh ; salty cold good",
    "meat": "fresh cold ; salty good",
    "carrot": "fresh small sweet ; hard",
    "nut": "small hard ; bitter",
    "milk": "cold hot fresh ; good",
    "water": "cold hot fresh",
    "coffee": "hot cold good ; bitter sweet",
    "tea": "hot cold green good ; bitter sweet",
    "book": "old new beautiful boring difficult funny ; long",
    "letter": "old long short sad beautiful",
    "newspaper": "old ; boring",
    "story": "old long short sad funny beautiful boring",
    "poem": "long short sad beautiful difficult ; boring",
    "door": "old heavy small green white",
    "window": "big small old ; dirty",
    "box": "big small old heavy",
    "suitcase": "big old new heavy red black",
    "car": "old new red blue black expensive dirty beautiful",
    "bicycle": "old new red blue expensive dirty",
    "clock": "old beautiful expensive",
    "chair": "old new heavy small white",
    "table": "old new heavy big white",
    "lamp": "old new beautiful expensive",
    "boat": "old small big white heavy beautiful",
    "cart": "old heavy big",
    "key": "small old",
    "ring": "beautiful expensive old",
    "coat": "old new black red dirty expensive beautiful",
    "hat": "old new black red beautiful expensive",
    "ball": "red blue new",
    "cup": "white small dirty",
    "plate": "white dirty",
    "bottle": "green heavy small",
}
# Of one group only one can be said of a thing in one sentence.
CLASHES = (
    "hot cold fresh",
    "big small",
    "old new young fresh",
    "young small",
    "wide narrow",
    "long short",
    "happy sad sick nervous",
    "sweet sour bitter salty",
    "fast slow lazy tired old",
    "strong weak small young",
    "brave nervous",
    "curious nervous lazy",
    "fresh dry hard",
    "dirty new white beautiful",
    "boring funny beautiful",
    "sad funny",
    "heavy small",
    "tired weak",
    "old hard",
    "expensive dirty",
    "red green blue black white",
    "dark white",
    "hard good",
    "small wide",
    "strong tired sick",
)


def _qualities(place: int) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {noun: {} for noun in NOUNS}
    for names, said in QUALITIES.items():
        parts = [part.split() for part in f"{said};".split(";")]
        for noun in members(names):
            found[noun] |= dict.fromkeys(sum(parts[: place + 1], []))
    return {noun: tuple(words) for noun, words in found.items()}


ATTRIBUTES = _qualities(0)  # a noun -> what may stand before it: the tired dog
PREDICATES = _qualities(1)  # a noun -> what may be said of it: the dog is thirsty


def clash(one: str, other: str) -> bool:
    """Whether two adjectives can't be said of one thing at once."""
    return one == other or any({one, other} <= set(group.split()) for group in CLASHES)


# Verb, tenses (s simple present, g progressive, p past, f perfect; h with habits too),
# then who does it to what, and to whom or where.
DOINGS = """
cross sgpf: person pet farm fox wolf bear frog animal > way
eat sgpfh: person > food | dog wolf > meat | fox bear > meat fish | bear > nut
  | cat > fish meat cheese | mouse > cheese bread nut
  | horse cow sheep goat donkey pig > apple carrot bread | pig > cheese nut
  | hen bird > bread nut | animal > meat bread apple fish
drink sgpfh: person > drink | pet farm > milk water | wild > water
read sgpfh: person > text
write sgpf: person > letter story poem
open sgpf: person > opening letter
close sgpf: person > opening book
repair sgpf: worker > car bicycle clock chair table lamp boat cart door window
wash sgpf: worker child > car apple carrot coat dog horse
buy sgpf: worker > goods apple bread cake cheese fish meat book newspaper house
  horse cow sheep
sell sgpf: worker > goods house horse cow sheep cheese bread
look_for sgpf: person > portable newspaper suitcase coat dog cat horse
find pf: person > portable coat suitcase dog cat horse sheep frog | dog > ball hat
lose pf: person > portable coat suitcase
carry sgpf: person > box suitcase chair lamp
  | dog > ball newspaper | donkey horse > box suitcase
pull sgpf: horse cow donkey > cart | horse > boat
chase sgpfh: dog > cat hen fox sheep bird | cat > mouse bird | fox > hen mouse bird
  | wolf > sheep goat horse donkey | bear > fox wolf goat | child > dog cat hen pig
  | grown > fox wolf
see spf: animate > animate house castle tree bridge river lake boat | person > car
hear spf: animate > animate
love sp: person > person dog cat horse | child > story apple cake
help sgpfh: person > person
follow sgpf: person > person beast | pet > person pet | wolf fox bear > person farm
wake sgpf: person > person dog cat | dog > person cat
call sgpf: person > person dog cat
invite sgpf: person > person
look_at sgpf: person > animate house castle church lake boat car ring clock
  | person > coat hat book | cat > bird hen mouse frog fish
build sgpf: worker > house bridge boat wall cart barn
hide sgpf: person > key ring letter box book cake cheese | dog > ball hat
steal pf: fox > egg cheese meat | mouse > cheese bread nut | dog > meat fish
  | cat > fish meat | bird > nut bread | child grown > apple cake ring key hat ball
break pf: child grown kin > cup plate bottle lamp | cat > cup plate bottle lamp
cut sgpf: person > bread cheese apple cake meat carrot
leave sgpf: person > house garden forest castle village kitchen barn
  | beast > house garden forest barn village
give sgpf: person > apple bread cake book letter key ring ball cup hat coat > person
  | person > meat > dog wolf | person > bread > hen bird pig | person > cheese > mouse
  | person > apple carrot > horse cow goat donkey sheep | person > fish > cat bear
show sgpf: person > book letter ring key clock coat house garden car poem > person
bring sgpf: person > soup apple bread cake book letter newspaper cup plate bottle key
  chair coat hat tea coffee > person
sleep sgpfh: person @ in house garden castle kitchen; under tree; next_to river lake
  | pet @ in house garden kitchen barn; under table tree; behind house; next_to door
  | farm @ in barn garden; under tree; behind barn wall; next_to river
  | wild @ in forest garden; under tree bridge; behind wall; next_to river lake
wait sgpf: person @ in house garden kitchen church; behind door; next_to bridge river
  tree | pet @ in house garden; behind door tree; under table
stay sgpf: person @ in house garden castle village kitchen
  | pet @ in house garden kitchen; under table
  | farm @ in barn garden; behind barn; under tree | wild @ in forest; behind tree
sing sgpfh: person @ in house garden kitchen church; under tree
  | bird @ in garden forest
dance sgpfh: person @ in house garden castle kitchen; next_to lake
play sgpfh: child @ in house garden; under tree; behind house
  | pet @ in house garden; under table; behind barn
work sgpfh: worker @ in house garden kitchen castle village
swim sgpfh: person horse dog bear @ in river lake | frog animal @ in river stream lake
laugh sgpf: person @ in house garden kitchen
arrive sgpf: person
come_back sgpf: person | pet
go sgpfh: person @ to market station church castle river lake bridge
  | beast @ to river lake barn
come sgpf: person @ to market station church castle bridge lake
  | beast @ to river lake barn
"""
TENSES = {"s": "present", "g": "progressive", "p": "past", "f": "perfect"}
MODALS = ("can", "want")
SAYINGS = ("say", "know", "believe")
PREPOSITIONS = ("in", "under", "behind", "next_to", "to")
NEEDS_PLACE = frozenset({"stay", "go", "come"})
NO_MODAL = frozenset(
    {"lose", "break", "love", "steal", "arrive"}
)  # nobody wants to lose a key
ANY = frozenset(  # "did not buy a car", but hardly "did not call a man"
    "buy find read write build eat drink see".split()
)
MADE = frozenset({"write", "build"})  # what is made is not there yet: nobody's, no old
DEFINITE = frozenset({"leave", "love"})  # one leaves the house, hardly a house
LASTING = frozenset(  # no moment that moves anybody: not "when the man waited"
    "wait sleep stay work look_for look_at swim play love carry pull follow chase "
    "hear wash cut dance sing laugh".split()
)

# What is said in front, and the tenses that it goes with; "habit" is the simple present
# of what people do again and again.
FRONTS = {
    "yesterday": "past",
    "last_week": "past",
    "today": "past progressive",
    "now": "progressive",
    "in_the_evening": "past habit",
    "in_the_morning": "past habit",
    "every_day": "habit",
    "sometimes": "habit",
}

# "The cat does not want to, because it is too slow": who is slow? Nor does being lazy
# keep anybody from being able to.
NOT_WITH = frozenset({("want", "slow"), ("can", "lazy"), ("can", "boring")})
# A long street is as easily crossed as a short one.
NO_HURDLE = frozenset({("street", "long"), ("street", "steep")})

# Verb, "not" or "yes", who is meant by "it", whether "too" is said, the adjectives.
REASONS = """
cross not subject too: tired weak nervous slow lazy
cross not object too: wide deep long narrow steep muddy
cross yes subject -: curious brave
cross yes object -: short
eat not subject too: tired sick sad nervous
eat not object too: hot salty sour hard dry sweet bitter
eat yes subject -: hungry
eat yes object -: fresh good
drink not subject too: tired sick sad
drink not object too: hot bitter sweet
drink yes subject -: thirsty
drink yes object -: fresh good
read not subject too: tired nervous sad
read not object too: long boring difficult
read yes object -: short funny beautiful
write not subject too: tired nervous lazy
open not subject too: tired small
open not object too: heavy
repair not subject too: tired lazy sick
repair not object too: old
buy not subject too: poor
buy not object too: expensive
buy yes object -: beautiful new
sell yes subject -: poor
sell yes object -: old
carry not subject too: weak tired lazy
carry not object too: heavy big
pull not subject too: weak tired lazy
pull not object too: heavy
chase not subject too: tired lazy slow
chase not object too: fast strong big
chase yes subject -: hungry
chase yes object -: slow weak
wash yes object -: dirty
leave not subject too: tired sick nervous lazy
steal yes subject -: hungry poor
steal yes object -: beautiful expensive fresh
hide yes object -: beautiful expensive
"""
MOODS = ("tired", "happy", "sad", "nervous", "hungry")
FEELINGS = ("happy", "sad", "nervous")
# What can be said in a reason beyond the table of qualities.
ALSO = {
    "beast": "tired weak slow lazy nervous sick hungry thirsty curious brave",
    "person": "weak slow lazy poor curious brave",
    "child": "small",
    "bridge": "short",
    "house horse cow chair table boat": "expensive",
    "mouse bird hen cat": "weak slow",
}


def _also() -> dict[str, tuple[str, ...]]:
    found = dict(PREDICATES)
    for names, said in ALSO.items():
        for noun in members(names):
            found[noun] = tuple(dict.fromkeys((*found[noun], *said.split())))
    return found


SAID = _also()


class Doing(NamedTuple):
    """One line of who does what: nouns, and (preposition, noun) for places."""

    subjects: frozenset[str]
    objects: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()


class Reason(NamedTuple):
    """Why something is done, or not done."""

    negated: bool
    who: str  # "subject" or "object": what "it" stands for
    too: bool
    adjectives: tuple[str, ...]


def _doing(text: str) -> Doing:
    who, _, where = text.partition("@")
    parts = [members(part) for part in who.split(">")]
    places = []
    for some in filter(None, map(str.split, where.split(";"))):
        places += [(some[0], noun) for noun in members(" ".join(some[1:]))]
    return Doing(frozenset(parts[0]), *parts[1:], places=tuple(places))


def _verbs() -> tuple[dict[str, tuple[Doing, ...]], dict[str, str]]:
    doings, tenses = {}, {}
    for line in DOINGS.strip().replace("\n  ", " ").splitlines():
        head, said = line.split(":")
        verb, tenses_of = head.split()
        doings[verb] = tuple(map(_doing, said.split("|")))
        tenses[verb] = tenses_of
    return doings, tenses


def _reasons() -> dict[str, tuple[Reason, ...]]:
    found: dict[str, tuple[Reason, ...]] = {}
    for line in REASONS.strip().splitlines():
        head, said = line.split(":")
        verb, polarity, who, too = head.split()
        one = Reason(polarity == "not", who, too == "too", tuple(said.split()))
        found[verb] = (*found.get(verb, ()), one)
    return found


VERBS, VERB_TENSES = _verbs()
WHY = _reasons()
ADJECTIVES = tuple(
    sorted({word for said in SAID.values() for word in said} | set(MOODS))
)
