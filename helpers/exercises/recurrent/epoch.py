"""7.6: a pass over the text, compared by its loss and by the weights it leaves."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.optim import SGD, Adam, Optimizer

from helpers.checks.exercise import Answer, Case, Exercise, Look, Misconception, mistake
from helpers.exercises.kit import warm_up_optimizers
from helpers.text.characters import batches as cut

Batches = list[tuple[Tensor, Tensor]]
WITHIN = 1e-5  # torch clips to `clip / (norm + 1e-6)`, the lesson to `clip / norm`


class Reader(nn.Module):
    """The smallest model with a memory; it notes in which mode it was trained."""

    def __init__(self, seed: int) -> None:
        """Three matrices, with unsaturated weights."""
        super().__init__()
        draw = torch.Generator().manual_seed(seed)

        def weight(*sizes: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(sizes, generator=draw).double() * 0.5)

        self.read, self.recur, self.last = weight(7, 4), weight(4, 4), weight(4, 7)
        self.modes: list[bool] = []

    def forward(self, ids: Tensor, state: Tensor | None = None) -> tuple:
        """(B, T), (B, N) -> logits (B, T, V), state."""
        self.modes.append(self.training)
        h = self.read.new_zeros(len(ids), 4) if state is None else state
        states = []
        for one in ids.unbind(1):
            h = torch.tanh(self.read[one] + h @ self.recur)
            states.append(h)
        return torch.stack(states, 1) @ self.last, h


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.mT, targets)


def _update(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip: float) -> None:
    optimizer.zero_grad()
    loss.backward()
    clip_grad_norm_(model.parameters(), clip)
    optimizer.step()


def train_epoch(
    model: nn.Module,
    batches: Batches,
    optimizer: Optimizer,
    clip: float,
    *,
    mode: Callable = nn.Module.train,
    carry: Callable = Tensor.detach,
    chosen: Callable = lambda x, y: (x, y),
    loss_of: Callable = _loss,
    update: Callable = _update,
    result: Callable = lambda losses: sum(losses) / len(losses),
) -> float:
    """The course's own answer to 7.6, in steps that a mistake can exchange."""
    mode(model)
    state, losses = None, []
    for x, y in batches:
        x, y = chosen(x, y)
        logits, state = model(x, state)
        loss = loss_of(logits, y)
        update(model, optimizer, loss, clip)
        state = carry(state)
        losses.append(loss.item())
    return result(losses)


def _learn(
    call: Callable,
    clip: float,
    batches: Batches,
    seed: int,
    passes: int = 1,
    kind: type[Optimizer] = SGD,
) -> Look:
    """Let a small model learn: what came back, and where its weights are."""
    model = Reader(seed).eval()
    optimizer = kind(model.parameters(), lr=1.0 if kind is SGD else 0.02)
    judged: dict[str, Any] = {}
    for which in ("first", "second")[:passes]:
        loss = call(model, batches, optimizer, clip)
        judged[f"loss of the {which} pass"] = _number(loss)
        weights = nn.utils.parameters_to_vector(model.parameters())
        judged[f"weights after the {which} pass"] = weights
    judged["mode while learning"] = "training" if all(model.modes) else "evaluation"
    return Look(judged)


def _number(loss: Any) -> Any:
    """A loss is as good in a tensor as it is bare; rounded, as messages show it all."""
    if isinstance(loss, Tensor) and loss.is_floating_point() and loss.numel() == 1:
        loss = loss.item()
    return round(loss, 6) if isinstance(loss, float) else loss


def _cases(seed: int) -> list[Case]:
    warm_up_optimizers()
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, size: tuple[int, int, int], clip: float, **more: Any) -> Case:
        batch, length, count = size
        ids = torch.randint(7, (batch * length * count + 1,), generator=draw)
        look = partial(_learn, seed=seed, **more)
        args = (clip, cut(ids, batch, length))
        return Case(name, args, look=look, tolerance=WITHIN)

    return [
        case("3 batches, two passes, clip 0.05", (2, 4, 3), 0.05, passes=2),
        case("2 batches, clip 100", (3, 5, 2), 100.0),
        case("3 batches with Adam", (2, 5, 3), 0.1, kind=Adam),
    ]


