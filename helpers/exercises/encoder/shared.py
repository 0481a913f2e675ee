"""What the exercises share: parts computed from their weights.

The references only take the weights from the student's parts and compute everything
else themselves, so a part that was built with the wrong options is noticed.
"""

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models.layers import ACTIVATIONS


def normalise(norm: Any, x: Tensor, eps: float) -> Tensor:
    """Layer norm with the gain and bias of a norm."""
    return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, eps)


def linears(part: nn.Module) -> tuple[nn.Linear, nn.Linear]:
    """The two linear layers of a feed-forward network."""
    if hasattr(part, "W_1") and hasattr(part, "W_2"):
        return part.W_1, part.W_2
    first, second = [one for one in part.modules() if isinstance(one, nn.Linear)][:2]
    return first, second


def run_feed_forward(part: nn.Module, x: Tensor, activation: str) -> Tensor:
    """The feed-forward formula with the weights of a network."""
    first, second = linears(part)
    return second(ACTIVATIONS[activation](first(x)))


def lacking(**parts: Any) -> str:
    """Which parts lack a bias, in words.

    A module built without one has a `bias` that is None.

    Args:
        **parts: name -> modules that should all have biases
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
