"""The same attention, written in four ways; lesson 02 shows that they agree.

Each takes query (..., T, K), key (..., S, K), value (..., S, W) and a boolean mask
(True = may attend, broadcastable to (..., T, S)), and returns (..., T, W).
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def by_loops(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """One query at a time, as the formula is read aloud; for (B, T, K) only."""
    outputs = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=value.dtype)
    for b in range(query.shape[0]):
        for t in range(query.shape[1]):
            scores = torch.stack([query[b, t].dot(k) for k in key[b]])  # (S,)
            scores = scores / query.shape[-1] ** 0.5
            scores = scores.masked_fill(~mask[b, t], float("-inf"))
            for share, one in zip(scores.softmax(0), value[b], strict=True):
                outputs[b, t] += share * one
    return outputs


def by_matrices(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """All queries at once: the line that most papers print."""
    scores = query @ key.mT / query.shape[-1] ** 0.5  # (..., T, S)
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ value


def by_einsum(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Axes by name: the axis that is missing on the right is summed over."""
    scores = torch.einsum("...tk,...sk->...ts", query, key) / query.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)
    return torch.einsum("...ts,...sw->...tw", weights, value)


def by_kernel(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """One call of torch: nothing of size (T, S) needs to be stored."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def by_transformers(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """What BERT in `transformers` runs with `attn_implementation="eager"`.

    It expects a heads axis, and a mask that is added: 0 where allowed, else the
    smallest number there is.
    """
    from transformers.models.bert import modeling_bert

    smallest = torch.finfo(query.dtype).min
    added = torch.zeros_like(mask, dtype=query.dtype).masked_fill(~mask, smallest)
    layer = torch.nn.Module().eval()
    output, _ = modeling_bert.eager_attention_forward(
        layer,
        query[:, None],
        key[:, None],
        value[:, None],
        added[:, None],
        scaling=query.shape[-1] ** -0.5,
    )
    return output[:, :, 0]
