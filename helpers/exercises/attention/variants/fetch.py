"""Independent solutions to 2.J."""

import numpy as np
import torch
from torch import Tensor


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
    "2.J": (
        query_by_least_squares,
        query_by_normal_equations,
        query_by_projection,
        query_by_descent,
        query_by_numpy,
    ),
}