def _never_cleared(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip) -> None:
    loss.backward()
    clip_grad_norm_(model.parameters(), clip)
    optimizer.step()


def _unclipped(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip) -> None:
    _update(model, optimizer, loss, float("inf"))


def _clipped_first(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip) -> None:
    optimizer.zero_grad()
    clip_grad_norm_(model.parameters(), clip)
    loss.backward()
    optimizer.step()


def _clipped_last(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip) -> None:
    _unclipped(model, optimizer, loss, clip)
    clip_grad_norm_(model.parameters(), clip)


def _by_value(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip) -> None:
    optimizer.zero_grad()
    loss.backward()
    clip_grad_value_(model.parameters(), clip)
    optimizer.step()


def _each_alone(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip) -> None:
    optimizer.zero_grad()
    loss.backward()
    for weight in model.parameters():
        clip_grad_norm_([weight], clip)
    optimizer.step()


def _weights_clipped(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip):
    _unclipped(model, optimizer, loss, clip)
    with torch.no_grad():
        for weight in model.parameters():
            weight.clamp_(-clip, clip)


def _no_step(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip) -> None:
    optimizer.zero_grad()
    loss.backward()
    clip_grad_norm_(model.parameters(), clip)


def _cleared_late(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip) -> None:
    loss.backward()
    clip_grad_norm_(model.parameters(), clip)
    optimizer.zero_grad()
    optimizer.step()


def _retained(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip) -> None:
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    clip_grad_norm_(model.parameters(), clip)
    optimizer.step()


def _always_scaled(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip) -> None:
    optimizer.zero_grad()
    loss.backward()
    gradients = [weight.grad for weight in model.parameters()]
    norm = torch.cat([gradient.flatten() for gradient in gradients]).norm()
    for gradient in gradients:
        gradient *= clip / norm
    optimizer.step()


def _cleared_once(model: nn.Module, batches: Batches, optimizer, clip: float) -> float:
    optimizer.zero_grad()
    return train_epoch(model, batches, optimizer, clip, update=_never_cleared)


def _one_batch(model: nn.Module, batches: Batches, optimizer, clip: float) -> float:
    return train_epoch(model, batches[:1], optimizer, clip)


def _wrong(
    name: str, done: str, where: str, *changes: dict | Callable
) -> Misconception:
    spellings = tuple(
        partial(train_epoch, **change) if isinstance(change, dict) else change
        for change in changes
    )
    return mistake(name, done, where, *spellings)


def _kept(state: Tensor) -> Tensor:
    return state


