"""Independent solutions to 11.H."""

import math

import torch
import torch.nn.functional as F


def perplexity_by_cross_entropy(model, ids):
    with torch.no_grad():
        scores = model(ids).logits[0, :-1]
    return math.exp(F.cross_entropy(scores, ids[0, 1:]))


def perplexity_by_product(model, ids):
    shares = model(ids).logits.softmax(-1)
    likely = 1.0
    for place in range(ids.shape[1] - 1):
        likely *= shares[0, place, ids[0, place + 1]].item()
    return likely ** (-1 / (ids.shape[1] - 1))


def perplexity_in_bits(model, ids):
    scores = model(ids[:, :-1]).logits.log_softmax(-1) / math.log(2)
    each = scores[0, torch.arange(ids.shape[1] - 1), ids[0, 1:]]
    return 2 ** -each.mean()


def perplexity_by_the_model(model, ids):
    return model(ids, labels=ids).loss.exp().item()


VARIANTS = {
    "11.H": (
        perplexity_by_cross_entropy,
        perplexity_by_product,
        perplexity_in_bits,
        perplexity_by_the_model,
    ),
}
