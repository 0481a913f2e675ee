"""Independent solutions to 7.B."""

import torch
import torch.nn.functional as F
from torch import nn


class RNNByLookUp(nn.Module):
    """Takes columns of W_x; keeps all the states and projects them at once."""

    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.W_x = nn.Linear(vocab_size, hidden_size, bias=False)
        self.W_h = nn.Linear(hidden_size, hidden_size)
        self.W_y = nn.Linear(hidden_size, vocab_size)

    def forward(self, ids, state=None):
        x = self.W_x.weight.T[ids]
        state = x[:, 0] * 0 if state is None else state
        states = []
        for t in range(ids.shape[1]):
            state = torch.tanh(x[:, t] + self.W_h(state))
            states.append(state)
        return self.W_y(torch.stack(states, dim=1)), state


class RNNInPlace(nn.Module):
    """Fills a tensor of logits, place by place."""

    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.size = vocab_size
        self.W_x = nn.Linear(vocab_size, hidden_size, bias=False)
        self.W_h = nn.Linear(hidden_size, hidden_size, bias=True)
        self.W_y = nn.Linear(hidden_size, vocab_size)

    def forward(self, ids, state=None):
        like, (batch, length) = self.W_h.weight, ids.shape
        if state is None:
            state = like.new_zeros(batch, len(like))
        logits = like.new_zeros(batch, length, self.size)
        for t in range(length):
            x = F.one_hot(ids[:, t], self.size).to(like.dtype)
            state = (self.W_x(x) + self.W_h(state)).tanh()
            logits[:, t] = self.W_y(state)
        return logits, state


class RNNWithParameters(RNNByLookUp):
    """Keeps b and b_y itself, beside layers that have none."""

    def __init__(self, vocab_size, hidden_size):
        super().__init__(vocab_size, hidden_size)
        self.W_h = nn.Linear(hidden_size, hidden_size, bias=False)
        self.W_y = nn.Linear(hidden_size, vocab_size, bias=False)
        self.b = nn.Parameter(torch.zeros(hidden_size))
        self.b_y = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, ids, state=None):
        if state is None:
            state = torch.zeros(len(ids), len(self.b), dtype=self.b.dtype)
        logits = []
        for now in ids.T:
            state = (self.W_x.weight.T[now] + self.W_h(state) + self.b).tanh()
            logits.append(self.W_y(state) + self.b_y)
        return torch.stack(logits, dim=1), state


class RNNByTorch(nn.Module):
    """Hands its weights to torch's layer."""

    def __init__(self, vocab_size, hidden_size):
        super().__init__()
        self.layer = nn.RNN(vocab_size, hidden_size, batch_first=True)
        self.W_x = nn.Linear(vocab_size, hidden_size, bias=False)
        self.W_h = nn.Linear(hidden_size, hidden_size)
        self.W_y = nn.Linear(hidden_size, vocab_size)

    def forward(self, ids, state=None):
        x = F.one_hot(ids, self.W_x.in_features).to(self.W_x.weight.dtype)
        named = {
            "weight_ih_l0": self.W_x.weight,
            "weight_hh_l0": self.W_h.weight,
            "bias_ih_l0": self.W_h.bias,
            "bias_hh_l0": torch.zeros_like(self.W_h.bias),
        }
        given = (x,) if state is None else (x, state[None])
        states, last = torch.func.functional_call(self.layer, named, given)
        return [self.W_y(states), last[0]]


VARIANTS = {
    "7.B": (
        RNNByLookUp,
        RNNInPlace,
        RNNWithParameters,
        RNNByTorch,
    ),
}
