"""7.K: one step of a GRU, with torch's reset gate."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import exchanging, normal
from helpers.exercises.recurrent.shared import BATCH_CUT, NO_SIGMOID

NAMES = ("x", "h", "W_x", "W_h", "b_x", "b_h")


def gru_step(
    x: Tensor,
    h: Tensor,
    W_x: Tensor,
    W_h: Tensor,
    b_x: Tensor,
    b_h: Tensor,
    *,
    cut: Callable = lambda total, size: total.chunk(3, -1),
    order: str = "rzn",
    gates: Callable = lambda r, z: (r.sigmoid(), z.sigmoid()),
    candidate: Callable = lambda read, past, r: (read + r * past).tanh(),
    mix: Callable = lambda z, n, h: (1 - z) * n + z * h,
) -> Tensor:
    """The course's own answer to 7.K, in steps that a mistake can exchange."""
    read = _named(order, cut(x @ W_x.T + b_x, h.shape[-1]))
    past = _named(order, cut(h @ W_h.T + b_h, h.shape[-1]))
    r, z = gates(read["r"] + past["r"], read["z"] + past["z"])
    return mix(z, candidate(read["n"], past["n"], r), h)


def _named(order: str, blocks: Sequence[Tensor]) -> dict[str, Tensor]:
    """Name three blocks; any other number fails as it does in a student's line."""
    first, second, third = blocks
    return dict(zip(order, (first, second, third), strict=True))


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, batch: int, size: int, hidden: int, **more: Any) -> Case:
        dtype = more.pop("dtype", torch.float64)
        args = (
            normal(draw, batch, size, dtype=dtype),
            normal(draw, batch, hidden, scale=0.6, dtype=dtype),
            normal(draw, 3 * hidden, size, scale=0.4, dtype=dtype),
            normal(draw, 3 * hidden, hidden, scale=0.5, dtype=dtype),
            normal(draw, 3 * hidden, scale=0.4, dtype=dtype),
            normal(draw, 3 * hidden, scale=0.4, dtype=dtype),
        )
        return Case(name, args, inputs=NAMES, **more)

    return [
        case("sizes 2, 3 and 5", 2, 3, 5),
        case("input and state of the same size", 3, 4, 4),
        case("float32", 4, 6, 2, dtype=torch.float32),
        case("the gradient", 2, 5, 3, gradient=True),
    ]


def _reset_first(inside: bool) -> Callable:
    """The convention of Cho et al. 2014: the reset gate before the matrix."""

    def step(x, h, W_x, W_h, b_x, b_h) -> Tensor:
        read_r, read_z, read_n = (x @ W_x.T + b_x).chunk(3, -1)
        W_r, W_z, W_n = W_h.chunk(3)
        b_r, b_z, b_n = b_h.chunk(3)
        r = (read_r + h @ W_r.T + b_r).sigmoid()
        z = (read_z + h @ W_z.T + b_z).sigmoid()
        n = (read_n + (r * h) @ W_n.T + (r if inside else 1) * b_n).tanh()
        return (1 - z) * n + z * h

    return step


def _bias_outside(x, h, W_x, W_h, b_x, b_h) -> Tensor:
    size = h.shape[-1]
    r, z, _ = ((x @ W_x.T + b_x) + (h @ W_h.T + b_h)).sigmoid().chunk(3, -1)
    read = x @ W_x[2 * size :].T + b_x[2 * size :] + b_h[2 * size :]
    n = (read + r * (h @ W_h[2 * size :].T)).tanh()
    return (1 - z) * n + z * h


def _no_matrix(x, h, W_x, W_h, b_x, b_h) -> Tensor:
    read_r, read_z, read_n = (x @ W_x.T + b_x).chunk(3, -1)
    past_r, past_z, _ = (h @ W_h.T + b_h).chunk(3, -1)
    r, z = (read_r + past_r).sigmoid(), (read_z + past_z).sigmoid()
    return (1 - z) * (read_n + r * h).tanh() + z * h


