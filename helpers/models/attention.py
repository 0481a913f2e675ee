"""Attention as an engineer would ship it: fused kernel, weights only on request."""

import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models.masks import look_ahead_mask


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    dropout: float = 0.0,
    need_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Mix the values, each weighted by how well its key answers the query.

    softmax(Q K^T / sqrt(d_head)) V, the softmax taken over the keys. A query that may
    attend to nothing gets zeros, as in torch's fused kernel.

    Args:
        query: (..., T, K)
        key: (..., S, K)
        value: (..., S, W), often W = K
        mask: boolean, True = may attend, broadcastable to (..., T, S)
        is_causal: query t sees the keys up to t and no later one, without a mask that
            has to be stored and read; for T = S, where nothing else is masked
        dropout: fraction of the weights that is dropped; 0.0 outside training
        need_weights: also return the weights, (..., T, S), before dropout

    Returns:
        The mixed values, (..., T, W); with `need_weights` a pair (output, weights).

    Raises:
        ValueError: Query and key differ in width, or key and value in length;
            `is_causal` with a mask, or with more keys than queries or fewer.

    Source: Vaswani et al. 2017, section 3.2.1.
    """
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query width {query.shape[-1]}, key width {key.shape[-1]}")
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(f"{key.shape[-2]} keys, but {value.shape[-2]} values")
    length = query.shape[-2]
    if is_causal and (mask is not None or key.shape[-2] != length):
        raise ValueError(
            f"is_causal is for as many keys as queries and no mask: {length} queries, "
            f"{key.shape[-2]} keys, mask {'given' if mask is not None else 'None'}"
        )
    if not need_weights:
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, dropout_p=dropout, is_causal=is_causal
        )
    if is_causal:
        mask = look_ahead_mask(length, query.device)
    scores = query @ key.mT / query.shape[-1] ** 0.5  # (..., T, S)
    if mask is None:
        weights = scores.softmax(-1)
    else:
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)  # no key: NaN
    return F.dropout(weights, dropout) @ value, weights


class SelfAttention(nn.Module):
    """One head of self-attention.

    Query, key and value are three learned projections of the same vectors.

    Args:
        d_model: width of the vectors that come in
        d_head: width of query, key, value and of the result
        bias: whether the projections add one; the paper's formula has none

    Source: Vaswani et al. 2017, section 3.2; one head, without the output projection.
    """

    def __init__(self, d_model: int, d_head: int, bias: bool = False) -> None:
        super().__init__()
        self.W_q = nn.Linear(d_model, d_head, bias=bias)
        self.W_k = nn.Linear(d_model, d_head, bias=bias)
        self.W_v = nn.Linear(d_model, d_head, bias=bias)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, *, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend within each sequence.

        Args:
            x: (B, T, D)
            mask: (B, T), boolean, True = a real token, False = padding
            need_weights: also return the weights, (B, T, T)

        Returns:
            (B, T, K); with `need_weights` a pair (output, weights).
        """
        query, key, value = self.W_q(x), self.W_k(x), self.W_v(x)  # (B, T, K)
        may_attend = None if mask is None else mask[:, None, :].bool()  # (B, T=1, S)
        return attention(query, key, value, may_attend, need_weights=need_weights)
