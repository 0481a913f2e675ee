"""1.L: a test that finds a wrong table of positions."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.embeddings.encoding import swap as tables_with
from helpers.exercises.kit import exchanging, reordered
from helpers.models.positions import positional_encoding


def looks_right(make: Callable) -> bool:
    """The course's own answer to 1.L."""
    table = make(4, 6)
    expected = positional_encoding(4, 6)
    fits = table.shape == expected.shape
    return fits and torch.allclose(table.float(), expected, atol=1e-4)


def _nearly(table: Tensor, factor: float) -> Tensor:
    """The table, off by a few roundings of float32 after row 0.

    So a test with `torch.equal` is wrong on every processor, not just on one whose sine
    differs in the last bit.
    """
    table[1:] *= factor
    return table


def _by_loops(length: int, d_model: int) -> Tensor:
    table = torch.empty(length, d_model)
    for position in range(length):
        for column in range(d_model):
            angle = position / 10000 ** ((column - column % 2) / d_model)
            table[position, column] = (math.cos if column % 2 else math.sin)(angle)
    return _nearly(table, 1 + 2.0**-21)


def _by_logarithms(length: int, d_model: int) -> Tensor:
    table = torch.zeros(length, d_model)
    position = torch.arange(length).unsqueeze(1).float()
    even = torch.arange(0, d_model, 2).float()
    rate = torch.exp(even * (-math.log(10000.0) / d_model))
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return _nearly(table, 1 - 2.0**-21)


def _noise(length: int, d_model: int) -> Tensor:
    draw = torch.Generator().manual_seed(8)
    rows = torch.randn(length, d_model, generator=draw)
    return rows / rows.norm(dim=1, keepdim=True) * (d_model / 2) ** 0.5


def _wrong_cosines(length: int, d_model: int) -> Tensor:
    """Each cosine has a frequency of its own; every sine is right."""
    column = torch.arange(d_model)
    angles = torch.arange(length)[:, None] / 10000 ** (column / d_model)
    return torch.where(column % 2 == 0, angles.sin(), angles.cos())


def _batched(length: int, d_model: int) -> Tensor:
    return positional_encoding(length, d_model)[None]


PATIENTS = {
    "a right table": positional_encoding,
    "a right table, number by number": _by_loops,
    "a right table, by logarithms": _by_logarithms,
    "one with the exponent doubled": tables_with(
        exponent=lambda pair, d_model: 4 * pair / d_model
    ),
    "one with the exponent halved": tables_with(
        exponent=lambda pair, d_model: pair / d_model
    ),
    "one with sine and cosine swapped": tables_with(
        lay=lambda sines, cosines: torch.stack([cosines, sines], -1).flatten(-2),
    ),
    "one in halves": tables_with(
        lay=lambda sines, cosines: torch.cat([sines, cosines], -1)
    ),
    "one that starts at position 1": tables_with(first=1),
    "one whose rows are all the same": lambda length, d_model: positional_encoding(
        1, d_model
    ).expand(length, -1),
    "one that is twice too large": lambda length, d_model: (
        2 * positional_encoding(length, d_model)
    ),
    "one of random rows of the right length": _noise,
    "one whose cosines have another frequency": _wrong_cosines,
}


def _cases(seed: int) -> list[Case]:
    cases = [Case(name, (one,), inputs=("make",)) for name, one in PATIENTS.items()]
    name = "one with an axis more: (1, length, d_model)"
    batched = Case(name, (_batched,), inputs=("make",), look=_stumbling)
    return reordered([*cases, batched], seed)


def _stumbling(test: Callable, make: Callable) -> Look:
    """The verdict; a test that fails on the shape has found it, too."""
    try:
        return Look({"verdict": test(make)})
    except NotImplementedError:
        raise
    except (IndexError, RuntimeError, TypeError, ValueError):
        return Look({"verdict": False})


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
    """A test of some facts, in steps that a mistake can exchange."""
    table = make(*size).float()
    return all(fact(table) for fact in facts)


swap = exchanging(_ask)


def _even_columns(table: Tensor) -> bool:
    expected = positional_encoding(7, 6)
    return torch.allclose(table[..., 0::2], expected[:, 0::2], atol=1e-4)


def _one_sine(make: Callable) -> bool:
    return bool(abs(make(3, 4)[2, 2] - 0.02) < 1e-3)


def _any_shape(make: Callable) -> bool:
    return torch.allclose(make(7, 6).float(), positional_encoding(7, 6), atol=1e-4)


def _two_wide_of(make: Callable) -> bool:
    table = make(7, 2)
    return table.shape == (7, 2) and _two_wide(make)


