"""Independent solutions to 3.D."""

import numpy as np
import torch


def alike_by_one_swap(layer) -> bool:
    x = torch.randn(5, 8, dtype=torch.float64)
    swapped = x[[1, 0, 2, 3, 4]]
    before, after = layer(x).double(), layer(swapped).double()
    return torch.allclose(before[[1, 0, 2, 3, 4]], after, atol=1e-4)


def alike_backwards(layer) -> bool:
    x = torch.rand(5, 8)
    gap = layer(x.flip(0)).flip(0) - layer(x)
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


def alike_by_rolling(layer) -> np.bool_:
    x = torch.randn(5, 8)
    one, other = layer(x.roll(2, 0)).numpy(), layer(x).roll(2, 0).numpy()
    return np.allclose(one, other, atol=1e-4)


VARIANTS = {
    "3.D": (
        alike_by_one_swap,
        alike_backwards,
        alike_by_many_orders,
        alike_in_one_fixed_order,
        alike_by_rolling,
    ),
}
