"""Muon in float32: that of torch computes in bfloat16, which some machines lack."""

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of Jordan et al. 2024


def orthogonal(matrix: Tensor, steps: int = 5) -> Tensor:
    """Nearly the closest matrix with orthonormal rows (or columns), (M, N) -> (M, N).

    Newton-Schulz: a polynomial, applied `steps` times, moves all singular values to
    somewhere between 0.7 and 1.2.
    """
    a, b, c = COEFFICIENTS
    flip = matrix.shape[0] > matrix.shape[1]
    x = matrix.mT if flip else matrix
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(steps):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if flip else x


class Muon(torch.optim.Optimizer):
    """Momentum for matrices, made orthogonal before it is applied.

    A step changes a matrix by 0.2 x `lr` per entry (root mean square), as AdamW does.
    """

    def __init__(self, params, lr: float, weight_decay: float, momentum: float = 0.95):
        defaults = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None) -> None:
        """Update every matrix that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)

    def _update(self, parameter: Tensor, group: dict) -> None:
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
        momentum, beta = state["momentum"], group["momentum"]
        momentum.lerp_(parameter.grad, 1 - beta)
        direction = orthogonal(parameter.grad.lerp(momentum, beta))
        size = 0.2 * max(parameter.shape) ** 0.5
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.add_(direction, alpha=-group["lr"] * size)
