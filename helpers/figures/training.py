"""Figures of a training run: its loss and its learning rate."""

from collections.abc import Sequence

import torch
from matplotlib.figure import Figure
from torch import Tensor

from helpers.figures import BLUE, GREY, canvas
from helpers.training import History


def smooth(values: Sequence[float], width: int = 25) -> Tensor:
    """The running mean over the last `width` values, fewer at the start: (steps)."""
    sums = torch.tensor([0.0, *values], dtype=torch.float64).cumsum(0)
    last = torch.arange(1, len(values) + 1)
    first = (last - width).clamp(min=0)
    return (sums[last] - sums[first]) / (last - first)


def loss_curve(
    history: History, floor: float | None = None, title: str = "training"
) -> Figure:
    """Draw the loss of every step, its running mean, and the learning rate below.

    Args:
        history: what `train` returned
        floor: a loss that can't be beaten, drawn as a line
        title: above the figure
    """
    figure, (loss, rate) = canvas(8, 4.2, rows=2)
    steps = range(1, len(history.loss) + 1)
    loss.plot(steps, history.loss, color=GREY, linewidth=0.6, label="one batch")
    loss.plot(steps, smooth(history.loss), color=BLUE, label="mean of 25")
    if floor is not None:
        loss.axhline(floor, color="black", linestyle=":", label=f"floor {floor:.3f}")
    loss.set(title=title, ylabel="loss", ylim=(0, None))
    loss.legend(frameon=False)
    rate.plot(steps, history.rate, color=BLUE)
    rate.set(xlabel="step", ylabel="learning rate", ylim=(0, None))
    loss.get_gridspec().set_height_ratios((3, 1))
    return figure
