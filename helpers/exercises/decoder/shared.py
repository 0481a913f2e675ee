"""What the exercises share: inputs, masks, and norms that can be told apart."""

from typing import Any

import torch
from torch import Tensor, nn

# Tables of positions are made in float32 before a module turns to float64.
TABLE = 1e-6


def normal(draw: torch.Generator, *size: int, dtype: Any = torch.float64) -> Tensor:
    """Standard normal numbers, drawn in float64 whatever the dtype."""
    return torch.randn(size, generator=draw, dtype=torch.float64).to(dtype)


def words(draw: torch.Generator, vocab_size: int, *size: int) -> Tensor:
    """Random token ids, none of them padding."""
    return torch.randint(1, vocab_size, size, generator=draw)


def no_future(length: int) -> Tensor:
    """(T, T), True at and below the diagonal."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def real(*lengths: int, of: int) -> Tensor:
    """A padding mask (B, H=1, T=1, S) with so many real tokens per sequence."""
    return (torch.arange(of) < torch.tensor(lengths)[:, None])[:, None, None]


@torch.no_grad()
def shake(module: Any) -> None:
    """Give each norm in a module a gain and a bias of its own, the same in every run.

    Fresh norms are all 1 and 0, and hide which one was used where.
    """
    norms = [one for one in module.modules() if isinstance(one, nn.LayerNorm)]
    draw = torch.Generator().manual_seed(0)
    for norm in norms:
        for name, middle in (("weight", 1.0), ("bias", 0.0)):
            value = getattr(norm, name)
            if value is not None:
                value.copy_(middle + 0.5 * normal(draw, *value.shape))


def attend(part: nn.Module, *inputs: Any) -> Tensor:
    """What an attention part puts out, whether or not the weights come with it."""
    output = part(*inputs)
    return output[0] if isinstance(output, tuple) else output
