"""Number words in two languages: a translation task with as many pairs as you like.

"forty-two" becomes "zweiundvierzig": German says the units before the tens, so the
task is small and exact, and yet the words change places. `num2words` spells them.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

from num2words import CONVERTER_CLASSES, num2words

from helpers.corpora.vocabulary import END, PAD, START, Vocabulary, pad

__all__ = [
    "END",
    "LANGUAGES",
    "PAD",
    "START",
    "NumberPair",
    "Vocabulary",
    "number_pairs",
    "pad",
    "split_pairs",
]

LANGUAGES = tuple(sorted(CONVERTER_CLASSES))


class NumberPair(NamedTuple):
    """One number and its words in two languages."""

    number: int
    source: str
    target: str


def number_pairs(
    source: str = "en", target: str = "de", low: int = 0, high: int = 10_000
) -> list[NumberPair]:
    """Spell every number from `low` up to, but not including, `high` in two languages.

    Args:
        source: Language to translate from, one of `LANGUAGES`.
        target: Language to translate into, one of `LANGUAGES`.
        low: The first number.
        high: One more than the last number.

    Returns:
        One `NumberPair` (number, source, target) for each number, in order.

    Raises:
        ValueError: A language is unknown, the range is empty, or `num2words` cannot
            spell one of the numbers.
    """
    for language in (source, target):
        if language not in LANGUAGES:
            known = ", ".join(LANGUAGES)
            raise ValueError(f"Unknown language {language!r}; choose from: {known}.")
    if low >= high:
        raise ValueError(f"low={low} to high={high} is empty: high is not included.")
    return [
        NumberPair(number, _spell(number, source), _spell(number, target))
        for number in range(low, high)
    ]


def _spell(number: int, language: str) -> str:
    """Return the words of a number; `num2words` has gaps in some languages."""
    try:
        return num2words(number, lang=language)
    except Exception as error:
        raise ValueError(f"num2words cannot spell {number} in {language!r}.") from error


def split_pairs(
    pairs: Sequence[NumberPair], held_out: float = 0.1, seed: int = 0
) -> tuple[list[NumberPair], list[NumberPair]]:
    """Hold out some of the numbers, with every pair that spells them.

    The same numbers and the same seed give the same split in all languages.

    Args:
        pairs: What `number_pairs` returned; several lists may be joined.
        held_out: The fraction of the numbers to hold out, between 0 and 1.
        seed: Another seed holds out other numbers.

    Returns:
        The training pairs and the held-out pairs, both in the order of `pairs`.

    Raises:
        ValueError: One of the two parts would be empty.
    """
    draw = random.Random(seed).random  # the one draw that Python promises to keep
    order = sorted(sorted({pair.number for pair in pairs}), key=lambda _: draw())
    count = round(held_out * len(order))
    if not 0 < count < len(order):
        raise ValueError(
            f"held_out={held_out} of {len(order):,} numbers leaves one part empty."
        )
    chosen = set(order[:count])
    train = [pair for pair in pairs if pair.number not in chosen]
    return train, [pair for pair in pairs if pair.number in chosen]
