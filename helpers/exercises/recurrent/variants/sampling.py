"""Independent solutions to 7.E."""

import torch


def _shape(logits, temperature, top_k):
    logits = logits.clone()
    if top_k is not None:
        worst = logits.topk(top_k, -1).values[:, -1:]
        logits[logits < worst] = float("-inf")
    return torch.softmax(logits / temperature, -1)


@torch.no_grad()
def sample_filling_a_table(model, ids, length, temperature=1.0, top_k=None):
    batch, start = ids.shape
    whole = ids.new_zeros(batch, start + length)
    whole[:, :start] = ids
    model.eval()
    state, first = None, 0
    for place in range(start, start + length):
        logits, state = model(whole[:, first:place], state)
        chances = _shape(logits[:, -1], temperature, top_k)
        whole[:, place], first = torch.multinomial(chances, 1).squeeze(1), place
    return whole


def sample_into_a_list(model, ids, length, temperature=1.0, top_k=None):
    model = model.eval()
    logits, state = model(ids)
    parts = [ids]
    for _ in range(length):
        drawn = torch.distributions.Categorical(
            _shape(logits.detach()[:, -1], temperature, top_k)
        ).sample()
        parts.append(drawn[:, None])
        logits, state = model(parts[-1], state)
    return torch.hstack(parts)


def sample_warming_up_first(model, ids, length, temperature=1.0, top_k=None):
    model.train(False)
    state = None
    for place in range(ids.shape[1]):
        logits, state = model(ids[:, place : place + 1], state)
    for _ in range(length):
        by_noise = _shape(logits[:, -1], temperature, top_k).log()
        noise = -torch.log(-torch.log(torch.rand_like(by_noise)))  # Gumbel
        ids = torch.cat([ids, (by_noise + noise).argmax(-1, keepdim=True)], 1)
        logits, state = model(ids[:, -1:], state)
    return ids


VARIANTS = {
    "7.E": (
        sample_filling_a_table,
        sample_into_a_list,
        sample_warming_up_first,
    ),
}
