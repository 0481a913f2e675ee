"""What the exercises share: token ids, and a mistake in the dtype."""

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.checks.exercise import Misconception, mistake


def some_ids(draw: torch.Generator, count: int, *size: int) -> Tensor:
    """Random ids below `count`, the first and the last id among them."""
    ids = torch.randint(0, count, size, generator=draw)
    ids.view(-1)[1], ids.view(-1)[-1] = 0, count - 1
    return ids


def in_float64(right: Callable[..., Tensor]) -> Misconception:
    """The right numbers, but in float64."""
    return mistake(
        "float64",
        "The numbers are right, but they are float64, where the docstring says "
        "float32, and a matrix product does not mix dtypes.",
        "Python and NumPy compute in float64. Where does your result become a tensor?",
        lambda *args: right(*args).double(),
    )
