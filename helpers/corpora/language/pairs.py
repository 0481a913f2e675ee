"""Sentences in two languages: drawn by seed, and split by pairs of words.

Which pairs of words are held out depends on the words and a seed alone, not on the
sentences that were drawn: no sentence for training ever has one of them.
"""

import importlib
import pkgutil
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from types import ModuleType
from typing import NamedTuple

import helpers.corpora.language as package
from helpers.corpora.language import english, lexicon
from helpers.corpora.language.grammar import (
    EVERYTHING,
    HELD_OUT,
    Draw,
    draw_sentence,
    objects,
)
from helpers.corpora.language.meaning import Clause, Phrase, Sentence, State
from helpers.corpora.language.words import Words, joined, parted

SHARE = 12  # one pair of words in so many is held out
# Never together in training: the animal that did not cross the street.
ALWAYS_HELD_OUT = frozenset({("animal", "street")})
# All else that is heavy has another gender: nobody could guess "lourd" and "schweres".
NEVER_HELD_OUT = frozenset({("heavy", "boat")})
MANY, FEW = 6, 4  # nouns of an adjective; of one kind, adjectives of a noun, objects
HELD_OUT_OF_CORE = ("modal_question", "front_because")  # it has no others
PARTS = {"all": EVERYTHING, "core": lexicon.CORE}


class SentencePair(NamedTuple):
    """What a sentence means, and how it is said in two languages."""

    meaning: Sentence
    source: str
    target: str


@cache
def languages() -> dict[str, ModuleType]:
    """Code -> the module that writes a language: every file here that has a CODE."""
    found = {}
    for one in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(one.name)
        if hasattr(module, "CODE"):
            found[module.CODE] = module
    return found


def language(code: str) -> ModuleType:
    """The module that writes a language.

    Raises:
        ValueError: No language has this code.
    """
    if code not in languages():
        known = ", ".join(map(repr, languages()))
        raise ValueError(f"Unknown language {code!r}; choose from: {known}.")
    return languages()[code]


def pair_of(meaning: Sentence, code: str = "de") -> SentencePair:
    """Say in both languages what a sentence means."""
    writer = language(code)
    target = joined(writer.write(meaning))
    return SentencePair(meaning, joined(english.write(meaning)), target)


def sentence_pairs(
    code: str = "de",
    count: int = 100_000,
    seed: int = 0,
    construction: str = "",
    part: str = "all",
) -> list[SentencePair]:
    """Draw pairs of sentences, no English sentence twice.

    Args:
        code: "de" or "fr"; the English sentences are the same for all languages
        count: how many
        seed: another seed, other sentences
        construction: one name of `grammar.CONSTRUCTIONS`; "" for all but `HELD_OUT`
        part: "all", or "core": 40 nouns and 23 verbs in six constructions

    Returns:
        The pairs, in the order in which they were drawn.

    Raises:
        ValueError: The language or the construction is unknown.
    """
    draw = Draw(seed, PARTS[part])
    found: dict[str, SentencePair] = {}
    writer = language(code)
    while len(found) < count:
        meaning = draw_sentence(draw, construction)
        source = joined(english.write(meaning))
        if source not in found:
            target = joined(writer.write(meaning))
            found[source] = SentencePair(meaning, source, target)
    return list(found.values())


@cache
def vocabularies(code: str = "de", part: str = "all") -> tuple[Words, Words]:
    """All words of English and of a language, as two vocabularies.

    Those of the core are the words of some thousand drawn sentences.
    """
    if part == "all":
        return Words.of(english.vocabulary()), Words.of(language(code).vocabulary())
    pairs = sentence_pairs(code, 20_000, part=part)
    for name in HELD_OUT_OF_CORE:
        pairs += sentence_pairs(code, 2_000, 0, name, part)
    sources = {word for pair in pairs for word in parted(pair.source)}
    return Words.of(sources), Words.of(
        word for pair in pairs for word in parted(pair.target)
    )


