"""What the exercises share: a model whose every number tells it from the others."""

from typing import Any

import torch
from torch import nn

from helpers.exercises.kit import normal


def tokens(draw: torch.Generator, vocab_size: int, *size: int) -> torch.Tensor:
    """Random ids (B, T) of the whole vocabulary; id 0 stands in the last text.

    It is a token like any other here: whoever leaves it out should notice.
    """
    ids = torch.randint(0, vocab_size, size, generator=draw)
    ids[-1, ids.shape[1] // 2] = 0
    return ids


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