MISTAKES = (
    _wrong(
        "state not cut off",
        "The state carries its history into the next batch, and backward walks into a "
        "graph that is gone.",
        "Exercise 7.5: what has to happen to the state between two batches?",
        {"carry": _kept},
    ),
    _wrong(
        "retain_graph",
        "The graph was kept alive to silence one error, and the optimizer has changed "
        "the weights under it.",
        "Exercise 7.5: the message names a cure, but the cause is the state.",
        {"carry": _kept, "update": _retained},
    ),
    _wrong(
        "state not carried",
        "Every batch begins with an empty memory, although its rows go on.",
        "What does the model return beside the logits, and who gets it next?",
        {"carry": lambda state: None},
        {"carry": torch.zeros_like},
    ),
    _wrong(
        "loss of the last batch",
        "What comes back is the last batch's loss: it jumps from pass to pass.",
        "The mean over all batches is asked for.",
        {"result": lambda losses: losses[-1]},
    ),
    _wrong(
        "sum of the losses",
        "The losses were added up: a longer text would look worse.",
        "The mean over all batches is asked for.",
        {"result": sum},
    ),
    _wrong(
        "not clipped",
        "The gradients were used at full length: not clipped when it matters.",
        "When is a gradient there, when is it used, and where between the two is it "
        "shortened?",
        {"update": _unclipped},
        {"update": _clipped_first},
        {"update": _clipped_last},
    ),
    _wrong(
        "clipped by value",
        "Every number of the gradient was cut by itself, which bends its direction.",
        "There are two functions for clipping: the norm is asked for.",
        {"update": _by_value},
    ),
    _wrong(
        "each weight clipped alone",
        "Each matrix had its gradient clipped by itself, so that their proportions "
        "changed.",
        "The norm of the whole gradient is asked for: all parameters in one call.",
        {"update": _each_alone},
    ),
    _wrong(
        "short gradients stretched",
        "Every gradient was brought to the length `clip`, short ones as well.",
        "What should happen to a gradient that is shorter than `clip`?",
        {"update": _always_scaled},
    ),
    _wrong(
        "weights clipped",
        "The weights were clipped, not their gradients.",
        "What is too long after a bad batch: the weights or the step?",
        {"update": _weights_clipped},
    ),
    _wrong(
        "gradients never cleared",
        "Each step also takes the gradients of steps before it.",
        "What does `backward` do with a gradient that is already there?",
        {"update": _never_cleared},
        _cleared_once,
    ),
    _wrong(
        "weights never moved",
        "The loss comes back, but the weights stay where they were.",
        "Four calls belong to a step: clear, backward, clip, step. In which order?",
        {"update": _no_step},
        {"update": _cleared_late},
        {"update": lambda model, optimizer, loss, clip: None},
    ),
    _wrong(
        "vocabulary on the last axis",
        "The logits went into the loss as (batch, place, character); it wants the "
        "characters on axis 1.",
        "Read the error: which two sizes does the loss compare?",
        {"loss_of": lambda logits, y: F.cross_entropy(logits, y)},
    ),
    _wrong(
        "rows and places mixed",
        "Logits and targets were flattened in different orders: most predictions were "
        "compared with another place's character.",
        "Flatten both in the same way, or move the vocabulary to axis 1.",
        {
            "loss_of": lambda logits, y: F.cross_entropy(
                logits.flatten(0, 1), y.T.flatten()
            )
        },
        {
            "loss_of": lambda logits, y: F.cross_entropy(
                logits.reshape(len(y), logits.shape[2], -1), y
            )
        },
    ),
    _wrong(
        "softmax before the loss",
        "The logits went through a softmax before the loss, which applies its own.",
        "Exercise 7.5c: what does `F.cross_entropy` expect?",
        {"loss_of": lambda logits, y: _loss(logits.softmax(-1), y)},
    ),
    _wrong(
        "only the last place",
        "Each row was judged by its last character only.",
        "After how many of the T characters is a prediction due?",
        {"loss_of": lambda logits, y: F.cross_entropy(logits[:, -1], y[:, -1])},
    ),
    _wrong(
        "one batch only",
        "The pass ended after the first batch.",
        "How far is your `return` indented?",
        _one_batch,
    ),
    _wrong(
        "trained on the input",
        "The model was asked to repeat x: the targets were never used.",
        "A batch is (x, y). Where does your loop use y?",
        {"chosen": lambda x, y: (x, x)},
    ),
    _wrong(
        "evaluation mode",
        "The model was trained as it came, in evaluation mode: dropout never acted.",
        "Which method switches a module to training, and when?",
        {"mode": lambda model: None},
        {"mode": nn.Module.eval},
    ),
)

EXERCISES = (
    Exercise(
        "7.6",
        "A pass over the text",
        "function",
        difficulty=3,
        minutes=12,
        points=3,
        core=True,
        answers=(Answer("train_epoch", train_epoch),),
        cases=_cases,
        proves="mean loss and weights after two passes, SGD and Adam, the state "
        "carried and cut off, clipping by norm, training mode",
        misconceptions=MISTAKES,
    ),
)
