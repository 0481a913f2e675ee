"""Lesson 02 in other hands: loops, einsum, fused kernels, every kind of mask."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

# --- 2.1 softmax ---


def softmax_by_logarithm(x: Tensor, dim: int) -> Tensor:
    return (x - x.logsumexp(dim, keepdim=True)).exp()


def softmax_of_torch(x: Tensor, dim: int) -> Tensor:
    return torch.softmax(x - torch.max(x, dim=dim, keepdim=True)[0], dim=dim)


def softmax_by_loops(x: Tensor, dim: int) -> Tensor:
    slices = x.movedim(dim, -1)
    rows = []
    for row in slices.reshape(-1, slices.shape[-1]):
        powers = [torch.exp(number - max(row.tolist())) for number in row]
        rows.append(torch.stack([power / sum(powers) for power in powers]))
    return torch.stack(rows).reshape(slices.shape).movedim(-1, dim)


def softmax_in_place_on_its_own_copy(x: Tensor, dim: int) -> Tensor:
    powers = x.clone()
    powers -= x.detach().max(dim, keepdim=True).values
    powers.exp_()
    return powers / powers.sum(dim).unsqueeze(dim)


def softmax_in_double(x: Tensor, dim: int) -> Tensor:
    wide = x.to(torch.float64)
    wide = wide - wide.amax(dim=dim, keepdim=True)
    powers = math.e**wide
    return (powers / powers.sum(dim=dim, keepdim=True)).to(x.dtype)


# --- 2.2 scaled dot-product attention ---


def attention_by_loops(query, key, value, mask=None):
    lead, width = query.shape[:-2], value.shape[-1]
    count, keys = query.shape[-2], key.shape[-2]
    if mask is not None:
        mask = mask.expand(*lead, count, keys).reshape(-1, count, keys)
    query, key, value = (x.reshape(-1, *x.shape[-2:]) for x in (query, key, value))
    rows = []
    for batch in range(len(query)):
        for i in range(count):
            scores = torch.stack([query[batch, i] @ k for k in key[batch]])
            scores = scores / math.sqrt(query.shape[-1])
            if mask is not None:
                for j in range(keys):
                    if not mask[batch, i, j]:
                        scores[j] = float("-inf")
            rows.append(torch.softmax(scores, dim=0))
    weights = torch.stack(rows).reshape(-1, count, keys)
    output = torch.stack([w @ v for w, v in zip(weights, value, strict=True)])
    return output.reshape(*lead, count, width), weights.reshape(*lead, count, keys)


def attention_by_einsum(query, key, value, mask=None):
    scores = torch.einsum("...td,...sd->...ts", query, key)
    scores = scores / torch.sqrt(torch.tensor(query.size(-1)))
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = F.softmax(scores, dim=-1)
    return torch.einsum("...ts,...sw->...tw", weights, value), weights


def attention_fused(query, key, value, mask=None):
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    same = torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], -1)
    weights = F.scaled_dot_product_attention(query, key, same, attn_mask=mask)
    return output, weights


def attention_with_a_float_mask(query, key, value, mask=None):
    scores = torch.matmul(query / query.shape[-1] ** 0.5, key.transpose(-2, -1))
    if mask is not None:
        scores = scores + (1.0 - mask.to(scores.dtype)) * -1e9
    weights = scores.softmax(dim=-1)
    return torch.matmul(weights, value), weights


def attention_with_an_int_mask(query, key, value, mask=None):
    scores = (query @ key.transpose(-1, -2)).mul(1 / np.sqrt(query.shape[-1]))
    if mask is not None:
        scores = scores.masked_fill(mask.int() == 0, -1e9)
    powers = torch.exp(scores - scores.max(-1, keepdim=True).values)
    weights = powers / powers.sum(-1, keepdim=True)
    return weights @ value, weights


def attention_in_place_on_its_own_scores(query, key, value, mask=None):
    scores = query @ key.mT
    scores /= query.shape[-1] ** 0.5
    if mask is not None:
        scores.masked_fill_(mask.logical_not(), -math.inf)
    weights = torch.softmax(scores, -1)
    return [weights @ value, weights]


def attention_by_logarithm(query, key, value, mask=None):
    fourth_root = query.shape[-1] ** 0.25
    scores = (query / fourth_root) @ (key / fourth_root).mT
    if mask is not None:
        scores = scores + mask.log()
    weights = (scores - torch.logsumexp(scores, dim=-1, keepdim=True)).exp()
    return (weights[..., None] * value[..., None, :, :]).sum(-2), weights


# --- 2.3 the gradient of softmax ---


def jacobian_by_loops(z: Tensor) -> Tensor:
    share = torch.softmax(z, 0).tolist()
    table = torch.empty(len(share), len(share), dtype=z.dtype)
    for i, one in enumerate(share):
        for j, other in enumerate(share):
            table[i, j] = one * (1 - one) if i == j else -one * other
    return table


def jacobian_by_identity(z: Tensor) -> Tensor:
    share = z.softmax(-1)
    return share[:, None] * (torch.eye(len(z)) - share)


def jacobian_by_numpy(z: Tensor) -> Tensor:
    powers = np.exp(z.numpy() - z.numpy().max())
    share = powers / powers.sum()
    return torch.from_numpy(np.diag(share) - np.outer(share, share))


def jacobian_by_autograd(z: Tensor) -> Tensor:
    return torch.autograd.functional.jacobian(lambda z: z.softmax(0), z)


# --- 2.4 self-attention ---


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
    """The fused kernel for the output, and once more on an identity for the weights."""

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


# --- 2.5 a test that finds sick attention ---


def healthy_in_small(attend) -> bool:
    query, key, value = torch.randn(2, 3), torch.randn(4, 3), torch.ones(4, 1)
    output, weights = attend(query, key, value)
    for row in weights.tolist():
        if abs(sum(row) - 1) > 1e-3:
            return False
    return all(abs(number - 1) < 1e-3 for number in output.flatten().tolist())


def healthy_in_large(attend):
    draw = torch.Generator().manual_seed(99)
    x = torch.randn(40, 16, generator=draw, dtype=torch.float64)
    output, weights = attend(x, x, torch.full_like(x, -7.0))
    sums = torch.isclose(weights.sum(dim=-1), torch.tensor(1.0).double()).all()
    return sums & torch.isclose(output, torch.tensor(-7.0).double()).all()


def healthy_by_the_formula(attend) -> bool:
    torch.manual_seed(1)
    query, key, value = torch.randn(5, 16), torch.randn(7, 16), torch.randn(7, 2)
    output, weights = attend(query, key, value)
    expected, shares = attention_by_einsum(query, key, value)
    if output.shape != (5, 2) or weights.shape != (5, 7):
        return False
    return bool(((output - expected).abs() < 1e-4).all()) and torch.allclose(
        weights, shares, atol=1e-5
    )


def healthy_in_batches(attend) -> bool:
    query, key = torch.rand(2, 5, 8), torch.rand(2, 7, 8)
    value = torch.tensor([3.0, 1.0]).expand(2, 7, 2)
    output, weights = attend(query, key, value)
    rows = np.allclose(weights.sum(-1).numpy(), 1, atol=1e-5)
    return np.bool_(rows) and np.allclose(output[..., 0].numpy(), 3, atol=1e-5)


# --- 2.6 the query that fetches a value ---


def _wanted_scores(keys: Tensor, wanted: int, high: float) -> Tensor:
    scores = torch.zeros(len(keys), 1, dtype=keys.dtype)
    scores[wanted] = high * keys.shape[-1] ** 0.5
    return scores


def query_by_least_squares(keys: Tensor, wanted: int) -> Tensor:
    return torch.linalg.lstsq(keys, _wanted_scores(keys, wanted, 12)).solution[:, 0]


def query_by_normal_equations(keys: Tensor, wanted: int) -> Tensor:
    scores = _wanted_scores(keys, wanted, 30)
    return (keys.T @ torch.linalg.solve(keys @ keys.T, scores)).squeeze()


def query_by_projection(keys: Tensor, wanted: int) -> Tensor:
    others = torch.cat([keys[:wanted], keys[wanted + 1 :]])
    basis = torch.linalg.qr(others.T).Q
    alone = keys[wanted] - basis @ (basis.T @ keys[wanted])
    return 100 * alone / (alone @ keys[wanted])


def query_by_descent(keys: Tensor, wanted: int) -> Tensor:
    query = torch.zeros(keys.shape[-1], dtype=keys.dtype, requires_grad=True)
    steps = torch.optim.Adam([query], lr=2.0)
    for _ in range(300):
        loss = -(keys @ query / keys.shape[-1] ** 0.5).log_softmax(0)[wanted]
        if loss < 0.005:
            break
        steps.zero_grad()
        loss.backward()
        steps.step()
    return query


def query_by_numpy(keys: Tensor, wanted: int) -> Tensor:
    scores = _wanted_scores(keys, wanted, 15).numpy()
    return torch.from_numpy(np.linalg.pinv(keys.numpy()) @ scores).flatten()


VARIANTS = {
    "2.1": (
        softmax_by_logarithm,
        softmax_of_torch,
        softmax_by_loops,
        softmax_in_place_on_its_own_copy,
        softmax_in_double,
    ),
    "2.2": (
        attention_by_loops,
        attention_by_einsum,
        attention_fused,
        attention_with_a_float_mask,
        attention_with_an_int_mask,
        attention_in_place_on_its_own_scores,
        attention_by_logarithm,
    ),
    "2.3": (
        jacobian_by_loops,
        jacobian_by_identity,
        jacobian_by_numpy,
        jacobian_by_autograd,
    ),
    "2.4": (Plain, WithBias, ByLoops, Fused, WithABuffer),
    "2.5": (
        healthy_in_small,
        healthy_in_large,
        healthy_by_the_formula,
        healthy_in_batches,
    ),
    "2.6": (
        query_by_least_squares,
        query_by_normal_equations,
        query_by_projection,
        query_by_descent,
        query_by_numpy,
    ),
}
