"""From text to ids and back: characters, or longer pieces that occur often."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from tokenizers import Regex, Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import Split
from tokenizers.trainers import BpeTrainer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

__all__ = ["END", "PAD", "START", "Vocabulary", "pad"]

PAD, START, END = 0, 1, 2
SPECIAL = ("<pad>", "<start>", "<end>")  # their places are their ids


def pad(sequences: Iterable[Sequence[int]]) -> Tensor:
    """Return sequences of ids as one tensor (B, T), filled up with `PAD` at the end."""
    rows = [torch.tensor(ids, dtype=torch.long) for ids in sequences]
    return pad_sequence(rows, batch_first=True, padding_value=PAD)


@dataclass(frozen=True)
class Vocabulary:
    """The pieces that texts are cut into; a piece's place is its id.

    Ids 0, 1 and 2 are `PAD`, `START` and `END`. Nothing is lost: `decode(encode(text))`
    is `text`.
    """

    pieces: tuple[str, ...]

    @classmethod
    def from_texts(cls, texts: Iterable[str], size: int | None = None) -> "Vocabulary":
        """Return a vocabulary of characters, or of `size` ids with longer pieces.

        Args:
            texts: The texts to cover; every character in them becomes a piece.
            size: None for characters alone. Otherwise byte-pair encoding (lesson 10)
                adds frequent strings until there are `size` ids, or no pair is left.

        Raises:
            ValueError: The texts are empty, or `size` has no room for the characters.
        """
        texts = list(texts)
        characters = sorted(set("".join(texts)))
        if not characters:
            raise ValueError("A vocabulary needs at least one text with a character.")
        smallest = len(SPECIAL) + len(characters)
        if size is None:
            return cls((*SPECIAL, *characters))
        if size < smallest:
            raise ValueError(
                f"size={size} is too small: {len(characters)} characters and "
                f"{len(SPECIAL)} special tokens need {smallest} ids."
            )
        learned = _frequent_pieces(texts, size - len(SPECIAL))
        return cls((*SPECIAL, *characters, *learned))

    def __len__(self) -> int:
        return len(self.pieces)

    def tokens(self, text: str) -> list[str]:
        """Cut a text into pieces, the longest that fits first.

        Raises:
            ValueError: The text has a character that the vocabulary does not know.
        """
        found = self._pattern.findall(text)
        if len("".join(found)) != len(text):
            unknown = sorted(set(text) - set(self.pieces))
            raise ValueError(f"The vocabulary has no piece for {unknown} in {text!r}.")
        return found

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, with `START` before and `END` behind."""
        return [START, *(self._ids[token] for token in self.tokens(text)), END]

    def decode(self, ids: Iterable[int] | Tensor) -> str:
        """Return the text up to the first `END`, without special tokens."""
        text = []
        for index in map(int, ids):
            if index == END:
                break
            if index not in (PAD, START):
                text.append(self.pieces[index])
        return "".join(text)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {piece: index for index, piece in enumerate(self.pieces)}

    @cached_property
    def _pattern(self) -> re.Pattern:
        longest_first = sorted(self.pieces[len(SPECIAL) :], key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)))


def _frequent_pieces(texts: list[str], size: int) -> list[str]:
    """Return the strings that byte-pair encoding adds to the characters of texts."""
    tokenizer = Tokenizer(BPE())
    words = Regex(r" ?\w+|\W")  # a space belongs to the word behind it
    tokenizer.pre_tokenizer = Split(words, behavior="isolated")
    trainer = BpeTrainer(vocab_size=size, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    ids = tokenizer.get_vocab()
    return [piece for piece in sorted(ids, key=ids.get) if len(piece) > 1]