# --- what is held out -----------------------------------------------------------------


def word_pairs(one: Sentence) -> set[tuple[str, str]]:
    """Subject and object, and adjective and noun, of all clauses of a sentence."""
    found = set()
    for clause in filter(None, (one.main, one.because, one.when, one.relative)):
        found |= set(_pairs_of(clause))
    if one.saying:
        found |= set(_adjective(one.saying[0]))
    return found


def _adjective(one: Phrase | None) -> Iterable[tuple[str, str]]:
    if one and one.adjective:
        yield one.adjective, one.noun


def _pairs_of(one: Clause | State) -> Iterable[tuple[str, str]]:
    yield from _adjective(one.subject)
    if isinstance(one, State):
        yield one.adjective, one.subject.noun
        return
    for phrase in (one.object, one.recipient, one.place and one.place[1]):
        yield from _adjective(phrase)
    if one.object:
        yield one.subject.noun, one.object.noun


@cache
def held_out_words(one: str, other: str, seed: int = 0) -> bool:
    """Whether these two words are never seen together in training."""
    if (one, other) in ALWAYS_HELD_OUT:
        return True
    chosen = zlib.crc32(f"{seed} {one} {other}".encode()) % SHARE == 0
    return chosen and (one, other) not in NEVER_HELD_OUT and _common(one, other)


@cache
def _common(one: str, other: str) -> bool:
    """Whether each of two words is seen with enough others in training.

    An adjective needs other nouns, some of the same kind, and the noun other
    adjectives. Who does something needs other things to do it to, and the thing others
    who do it: or else nobody could know that a dog *frisst* and does not *isst*.
    """
    core = one in lexicon.CORE or one in lexicon.ADJECTIVES
    near = lexicon.CORE if core and other in lexicon.CORE else EVERYTHING
    if one in lexicon.ADJECTIVES:
        nouns = {noun for noun in near if one in lexicon.SAID[noun]}
        kind = next(kind for kind in lexicon.KINDS if other in kind)
        several = len(nouns) >= MANY and len(nouns & kind) >= FEW
        return several and len(lexicon.SAID[other]) >= FEW
    verbs = [verb for verb in lexicon.VERBS if other in objects(verb, one)]
    return all(
        len(near & {*objects(verb, one)}) >= FEW
        and sum(other in objects(verb, noun) for noun in near) >= FEW
        for verb in verbs
    )


def new_words(one: Sentence, seed: int = 0) -> bool:
    """Whether a sentence has a pair of words that is held out."""
    return any(held_out_words(*pair, seed) for pair in word_pairs(one))


def split_pairs(
    pairs: Sequence[SentencePair], seed: int = 0
) -> tuple[list[SentencePair], list[SentencePair]]:
    """Part sentences by their pairs of words: one pair in twelve is held out.

    Args:
        pairs: none of a construction that is held out, `HELD_OUT`
        seed: another seed holds out other pairs of words

    Returns:
        Sentences to learn from, and those with at least one held-out pair of words.
    """
    train = [pair for pair in pairs if not new_words(pair.meaning, seed)]
    return train, [pair for pair in pairs if new_words(pair.meaning, seed)]


def held_out_constructions(
    code: str = "de", count: int = 200, seed: int = 0, part: str = "all"
) -> dict[str, list[SentencePair]]:
    """Name -> sentences of a construction that is never drawn for training.

    Their pairs of words are not held out: what is new is the construction alone.
    """
    found = {}
    for name in HELD_OUT if part == "all" else HELD_OUT_OF_CORE:
        pairs = sentence_pairs(code, 2 * count, seed, name, part)
        found[name] = split_pairs(pairs)[0][:count]
    return found


def pronouns(text: str, code: str = "de") -> list[str]:
    """The pronouns of a translation, such as er, sie and es."""
    known = language(code).PRONOUNS
    return [word for word in parted(text) if word in known]
