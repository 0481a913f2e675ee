"""Multi-head attention as an engineer would ship it: three projections in one."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.models.attention import attention


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cut the width into heads and put the heads beside the batch.

    Args:
        x: (B, T, D)
        num_heads: H, a divisor of D

    Returns:
        (B, H, T, K) with K = D / H: head h holds the features from h K on.
    """
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """Lay the heads side by side again: (B, H, T, K) -> (B, T, H K)."""
    return x.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    """Several heads of attention, each in a part of the width.

    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_o, where
    head_i = Attention(Q W_q_i, K W_k_i, V W_v_i). The projections have biases, as in
    BERT and GPT-2; the paper's formula has none. The weights of W_q, W_k and W_v are
    rows of one matrix, so that self-attention needs one product for all three.

    Args:
        d_model: width of the vectors that come in and go out
        num_heads: H; each head is d_model / num_heads wide
        dropout: fraction of the weights that is dropped in training
        bias: whether the projections add one

    Raises:
        ValueError: d_model is not a multiple of num_heads.

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True
    ) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} is not a multiple of {num_heads=}")
        self.num_heads = num_heads
        self.dropout = dropout
        self.to_qkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let every query look at every key, once per head.

        Args:
            query: (B, T, D)
            key: (B, S, D)
            value: (B, S, D)
            mask: boolean, True = may attend, broadcastable to (B, H, T, S)
            is_causal: hide the future, for T = S and no mask; see `attention`
            need_weights: also return the weights, (B, H, T, S), before dropout

        Returns:
            (B, T, D); with `need_weights` a pair (output, weights).
        """
        heads = self.project(query, key, value)
        return self.mix(*heads, mask, is_causal=is_causal, need_weights=need_weights)

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        """Project all three and split the heads: (B, H, T, K), (B, H, S, K) twice."""
        if query is key is value:  # one product instead of three
            parts = self.to_qkv(query).chunk(3, dim=-1)
        else:
            weights = self.to_qkv.weight.chunk(3)  # each (D, D)
            bias = self.to_qkv.bias
            biases = (None,) * 3 if bias is None else bias.chunk(3)
            parts = map(F.linear, (query, key, value), weights, biases)
        return tuple(split_heads(part, self.num_heads) for part in parts)

    def mix(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """What follows `project`: attend in every head, merge the heads and apply W_o.

        Takes and returns the same as `forward`, but query, key and value are split into
        heads: (B, H, T, K) and (B, H, S, K).
        """
        mixed = attention(
            query,
            key,
            value,
            mask,
            is_causal=is_causal,
            dropout=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
        if not need_weights:
            return self.W_o(merge_heads(mixed))  # (B, T, D)
        output, weights = mixed
        return self.W_o(merge_heads(output)), weights

    @torch.no_grad()
    def copy_layers(
        self, W_q: nn.Linear, W_k: nn.Linear, W_v: nn.Linear, W_o: nn.Linear
    ) -> "MultiHeadAttention":
        """Copy the weights of four separate layers, D wide; returns itself."""
        for kind in ("weight", "bias"):
            if getattr(self.W_o, kind) is None:
                continue
            rows = torch.cat([getattr(layer, kind) for layer in (W_q, W_k, W_v)])
            getattr(self.to_qkv, kind).copy_(rows)
            getattr(self.W_o, kind).copy_(getattr(W_o, kind))
        return self
