"""Independent solutions to 8.G."""

from collections import Counter

import torch


def by_counters(texts, expected, lengths):
    every, hits = Counter(lengths), Counter()
    for text, right, length in zip(texts, expected, lengths, strict=True):
        hits[length] += text == right
    return {length: hits[length] / count for length, count in every.items()}


def by_tensors(texts, expected, lengths):
    right = torch.tensor([a == b for a, b in zip(texts, expected, strict=True)])
    its = torch.tensor(lengths)
    return {n: right[its == n].float().mean() for n in sorted(set(lengths))}


def by_lists(texts, expected, lengths):
    table = {}
    for place in range(len(texts)):
        table.setdefault(lengths[place], []).append(texts[place] == expected[place])
    return {length: sum(row) / len(row) for length, row in table.items()}


VARIANTS = {
    "8.G": (by_counters, by_tensors, by_lists),
}
