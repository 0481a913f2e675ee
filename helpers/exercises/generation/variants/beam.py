"""Independent solutions to 11.L."""

import heapq

import torch


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


VARIANTS = {
    "11.L": (beams_as_lists, beams_as_a_batch, beams_by_recursion),
}
