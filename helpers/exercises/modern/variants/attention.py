"""Independent solutions to 12.F."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from helpers.exercises.modern.variants.rotation import by_half_turned


class _Projections(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.queries, self.keys = config.num_heads, config.num_kv_heads
        self.width, self.base = config.d_head, config.base
        wide, narrow = self.queries * self.width, self.keys * self.width
        self.W_q = nn.Linear(config.d_model, wide, bias=False)
        self.W_k, self.W_v = (
            nn.Linear(config.d_model, narrow, bias=False) for _ in range(2)
        )
        self.W_o = nn.Linear(wide, config.d_model, bias=False)

    def prepared(self, x, past):
        """Rotated queries, keys and values of all tokens."""
        batch, new, _ = x.shape
        before = past[0].size(-2) if past else 0
        places = torch.arange(new) + before

        def heads(y):
            return y.reshape(batch, new, -1, self.width).permute(0, 2, 1, 3)

        query = by_half_turned(heads(self.W_q(x)), places, self.base)
        key = by_half_turned(heads(self.W_k(x)), places, self.base)
        value = heads(self.W_v(x))
        if past:
            key, value = torch.cat((past[0], key), -2), torch.cat((past[1], value), -2)
        return query, key, value

    def seen(self, mask, new, everything):
        if mask is not None:
            return mask
        rows = torch.arange(everything - new, everything)[:, None]
        return torch.arange(everything) <= rows


class SharedByKernel(_Projections):
    """The fused kernel knows how to share."""

    def forward(self, x, past=None, mask=None):
        query, key, value = self.prepared(x, past)
        allowed = self.seen(mask, query.shape[2], key.shape[2])
        mixed = F.scaled_dot_product_attention(
            query, key, value, attn_mask=allowed, enable_gqa=True
        )
        return self.W_o(mixed.transpose(1, 2).flatten(2)), (key, value)


class SharedByAxis(_Projections):
    """The queries of a group get an axis of their own."""

    def forward(self, x, past=None, mask=None):
        query, key, value = self.prepared(x, past)
        allowed = self.seen(mask, query.shape[2], key.shape[2])
        if allowed.dim() == 4:
            allowed = allowed[:, :, None]  # (B, 1, G=1, T, S)
        grouped = query.unflatten(1, (self.keys, -1))  # (B, H_kv, G, T, K)
        scores = torch.einsum("bhgtk,bhsk->bhgts", grouped, key)
        scores = (scores / math.sqrt(self.width)).masked_fill(~allowed, -math.inf)
        mixed = torch.einsum("bhgts,bhsk->bthgk", scores.softmax(-1), value)
        return self.W_o(mixed.flatten(2)), (key, value)


class SharedByLoop(_Projections):
    """One head of queries after the other."""

    def forward(self, x, past=None, mask=None):
        query, key, value = self.prepared(x, past)
        allowed = self.seen(mask, query.shape[2], key.shape[2])
        allowed = allowed.expand(len(x), 1, query.shape[2], key.shape[2])[:, 0]
        heads = []
        for number in range(self.queries):
            shared = number * self.keys // self.queries
            scores = query[:, number] @ key[:, shared].mT / self.width**0.5
            weights = scores.masked_fill(~allowed, -math.inf).softmax(-1)
            heads.append(weights @ value[:, shared])
        return self.W_o(torch.cat(heads, -1)), [key, value]


VARIANTS = {"12.F": (SharedByKernel, SharedByAxis, SharedByLoop)}
