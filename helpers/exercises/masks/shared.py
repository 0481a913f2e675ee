"""What the exercises share: padded ids, and the ways to block a score."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from helpers.exercises.kit import words

FILLS = (float("-inf"), -1e9, -1e4, -1e20, None)  # None: the lowest of the dtype


def padded_ids(
    draw: torch.Generator, lengths: Sequence[int], width: int, most: int = 9
) -> Tensor:
    """Ids from 1 to `most`, one row per length, padded with 0 to `width`.

    The first row has a 1, a 2 and a repeated id: a mask that takes one of them for
    padding differs from the right one.
    """
    ids = words(draw, most + 1, len(lengths), width)
    ids[0, : min(4, width)] = torch.tensor([1, 2, 5, 5])[: min(4, width)]
    for row, length in enumerate(lengths):
        ids[row, length:] = 0
    return ids


def filling(fill: float | None) -> Callable[[Tensor, Tensor], Tensor]:
    """What replaces the scores that are out by this number."""

    def blocked(scores: Tensor, out: Tensor) -> Tensor:
        low = torch.finfo(scores.dtype).min if fill is None else fill
        return scores.masked_fill(out, low)

    return blocked


def _adding(fill: float) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda scores, out: scores + out * fill


# (scores, out) -> scores. They differ where everything is out: then -inf gives NaN, a
# number in its place gives equal weights, and one that is added leaves the weights.
BLOCKERS = (filling(FILLS[0]), filling(FILLS[1]), _adding(-1e9), _adding(-1e4))


def additive(mask: Tensor, fill: float | None = float("-inf")) -> Tensor:
    """0 where the mask is True, this number elsewhere."""
    return filling(fill)(torch.zeros(mask.shape), ~mask)
