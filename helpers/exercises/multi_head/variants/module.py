"""Independent solutions to 3.C."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ByKernel(nn.Module):
    """Fused kernel for the output; the weights computed separately."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("the heads cannot share this width")
        self.h, self.k = num_heads, d_model // num_heads
        self.W_o = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_q = nn.Linear(d_model, d_model)

    def heads(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), -1, self.h, self.k).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k = self.heads(self.W_q(query)), self.heads(self.W_k(key))
        v = self.heads(self.W_v(value))
        scores = torch.matmul(q, k.transpose(-2, -1)) / np.sqrt(self.k)
        if mask is not None:
            scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        merged = mixed.transpose(1, 2).flatten(-2)
        return self.W_o(merged), F.softmax(scores, dim=-1)


class ByLoop(nn.Module):
    """Head by head, on slices of the projections."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("the heads cannot share this width")
        self.num_heads = num_heads
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=True))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.W_q(query), self.W_k(key), self.W_v(value)
        width = q.shape[-1] // self.num_heads
        shape = (q.shape[0], self.num_heads, q.shape[1], k.shape[1])
        mask = torch.ones(()).bool() if mask is None else mask
        open_to = mask.expand(shape)
        found, maps = [], []
        for head in range(self.num_heads):
            part = slice(head * width, (head + 1) * width)
            scores = q[..., part] @ k[..., part].transpose(1, 2) / width**0.5
            scores = scores + torch.zeros_like(scores).masked_fill(
                ~open_to[:, head], -1e30
            )
            maps.append(scores.softmax(2))
            found.append(maps[-1] @ v[..., part])
        return self.W_o(torch.cat(found, 2)), torch.stack(maps, 1)


class ByEinsum(nn.Module):
    """Axes by name, no transpose at all; a list in place of a tuple comes back."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("the heads cannot share this width")
        self.num_heads = num_heads
        self.W_q, self.W_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.W_v, self.W_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        size = (self.num_heads, -1)
        q = self.W_q(query).unflatten(-1, size) * (
            self.W_q.out_features // self.num_heads
        ) ** (-0.5)
        k, v = self.W_k(key).unflatten(-1, size), self.W_v(value).unflatten(-1, size)
        scores = torch.einsum("bthk,bshk->bhts", q, k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = powers / powers.sum(-1, keepdim=True)
        return [
            self.W_o(torch.einsum("bhts,bshk->bthk", weights, v).flatten(2)),
            weights,
        ]


VARIANTS = {
    "3.C": (ByKernel, ByLoop, ByEinsum),
}
