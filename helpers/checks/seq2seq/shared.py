"""What the exercises share: numbers, sentences with padding, and masks."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def normal(draw: torch.Generator, *size: int, dtype: Any = torch.float64) -> Tensor:
    """Standard normal numbers, drawn in float64 whatever the dtype."""
    return torch.randn(size, generator=draw, dtype=torch.float64).to(dtype)


def sentences(
    draw: torch.Generator, lengths: Sequence[int], width: int, most: int
) -> Tensor:
    """Ids from 1 to `most`, a row per length, filled up with 0 to the width."""
    ids = torch.randint(1, most + 1, (len(lengths), width), generator=draw)
    return ids * (torch.arange(width) < torch.tensor(lengths)[:, None])


def real(lengths: Sequence[int], width: int) -> Tensor:
    """(B, T=1, S), True for so many places of each row."""
    return (torch.arange(width) < torch.tensor(lengths)[:, None])[:, None]
