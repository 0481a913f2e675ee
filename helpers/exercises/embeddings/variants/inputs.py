"""Independent solutions to 1.J, 1.K."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from helpers.exercises.embeddings.variants.shared import (
    encoding_by_logarithms,
    encoding_by_loops,
    encoding_stacked,
)


class RegisteredPositions(nn.Module):
    def __init__(self, d_model, max_length):
        super().__init__()
        self.register_buffer("table", encoding_by_loops(max_length, d_model))

    def forward(self, x):
        return x + self.table[None, : x.size(1), :]


class BatchedPositions(nn.Module):
    def __init__(self, d_model, max_length):
        super().__init__()
        table = encoding_by_logarithms(max_length, d_model).unsqueeze(0)
        self.register_buffer("pe", table, persistent=False)

    def forward(self, x):
        _, length, _ = x.shape
        return x + self.pe[:, :length]


class LookedUpPositions(nn.Module):
    def __init__(self, d_model, max_length):
        super().__init__()
        self.rows = nn.Buffer(encoding_stacked(max_length, d_model))

    def forward(self, x):
        places = torch.arange(x.shape[-2], device=x.device)
        return F.embedding(places, self.rows) + x


def input_by_parts(table, ids, encoding):
    batch, length = ids.shape
    vectors = F.embedding(ids, table) * math.sqrt(table.size(-1))
    return vectors + encoding[torch.arange(length)].expand(batch, -1, -1)


def input_scaled_table(table, ids, encoding):
    return (table * table.shape[1] ** 0.5)[ids] + encoding[None, : ids.shape[-1]]


def input_by_sentences(table, ids, encoding):
    root = torch.tensor(table.shape[1], dtype=table.dtype).sqrt()
    return torch.stack([root * table[one] + encoding[: len(one)] for one in ids])


VARIANTS = {
    "1.J": (RegisteredPositions, BatchedPositions, LookedUpPositions),
    "1.K": (input_by_parts, input_scaled_table, input_by_sentences),
}
