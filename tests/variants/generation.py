"""Lesson 11 in other hands: loops, sets, numpy, other libraries, other orders."""

import heapq
import math
from collections import defaultdict

import numpy as np
import torch
import torch.nn.functional as F

NEVER = float("-inf")

# --- 11.1 greedy ---


@torch.no_grad()
def greedy_into_a_table(model, ids, max_new_tokens):
    start = ids.shape[1]
    table = ids.new_zeros(len(ids), start + max_new_tokens)
    table[:, :start] = ids
    for place in range(start, table.shape[1]):
        table[:, place] = model(table[:, :place]).logits[:, -1, :].max(dim=1).indices
    return table


def greedy_row_by_row(model, ids, max_new_tokens):
    rows = []
    for row in ids:
        text = row.tolist()
        for _ in range(max_new_tokens):
            scores = model(torch.tensor([text]))[0][0, -1]
            text.append(max(range(len(scores)), key=lambda one: scores[one].item()))
        rows.append(text)
    return torch.tensor(rows)


def greedy_by_recursion(model, ids, max_new_tokens):
    if max_new_tokens == 0:
        return ids
    best = torch.softmax(model(input_ids=ids).logits, -1)[:, -1].topk(1).indices
    return greedy_by_recursion(model, torch.hstack([ids, best]), max_new_tokens - 1)


def greedy_with_a_cache(model, ids, max_new_tokens):
    ids = ids.to(model.device)
    new, past = ids, None
    for _ in range(max_new_tokens):
        output = model(new, past_key_values=past, use_cache=True)
        new, past = (
            output.logits[:, -1].argmax(-1, keepdim=True),
            output.past_key_values,
        )
        ids = torch.cat([ids, new], 1)
    return ids


# --- 11.2 temperature ---


def temperature_by_inverse(logits, temperature):
    return logits.mul(1 / temperature)


def temperature_normalised(logits, temperature):
    return F.log_softmax(logits / temperature, dim=-1)


def temperature_from_log_probabilities(logits, temperature):
    return torch.true_divide(logits.log_softmax(-1), temperature)


def temperature_below_the_best(logits, temperature):
    return (logits - logits.max(-1, keepdim=True).values) / temperature


# --- 11.3 top-k ---


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


def top_k_by_numpy(logits, k):
    array = logits.numpy().copy()
    bound = -np.sort(-array, axis=1)[:, : min(k, array.shape[1])][:, -1:]
    array[array < bound] = -np.inf
    return torch.from_numpy(array)


# --- 11.4 top-p ---


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


def top_p_filling_a_copy(logits, p):
    ordered, places = logits.sort(descending=True)
    count = (ordered.softmax(-1).cumsum(-1) < p).sum(-1) + 1
    result = torch.full_like(logits, NEVER)
    for row, many in enumerate(count.clamp(max=logits.shape[-1]).tolist()):
        result[row, places[row, :many]] = ordered[row, :many]
    return result


# --- 11.5 no repeated n-grams ---


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


# --- 11.6 beam search ---


@torch.no_grad()
def beams_as_lists(model, ids, max_new_tokens, width, end=None):
    prompt = ids[0].tolist()
    beams = [(0.0, [], False)]
    for _ in range(max_new_tokens):
        pool = [beam for beam in beams if beam[2]]
        for total, new, done in beams:
            if done:
                continue
            scores = model(torch.tensor([prompt + new])).logits[0, -1]
            each = torch.log(torch.softmax(scores, -1)).tolist()
            for token, value in enumerate(each):
                pool.append((total + value, [*new, token], token == end))
        beams = heapq.nlargest(width, pool, key=lambda beam: beam[0])
    total, new, _ = max(beams, key=lambda beam: beam[0] / len(beam[1]))
    return torch.tensor([prompt + new]), total / len(new)


@torch.no_grad()
def beams_as_a_batch(model, ids, max_new_tokens, width, end=None):
    start, finished = ids.shape[1], []
    texts, sums = ids, torch.zeros(1, dtype=torch.float64)
    for _ in range(max_new_tokens):
        if not len(texts):
            break
        total = sums[:, None] + model(texts).logits[:, -1].double().log_softmax(-1)
        size = total.shape[1]
        pool = torch.cat([total.flatten(), torch.tensor([s for s, _ in finished])])
        found, old, waiting = [], finished, []
        for place in pool.argsort(descending=True)[:width].tolist():
            if place >= total.numel():
                waiting.append(old[place - total.numel()])
                continue
            row, token = divmod(place, size)
            longer = torch.cat([texts[row], texts.new_tensor([token])])
            one = (pool[place].item(), longer)
            (waiting if token == end else found).append(one)
        finished = waiting
        texts = torch.stack([t for _, t in found]) if found else texts[:0]
        sums = torch.tensor([s for s, _ in found], dtype=torch.float64)
    left = finished + list(zip(sums.tolist(), texts, strict=True))
    mean, text = max(((s / (len(t) - start), t) for s, t in left), key=lambda x: x[0])
    return text[None], torch.tensor(mean)


