"""Independent solutions to 6.B."""

import torch
from torch import nn

from helpers.exercises.masks.variants.shared import ahead_by_upper


def ahead_by_places(length):
    place = torch.arange(length)
    return place <= place.unsqueeze(1)


def ahead_by_loops(length):
    return torch.tensor([[key <= query for key in range(length)]
                         for query in range(length)])  # fmt: skip


def ahead_by_torch(length):
    return nn.Transformer.generate_square_subsequent_mask(length) == 0


def ahead_by_indices(length):
    mask = torch.zeros((length, length), dtype=torch.bool)
    mask[tuple(torch.tril_indices(length, length))] = True
    return mask


def ahead_by_sums(length):
    return torch.eye(length).cumsum(0).bool()


VARIANTS = {
    "6.B": (
        ahead_by_places,
        ahead_by_loops,
        ahead_by_upper,
        ahead_by_torch,
        ahead_by_indices,
        ahead_by_sums,
    ),
}
