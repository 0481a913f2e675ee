"""Independent solutions to 4.B."""

import torch.nn.functional as F
from torch import Tensor, nn

from helpers.exercises.encoder.variants.shared import FeedForwardByHand


class FeedForwardOfModules(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.W_1, self.W_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.middle = {"relu": nn.ReLU(), "gelu": nn.GELU()}[activation]

    def forward(self, x: Tensor) -> Tensor:
        return nn.Sequential(self.W_1, self.middle, self.W_2)(x)


class FeedForwardInPlace(nn.Module):
    def __init__(self, d_model, d_ff, activation="relu"):
        super().__init__()
        self.f = getattr(F, activation)
        self.W_1 = nn.Linear(d_model, d_ff, bias=True)
        self.W_2 = nn.Linear(d_ff, d_model, bias=True)

    def forward(self, x):
        hidden = self.W_1(x)
        hidden = F.relu_(hidden) if self.f is F.relu else self.f(hidden)
        return F.linear(hidden, self.W_2.weight, self.W_2.bias)


VARIANTS = {
    "4.B": (FeedForwardByHand, FeedForwardOfModules, FeedForwardInPlace),
}
