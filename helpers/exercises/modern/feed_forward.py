"""12.D: SwiGLU; 12.E: its width at equal size."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
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

PARTS = ("W_gate", "W_up", "W_down")


class SwiGLU(nn.Module):
    """The course's own answer to 12.D; misconceptions replace one of its steps."""

    biases = ()  # said here: the reference's parts may be a student's

    def __init__(self, d_model: int, d_ff: int) -> None:
        """Create the three matrices."""
        super().__init__()
        self.W_gate = nn.Linear(d_model, d_ff, bias="W_gate" in self.biases)
        self.W_up = nn.Linear(d_model, d_ff, bias="W_up" in self.biases)
        self.W_down = nn.Linear(d_ff, d_model, bias="W_down" in self.biases)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        return self.compute(self.W_gate(x), self.W_up(x))

    def compute(self, gate: Tensor, up: Tensor) -> Tensor:
        """From the two products to the result."""
        return self.W_down(self.join(self.open(gate), up))

    def open(self, gate: Tensor) -> Tensor:
        """How far the gate is open."""
        return F.silu(gate)

    def join(self, gate: Tensor, up: Tensor) -> Tensor:
        """What passes the gate."""
        return gate * up


def _look(call: Any, x: Tensor) -> Look:
    """Judge the output, and that no matrix has a bias."""
    biased = getattr(call, "biases", None)
    if biased is None:
        parts = {name: getattr(call, name, None) for name in PARTS}
        biased = [
            n for n, part in parts.items() if getattr(part, "bias", 0) is not None
        ]
    return Look({"output": call(x), "biases": f"in {len(biased)} of three parts"})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str, size: tuple, d_ff: int, dtype: Any = torch.float64, **more: Any
    ) -> Case:
        x = 2 * normal(draw, *size, dtype=dtype)
        return Case(
            name, (x,), inputs=("x",), init=(size[-1], d_ff), look=_look, **more
        )

    return [
        case("a batch", (2, 5, 7), 11),
        case("narrower inside, one vector", (6,), 4),
        case("large numbers", (3, 8), 9),
        case("float32", (3, 4, 6), 13, torch.float32),
        case("the gradient", (2, 3, 5), 8, gradient=True),
    ]


swap = exchanging(SwiGLU)


def _opened(function: Callable) -> type:
    return swap(open=lambda self, gate: function(gate))


def _turned(*layers: str) -> Callable:
    """Layers whose two widths are in the wrong order."""

    def build(self: SwiGLU, *sizes: Any) -> None:
        SwiGLU.__init__(self, *sizes)
        for name in layers:
            out, width = getattr(self, name).weight.shape
            setattr(self, name, nn.Linear(out, width, bias=False))

    return build


MISTAKES = (
    mistake(
        "SiLU on the wrong one",
        "SiLU was applied to what W_up gives, and the gate is linear.",
        "Which of the two products decides how much of the other passes?",
        swap(
            compute=lambda self, gate, up: self.W_down(self.join(self.open(up), gate))
        ),
    ),
    mistake(
        "SiLU on both",
        "SiLU was applied to both products.",
        "How many times does SiLU stand in the formula?",
        swap(join=lambda self, gate, up: gate * F.silu(up)),
    ),
    mistake(
        "SiLU on the product",
        "The two were multiplied first, and SiLU came after that.",
        "What is inside the brackets of SiLU in the formula?",
        swap(
            open=lambda self, gate: gate,
            join=lambda self, gate, up: F.silu(gate * up),
        ),
    ),
    mistake(
        "SiLU at the end",
        "SiLU was applied to the result, and the gate is linear.",
        "What is inside the brackets of SiLU in the formula?",
        swap(compute=lambda self, gate, up: F.silu(self.W_down(gate * up))),
    ),
    mistake(
        "no activation",
        "The two products were multiplied as they are.",
        "Which function should the gate go through?",
        _opened(lambda gate: gate),
    ),
    mistake(
        "sigmoid",
        "The gate is a sigmoid, as in an LSTM.",
        "SiLU(z) is z times the sigmoid of z. Is the z there?",
        _opened(torch.sigmoid),
    ),
    mistake(
        "another activation",
        "The gate goes through GELU or ReLU, not through SiLU.",
        "What do the letters S and w of SwiGLU stand for?",
        _opened(F.gelu),
        _opened(lambda gate: F.gelu(gate, approximate="tanh")),
        _opened(F.relu),
    ),
    mistake(
        "added",
        "The two products were added.",
        "What does a gate do with what arrives at it?",
        swap(join=lambda self, gate, up: gate + up),
    ),
    mistake(
        "no gate",
        "One of the two products has no influence: this is a feed-forward with two "
        "layers.",
        "Which part of `__init__` does `forward` never use?",
        swap(join=lambda self, gate, up: gate),
        swap(compute=lambda self, gate, up: self.W_down(F.silu(up))),
    ),
    mistake(
        "residual inside",
        "The input was added to the result, but that is the block's job.",
        "Does x appear on its own anywhere in the formula?",
        swap(forward=lambda self, x: x + SwiGLU.forward(self, x)),
    ),
    mistake(
        "biases kept",
        "At least one of the three layers has a bias.",
        "`nn.Linear` adds a bias unless you say that it should not.",
        swap(biases=PARTS),
        swap(biases=("W_gate", "W_up")),
        swap(biases=("W_down",)),
    ),
    mistake(
        "widths in the wrong order",
        "A layer that reads x expects vectors of width d_ff.",
        "`nn.Linear` takes two widths: which is the first of them?",
        swap(__init__=_turned("W_gate")),
        swap(__init__=_turned(*PARTS)),
    ),
)

EXERCISES = (
    Exercise(
        "12.D",
        "SwiGLU",
        "class",
        difficulty=1,
        points=2,
        core=True,
        answers=(Answer("SwiGLU", SwiGLU, {"output": "..., d_model"}, parts=PARTS),),
        cases=_cases,
        proves="SiLU on the gate alone, the product, no biases, any leading axes, the "
        "gradient",
        misconceptions=MISTAKES,
    ),
    Exercise(
        "12.E",
        "How wide may it be?",
        "value",
        difficulty=1,
        points=1,
        answers=(Answer("gated_width", 2048),),
        cases=lambda seed: value_cases(),
        proves="three matrices with as many entries as two",
        misconceptions=(
            mistake(
                "width not adjusted",
                "3,072 is the width of the two layers: with three matrices of this "
                "width there would be half as many entries again.",
                "How many matrices share the entries now?",
                3072,
            ),
            mistake(
                "wider instead of narrower",
                "With 4,608 the three matrices have more than twice the entries of "
                "the two.",
                "More matrices, and the same number of entries in all: is each of "
                "them larger or smaller?",
                4608,
            ),
            mistake(
                "halved",
                "1,536 would be right if there were four matrices.",
                "Count the matrices of SwiGLU.",
                1536,
            ),
            mistake(
                "a third of it",
                "1,024 would be right if the feed-forward of two layers had had only "
                "one.",
                "How many matrices does each side have?",
                1024,
            ),
        ),
    ),
)
