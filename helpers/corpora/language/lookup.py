"""Sentences that a reader types: tidied, looked up, and read by the grammar."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

from helpers.corpora.language import english
from helpers.corpora.language.grammar import sensible
from helpers.corpora.language.lexicon import (
    ADJECTIVES,
    FRONTS,
    MODALS,
    NOUNS,
    PREPOSITIONS,
    TENSES,
    VERBS,
)
from helpers.corpora.language.meaning import Clause, Phrase, Sentence, State
from helpers.corpora.language.near import closest
from helpers.corpora.language.words import Words, joined
from helpers.corpora.vocabulary import SPECIAL

SHORT = {  # what people write -> the words of the grammar
    "can't": "cannot",
    "it's": "it is",
    "he's": "he is",
    "she's": "she is",
    "an": "a",
}
SPOKEN_OF = (
    "The language speaks of one person, animal, place, food or thing, such as girl, "
    "dog, street, bread or key."
)
GIVING = {word for verb in ("give", "show", "bring") for word in english.FORMS[verb]}
ASKING = ("is", "was", "has", "does", "did", "can", "could")


class UnknownWords(ValueError):
    """Words that the language does not have, and those that come closest.

    A notebook shows these sentences alone, without the calls that led to them.
    """

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Found(NamedTuple):
    """What became of a sentence that somebody typed."""

    text: str  # tidied; as the grammar writes it, if it has the sentence
    ids: list[int]  # of its words, with `START` and `END`
    meaning: Sentence | None  # None if the grammar has no such sentence

    @property
    def inside(self) -> bool:
        """Whether the grammar has this sentence."""
        return self.meaning is not None


def lookup(text: str, known: Words | None = None) -> Found:
    """Look up a typed sentence, and tidy its capitals, contractions and full stop.

    The order of the words, too: "gave the boy a book", and "yesterday" at the end.

    Args:
        text: English, such as "the dog didn't cross the street"
        known: the words of a model that has fewer than the language

    Returns:
        The sentence and the ids of its words. A sentence of known words that the
        grammar does not have is returned too, with `inside` False.

    Raises:
        UnknownWords: The language lacks one of the words, or the text has no words.
    """
    known = known or Words.of(english.vocabulary())
    vocabulary = set(known.pieces) - set(SPECIAL)
    words = [word for word in _words(text) if word != "," or word in vocabulary]
    if not set(words) - {","}:
        raise UnknownWords("There is no word to translate: type an English sentence.")
    if unknown := [word for word in dict.fromkeys(words) if word not in vocabulary]:
        raise UnknownWords(_unknown(unknown, vocabulary))
    mark = "?" if text.rstrip().endswith("?") or words[0] in ASKING else "."
    plain = [*(word for word in words if word != ","), mark]
    meaning = next(filter(None, map(read, _orders(plain))), None)
    said = english.write(meaning) if meaning else [*_with_an(words), mark]
    sentence = joined(said)
    return Found(sentence, known.encode(sentence), meaning)


def _words(text: str) -> list[str]:
    """The words of a typed text, in lower case, and its commas: no other marks."""
    text = text.lower().replace("\u2019", "'")
    text = re.sub(r"\bcan'?t\b", "cannot", text)
    # "won't" is none of them: there is no word "will"
    text = re.sub(r"\b(is|was|has|does|did|could)n'?t\b", r"\1 not", text)
    text = re.sub(r"\bcan not\b", "cannot", text)
    found = re.findall(r"[^\W\d_]+(?:'\w+)?|\d+|,", text)
    return " ".join(SHORT.get(word, word) for word in found).split()


def _orders(words: list[str]) -> Iterator[list[str]]:
    """Words as they are typed, and then in the order of the grammar."""
    for some in (words, *_given(words)):
        yield some
        yield from _fronted(some)


def _fronted(words: list[str]) -> Iterator[list[str]]:
    """The man slept yesterday -> yesterday the man slept."""
    end = words.index("because") if "because" in words else len(words) - 1
    for front in FRONTS:
        said = front.split("_")
        start = end - len(said)
        if start > 0 and words[start:end] == said:
            yield [*said, *words[:start], *words[end:]]


def _given(words: list[str]) -> Iterator[list[str]]:
    """Gave the boy the book -> gave the book to the boy."""
    for place, word in enumerate(words, 1):
        if word in GIVING:
            for _, rest in _phrases(tuple(words[place:])):
                for _, after in _phrases(rest):
                    whom = words[place : len(words) - len(rest)]
                    thing = rest[: len(rest) - len(after)]
                    yield [*words[:place], *thing, "to", *whom, *after]


def _with_an(words: list[str]) -> list[str]:
    pairs = zip(words, [*words[1:], "."], strict=True)
    return ["an" if (a, b[0] in "aeiou") == ("a", True) else a for a, b in pairs]


def _unknown(words: list[str], vocabulary: set[str]) -> str:
    """A sentence about each word that is not known."""
    known = {word for word in vocabulary if word.isalpha()}
    whole = {word for word in english.vocabulary() if word.isalpha()} <= known
    whose = "The little language has" if whole else "This translator knows"
    said, strange = [], False
    for word in words:
        close = [one for one in closest(word, known) if one in known]
        verb = "are" if len(close) > 1 else "is"
        end = f"; closest to it {verb}: {', '.join(close)}."
        said.append(f"{whose} no word {word!r}")
        said[-1] += end if close else ", nor any that is like it."
        strange = strange or not close
    return " ".join([*said, SPOKEN_OF] if strange and whole else said)


# --- reading --------------------------------------------------------------------------


def read(words: list[str]) -> Sentence | None:
    """The meaning that the grammar writes with these words, if it has one.

    Args:
        words: in lower case, without commas, the mark at the end; `a` also for `an`
    """
    for one in _sentences(tuple(words[:-1]), asked=words[-1] == "?"):
        said = [word for word in english.write(one) if word != ","]
        same = ["a" if word == "an" else word for word in said] == words
        if same and sensible(one):
            return one
    return None


def _sentences(words: tuple[str, ...], asked: bool) -> Iterator[Sentence]:
    """All ways to read words, also those that mean nothing."""
    main, why = _parted(words, "because")
    for one in _without_reason(main, asked):
        if not why:
            yield one
        elif isinstance(one.main, Clause):
            for meant in filter(None, (one.main.subject, one.main.object)):
                if why[0] == english.pronoun(meant.noun):
                    for state in _states(meant, why[1:], False, pronoun=True):
                        yield one._replace(because=state)


def _parted(words: tuple[str, ...], at: str) -> tuple[tuple, tuple]:
    """The words before a word, and those after it."""
    place = words.index(at) if at in words else len(words)
    return words[:place], words[place + 1 :]


def _without_reason(words: tuple[str, ...], asked: bool) -> Iterator[Sentence]:
    for main in _clauses(words, asked):
        yield Sentence(main)
    for front in FRONTS:
        said = tuple(front.split("_"))
        if words[: len(said)] == said:
            for main in _clauses(words[len(said) :], False):
                yield Sentence(main, front=front)
    if words[:1] == ("when",):
        for place in range(2, len(words)):
            for clause in _clauses(words[1:place], False):
                for main in _clauses(words[place:], False):
                    if isinstance(clause, Clause) and isinstance(main, State):
                        yield Sentence(main, when=clause)
    for who, rest in _phrases(words):
        yield from _with_subject(who, rest)


def _with_subject(who: Phrase, rest: tuple[str, ...]) -> Iterator[Sentence]:
    """The man says that ...; the man who ... is tired."""
    if rest[1:2] == ("that",):
        for verb, said in english.SAYS.items():
            if said == rest[0]:
                for main in _clauses(rest[2:], False):
                    yield Sentence(main, saying=(who, verb))
    if rest[:1] in (("that",), ("who",)):
        for place in range(2, len(rest)):
            for clause in _predicates(who, rest[1:place]):
                for state in _states(who, rest[place:], False):
                    yield Sentence(state, relative=clause)


def _clauses(words: tuple[str, ...], asked: bool) -> Iterator[Clause | State]:
    """A whole clause; that of a question begins with its verb."""
    before, words = (words[:1], words[1:]) if asked else ((), words)
    for who, rest in _phrases(words):
        yield from _predicates(who, rest, before)
        yield from _states(who, (*before, *rest), asked)


def _states(
    who: Phrase, words: tuple[str, ...], asked: bool, pronoun: bool = False
) -> Iterator[State]:
    """Is not too tired."""
    for tense, verb in english.BE.items():
        for negated, too in product((False, True), repeat=2):
            said = (verb, *["not"] * negated, *["too"] * too)
            if words[:-1] == said and words[-1] in ADJECTIVES:
                settings = too, tense, negated, asked, pronoun
                yield State(who, words[-1], *settings)


def _predicates(
    who: Phrase, words: tuple[str, ...], before: tuple[str, ...] = ()
) -> Iterator[Clause]:
    """Did not give the book to the man; the word before the subject is given."""
    for length in range(1, min(6, len(words)) + 1):
        for verb, tense, negated, modal in _verbs().get((before, words[:length]), ()):
            options = {"tense": tense, "negated": negated, "modal": modal}
            one = Clause(who, verb, **options, asked=bool(before))
            yield from _completed(one, words[length:])


def _completed(one: Clause, words: tuple[str, ...]) -> Iterator[Clause]:
    """Add the object, the recipient and the place that the words name."""
    if not set(words) - {","}:
        yield one
        return
    if not (one.object or one.place):
        for thing, rest in _phrases(words):
            yield from _completed(one._replace(object=thing), rest)
    if one.object and not one.recipient and words[0] == "to":
        for whom, rest in _phrases(words[1:]):
            yield from _completed(one._replace(recipient=whom), rest)
    for preposition in PREPOSITIONS:
        said = tuple(preposition.split("_"))
        if words[: len(said)] == said and not one.place:
            for where, rest in _phrases(words[len(said) :]):
                yield from _completed(one._replace(place=(preposition, where)), rest)


def _phrases(words: tuple[str, ...]) -> Iterator[tuple[Phrase, tuple[str, ...]]]:
    """A phrase at the beginning of words, and what follows it."""
    determiner = (
        words[:1] if words[:1] and words[0] in ("the", "a", "this", "my") else ()
    )
    rest = words[len(determiner) :]
    adjective = rest[:1] if rest[:1] and rest[0] in ADJECTIVES else ()
    noun = rest[len(adjective) :][:1]
    if noun and noun[0] in NOUNS:
        said = "".join(determiner), "".join(adjective)
        yield Phrase(noun[0], *said), rest[len(adjective) + 1 :]


@cache
def _verbs() -> dict[tuple, list[tuple[str, str, bool, str]]]:
    """(Before the subject, after it) -> verb, tense, negation, modal."""
    found: dict[tuple, list] = {}
    plain = product(VERBS, TENSES.values(), (False, True), ("",))
    modal = product(VERBS, ("present", "past"), (False, True), MODALS)
    for verb, tense, negated, auxiliary in (*plain, *modal):
        for asked in (False, True):
            options = {"tense": tense, "negated": negated, "modal": auxiliary}
            one = Clause(Phrase(""), verb, **options, asked=asked)
            before, rest = map(tuple, english.verb(one))
            key = (before, rest) if asked else ((), (*before, *rest))
            found.setdefault(key, []).append((verb, tense, negated, auxiliary))
    return found
