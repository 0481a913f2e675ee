"""7.A: one step of a recurrent network."""

from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import normal
from helpers.exercises.recurrent.shared import BIAS_TWICE

NAMES = ("x", "h", "W_x", "W_h", "b")


def rnn_step(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Tensor:
    """The course's own answer to 7.A."""
    return torch.tanh(x @ W_x.T + h @ W_h.T + b)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, batch: int, size: int, hidden: int, **more: Any) -> Case:
        dtype = more.pop("dtype", torch.float64)
        args = (
            normal(draw, batch, size, scale=0.7, dtype=dtype),
            normal(draw, batch, hidden, scale=0.5, dtype=dtype),
            normal(draw, hidden, size, scale=0.3, dtype=dtype),
            normal(draw, hidden, hidden, scale=0.3, dtype=dtype),
            normal(draw, hidden, scale=0.3, dtype=dtype),
        )
        return Case(name, args, inputs=NAMES, **more)

    return [
        case("sizes 2, 3 and 5", 2, 3, 5),
        case("input and state of the same size", 3, 4, 4),
        case("float32", 4, 6, 2, dtype=torch.float32),
        case("the gradient", 2, 5, 3, gradient=True),
    ]


MISTAKES = (
    mistake(
        "no tanh",
        "The sum went through no nonlinearity, so the state can grow without limit, "
        "step after step.",
        "In the formula, which function is applied to the whole sum?",
        lambda x, h, W_x, W_h, b: x @ W_x.T + h @ W_h.T + b,
    ),
    mistake(
        "input and hidden weights swapped",
        "x was multiplied by W_h, and h by W_x.",
        "W_x is (N, D), W_h is (N, N). Which of x and h has D numbers?",
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_h.T + h @ W_x.T + b),
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_h + h @ W_x + b),
    ),
    mistake(
        "W_h not transposed",
        "h was multiplied with the columns of W_h instead of its rows. W_h is square, "
        "so there is no error.",
        "Treat W_h like W_x: one row per hidden unit.",
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + h @ W_h + b),
    ),
    mistake(
        "W_x not transposed",
        "x was multiplied by W_x as it is: the inner sizes do not match, or match "
        "only by accident.",
        "Put the shapes side by side: (B, D) and (N, D). What has to be transposed?",
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x + h @ W_h + b),
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x + h @ W_h.T + b),
    ),
    mistake(
        "texts in columns",
        "x or h was transposed, so in that product each column is one text: (N, B), "
        "not (B, N).",
        "Which factor of each product can be transposed instead, so that rows stay "
        "rows?",
        lambda x, h, W_x, W_h, b: torch.tanh(W_x @ x.T + W_h @ h.T + b),
        lambda x, h, W_x, W_h, b: torch.tanh(W_x @ x.T + W_h @ h.T + b[:, None]),
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + W_h @ h.T + b),
        lambda x, h, W_x, W_h, b: torch.tanh(W_x @ x.T + h @ W_h.T + b),
    ),
    mistake(
        "matrix times rows",
        "The formula was used as it is, for one column vector; here x and h hold one "
        "vector in each row.",
        "Put the shapes side by side: (N, D) and (B, D). Which order fits, and what "
        "has to be transposed?",
        lambda x, h, W_x, W_h, b: torch.tanh(W_x @ x + W_h @ h + b),
    ),
    mistake(
        "no bias",
        "The bias was left out.",
        "Count the terms in the formula's sum.",
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + h @ W_h.T),
    ),
    mistake(
        *BIAS_TWICE,
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + b + h @ W_h.T + b),
    ),
    mistake(
        "h unused",
        "The old state has no influence: this is a layer without memory.",
        "Where does your line use h?",
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + b),
    ),
    mistake(
        "x unused",
        "The input has no influence on the new state.",
        "Where does your line use x?",
        lambda x, h, W_x, W_h, b: torch.tanh(h @ W_h.T + b),
    ),
    mistake(
        "sigmoid instead of tanh",
        "The sum went through a sigmoid, so no entry of the state can be negative.",
        "In the formula, between which two numbers does each entry of h lie?",
        lambda x, h, W_x, W_h, b: torch.sigmoid(x @ W_x.T + h @ W_h.T + b),
    ),
    mistake(
        "ReLU instead of tanh",
        "The sum went through a ReLU, so nothing keeps the state below 1.",
        "In the formula, between which two numbers does each entry of h lie?",
        lambda x, h, W_x, W_h, b: torch.relu(x @ W_x.T + h @ W_h.T + b),
    ),
    mistake(
        "tanh of a part",
        "The tanh was not applied to the sum as a whole.",
        "Where does the bracket close in the formula?",
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + h @ W_h.T) + b,
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + b) + h @ W_h.T,
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T) + h @ W_h.T + b,
        lambda x, h, W_x, W_h, b: x @ W_x.T + torch.tanh(h @ W_h.T + b),
        lambda x, h, W_x, W_h, b: x @ W_x.T + torch.tanh(h @ W_h.T) + b,
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T) + torch.tanh(h @ W_h.T + b),
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T) + torch.tanh(h @ W_h.T) + b,
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + b) + torch.tanh(h @ W_h.T + b),
    ),
    mistake(
        "the old state added",
        "The old state was added to the result, as in a residual connection.",
        "In a plain RNN the new state replaces the old one.",
        lambda x, h, W_x, W_h, b: h + rnn_step(x, h, W_x, W_h, b),
    ),
)

EXERCISES = (
    Exercise(
        "7.A",
        "One step of an RNN",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(Answer("rnn_step", rnn_step, {"new state": "batch, hidden"}),),
        cases=_cases,
        proves="the formula, three sizes, float32 and float64, the gradient",
        misconceptions=MISTAKES,
    ),
)
