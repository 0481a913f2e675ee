"""Independent solutions to 9.A."""

import random

import numpy as np
import torch


def mask_with_one_draw(ids, special, mask_id, vocab_size):
    fate = torch.rand(ids.shape).masked_fill(special, 1.0)
    labels = ids.clone()
    labels[fate >= 0.15] = -100
    inputs = ids.clone()
    inputs[fate < 0.12] = mask_id
    drawn = (fate >= 0.12) & (fate < 0.135)
    inputs[drawn] = torch.randint(vocab_size, (int(drawn.sum()),))
    return inputs, labels


def mask_as_in_transformers(ids, special, mask_id, vocab_size):
    inputs, labels = ids.clone(), ids.clone()
    chance = torch.full(labels.shape, 0.15).masked_fill_(special, value=0.0)
    masked = torch.bernoulli(chance).bool()
    labels[~masked] = -100
    replaced = torch.bernoulli(torch.full(labels.shape, 0.8)).bool() & masked
    inputs[replaced] = mask_id
    drawn = torch.bernoulli(torch.full(labels.shape, 0.5)).bool() & masked & ~replaced
    inputs[drawn] = torch.randint(vocab_size, labels.shape, dtype=torch.long)[drawn]
    return inputs, labels


def mask_by_loops(ids, special, mask_id, vocab_size):
    inputs, labels = ids.tolist(), torch.full(ids.shape, -100).tolist()
    for b, row in enumerate(ids.tolist()):
        for t, token in enumerate(row):
            if special[b, t] or random.random() >= 0.15:
                continue
            labels[b][t] = token
            fate = random.random()
            if fate < 0.8:
                inputs[b][t] = mask_id
            elif fate < 0.9:
                inputs[b][t] = random.randrange(vocab_size)
    return torch.tensor(inputs), torch.tensor(labels)


def mask_by_numpy(ids, special, mask_id, vocab_size):
    draw = np.random.default_rng(3)
    tokens = ids.numpy()
    selected = (draw.random(tokens.shape) < 0.15) & ~special.numpy()
    fates = draw.choice(3, tokens.shape, p=[0.8, 0.1, 0.1])
    words = draw.integers(vocab_size, size=tokens.shape)
    changed = np.choose(fates, [np.full_like(tokens, mask_id), words, tokens])
    labels = np.where(selected, tokens, -100)
    return torch.from_numpy(np.where(selected, changed, tokens)), torch.from_numpy(
        labels
    )


VARIANTS = {
    "9.A": (
        mask_with_one_draw,
        mask_as_in_transformers,
        mask_by_loops,
        mask_by_numpy,
    ),
}
