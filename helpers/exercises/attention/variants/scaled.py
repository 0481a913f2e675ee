"""Independent solutions to 2.B."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from helpers.exercises.attention.variants.shared import attention_by_einsum


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


VARIANTS = {
    "2.B": (
        attention_by_loops,
        attention_by_einsum,
        attention_fused,
        attention_with_a_float_mask,
        attention_with_an_int_mask,
        attention_in_place_on_its_own_scores,
        attention_by_logarithm,
    ),
}
