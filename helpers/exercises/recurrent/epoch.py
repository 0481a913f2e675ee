"""7.D: an epoch, compared by its loss and by the weights it leaves."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.optim import SGD, Adam, Optimizer

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging, number, warm_up_optimizers
from helpers.text.characters import batches as cut

Batches = list[tuple[Tensor, Tensor]]
WITHIN = 1e-5  # torch clips to `clip / (norm + 1e-6)`, the lesson to `clip / norm`


class Reader(nn.Module):
    """The smallest model with a memory; it notes the mode in which it was trained."""

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
    """The course's own answer to 7.D, in steps that a mistake can exchange."""
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
    epochs: int = 1,
    kind: type[Optimizer] = SGD,
) -> Look:
    """Train a small model: what came back, and where its weights are."""
    model = Reader(seed).eval()
    optimizer = kind(model.parameters(), lr=1.0 if kind is SGD else 0.02)
    judged: dict[str, Any] = {}
    for which in ("first", "second")[:epochs]:
        loss = call(model, batches, optimizer, clip)
        judged[f"loss of the {which} epoch"] = number(loss)
        weights = nn.utils.parameters_to_vector(model.parameters())
        judged[f"weights after the {which} epoch"] = weights
    judged["mode during training"] = "training" if all(model.modes) else "evaluation"
    return Look(judged)


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
        case("3 batches, two epochs, clip 0.05", (2, 4, 3), 0.05, epochs=2),
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


def _step_between(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip) -> None:
    optimizer.step()
    optimizer.zero_grad()
    loss.backward()
    clip_grad_norm_(model.parameters(), clip)


def _step_uncleared(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip) -> None:
    optimizer.step()
    loss.backward()
    clip_grad_norm_(model.parameters(), clip)


def _step_on_nothing(model: nn.Module, optimizer: Optimizer, loss: Tensor, clip):
    optimizer.zero_grad()
    optimizer.step()
    loss.backward()
    clip_grad_norm_(model.parameters(), clip)


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


