"""Independent solutions to 5.A."""

import torch
import torch.nn.functional as F
from torch import nn

from helpers.models.layers import FeedForward
from helpers.models.multi_head import MultiHeadAttention


class _Parts(nn.Module):
    """The six parts, created in another order than the stub's."""

    def __init__(
        self,
        d_model,
        num_heads,
        d_ff,
        dropout=0.1,
        activation="relu",
        norm_first=False,
    ):
        super().__init__()
        self.norm3 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.rate, self.norm_first = dropout, norm_first


class LayerByCases(_Parts):
    def forward(self, x, memory, target_mask, source_mask=None):
        def drop(y):
            return F.dropout(y, self.rate, self.training)

        if self.norm_first:
            y = self.norm1(x)
            x = x + drop(self.self_attention(y, y, y, target_mask))
            y = self.norm2(x)
            x = x + drop(self.cross_attention(y, memory, memory, source_mask))
            return x + drop(self.feed_forward(self.norm3(x)))
        x = self.norm1(x + drop(self.self_attention(x, x, x, target_mask)))
        y = self.cross_attention(x, memory, memory, source_mask)
        x = self.norm2(x + drop(y))
        return self.norm3(x + drop(self.feed_forward(x)))


class LayerByLoop(_Parts):
    def forward(self, x, memory, target_mask, source_mask=None):
        drop = nn.Dropout(self.rate).train(self.training)
        steps = [
            (self.norm1, lambda y: self.self_attention(y, y, y, mask=target_mask)),
            (
                self.norm2,
                lambda y: self.cross_attention(
                    query=y, key=memory, value=memory, mask=source_mask
                ),
            ),
            (self.norm3, self.feed_forward),
        ]
        for norm, step in steps:
            added = drop(step(norm(x) if self.norm_first else x))
            x = x + added
            x = x if self.norm_first else norm(x)
        return x


class LayerThatFillsInMasks(_Parts):
    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.drop = nn.Dropout(self.rate)

    def forward(self, x, memory, target_mask=None, source_mask=None):
        batch, length = x.shape[:2]
        if target_mask is None:
            target_mask = x.new_ones(length, length, dtype=torch.bool)
        if source_mask is None:
            source_mask = x.new_ones(batch, 1, 1, memory.shape[1], dtype=torch.bool)
        before = [n if self.norm_first else nn.Identity() for n in self.norms()]
        after = [nn.Identity() if self.norm_first else n for n in self.norms()]
        y = before[0](x)
        output, _ = self.self_attention(y, y, y, target_mask, need_weights=True)
        x = after[0](self.drop(output).add(x))
        output, _ = self.cross_attention(
            before[1](x), memory, memory, source_mask, need_weights=True
        )
        x = after[1](self.drop(output).add(x))
        return after[2](self.drop(self.feed_forward(before[2](x))).add(x))

    def norms(self):
        return self.norm1, self.norm2, self.norm3


class Wrapped(nn.Module):
    """The course's attention in a box that passes everything on."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.inner = MultiHeadAttention(d_model, num_heads)

    def forward(self, query, key, value, mask=None):
        return self.inner(query, key, value, mask)


class LayerWithWrappers(LayerByCases):
    def __init__(self, d_model, num_heads, *sizes, **options):
        super().__init__(d_model, num_heads, *sizes, **options)
        self.self_attention = Wrapped(d_model, num_heads)
        self.cross_attention = Wrapped(d_model, num_heads)


class OwnNorm(nn.Module):
    """Layer norm by the formula, with another epsilon."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt()
        return self.weight * centred / spread + self.bias


class LayerWithOwnNorms(LayerByCases):
    def __init__(self, d_model, *sizes, **options):
        super().__init__(d_model, *sizes, **options)
        self.norm1, self.norm2 = OwnNorm(d_model), OwnNorm(d_model)
        self.norm3 = OwnNorm(d_model)


VARIANTS = {
    "5.A": (
        LayerByCases,
        LayerByLoop,
        LayerThatFillsInMasks,
        LayerWithWrappers,
        LayerWithOwnNorms,
    ),
}
