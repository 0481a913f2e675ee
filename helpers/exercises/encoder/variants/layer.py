"""Independent solutions to 4.D."""

import torch
from torch import nn

from helpers.exercises.encoder.variants.shared import (
    LayerOfOwnParts,
    LayerWithSequential,
)
from helpers.models import layers as parts
from helpers.models.multi_head import MultiHeadAttention


class LayerOfTorchNorms(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, activation="relu",
                 norm_first=False, eps=1e-5):  # fmt: skip
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model, eps=eps)
        self.norm2 = nn.LayerNorm(d_model, eps=eps)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = parts.FeedForward(d_model, d_ff, activation)
        self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)
        self.pre = norm_first

    def forward(self, x, mask=None):
        y = self.norm1(x) if self.pre else x
        x = x + self.dropout1(self.attention(y, y, y, mask))
        x = x if self.pre else self.norm1(x)
        y = self.norm2(x) if self.pre else x
        x = x + self.dropout2(self.feed_forward(y))
        return x if self.pre else self.norm2(x)


class Wrapped(nn.Module):
    """The course's attention in a box that passes everything on."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.inner = MultiHeadAttention(d_model, num_heads)

    def forward(self, x, mask):
        return self.inner(x, x, x, mask=mask)


class TorchHeads(nn.Module):
    """torch's own attention, whose masks mean the opposite."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.heads = nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            size = (len(query), self.num_heads, query.shape[1], key.shape[1])
            mask = ~torch.broadcast_to(mask, size).flatten(0, 1)
        return self.heads(query, key, value, attn_mask=mask)[0]


class LayerWithWrapper(LayerOfTorchNorms):
    def __init__(self, d_model, num_heads, *sizes, **options):
        super().__init__(d_model, num_heads, *sizes, **options)
        self.attention = Wrapped(d_model, num_heads)

    def forward(self, x, mask=None):
        y = self.norm1(x) if self.pre else x
        x = x + self.dropout1(self.attention(y, mask))
        x = x if self.pre else self.norm1(x)
        y = self.norm2(x) if self.pre else x
        x = x + self.dropout2(self.feed_forward(y))
        return x if self.pre else self.norm2(x)


class LayerWithTorchHeads(LayerOfTorchNorms):
    def __init__(self, d_model, num_heads, *sizes, **options):
        super().__init__(d_model, num_heads, *sizes, **options)
        self.attention = TorchHeads(d_model, num_heads)


VARIANTS = {
    "4.D": (
        LayerOfTorchNorms,
        LayerOfOwnParts,
        LayerWithSequential,
        LayerWithWrapper,
        LayerWithTorchHeads,
    ),
}
