"""Independent solutions to 3.J."""

import torch
import torch.nn.functional as F
from torch import nn

from helpers.exercises.multi_head.variants.shared import (
    merge_by_cat,
    merge_by_view,
    split_by_einsum,
    split_by_slices,
)


class FusedBySplit(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.d_model, self.num_heads = d_model, num_heads
        self.to_qkv = nn.Linear(d_model, d_model * 3)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = self.to_qkv(x).split(self.d_model, dim=2)
        q, k, v = (split_by_slices(part, self.num_heads) for part in (q, k, v))
        scores = q @ k.mT / (self.d_model // self.num_heads) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -1e9)
        weights = scores.softmax(-1)
        return self.W_o(merge_by_cat(weights @ v)), weights


class FusedByPermute(FusedBySplit):
    def forward(self, x, mask=None):
        batch, length, _ = x.shape
        qkv = self.to_qkv(x).reshape(batch, length, 3, self.num_heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        scores = q @ k.mT * k.shape[-1] ** -0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(-1)
        return self.W_o((weights @ v).transpose(1, 2).reshape(x.shape)), weights


class FusedByRows(FusedBySplit):
    """The big layer taken apart again: three products with thirds of its rows."""

    def forward(self, x, mask=None):
        rows, biases = self.to_qkv.weight.chunk(3), self.to_qkv.bias.chunk(3)
        q, k, v = (
            split_by_einsum(F.linear(x, row, bias), self.num_heads)
            for row, bias in zip(rows, biases, strict=True)
        )
        added = 0.0 if mask is None else torch.where(mask, 0.0, -1e30)
        weights = (q @ k.mT / q.shape[-1] ** 0.5 + added).softmax(-1)
        return self.W_o(merge_by_view(weights @ v)), weights


VARIANTS = {
    "3.J": (FusedBySplit, FusedByPermute, FusedByRows),
}