swap = exchanging(gru_step)
MISTAKES = (
    mistake(
        "update gate reversed",
        "Where z is 1 the candidate was taken, and where z is 0 the old state. Papers "
        "differ here; this exercise follows torch.",
        "In the exercise's formula, what does z = 1 do?",
        swap(mix=lambda z, n, h: z * n + (1 - z) * h),
    ),
    mistake(
        "reset before the matrix",
        "The reset gate was applied to the old state before W_h. That is the GRU of "
        "the first paper, and a good one, but it needs other weights.",
        "In the exercise's formula, does r come before the product with W_h, or after "
        "it?",
        _reset_first(False),
        _reset_first(True),
    ),
    mistake(
        "reset applied to the input",
        "The reset gate was applied to what comes from the input, not to what comes "
        "from the past.",
        "What should the gate make the network forget: what is read now, or what came "
        "before?",
        swap(candidate=lambda read, past, r: (r * read + past).tanh()),
    ),
    mistake(
        "reset applied to both",
        "The reset gate was applied to the whole sum.",
        "What should the gate make the network forget: what is read now, or what came "
        "before?",
        swap(candidate=lambda read, past, r: (r * (read + past)).tanh()),
    ),
    mistake(
        "no reset",
        "The reset gate has no effect on the candidate.",
        "Where does your code use r?",
        swap(candidate=lambda read, past, r: (read + past).tanh()),
    ),
    mistake(
        "both gates equal",
        "One gate does the work of both.",
        "r and z each have their own rows in both matrices.",
        swap(gates=lambda r, z: (r.sigmoid(), r.sigmoid())),
        swap(gates=lambda r, z: (z.sigmoid(), z.sigmoid())),
    ),
    mistake(
        "blocks in the wrong order",
        "The three blocks of N rows were not taken in the order r, z, n.",
        "Compare the names on the left of your split with the order in the exercise.",
        swap(order="zrn"),
        swap(order="nrz"),
        swap(order="rnz"),
        swap(order="nzr"),
        swap(order="znr"),
    ),
    mistake(
        *BATCH_CUT,
        swap(cut=lambda total, size: total.chunk(3)),
        swap(cut=lambda total, size: total.split(size)),
    ),
    mistake(
        "bias outside the reset gate",
        "b_h was added outside the brackets, where the reset gate does not act on it.",
        "In the exercise's formula, what exactly is multiplied by r?",
        _bias_outside,
    ),
    mistake(
        "a bias left out",
        "At least one of the two biases is not used.",
        "Where does your code use b_x, and where b_h?",
        lambda x, h, W_x, W_h, b_x, b_h: gru_step(x, h, W_x, W_h, b_x, 0.0),
        lambda x, h, W_x, W_h, b_x, b_h: gru_step(x, h, W_x, W_h, 0.0, b_h),
        lambda x, h, W_x, W_h, b_x, b_h: gru_step(x, h, W_x, W_h, 0.0, 0.0),
    ),
    mistake(
        "biases exchanged",
        "b_h was added to what comes from the input, and b_x to what comes from the "
        "past.",
        "Which bias does the docstring put beside which matrix?",
        lambda x, h, W_x, W_h, b_x, b_h: gru_step(x, h, W_x, W_h, b_h, b_x),
    ),
    mistake(
        "reset of the state itself",
        "The candidate was made from the old state itself: it did not go through its "
        "block of W_h.",
        "In the exercise's formula, what exactly is multiplied by r?",
        _no_matrix,
    ),
    mistake(
        "sigmoid on the candidate",
        "The candidate went through a sigmoid, so it can never be negative.",
        "A gate says how much, the candidate says what. Which one may be negative?",
        swap(candidate=lambda read, past, r: (read + r * past).sigmoid()),
    ),
    mistake(
        "no tanh on the candidate",
        "The candidate did not go through a tanh.",
        "In the formula, which function is applied to the candidate?",
        swap(candidate=lambda read, past, r: read + r * past),
    ),
    mistake(
        *NO_SIGMOID,
        *(
            swap(gates=lambda r, z, one=one, two=two: (one(r), two(z)))
            for one, two in product((torch.sigmoid, torch.tanh, torch.clone), repeat=2)
            if (one, two) != (torch.sigmoid, torch.sigmoid)
        ),
    ),
    mistake(
        "candidate not gated",
        "The candidate was added in full to what z keeps.",
        "In the formula, what is n multiplied by?",
        swap(mix=lambda z, n, h: n + z * h),
    ),
    mistake(
        "z for both",
        "Both the candidate and the old state were weighed with z, or both with 1 - z.",
        "The new state is a mixture: what do its two weights add up to?",
        swap(mix=lambda z, n, h: z * n + z * h),
        swap(mix=lambda z, n, h: (1 - z) * n + (1 - z) * h),
    ),
    mistake(
        "nothing is kept",
        "The old state is not mixed in, so nothing of it is kept.",
        "The new state is a mixture of two things. Which two?",
        swap(mix=lambda z, n, h: (1 - z) * n),
        swap(mix=lambda z, n, h: n),
    ),
)

EXERCISES = (
    Exercise(
        "7.K",
        "One step of a GRU",
        "function",
        difficulty=3,
        points=3,
        answers=(Answer("gru_step", gru_step, {"new state": "batch, hidden"}),),
        cases=_cases,
        proves="two gates and the candidate, torch's order and reset, the gradient",
        misconceptions=MISTAKES,
    ),
)
