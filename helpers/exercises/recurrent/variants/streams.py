"""Independent solutions to 7.C."""

import torch


def batches_in_loops(ids, batch_size, length):
    count = (len(ids) - 1) // (batch_size * length)
    found = []
    for number in range(count):
        x, y = [], []
        for row in range(batch_size):
            first = (row * count + number) * length
            x.append(ids[first : first + length])
            y.append(ids[first + 1 : first + length + 1])
        found.append((torch.stack(x), torch.stack(y)))
    return found


def batches_by_chunks(ids, batch_size, length):
    count = (len(ids) - 1) // (batch_size * length)
    used = count * batch_size * length
    x, y = ids[:-1][:used].view(batch_size, -1), ids[1:][:used].view(batch_size, -1)
    return list(zip(x.chunk(count, 1), y.chunk(count, 1), strict=True))


def batches_by_axes(ids, batch_size, length):
    n = (ids.numel() - 1) // (batch_size * length)
    x = ids[: n * batch_size * length].reshape(batch_size, n, length)
    y = ids[1 : n * batch_size * length + 1].reshape(batch_size, n, length)
    return [[x[:, k], y[:, k]] for k in range(n)]


VARIANTS = {
    "7.C": (batches_in_loops, batches_by_chunks, batches_by_axes),
}