swap = exchanging(train_epoch)
MISTAKES = (
    mistake(
        "state not detached",
        "`backward` ran into a graph that it has freed already: the state carries its "
        "history into the next batch, unless `backward` is called twice for one loss.",
        "What does the text above the exercise do to the state between two batches?",
        swap(carry=lambda state: state),
    ),
    mistake(
        "retain_graph",
        "The graph was kept to silence one error, but the optimizer has since changed "
        "the weights in it.",
        "The error message suggests a cure, but the cause is the state.",
        swap(carry=lambda state: state, update=_retained),
    ),
    mistake(
        "state not carried along",
        "Every batch starts with an empty memory, although its rows continue those of "
        "the batch before.",
        "What does the model return besides the logits, and who gets it next?",
        swap(carry=lambda state: None),
        swap(carry=torch.zeros_like),
    ),
    mistake(
        "loss of the last batch",
        "The loss of the last batch was returned: it jumps from epoch to epoch.",
        "What is wanted is the mean over all batches.",
        swap(result=lambda losses: losses[-1]),
    ),
    mistake(
        "sum of the losses",
        "The losses were only added up, so a longer text would look worse.",
        "What is wanted is the mean over all batches.",
        swap(result=sum),
    ),
    mistake(
        "not clipped",
        "Gradients longer than `clip` reached the optimizer.",
        "Which call computes the gradients, which one uses them, and what happens to "
        "them between the two, with which limit?",
        swap(update=_unclipped),
        swap(update=_clipped_first),
        swap(update=_clipped_last),
    ),
    mistake(
        "clipped by value",
        "Every entry of the gradient was clipped by itself, which changes its "
        "direction.",
        "There are two functions for clipping. Which of them goes by the norm?",
        swap(update=_by_value),
    ),
    mistake(
        "each weight clipped alone",
        "The gradient of each matrix was clipped by itself, which changes their "
        "proportions.",
        "What counts is the norm of the whole gradient: all parameters in one call.",
        swap(update=_each_alone),
    ),
    mistake(
        "short gradients stretched",
        "Every gradient was rescaled to the norm `clip`, even if it was shorter.",
        "What should happen to a gradient whose norm is below `clip`?",
        swap(update=_always_scaled),
    ),
    mistake(
        "weights clipped",
        "The weights were clipped, not their gradients.",
        "What is too large after a bad batch: the weights, or their gradients?",
        swap(update=_weights_clipped),
    ),
    mistake(
        "gradients never cleared",
        "Each step also uses the gradients of the steps before it.",
        "What does `backward` do with a gradient that is already there?",
        swap(update=_never_cleared),
        _cleared_once,
    ),
    mistake(
        "weights never moved",
        "A loss comes back, but the weights have not changed.",
        "A training step has four calls: clear, backward, clip, step. In which order?",
        swap(update=_no_step),
        swap(update=_cleared_late),
        swap(update=_step_on_nothing),
        swap(update=lambda model, optimizer, loss, clip: None),
    ),
    mistake(
        "step before backward",
        "The optimizer moved the weights between the prediction and `backward`, which "
        "needs them as they were.",
        "A training step has four calls: clear, backward, clip, step. In which order?",
        swap(update=_step_between),
        swap(update=_step_uncleared),
    ),
    mistake(
        "vocabulary on the last axis",
        "The logits went into the loss as (batch, length, vocabulary); it expects the "
        "vocabulary on axis 1.",
        "Read the error: which two sizes does the loss compare?",
        swap(loss_of=lambda logits, y: F.cross_entropy(logits, y)),
    ),
    mistake(
        "rows and positions mixed up",
        "Logits and targets no longer line up after your reshaping: most predictions "
        "were compared with the character of another position.",
        "Flatten both in the same way, or move the vocabulary to axis 1.",
        swap(
            loss_of=lambda logits, y: F.cross_entropy(
                logits.flatten(0, 1), y.T.flatten()
            )
        ),
        swap(
            loss_of=lambda logits, y: F.cross_entropy(
                logits.reshape(len(y), logits.shape[2], -1), y
            )
        ),
    ),
    mistake(
        "losses of a batch added up",
        "The losses of all characters of a batch were added up, not averaged.",
        "Should the loss grow with the number of characters in a batch?",
        swap(loss_of=lambda logits, y: _loss(logits, y) * y.numel()),
    ),
    mistake(
        "a character ignored",
        "Targets with the id 0 do not count in the loss, as padding did in lesson 06.",
        "Which character has the id 0 here, and is it to be learned?",
        swap(
            loss_of=lambda logits, y: F.cross_entropy(logits.mT, y, ignore_index=0),
        ),
    ),
    mistake(
        "softmax before the loss",
        "The logits went through a softmax before the loss, which applies its own.",
        "What does `F.cross_entropy` expect: probabilities or logits?",
        swap(loss_of=lambda logits, y: _loss(logits.softmax(-1), y)),
    ),
    mistake(
        "only the last position",
        "In each row, only the prediction at the last position was scored.",
        "After how many of the T characters does the model make a prediction?",
        swap(loss_of=lambda logits, y: F.cross_entropy(logits[:, -1], y[:, -1])),
    ),
    mistake(
        "one batch only",
        "The epoch ended after the first batch.",
        "How far is your `return` indented?",
        _one_batch,
    ),
    mistake(
        "trained on the input",
        "The model was asked to repeat x: the targets were never used.",
        "A batch is (x, y). Where does your loop use y?",
        swap(chosen=lambda x, y: (x, x)),
    ),
    mistake(
        "input and target swapped",
        "The model read y and was asked for x: it was trained to look back.",
        "A batch is (x, y). Which of the two does the model read?",
        swap(chosen=lambda x, y: (y, x)),
    ),
    mistake(
        "evaluation mode",
        "The model was trained in evaluation mode, so dropout was never active.",
        "Which method switches a module to training, and when?",
        swap(mode=lambda model: None),
        swap(mode=nn.Module.eval),
    ),
)

EXERCISES = (
    Exercise(
        "7.D",
        "One epoch of training",
        "function",
        difficulty=3,
        points=3,
        core=True,
        locates=False,  # once a step is wrong, no number of a later one is known
        answers=(Answer("train_epoch", train_epoch),),
        cases=_cases,
        proves="mean loss and weights after two epochs, SGD and Adam, the state "
        "carried along and detached, clipping by norm, training mode",
        misconceptions=MISTAKES,
    ),
)