def _first_column(make: Callable) -> bool:
    return bool(abs(make(3, 4)[2, 0] - math.sin(2)) < 1e-3)


def _first_sines(make: Callable) -> bool:
    expected = torch.arange(7).sin()
    return torch.allclose(make(7, 4)[..., 0].float(), expected, atol=1e-4)


def _exact(make: Callable) -> bool:
    return torch.equal(make(7, 6), positional_encoding(7, 6))


def _all_equal(make: Callable) -> bool:
    return bool((make(7, 6) == positional_encoding(7, 6)).all())


def _not_this_one(make: Callable) -> bool:
    wrong = PATIENTS["one with the exponent doubled"](7, 6)
    return not torch.allclose(make(7, 6), wrong)


def _two_wide(make: Callable) -> bool:
    return torch.allclose(make(7, 2).float(), positional_encoding(7, 2), atol=1e-4)


MISTAKES = (
    mistake(
        "always right",
        "Your test calls every table right, those with wrong numbers as well.",
        "Which number differs between the two tables of the lesson? Test for that one.",
        lambda make: True,
    ),
    mistake(
        "only the length of the rows",
        "Every table whose rows have the right length passes your test, but sine "
        "squared plus cosine squared is 1 at any frequency.",
        "Look for something that depends on the frequency.",
        swap(facts=(_norm,)),
        swap(facts=(_norm,), size=(6, 6)),
    ),
    mistake(
        "only row 0",
        "Every table whose row 0 is right passes your test, but position 0 gives "
        "0, 1, 0, 1 at any frequency.",
        "Look at a later row.",
        swap(facts=(_row_0,)),
    ),
    mistake(
        "only distinct rows",
        "Every table whose rows all differ passes your test, but in the wrong table "
        "they differ as well.",
        "Look for something that depends on the frequency.",
        swap(facts=(_distinct,)),
    ),
    mistake(
        "only distances",
        "Every table whose dot products depend on the distance alone passes your test, "
        "but they do so at any frequency.",
        "Look at one number with a known value.",
        swap(facts=(_distance,)),
    ),
    mistake(
        "only the first pair",
        "Every table whose first pair is right passes your test, but that pair turns "
        "by one radian per position in any case: its exponent is 0.",
        "Look further to the right.",
        swap(facts=(_first_pair,)),
    ),
    mistake(
        "a width of 2",
        "Your test finds no more than a table of width 2 can show: there halves and "
        "pairs are the same, and the only exponent is 0.",
        "Ask for a wider table.",
        _two_wide,
        _two_wide_of,
    ),
    mistake(
        "only the first column",
        "Every table whose first column is right passes your test, but there the "
        "exponent is 0, and there are no cosines.",
        "Look further to the right.",
        _first_column,
        _first_sines,
    ),
    mistake(
        "cosines not tested",
        "A table with right sines and wrong cosines passes your test.",
        "Which columns does your test never read?",
        _one_sine,
        swap(facts=(_even_columns,)),
    ),
    mistake(
        "any shape",
        "Your test finds every wrong number, but it also accepts a table of shape "
        "(1, length, d_model).",
        "A comparison broadcasts. Where do you ask how many axes the table has?",
        _any_shape,
    ),
    mistake(
        "too strict",
        "The comparison leaves too little room for rounding, so even a right table "
        "fails.",
        "How far apart may two float32 sines of the same angle be?",
        _exact,
        _all_equal,
    ),
    mistake(
        "wrong in any case",
        "Your test calls every table wrong, even the right ones.",
        "Does it test the table that `make` returns? If so, which of your conditions "
        "fails on a right one? Print both sides of it. Where they look alike, give "
        "`allclose` more room, `atol=1e-3`: four printed digits are too few for it.",
        lambda make: False,
    ),
    mistake(
        "only the shape",
        "Every table of the right shape passes your test, those with wrong numbers as "
        "well.",
        "Which numbers of the table do you know without a computer?",
        lambda make: tuple(make(7, 6).shape) == (7, 6),
    ),
    mistake(
        "only this one mistake",
        "Your test recognises the mistake of the lesson's table and calls everything "
        "else right.",
        "Compare with what is right, not with what is wrong.",
        _not_this_one,
    ),
    mistake(
        "verdict reversed",
        "Your test calls the wrong tables right and the right ones wrong.",
        "True means right.",
        lambda make: not looks_right(make),
    ),
)

EXERCISES = (
    Exercise(
        "1.L",
        "Bug hunt: a test that finds the wrong table",
        "probe",
        difficulty=3,
        points=2,
        answers=(Answer("looks_right", looks_right, {"verdict": ""}),),
        cases=_cases,
        proves="three right tables pass your test, ten wrong ones do not",
        misconceptions=MISTAKES,
    ),
)
