"""What the exercises share: random tensors that leave no gate saturated."""

import torch
from torch import Tensor

DOUBLE = torch.float64


def normal(
    draw: torch.Generator,
    *sizes: int,
    scale: float = 1.0,
    dtype: torch.dtype = DOUBLE,
) -> Tensor:
    """Normal numbers with this standard deviation."""
    return scale * torch.randn(sizes, generator=draw, dtype=dtype)
