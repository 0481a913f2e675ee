"""Beam search: keep several half-written texts, not one.

Greedy decoding (`helpers.generation.decoding`, `helpers.generation.sampling`) takes the
best next token and never looks back. A beam keeps the best few beginnings, so that a
weak first token can be made up for.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from helpers.generation.sampling import NEVER, logits_of
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
    """Write the translation with the highest probability that a narrow search finds.

    After each token the `width` most likely beginnings of each sentence go on; finished
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
    memory = model.encode(source, source_mask).repeat_interleave(width, 0)
    if source_mask is not None:
        source_mask = source_mask.repeat_interleave(width, 0)

    def scores_after(written: Tensor) -> Tensor:
        mask = target_mask(written, padding_id)
        words = model.decode(written, memory, mask, source_mask)[:, -1].log_softmax(-1)
        words[:, padding_id] = NEVER  # padding is not a word
        return words

    written = source.new_full((len(source), 1), start)
    written, scores = _search(
        written, scores_after, max_new_tokens, width, (end, padding_id), padding_id
    )
    return written[:, 0], scores[:, 0].to(memory.dtype)  # the best beam comes first


@torch.no_grad()
def continue_text(
    model: Any,
    ids: Tensor,
    max_new_tokens: int,
    width: int = 4,
    end: int | None = None,
) -> tuple[Tensor, float]:
    """Continue one prompt with the most likely text that a narrow search finds.

    While it searches, beginnings are compared by the sum of their log-probabilities,
    and a finished one keeps its place and its sum. At last the length counts: the text
    with the highest mean over its new tokens, `end` among them, is returned.

    Args:
        model: a language model as in `helpers.generation.sampling`, in eval mode
        ids: (1, T), the prompt
        max_new_tokens: how many tokens are written at most
        width: how many beginnings are kept
        end: the id that ends a text; None: nothing does

    Returns:
        (1, T + n) token ids, the prompt first and nothing after `end`; the mean of the
        log-probabilities of the n new tokens
    """
    ends = () if end is None else (end,)
    written, scores = _search(
        ids,
        lambda written: logits_of(model, written)[:, -1].log_softmax(-1),
        max_new_tokens,
        width,
        ends,
        end,
    )
    texts = written[0, :, ids.shape[1] :]  # (width, n)
    if not texts.shape[1]:
        return ids, 0.0
    unended = torch.isin(texts, texts.new_tensor(ends)).long().cumsum(1) == 0
    lengths = (unended.sum(1) + 1).clamp(max=texts.shape[1])  # `end` counts
    means = scores[0] / lengths
    best = int(means.argmax())
    return written[:, best, : ids.shape[1] + int(lengths[best])], means[best].item()


def _search(
    written: Tensor,
    scores_after: Callable[[Tensor], Tensor],
    max_new_tokens: int,
    width: int,
    ends: Sequence[int],
    filler: int | None,
) -> tuple[Tensor, Tensor]:
    """Grow (B, T) to the `width` most likely (B, width, T + n); their sums (B, width).

    Args:
        written: what all beams of a row begin with
        scores_after: (B * width, T) -> (B * width, V), log-probabilities
        max_new_tokens: n at most
        width: how many beams are kept
        ends: ids after which a beam goes on with `filler`, for certain
        filler: an id
    """
    size = len(written)
    written = written.repeat_interleave(width, 0)  # (B * width, T)
    scores = torch.full((size, width), NEVER, device=written.device)
    scores[:, 0] = 0.0  # at first all beams are the same
    first_row = torch.arange(size, device=written.device)[:, None] * width
    ended = torch.zeros_like(written[:, -1], dtype=torch.bool)  # (B * width)
    for _ in range(max_new_tokens):
        added = scores_after(written)
        added = torch.where(ended[:, None], _only(filler, added), added)
        total = scores.unsqueeze(-1) + added.unflatten(0, (size, width))
        scores, place = total.flatten(1).topk(width)  # (B, width), the best first
        rows = (first_row + place // added.shape[-1]).flatten()
        token = (place % added.shape[-1]).flatten()
        written = torch.cat([written[rows], token[:, None]], dim=1)
        ended = ended[rows] | torch.isin(token, token.new_tensor(ends))
        if ended.all():
            break
    return written.unflatten(0, (size, width)), scores


def _only(token: int | None, scores: Tensor) -> Tensor:
    """Log-probabilities like these, but sure of one token; as they are for None."""
    if token is None:
        return scores
    sure = torch.full_like(scores, NEVER)
    sure[:, token] = 0.0
    return sure


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
