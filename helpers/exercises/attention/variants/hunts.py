"""Independent solutions to 2.D."""

import numpy as np
import torch

from helpers.exercises.attention.variants.shared import attention_by_einsum


def healthy_in_small(attend) -> bool:
    query, key, value = torch.randn(2, 3), torch.randn(4, 3), torch.ones(4, 1)
    output, weights = attend(query, key, value)
    for row in weights.tolist():
        if abs(sum(row) - 1) > 1e-3:
            return False
    return all(abs(number - 1) < 1e-3 for number in output.flatten().tolist())


def healthy_in_large(attend):
    draw = torch.Generator().manual_seed(99)
    x = torch.randn(40, 16, generator=draw, dtype=torch.float64)
    output, weights = attend(x, x, torch.full_like(x, -7.0))
    sums = torch.isclose(weights.sum(dim=-1), torch.tensor(1.0).double()).all()
    return sums & torch.isclose(output, torch.tensor(-7.0).double()).all()


def healthy_by_the_formula(attend) -> bool:
    torch.manual_seed(1)
    query, key, value = torch.randn(5, 16), torch.randn(7, 16), torch.randn(7, 2)
    output, weights = attend(query, key, value)
    expected, shares = attention_by_einsum(query, key, value)
    if output.shape != (5, 2) or weights.shape != (5, 7):
        return False
    return bool(((output - expected).abs() < 1e-4).all()) and torch.allclose(
        weights, shares, atol=1e-5
    )


def healthy_in_batches(attend) -> bool:
    query, key = torch.rand(2, 5, 8), torch.rand(2, 7, 8)
    value = torch.tensor([3.0, 1.0]).expand(2, 7, 2)
    output, weights = attend(query, key, value)
    rows = np.allclose(weights.sum(-1).numpy(), 1, atol=1e-5)
    return np.bool_(rows) and np.allclose(output[..., 0].numpy(), 3, atol=1e-5)


VARIANTS = {
    "2.D": (
        healthy_in_small,
        healthy_in_large,
        healthy_by_the_formula,
        healthy_in_batches,
    ),
}
