"""What several of these solutions share."""

import torch
from torch import Tensor


def split_by_slices(x: Tensor, num_heads: int) -> Tensor:
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def split_by_einsum(x: Tensor, num_heads: int) -> Tensor:
    return torch.einsum("bthk->bhtk", x.unflatten(-1, (num_heads, -1)))


def merge_by_cat(x: Tensor) -> Tensor:
    return torch.cat(x.unbind(1), dim=-1)


def merge_by_view(x: Tensor) -> Tensor:
    b, h, t, k = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(b, t, h * k)
