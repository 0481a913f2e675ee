"""Independent solutions to 1.D, 1.E."""

import math

import numpy as np
import torch
import torch.nn.functional as F


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


def nearest_but_the_first(word, k, words, vectors):
    similarity = F.cosine_similarity(vectors[words.index(word)], vectors)
    return [words[row] for row in similarity.topk(k + 1).indices[1:]]


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


VARIANTS = {
    "1.D": (
        cosine_of_units,
        cosine_row_by_row,
        cosine_einsum,
        cosine_with_epsilon,
    ),
    "1.E": (
        (nearest_sorted, analogy_masked),
        (nearest_masked, analogy_loop),
        (nearest_numpy, analogy_numpy),
        (nearest_but_the_first, analogy_loop),
    ),
}
