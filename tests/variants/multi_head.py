"""Lesson 03 in other hands: loops, einsum, slices, every way to copy a layer."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

# --- 3.1 split_heads, merge_heads ---


def split_by_slices(x: Tensor, num_heads: int) -> Tensor:
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def split_by_permute(x: Tensor, num_heads: int) -> Tensor:
    b, t, d = x.size()
    return x.view(b, t, num_heads, d // num_heads).permute(0, 2, 1, 3).contiguous()


def split_by_einsum(x: Tensor, num_heads: int) -> Tensor:
    return torch.einsum("bthk->bhtk", x.unflatten(-1, (num_heads, -1)))


def merge_by_cat(x: Tensor) -> Tensor:
    return torch.cat(x.unbind(1), dim=-1)


def merge_by_view(x: Tensor) -> Tensor:
    b, h, t, k = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(b, t, h * k)


def merge_by_filling(x: Tensor) -> Tensor:
    batch, heads, length, d_head = x.shape
    merged = torch.zeros(batch, length, heads * d_head, dtype=x.dtype)
    for head in range(heads):
        merged[..., head * d_head : (head + 1) * d_head] = x[:, head]
    return merged


# --- 3.2 MultiHeadAttention ---


class ByKernel(nn.Module):
    """Fused kernel for the output; the weights computed beside it."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("the heads cannot share this width")
        self.h, self.k = num_heads, d_model // num_heads
        self.W_o = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_q = nn.Linear(d_model, d_model)

    def heads(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), -1, self.h, self.k).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k = self.heads(self.W_q(query)), self.heads(self.W_k(key))
        v = self.heads(self.W_v(value))
        scores = torch.matmul(q, k.transpose(-2, -1)) / np.sqrt(self.k)
        if mask is not None:
            scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        merged = mixed.transpose(1, 2).flatten(-2)
        return self.W_o(merged), F.softmax(scores, dim=-1)


