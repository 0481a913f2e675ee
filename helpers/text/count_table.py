"""A table of counts that predicts the next character: the rival of lesson 07."""

import math
from collections import Counter, defaultdict

import torch


class CountTable:
    """Which characters came after a piece of text, and how often.

    Where a longer context was seen too seldom, the table asks a shorter one: it takes
    (n p + d p') / (n + d), with n times that the context was seen, p the shares that
    were counted after it, d different characters among them, and p' the probabilities
    by the context that is one character shorter. The shortest of all is 1 / V.

    Source: Witten and Bell 1991, method C, interpolated; Chen and Goodman 1998,
    section 2.5.
    """

    def __init__(self, text: str, context: int, characters: str) -> None:
        """Count.

        Args:
            text: to learn from
            context: how many characters the table looks back, 0 or more
            characters: the vocabulary, V characters
        """
        self.context, self.characters = context, characters
        self.rows: dict[str, Counter[str]] = defaultdict(Counter)
        for length in range(context + 1):
            for end in range(length, len(text)):
                self.rows[text[end - length : end]][text[end]] += 1

    def __len__(self) -> int:
        """How many counts the table holds."""
        return sum(map(len, self.rows.values()))

    def probability(self, before: str, character: str) -> float:
        """Of one character, after a text of any length."""
        p = 1 / len(self.characters)
        for length in range(min(self.context, len(before)) + 1):
            row = self.rows.get(before[len(before) - length :])
            if row is None:  # then no longer context was seen either
                break
            p = (row[character] + len(row) * p) / (row.total() + len(row))
        return p

    def bits(self, text: str) -> list[float]:
        """What each character of a text costs, from the first whole context on."""
        look = self.context
        return [
            -math.log2(self.probability(text[end - look : end], text[end]))
            for end in range(look, len(text))
        ]

    def write(
        self,
        start: str,
        length: int,
        *,
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> str:
        """Write on, character by character.

        Args:
            start: a beginning, which may be empty
            length: how many characters
            temperature: below 1 the probable becomes more probable
            generator: where the chance comes from

        Returns:
            The beginning and what was written.
        """
        for _ in range(length):
            before = start[max(0, len(start) - self.context) :]
            all_of = [self.probability(before, one) for one in self.characters]
            shares = torch.tensor(all_of) ** (1 / temperature)  # multinomial needs no 1
            start += self.characters[
                torch.multinomial(shares, 1, generator=generator).item()
            ]
        return start
