"""Independent solutions to 11.D."""

import torch

from helpers.exercises.generation.variants.shared import (
    NEVER,
    top_p_by_loops,
    top_p_by_ranks,
    top_p_from_below,
)


def top_p_filling_a_copy(logits, p):
    ordered, places = logits.sort(descending=True)
    count = (ordered.softmax(-1).cumsum(-1) < p).sum(-1) + 1
    result = torch.full_like(logits, NEVER)
    for row, many in enumerate(count.clamp(max=logits.shape[-1]).tolist()):
        result[row, places[row, :many]] = ordered[row, :many]
    return result


def top_p_by_a_shifted_mask(logits, p):
    """Where the sum is p exactly, one token more stays: no case may ask."""
    ordered, places = logits.sort(descending=True)
    over = ordered.softmax(-1).cumsum(-1) > p
    over[..., 1:] = over[..., :-1].clone()
    over[..., 0] = False
    return logits.masked_fill(over.scatter(-1, places, over), NEVER)


VARIANTS = {
    "11.D": (
        top_p_from_below,
        top_p_by_loops,
        top_p_by_ranks,
        top_p_filling_a_copy,
        top_p_by_a_shifted_mask,
    ),
}
