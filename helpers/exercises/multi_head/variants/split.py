"""Independent solutions to 3.A."""

import torch
from torch import Tensor

from helpers.exercises.multi_head.variants.shared import (
    merge_by_cat,
    merge_by_view,
    split_by_einsum,
    split_by_slices,
)


def split_by_permute(x: Tensor, num_heads: int) -> Tensor:
    b, t, d = x.size()
    return x.view(b, t, num_heads, d // num_heads).permute(0, 2, 1, 3).contiguous()


def merge_by_filling(x: Tensor) -> Tensor:
    batch, heads, length, d_head = x.shape
    merged = torch.zeros(batch, length, heads * d_head, dtype=x.dtype)
    for head in range(heads):
        merged[..., head * d_head : (head + 1) * d_head] = x[:, head]
    return merged


VARIANTS = {
    "3.A": (
        (split_by_slices, merge_by_cat),
        (split_by_permute, merge_by_view),
        (split_by_einsum, merge_by_filling),
    ),
}
