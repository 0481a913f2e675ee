"""Independent solutions to 7.L."""

import torch
import torch.nn.functional as F


def chances_by_sorting(logits, temperature=1.0, top_k=None):
    scaled = logits / temperature
    if top_k:
        limit = scaled.sort(-1, descending=True).values[:, top_k - 1, None]
        scaled = torch.where(scaled >= limit, scaled, -torch.inf)
    return F.softmax(scaled, dim=-1)


def chances_cut_last(logits, temperature=1.0, top_k=None):
    whole = (logits / temperature).softmax(-1)
    if top_k is None:
        return whole
    best = whole.topk(top_k, dim=-1)
    kept = torch.zeros_like(whole).scatter(-1, best.indices, best.values)
    return kept / kept.sum(-1, keepdim=True)


def chances_by_hand(logits, temperature=1.0, top_k=None):
    """Subtracts the maximum before the exponential."""
    far = (logits - logits.amax(-1, keepdim=True)) / temperature
    powers = far.exp()
    if top_k is not None:
        powers = powers * (far >= far.topk(top_k, -1).values[:, -1:])
    return powers / powers.sum(-1, keepdim=True)


def chances_row_by_row(logits, temperature=1.0, top_k=None):
    rows = []
    for row in logits:
        row = row.clone()
        if top_k is not None:
            order = row.argsort(descending=True)
            row[order[top_k:]] = torch.finfo(row.dtype).min
        rows.append(torch.softmax(row / temperature, 0))
    return torch.stack(rows)


VARIANTS = {
    "7.L": (
        chances_by_sorting,
        chances_cut_last,
        chances_by_hand,
        chances_row_by_row,
    ),
}
