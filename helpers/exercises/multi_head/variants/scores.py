"""Independent solutions to 3.F."""

import torch


def scores_by_loops(weights, tokens):
    heads, length, _ = weights.shape
    previous, itself, separator = [], [], []
    where = [place for place, token in enumerate(tokens) if token == "[SEP]"]
    for head in weights:
        previous.append(sum(head[t, t - 1] for t in range(1, length)) / (length - 1))
        itself.append(head.trace() / length)
        separator.append(sum(head[:, place].sum() for place in where) / length)
    return torch.stack(previous), torch.stack(itself), torch.stack(separator)


def scores_by_index(weights, tokens):
    places = torch.arange(weights.shape[-1])
    marks = torch.tensor([float(token == "[SEP]") for token in tokens])
    return (
        weights[:, places[1:], places[:-1]].mean(1),
        weights[:, places, places].mean(1),
        (weights @ marks.to(weights.dtype)).mean(1),
    )


def scores_by_masks(weights, tokens):
    length = len(tokens)
    below = torch.diag(torch.ones(length - 1, dtype=weights.dtype), -1)
    ends = [place for place in range(length) if tokens[place] == "[SEP]"]
    return [
        (weights * below).sum((1, 2)) / (length - 1),
        torch.einsum("htt->h", weights) / length,
        weights[:, :, ends].sum((1, 2)) / length,
    ]


VARIANTS = {
    "3.F": (scores_by_loops, scores_by_index, scores_by_masks),
}
