"""Greedy decoding with an encoder and a decoder: the most likely next token."""

import torch
from torch import Tensor

from helpers.models.transformer import Transformer, look_ahead_mask


@torch.no_grad()
def greedy_decode(
    model: Transformer,
    source: Tensor,
    source_mask: Tensor | None,
    start: int,
    end: int,
    max_new_tokens: int,
    padding_id: int = 0,
) -> Tensor:
    """Write token by token, each time the one with the highest score.

    The source is encoded once. A sequence that has written `end` is filled up with
    padding while others go on; when all have ended, it stops.

    Args:
        model: with `encode` and `decode`; put it in eval mode before
        source: (B, S), token ids
        source_mask: boolean, True = may attend, (B, 1, 1, S)
        start: the id that every target begins with
        end: the id that ends a sequence
        max_new_tokens: how many tokens are written at most, `end` among them
        padding_id: what follows after `end`

    Returns:
        (B, 1 + n) token ids, n at most max_new_tokens, the start token first
    """
    memory = model.encode(source, source_mask)  # (B, S, D)
    written = source.new_full((len(source), 1), start)  # (B, T=1)
    ended = written.new_zeros(len(source), dtype=torch.bool)  # (B)
    for _ in range(max_new_tokens):
        mask = look_ahead_mask(written.shape[1], source.device)
        logits = model.decode(written, memory, mask, source_mask)  # (B, T, V)
        best = logits[:, -1].argmax(-1)  # (B)
        best = torch.where(ended, padding_id, best)
        written = torch.cat([written, best[:, None]], dim=1)
        ended |= best == end
        if ended.all():
            break
    return written
