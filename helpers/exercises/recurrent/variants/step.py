"""Independent solutions to 7.A."""

import torch
import torch.nn.functional as F
from torch import nn


def step_by_linear(x, h, W_x, W_h, b):
    return (F.linear(x, W_x, b) + F.linear(h, W_h)).tanh()


def step_by_einsum(x, h, W_x, W_h, b):
    total = torch.einsum("bd,nd->bn", x, W_x) + torch.einsum("bm,nm->bn", h, W_h) + b
    return torch.tanh(total)


def step_in_one_matrix(x, h, W_x, W_h, b):
    both, weight = torch.cat([x, h], 1), torch.cat([W_x, W_h], 1)
    return torch.tanh(both @ weight.mT + b)


def step_by_torch(x, h, W_x, W_h, b):
    cell = nn.RNNCell(x.shape[1], h.shape[1], dtype=x.dtype)
    named = {"weight_ih": W_x, "weight_hh": W_h, "bias_ih": b, "bias_hh": b * 0}
    return torch.func.functional_call(cell, named, (x, h))


VARIANTS = {
    "7.A": (step_by_linear, step_by_einsum, step_in_one_matrix, step_by_torch),
}
