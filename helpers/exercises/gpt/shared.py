"""What the exercises share: a model whose every number tells it from the others."""

from typing import Any

import torch
from torch import nn

from helpers.exercises.kit import normal


@torch.no_grad()
def filled(module: nn.Module, draw: torch.Generator, dtype: Any = torch.float64) -> Any:
    """A module in eval mode, with random numbers in biases and norms as well.

    Fresh norms and biases are all 1 or 0, and hide mistakes.
    """
    module.to(dtype)
    for name, value in module.named_parameters():
        gain = value.dim() == 1 and name.endswith("weight")
        value.copy_(float(gain) + 0.4 * normal(draw, *value.shape))
    return module.eval()
