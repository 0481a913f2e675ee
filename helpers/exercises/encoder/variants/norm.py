"""Independent solutions to 4.C."""

import torch
from torch import nn

from helpers.exercises.encoder.variants.shared import NormByBessel, NormByVariance


class NormByLoops(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.full((d_model,), 1.0))
        self.bias = nn.Parameter(torch.full((d_model,), 0.0))
        self.eps = eps

    def forward(self, x):
        rows = []
        for row in x.reshape(-1, x.shape[-1]):
            mean = sum(row) / len(row)
            variance = sum((one - mean) ** 2 for one in row) / len(row)
            rows.append((row - mean) / torch.sqrt(variance + self.eps))
        return torch.stack(rows).view_as(x) * self.weight + self.bias


VARIANTS = {
    "4.C": (NormByVariance, NormByBessel, NormByLoops),
}
