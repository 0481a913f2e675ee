"""Independent solutions to 11.N."""

import math

import numpy as np
import torch


def min_p_by_logarithms(logits, p):
    bound = logits.max(-1, keepdim=True).values + math.log(p)
    return logits.masked_fill(logits < bound, float("-inf"))


def min_p_by_loops(logits, p):
    result = logits.clone()
    for row, scores in enumerate(logits):
        shares = torch.softmax(scores, 0).tolist()
        for token, share in enumerate(shares):
            if share < p * max(shares):
                result[row, token] = float("-inf")
    return result


def min_p_by_numpy(logits, p):
    array = logits.numpy()
    beside_the_best = np.exp(array - array.max(axis=1, keepdims=True))
    return torch.from_numpy(np.where(beside_the_best >= p, array, -np.inf))


VARIANTS = {"11.N": (min_p_by_logarithms, min_p_by_loops, min_p_by_numpy)}
