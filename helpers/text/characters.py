"""Text as characters: a vocabulary, and batches whose rows continue each other."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

VOWELS = "aeiou"
Batch = tuple[Tensor, Tensor]  # ids and the ids that follow them, (B, T) each


@dataclass(frozen=True)
class Characters:
    """A vocabulary of characters; a character's place is its id."""

    characters: str

    @classmethod
    def of(cls, text: str) -> "Characters":
        """The characters of a text, in the order of their code points."""
        return cls("".join(sorted(set(text))))

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> Tensor:
        """The ids of a text, (T,).

        Raises:
            ValueError: The text has a character that the vocabulary does not know.
        """
        unknown = sorted(set(text) - set(self.characters))
        if unknown:
            raise ValueError(f"The vocabulary has no {unknown}.")
        return torch.tensor([self._ids[one] for one in text], dtype=torch.long)

    def decode(self, ids: Tensor | list[int]) -> str:
        """The text that ids stand for."""
        return "".join(self.characters[int(one)] for one in ids)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {one: place for place, one in enumerate(self.characters)}


def batches(ids: Tensor, batch_size: int, length: int) -> list[Batch]:
    """Cut a text into batches whose rows go on from batch to batch.

    The text is arranged in B rows; batch after batch takes the next T columns. So the
    state after a row's piece is the right one to begin its next piece with.

    Args:
        ids: (L,), the text
        batch_size: B
        length: T

    Returns:
        Pairs of input (B, T) and target (B, T), the next character of each. The
        end of the text that does not fill a batch is left out.

    Raises:
        ValueError: The text does not fill a single batch.
    """
    count = (len(ids) - 1) // (batch_size * length)
    if count < 1:
        need = batch_size * length + 1
        raise ValueError(f"{len(ids)} characters do not fill a batch of {need}")
    used = count * batch_size * length
    inputs = ids[:used].view(batch_size, -1)  # (B, count * T)
    targets = ids[1 : used + 1].view(batch_size, -1)
    return list(zip(inputs.split(length, 1), targets.split(length, 1), strict=True))


def nearest(characters: str, vectors: Tensor) -> dict[str, str]:
    """For each character the other one whose vector is nearest to its own.

    Args:
        characters: n of them
        vectors: (n, D), in their order
    """
    gaps = torch.cdist(vectors, vectors).fill_diagonal_(float("inf"))
    return {
        one: characters[at]
        for one, at in zip(characters, gaps.argmin(1).tolist(), strict=True)
    }
