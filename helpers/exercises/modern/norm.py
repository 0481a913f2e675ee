"""12.A: RMS norm."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    Property,
    mistake,
)
from helpers.exercises.kit import exchanging, normal


class RMSNorm(nn.Module):
    """The course's own answer to 12.A; misconceptions replace one of its steps."""

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        """Create a gain of ones."""
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) -> (..., width)."""
        return self.finish(self.share(self.prepare(x)))

    def prepare(self, x: Tensor) -> Tensor:
        """What is divided."""
        return x

    def share(self, x: Tensor) -> Tensor:
        """Bring each vector to a root mean square of 1."""
        return x / self.root(self.size(x))

    def size(self, x: Tensor) -> Tensor:
        """One number for each vector: the mean of its squares."""
        return x.square().mean(-1, keepdim=True)

    def root(self, size: Tensor) -> Tensor:
        """What a vector is divided by."""
        return (size + self.eps).sqrt()

    def finish(self, x: Tensor) -> Tensor:
        """Apply the gain."""
        return self.weight * x


PLAIN = "output with gain 1"


def _look(call: Any, x: Tensor, gain: Tensor) -> Look:
    """Run with a gain that is not 1, then with 1."""
    learned = (
        {name: tuple(p.shape) for name, p in call.named_parameters()}
        if isinstance(call, nn.Module)
        else {}
    )
    seen: dict[str, Any] = {"part parameters": str(learned)}
    if set(learned) != {"weight"} or call.weight.shape != gain.shape:
        return Look(seen)
    ones = bool((call.weight.detach() == 1).all())
    seen["weight of a new module"] = "ones" if ones else "not all ones"
    for name, numbers in (("output", gain.to(x)), (PLAIN, torch.ones_like(gain).to(x))):
        seen[name] = functional_call(call, {"weight": numbers}, (x,))
    return Look(seen)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, x: Tensor, eps: float = 1e-6, **more: Any) -> Case:
        gain = normal(draw, x.shape[-1]).round(decimals=1).abs() + 0.5
        inputs = ("x", "weight")
        init = (x.shape[-1], eps)
        return Case(name, (x, gain.to(x)), inputs=inputs, init=init, look=_look, **more)

    example = torch.tensor([[3.0, 4.0]], dtype=torch.float64)
    small = normal(draw, 3, 5)
    small[1] *= 1e-3  # eps decides
    zero = normal(draw, 2, 3, 6)
    zero[1, 1] = 0.0
    return [
        case("the vector [3, 4]", example),
        case("a batch of texts, far from 0", 3 * normal(draw, 2, 5, 7) + 2),
        case("one vector that is nearly 0", small, eps=1e-5),
        case("one vector of zeros", zero),
        case("a large eps", normal(draw, 4, 3), eps=0.5),
        case("float32", normal(draw, 2, 4, 9, dtype=torch.float32)),
        case("the gradient", normal(draw, 2, 3, 5), gradient=True),
    ]


def _sized(case: Case, outputs: Mapping[str, Any]) -> str | None:
    """The first vector whose root mean square is not 1, but for what eps takes."""
    x, eps = case.args[0], case.init[1]
    if outputs[PLAIN] is None:
        return None
    wanted = x.square().mean(-1)
    wanted = (wanted / (wanted + eps)).sqrt().flatten()
    found = outputs[PLAIN].square().mean(-1).sqrt().flatten()
    off = (found - wanted).abs() > 1e-3
    if not off.any():
        return None
    return f"one has {found[off][0].item():.4f} instead of {wanted[off][0].item():.4f}"


swap = exchanging(RMSNorm)


def _start(gain: Callable) -> Callable:
    """An `__init__` that starts the gain in another way."""

    def build(self: RMSNorm, width: int, eps: float = 1e-6) -> None:
        RMSNorm.__init__(self, width, eps)
        del self.weight
        gain(self, width)

    return build


def _zeros(self: Any, width: int) -> None:
    self.weight = nn.Parameter(torch.zeros(width))


def _random(self: Any, width: int) -> None:
    self.weight = nn.Parameter(torch.rand(width))


def _plain(self: Any, width: int) -> None:
    self.weight = torch.ones(width)


def _buffer(self: Any, width: int) -> None:
    self.register_buffer("weight", torch.ones(width))


def _renamed(self: Any, width: int) -> None:
    self.gain = self.weight = nn.Parameter(torch.ones(width))
    del self.weight


def _one_number(self: Any, width: int) -> None:
    self.weight = nn.Parameter(torch.ones(1))


def _with_bias(self: RMSNorm, width: int, eps: float = 1e-6) -> None:
    RMSNorm.__init__(self, width, eps)
    self.bias = nn.Parameter(torch.zeros(width))


def _mean_square(x: Tensor, *axes: int) -> Tensor:
    return x.square().mean(axes, keepdim=True)


MISTAKES = (
    mistake(
        "centred",
        "The mean was subtracted first: this is layer norm without its bias.",
        "Compare the two formulas: which step of layer norm is gone?",
        swap(prepare=lambda self, x: x - x.mean(-1, keepdim=True)),
    ),
    mistake(
        "variance under the root",
        "The vector keeps its mean, but what it is divided by is the standard "
        "deviation, which was measured from the mean.",
        "What does the formula take the mean of?",
        swap(size=lambda self, x: x.var(-1, correction=0, keepdim=True)),
        swap(size=lambda self, x: x.var(-1, keepdim=True)),
    ),
    mistake(
        "epsilon outside the root",
        "Epsilon was added after the root was taken.",
        "Where is ε in the formula: under the root or outside it?",
        swap(root=lambda self, size: size.sqrt() + self.eps),
    ),
    mistake(
        "no epsilon",
        "Epsilon is missing, so a vector of zeros becomes 0 divided by 0.",
        "What is the mean square of a vector of zeros?",
        swap(root=lambda self, size: size.sqrt()),
    ),
    mistake(
        "epsilon hard-coded",
        "Epsilon is always 1e-6, whatever the class was built with.",
        "Does `forward` use the eps that `__init__` was given?",
        swap(root=lambda self, size: (size + 1e-6).sqrt()),
    ),
    mistake(
        "no root",
        "The vector was divided by the mean of its squares itself.",
        "The S and the M are there. What does the R of RMS stand for?",
        swap(root=lambda self, size: size + self.eps),
    ),
    mistake(
        "sum instead of mean",
        "The squares were added up, so each vector gets the length 1, whatever its "
        "width.",
        "What does the M of RMS stand for?",
        swap(size=lambda self, x: x.square().sum(-1, keepdim=True)),
    ),
    mistake(
        "square of the mean",
        "The numbers were averaged first and squared then.",
        "In which order do the letters of RMS apply, read from the right?",
        swap(size=lambda self, x: x.mean(-1, keepdim=True).square()),
    ),
    mistake(
        "over the tokens",
        "The squares were averaged over the tokens, or over the whole input, not over "
        "the features of each vector.",
        "Which axis of x counts the features?",
        swap(size=lambda self, x: _mean_square(x, -2)),
        swap(size=lambda self, x: _mean_square(x, *range(x.dim()))),
    ),
    mistake(
        "multiplied by the root",
        "The vector was multiplied by its root mean square.",
        "Should a long vector come out longer or shorter?",
        swap(share=lambda self, x: x * self.root(self.size(x))),
    ),
    mistake(
        "gain forgotten",
        "The learned gain has no influence on the result.",
        "What does the formula multiply with at the end?",
        swap(finish=lambda self, x: x),
    ),
    mistake(
        "gain added",
        "The learned gain was added to the result.",
        "What does the formula do with g?",
        swap(finish=lambda self, x: self.weight + x),
    ),
    mistake(
        "gain of zeros, or random",
        "The gain of a new module is not all ones.",
        "Which gain changes nothing at first?",
        swap(__init__=_start(_zeros)),
        swap(__init__=_start(_random)),
    ),
    mistake(
        "gain that is not learned",
        "No optimizer would see the gain, because it is not a parameter.",
        "What makes a tensor of a module a parameter?",
        swap(__init__=_start(_plain)),
        swap(__init__=_start(_buffer)),
    ),
    mistake(
        "gain under another name",
        "The module's parameter should be called weight: the loader looks for that.",
        "Read the docstring's Args and what stands below them.",
        swap(
            __init__=_start(_renamed),
            finish=lambda self, x: self.gain * x,
        ),
    ),
    mistake(
        "one gain for all features",
        "The gain is a single number.",
        "How long is g in the formula?",
        swap(__init__=_start(_one_number)),
    ),
    mistake(
        "bias kept",
        "There is a bias, as layer norm has one.",
        "How many vectors does the formula learn?",
        swap(__init__=_with_bias, finish=lambda self, x: self.weight * x + self.bias),
    ),
)

EXERCISES = (
    Exercise(
        "12.A",
        "RMS norm",
        "class",
        difficulty=1,
        points=2,
        core=True,
        answers=(Answer("RMSNorm", RMSNorm, {"output": "..., width"}),),
        cases=_cases,
        proves="the root, eps under it, the mean kept, one gain and no bias, the "
        "gradient",
        properties=(
            Property("Does every vector get the right root mean square", _sized),
        ),
        misconceptions=MISTAKES,
    ),
)
