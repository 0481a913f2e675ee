"""Independent solutions to 12.B."""

import math

import torch


def by_complex_numbers(x, positions, base=10_000.0):
    """A pair is a complex number, and turning it a product."""
    half = x.shape[-1] // 2
    speeds = base ** (-torch.arange(half, dtype=torch.float64) / half)
    turns = torch.polar(torch.ones(len(positions), half).double(), torch.outer(
        positions.double(), speeds
    ))  # fmt: skip
    turned = torch.complex(x[..., :half].double(), x[..., half:].double()) * turns
    return torch.cat([turned.real, turned.imag], -1).to(x.dtype)


def by_half_turned(x, positions, base=10_000.0):
    """As `transformers` does it: x cos + (-second, first) sin."""
    half = x.shape[-1] // 2
    powers = torch.arange(0, x.shape[-1], 2).double() / x.shape[-1]
    angles = positions.unsqueeze(-1) / base**powers
    angles = torch.cat([angles, angles], -1)
    swapped = torch.cat([-x[..., half:], x[..., :half]], -1)
    return x * angles.cos().to(x.dtype) + swapped * angles.sin().to(x.dtype)


def by_loops(x, positions, base=10_000.0):
    width = x.shape[-1]
    rows = []
    for row, position in enumerate(positions.tolist()):
        first, second = [], []
        for pair in range(width // 2):
            angle = position * base ** (-2 * pair / width)
            a, b = x[..., row, pair], x[..., row, pair + width // 2]
            first.append(a * math.cos(angle) - b * math.sin(angle))
            second.append(a * math.sin(angle) + b * math.cos(angle))
        rows.append(torch.stack(first + second, -1))
    return torch.stack(rows, -2)


def by_matrices(x, positions, base=10_000.0):
    """A matrix for each position, as in 1.M."""
    width = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, width, 2).double() / width)
    cos, sin = torch.diag_embed(angles.cos()), torch.diag_embed(angles.sin())
    upper, lower = torch.cat([cos, -sin], -1), torch.cat([sin, cos], -1)
    turns = torch.cat([upper, lower], -2).to(x)  # (T, K, K)
    return (turns @ x[..., None])[..., 0]


VARIANTS = {"12.B": (by_complex_numbers, by_half_turned, by_loops, by_matrices)}
