"""Lesson 06 in other hands: loops, broadcasting, float detours, other libraries."""

import math
from itertools import zip_longest

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence

# --- 6.1 the padding mask ---


def padding_by_view(ids):
    return ids.ne(0).view(ids.size(0), 1, 1, ids.size(1))


def padding_by_loops(ids):
    rows = [[token != 0 for token in row] for row in ids.tolist()]
    return torch.tensor(rows).unsqueeze(1).unsqueeze(2)


def padding_by_negation(ids):
    return ~(ids == torch.zeros_like(ids)).reshape(len(ids), 1, 1, -1)


def padding_by_conversion(ids):
    return ids.bool()[:, None, None]


def padding_by_numpy(ids):
    return torch.from_numpy(np.expand_dims(ids.numpy() > 0, (1, 2)))


# --- 6.2 the look-ahead mask ---


def ahead_by_places(length):
    place = torch.arange(length)
    return place <= place.unsqueeze(1)


def ahead_by_loops(length):
    return torch.tensor([[key <= query for key in range(length)]
                         for query in range(length)])  # fmt: skip


def ahead_by_upper(length):
    return torch.triu(torch.ones(length, length), diagonal=1) == 0


def ahead_by_torch(length):
    return nn.Transformer.generate_square_subsequent_mask(length) == 0


def ahead_by_indices(length):
    mask = torch.zeros((length, length), dtype=torch.bool)
    mask[tuple(torch.tril_indices(length, length))] = True
    return mask


def ahead_by_sums(length):
    return torch.eye(length).cumsum(0).bool()


# --- 6.3 the target mask ---


def target_by_places(ids):
    place = torch.arange(ids.shape[1])
    past = place[None, :] <= place[:, None]
    return past[None, None] & (ids != 0)[:, None, None, :]


def target_by_multiplying(ids):
    ahead = torch.ones(ids.shape[1], ids.shape[1]).tril()
    return (ahead * (ids != 0).float()[:, None, None, :]).bool()


def target_by_loops(ids):
    batch, length = ids.shape
    mask = torch.zeros(batch, 1, length, length, dtype=torch.bool)
    for b in range(batch):
        for query in range(length):
            for key in range(query + 1):
                mask[b, 0, query, key] = bool(ids[b, key] != 0)
    return mask


def target_by_tril(ids):
    real = (ids != 0).unsqueeze(1).unsqueeze(2)
    return real.expand(-1, 1, ids.size(1), -1).tril()


def target_by_blocking(ids):
    future = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).triu(1)
    padding = (ids == 0)[:, None, None, :]
    return torch.logical_not(torch.logical_or(future, padding))


# --- 6.5 a test for leaks ---


def causal_by_prefixes(model) -> bool:
    ids = torch.randint(1, 11, (1, 12))
    whole = model(ids)
    return all(
        torch.allclose(model(ids[:, :n]), whole[:, :n], atol=1e-5) for n in range(1, 13)
    )


def causal_by_last_rows(model):
    torch.manual_seed(4)
    ids = torch.randint(0, 10, (3, 8))
    before = model(ids)
    found = torch.tensor(0.0)
    for place in range(1, 8):
        other = ids.clone()
        other[:, place] = 10
        gap = (model(other)[:, :place] - before[:, :place]).abs().max()
        found = torch.maximum(found, gap)
    return found < 1e-3


def causal_by_futures(model) -> bool:
    model.eval()
    with torch.no_grad():
        for place in range(15):
            one = torch.arange(16)[None] % 11
            other = one.clone()
            other[0, place + 1 :] = (other[0, place + 1 :] + 5) % 11
            a, b = model(one)[0, : place + 1], model(other)[0, : place + 1]
            if np.abs((a - b).numpy()).max() > 1e-5:
                return False
    return True


def causal_in_one_batch(model):
    ids = torch.ones(9, 9, dtype=torch.long) * 4
    other = ids.clone()
    other.fill_diagonal_(7)  # sentence t has another token at place t
    change = (model(other) - model(ids)).abs().amax(-1)  # (sentence, place)
    return np.bool_(change.tril(-1).max() < 1e-4)


# --- 6.6 batches ---


def collate_by_pad_sequence(pairs):
    sides = zip(*pairs, strict=True)
    return [
        pad_sequence([torch.tensor(ids) for ids in side], batch_first=True)
        for side in sides
    ]


def collate_by_filling(pairs):
    tables = []
    for side in (0, 1):
        rows = [pair[side] for pair in pairs]
        table = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for row, ids in enumerate(rows):
            table[row, : len(ids)] = torch.tensor(ids)
        tables.append(table)
    return tuple(tables)


def collate_by_zipping(pairs):
    return tuple(
        torch.tensor(list(zip_longest(*side, fillvalue=0))).T
        for side in zip(*pairs, strict=True)
    )


