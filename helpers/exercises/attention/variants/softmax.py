"""Independent solutions to 2.A, 2.F."""

import math

import numpy as np
import torch
from torch import Tensor


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


VARIANTS = {
    "2.A": (
        softmax_by_logarithm,
        softmax_of_torch,
        softmax_by_loops,
        softmax_in_place_on_its_own_copy,
        softmax_in_double,
    ),
    "2.F": (
        jacobian_by_loops,
        jacobian_by_identity,
        jacobian_by_numpy,
        jacobian_by_autograd,
    ),
}
