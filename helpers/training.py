"""Training, small enough to read: batches, one loop, a schedule, a progress bar.

A model is trained for a fixed number of steps. `train` knows nothing about the task:
it asks `loss_of(model, batch)` for the loss of a batch.
"""

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from tqdm import tqdm

from helpers.corpora.vocabulary import PAD, pad
from helpers.figures import BLUE, GREY, canvas
from helpers.models.masks import padding_mask, target_mask

Ids = Sequence[int]


def collate(pairs: Iterable[tuple[Ids, Ids]]) -> tuple[Tensor, Tensor]:
    """Lay pairs of id lists into two tensors, source (B, S) and target (B, T)."""
    sources, targets = zip(*pairs, strict=True)
    return pad(sources), pad(targets)


def pair_batches(
    pairs: Sequence[tuple[Ids, Ids]],
    batch_size: int,
    seed: int,
    device: torch.device | str = "cpu",
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches without end; each pass goes through all pairs in a new order.

    Args:
        pairs: source ids and target ids, each with start and end
        batch_size: B; what is left of a pass, being less than B, is not used
        seed: another seed, other orders
        device: where the batches go

    Raises:
        ValueError: There are fewer pairs than a batch holds.
    """
    if len(pairs) < batch_size:
        raise ValueError(f"{len(pairs)} pairs do not fill a batch of {batch_size}")
    draw = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(len(pairs), generator=draw).tolist()
        for first in range(0, len(pairs) - batch_size + 1, batch_size):
            chosen = order[first : first + batch_size]
            source, target = collate(pairs[place] for place in chosen)
            yield source.to(device), target.to(device)


def translation_loss(
    model: nn.Module, batch: tuple[Tensor, Tensor], smoothing: float = 0.0
) -> Tensor:
    """Cross-entropy of the next target token, given the true ones before it.

    Args:
        model: takes source, target, source mask, target mask; returns logits (B, T, V)
        batch: source (B, S) and target (B, T + 1), the target with start and end
        smoothing: share of each label that is spread evenly over the vocabulary

    Returns:
        The mean over all real tokens; padding does not count.

    Source: Vaswani et al. 2017, sections 3.1 and 5.4.
    """
    source, target = batch
    written, labels = target[:, :-1], target[:, 1:]  # (B, T) each
    logits = model(source, written, padding_mask(source), target_mask(written))
    return F.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=PAD, label_smoothing=smoothing
    )


def noam_schedule(step: int, d_model: int, warmup: int) -> float:
    """The paper's learning rate: up in a straight line, then down with the root.

    d_model^-0.5 * min(step^-0.5, step * warmup^-1.5), with step counted from 1.

    Raises:
        ValueError: A step is below 1.

    Source: Vaswani et al. 2017, section 5.3.
    """
    if step < 1:
        raise ValueError(f"steps are counted from 1, not {step}")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


@dataclass
class History:
    """What happened in each step."""

    loss: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)  # learning rate
    norm: list[float] = field(default_factory=list)  # of the gradient, before clipping
    seconds: float = 0.0


def train(
    model: nn.Module,
    batches: Iterable[Any],
    loss_of: Callable[[nn.Module, Any], Tensor],
    optimizer: torch.optim.Optimizer,
    steps: int,
    *,
    schedule: Callable[[int], float] | None = None,
    clip: float = float("inf"),
    history: History | None = None,
    name: str = "training",
) -> History:
    """Take so many steps, one batch each.

    Args:
        model: put into training mode here, and left in it
        batches: at least `steps` of them
        loss_of: (model, batch) -> the loss, a number with a gradient
        optimizer: holds the model's parameters
        steps: how many
        schedule: step, counted from 1 -> learning rate; None leaves the optimizer's
        clip: the longest gradient; a longer one is shortened to this norm
        history: of the training that this goes on with; the schedule counts its steps
        name: in front of the progress bar

    Returns:
        Loss, learning rate and gradient norm of each step, and the seconds in all.

    Raises:
        ValueError: The batches ran out.
    """
    model.train()
    history, start = history or History(), time.perf_counter()
    before = len(history.loss)
    numbers = range(before + 1, before + steps + 1)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    with progress(steps, name) as bar:
        for step, batch in zip(numbers, batches, strict=False):  # takes no batch more
            if schedule:
                for group in optimizer.param_groups:
                    group["lr"] = schedule(step)
            optimizer.zero_grad()
            loss = loss_of(model, batch)
            loss.backward()
            norm = clip_grad_norm_(parameters, clip)
            optimizer.step()
            history.loss.append(loss.item())
            history.norm.append(norm.item())
            history.rate.append(optimizer.param_groups[0]["lr"])
            bar.set_postfix_str(f"loss {history.loss[-1]:.3f}", refresh=False)
            bar.update()
    history.seconds += time.perf_counter() - start
    taken = len(history.loss) - before
    if taken < steps:
        raise ValueError(f"{steps} steps, but only {taken} batches")
    return history


class _Cell(io.TextIOBase):
    """Shows the last line written to it, in one output that is replaced in place."""

    def __init__(self) -> None:
        from IPython.display import display

        self.handle = display(self._bundle(""), raw=True, display_id=True)

    def write(self, text: str) -> int:
        line = text.strip("\r\n ")
        if line:
            self.handle.update(self._bundle(line), raw=True)
        return len(text)

    @staticmethod
    def _bundle(line: str) -> dict[str, str]:
        return {"text/plain": line}


def progress(total: int, name: str = "") -> tqdm:
    """A progress bar for people: in a terminal, or in a notebook that someone watches.

    Tests, executed notebooks and grading get a bar that writes nothing; a saved
    notebook keeps its last line and no more. Nothing goes to stderr.

    Args:
        total: how many steps
        name: in front of the bar
    """
    quiet = os.environ.get("COURSE_PROGRESS") == "off"
    if quiet or "NBGRADER_EXECUTION" in os.environ:
        return tqdm(total=total, disable=True)
    if _in_a_kernel():
        file: Any = _Cell()
    elif sys.stdout.isatty():
        file = sys.stdout
    else:
        return tqdm(total=total, disable=True)
    return tqdm(
        total=total, desc=name, file=file, ncols=79, mininterval=0.5, maxinterval=0.5
    )


def _in_a_kernel() -> bool:
    """Whether a notebook's kernel runs this, not a terminal or a script."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


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
