"""Independent solutions to 6.K."""

import math

import numpy as np
import torch


def rate_by_cases(step, d_model, warmup):
    if step < warmup:
        return step / (math.sqrt(d_model) * warmup * math.sqrt(warmup))
    return 1 / math.sqrt(d_model * step)


def rate_by_numpy(step, d_model, warmup):
    return np.power(float(d_model), -0.5) * np.minimum(
        np.power(float(step), -0.5), step * np.power(float(warmup), -1.5)
    )


def rate_by_torch(step, d_model, warmup):
    terms = torch.tensor([step**-0.5, step * warmup**-1.5], dtype=torch.float64)
    return (d_model**-0.5 * terms.min()).item()


def rate_from_its_peak(step, d_model, warmup):
    peak = (d_model * warmup) ** -0.5
    return peak * min(step / warmup, (warmup / step) ** 0.5)


def rate_in_single_precision(step, d_model, warmup):
    step = torch.tensor(float(step))
    return d_model**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)


VARIANTS = {
    "6.K": (
        rate_by_cases,
        rate_by_numpy,
        rate_by_torch,
        rate_from_its_peak,
        rate_in_single_precision,
    ),
}
