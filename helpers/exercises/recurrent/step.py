"""7.4: one step of a recurrent network."""

from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Misconception, mistake
from helpers.exercises.kit import normal
from helpers.exercises.recurrent.shared import BIAS_TWICE, DOUBLE

NAMES = ("x", "h", "W_x", "W_h", "b")


def rnn_step(x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor) -> Tensor:
    """The course's own answer to 7.4."""
    return torch.tanh(x @ W_x.T + h @ W_h.T + b)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, batch: int, size: int, hidden: int, **more: Any) -> Case:
        dtype = more.pop("dtype", DOUBLE)
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
        case("input and state of one size", 3, 4, 4),
        case("float32", 4, 6, 2, dtype=torch.float32),
        case("the gradient", 2, 5, 3, gradient=True),
    ]


def _wrong(name: str, done: str, where: str, *spellings: Any) -> Misconception:
    return mistake(name, done, where, *spellings)


MISTAKES = (
    _wrong(
        "no tanh",
        "Nothing bends the sum: step after step, the state can grow without end.",
        "Which function stands around the whole sum in the formula?",
        lambda x, h, W_x, W_h, b: x @ W_x.T + h @ W_h.T + b,
    ),
    _wrong(
        "input and hidden weights exchanged",
        "The input met W_h and the state met W_x.",
        "W_x is (N, D), W_h is (N, N). Which of x and h has D numbers?",
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_h.T + h @ W_x.T + b),
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_h + h @ W_x + b),
    ),
    _wrong(
        "W_h not transposed",
        "The state met the columns of W_h where it should meet its rows. As W_h is "
        "square, no error says so.",
        "Treat W_h like W_x: one row per hidden unit.",
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + h @ W_h + b),
    ),
    _wrong(
        "W_x not transposed",
        "The input met W_x as it stands, and the inner sizes do not fit, or fit by "
        "accident.",
        "Put the shapes side by side: (B, D) and (N, D). What has to be turned?",
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x + h @ W_h + b),
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x + h @ W_h.T + b),
    ),
    _wrong(
        "columns for rows",
        "x and h were turned, so that each column of the sum is one text: (N, B), not "
        "(B, N).",
        "Which factor of each product can be turned instead, so that rows stay rows?",
        lambda x, h, W_x, W_h, b: torch.tanh(W_x @ x.T + W_h @ h.T + b),
        lambda x, h, W_x, W_h, b: torch.tanh(W_x @ x.T + W_h @ h.T + b[:, None]),
    ),
    _wrong(
        "matrix times rows",
        "The formula was taken as it stands, for one column vector; here each row of "
        "x and h is one.",
        "Put the shapes side by side: (N, D) and (B, D). Which order fits, and what "
        "has to be turned?",
        lambda x, h, W_x, W_h, b: torch.tanh(W_x @ x + W_h @ h + b),
    ),
    _wrong(
        "no bias",
        "The bias is left out.",
        "Count the terms of the sum in the formula.",
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + h @ W_h.T),
    ),
    _wrong(
        *BIAS_TWICE,
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + b + h @ W_h.T + b),
    ),
    _wrong(
        "the past forgotten",
        "The old state has no influence: this is a layer without memory.",
        "Where does your line use h?",
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + b),
    ),
    _wrong(
        "the input ignored",
        "The input has no influence on the new state.",
        "Where does your line use x?",
        lambda x, h, W_x, W_h, b: torch.tanh(h @ W_h.T + b),
    ),
    _wrong(
        "sigmoid for tanh",
        "The sum was bent by a sigmoid: no number of the state can be negative.",
        "Between which two numbers does each entry of h lie, by the formula?",
        lambda x, h, W_x, W_h, b: torch.sigmoid(x @ W_x.T + h @ W_h.T + b),
    ),
    _wrong(
        "ReLU for tanh",
        "The sum was bent by a ReLU: nothing keeps the state below 1.",
        "Between which two numbers does each entry of h lie, by the formula?",
        lambda x, h, W_x, W_h, b: torch.relu(x @ W_x.T + h @ W_h.T + b),
    ),
    _wrong(
        "tanh around a part",
        "A part of the sum stands outside of the tanh.",
        "Where does the bracket close in the formula?",
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + h @ W_h.T) + b,
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + b) + h @ W_h.T,
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T) + h @ W_h.T + b,
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T) + torch.tanh(h @ W_h.T) + b,
        lambda x, h, W_x, W_h, b: torch.tanh(x @ W_x.T + b) + torch.tanh(h @ W_h.T + b),
    ),
    _wrong(
        "the old state added",
        "The old state was added to the result, as in a residual connection.",
        "In a plain RNN the new state takes the old one's place.",
        lambda x, h, W_x, W_h, b: h + rnn_step(x, h, W_x, W_h, b),
    ),
)

EXERCISES = (
    Exercise(
        "7.4",
        "One step of an RNN",
        "function",
        difficulty=2,
        minutes=6,
        points=2,
        core=True,
        answers=(Answer("rnn_step", rnn_step, {"new state": "batch, hidden"}),),
        cases=_cases,
        proves="the formula, three sizes, float32 and float64, the gradient",
        misconceptions=MISTAKES,
    ),
)
