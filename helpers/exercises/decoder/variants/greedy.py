"""Independent solutions to 5.D."""

import torch
from torch import nn

from helpers.models import transformer as course


@torch.no_grad()
def greedy_in_a_table(model, source, source_mask, start, end, max_new_tokens):
    memory = model.encode(source, source_mask)
    table = torch.zeros(len(source), 1 + max_new_tokens, dtype=torch.long)
    table[:, 0] = start
    running = torch.ones(len(source), dtype=torch.bool)
    for place in range(1, 1 + max_new_tokens):
        mask = torch.ones(place, place, dtype=torch.bool).tril()
        scores = model.decode(table[:, :place], memory, mask, source_mask)
        best = scores[:, place - 1].topk(1).indices.squeeze(-1)
        table[running, place] = best[running]
        running &= best != end
        if not running.any():
            return table[:, : place + 1]
    return table


def greedy_by_lists(model, source, source_mask, start, end, max_new_tokens):
    memory = model.encode(source, source_mask)
    rows = [[start] for _ in source]
    while len(rows[0]) <= max_new_tokens and not all(end in row[1:] for row in rows):
        ids = torch.tensor(rows)
        mask = course.look_ahead_mask(ids.shape[1])[None, None]
        scores = model.decode(ids, memory, mask, source_mask)
        for row, score in zip(rows, scores, strict=True):
            row.append(0 if end in row[1:] else int(score[-1].argmax()))
    return torch.tensor(rows)


def greedy_with_lengths(model, source, source_mask, start, end, max_new_tokens):
    memory = model.encode(source, source_mask)
    ids = source.new_full((source.shape[0], 1), start)
    done = torch.zeros(source.shape[0], 1, dtype=torch.bool)
    while ids.shape[1] < 1 + max_new_tokens and not bool(done.all()):
        mask = course.look_ahead_mask(ids.shape[1])
        logits = model.decode(ids, memory, mask, source_mask).log_softmax(-1)
        following = logits[:, [-1]].argmax(-1) * ~done
        ids = torch.hstack([ids, following])
        done = done | following.eq(end)
    return ids


def greedy_one_by_one(model, source, source_mask, start, end, max_new_tokens):
    rows = []
    for place in range(len(source)):
        mask = None if source_mask is None else source_mask[[place]]
        memory, row = model.encode(source[[place]], mask), [start]
        while len(row) <= max_new_tokens and end not in row:
            ids = torch.tensor([row])
            future = course.look_ahead_mask(len(row))
            row.append(model.decode(ids, memory, future, mask)[0, -1].argmax().item())
        rows.append(torch.tensor(row))
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


VARIANTS = {
    "5.D": (greedy_in_a_table, greedy_by_lists, greedy_with_lengths, greedy_one_by_one),
}
