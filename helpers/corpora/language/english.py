"""English: the language that is read."""

from helpers.corpora.language.lexicon import (
    ADJECTIVES,
    FRONTS,
    NOUNS,
    PERSONS,
    PREPOSITIONS,
    SHE,
    VERB_TENSES,
)
from helpers.corpora.language.meaning import Clause, Phrase, Sentence, State

# base, third person, -ing, past, participle; a particle may follow them all
VERBS = """
cross: cross crosses crossing crossed crossed
eat: eat eats eating ate eaten
drink: drink drinks drinking drank drunk
read: read reads reading read read
write: write writes writing wrote written
open: open opens opening opened opened
close: close closes closing closed closed
repair: repair repairs repairing repaired repaired
wash: wash washes washing washed washed
buy: buy buys buying bought bought
sell: sell sells selling sold sold
look_for: look looks looking looked looked for
find: find finds finding found found
lose: lose loses losing lost lost
carry: carry carries carrying carried carried
pull: pull pulls pulling pulled pulled
chase: chase chases chasing chased chased
see: see sees seeing saw seen
hear: hear hears hearing heard heard
love: love loves loving loved loved
help: help helps helping helped helped
follow: follow follows following followed followed
wake: wake wakes waking woke woken
call: call calls calling called called
invite: invite invites inviting invited invited
look_at: look looks looking looked looked at
build: build builds building built built
hide: hide hides hiding hid hidden
steal: steal steals stealing stole stolen
break: break breaks breaking broke broken
cut: cut cuts cutting cut cut
leave: leave leaves leaving left left
give: give gives giving gave given
show: show shows showing showed shown
bring: bring brings bringing brought brought
sleep: sleep sleeps sleeping slept slept
wait: wait waits waiting waited waited
stay: stay stays staying stayed stayed
sing: sing sings singing sang sung
dance: dance dances dancing danced danced
play: play plays playing played played
work: work works working worked worked
swim: swim swims swimming swam swum
laugh: laugh laughs laughing laughed laughed
arrive: arrive arrives arriving arrived arrived
come_back: come comes coming came come back
go: go goes going went gone
come: come comes coming came come
"""
FORMS = {
    line.split(":")[0]: tuple(line.split(":")[1].split())
    for line in VERBS.strip().splitlines()
}
BE = {"present": "is", "past": "was"}
SAYS = {"say": "says", "know": "knows", "believe": "believes"}


def pronoun(noun: str) -> str:
    """He, she or it."""
    if noun not in PERSONS:
        return "it"
    return "she" if noun in SHE else "he"


def phrase(one: Phrase) -> list[str]:
    """Determiner, adjective, noun."""
    words = [*one.adjective.split(), one.noun]
    determiner = one.determiner
    if determiner == "a" and words[0][0] in "aeiou":
        determiner = "an"
    return [*determiner.split(), *words]


def verb(one: Clause) -> tuple[list[str], list[str]]:
    """What stands before the subject of a question, and the rest of the verb."""
    base, third, ing, past, participle, *particle = FORMS[one.verb]
    negation = ["not"] * one.negated
    if one.modal == "can":
        word = {"present": "can", "past": "could"}[one.tense]
        if word == "can" and one.negated:
            return ["cannot"], [base, *particle]
        return [word], [*negation, base, *particle]
    if one.modal == "want":
        base, third, past = "want", "wants", "wanted"
        particle = ["to", FORMS[one.verb][0], *particle]
    if one.tense == "progressive":
        return ["is"], [*negation, ing, *particle]
    if one.tense == "perfect":
        return ["has"], [*negation, participle, *particle]
    if one.negated or one.asked:
        helper = {"present": "does", "past": "did"}[one.tense]
        return [helper], [*negation, base, *particle]
    return [], [third if one.tense == "present" else past, *particle]


def _behind(one: Clause) -> list[str]:
    words = phrase(one.object) if one.object else []
    if one.recipient:
        words += ["to", *phrase(one.recipient)]
    if one.place:
        preposition, where = one.place
        words += [*preposition.split("_"), *phrase(where)]
    return words


def _subject(one: Clause | State) -> list[str]:
    return [pronoun(one.subject.noun)] if one.pronoun else phrase(one.subject)


def clause(one: Clause | State, with_subject: bool = True) -> list[str]:
    """A main clause or a subordinate one: English has one order for both."""
    subject = _subject(one) if with_subject else []
    if isinstance(one, State):
        before, rest = [BE[one.tense]], ["not"] * one.negated
        rest += ["too"] * one.too + [one.adjective]
    else:
        before, rest = verb(one)
        rest = rest + _behind(one)
    return [*before, *subject, *rest] if one.asked else [*subject, *before, *rest]


def vocabulary() -> set[str]:
    """Every word that a sentence can have."""
    words = set(". , ? a an the this my he she it not too to that who because".split())
    words |= set("is was has does did can could cannot want wants wanted".split())
    words |= {*NOUNS, *ADJECTIVES, *SAYS.values(), "when"}
    for verb, (base, third, ing, past, participle, *particle) in FORMS.items():
        said = {"s": third, "g": ing, "p": past, "f": participle}
        words |= {base, *particle}
        words |= {said[sign] for sign in VERB_TENSES[verb] if sign in said}
    texts = [*FRONTS, *PREPOSITIONS]
    return words | {word for text in texts for word in text.split("_")}


def write(one: Sentence) -> list[str]:
    """The words of a sentence, with commas and the mark at the end."""
    words = one.front.split("_") if one.front else []
    if one.when:
        words += ["when", *clause(one.when), ","]
    if one.saying:
        who, verb = one.saying
        words += [*phrase(who), SAYS[verb], "that"]
    if one.relative:
        who = "who" if one.main.subject.noun in PERSONS else "that"
        words += [*_subject(one.main), who, *clause(one.relative, with_subject=False)]
        words += clause(one.main, with_subject=False)
    else:
        words += clause(one.main)
    if one.because:
        words += ["because", *clause(one.because)]
    return [*words, "?" if one.main.asked else "."]
