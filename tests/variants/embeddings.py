"""Other right answers to the exercises of lesson 01."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

# --- 1.1 ---


def embed_one_hot(table, ids):
    return F.one_hot(ids, table.shape[0]).to(table.dtype) @ table


def embed_by_module(table, ids):
    return F.embedding(ids, table)


def embed_by_loops(table, ids):
    rows = [table[token] for token in ids.flatten().tolist()]
    return torch.stack(rows).view(*ids.shape, table.shape[1])


def embed_by_index_select(table, ids):
    return table.index_select(0, ids.reshape(-1)).reshape(ids.shape + table.shape[1:])


# --- 1.2 ---


def cosine_of_units(u, V):
    return F.normalize(V, dim=1) @ F.normalize(u, dim=0)


def cosine_row_by_row(u, V):
    values = [(u * row).sum() / ((u**2).sum() * (row**2).sum()).sqrt() for row in V]
    return torch.stack(values)


def cosine_einsum(u, V):
    lengths = torch.einsum("nd,nd->n", V, V).sqrt() * torch.einsum("d,d->", u, u).sqrt()
    return torch.einsum("nd,d->n", V, u) / lengths


def cosine_with_epsilon(u, V):
    return V @ u / (V.norm(dim=1) * u.norm() + 1e-8)


# --- 1.3 ---


def nearest_sorted(word, k, words, vectors):
    here = vectors[list(words).index(word)]
    score = {
        other: F.cosine_similarity(here, vector, dim=0).item()
        for other, vector in zip(words, vectors, strict=True)
        if other != word
    }
    return sorted(score, key=score.get, reverse=True)[:k]


def nearest_masked(word, k, words, vectors):
    place = words.index(word)
    units = vectors / vectors.norm(dim=-1, keepdim=True)
    similarity = units @ units[place]
    similarity[place] = -torch.inf
    return [words[row] for row in similarity.topk(k).indices]


def nearest_numpy(word, k, words, vectors):
    table = vectors.numpy()
    here = table[words.index(word)]
    cosine = table @ here / np.linalg.norm(table, axis=1) / np.linalg.norm(here)
    order = np.argsort(-cosine)
    return tuple(words[row] for row in order if words[row] != word)[:k]


def analogy_masked(a, b, c, words, vectors):
    rows = [words.index(word) for word in (a, b, c)]
    target = vectors[rows[1]] - vectors[rows[0]] + vectors[rows[2]]
    similarity = F.cosine_similarity(target, vectors)
    similarity[rows] = -2.0
    return words[similarity.argmax()]


def analogy_loop(a, b, c, words, vectors):
    vector = dict(zip(words, vectors, strict=True))
    target = vector[c] + vector[b] - vector[a]
    best, champion = -math.inf, ""
    for word in words:
        cosine = F.cosine_similarity(target, vector[word], dim=0)
        if word not in (a, b, c) and cosine > best:
            best, champion = cosine, word
    return champion


def analogy_numpy(a, b, c, words, vectors):
    table = vectors.numpy()
    target = np.array([-1, 1, 1]) @ table[[words.index(word) for word in (a, b, c)]]
    order = np.argsort(table @ target / np.linalg.norm(table, axis=1))[::-1]
    return next(words[row] for row in order if words[row] not in {a, b, c})


# --- 1.4 ---


def encoding_by_logarithms(length, d_model):
    table = torch.zeros(length, d_model)
    position = torch.arange(0, length, dtype=torch.float).unsqueeze(1)
    rate = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return table


def encoding_by_loops(length, d_model):
    table = torch.empty(length, d_model)
    for pos in range(length):
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            table[pos, 2 * i] = math.sin(angle)
            table[pos, 2 * i + 1] = math.cos(angle)
    return table


def _angles_in_float64(length, d_model):
    column = torch.arange(d_model, dtype=torch.float64)
    position = torch.arange(length, dtype=torch.float64)
    angle = torch.outer(position, 10000 ** -((column // 2) * 2 / d_model))
    return angle + column % 2 * math.pi / 2


def encoding_in_float64(length, d_model):
    return _angles_in_float64(length, d_model).sin().float()


def encoding_stacked(length, d_model):
    pair = torch.arange(d_model // 2)
    angle = torch.arange(length)[:, None] * 1e4 ** (-2 * pair / d_model)
    return torch.stack((angle.sin(), angle.cos()), dim=2).reshape(length, d_model)


# --- 1.4b ---


class RegisteredPositions(nn.Module):
    def __init__(self, d_model, max_length):
        super().__init__()
        self.register_buffer("table", encoding_by_loops(max_length, d_model))

    def forward(self, x):
        return x + self.table[None, : x.size(1), :]


class BatchedPositions(nn.Module):
    def __init__(self, d_model, max_length):
        super().__init__()
        table = encoding_by_logarithms(max_length, d_model).unsqueeze(0)
        self.register_buffer("pe", table, persistent=False)

    def forward(self, x):
        _, length, _ = x.shape
        return x + self.pe[:, :length]


class LookedUpPositions(nn.Module):
    def __init__(self, d_model, max_length):
        super().__init__()
        self.rows = nn.Buffer(encoding_stacked(max_length, d_model))

    def forward(self, x):
        places = torch.arange(x.shape[-2], device=x.device)
        return F.embedding(places, self.rows) + x


# --- 1.4c ---


def input_by_parts(table, ids, encoding):
    batch, length = ids.shape
    vectors = F.embedding(ids, table) * math.sqrt(table.size(-1))
    return vectors + encoding[torch.arange(length)].expand(batch, -1, -1)


def input_scaled_table(table, ids, encoding):
    return (table * table.shape[1] ** 0.5)[ids] + encoding[None, : ids.shape[-1]]


def input_by_sentences(table, ids, encoding):
    root = torch.tensor(table.shape[1], dtype=table.dtype).sqrt()
    return torch.stack([root * table[one] + encoding[: len(one)] for one in ids])


# --- 1.5 ---


def right_by_one_number(make):
    table = make(3, 4)  # angle of the second pair at position 2: 2 / 100
    if table.shape != (3, 4):
        return False
    wanted = [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)]
    return np.allclose(table[2].tolist(), wanted, atol=1e-3)


def right_by_loops(make):
    table = make(5, 8)
    if tuple(table.shape) != (5, 8):
        return False
    return bool((table - encoding_by_loops(5, 8)).abs().max() < 1e-3)


def right_by_wavelength(make):
    table = make(9, 8).double()
    if table.shape != (9, 8):
        return False
    angle = torch.atan2(table[:, 0::2], table[:, 1::2])[1]  # of position 1
    rate = torch.tensor([1.0, 0.1, 0.01, 0.001], dtype=torch.float64)
    size = (table**2).sum(1)
    return bool((angle / rate - 1).abs().max() < 1e-3 and (size - 4).abs().max() < 1e-3)


# --- 1.6 ---


def shift_by_blocks(k, d_model):
    blocks = []
    for i in range(d_model // 2):
        b = torch.tensor(k / 10000 ** (2 * i / d_model))
        rows = torch.stack([b.cos(), b.sin()]), torch.stack([-b.sin(), b.cos()])
        blocks.append(torch.stack(rows))
    return torch.block_diag(*blocks)


def shift_by_least_squares(k, d_model):
    last = 200
    table = _angles_in_float64(last + abs(k), d_model).sin()
    first = max(0, -k)
    here, there = table[first : first + last], table[first + k : first + k + last]
    return torch.linalg.lstsq(here, there).solution.T.float()


def shift_by_exponential(k, d_model):
    rate = 10000 ** (-torch.arange(0, d_model, 2) / d_model)
    turn = torch.zeros(d_model, d_model)
    even = torch.arange(0, d_model, 2)
    turn[even, even + 1], turn[even + 1, even] = rate, -rate
    return torch.matrix_exp(k * turn)


VARIANTS = {
    "1.1": (embed_one_hot, embed_by_module, embed_by_loops, embed_by_index_select),
    "1.2": (
        cosine_of_units,
        cosine_row_by_row,
        cosine_einsum,
        cosine_with_epsilon,
    ),
    "1.3": (
        (nearest_sorted, analogy_masked),
        (nearest_masked, analogy_loop),
        (nearest_numpy, analogy_numpy),
    ),
    "1.4": (
        encoding_by_logarithms,
        encoding_by_loops,
        encoding_in_float64,
        encoding_stacked,
    ),
    "1.4b": (RegisteredPositions, BatchedPositions, LookedUpPositions),
    "1.4c": (input_by_parts, input_scaled_table, input_by_sentences),
    "1.5": (right_by_one_number, right_by_loops, right_by_wavelength),
    "1.6": (shift_by_blocks, shift_by_least_squares, shift_by_exponential),
}
