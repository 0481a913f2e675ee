"""The synchronous grammar: what may be said, drawn by seed, and checked again.

A sentence is drawn as a meaning (`meaning.Sentence`), which a language then writes.
`sensible` says of any meaning whether it could have been drawn: what a reader types is
judged by it, too.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TypeVar

from helpers.corpora.language import lexicon as words
from helpers.corpora.language.lexicon import TENSES, VERB_TENSES, VERBS, WHY
from helpers.corpora.language.meaning import Clause, Phrase, Sentence, State

T = TypeVar("T")
EVERYTHING = frozenset(words.NOUNS)


class Draw:
    """Numbers in [0, 1), drawn by seed, and the nouns that sentences are about."""

    def __init__(self, seed: int, nouns: frozenset[str] = EVERYTHING) -> None:
        self.number = random.Random(seed).random  # the draw that Python keeps as it is
        self.nouns = nouns

    def __call__(self) -> float:
        """The next number."""
        return self.number()


# --- what goes with what --------------------------------------------------------------


@cache
def tenses(verb: str, modal: str = "") -> tuple[str, ...]:
    """The tenses of a verb; with "can" and "want" there are two."""
    if modal:
        never = verb in words.NO_MODAL or (verb, modal) == ("find", "want")
        return () if never else ("present", "past")
    return tuple(TENSES[sign] for sign in VERB_TENSES[verb] if sign in TENSES)


@cache
def subjects(verb: str) -> tuple[str, ...]:
    """The nouns that do something, in a fixed order."""
    return tuple(n for n in words.NOUNS if any(n in d.subjects for d in VERBS[verb]))


def _mine(verb: str, subject: str) -> Iterator[words.Doing]:
    return (doing for doing in VERBS[verb] if subject in doing.subjects)


@cache
def doers(verb: str, nouns: frozenset[str]) -> tuple[str, ...]:
    """Who of some nouns does something, where it takes an object to one of them."""
    return tuple(
        noun
        for noun in subjects(verb)
        if noun in nouns and (not objects(verb, noun) or nouns & {*objects(verb, noun)})
    )


@cache
def _verbs(
    nouns: frozenset[str], modal: str, tense: str, only: Callable | None
) -> tuple[str, ...]:
    """The verbs that fit what is said, and that some of the nouns can do."""
    return tuple(
        verb
        for verb in VERBS
        if doers(verb, nouns)
        and (nouns != words.CORE or verb in words.CORE_VERBS)
        and tenses(verb, modal)
        and (not tense or tense in tenses(verb))
        and (only is None or only(verb))
    )


@cache
def _some(options: tuple, nouns: frozenset[str]) -> tuple:
    """Those of the nouns, or of (preposition, noun), that sentences are about."""
    return tuple(x for x in options if (x[1] if isinstance(x, tuple) else x) in nouns)


@cache
def objects(verb: str, subject: str) -> tuple[str, ...]:
    """What a subject can do this to: never to itself."""
    found = sum((doing.objects for doing in _mine(verb, subject)), ())
    return tuple(noun for noun in dict.fromkeys(found) if noun != subject)


@cache
def recipients(verb: str, subject: str, thing: str) -> tuple[str, ...]:
    """To whom a subject can do this with a thing."""
    doings = (doing for doing in _mine(verb, subject) if thing in doing.objects)
    found = sum((doing.recipients for doing in doings), ())
    return tuple(noun for noun in dict.fromkeys(found) if noun not in (subject, thing))


@cache
def places(verb: str, subject: str) -> tuple[tuple[str, str], ...]:
    """Where, as (preposition, noun)."""
    found = sum((doing.places for doing in _mine(verb, subject)), ())
    return tuple(dict.fromkeys(found))


def adverbs(one: Clause | State) -> tuple[str, ...]:
    """What may stand in front of a clause."""
    if isinstance(one, State) or one.modal or one.verb == "love":
        return ()
    habit = "h" in VERB_TENSES[one.verb] and one.tense == "present"
    names = {one.tense, "habit"} if habit else {one.tense} - {"present"}
    fits = {name for name, some in words.FRONTS.items() if names & set(some.split())}
    never = {"every_day"} if one.negated else set()  # that would be "never"
    return tuple(name for name in words.FRONTS if name in fits - never)


def reason_tense(one: Clause) -> str:
    """The tense of a reason: she has eaten it because she was hungry."""
    done = one.tense == "perfect" and not one.negated
    return "past" if one.tense == "past" or done else "present"


def relative_tense(one: Clause) -> str:
    """The tense around a relative clause: who has sung is tired, who sang was."""
    return "past" if one.tense == "past" else "present"


def reasons(one: Clause) -> tuple[tuple[str, str, bool], ...]:
    """Why something is done: who is meant by the pronoun, an adjective, with "too"."""
    if not one.object or one.modal == "can" and not one.negated:
        return ()
    found = []
    for reason in WHY.get(one.verb, ()):
        if reason.negated != one.negated:
            continue
        meant = one.subject if reason.who == "subject" else one.object
        person = one.subject.noun in words.PERSONS
        if (one.verb, person) in (("hide", False), ("chase", reason.who == "subject")):
            if not one.negated:
                continue
        food = one.object.noun in words.FOOD
        for adjective in reason.adjectives:
            known = adjective in words.SAID[meant.noun]
            known = known and (adjective != "hungry" or food or one.verb == "chase")
            known = known and (one.modal, adjective) not in words.NOT_WITH
            known = known and (meant.noun, adjective) not in words.NO_HURDLE
            twice = adjective in (one.subject.adjective, one.object.adjective)
            if known and not twice and not _contradicts(meant, adjective):
                found.append((reason.who, adjective, reason.too))
    return tuple(found)


def _contradicts(one: Phrase, adjective: str) -> bool:
    return bool(one.adjective) and words.clash(one.adjective, adjective)


def ambiguous(one: Clause, adjective: str) -> bool:
    """Whether "it" could be either of two nouns: a reader could not decide."""
    same = [one.subject.noun, one.object.noun]
    if any(noun in words.PERSONS for noun in same):
        return False
    meant = {who for who, said, _ in reasons(one) if said == adjective}
    return len(meant) > 1


def moods(one: Clause) -> tuple[str, ...]:
    """How somebody is who has done something: who has eaten is not hungry."""
    fed = one.verb == "eat" and not one.negated
    return tuple(mood for mood in words.MOODS if not (fed and mood == "hungry"))


# --- whether a meaning is one of ours -------------------------------------------------


def _fits(one: Phrase) -> bool:
    fits = one.determiner in words.determiners(one.noun)
    return fits and (not one.adjective or one.adjective in words.ATTRIBUTES[one.noun])


def _definite(one: Phrase) -> bool:
    return one.determiner in ("the", "my", "this")


def _sensible_state(one: State) -> bool:
    plain = not one.too and not one.pronoun and _definite(one.subject)
    said = one.adjective in words.PREDICATES[one.subject.noun]
    clashes = _contradicts(one.subject, one.adjective)
    return plain and said and _fits(one.subject) and not clashes


def _sensible_clause(one: Clause) -> bool:
    who, verb = one.subject.noun, one.verb
    if not _fits(one.subject) or one.tense not in tenses(verb, one.modal):
        return False
    if one.asked and one.negated or one.pronoun:
        return False
    if (one.negated or one.asked or one.modal) and not _definite(one.subject):
        return False
    if one.object and not _sensible_object(one):
        return False
    thing = one.object.noun if one.object else None
    possible = objects(verb, who)
    if thing is None:
        complete = not possible and who in subjects(verb)
    else:
        complete = thing in possible and _fits(one.object)
    return complete and _sensible_recipient(one, thing) and _sensible_place(one)


def _sensible_object(one: Clause) -> bool:
    any_of_it = one.verb in words.ANY or not one.negated
    some = any_of_it and one.verb not in words.DEFINITE
    return (some or _definite(one.object)) and one.object == _makeable(one)


def _makeable(one: Clause) -> Phrase:
    """The object, or what can be said of it before it is there: a long poem."""
    thing = one.object
    if one.verb not in words.MADE:
        return thing
    determiner = "the" if thing.determiner == "my" else thing.determiner
    keep = determiner == "a" and thing.adjective != "old"
    return Phrase(thing.noun, determiner, thing.adjective if keep else "")


def _sensible_recipient(one: Clause, thing: str | None) -> bool:
    possible = recipients(one.verb, one.subject.noun, thing) if thing else ()
    if one.recipient is None:
        return not possible
    whom = one.recipient
    return whom.noun in possible and _fits(whom) and _definite(whom)


def _sensible_place(one: Clause) -> bool:
    if one.place is None:
        return one.verb not in words.NEEDS_PLACE
    preposition, where = one.place
    possible = (preposition, where.noun) in places(one.verb, one.subject.noun)
    return possible and _fits(where) and where.determiner in ("the", "my")


def sensible(one: Sentence) -> bool:
    """Whether the grammar could have drawn this meaning."""
    main = one.main
    check = _sensible_state if isinstance(main, State) else _sensible_clause
    if not check(main):
        return False
    around = [one.front, one.when, one.relative, one.saying]
    if sum(map(bool, around)) > 1 or main.asked and any(around):
        return False
    return (
        (not one.front or one.front in adverbs(main))
        and (not one.saying or _sensible_saying(one))
        and (not one.when or _sensible_when(one))
        and (not one.relative or _sensible_relative(one))
        and (not one.because or _sensible_because(one))
    )


def _sensible_saying(one: Sentence) -> bool:
    who, verb = one.saying
    known = who.noun in words.PERSONS and verb in words.SAYINGS
    fits = _fits(who) and who.noun not in nouns(one.main)
    return known and fits and _definite(who)


def _sensible_when(one: Sentence) -> bool:
    main, when = one.main, one.when
    feels = isinstance(main, State) and main.adjective in words.FEELINGS
    same = main.tense == when.tense and when.tense in ("past", "present")
    plain = not (when.negated or when.modal or when.asked)
    others = main.subject.noun not in nouns(when)
    moment = when.verb not in words.LASTING
    return feels and same and plain and others and moment and _sensible_clause(when)


def _sensible_relative(one: Sentence) -> bool:
    main, clause = one.main, one.relative
    plain = not (clause.modal or clause.asked) and clause.tense in ("past", "perfect")
    plain = plain and clause.subject.determiner != "my"
    mood = isinstance(main, State) and main.adjective in moods(clause)
    same = main.subject == clause.subject and main.tense == relative_tense(clause)
    return mood and plain and same and _sensible_clause(clause)


def _sensible_because(one: Sentence) -> bool:
    main, why = one.main, one.because
    if isinstance(main, State) or main.asked or not why.pronoun:
        return False
    if not (_definite(main.subject) and main.object and _definite(main.object)):
        return False
    who = {main.subject: "subject", main.object: "object"}.get(why.subject)
    fits = (who, why.adjective, why.too) in reasons(main)
    same = why.tense == reason_tense(main) and not why.negated
    return fits and same and not ambiguous(main, why.adjective)


def phrases(one: Clause | State) -> list[Phrase]:
    """All that is named in a clause."""
    found = [one.subject]
    if isinstance(one, Clause):
        found += [x for x in (one.object, one.recipient) if x]
        found += [one.place[1]] if one.place else []
    return found


def nouns(one: Clause | State) -> list[str]:
    """The nouns of a clause."""
    return [phrase.noun for phrase in phrases(one)]


# --- drawing --------------------------------------------------------------------------


def choose(options: Sequence[T], draw: Draw) -> T:
    """One of the options, each equally likely."""
    return options[int(draw() * len(options))]


def _phrase(
    noun: str, draw: Draw, definite: bool = False, share: float = 0.3
) -> Phrase:
    options = words.determiners(noun)
    if definite:
        options = tuple(d for d in options if d in ("the", "my", "this"))
    options += tuple(one for one in options if one in ("a", ""))  # twice as likely
    determiner = "the" if draw() < 0.4 else choose(options, draw)
    known = words.ATTRIBUTES[noun]
    adjective = choose(known, draw) if known and draw() < share else ""
    return Phrase(noun, determiner, adjective)


def _clause(draw: Draw, definite: bool = False, **settings) -> Clause:
    """Draw somebody who does something; `settings` are those of `Clause`."""
    modal, negated = settings.get("modal", ""), settings.get("negated", False)
    only, tense = settings.pop("verbs", None), settings.get("tense", "")
    verb = choose(_verbs(draw.nouns, modal, tense, only), draw)
    who = choose(doers(verb, draw.nouns), draw)
    settings = {"tense": choose(tenses(verb, modal), draw)} | settings
    certain = definite or negated or bool(modal) or settings.get("asked", False)
    subject = _phrase(who, draw, certain)
    possible = _some(objects(verb, who), draw.nouns)
    certain = definite or verb in words.DEFINITE or negated and verb not in words.ANY
    thing = _phrase(choose(possible, draw), draw, certain) if possible else None
    whom = recipients(verb, who, thing.noun) if thing else ()
    whom = _some(whom, draw.nouns) or whom
    recipient = _phrase(choose(whom, draw), draw, True, 0.2) if whom else None
    place, where = None, places(verb, who)
    where = _some(where, draw.nouns) or where
    if where and (verb in words.NEEDS_PLACE or draw() < 0.7):
        preposition, noun = choose(where, draw)
        place = preposition, _phrase(noun, draw, share=0.2)._replace(determiner="the")
    one = Clause(subject, verb, thing, recipient, place, **settings)
    return one._replace(object=_makeable(one)) if thing else one


def _state(draw: Draw, noun: str, said: Sequence[str], **settings) -> State:
    subject = _phrase(noun, draw, definite=True)
    known = [word for word in said if not _contradicts(subject, word)]
    if not known:
        subject, known = subject._replace(adjective=""), said
    settings = {"tense": choose(("present", "past"), draw)} | settings
    return State(subject, choose(known, draw), **settings)


def _any_state(draw: Draw, **settings) -> State:
    noun = choose([noun for noun in words.NOUNS if words.PREDICATES[noun]], draw)
    return _state(draw, noun, words.PREDICATES[noun], **settings)


def plain(draw: Draw) -> Sentence:
    """The dog crossed the street."""
    return Sentence(_clause(draw))


def negated(draw: Draw) -> Sentence:
    """The dog did not cross the street."""
    return Sentence(_clause(draw, negated=True))


def question(draw: Draw) -> Sentence:
    """Did the dog cross the street?"""
    return Sentence(_clause(draw, asked=True))


def modal(draw: Draw) -> Sentence:
    """The dog can cross the street."""
    verb, no = choose(words.MODALS, draw), draw() < 0.3
    return Sentence(_clause(draw, modal=verb, negated=no))


def modal_question(draw: Draw) -> Sentence:
    """Can the dog cross the street?"""
    return Sentence(_clause(draw, modal=choose(words.MODALS, draw), asked=True))


def state(draw: Draw) -> Sentence:
    """The street is wide."""
    kind = choose(("", "negated", "asked"), draw)
    return Sentence(_any_state(draw, **({kind: True} if kind else {})))


def front(draw: Draw) -> Sentence:
    """Yesterday the dog crossed the street."""
    while True:
        one = _clause(draw)
        if known := adverbs(one):
            return Sentence(one, front=choose(known, draw))


def saying(draw: Draw) -> Sentence:
    """The man says that the dog crossed the street."""
    if draw() < 0.3:
        main = _any_state(draw)
    else:
        main = _clause(draw, True, negated=draw() < 0.3)
    known = [noun for noun in sorted(words.PERSONS) if noun not in nouns(main)]
    who = _phrase(choose(known, draw), draw, definite=True, share=0.2)
    return Sentence(main, saying=(who, choose(words.SAYINGS, draw)))


def _momentary(verb: str) -> bool:
    return verb not in words.LASTING


def when(draw: Draw) -> Sentence:
    """When the dog crossed the street, the man was nervous."""
    tense = choose(("past", "past", "present"), draw)
    clause = _clause(draw, True, tense=tense, verbs=_momentary)
    known = [
        n for n in (*sorted(words.PERSONS), "dog", "cat") if n not in nouns(clause)
    ]
    noun = choose(known, draw)
    said = [word for word in words.FEELINGS if word in words.PREDICATES[noun]]
    return Sentence(_state(draw, noun, said, tense=clause.tense), when=clause)


def relative(draw: Draw, **settings) -> Sentence:
    """The dog that crossed the street was tired."""
    while True:
        clause = _clause(
            draw, True, tense=choose(("past", "perfect"), draw), **settings
        )
        if clause.subject.determiner == "my":  # my mother is known without a clause
            clause = clause._replace(subject=clause.subject._replace(determiner="the"))
        known = [
            word
            for word in words.PREDICATES[clause.subject.noun]
            if word in moods(clause) and not _contradicts(clause.subject, word)
        ]
        if known:
            tense = relative_tense(clause)
            main = State(clause.subject, choose(known, draw), tense=tense)
            return Sentence(main, relative=clause)


def negated_relative(draw: Draw) -> Sentence:
    """The dog that did not cross the street was tired."""
    return relative(draw, negated=True)


def because(draw: Draw) -> Sentence:
    """The dog did not cross the street because it was too tired."""
    while True:
        modal = choose(("can", "want"), draw) if draw() < 0.15 else ""
        no = draw() < 0.7
        main = _clause(draw, True, negated=no, modal=modal, verbs=WHY.__contains__)
        known = [x for x in reasons(main) if not ambiguous(main, x[1])]
        if not known:
            continue
        wanted = choose(("subject", "object"), draw)
        some = [x for x in known if x[0] == wanted]
        if not some:
            continue
        who, adjective, too = choose(some, draw)
        meant = main.subject if who == "subject" else main.object
        tense = reason_tense(main)
        why = State(meant, adjective, too, tense, pronoun=True)
        return Sentence(main, because=why)


def saying_because(draw: Draw) -> Sentence:
    """The man says that the dog did not cross the street because it was too tired."""
    one = because(draw)
    known = [noun for noun in sorted(words.PERSONS) if noun not in nouns(one.main)]
    who = _phrase(choose(known, draw), draw, definite=True, share=0.2)
    return one._replace(saying=(who, choose(words.SAYINGS, draw)))


def front_because(draw: Draw) -> Sentence:
    """Yesterday the dog did not cross the street because it was too tired."""
    while True:
        one = because(draw)
        if known := adverbs(one.main):
            return one._replace(front=choose(known, draw))


CONSTRUCTIONS: dict[str, Callable[[Draw], Sentence]] = {
    one.__name__: one
    for one in (
        plain,
        negated,
        question,
        modal,
        state,
        front,
        saying,
        when,
        relative,
        because,
        modal_question,
        negated_relative,
        front_because,
        saying_because,
    )
}
HELD_OUT = ("modal_question", "negated_relative", "front_because", "saying_because")
# How often each is drawn; those that are held out are drawn apart.
WEIGHTS = {name: 1 for name in CONSTRUCTIONS if name not in HELD_OUT} | {"because": 4}


NAMES = tuple(name for name, weight in WEIGHTS.items() for _ in range(weight))
CORE = ("plain", "negated", "question", "modal", "front", *["because"] * 4)


def draw_sentence(draw: Draw, construction: str = "") -> Sentence:
    """Draw a meaning: of one construction, or of any that is not held out.

    Where sentences are about the nouns of the core, only its constructions are drawn.
    """
    names = CORE if draw.nouns == words.CORE else NAMES
    return CONSTRUCTIONS[construction or choose(names, draw)](draw)


def construction(one: Sentence) -> str:
    """The name of the construction that a meaning belongs to."""
    if one.because:
        return ("saying_" * bool(one.saying) + "front_" * bool(one.front)) + "because"
    if one.saying or one.when or one.front:
        return "saying" if one.saying else "when" if one.when else "front"
    if one.relative:
        return "negated_" * one.relative.negated + "relative"
    if isinstance(one.main, State):
        return "state"
    if one.main.modal:
        return "modal" + "_question" * one.main.asked
    return "question" if one.main.asked else "negated" if one.main.negated else "plain"
