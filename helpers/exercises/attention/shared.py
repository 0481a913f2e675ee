"""What the exercises share: inputs of the cases, properties, and two mistakes."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Case, Misconception, Property, mistake

# d_head is a perfect square, because `torch.sqrt(torch.tensor(d_head))` is a right
# answer, and float32. It is not 4, whose root is also its half.
BATCH, HEADS, QUERIES, KEYS, D_HEAD, WIDTH = 2, 3, 5, 7, 9, 6


def random_mask(draw: torch.Generator, *size: int) -> Tensor:
    """A random mask in which every row may attend to some keys, but not to all."""
    mask = torch.rand(size, generator=draw) < 0.6
    mask[..., 0], mask[..., -1] = True, False
    return mask


def leak(weights: Tensor, may_attend: Tensor) -> str | None:
    """The first weight that went to a key it must not go to, as evidence.

    Args:
        weights: (..., T, S)
        may_attend: a mask that broadcasts to the weights
    """
    blocked = weights[~may_attend.expand(weights.shape)]
    leaked = blocked[blocked.abs() > 1e-6]
    return f"one of them gets {leaked[0].item():.4g}" if leaked.numel() else None


def _rows(case: Case, outputs: Mapping[str, Any]) -> str | None:
    if "weights" not in outputs:  # some cases look at the layers alone
        return None
    sums = outputs["weights"].sum(-1).flatten()
    off = sums[((sums - 1).abs() > 1e-4) | sums.isnan()]
    return f"one row sums to {off[0].item():.4f}" if off.numel() else None


def _blocked(case: Case, outputs: Mapping[str, Any]) -> str | None:
    masked = len(case.args) > 3
    return leak(outputs["weights"], case.args[3]) if masked else None


ROWS = Property("Does every row of the weights sum to 1", _rows)
BLOCKED = Property("Do blocked keys get zero weight", _blocked)


def weights_not_requested(*spellings: Any) -> Misconception:
    """Two names for the one tensor that `attention` returns by default."""
    return mistake(
        "weights not requested",
        "`attention` returned the output alone, and Python unpacked its batch of two "
        "into your two names.",
        "How do you tell `attention` to return the weights as well?",
        *spellings,
    )


def if_mask(*spellings: Any) -> Misconception:
    """`if mask` instead of `if mask is not None`."""
    return mistake(
        "`if mask` on a tensor",
        "`if mask` asks whether a whole tensor is true, and a tensor of many entries "
        "has no single answer.",
        "All you need to know is whether there is a mask at all.",
        *spellings,
    )
