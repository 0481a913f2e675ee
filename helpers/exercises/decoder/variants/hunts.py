"""Independent solutions to 5.F, 5.G."""

import torch
from torch import Tensor


def mass_by_loops(weights, source_mask) -> float:
    total, count = 0.0, 0
    for sequence, mask in zip(weights, source_mask, strict=True):
        for row in sequence.flatten(0, 1):
            count += 1
            total += row[~mask.flatten()].sum().item()
    return total / count


def mass_of_the_rest(weights, source_mask) -> Tensor:
    return 1 - (weights * source_mask).sum(-1).mean()


def mass_by_einsum(weights, source_mask) -> float:
    padding = (~source_mask[:, 0, 0]).to(weights.dtype)
    return torch.einsum("bhts,bs->bht", weights, padding).mean().item()


def reads_by_two_facts(layer) -> bool:
    draw = torch.Generator().manual_seed(1)
    x, one, other = (torch.randn(3, 6, 8, generator=draw) for _ in range(3))
    changed = (layer(x, one) - layer(x, other)).abs().max() > 1e-3
    turned = (layer(x, one) - layer(x, one.roll(1, 1))).abs().max() < 1e-4
    return bool(changed and turned)


def reads_in_double(layer) -> bool:
    draw = torch.Generator().manual_seed(2)
    size = {"generator": draw, "dtype": torch.float64}
    x, memory = torch.randn(1, 7, 8, **size), torch.randn(1, 7, 8, **size)
    order = torch.randperm(7, generator=draw)
    same = torch.allclose(layer(x, memory), layer(x, memory[:, order]), atol=1e-9)
    return same and not torch.allclose(layer(x, memory), layer(x, -memory))


def reads_by_repeating(layer) -> bool:
    """If every word of memory stands there twice as often, nothing changes."""
    draw = torch.Generator().manual_seed(3)
    x, half = (torch.randn(2, n, 8, generator=draw) for n in (6, 3))
    together, apart = torch.cat([half, half], 1), half.repeat_interleave(2, 1)
    close = torch.allclose(layer(x, together), layer(x, apart), atol=1e-5)
    return close and not torch.allclose(layer(x, together), layer(x, 2 * together))


VARIANTS = {
    "5.F": (mass_by_loops, mass_of_the_rest, mass_by_einsum),
    "5.G": (reads_by_two_facts, reads_in_double, reads_by_repeating),
}
