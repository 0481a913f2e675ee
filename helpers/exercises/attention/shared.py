"""What the exercises share: inputs of the cases, properties, fills, two mistakes."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
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


def _replaced(scores: Tensor, mask: Tensor, by: float | None) -> Tensor:
    by = torch.finfo(scores.dtype).min if by is None else by
    return scores.masked_fill(~mask, by)


def _lowered(scores: Tensor, mask: Tensor, by: float) -> Tensor:
    return scores + ~mask * by


# The usual ways to make the scores of blocked keys small: functions (scores, mask).
REPLACED = (partial(_replaced, by=-math.inf), partial(_replaced, by=-1e9))
FILLS = (*REPLACED, partial(_lowered, by=-1e9), partial(_lowered, by=-1e4))
# These two give the weights that -1e9 gives, but not its scores.
EVERY_FILL = (*FILLS, partial(_replaced, by=-1e4), partial(_replaced, by=None))


def under_every_fill(
    swap: Callable,
    see: Callable = lambda mask: mask,
    fills: Sequence[Callable] = FILLS,
    **steps: Any,
) -> tuple:
    """The same wrong answer once for each usual fill that gives other weights.

    They differ where a row has no key left.

    Args:
        swap: from `exchanging`, of an attention with a step `block(scores, mask)`
        see: what the wrong answer makes of the mask
        fills: functions (scores, mask)
        **steps: the steps that are exchanged
    """

    def block(fill: Callable) -> staticmethod:
        return staticmethod(lambda scores, mask: fill(scores, see(mask)))

    return tuple(swap(block=block(fill), **steps) for fill in fills)


def weights_not_requested(*spellings: Any) -> Misconception:
    """Two names for the one tensor that `attention` returns by default."""
    return mistake(
        "weights not requested",
        "A single tensor came back from the function that computes the attention, and "
        "Python unpacked its batch into your two names.",
        "What does that function return, and how do you ask it for the weights?",
        *spellings,
    )


def if_mask(*spellings: Any) -> Misconception:
    """`if mask` or `not mask`: torch says the same about both."""
    return mistake(
        "a whole mask taken for true or false",
        "Python was asked whether a whole mask is true, as `if`, `not`, `and` and `or` "
        "ask, and a tensor of many entries has no single answer.",
        "Do you want to know whether there is a mask, `mask is not None`, or to turn "
        "each of its entries round, `~mask`? Neither is a question about its truth.",
        *spellings,
    )
