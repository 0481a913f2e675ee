"""Between a text and its words, and between words and ids."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from helpers.corpora.vocabulary import END, PAD, SPECIAL, START

PIECE = re.compile(r"[\w-]+'?|\xa0\?|[.,?]")  # French: l' is a word, " ?" a mark


def joined(words: Iterable[str]) -> str:
    """Words as a text: a capital in front, no space before a mark or behind l'."""
    text = " ".join(words)
    text = re.sub(r" (?=[.,?\xa0])", "", text).replace("' ", "'")
    return text[:1].upper() + text[1:]


def parted(text: str) -> list[str]:
    """The words of a text, the first without its capital; marks are words, too."""
    return PIECE.findall(text[:1].lower() + text[1:])


@dataclass(frozen=True)
class Words:
    """A vocabulary of whole words; ids 0, 1 and 2 are `PAD`, `START` and `END`.

    It has what `helpers.corpora.vocabulary.Vocabulary` has for pieces of words.
    """

    pieces: tuple[str, ...]

    @classmethod
    def of(cls, words: Iterable[str]) -> "Words":
        """Return the vocabulary of some words, in the order of the alphabet."""
        return cls((*SPECIAL, *sorted(set(words))))

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, with `START` before and `END` behind.

        Raises:
            ValueError: The text has words that the vocabulary does not know.
        """
        words = parted(text)
        if unknown := [word for word in words if word not in self._ids]:
            raise ValueError(f"The vocabulary has no {unknown} of {text!r}.")
        return [START, *(self._ids[word] for word in words), END]

    def tokens(self, ids: Iterable[int] | Tensor) -> list[str]:
        """Return the words up to the first `END`, without special tokens."""
        found = []
        for index in map(int, ids):
            if index == END:
                break
            if index not in (PAD, START):
                found.append(self.pieces[index])
        return found

    def decode(self, ids: Iterable[int] | Tensor) -> str:
        """Return the text up to the first `END`."""
        return joined(self.tokens(ids))

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.pieces)}
