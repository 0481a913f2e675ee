"""The training loop for every model: one optimizer step for each batch.

A model is trained for a fixed number of steps. `train` knows nothing about the task:
it asks `loss_of(model, batch)` for the loss of a batch.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer

from helpers.training.bar import progress


@dataclass
class History:
    """What happened in each step."""

    loss: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)  # learning rate
    norm: list[float] = field(default_factory=list)  # of the gradient, before clipping
    seconds: float = 0.0


def repeat(
    take_step: Callable[[nn.Module, Optimizer, Any, Any], float],
    model: nn.Module,
    optimizer: Optimizer,
    batches: Iterable[tuple[Any, Any]],
    steps: int,
    *,
    schedule: Callable[[int], float] | None = None,
    history: History | None = None,
    name: str = "training",
) -> History:
    """Call somebody's own step of training for a fixed number of batches.

    Args:
        take_step: (model, optimizer, source, target) -> the loss before the step
        model: put into training mode here, and left in it
        optimizer: holds the model's parameters
        batches: (source, target), at least `steps` of them
        steps: how many
        schedule: step, counted from 1 -> learning rate; None leaves the optimizer's
        history: of an earlier call that this one continues; the schedule counts on
        name: in front of the progress bar

    Returns:
        Loss and learning rate of each step, and the seconds in all.
    """
    model.train()
    history, start = history or History(), time.perf_counter()
    numbers = range(len(history.loss) + 1, len(history.loss) + steps + 1)
    with progress(steps, name) as bar:
        for step, batch in zip(numbers, batches, strict=False):  # takes no batch more
            if schedule:
                for group in optimizer.param_groups:
                    group["lr"] = schedule(step)
            history.loss.append(float(take_step(model, optimizer, *batch)))
            history.rate.append(optimizer.param_groups[0]["lr"])
            bar.set_postfix_str(f"loss {history.loss[-1]:.3f}", refresh=False)
            bar.update()
    history.seconds += time.perf_counter() - start
    return history


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
    """Train for a fixed number of steps, one batch each.

    Args:
        model: put into training mode here, and left in it
        batches: at least `steps` of them
        loss_of: (model, batch) -> the loss, a number with a gradient
        optimizer: holds the model's parameters
        steps: how many
        schedule: step, counted from 1 -> learning rate; None leaves the optimizer's
        clip: the longest gradient; a longer one is shortened to this norm
        history: of an earlier call that this one continues; the schedule counts on
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
