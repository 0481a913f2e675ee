"""Number words as a translation task: pairs, vocabularies, and the score.

Numbers are held out, not pairs: a model that is asked for "forty-two" has never seen 42
in any form. Lessons 06 and 08 learn from the same pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from helpers.corpora.numbers import (
    NumberPair,
    Vocabulary,
    number_pairs,
    pad,
    split_pairs,
)

PIECES = 80  # ids of the target: "zwei", "und", "vierzig" are pieces, and so is "z"
MANY = 1000  # more ids than the source has use for: whole words become pieces


@dataclass(frozen=True)
class NumberTask:
    """Two languages, the numbers to learn from and the numbers to be tested on."""

    train: tuple[NumberPair, ...]
    held_out: tuple[NumberPair, ...]
    source: Vocabulary
    target: Vocabulary

    def ids(self, pairs: Sequence[NumberPair]) -> list[tuple[list[int], list[int]]]:
        """Source ids and target ids of each pair, each with start and end."""
        return [
            (self.source.encode(pair.source), self.target.encode(pair.target))
            for pair in pairs
        ]

    def sources(self, pairs: Sequence[NumberPair]) -> Tensor:
        """(B, S): what a translator gets to read."""
        return pad(self.source.encode(pair.source) for pair in pairs)

    def texts(self, written: Tensor) -> list[str]:
        """(B, T) target ids -> the text of each row."""
        return [self.target.decode(row) for row in written]


def number_task(
    source: str = "en", target: str = "de", high: int = 10_000, held_out: float = 0.1
) -> NumberTask:
    """All numbers below `high` in two languages, a tenth of them held out.

    The vocabularies are learned from the training part alone.
    """
    train, test = split_pairs(number_pairs(source, target, high=high), held_out)
    sources = Vocabulary.from_texts([pair.source for pair in train], MANY)
    targets = Vocabulary.from_texts([pair.target for pair in train], PIECES)
    return NumberTask(tuple(train), tuple(test), sources, targets)


def exact_match(pairs: Sequence[NumberPair], texts: Sequence[str]) -> float:
    """The share of the texts that are right in every letter."""
    right = [text == pair.target for pair, text in zip(pairs, texts, strict=True)]
    return sum(right) / len(right)


def misses(task: NumberTask, texts: Sequence[str]) -> list[tuple[NumberPair, str]]:
    """The held-out pairs that were translated wrongly, each with what was written."""
    both = zip(task.held_out, texts, strict=True)
    return [(pair, text) for pair, text in both if text != pair.target]
