"""What several of these solutions share."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from helpers.models.encoder import EncoderLayer as ReferenceLayer
from helpers.models.multi_head import MultiHeadAttention
from helpers.models.positions import PositionalEncoding, positional_encoding


class FeedForwardByHand(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.W_2 = nn.Linear(d_ff, d_model)  # in the other order
        self.W_1 = nn.Linear(d_model, d_ff)
        self.smooth = activation == "gelu"

    def forward(self, x):
        inside = x @ self.W_1.weight.T + self.W_1.bias
        if self.smooth:
            inside = inside * 0.5 * (1 + torch.erf(inside / math.sqrt(2)))
        else:
            inside = inside.clamp(min=0)
        return inside @ self.W_2.weight.T + self.W_2.bias


class NormByVariance(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.epsilon = eps

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=-1, unbiased=False, keepdim=True)
        return (x - mean) * torch.rsqrt(
            variance + self.epsilon
        ) * self.weight + self.bias


class NormByBessel(nn.Module):
    """torch's default variance, corrected from n - 1 to n."""

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        n = self.d_model
        centred = x - x.sum(-1, keepdim=True) / n
        variance = x.var(-1).unsqueeze(-1) * (n - 1) / n
        return torch.addcmul(
            self.bias, self.weight, centred / (variance + self.eps) ** 0.5
        )


class LayerOfOwnParts(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, activation="relu",
                 norm_first=False, eps=1e-5):  # fmt: skip
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForwardByHand(d_model, d_ff, activation)
        self.norm1, self.norm2 = (NormByVariance(d_model, eps) for _ in range(2))
        self.p, self.norm_first = dropout, norm_first

    def add(self, x, sublayer, norm):
        y = sublayer(norm(x)) if self.norm_first else sublayer(x)
        y = x + F.dropout(y, self.p, training=self.training)
        return y if self.norm_first else norm(y)

    def forward(self, x, mask=None):
        x = self.add(x, lambda y: self.attention(y, y, y, mask), self.norm1)
        return self.add(x, self.feed_forward, self.norm2)


class LayerWithSequential(nn.Module):
    """A feed-forward network without names, with dropout inside it as in torch."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.1, activation="relu",
                 norm_first=False, eps=1e-5):  # fmt: skip
        super().__init__()
        middle = nn.GELU() if activation == "gelu" else nn.ReLU()
        first, second = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.feed_forward = nn.Sequential(first, middle, nn.Dropout(dropout), second)
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1 = NormByBessel(d_model, eps)
        self.norm2 = nn.LayerNorm(d_model, eps)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, mask=None):
        if self.norm_first:
            h = self.norm1(x)
            h = self.attention(h, h, h, mask)
            x = self.dropout(h) + x
            return self.dropout(self.feed_forward(self.norm2(x))) + x
        h = self.attention(x, x, x, mask)
        x = self.norm1(torch.add(x, self.dropout(h)))
        return self.norm2(torch.add(x, self.dropout(self.feed_forward(x))))


class EncoderOfReferenceLayers(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers,
                 max_length=512, dropout=0.1, activation="relu",
                 norm_first=False, eps=1e-5):  # fmt: skip
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = PositionalEncoding(d_model, max_length)
        self.dropout = nn.Dropout(dropout)
        layers = []
        for _ in range(num_layers):
            layers.append(
                ReferenceLayer(
                    d_model, num_heads, d_ff, dropout, activation, norm_first, eps
                )  # fmt: skip
            )
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(d_model, eps) if norm_first else None

    def forward(self, ids, mask=None):
        width = self.embedding.weight.shape[1]
        x = self.positions(self.embedding(ids) * math.sqrt(width))
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, mask)
        return x if self.norm is None else self.norm(x)


class Waves(nn.Module):
    """Positions computed in the dtype of the inputs, without a table."""

    def __init__(self, d_model, max_length):
        super().__init__()
        self.d_model, self.most = d_model, max_length

    def forward(self, x):
        return x + positional_encoding(x.shape[1], self.d_model, x.dtype)


class EncoderOfOwnLayers(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers,
                 max_length=512, dropout=0.1, activation="relu",
                 norm_first=False, eps=1e-5):  # fmt: skip
        super().__init__()
        self.scale = d_model**0.5
        self.p = dropout
        self.layers = nn.ModuleList(
            LayerOfOwnParts(
                d_model, num_heads, d_ff, dropout, activation, norm_first, eps
            )
            for _ in range(num_layers)
        )
        self.embedding = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)
        self.positions = Waves(d_model, max_length)
        self.last = NormByVariance(d_model, eps) if norm_first else nn.Identity()

    def forward(self, ids, mask=None):
        x = self.positions(self.scale * F.embedding(ids, self.embedding.weight))
        x = F.dropout(x, self.p, self.training)
        for number in range(len(self.layers)):
            x = self.layers[number](x, mask)
        return self.last(x)
