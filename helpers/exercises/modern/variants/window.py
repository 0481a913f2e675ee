"""Independent solutions to 12.J."""

import torch


def by_loops(queries, keys, window, sinks=0):
    mask = torch.zeros(queries, keys, dtype=torch.bool)
    for row in range(queries):
        place = keys - queries + row
        for column in range(place + 1):
            mask[row, column] = place - column < window or column < sinks
    return mask


def by_triangles(queries, keys, window, sinks=0):
    start = keys - queries
    whole = torch.ones(queries, keys, dtype=torch.bool)
    old = whole.tril(start - window)  # has slid out of the window
    old[:, :sinks] = False
    return whole.tril(start) & ~old


def by_rows(queries, keys, window, sinks=0):
    rows = []
    for place in range(keys - queries, keys):
        seen = [False] * keys
        for column in [*range(sinks), *range(place - window + 1, place + 1)]:
            if 0 <= column <= place:
                seen[column] = True
        rows.append(torch.tensor(seen))
    return torch.stack(rows)


VARIANTS = {"12.J": (by_loops, by_triangles, by_rows)}
