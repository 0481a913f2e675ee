"""Independent solutions to 6.E."""

from itertools import zip_longest

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence


def collate_by_pad_sequence(pairs):
    sides = zip(*pairs, strict=True)
    return [
        pad_sequence([torch.tensor(ids) for ids in side], batch_first=True)
        for side in sides
    ]


def collate_by_filling(pairs):
    tables = []
    for side in (0, 1):
        rows = [pair[side] for pair in pairs]
        table = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for row, ids in enumerate(rows):
            table[row, : len(ids)] = torch.tensor(ids)
        tables.append(table)
    return tuple(tables)


def collate_by_zipping(pairs):
    return tuple(
        torch.tensor(list(zip_longest(*side, fillvalue=0))).T
        for side in zip(*pairs, strict=True)
    )


def collate_by_padding(pairs):
    def table(rows):
        width = max(len(row) for row in rows)
        full = [F.pad(torch.tensor(row), (0, width - len(row))) for row in rows]
        return torch.stack(full)

    return table([source for source, _ in pairs]), table([t for _, t in pairs])


def collate_in_32_bits(pairs):
    def table(rows):
        full = np.zeros((len(rows), max(map(len, rows))), dtype=np.int32)
        for row, ids in zip(full, rows, strict=True):
            row[: len(ids)] = ids
        return torch.from_numpy(full)

    sources, targets = zip(*pairs, strict=True)
    return table(sources), table(targets)


def shift_by_narrow(target):
    length = target.shape[1] - 1
    return target.narrow(1, 0, length), target.narrow(1, 1, length)


def shift_by_copies(target):
    return [target[:, :-1].clone(), target[:, 1:].contiguous()]


def shift_by_windows(target):
    windows = target.unfold(1, 2, 1)  # (B, T, 2)
    return windows[..., 0], windows[..., 1]


def shift_by_split(target):
    first, rest = target.split([1, target.shape[1] - 1], dim=1)
    return torch.cat([first, rest], 1)[:, :-1], rest


def shift_by_places(target):
    place = torch.arange(target.shape[1] - 1)
    return target[:, place], target[:, place + 1]


def _both(collates, shifts):
    return tuple(zip(collates, shifts, strict=True))


VARIANTS = {
    "6.E": _both(
        (
            collate_by_pad_sequence,
            collate_by_filling,
            collate_by_zipping,
            collate_by_padding,
            collate_in_32_bits,
        ),
        (
            shift_by_narrow,
            shift_by_copies,
            shift_by_windows,
            shift_by_split,
            shift_by_places,
        ),
    ),
}
