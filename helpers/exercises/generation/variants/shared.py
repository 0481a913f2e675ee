"""What several of these solutions share."""

from collections import defaultdict

import torch
import torch.nn.functional as F

NEVER = float("-inf")


def top_k_by_sorting(logits, k):
    ordered = torch.sort(logits, descending=True).values
    bound = ordered[:, min(k, logits.shape[1]) - 1].unsqueeze(1)
    return torch.where(logits >= bound, logits, torch.tensor(NEVER, dtype=logits.dtype))


def top_k_by_loops(logits, k):
    result = logits.clone()
    for row in result:
        bound = sorted(row.tolist(), reverse=True)[:k][-1]
        for place, score in enumerate(row.tolist()):
            if score < bound:
                row[place] = NEVER
    return result


def top_k_by_counting(logits, k):
    better = (logits[:, None, :] > logits[:, :, None]).sum(-1)  # who beats each
    return logits.masked_fill(better >= k, NEVER)


def top_p_from_below(logits, p):
    rising, places = torch.sort(logits, descending=False)
    remove = rising.softmax(-1).cumsum(-1) <= 1 - p
    remove[..., -1:] = False
    return logits.masked_fill(remove.scatter(1, places, remove), NEVER)


def top_p_by_loops(logits, p):
    result = torch.full_like(logits, NEVER)
    for row, scores in enumerate(logits):
        shares, gathered = scores.softmax(-1).tolist(), 0.0
        for place in sorted(range(len(shares)), key=lambda one: -shares[one]):
            result[row, place] = scores[place]
            gathered += shares[place]
            if gathered >= p and p < 1:
                break
    return result


def top_p_by_ranks(logits, p):
    order = logits.argsort(dim=-1, descending=True)
    shares = logits.softmax(-1).gather(-1, order)
    keep = F.pad(shares.cumsum(-1)[..., :-1], (1, 0)) < p
    keep[..., 0] = True
    return torch.where(keep.gather(-1, order.argsort(-1)), logits, NEVER)


def ngrams_by_dictionary(logits, ids, n):
    result = logits.clone()
    for row, text in enumerate(ids.tolist()):
        followers = defaultdict(list)
        for run in zip(*(text[shift:] for shift in range(n)), strict=False):
            followers[run[:-1]].append(run[-1])
        if len(text) >= n - 1:
            result[row, followers[tuple(text[len(text) - n + 1 :])]] = NEVER
    return result


def ngrams_by_trying(logits, ids, n):
    """Write every token in turn and see whether its run stood there before."""
    result = logits.clone()
    for row, text in enumerate(ids.tolist()):
        runs = {tuple(text[i : i + n]) for i in range(len(text) - n + 1)}
        for token in range(logits.shape[1]):
            longer = [*text, token]
            if len(longer) >= n and tuple(longer[-n:]) in runs:
                result[row, token] = NEVER
    return result


def ngrams_by_comparison(logits, ids, n):
    length = ids.shape[1]
    if length < n:
        return logits
    same = torch.ones(len(ids), length - n + 1, dtype=torch.bool)
    for shift in range(n - 1):
        part = ids[:, shift : shift + length - n + 1]
        same &= part == ids[:, length - n + 1 + shift].unsqueeze(1)
    last = ids[:, n - 1 :]
    blocked = (F.one_hot(last, logits.shape[1]).bool() & same[..., None]).any(1)
    return logits.masked_fill(blocked, NEVER)
