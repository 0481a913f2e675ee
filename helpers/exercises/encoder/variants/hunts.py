"""Independent solutions to 4.K, 4.L."""

import torch
import torch.nn.functional as F


def probe_by_formula(norm):
    x = torch.randn(
        3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )
    x[1] = 3 + x[1] / 1e4
    variance = ((x - x.mean(1, keepdim=True)) ** 2).sum(1, keepdim=True) / 2
    expected = (x - x.mean(1, keepdim=True)) / (variance + 1e-5) ** 0.5
    return bool((norm(x) - expected).abs().max() < 1e-7)


def probe_by_numbers(norm):
    x = torch.tensor([[2.0, -1.0, 3.0, 0.0], [1e-3, -1e-3, 1e-3, -1e-3]]).double()
    small = 1e-3 / (1e-6 + 1e-5) ** 0.5
    big = 2.5 + 1e-5
    expected = torch.tensor([[1.0, -2.0, 2.0, -1.0], [small, -small, small, -small]])
    expected = expected.double()
    expected[0] /= big**0.5
    return torch.allclose(norm(x), expected, atol=1e-6)


def probe_row_by_row(norm):
    draw = torch.Generator().manual_seed(3)
    for scale in (1e-4, 1e-2, 1.0, 100.0):
        x = scale * torch.randn(3, 4, dtype=torch.float64, generator=draw) + 1
        for row, got in zip(x, norm(x), strict=True):
            if not torch.allclose(got, F.layer_norm(row, row.shape), rtol=0, atol=1e-8):
                return False
    return True


def step_by_index(x, norm, attend):
    return x + attend(norm(x))[0]


def step_by_star(x, norm, attend):
    output, *_ = attend(norm(x))
    return torch.add(output, x)


def step_on_a_copy(x, norm, attend):
    y = x.clone()
    y += attend(norm(x))[0]
    return y


VARIANTS = {
    "4.K": (probe_by_formula, probe_by_numbers, probe_row_by_row),
    "4.L": (step_by_index, step_by_star, step_on_a_copy),
}
