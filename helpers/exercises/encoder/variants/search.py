"""Independent solutions to 4.J."""

import torch


def mean_by_loop(hidden, real):
    return torch.stack(
        [one[some].mean(0) for one, some in zip(hidden, real, strict=True)]
    )


def mean_by_filling(hidden, real):
    kept = hidden.masked_fill(~real[:, :, None], 0.0)
    return kept.sum(dim=1) / real.sum(dim=1)[:, None]


def mean_by_einsum(hidden, real):
    share = real.to(hidden.dtype)
    share = share / share.sum(1, keepdim=True)
    return torch.einsum("bt,btd->bd", share, hidden)


VARIANTS = {
    "4.J": (mean_by_loop, mean_by_filling, mean_by_einsum),
}
