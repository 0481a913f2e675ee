"""Independent solutions to 3.D."""

import numpy as np
import torch


def alike_by_one_swap(layer) -> bool:
    x = torch.randn(5, 8, dtype=torch.float64)
    swapped = x[[1, 0, 2, 3, 4]]
    before, after = layer(x).double(), layer(swapped).double()
    return torch.allclose(before[[1, 0, 2, 3, 4]], after, atol=1e-4)


def alike_with_a_matrix(layer) -> bool:
    x, places = torch.rand(5, 8), torch.eye(5)[[1, 3, 0, 2, 4]]
    gap = places.T @ layer(places @ x) - layer(x)
    return bool(gap.abs().max() < 1e-3)


def alike_by_many_orders(layer) -> bool:
    x = torch.arange(40.0).reshape(5, 8).sin()
    for _ in range(5):
        order = torch.randperm(5)
        back = torch.argsort(order)
        if not torch.allclose(layer(x[order])[back], layer(x), atol=1e-4):
            return False
    return True


def alike_in_one_fixed_order(layer) -> bool:
    x, order = torch.randn(5, 8), [2, 0, 4, 1, 3]
    return torch.allclose(layer(x[order]), layer(x)[order], atol=1e-4)


def alike_by_rolling_three(layer) -> np.bool_:
    def roll(x):
        return torch.cat([x[:3].roll(1, 0), x[3:]])

    x = torch.randn(5, 8)
    return np.allclose(layer(roll(x)).numpy(), roll(layer(x)).numpy(), atol=1e-4)


VARIANTS = {
    "3.D": (
        alike_by_one_swap,
        alike_with_a_matrix,
        alike_by_many_orders,
        alike_in_one_fixed_order,
        alike_by_rolling_three,
    ),
}
