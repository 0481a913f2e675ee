"""Independent solutions to 6.C."""

import torch

from helpers.exercises.masks.variants.shared import target_by_tril


def target_by_places(ids):
    place = torch.arange(ids.shape[1])
    past = place[None, :] <= place[:, None]
    return past[None, None] & (ids != 0)[:, None, None, :]


def target_by_multiplying(ids):
    ahead = torch.ones(ids.shape[1], ids.shape[1]).tril()
    return (ahead * (ids != 0).float()[:, None, None, :]).bool()


def target_by_loops(ids):
    batch, length = ids.shape
    mask = torch.zeros(batch, 1, length, length, dtype=torch.bool)
    for b in range(batch):
        for query in range(length):
            for key in range(query + 1):
                mask[b, 0, query, key] = bool(ids[b, key] != 0)
    return mask


def target_by_blocking(ids):
    future = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1)
    padding = (ids == 0)[:, None, None, :]
    return torch.logical_not(torch.logical_or(future, padding))


VARIANTS = {
    "6.C": (
        target_by_places,
        target_by_multiplying,
        target_by_loops,
        target_by_tril,
        target_by_blocking,
    ),
}
