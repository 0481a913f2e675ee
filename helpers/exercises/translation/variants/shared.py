"""Attention for several of these solutions."""

import torch
import torch.nn.functional as F
from torch import nn


class Maps(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, 1, bias=False)


class QueryByQuery(Maps):
    def forward(self, query, memory, mask=None):
        scores = torch.stack(
            [
                self.v(torch.tanh(self.W_q(one)[:, None] + self.W_k(memory))).squeeze(2)
                for one in query.unbind(1)
            ],
            dim=1,
        )
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), torch.finfo().min)
        weights = F.softmax(scores, -1)
        return torch.bmm(weights, memory), weights