class ByLoop(nn.Module):
    """Head by head, on slices of the projections."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("the heads cannot share this width")
        self.num_heads = num_heads
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=True))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.W_q(query), self.W_k(key), self.W_v(value)
        width = q.shape[-1] // self.num_heads
        shape = (q.shape[0], self.num_heads, q.shape[1], k.shape[1])
        mask = torch.ones(()).bool() if mask is None else mask
        open_to = mask.expand(shape)
        found, maps = [], []
        for head in range(self.num_heads):
            part = slice(head * width, (head + 1) * width)
            scores = q[..., part] @ k[..., part].transpose(1, 2) / width**0.5
            scores = scores + torch.zeros_like(scores).masked_fill(
                ~open_to[:, head], -1e30
            )
            maps.append(scores.softmax(2))
            found.append(maps[-1] @ v[..., part])
        return self.W_o(torch.cat(found, 2)), torch.stack(maps, 1)


class ByEinsum(nn.Module):
    """Axes by name, no transpose at all; a list in place of a tuple comes back."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("the heads cannot share this width")
        self.num_heads = num_heads
        self.W_q, self.W_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.W_v, self.W_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        size = (self.num_heads, -1)
        q = self.W_q(query).unflatten(-1, size) * (
            self.W_q.out_features // self.num_heads
        ) ** (-0.5)
        k, v = self.W_k(key).unflatten(-1, size), self.W_v(value).unflatten(-1, size)
        scores = torch.einsum("bthk,bshk->bhts", q, k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = powers / powers.sum(-1, keepdim=True)
        return [
            self.W_o(torch.einsum("bhts,bshk->bthk", weights, v).flatten(2)),
            weights,
        ]


# --- 3.3 FusedSelfAttention ---


class FusedBySplit(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.d_model, self.num_heads = d_model, num_heads
        self.to_qkv = nn.Linear(d_model, d_model * 3)
        self.W_o = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = self.to_qkv(x).split(self.d_model, dim=2)
        q, k, v = (split_by_slices(part, self.num_heads) for part in (q, k, v))
        scores = q @ k.mT / (self.d_model // self.num_heads) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -1e9)
        weights = scores.softmax(-1)
        return self.W_o(merge_by_cat(weights @ v)), weights


class FusedByPermute(FusedBySplit):
    def forward(self, x, mask=None):
        batch, length, _ = x.shape
        qkv = self.to_qkv(x).reshape(batch, length, 3, self.num_heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        scores = q @ k.mT * k.shape[-1] ** -0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(-1)
        return self.W_o((weights @ v).transpose(1, 2).reshape(x.shape)), weights


class FusedByRows(FusedBySplit):
    """The big layer taken apart again: three products with thirds of its rows."""

    def forward(self, x, mask=None):
        rows, biases = self.to_qkv.weight.chunk(3), self.to_qkv.bias.chunk(3)
        q, k, v = (
            split_by_einsum(F.linear(x, row, bias), self.num_heads)
            for row, bias in zip(rows, biases, strict=True)
        )
        added = 0.0 if mask is None else torch.where(mask, 0.0, -1e30)
        weights = (q @ k.mT / q.shape[-1] ** 0.5 + added).softmax(-1)
        return self.W_o(merge_by_view(weights @ v)), weights


# --- 3.4 load_pretrained_attention ---

NAMES = {"W_q": "query", "W_k": "key", "W_v": "value"}


def load_without_gradients(mine, theirs):
    with torch.no_grad():
        for ours, name in NAMES.items():
            source = getattr(theirs.self, name)
            getattr(mine, ours).weight.copy_(source.weight)
            getattr(mine, ours).bias.copy_(source.bias)
        mine.W_o.weight.copy_(theirs.output.dense.weight)
        mine.W_o.bias.copy_(theirs.output.dense.bias)
    return mine


def load_new_parameters(mine, theirs):
    layers = [*(getattr(theirs.self, name) for name in NAMES.values())]
    layers.append(theirs.output.dense)
    for ours, source in zip(
        (mine.W_q, mine.W_k, mine.W_v, mine.W_o), layers, strict=True
    ):
        ours.weight = nn.Parameter(source.weight.detach().clone())
        ours.bias = nn.Parameter(source.bias.detach().clone())
    return mine


def load_one_dictionary(mine, theirs):
    numbers = {}
    for name, number in theirs.state_dict().items():
        for ours, word in {**NAMES, "W_o": "output.dense"}.items():
            if f"{word}." in name:
                numbers[f"{ours}.{name.split('.')[-1]}"] = number
    mine.load_state_dict(numbers)
    return mine


def load_copied_layers(mine, theirs):
    import copy

    mine.W_q = copy.deepcopy(theirs.self.query)
    mine.W_k = copy.deepcopy(theirs.self.key)
    mine.W_v = copy.deepcopy(theirs.self.value)
    mine.W_o = copy.deepcopy(theirs.output.dense)
    return mine


# --- 3.5 head_scores ---


def scores_by_loops(weights, tokens):
    heads, length, _ = weights.shape
    previous, itself, separator = [], [], []
    where = [place for place, token in enumerate(tokens) if token == "[SEP]"]
    for head in weights:
        previous.append(sum(head[t, t - 1] for t in range(1, length)) / (length - 1))
        itself.append(head.trace() / length)
        separator.append(sum(head[:, place].sum() for place in where) / length)
    return torch.stack(previous), torch.stack(itself), torch.stack(separator)


def scores_by_index(weights, tokens):
    places = torch.arange(weights.shape[-1])
    marks = torch.tensor([float(token == "[SEP]") for token in tokens])
    return (
        weights[:, places[1:], places[:-1]].mean(1),
        weights[:, places, places].mean(1),
        (weights @ marks.to(weights.dtype)).mean(1),
    )


def scores_by_masks(weights, tokens):
    length = len(tokens)
    below = torch.diag(torch.ones(length - 1, dtype=weights.dtype), -1)
    ends = [place for place in range(length) if tokens[place] == "[SEP]"]
    return [
        (weights * below).sum((1, 2)) / (length - 1),
        torch.einsum("htt->h", weights) / length,
        weights[:, :, ends].sum((1, 2)) / length,
    ]


# --- 3.6 HeadByHead ---


class HeadsInAList(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_head: int) -> None:
        super().__init__()

        def layers() -> nn.ModuleList:
            return nn.ModuleList([nn.Linear(d_model, d_head) for _ in range(num_heads)])

        self.W_o = nn.Linear(d_head * num_heads, d_model)
        self.W_v, self.W_k, self.W_q = layers(), layers(), layers()

    def forward(self, x):
        maps = [
            (q(x) @ k(x).mT / q.out_features**0.5).softmax(-1)
            for q, k in zip(self.W_q, self.W_k, strict=True)
        ]
        found = [m @ v(x) for m, v in zip(maps, self.W_v, strict=True)]
        return self.W_o(torch.cat(found, -1)), torch.stack(maps, 1)


class HeadsStacked(HeadsInAList):
    """All small layers applied at once, by stacking their weights."""

    def forward(self, x):
        def project(layers: nn.ModuleList) -> Tensor:
            return torch.stack([layer(x) for layer in layers], dim=1)

        q, k, v = project(self.W_q), project(self.W_k), project(self.W_v)
        weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
        return self.W_o((weights @ v).permute(0, 2, 1, 3).flatten(2)), weights


class HeadsAdded(HeadsInAList):
    """The output projection cut into parts: the same sum, written per head."""

    def forward(self, x):
        output, maps = self.W_o.bias, []
        parts = self.W_o.weight.chunk(len(self.W_q), dim=1)
        for q, k, v, part in zip(self.W_q, self.W_k, self.W_v, parts, strict=True):
            maps.append(F.softmax(q(x) @ k(x).mT * k.out_features**-0.5, -1))
            output = output + maps[-1] @ v(x) @ part.T
        return output, torch.stack(maps, 1)


# --- 3.8 treats_tokens_alike ---


def alike_by_one_swap(layer) -> bool:
    x = torch.randn(5, 8, dtype=torch.float64)
    swapped = x[[1, 0, 2, 3, 4]]
    before, after = layer(x).double(), layer(swapped).double()
    return torch.allclose(before[[1, 0, 2, 3, 4]], after, atol=1e-4)


def alike_backwards(layer) -> bool:
    x = torch.rand(5, 8)
    gap = layer(x.flip(0)).flip(0) - layer(x)
    return bool(gap.abs().max() < 1e-3)


def alike_by_many_orders(layer) -> bool:
    x = torch.arange(40.0).reshape(5, 8).sin()
    for _ in range(5):
        order = torch.randperm(5)
        back = torch.argsort(order)
        if not torch.allclose(layer(x[order])[back], layer(x), atol=1e-4):
            return False
    return True


def alike_in_one_fixed_order(layer) -> bool:
    x, order = torch.randn(5, 8), [2, 0, 4, 1, 3]
    return torch.allclose(layer(x[order]), layer(x)[order], atol=1e-4)


def alike_by_rolling(layer) -> np.bool_:
    x = torch.randn(5, 8)
    one, other = layer(x.roll(2, 0)).numpy(), layer(x).roll(2, 0).numpy()
    return np.allclose(one, other, atol=1e-4)


VARIANTS = {
    "3.1": (
        (split_by_slices, merge_by_cat),
        (split_by_permute, merge_by_view),
        (split_by_einsum, merge_by_filling),
    ),
    "3.2": (ByKernel, ByLoop, ByEinsum),
    "3.3": (FusedBySplit, FusedByPermute, FusedByRows),
    "3.4": (
        load_without_gradients,
        load_new_parameters,
        load_one_dictionary,
        load_copied_layers,
    ),
    "3.5": (scores_by_loops, scores_by_index, scores_by_masks),
    "3.6": (HeadsInAList, HeadsStacked, HeadsAdded),
    "3.8": (
        alike_by_one_swap,
        alike_backwards,
        alike_by_many_orders,
        alike_in_one_fixed_order,
        alike_by_rolling,
    ),
}
