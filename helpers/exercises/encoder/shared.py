"""What the exercises share: random inputs, and layers computed from their weights.

The references read the weights out of the student's parts and compute everything else
themselves. So a part that was built with the wrong options is noticed.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models.layers import ACTIVATIONS


def normal(draw: torch.Generator, *size: int, dtype: Any = torch.float64) -> Tensor:
    """Standard normal numbers, drawn in float64 whatever the dtype."""
    return torch.randn(size, generator=draw, dtype=torch.float64).to(dtype)


@torch.no_grad()
def shake(*norms: Any) -> None:
    """Give each norm a gain and a bias of its own, the same ones in every run."""
    for number, norm in enumerate(norms):
        draw = torch.Generator().manual_seed(number)
        for name, middle in (("weight", 1.0), ("bias", 0.0)):
            value = getattr(norm, name, None)
            if isinstance(value, Tensor):
                value.copy_(middle + 0.5 * normal(draw, *value.shape))


def normalise(norm: Any, x: Tensor, eps: float) -> Tensor:
    """Layer norm with a part's gain and bias."""
    return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, eps)


def attend(attention: nn.Module, *inputs: Tensor, mask: Tensor | None) -> Tensor:
    """What an attention part puts out, whether or not the weights come with it."""
    output = attention(*inputs, mask)
    return output[0] if isinstance(output, tuple) else output


def linears(part: nn.Module) -> tuple[nn.Linear, nn.Linear]:
    """The two layers of a feed-forward part."""
    if hasattr(part, "W_1") and hasattr(part, "W_2"):
        return part.W_1, part.W_2
    first, second = [one for one in part.modules() if isinstance(one, nn.Linear)][:2]
    return first, second


def think(part: nn.Module, x: Tensor, activation: str) -> Tensor:
    """The feed-forward formula with a part's weights."""
    first, second = linears(part)
    return second(ACTIVATIONS[activation](first(x)))


def lacking(**parts: Any) -> str:
    """Which parts lack a bias, in words; a part that has no bias at all is None there.

    Args:
        **parts: name -> modules that should all hold biases
    """
    found = [
        name
        for name, modules in parts.items()
        if any(
            getattr(one, "bias", 0) is None
            for module in modules
            for one in module.modules()
        )
    ]
    return f"missing in {' and '.join(found)}" if found else "there"


def padded(*real: int, length: int) -> Tensor:
    """A padding mask (B, 1, 1, S) with so many real tokens per sequence."""
    return (torch.arange(length) < torch.tensor(real)[:, None])[:, None, None]
