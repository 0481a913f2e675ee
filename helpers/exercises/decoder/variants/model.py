"""Independent solutions to 5.C, 5.H."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models import transformer as course
from helpers.models.encoder import Encoder


class TransformerByMatrix(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.final_layer = nn.Linear(config.d_model, config.target_vocab)
        self.decoder = course.Decoder(config.target_vocab, *config.stack)
        self.encoder = Encoder(config.source_vocab, *config.stack)

    def encode(self, source, source_mask=None):
        return self.encoder(source, mask=source_mask)

    def decode(self, target, memory, target_mask, source_mask=None):
        x = self.decoder(target, memory, target_mask, source_mask)
        return x @ self.final_layer.weight.T + self.final_layer.bias

    def forward(self, source, target, source_mask, target_mask):
        memory = self.encode(source, source_mask)
        return self.decode(target, memory, target_mask, source_mask)


class TransformerInOneLine(TransformerByMatrix):
    def decode(self, target, memory, target_mask, source_mask=None):
        masks = {"source_mask": source_mask, "target_mask": target_mask}
        return self.final_layer(self.decoder(target, memory, **masks))

    def forward(self, source, target, source_mask=None, target_mask=None):
        return self.decode(
            target, self.encode(source, source_mask), target_mask, source_mask
        )


class TransformerWithoutItsMethods(TransformerInOneLine):
    def forward(self, source, target, source_mask, target_mask):
        memory = self.encoder(source, source_mask)
        x = self.decoder(target, memory, target_mask, source_mask)
        return F.linear(x, self.final_layer.weight, self.final_layer.bias)


def count_by_shapes(config) -> int:
    """The shapes of all parameters, written down."""
    d, f = config.d_model, config.d_ff
    linear = {"attention": [(d, d), (d,)] * 4, "feed": [(f, d), (f,), (d, f), (d,)]}
    norm = [(d,), (d,)]
    reader = linear["attention"] + linear["feed"] + 2 * norm
    writer = 2 * linear["attention"] + linear["feed"] + 3 * norm
    shapes = config.num_layers * (reader + writer)
    shapes += [(config.source_vocab, d), (config.target_vocab, d)]
    shapes += [(config.target_vocab, d), (config.target_vocab,)]
    return sum(math.prod(shape) for shape in shapes)


def count_by_boxes(config) -> int:
    def linear(size, out):
        return size * out + out

    d, norm = config.d_model, 2 * config.d_model
    attention = sum(linear(d, d) for _ in "qkvo")
    feed_forward = linear(d, config.d_ff) + linear(config.d_ff, d)
    total = 0
    for _ in range(config.num_layers):
        total += attention + norm + feed_forward + norm
        total += attention + norm + attention + norm + feed_forward + norm
    total += config.source_vocab * d + config.target_vocab * d
    return total + linear(d, config.target_vocab)


def count_multiplied_out(config) -> Tensor:
    d, f, n = config.d_model, config.d_ff, config.num_layers
    layers = n * (12 * d**2 + 24 * d + 4 * d * f + 2 * f)
    words = config.source_vocab * d + config.target_vocab * (2 * d + 1)
    return torch.tensor(layers + words)


VARIANTS = {
    "5.C": (TransformerByMatrix, TransformerInOneLine, TransformerWithoutItsMethods),
    "5.H": (count_by_shapes, count_by_boxes, count_multiplied_out),
}
