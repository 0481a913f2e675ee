"""Independent solutions to 7.K."""

import torch
import torch.nn.functional as F
from torch import nn


def gru_by_torch(x, h, W_x, W_h, b_x, b_h):
    cell = nn.GRUCell(x.shape[1], h.shape[1], dtype=x.dtype)
    named = {"weight_ih": W_x, "weight_hh": W_h, "bias_ih": b_x, "bias_hh": b_h}
    return torch.func.functional_call(cell, named, (x, h))


def gru_gate_by_gate(x, h, W_x, W_h, b_x, b_h):
    n = h.shape[1]

    def block(k):
        rows = slice(k * n, (k + 1) * n)
        return F.linear(x, W_x[rows], b_x[rows]), F.linear(h, W_h[rows], b_h[rows])

    reset, update = (torch.sigmoid(sum(block(k))) for k in (0, 1))
    read, past = block(2)
    return torch.lerp(torch.tanh(read + reset * past), h, update)


def gru_by_difference(x, h, W_x, W_h, b_x, b_h):
    xr, xz, xn = torch.tensor_split(x @ W_x.mT + b_x, 3, dim=1)
    hr, hz, hn = torch.tensor_split(h @ W_h.mT + b_h, 3, dim=1)
    candidate = torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
    return candidate + torch.sigmoid(xz + hz) * (h - candidate)


VARIANTS = {
    "7.K": (gru_by_torch, gru_gate_by_gate, gru_by_difference),
}
