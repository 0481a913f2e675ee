"""What a sentence says, before any language says it."""

from typing import NamedTuple


class Phrase(NamedTuple):
    """A noun with its determiner ("the", "a", "this", "my" or "") and an adjective."""

    noun: str
    determiner: str = "the"
    adjective: str = ""


class Clause(NamedTuple):
    """Somebody does something."""

    subject: Phrase
    verb: str
    object: Phrase | None = None
    recipient: Phrase | None = None
    place: tuple[str, Phrase] | None = None  # preposition, where
    tense: str = "past"  # present, progressive, past or perfect
    negated: bool = False
    modal: str = ""  # can or want, in the present or the past
    asked: bool = False
    pronoun: bool = False  # he, she or it in the place of the subject


class State(NamedTuple):
    """Something is so."""

    subject: Phrase
    adjective: str
    too: bool = False
    tense: str = "past"  # present or past
    negated: bool = False
    asked: bool = False
    pronoun: bool = False


class Sentence(NamedTuple):
    """A main clause and what stands around it."""

    main: Clause | State
    front: str = ""  # an adverb, as in "yesterday"
    because: State | None = None  # its subject is what the pronoun stands for
    saying: tuple[Phrase, str] | None = None  # who says or knows that ...
    when: Clause | None = None
    relative: Clause | None = None  # of the subject, which is also its own subject
