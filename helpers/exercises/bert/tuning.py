"""9.F: the optimizer and one epoch of fine-tuning; 9.M and 9.N have no check."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import SGD, Adam, AdamW
from torch.optim.lr_scheduler import LambdaLR

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.bert.shared import (
    Watched,
    left_alone,
    library_ready,
    tiny_batch,
    tiny_classifier,
    without,
)
from helpers.exercises.kit import exchanging, normal, number

RATE = 5e-5


def make_optimizer(model: nn.Module) -> AdamW:
    """The course's own answer to the first half of 9.F."""
    return AdamW(model.parameters(), lr=RATE)


def train_epoch(
    model: Any, batches: Iterable[dict], optimizer: Any, scheduler: Any
) -> list[float]:
    """The course's own answer to the second half of 9.F."""
    return _epoch(model, batches, optimizer, scheduler)


def _update(loss: Any, optimizer: Any, scheduler: Any) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()


def _epoch(
    model: Any,
    batches: Iterable[dict],
    optimizer: Any,
    scheduler: Any,
    *,
    mode: Callable = nn.Module.train,
    inputs: Callable = dict,
    update: Callable = _update,
    after: Callable = lambda scheduler: None,
    keep: Callable = torch.Tensor.item,
    result: Callable = list,
) -> Any:
    """One epoch with one step exchanged."""
    mode(model)
    losses = []
    for batch in batches:
        loss = model(**inputs(batch)).loss
        update(loss, optimizer, scheduler)
        losses.append(keep(loss))
    after(scheduler)
    return result(losses)


# --- what is looked at ----------------------------------------------------------------


def _small(seed: int) -> nn.Module:
    draw = torch.Generator().manual_seed(seed)
    model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(normal(draw, *weight.shape, scale=2.0))
    return model


def _optimize(call: Callable, seed: int) -> Look:
    """Three steps with gradients that the answer does not choose."""
    model = _small(seed)
    optimizer = call(model)
    if not isinstance(optimizer, torch.optim.Optimizer):
        return Look({"optimizer": type(optimizer).__name__})
    before = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    for step in range(3):
        for place, weight in enumerate(model.parameters()):
            weight.grad = (weight.detach() * (place + 1) + step).cos()
        optimizer.step()
    moved = nn.utils.parameters_to_vector(model.parameters()).detach() - before
    rates = tuple(sorted({group["lr"] for group in optimizer.param_groups}))
    steps = {"how far the weights moved, in units of 5e-05": moved / RATE}
    return Look(steps | {"learning rate": rates})


def _train(call: Callable, batches: list[dict], seed: int) -> Look:
    """Two epochs: losses, weights and learning rate after each.

    There is no dropout, so that losses can be compared; the mode is checked as well.
    """
    model = Watched(tiny_classifier(seed, dropout=0.0).eval())  # as evaluate left it
    optimizer = AdamW(model.parameters(), lr=0.02)
    scheduler = LambdaLR(optimizer, lambda step: 1 / (1 + step))
    judged: dict[str, Any] = {}
    graphs, left = False, []
    for name in ("first", "second"):
        handed = [dict(batch) for batch in batches]
        losses = call(model, handed, optimizer, scheduler)
        left.append(left_alone(batches, handed))
        if isinstance(losses, list | tuple):
            graphs |= any(getattr(loss, "requires_grad", False) for loss in losses)
            losses = tuple(number(loss) for loss in losses)
        weights = nn.utils.parameters_to_vector(model.parameters())
        judged[f"losses of the {name} epoch"] = losses
        judged[f"weights after the {name} epoch"] = weights
        judged[f"learning rate after the {name} epoch"] = scheduler.get_last_lr()[0]
    return Look(
        judged
        | {"mode": model.story().get("mode of the model", "not called")}
        | {"graphs of the losses": "kept" if graphs else "released"}
        | {"batches": next((one for one in left if one != "as they were"), left[0])}
    )