def beams_by_recursion(model, ids, max_new_tokens, width, end=None):
    start = ids.shape[1]

    def grow(beams, left):
        if not left:
            return beams
        pool = []
        for total, text in beams:
            if len(text) > start and text[-1] == end:
                pool.append((total, text))
            else:
                scores = model(torch.tensor([text])).logits[0, -1].detach()
                scores = (scores - scores.logsumexp(-1)).tolist()
                pool += [(total + x, (*text, one)) for one, x in enumerate(scores)]
        pool.sort(key=lambda beam: -beam[0])
        return grow(pool[:width], left - 1)

    beams = grow([(0.0, tuple(ids[0].tolist()))], max_new_tokens)
    mean, text = max((total / (len(t) - start), t) for total, t in beams)
    return torch.tensor([text]), mean


# --- 11.7 generate a text ---


@torch.no_grad()
def text_by_encode(
    model,
    tokenizer,
    prompt,
    max_new_tokens=100,
    temperature=0.7,
    top_k=50,
    top_p=0.95,
    no_repeat_ngram_size=2,
    generator=None,
):
    text = tokenizer.encode(prompt)
    for _ in range(max_new_tokens):
        ids = torch.tensor([text])
        scores = ngrams_by_comparison(
            model(ids).logits[:, -1], ids, no_repeat_ngram_size
        )
        scores = top_p_by_ranks(top_k_by_sorting(scores / temperature, top_k), top_p)
        drawn = torch.multinomial(scores.softmax(-1)[0], 1, generator=generator)
        text.append(drawn.item())
        if text[-1] == tokenizer.eos_token_id:
            break
    return tokenizer.decode(text, skip_special_tokens=True)


@torch.no_grad()
def text_by_running_sum(model, tokenizer, prompt, max_new_tokens=100, **how):
    """Draws one number and looks where it falls."""
    inputs = tokenizer(prompt, return_tensors="pt")
    ids, left = inputs["input_ids"], max_new_tokens
    while left > 0:
        last = model(**inputs | {"input_ids": ids}).logits[:, -1]
        last = ngrams_by_dictionary(last, ids, how.get("no_repeat_ngram_size", 2))
        last = last / how.get("temperature", 0.7)
        last = top_k_by_counting(last, how.get("top_k", 50))
        shares = top_p_by_loops(last, how.get("top_p", 0.95)).softmax(-1)[0]
        point = torch.rand((), generator=how.get("generator"), dtype=shares.dtype)
        token = int((shares.cumsum(0) <= point).sum().clamp(max=len(shares) - 1))
        ids = torch.cat([ids, torch.tensor([[token]])], dim=1)
        left = 0 if token == tokenizer.eos_token_id else left - 1
    return tokenizer.batch_decode(ids, skip_special_tokens=True)[0]


@torch.no_grad()
def text_by_gumbel(
    model,
    tokenizer,
    prompt,
    max_new_tokens=100,
    temperature=0.7,
    top_k=50,
    top_p=0.95,
    no_repeat_ngram_size=2,
    generator=None,
):
    """The largest of scores plus Gumbel noise is a draw from their softmax."""
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    for _ in range(max_new_tokens):
        scores = ngrams_by_trying(model(ids).logits[:, -1], ids, no_repeat_ngram_size)
        scores = top_k_by_loops(scores / temperature, top_k)
        scores = top_p_from_below(scores, top_p)
        noise = torch.rand(scores.shape, generator=generator, dtype=scores.dtype)
        token = (scores - (-noise.log()).log()).argmax(-1, keepdim=True)
        ids = torch.cat([ids, token], 1)
        if int(token) == tokenizer.eos_token_id:
            break
    return tokenizer.decode(ids[0].tolist(), skip_special_tokens=True)


# --- 11.7b positions ---


def positions_by_shift(mask):
    padding = (~mask.bool()).sum(1, keepdim=True)
    return (torch.arange(mask.shape[1]) - padding).relu()


def positions_by_loops(mask):
    rows = []
    for row in mask.tolist():
        real = sum(row)
        rows.append([1 % len(row)] * (len(row) - real) + list(range(real)))
    return torch.tensor(rows)


def positions_as_the_library(mask):
    places = mask.int().cumsum(-1) - 1
    return places.masked_fill(mask == 0, 0)


# --- 11.8 perplexity ---


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
    "11.1": (
        greedy_into_a_table,
        greedy_row_by_row,
        greedy_by_recursion,
        greedy_with_a_cache,
    ),
    "11.2": (
        temperature_by_inverse,
        temperature_normalised,
        temperature_from_log_probabilities,
        temperature_below_the_best,
    ),
    "11.3": (top_k_by_sorting, top_k_by_loops, top_k_by_counting, top_k_by_numpy),
    "11.4": (top_p_from_below, top_p_by_loops, top_p_by_ranks, top_p_filling_a_copy),
    "11.5": (ngrams_by_dictionary, ngrams_by_trying, ngrams_by_comparison),
    "11.6": (beams_as_lists, beams_as_a_batch, beams_by_recursion),
    "11.7": (text_by_encode, text_by_running_sum, text_by_gumbel),
    "11.7b": (positions_by_shift, positions_by_loops, positions_as_the_library),
    "11.8": (
        perplexity_by_cross_entropy,
        perplexity_by_product,
        perplexity_in_bits,
        perplexity_by_the_model,
    ),
}