def collate_by_padding(pairs):
    def table(rows):
        width = max(len(row) for row in rows)
        full = [F.pad(torch.tensor(row), (0, width - len(row))) for row in rows]
        return torch.stack(full)

    return table([source for source, _ in pairs]), table([t for _, t in pairs])


def shift_by_narrow(target):
    length = target.shape[1] - 1
    return target.narrow(1, 0, length), target.narrow(1, 1, length)


def shift_by_copies(target):
    return [target[:, :-1].clone(), target[:, 1:].contiguous()]


def shift_by_windows(target):
    windows = target.unfold(1, 2, 1)  # (B, T, 2)
    return windows[..., 0], windows[..., 1]


def shift_by_split(target):
    first, rest = target.split([1, target.shape[1] - 1], dim=1)
    return torch.cat([first, rest], 1)[:, :-1], rest


# --- 6.7 one step of training ---


def _masks(source, written):
    real = (source != 0)[:, None, None, :]
    return real, target_by_tril(written)


def step_by_flattening(model, optimizer, source, target):
    written, labels = target[:, :-1], target[:, 1:]
    optimizer.zero_grad(set_to_none=False)
    logits = model(source, written, *_masks(source, written))
    loss = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)(
        logits.reshape(-1, logits.shape[-1]), labels.reshape(-1)
    )
    loss.backward()
    optimizer.step()
    return loss.item()


def step_by_hand(model, optimizer, source, target):
    """Smoothing and mean written out; returns a tensor; clears after the step."""
    written, labels = target[:, :-1], target[:, 1:]
    log = torch.log_softmax(model(source, written, *_masks(source, written)), -1)
    sharp = -log.gather(-1, labels[..., None])[..., 0]
    each = 0.9 * sharp - 0.1 * log.mean(-1)
    real = labels != 0
    loss = (each * real).sum() / real.sum()
    model.zero_grad()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


def step_with_the_look_ahead_alone(model, optimizer, source, target):
    """Padding at the end is hidden from real tokens by the look-ahead mask already."""
    model.train()
    written, labels = target[:, :-1], target[:, 1:]
    real, ahead = (source != 0)[:, None, None, :], ahead_by_upper(written.shape[1])
    logits = model(source, written, real, ahead)
    loss = F.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=0, label_smoothing=0.1
    )
    for parameter in model.parameters():
        parameter.grad = None
    loss.backward()
    optimizer.step()
    return float(loss)


def step_on_the_real_tokens(model, optimizer, source, target):
    written, labels = target[:, :-1], target[:, 1:]
    logits = model(source, written, *_masks(source, written))
    real = labels != 0
    words = logits.shape[-1]
    soft = F.one_hot(labels[real], words).to(logits.dtype) * 0.9 + 0.1 / words
    loss = F.cross_entropy(logits[real], soft)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


# --- 6.8 the schedule ---


def rate_by_cases(step, d_model, warmup):
    if step < warmup:
        return step / (math.sqrt(d_model) * warmup * math.sqrt(warmup))
    return 1 / math.sqrt(d_model * step)


def rate_by_numpy(step, d_model, warmup):
    return np.power(float(d_model), -0.5) * np.minimum(
        np.power(float(step), -0.5), step * np.power(float(warmup), -1.5)
    )


def rate_by_torch(step, d_model, warmup):
    terms = torch.tensor([step**-0.5, step * warmup**-1.5], dtype=torch.float64)
    return (d_model**-0.5 * terms.min()).item()


def rate_from_its_peak(step, d_model, warmup):
    peak = (d_model * warmup) ** -0.5
    return peak * min(step / warmup, (warmup / step) ** 0.5)


def rate_in_single_precision(step, d_model, warmup):
    step = torch.tensor(float(step))
    return d_model**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)


def _both(collates, shifts):
    return tuple(zip(collates, shifts, strict=True))


VARIANTS = {
    "6.1": (
        padding_by_view,
        padding_by_loops,
        padding_by_negation,
        padding_by_conversion,
        padding_by_numpy,
    ),
    "6.2": (
        ahead_by_places,
        ahead_by_loops,
        ahead_by_upper,
        ahead_by_torch,
        ahead_by_indices,
        ahead_by_sums,
    ),
    "6.3": (
        target_by_places,
        target_by_multiplying,
        target_by_loops,
        target_by_tril,
        target_by_blocking,
    ),
    "6.5": (
        causal_by_prefixes,
        causal_by_last_rows,
        causal_by_futures,
        causal_in_one_batch,
    ),
    "6.6": _both(
        (
            collate_by_pad_sequence,
            collate_by_filling,
            collate_by_zipping,
            collate_by_padding,
        ),
        (shift_by_narrow, shift_by_copies, shift_by_windows, shift_by_split),
    ),
    "6.7": (
        step_by_flattening,
        step_by_hand,
        step_with_the_look_ahead_alone,
        step_on_the_real_tokens,
    ),
    "6.8": (
        rate_by_cases,
        rate_by_numpy,
        rate_by_torch,
        rate_from_its_peak,
        rate_in_single_precision,
    ),
}
