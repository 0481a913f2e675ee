"""4.B: the feed-forward network, and how many numbers it holds."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    mistake,
    value_cases,
)
from helpers.exercises.kit import exchanging, normal
from helpers.models.layers import ACTIVATIONS


class FeedForward(nn.Module):
    """The course's own answer to 4.B."""

    lacks_biases = False  # said here: the reference's parts may be a student's

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu") -> None:
        """Create the two layers."""
        super().__init__()
        self.activation = activation
        self.W_1 = nn.Linear(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        return self.compute(x, ACTIVATIONS[self.activation])

    def compute(self, x: Tensor, activate: Callable) -> Tensor:
        """The formula; misconceptions replace it."""
        return self.W_2(activate(self.W_1(x)))


def _look(call: Any, x: Tensor) -> Look:
    """Judge the output, and that both layers add a bias."""
    lacks = getattr(call, "lacks_biases", None)
    if lacks is None:
        parts = (getattr(call, name, None) for name in ("W_1", "W_2"))
        lacks = any(getattr(part, "bias", 0) is None for part in parts)
    return Look({"output": call(x), "biases": "missing" if lacks else "there"})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str, size: tuple, init: tuple, dtype: Any = None, **more: Any
    ) -> Case:
        x = normal(draw, *size, dtype=dtype or torch.float64)
        return Case(name, (x,), inputs=("x",), init=init, look=_look, **more)

    return [
        case("ReLU, a batch", (2, 5, 7), (7, 11, "relu")),
        case("GELU, a batch", (2, 5, 7), (7, 11, "gelu")),
        case("no activation asked for", (2, 5, 7), (7, 11)),
        case("narrower inside, one vector", (6,), (6, 4, "relu")),
        case("GELU, float32", (3, 4, 6), (6, 13, "gelu"), torch.float32),
        case("the gradient", (2, 3, 5), (5, 8, "relu"), gradient=True),
    ]


swap = exchanging(FeedForward)


class _DefaultGelu(FeedForward):
    def __init__(self, d_model: int, d_ff: int, activation: str = "gelu") -> None:
        super().__init__(d_model, d_ff, activation)


def _without_biases(*layers: str) -> type:
    def build(self: FeedForward, *sizes: Any) -> None:
        FeedForward.__init__(self, *sizes)
        for name in layers:
            out, width = getattr(self, name).weight.shape
            setattr(self, name, nn.Linear(width, out, bias=False))

    return swap(__init__=build, lacks_biases=True)


def _turned(*layers: str) -> type:
    """Layers whose two widths are in the wrong order."""

    def build(self: FeedForward, *sizes: Any) -> None:
        FeedForward.__init__(self, *sizes)
        for name in layers:
            setattr(self, name, nn.Linear(*getattr(self, name).weight.shape))

    return swap(__init__=build)


MISTAKES = (
    mistake(
        "no activation",
        "No activation function has an effect between the two layers, so together they "
        "are just one linear layer.",
        "What does the formula do between the two products?",
        swap(compute=lambda self, x, activate: self.W_2(self.W_1(x))),
    ),
    mistake(
        "activation at the end",
        "The activation function was applied after the second layer, not between the "
        "two.",
        "Read the formula from the inside out: what happens to the first product?",
        swap(compute=lambda self, x, activate: activate(self.W_2(self.W_1(x)))),
    ),
    mistake(
        "activation twice",
        "The activation function was applied after both layers.",
        "How many times does the formula apply it?",
        swap(
            compute=lambda self, x, activate: activate(self.W_2(activate(self.W_1(x))))
        ),
    ),
    mistake(
        "always ReLU",
        "The argument `activation` is ignored: GELU was asked for, but ReLU was used.",
        "Follow `activation` from the arguments of `__init__` to the place where it is "
        "used.",
        swap(compute=lambda self, x, activate: self.W_2(torch.relu(self.W_1(x)))),
    ),
    mistake(
        "always GELU",
        "The argument `activation` is ignored: ReLU was asked for, but GELU was used.",
        "Follow `activation` from the arguments of `__init__` to the place where it is "
        "used.",
        swap(
            compute=lambda self, x, activate: self.W_2(ACTIVATIONS["gelu"](self.W_1(x)))
        ),
    ),
    mistake(
        "GELU by default",
        "When no activation is given, the class uses GELU; the default is ReLU.",
        "Compare the first line of your `__init__` with the stub's.",
        _DefaultGelu,
    ),
    mistake(
        "residual inside",
        "The input was added to the result, but that is the encoder layer's job.",
        "Does x appear on its own anywhere in the formula?",
        swap(compute=lambda self, x, activate: x + self.W_2(activate(self.W_1(x)))),
    ),
    mistake(
        "no biases",
        "At least one of the two layers was built without its bias, b₁ or b₂.",
        "Compare the formula with the arguments of `nn.Linear`.",
        _without_biases("W_1", "W_2"),
        _without_biases("W_1"),
        _without_biases("W_2"),
    ),
    mistake(
        "widths in the wrong order",
        "The first layer that x goes through expects vectors of width d_ff, but x has "
        "width d_model.",
        "`nn.Linear` takes two widths: which is the first of them?",
        _turned("W_1", "W_2"),
        _turned("W_1"),
    ),
    mistake(
        "a name called like a function",
        "The name of the activation function was called, but a name is only a string.",
        "What does `ACTIVATIONS` hold for each name?",
        swap(compute=lambda self, x, activate: self.W_2(self.activation(self.W_1(x)))),
    ),
    mistake(
        "the other GELU",
        "Where GELU was asked for, its tanh approximation was used.",
        "Compare your GELU with the one in `ACTIVATIONS`.",
        swap(
            forward=lambda self, x: self.compute(
                x, ACTIVATIONS[self.activation.replace("gelu", "gelu_tanh")]
            )
        ),
    ),
)

EXERCISES = (
    Exercise(
        "4.B",
        "The feed-forward network",
        "class",
        difficulty=1,
        points=2,
        core=True,
        answers=(
            Answer(
                "FeedForward",
                FeedForward,
                {"output": "..., d_model"},
                parts=("W_1", "W_2"),
            ),
        ),
        cases=_cases,
        proves="the formula with ReLU (the default) and GELU, biases, any leading "
        "axes, the gradient",
        misconceptions=MISTAKES,
    ),
    Exercise(
        "4.M",
        "How many numbers does it learn?",
        "value",
        difficulty=2,
        points=1,
        answers=(Answer("feed_forward_parameters", 721_500),),
        cases=lambda seed: value_cases(),
        proves="two matrices and two biases: four times as wide, twice the attention",
        misconceptions=(
            mistake(
                "biases forgotten",
                "720,000 counts only the two matrices.",
                "What does each layer add after its product?",
                720_000,
            ),
            mistake(
                "one bias forgotten",
                "Only one of the two biases was counted.",
                "What does each layer add after its product?",
                721_200,
                720_300,
            ),
            mistake(
                "two biases of one length",
                "Both biases were given the same length.",
                "Each bias is as long as what its layer puts out. How long is that?",
                722_400,
                720_600,
            ),
            mistake(
                "as narrow as before",
                "38,764 is the number of parameters for a d_ff of 64.",
                "Here d_ff is four times d_model.",
                38_764,
            ),
        ),
    ),
)
