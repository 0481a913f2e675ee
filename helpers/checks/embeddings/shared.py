"""What the exercises share: inputs of the cases, and a look that forgives float64."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Look


def normal(draw: torch.Generator, *size: int, dtype: Any = torch.float64) -> Tensor:
    """Standard normal numbers, drawn in float64 whatever the dtype."""
    return torch.randn(size, generator=draw, dtype=torch.float64).to(dtype)


def some_ids(draw: torch.Generator, count: int, *size: int) -> Tensor:
    """Random ids below `count`, the first and the last id among them."""
    ids = torch.randint(0, count, size, generator=draw)
    ids.view(-1)[1], ids.view(-1)[-1] = 0, count - 1
    return ids


def as_float32(name: str) -> Callable[..., Look]:
    """A look that calls the answer and takes float64 for float32: not the point."""

    def look(call: Callable, *args: Any) -> Look:
        result = call(*args)
        if isinstance(result, Tensor) and result.dtype == torch.float64:
            result = result.float()
        return Look({name: result})

    return look