def _cases(seed: int) -> list[Case]:
    library_ready()
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, *sizes: tuple[int, ...]) -> Case:
        batches = [tiny_batch(draw, *lengths) for lengths in sizes]
        return Case(name, (batches, seed), look=_train, of=1, tolerance=1e-7)

    return [
        Case("a small network, three steps", (seed,), look=_optimize),
        case("two epochs of two batches", (5, 3), (4, 6, 2)),
    ]


# --- what goes wrong ------------------------------------------------------------------

swap = exchanging(_epoch)


def _optimizer(kind: type, **more: Any) -> Callable:
    return lambda model: kind(model.parameters(), **more)


def _last_layer(model: nn.Module) -> AdamW:
    return AdamW(list(model.children())[-1].parameters(), lr=RATE)


def _unbiased(model: nn.Module) -> AdamW:
    weights, biases = (
        [one for one in model.parameters() if (one.dim() > 1) is many]
        for many in (True, False)
    )
    groups = [{"params": weights}, {"params": biases, "weight_decay": 0.0}]
    return AdamW(groups, lr=RATE)


OPTIMIZER_MISTAKES = (
    mistake(
        "no weight decay",
        "There is no weight decay: this is plain Adam, or an AdamW whose decay is 0.",
        "Adam and AdamW take the same arguments. Which of them has another default?",
        _optimizer(Adam, lr=RATE),
        _optimizer(AdamW, lr=RATE, weight_decay=0.0),
    ),
    mistake(
        "biases without decay",
        "The biases don't decay. That is BERT's own recipe; by default, AdamW treats "
        "all parameters alike.",
        "Into how many groups did you sort the parameters? The docstring asks for one.",
        _unbiased,
    ),
    mistake(
        "decay as part of the gradient",
        "This is Adam with a decay that goes into the gradient; AdamW keeps the two "
        "apart.",
        "Which class of torch.optim does the task name?",
        _optimizer(Adam, lr=RATE, weight_decay=0.01),
    ),
    mistake(
        "the default learning rate",
        "The learning rate is torch's default, 20 times the one asked for.",
        "Which learning rate does the task name?",
        _optimizer(AdamW),
        _optimizer(AdamW, lr=1e-3),
    ),
    mistake(
        "another learning rate",
        "The learning rate is not the one asked for.",
        "Write out 5e-5: how many zeros does it have?",
        _optimizer(AdamW, lr=5e-4),
        _optimizer(AdamW, lr=5e-3),
        _optimizer(AdamW, lr=5e-6),
        _optimizer(AdamW, lr=2e-5),
    ),
    mistake(
        "only the head",
        "Only the last layer is trained; the pretrained weights stay as they are.",
        "Whose parameters does the optimizer hold?",
        _last_layer,
    ),
    mistake(
        "plain gradient descent",
        "SGD takes steps in proportion to the gradient; AdamW scales the step of each "
        "weight.",
        "Which class of torch.optim does the task name?",
        _optimizer(SGD, lr=RATE),
    ),
)


def _never_cleared(loss: Any, optimizer: Any, scheduler: Any) -> None:
    loss.backward()
    optimizer.step()
    scheduler.step()


def _cleared_once(
    model: Any, batches: Iterable[dict], optimizer: Any, scheduler: Any
) -> Any:
    optimizer.zero_grad()
    return _epoch(model, batches, optimizer, scheduler, update=_never_cleared)


def _clipped(loss: Any, optimizer: Any, scheduler: Any) -> None:
    optimizer.zero_grad()
    loss.backward()
    for group in optimizer.param_groups:
        nn.utils.clip_grad_norm_(group["params"], 1.0)
    optimizer.step()
    scheduler.step()


def _cleared_too_late(loss: Any, optimizer: Any, scheduler: Any) -> None:
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    scheduler.step()


def _stepped_first(loss: Any, optimizer: Any, scheduler: Any) -> None:
    optimizer.step()
    optimizer.zero_grad()
    loss.backward()
    scheduler.step()


def _no_schedule(loss: Any, optimizer: Any, scheduler: Any) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _schedule_first(loss: Any, optimizer: Any, scheduler: Any) -> None:
    scheduler.step()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _no_backward(loss: Any, optimizer: Any, scheduler: Any) -> None:
    optimizer.zero_grad()
    optimizer.step()
    scheduler.step()


