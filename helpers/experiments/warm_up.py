"""What a warm-up is good for: the same training with and without it, over rates.

A small Transformer learns to write symbols backwards. Its learning rate rises to a peak
for some steps, or starts there, and falls to 0 over the last half.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.models.masks import look_ahead_mask
from helpers.models.transformer import Transformer, TransformerConfig
from helpers.training import train

LENGTH, SYMBOLS = 8, 13  # ids 3 to 12 are symbols
RATES = (0.002, 0.004, 0.008, 0.016, 0.032)  # peaks
WARM_UPS = (0, 100)  # steps
STEPS = 400


def reversals(seed: int, count: int = 32) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches without end: source (B, 8), and it backwards, (B, 10)."""
    draw = torch.Generator().manual_seed(seed)
    start, end = torch.full((count, 1), 1), torch.full((count, 1), 2)
    while True:
        source = torch.randint(3, SYMBOLS, (count, LENGTH), generator=draw)
        yield source, torch.cat([start, source.flip(1), end], 1)


def _logits(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    mask = look_ahead_mask(target.shape[1] - 1)
    return model(source, target[:, :-1], None, mask)


def _loss(model: Transformer, batch: tuple[Tensor, Tensor]) -> Tensor:
    return F.cross_entropy(_logits(model, *batch).mT, batch[1][:, 1:])


def share_right(
    peak: float,
    warm_up: int,
    seed: int = 0,
    norm_first: bool = False,
    steps: int = STEPS,
    layers: int = 2,
) -> float:
    """Train, and return the share of held-out symbols that are predicted rightly.

    Args:
        peak: the largest learning rate
        warm_up: how many steps the rate rises; 0 starts at the peak
        seed: of the initial weights and of the batches
        norm_first: pre-norm; the paper has post-norm
        steps: how many, of 32 rows each
        layers: of the encoder, and of the decoder
    """

    def rate(step: int) -> float:
        rising = step / warm_up if warm_up else 1.0
        return peak * min(1.0, rising, 2 * (steps + 1 - step) / steps)

    torch.manual_seed(seed)
    sizes = (SYMBOLS, SYMBOLS, 32, 4, 64, layers, 16, 0.0)
    model = Transformer(TransformerConfig(*sizes, norm_first=norm_first))
    settings = {"betas": (0.9, 0.98), "eps": 1e-9, "fused": True}
    optimizer = torch.optim.Adam(model.parameters(), **settings)
    options = {"schedule": rate, "name": f"rate {peak}, warm-up {warm_up}"}
    train(model, reversals(seed), _loss, optimizer, steps, **options)
    source, target = next(reversals(10_000 + seed, 500))
    with torch.no_grad():
        found = _logits(model.eval(), source, target).argmax(-1)
    return (found == target[:, 1:]).float().mean().item()
