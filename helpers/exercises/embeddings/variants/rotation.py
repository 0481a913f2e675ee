"""Independent solutions to 1.M."""

import torch

from helpers.exercises.embeddings.variants.shared import _angles_in_float64


def shift_by_blocks(k, d_model):
    blocks = []
    for i in range(d_model // 2):
        b = torch.tensor(k / 10000 ** (2 * i / d_model))
        rows = torch.stack([b.cos(), b.sin()]), torch.stack([-b.sin(), b.cos()])
        blocks.append(torch.stack(rows))
    return torch.block_diag(*blocks)


def shift_by_least_squares(k, d_model):
    last = 200
    table = _angles_in_float64(last + abs(k), d_model).sin()
    first = max(0, -k)
    here, there = table[first : first + last], table[first + k : first + k + last]
    return torch.linalg.lstsq(here, there).solution.T.float()


def shift_by_exponential(k, d_model):
    rate = 10000 ** (-torch.arange(0, d_model, 2) / d_model)
    turn = torch.zeros(d_model, d_model)
    even = torch.arange(0, d_model, 2)
    turn[even, even + 1], turn[even + 1, even] = rate, -rate
    return torch.matrix_exp(k * turn)


VARIANTS = {
    "1.M": (shift_by_blocks, shift_by_least_squares, shift_by_exponential),
}
