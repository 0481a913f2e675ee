"""What the exercises share: inputs of the cases, and a property of all weights."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Case, Misconception, Property, mistake

# d_head is a square, for `torch.sqrt(torch.tensor(d_head))` is right, and float32. It
# is not 4, where the root and the half are one.
BATCH, HEADS, QUERIES, KEYS, D_HEAD, WIDTH = 2, 3, 5, 7, 9, 6


def random_mask(draw: torch.Generator, *size: int) -> Tensor:
    """A random mask in which every row may attend to something, and not to all."""
    mask = torch.rand(size, generator=draw) < 0.6
    mask[..., 0], mask[..., -1] = True, False
    return mask


def _rows(case: Case, outputs: Mapping[str, Any]) -> str | None:
    sums = outputs["weights"].sum(-1).flatten()
    off = sums[((sums - 1).abs() > 1e-4) | sums.isnan()]
    return f"one row sums to {off[0].item():.4f}" if off.numel() else None


ROWS = Property("Does every row of the weights sum to 1", _rows)


def weights_not_asked_for(*spellings: Any) -> Misconception:
    """Two names for the one tensor that `attention` returns by default."""
    return mistake(
        "weights not asked for",
        "`attention` returned the output alone, and Python unpacked its batch of two "
        "into your two names.",
        "How is `attention` told to return the weights as well?",
        *spellings,
    )


def mask_asked_for_its_truth(*spellings: Any) -> Misconception:
    """`if mask` instead of `if mask is not None`."""
    return mistake(
        "a mask asked for its truth",
        "`if mask` asks a whole tensor whether it is true, and it has many answers.",
        "What you want to know is whether there is a mask at all.",
        *spellings,
    )
