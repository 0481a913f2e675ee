"""Independent solutions to 11.C."""

import numpy as np
import torch

from helpers.exercises.generation.variants.shared import (
    top_k_by_counting,
    top_k_by_loops,
    top_k_by_sorting,
)


def top_k_by_numpy(logits, k):
    array = logits.numpy().copy()
    bound = -np.sort(-array, axis=1)[:, : min(k, array.shape[1])][:, -1:]
    array[array < bound] = -np.inf
    return torch.from_numpy(array)


VARIANTS = {
    "11.C": (top_k_by_sorting, top_k_by_loops, top_k_by_counting, top_k_by_numpy),
}
