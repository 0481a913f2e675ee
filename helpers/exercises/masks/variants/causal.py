"""Independent solutions to 6.J."""

import numpy as np
import torch


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
    other.fill_diagonal_(7)  # sentence t has another token at position t
    change = (model(other) - model(ids)).abs().amax(-1)  # (sentence, position)
    return np.bool_(change.tril(-1).max() < 1e-4)


VARIANTS = {
    "6.J": (
        causal_by_prefixes,
        causal_by_last_rows,
        causal_by_futures,
        causal_in_one_batch,
    ),
}
