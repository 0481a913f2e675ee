"""7.9: one step of a GRU, with torch's reset gate."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Misconception, mistake
from helpers.exercises.kit import normal
from helpers.exercises.recurrent.shared import BATCH_CUT, DOUBLE, NO_SIGMOID

NAMES = ("x", "h", "W_x", "W_h", "b_x", "b_h")


def gru_step(
    x: Tensor, h: Tensor, W_x: Tensor, W_h: Tensor, b_x: Tensor, b_h: Tensor
) -> Tensor:
    """The course's own answer to 7.9."""
    read_r, read_z, read_n = (x @ W_x.T + b_x).chunk(3, -1)
    past_r, past_z, past_n = (h @ W_h.T + b_h).chunk(3, -1)
    r, z = (read_r + past_r).sigmoid(), (read_z + past_z).sigmoid()
    return (1 - z) * (read_n + r * past_n).tanh() + z * h


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, batch: int, size: int, hidden: int, **more: Any) -> Case:
        dtype = more.pop("dtype", DOUBLE)
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
        case("input and state of one size", 3, 4, 4),
        case("float32", 4, 6, 2, dtype=torch.float32),
        case("the gradient", 2, 5, 3, gradient=True),
    ]


def _step(
    order: str = "rzn",
    gates: Callable = lambda r, z: (r.sigmoid(), z.sigmoid()),
    candidate: Callable = lambda read, past, r: (read + r * past).tanh(),
    mix: Callable = lambda z, n, h: (1 - z) * n + z * h,
    cut: Callable = lambda total, size: total.chunk(3, -1),
) -> Callable:
    """A step with one part exchanged."""

    def step(x, h, W_x, W_h, b_x, b_h) -> Any:
        read, past = (
            dict(zip(order, _three(cut(total, h.shape[-1])), strict=True))
            for total in (x @ W_x.T + b_x, h @ W_h.T + b_h)
        )
        r, z = gates(read["r"] + past["r"], read["z"] + past["z"])
        return mix(z, candidate(read["n"], past["n"], r), h)

    return step


def _three(blocks: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Fails where there are others than three, as it does in a student's line."""
    first, second, third = blocks
    return first, second, third


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


def _one_bias(b_first: bool) -> Callable:
    def step(x, h, W_x, W_h, b_x, b_h) -> Tensor:
        zero = torch.zeros_like(b_x)
        biases = (b_x, zero) if b_first else (zero, b_h)
        return gru_step(x, h, W_x, W_h, *biases)

    return step


def _wrong(name: str, done: str, where: str, *spellings: Any) -> Misconception:
    return mistake(name, done, where, *spellings)


MISTAKES = (
    _wrong(
        "update gate reversed",
        "Where z is 1 the candidate was taken, where z is 0 the old state. Papers "
        "differ here; the weights were made for z = keep.",
        "By the formula of the task, what does z = 1 do?",
        _step(mix=lambda z, n, h: z * n + (1 - z) * h),
    ),
    _wrong(
        "reset before the matrix",
        "The reset gate met the old state before W_h. That is the first paper's GRU, "
        "and a good one, but its weights are others.",
        "By the formula of the task, does r stand before or behind the product with "
        "W_h?",
        _reset_first(False),
        _reset_first(True),
    ),
    _wrong(
        "reset applied to the input",
        "The reset gate was laid on the part of the input, not on that of the past.",
        "What should be forgotten: what is read now, or what was before?",
        _step(candidate=lambda read, past, r: (r * read + past).tanh()),
    ),
    _wrong(
        "reset applied to both",
        "The reset gate was laid on the whole sum.",
        "What should be forgotten: what is read now, or what was before?",
        _step(candidate=lambda read, past, r: (r * (read + past)).tanh()),
    ),
    _wrong(
        "no reset",
        "The reset gate has no say in the candidate.",
        "Where does your code use r?",
        _step(candidate=lambda read, past, r: (read + past).tanh()),
    ),
    _wrong(
        "both gates equal",
        "One gate does the work of both.",
        "r and z have rows of their own in both matrices.",
        _step(gates=lambda r, z: (r.sigmoid(), r.sigmoid())),
        _step(gates=lambda r, z: (z.sigmoid(), z.sigmoid())),
    ),
    _wrong(
        "the blocks in another order",
        "The three blocks of N rows were taken in another order than r, z, n.",
        "Compare the names on the left of your split with the order in the task.",
        _step(order="zrn"),
        _step(order="nrz"),
        _step(order="rnz"),
        _step(order="nzr"),
        _step(order="znr"),
    ),
    _wrong(
        *BATCH_CUT,
        _step(cut=lambda total, size: total.chunk(3)),
        _step(cut=lambda total, size: total.split(size)),
    ),
    _wrong(
        "bias outside the reset gate",
        "The reset gate does not touch b_h: it stands outside of the brackets.",
        "What exactly does r multiply in the formula of the task?",
        _bias_outside,
    ),
    _wrong(
        "a bias left out",
        "One of the two biases is not used, or neither.",
        "Where does your code use b_x, and where b_h?",
        _one_bias(True),
        _one_bias(False),
        lambda x, h, W_x, W_h, b_x, b_h: gru_step(
            x, h, W_x, W_h, torch.zeros_like(b_x), torch.zeros_like(b_h)
        ),
    ),
    _wrong(
        "sigmoid on the candidate",
        "The candidate went through a sigmoid: the state drifts above 0.",
        "A gate says how much, the candidate says what. Which one may be negative?",
        _step(candidate=lambda read, past, r: (read + r * past).sigmoid()),
    ),
    _wrong(
        "nothing bends the candidate",
        "The candidate did not go through a tanh.",
        "Which function stands around the candidate in the formula?",
        _step(candidate=lambda read, past, r: read + r * past),
    ),
    _wrong(
        *NO_SIGMOID,
        _step(gates=lambda r, z: (r.tanh(), z.tanh())),
        _step(gates=lambda r, z: (r, z)),
    ),
    _wrong(
        "candidate not gated",
        "The candidate was added in full to what z keeps.",
        "In the formula, with what is n multiplied?",
        _step(mix=lambda z, n, h: n + z * h),
    ),
    _wrong(
        "nothing is kept",
        "The old state is not mixed in: z has nothing to keep.",
        "The new state is a mixture of two. Of which?",
        _step(mix=lambda z, n, h: (1 - z) * n),
        _step(mix=lambda z, n, h: n),
    ),
)

EXERCISES = (
    Exercise(
        "7.9",
        "One step of a GRU",
        "function",
        difficulty=3,
        minutes=10,
        points=3,
        core=True,
        answers=(Answer("gru_step", gru_step, {"new state": "batch, hidden"}),),
        cases=_cases,
        proves="two gates and the candidate, torch's order and reset, the gradient",
        misconceptions=MISTAKES,
    ),
)
