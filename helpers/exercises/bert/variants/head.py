"""Independent solutions to 9.B."""

import torch
import torch.nn.functional as F
from torch import nn


class HeadInOneLine(nn.Module):
    def __init__(self, d_model, vocab_size):
        super().__init__()
        self.dense = nn.Linear(d_model, d_model)
        self.norm = nn.LayerNorm(d_model, eps=1e-12)
        self.decoder = nn.Linear(d_model, vocab_size)

    def forward(self, hidden):
        return self.decoder(self.norm(F.gelu(self.dense(hidden))))


class HeadByModules(nn.Module):
    def __init__(self, d_model, vocab_size):
        super().__init__()
        self.decoder = nn.Linear(d_model, vocab_size)
        self.norm = nn.LayerNorm(d_model)
        self.gelu = nn.GELU()
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, hidden):
        x = self.gelu(self.dense(hidden))
        return x.new_tensor(0.0) + self.decoder(self.norm(x))


class HeadByFormula(nn.Module):
    def __init__(self, d_model, vocab_size):
        super().__init__()
        self.dense = nn.Linear(d_model, d_model)
        self.decoder = nn.Linear(d_model, vocab_size)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, hidden):
        x = hidden @ self.dense.weight.T + self.dense.bias
        x = x * 0.5 * (1 + torch.erf(x / 2**0.5))
        return self.norm(x) @ self.decoder.weight.T + self.decoder.bias


VARIANTS = {
    "9.B": (HeadInOneLine, HeadByModules, HeadByFormula),
}
