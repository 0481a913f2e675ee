"""Beam search: keep several half-written translations, not one.

Greedy decoding (`helpers.decoding`) takes the best next token and never looks back. A
beam keeps the best few beginnings, so that a weak first token can be made up for.
"""

import torch
from torch import Tensor

from helpers.models.masks import target_mask
from helpers.models.transformer import Transformer


@torch.no_grad()
def beam_search(
    model: Transformer,
    source: Tensor,
    source_mask: Tensor | None,
    start: int,
    end: int,
    max_new_tokens: int,
    width: int = 4,
    padding_id: int = 0,
) -> tuple[Tensor, Tensor]:
    """Write the sequence with the highest probability that a narrow search finds.

    After each token the `width` likeliest beginnings of each sentence go on; finished
    ones keep their place and their probability. Lengths are not rewarded. A width of 1
    is greedy decoding.

    Args:
        model: with `encode` and `decode`; put it in eval mode before
        source: (B, S), token ids
        source_mask: boolean, True = may attend, (B, 1, 1, S)
        start: the id that every target begins with
        end: the id that ends a sequence
        max_new_tokens: how many tokens are written at most, `end` among them
        width: how many beginnings are kept
        padding_id: what follows after `end`

    Returns:
        (B, 1 + n) token ids, the start token first; (B,) their log-probabilities

    Source: Wu et al. 2016 (arXiv 1609.08144), section 7, without its length penalty.
    """
    size = len(source)
    memory = model.encode(source, source_mask).repeat_interleave(width, 0)
    if source_mask is not None:
        source_mask = source_mask.repeat_interleave(width, 0)
    written = source.new_full((size * width, 1), start)  # (B * width, T=1)
    scores = memory.new_full((size, width), float("-inf"))
    scores[:, 0] = 0.0  # at first all beginnings are the same one
    first_row = torch.arange(size, device=source.device)[:, None] * width
    for _ in range(max_new_tokens):
        mask = target_mask(written, padding_id)
        logits = model.decode(written, memory, mask, source_mask)[:, -1]
        added = _next_log_probabilities(logits, written[:, -1], end, padding_id)
        total = scores.unsqueeze(-1) + added.unflatten(0, (size, width))
        scores, place = total.flatten(1).topk(width)  # (B, width)
        rows = (first_row + place // logits.shape[-1]).flatten()
        token = (place % logits.shape[-1]).flatten()
        written = torch.cat([written[rows], token[:, None]], dim=1)
        if ((token == end) | (token == padding_id)).all():
            break
    return written[first_row.flatten()], scores[:, 0]  # topk sorts: the best is first


def _next_log_probabilities(
    logits: Tensor, last: Tensor, end: int, padding_id: int
) -> Tensor:
    """(N, V): after its end a sequence goes on with padding, for certain.

    Before it there is none: padding is no word.
    """
    nothing = logits.new_full(logits.shape, float("-inf"))
    nothing[:, padding_id] = 0.0
    ended = (last == end) | (last == padding_id)
    words = logits.log_softmax(-1)
    words[:, padding_id] = float("-inf")
    return torch.where(ended[:, None], nothing, words)


@torch.no_grad()
def log_probability(
    model: Transformer,
    source: Tensor,
    source_mask: Tensor | None,
    written: Tensor,
    padding_id: int = 0,
) -> Tensor:
    """How likely the model finds these targets, given their sources.

    Args:
        model: put it in eval mode before
        source: (B, S), token ids
        source_mask: boolean, True = may attend, (B, 1, 1, S)
        written: (B, T), token ids, the start token first
        padding_id: what does not count

    Returns:
        (B,): the sum of the log-probabilities of all tokens after the start
    """
    so_far, labels = written[:, :-1], written[:, 1:]  # (B, T - 1) each
    logits = model(source, so_far, source_mask, target_mask(so_far, padding_id))
    each = logits.log_softmax(-1).gather(-1, labels[..., None]).squeeze(-1)
    return each.masked_fill(labels == padding_id, 0.0).sum(-1)
