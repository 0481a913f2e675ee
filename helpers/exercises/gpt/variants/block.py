"""Independent solutions to 10.A."""

import torch
import torch.nn.functional as F
from torch import nn

from helpers.models.layers import FeedForward, add_and_norm
from helpers.models.multi_head import MultiHeadAttention


class BlockByHelpers(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, "gelu_tanh")
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        length = x.size(1)
        places = torch.arange(length)
        mask = places[None, :] <= places[:, None]
        x = add_and_norm(
            x, lambda y: self.attention(y, y, y, mask), self.norm1, self.drop, True
        )
        return add_and_norm(x, self.feed_forward, self.norm2, self.drop, True)


class BlockWithBatchMask(nn.Module):
    """The mask with all four axes, dropout as a function."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.p = dropout
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, "gelu_tanh")

    def forward(self, x):
        batch, length, _ = x.shape
        mask = ~torch.ones(batch, 1, length, length, dtype=torch.bool).triu(1)
        y = self.norm1(x)
        found = self.attention(query=y, key=y, value=y, mask=mask)
        out = x + F.dropout(found, self.p, self.training)
        thought = self.feed_forward(self.norm2(out))
        return torch.add(out, F.dropout(thought, self.p, self.training))


class BlockTokenByToken(nn.Module):
    """Each token asks the tokens up to itself: no mask at all."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, "gelu_tanh")
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        y = self.norm1(x)
        rows = [
            self.attention(y[:, t : t + 1], y[:, : t + 1], y[:, : t + 1])
            for t in range(x.shape[1])
        ]
        x = x + self.dropout(torch.cat(rows, 1))
        return x + self.dropout(self.feed_forward(self.norm2(x)))


VARIANTS = {
    "10.A": (BlockByHelpers, BlockWithBatchMask, BlockTokenByToken),
}
