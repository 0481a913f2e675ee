"""1.5: a test that finds a wrong table of positions."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from helpers.checks.embeddings.encoding import table_step
from helpers.checks.exercise import Answer, Case, Exercise, Misconception
from helpers.models.positions import positional_encoding


def looks_right(make: Callable) -> bool:
    """The course's own answer to 1.5."""
    table = make(4, 6)
    expected = positional_encoding(4, 6)
    fits = table.shape == expected.shape
    return fits and torch.allclose(table.float(), expected, atol=1e-4)


def _by_loops(length: int, d_model: int) -> Tensor:
    table = torch.empty(length, d_model)
    for position in range(length):
        for column in range(d_model):
            angle = position / 10000 ** ((column - column % 2) / d_model)
            table[position, column] = (math.cos if column % 2 else math.sin)(angle)
    return table


def _by_logarithms(length: int, d_model: int) -> Tensor:
    table = torch.zeros(length, d_model)
    position = torch.arange(length).unsqueeze(1).float()
    even = torch.arange(0, d_model, 2).float()
    rate = torch.exp(even * (-math.log(10000.0) / d_model))
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return table


def _noise(length: int, d_model: int) -> Tensor:
    draw = torch.Generator().manual_seed(8)
    rows = torch.randn(length, d_model, generator=draw)
    return rows / rows.norm(dim=1, keepdim=True) * (d_model / 2) ** 0.5


PATIENTS = {
    "a right table": positional_encoding,
    "a right table, number by number": _by_loops,
    "a right table, by logarithms": _by_logarithms,
    "one with the exponent doubled": partial(
        table_step, exponent=lambda pair, d_model: 4 * pair / d_model
    ),
    "one with the exponent halved": partial(
        table_step, exponent=lambda pair, d_model: pair / d_model
    ),
    "one with sine and cosine swapped": partial(
        table_step,
        lay=lambda sines, cosines: torch.stack([cosines, sines], -1).flatten(-2),
    ),
    "one in halves": partial(
        table_step, lay=lambda sines, cosines: torch.cat([sines, cosines], -1)
    ),
    "one that starts at position 1": partial(table_step, first=1),
    "one whose rows are all the same": lambda length, d_model: positional_encoding(
        1, d_model
    ).expand(length, -1),
    "one that is twice too large": lambda length, d_model: (
        2 * positional_encoding(length, d_model)
    ),
    "one of random rows of the right length": _noise,
}


def _cases(seed: int) -> list[Case]:
    return [Case(name, (one,), inputs=("make",)) for name, one in PATIENTS.items()]


def _norm(table: Tensor) -> bool:
    return bool(((table**2).sum(1) - 3).abs().max() < 1e-3)


def _row_0(table: Tensor) -> bool:
    expected = torch.tensor([0.0, 1.0]).repeat(3)
    return torch.allclose(table[0], expected, atol=1e-3)


def _distinct(table: Tensor) -> bool:
    return len(table.unique(dim=0)) == len(table)


def _distance(table: Tensor) -> bool:
    dots = table @ table.T
    lines = (dots.diagonal(offset) for offset in range(len(dots)))
    return all(bool((line - line[0]).abs().max() < 1e-3) for line in lines)


def _first_pair(table: Tensor) -> bool:
    expected = torch.tensor([math.sin(1), math.cos(1)])
    return torch.allclose(table[1, :2], expected, atol=1e-3)


def _ask(make: Callable, *, facts: tuple, size: tuple[int, int] = (7, 6)) -> bool:
    table = make(*size).float()
    return all(fact(table) for fact in facts)


def _exact(make: Callable) -> bool:
    return torch.equal(make(7, 6), positional_encoding(7, 6))


def _two_wide(make: Callable) -> bool:
    return torch.allclose(make(7, 2).float(), positional_encoding(7, 2), atol=1e-4)


def _known(name: str, done: str, where: str, *spellings: Any) -> Misconception:
    return Misconception(name, done, where, spellings)


MISTAKES = (
    _known(
        "always right",
        "Your test says right to all of them; their shapes, for one, are all right.",
        "Which number differs between the two tables of the lesson? Look for it.",
        lambda make: True,
    ),
    _known(
        "only the length of the rows",
        "Sine squared plus cosine squared is 1 at any frequency.",
        "Look for something that depends on the frequency.",
        partial(_ask, facts=(_norm,)),
        partial(_ask, facts=(_norm,), size=(6, 6)),
    ),
    _known(
        "only row 0",
        "Position 0 gives 0, 1, 0, 1 at any frequency.",
        "Look at a later row.",
        partial(_ask, facts=(_row_0,)),
    ),
    _known(
        "only distinct rows",
        "The rows differ from each other in the wrong table as well.",
        "Look for something that depends on the frequency.",
        partial(_ask, facts=(_distinct,)),
    ),
    _known(
        "only distances",
        "That dot products depend on the distance alone holds at any frequency.",
        "Look at one number with a known value.",
        partial(_ask, facts=(_distance,)),
    ),
    _known(
        "only the first pair",
        "The first pair turns by one radian per position, whatever the exponent: there "
        "it is 0.",
        "Look further to the right.",
        partial(_ask, facts=(_first_pair,)),
    ),
    _known(
        "a width of 2",
        "With d_model = 2 there is only the first pair, and its exponent is 0.",
        "Ask for a wider table.",
        _two_wide,
    ),
    _known(
        "too strict",
        "The comparison leaves no room for rounding, so a right table fails, too.",
        "How far apart may two float32 sines of the same angle be?",
        _exact,
    ),
    _known(
        "verdict turned around",
        "The test says right to the wrong ones and wrong to the right ones.",
        "True means right.",
        lambda make: not looks_right(make),
    ),
)

EXERCISES = (
    Exercise(
        "1.5",
        "Bug hunt: a test that finds the wrong table",
        "probe",
        difficulty=3,
        minutes=12,
        points=2,
        answers=(Answer("looks_right", looks_right, {"verdict": ""}),),
        cases=_cases,
        proves="three right tables pass your test, eight wrong ones do not",
        misconceptions=MISTAKES,
    ),
)
