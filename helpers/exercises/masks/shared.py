"""What the exercises share: padded ids, and masks that are added."""

from collections.abc import Sequence

import torch
from torch import Tensor

from helpers.exercises.kit import words


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


def additive(mask: Tensor) -> Tensor:
    """0 where the mask is True, minus infinity elsewhere."""
    return torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))
