"""Independent solutions to 4.3."""

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


VARIANTS = {
    "4.3": (LayerOfTorchNorms, LayerOfOwnParts, LayerWithSequential),
}
