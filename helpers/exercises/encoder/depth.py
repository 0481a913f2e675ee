"""4.N: the gradient norm of every layer; 4.P: which norm order for 48 layers."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging, normal
from helpers.models.encoder import EncoderLayer


def gradient_by_depth(
    layers: nn.ModuleList,
    loss_of: Callable,
    x: Tensor,
    *,
    measure: Callable = lambda slope: slope.norm(),
    of: Callable = lambda layer: layer.feed_forward.W_1.weight,
) -> Tensor:
    """The course's own answer to 4.N; the keywords are for the misconceptions."""
    loss = loss_of(_through(layers, x))
    slopes = torch.autograd.grad(loss, [of(layer) for layer in layers])
    return torch.stack([measure(slope) for slope in slopes])


def _through(layers: nn.ModuleList, x: Tensor) -> Tensor:
    for layer in layers:
        x = layer(x)
    return x


def _look(call: Any, layers: nn.ModuleList, loss_of: Callable, x: Tensor) -> Look:
    """Judge a first and a second call: gradients must not pile up."""
    first, again = (_norms(call(layers, loss_of, x)) for _ in range(2))
    return Look({"norms": first, "norms, called again": again})


def _norms(result: Any) -> Any:
    """A list of numbers is as good as a tensor."""
    if isinstance(result, list | tuple) and all(
        isinstance(one, float) or isinstance(one, Tensor) and one.dim() == 0
        for one in result
    ):
        return torch.tensor([float(one) for one in result], dtype=torch.float64)
    return result.detach().double() if isinstance(result, Tensor) else result


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, count: int, norm_first: bool, size: tuple) -> Case:
        with torch.random.fork_rng(devices=[]):  # leave the student's seed alone
            layers = nn.ModuleList(
                EncoderLayer(size[-1], 2, 7, 0.0, norm_first=norm_first)
                for _ in range(count)
            ).double()
        with torch.no_grad():
            for value in layers.parameters():
                value.copy_(0.5 * normal(draw, *value.shape))
        goal = normal(draw, *size)
        loss_of = _Loss(goal)
        args = (layers, loss_of, normal(draw, *size))
        return Case(name, args, inputs=("layers", "loss_of", "x"), look=_look)

    return [
        case("three post-norm layers", 3, False, (2, 5, 6)),
        case("four pre-norm layers", 4, True, (3, 2, 4)),
        case("one layer", 1, True, (2, 3, 8)),
    ]


class _Loss:
    """The mean squared distance from a goal."""

    def __init__(self, goal: Tensor) -> None:
        self.goal = goal

    def __call__(self, x: Tensor) -> Tensor:
        return (x - self.goal).square().mean()


swap = exchanging(gradient_by_depth)


def _piled_up(layers: nn.ModuleList, loss_of: Callable, x: Tensor) -> Tensor:
    loss_of(_through(layers, x)).backward()
    return torch.stack([one.feed_forward.W_1.weight.grad.norm() for one in layers])


def _outputs(layers: nn.ModuleList, loss_of: Callable, x: Tensor) -> Tensor:
    seen = []
    for layer in layers:
        x = layer(x)
        seen.append(x)
    return torch.stack([s.norm() for s in torch.autograd.grad(loss_of(x), seen)])


def _same_input(layers: nn.ModuleList, loss_of: Callable, x: Tensor) -> Tensor:
    losses = sum(loss_of(layer(x)) for layer in layers)
    slopes = torch.autograd.grad(
        losses, [one.feed_forward.W_1.weight for one in layers]
    )
    return torch.stack([slope.norm() for slope in slopes])


MISTAKES = (
    mistake(
        "gradients piled up",
        "The second call returns larger numbers than the first: `backward` adds to the "
        "gradients that are already there.",
        "What is in `.grad` before your backward pass?",
        _piled_up,
    ),
    mistake(
        "from the output down",
        "The numbers are right, but the last layer comes first.",
        "Which layer's number should come first?",
        lambda *args: gradient_by_depth(*args).flip(0),
    ),
    mistake(
        "squared norm",
        "The squares were added up, but the root was not taken.",
        "What does `Tensor.norm` do after it has added the squares?",
        swap(measure=lambda slope: slope.square().sum()),
    ),
    mistake(
        "mean size",
        "The numbers are the mean size of an entry, not the norm of the gradient.",
        "A norm takes three steps: square, add up, take the root.",
        swap(measure=lambda slope: slope.abs().mean()),
    ),
    mistake(
        "largest entry",
        "The numbers are the largest entry of each gradient, not its norm.",
        "A norm takes three steps: square, add up, take the root.",
        swap(measure=lambda slope: slope.abs().max()),
    ),
    mistake(
        "norm of the weights",
        "The weights themselves were measured, not their gradients.",
        "What does `.grad` of a weight hold after a backward pass?",
        lambda layers, loss_of, x: torch.stack(
            [layer.feed_forward.W_1.weight.norm() for layer in layers]
        ),
    ),
    mistake(
        "another matrix",
        "The gradient of W_2 was measured, but that of W_1 was asked for.",
        "Read the last line of the docstring again.",
        swap(of=lambda layer: layer.feed_forward.W_2.weight),
    ),
    mistake(
        "gradient of the outputs",
        "These are the gradients of the layers' outputs, not of their weights.",
        "Read the last line of the docstring again.",
        _outputs,
    ),
    mistake(
        "layers side by side",
        "Every layer read x itself, so there is no depth.",
        "What goes into the second layer?",
        _same_input,
    ),
)

EXERCISES = (
    Exercise(
        "4.N",
        "The gradient of every layer",
        "function",
        difficulty=3,
        points=2,
        answers=(Answer("gradient_by_depth", gradient_by_depth, {"norms": "layer"}),),
        cases=_cases,
        proves="pre-norm and post-norm stacks, layer by layer, called twice",
        misconceptions=MISTAKES,
    ),
    Exercise(
        "4.P",
        "Forty-eight layers",
        "written",
        difficulty=3,
        points=3,
    ),
)
