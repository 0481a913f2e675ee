"""Independent solutions to 2.C."""

import torch
import torch.nn.functional as F
from torch import nn


class Plain(nn.Module):
    """The layers in another order, the root as a tensor, finfo.min."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.W_v = nn.Linear(d_model, d_head, bias=False)
        self.W_k = nn.Linear(d_model, d_head, bias=False)
        self.W_q = nn.Linear(d_model, d_head, bias=False)
        self.d_head = d_head

    def forward(self, x, mask=None):
        query, key, value = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = torch.bmm(query, key.transpose(1, 2))
        scores = scores / torch.sqrt(torch.tensor(self.d_head, dtype=torch.float32))
        if mask is not None:
            blocked = ~mask.unsqueeze(1)
            scores = scores.masked_fill(blocked, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1)
        return torch.bmm(weights, value), weights


class WithBias(nn.Module):
    """Projections that add a bias, the mask as a float that is added."""

    def __init__(self, d_model, d_head):
        super().__init__()
        torch.manual_seed(123)
        self.W_q, self.W_k, self.W_v = (nn.Linear(d_model, d_head) for _ in range(3))
        nn.init.normal_(self.W_k.bias)
        self.scale = d_head**-0.5

    def forward(self, x, mask=None):
        scores = torch.einsum("btd,bsd->bts", self.W_q(x), self.W_k(x)) * self.scale
        if mask is not None:
            scores = scores + (~mask[:, None]).to(x.dtype) * -1e9
        weights = scores.softmax(-1)
        return weights @ self.W_v(x), weights


class ByLoops(nn.Module):
    """One sequence at a time; padded keys are cut off and their weights put back."""

    def __init__(self, d_model, d_head):
        super().__init__()
        for name in ("W_q", "W_k", "W_v"):
            setattr(self, name, nn.Linear(d_model, d_head, bias=False))

    def forward(self, x, mask=None):
        outputs, table = [], []
        for number, one in enumerate(x):
            real = torch.arange(len(one))
            if mask is not None:
                real = real[mask[number]]
            query, key, value = self.W_q(one), self.W_k(one[real]), self.W_v(one[real])
            weights = (query @ key.T / key.shape[-1] ** 0.5).softmax(-1)
            outputs.append(weights @ value)
            table.append(torch.zeros(len(one), len(one), dtype=x.dtype))
            table[-1][:, real] = weights
        return torch.stack(outputs), torch.stack(table)


class Fused(nn.Module):
    """The fused kernel for the output, and again on an identity for the weights."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(d_model, d_head, bias=False) for _ in range(3)
        )
        self.W_q, self.W_k, self.W_v = self.layers

    def forward(self, x, mask=None):
        query, key, value = self.W_q(x), self.W_k(x), self.W_v(x)
        seen = None if mask is None else mask[:, None, :].expand(-1, x.shape[1], -1)
        output = F.scaled_dot_product_attention(query, key, value, attn_mask=seen)
        same = torch.eye(x.shape[1], dtype=x.dtype).expand(len(x), -1, -1)
        weights = F.scaled_dot_product_attention(query, key, same, attn_mask=seen)
        return output, weights


class WithABuffer(nn.Module):
    """Weights set by hand, the root of d_head in a buffer, the mask as integers."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.W_q = nn.Linear(d_model, d_head, bias=False)
        self.W_k = nn.Linear(d_model, d_head, bias=False)
        self.W_v = nn.Linear(d_model, d_head, bias=True)
        nn.init.xavier_uniform_(self.W_q.weight)
        self.register_buffer("root", torch.tensor(float(d_head)).sqrt())

    def forward(self, x, mask=None):
        scores = F.linear(x, self.W_q.weight) @ self.W_k(x).mT
        scores /= self.root
        if mask is not None:
            scores[mask.int().unsqueeze(-2).expand_as(scores) == 0] = float("-inf")
        weights = F.softmax(scores, dim=2)
        return torch.einsum("bts,bsw->btw", weights, self.W_v(x)), weights


VARIANTS = {
    "2.C": (Plain, WithBias, ByLoops, Fused, WithABuffer),
}