def _no_step(loss: Any, optimizer: Any, scheduler: Any) -> None:
    optimizer.zero_grad()
    loss.backward()
    scheduler.step()


def _popped(batch: dict) -> dict:
    return {"labels": batch.pop("labels"), **batch}


EPOCH_MISTAKES = (
    mistake(
        "evaluation mode",
        "The model was trained in evaluation mode, without dropout.",
        "In which mode does `evaluate` leave a model? Which one does training need?",
        swap(mode=lambda model: model),
        swap(mode=nn.Module.eval),
        of=1,
    ),
    mistake(
        "gradients never cleared",
        "Each step also uses the gradients of the steps before it.",
        "What does `backward` do with a gradient that is already there?",
        swap(update=_never_cleared),
        _cleared_once,
        of=1,
    ),
    mistake(
        "gradients clipped",
        "The gradients were clipped before the step. That can be wise, but the task "
        "does not ask for it.",
        "Which calls does the hint name for a batch?",
        swap(update=_clipped),
        of=1,
    ),
    mistake(
        "one batch behind",
        "Each step uses the gradients of the batch before it.",
        "Clear, backward, step: in which order do they come in your loop?",
        swap(update=_stepped_first),
        of=1,
    ),
    mistake(
        "weights never moved",
        "The losses came back, but the weights never changed.",
        "Clear, backward, step: in which order, and is one of them missing?",
        swap(update=_cleared_too_late),
        swap(update=_no_backward),
        swap(update=_no_step),
        of=1,
    ),
    mistake(
        "schedule not followed",
        "The learning rate never changed.",
        "What tells the scheduler that a step is over?",
        swap(update=_no_schedule),
        of=1,
    ),
    mistake(
        "schedule ahead of the optimizer",
        "The learning rate was changed before the step that it was meant for.",
        "Which of the two steps comes first?",
        swap(update=_schedule_first),
        of=1,
    ),
    mistake(
        "schedule once per epoch",
        "The learning rate changed once per epoch, not once per step.",
        "What does the schedule of this lesson count: batches or epochs?",
        swap(update=_no_schedule, after=lambda scheduler: scheduler.step()),
        of=1,
    ),
    mistake(
        "mask not passed on",
        "The model got the ids without the mask, so it read the padding as well.",
        "What does a batch hold besides ids and labels?",
        swap(inputs=without("attention_mask")),
        of=1,
    ),
    mistake(
        "batches changed",
        "The training is right, but the batches were changed on the way. They belong "
        "to the caller, who needs them again.",
        "Look for `pop`, `del` and assignments that touch a batch: work on a copy.",
        swap(inputs=_popped),
        of=1,
    ),
    mistake(
        "graphs kept",
        "The losses came back as tensors with their graphs, so everything that led to "
        "them stays in memory.",
        "The docstring promises plain numbers. Which method turns a tensor into one?",
        swap(keep=lambda loss: loss),
        of=1,
    ),
    mistake(
        "only the last loss",
        "Only the loss of the last batch came back.",
        "The docstring promises a list. Of what?",
        swap(result=lambda losses: losses[-1]),
        swap(result=lambda losses: losses[-1:]),
        of=1,
    ),
    mistake(
        "mean of the losses",
        "The mean of the losses came back, not the loss of each batch.",
        "The docstring promises a list. Of what?",
        swap(result=lambda losses: sum(losses) / len(losses)),
        of=1,
    ),
)

EXERCISES = (
    Exercise(
        "9.F",
        "AdamW, and one pass of fine-tuning",
        "function",
        difficulty=3,
        points=3,
        core=True,
        answers=(
            Answer("make_optimizer", make_optimizer, {"optimizer": ""}),
            Answer("train_epoch", train_epoch, {"losses": ""}),
        ),
        cases=_cases,
        proves="AdamW and its learning rate; dropout on, two epochs of steps, the "
        "schedule",
        misconceptions=OPTIMIZER_MISTAKES + EPOCH_MISTAKES,
    ),
    Exercise("9.M", "Why is it not better?", "written", difficulty=2, points=4),
    Exercise("9.N", "Beat it", "open", difficulty=4, minutes=8),
)
