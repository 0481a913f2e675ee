"""What several of these solutions share."""

import torch
import torch.nn.functional as F


def attention_by_einsum(query, key, value, mask=None):
    scores = torch.einsum("...td,...sd->...ts", query, key)
    scores = scores / torch.sqrt(torch.tensor(query.size(-1)))
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = F.softmax(scores, dim=-1)
    return torch.einsum("...ts,...sw->...tw", weights, value), weights
