"""Lesson 03: a layer of attention answers two questions about every digit of a row."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.experiments.reversal import DIGITS, LENGTH, digit_rows
from helpers.training.loop import train

QUESTIONS = 2


class TwoQuestionsModel(nn.Module):
    """An embedding, one layer of attention, and a layer that scores both answers.

    Args:
        attention: a class made with d_model and num_heads, whose instances take query,
            key and value and return the output, with `need_weights` also the weights
        num_heads: that share the width
        d_model: width of the vectors
        hidden: width of a layer with a ReLU between attention and scores; 0 for none
    """

    def __init__(
        self,
        attention: type[nn.Module],
        num_heads: int,
        d_model: int = 32,
        hidden: int = 0,
    ) -> None:
        super().__init__()
        self.digits = nn.Embedding(DIGITS, d_model)
        self.positions = nn.Embedding(LENGTH, d_model)
        self.attention = attention(d_model, num_heads)
        self.hidden = nn.Sequential()
        if hidden:
            self.hidden = nn.Sequential(nn.Linear(d_model, hidden), nn.ReLU())
        self.scores = nn.Linear(hidden or d_model, QUESTIONS * DIGITS)

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Score the ten digits for both questions, and tell where the heads looked.

        Args:
            rows: digits (B, LENGTH)

        Returns:
            logits (B, LENGTH, QUESTIONS, DIGITS), weights (B, H, LENGTH, LENGTH)
        """
        x = self.digits(rows) + self.positions.weight  # (B, T, D)
        output, weights = self.attention(x, x, x, need_weights=True)
        logits = self.scores(self.hidden(output))
        return logits.unflatten(-1, (QUESTIONS, DIGITS)), weights


def answers(rows: Tensor) -> Tensor:
    """The digit in the mirror place, and the one before: (B, LENGTH, QUESTIONS).

    Before the first digit stands the last one.

    Args:
        rows: digits (B, LENGTH)
    """
    return torch.stack([rows.flip(1), rows.roll(1, 1)], -1)


def two_questions_loss(model: nn.Module, rows: Tensor) -> Tensor:
    """Cross-entropy of the scores for rows (B, LENGTH), a mean over both questions."""
    logits, _ = model(rows)
    return F.cross_entropy(logits.flatten(0, 2), answers(rows).flatten())


@torch.no_grad()
def shares_right(model: nn.Module, rows: Tensor) -> list[float]:
    """The share of right answers to each question, on rows (B, LENGTH)."""
    logits, _ = model(rows)
    return (logits.argmax(-1) == answers(rows)).float().mean((0, 1)).tolist()


def learn(model: nn.Module, steps: int, rate: float, seed: int) -> list[float]:
    """Train on rows of digits, 64 at a time; returns the loss of every step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    rows = digit_rows(steps, 64, seed)
    return train(model, rows, two_questions_loss, optimizer, steps).loss
