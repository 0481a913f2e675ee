"""Independent solutions to 12.D."""

import torch
from torch import nn


class _Three(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.W_down = nn.Linear(d_ff, d_model, bias=False)
        self.W_gate, self.W_up = (
            nn.Linear(d_model, d_ff, bias=False) for _ in range(2)
        )


class GateBySigmoid(_Three):
    def forward(self, x):
        z = self.W_gate(x)
        return self.W_down(z * torch.sigmoid(z) * self.W_up(x))


class GateByMatrices(_Three):
    def forward(self, x):
        gate, up = x @ self.W_gate.weight.mT, x @ self.W_up.weight.mT
        return (gate / (1 + (-gate).exp()) * up) @ self.W_down.weight.mT


class GateByEinsum(_Three):
    """Gate and way up in one product."""

    def forward(self, x):
        both = torch.cat([self.W_gate.weight, self.W_up.weight])
        gate, up = torch.einsum("...d,fd->...f", x, both).chunk(2, -1)
        return self.W_down(nn.SiLU()(gate).mul(up))


VARIANTS = {"12.D": (GateBySigmoid, GateByMatrices, GateByEinsum)}
