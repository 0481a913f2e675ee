"""Muon, an optimizer for the matrices inside a network."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the fifth-degree polynomial
ITERATIONS = 5


class Muon(Optimizer):
    """Momentum whose matrix is made nearly orthogonal before each step.

    `torch.optim.Muon` does the same in bfloat16, which takes ten times as long on a
    processor without instructions for it. This one computes in the dtype of the
    weights.

    Args:
        params: weights of two axes
        lr: the size of a step, along each direction; taller matrices take larger
            ones, by the root of rows / columns
        momentum: how much of the last update is kept
        weight_decay: which share of a weight, times `lr`, is taken off in each step
        like_adam: a step changes each entry by about 0.2 lr instead, as AdamW does

    Raises:
        ValueError: A weight has not two axes.

    Source: Jordan et al. 2024, *Muon: an optimizer for hidden layers in neural
    networks*.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        like_adam: bool = False,
    ) -> None:
        """Take over the weights."""
        defaults = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        defaults["like_adam"] = like_adam
        super().__init__(params, defaults)
        for group in self.param_groups:
            for value in group["params"]:
                if value.dim() != 2:
                    raise ValueError(
                        "Muon trains matrices, and one of these weights has the shape "
                        f"{tuple(value.shape)}: give it to another optimizer."
                    )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the weights by one step (with Nesterov's momentum)."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for value in group["params"]:
                if value.grad is not None:
                    self._update(value, group)
        return loss

    def _update(self, value: Tensor, group: dict[str, Any]) -> None:
        state, rate = self.state[value], group["lr"]
        if not state:
            state["momentum"] = torch.zeros_like(value)
        state["momentum"].lerp_(value.grad, 1 - group["momentum"])
        direction = value.grad.lerp(state["momentum"], group["momentum"])
        direction = orthogonal(direction)
        rows, columns = value.shape
        value.mul_(1 - rate * group["weight_decay"])
        size = max(1.0, rows / columns) ** 0.5
        if group["like_adam"]:
            size = 0.2 * max(rows, columns) ** 0.5
        value.add_(direction, alpha=-rate * size)


def orthogonal(matrix: Tensor) -> Tensor:
    """Nearly the orthogonal matrix that is closest: singular values about 1.

    Five Newton-Schulz iterations, whose polynomial brings them between 0.7 and 1.2.

    Args:
        matrix: (rows, columns)
    """
    a, b, c = COEFFICIENTS
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.mT
    x = wide / wide.norm().clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x if wide is matrix else x.mT
