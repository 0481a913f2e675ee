"""Lesson 02: one head of attention learns to write a row of digits backwards."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

DIGITS = 10  # the vocabulary
LENGTH = 8  # digits of a row


class OneHeadModel(nn.Module):
    """An embedding, one head of attention, and a layer that scores the ten digits.

    Args:
        head: a class like lesson 02's SelfAttention, made with d_model and d_head
        d_model: width of the vectors
        with_positions: whether each position adds a learned vector of its own
    """

    def __init__(
        self, head: type[nn.Module], d_model: int = 32, with_positions: bool = True
    ) -> None:
        super().__init__()
        self.digits = nn.Embedding(DIGITS, d_model)
        self.positions = nn.Embedding(LENGTH, d_model)
        self.with_positions = with_positions
        self.head = head(d_model, d_model)
        self.scores = nn.Linear(d_model, DIGITS)

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Score the ten digits at every position, and tell where the head looked.

        Args:
            rows: digits (B, LENGTH)

        Returns:
            logits (B, LENGTH, DIGITS), weights (B, LENGTH, LENGTH)
        """
        x = self.digits(rows)  # (B, T, D)
        if self.with_positions:
            x = x + self.positions.weight
        output, weights = self.head(x)
        return self.scores(output), weights


def digit_rows(count: int, size: int, seed: int) -> Iterator[Tensor]:
    """So many batches of random rows of digits, each (size, LENGTH)."""
    draw = torch.Generator().manual_seed(seed)
    for _ in range(count):
        yield torch.randint(DIGITS, (size, LENGTH), generator=draw)


def reversal_loss(model: nn.Module, rows: Tensor) -> Tensor:
    """Cross-entropy of the scores for rows (B, LENGTH) against the rows reversed."""
    logits, _ = model(rows)
    return nn.functional.cross_entropy(logits.mT, rows.flip(1))


@torch.no_grad()
def share_reversed(model: nn.Module, rows: Tensor) -> float:
    """The share of digits that a model writes right, on rows (B, LENGTH)."""
    logits, _ = model(rows)
    return (logits.argmax(-1) == rows.flip(1)).float().mean().item()


def commonest_of_the_others(rows: Tensor) -> float:
    """How often a digit that is drawn from the other positions is their commonest one.

    Whoever knows which digits stand in a row, but not where, can't do better at naming
    the digit of some other position.

    Args:
        rows: digits (B, LENGTH)
    """
    counts = nn.functional.one_hot(rows, DIGITS).sum(1, keepdim=True)  # (B, 1, DIGITS)
    others = counts - nn.functional.one_hot(rows, DIGITS)  # (B, LENGTH, DIGITS)
    return (others.amax(-1) / (LENGTH - 1)).mean().item()
