"""1.F: the table of sines and cosines."""

import math
import random
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Property, mistake
from helpers.exercises.embeddings.shared import in_float64
from helpers.exercises.kit import exchanging
from helpers.models import positions


def positional_encoding(length: int, d_model: int) -> Tensor:
    """The course's own answer to 1.F."""
    return positions.positional_encoding(length, d_model)


def _cases(seed: int) -> list[Case]:
    sizes = {(3, 4): None, (5, 6): None, (11, 8): None, (1, 10): None, (40, 16): 1e-4}
    if seed:  # more than in the notebook
        draw = random.Random(seed)
        sizes[draw.randint(4, 12), 2 * draw.randint(3, 10)] = None
    return [
        Case(
            f"length {length}, d_model {d_model}",
            (length, d_model),
            inputs=("length", "d_model"),
            tolerance=1e-5 if within is None else within,
        )
        for (length, d_model), within in sizes.items()
    ]


def _alternating(sines: Tensor, cosines: Tensor) -> Tensor:
    return torch.stack([sines, cosines], dim=-1).flatten(-2)


def table_step(
    length: int,
    d_model: int,
    *,
    exponent: Callable = lambda pair, d_model: 2 * pair / d_model,
    angle: Callable = lambda position, power: position / power,
    base: float = 10000.0,
    first: int = 0,
    lay: Callable = _alternating,
    dtype: Any = torch.float64,
) -> Tensor:
    """The table, in steps that a mistake can exchange."""
    position = torch.arange(first, first + length, dtype=dtype)[:, None]
    pair = torch.arange(d_model // 2, dtype=dtype)
    angles = angle(position, base ** exponent(pair, d_model))
    return lay(angles.sin(), angles.cos()).float()


swap = exchanging(table_step)


def _own_frequencies(length: int, d_model: int, factor: int = 1) -> Tensor:
    column = torch.arange(d_model, dtype=torch.float64)
    position = torch.arange(length, dtype=torch.float64)[:, None]
    angles = position / 10000 ** (factor * column / d_model)
    return torch.where(column % 2 == 0, angles.sin(), angles.cos()).float()


def _times_float32(length: int, d_model: int) -> Tensor:
    even = torch.arange(0, d_model, 2)
    angles = torch.arange(length)[:, None] * 10000 ** (even / d_model)
    return _alternating(angles.sin(), angles.cos())


def _unbracketed(length: int, d_model: int) -> Tensor:
    """`10000 ** even / d_model`, in whole numbers, which run over."""
    angles = torch.arange(length)[:, None] / (
        10000 ** torch.arange(0, d_model, 2) / d_model
    )
    return _alternating(angles.sin(), angles.cos())


def _sign_twice(length: int, d_model: int) -> Tensor:
    angles = torch.arange(length)[:, None] / 10000 ** (
        -torch.arange(0, d_model, 2) / d_model
    )
    return _alternating(angles.sin(), angles.cos())


def _sign_forgotten(length: int, d_model: int) -> Tensor:
    """By logarithms, as in most code, without the minus in the exponent."""
    even = torch.arange(0, d_model, 2)
    angles = torch.arange(length)[:, None] * (even * (math.log(10000) / d_model)).exp()
    return _alternating(angles.sin(), angles.cos())


def _overwritten(length: int, d_model: int) -> Tensor:
    right, table = table_step(length, d_model), torch.zeros(length, d_model)
    for pair in range(d_model // 2):
        table[:, pair : pair + 2] = right[:, 2 * pair : 2 * pair + 2]
    return table


MISTAKES = (
    mistake(
        "exponent doubled",
        "The exponent runs up to nearly 2: the 2 of the formula is in there twice.",
        "If your i counts in steps of two, it already is the formula's 2i.",
        swap(exponent=lambda pair, d_model: 4 * pair / d_model),
    ),
    mistake(
        "exponent halved",
        "The frequencies are those of an exponent that ends near one half, as if the 2 "
        "of the formula were missing.",
        "Count the pairs: 0, 1, 2. What does the formula do with that number?",
        swap(exponent=lambda pair, d_model: pair / d_model),
    ),
    mistake(
        "division by d_model forgotten",
        "The exponent is not divided by d_model, so the powers explode.",
        "Look at the exponent of 10000 in the formula.",
        swap(exponent=lambda pair, d_model: 2 * pair),
    ),
    mistake(
        "division by d_model outside the exponent",
        "d_model does not divide the exponent, but what stands before it: `**` comes "
        "before `/`.",
        "Which part of `a ** b / c` does c divide, as Python reads it?",
        swap(
            exponent=lambda pair, d_model: 2 * pair,
            angle=lambda position, power: position / power / (2 * len(power)),
        ),
        swap(
            exponent=lambda pair, d_model: 2 * pair,
            angle=lambda position, power: position / (power / (2 * len(power))),
        ),
        _unbracketed,
    ),
    mistake(
        "sine and cosine swapped",
        "The even columns hold cosines, and the odd ones sines.",
        "The formula starts with column 0: which function belongs there?",
        swap(lay=lambda sines, cosines: _alternating(cosines, sines)),
    ),
    mistake(
        "halves instead of pairs",
        "All sines are in the left half, and all cosines in the right half.",
        "In the formula a sine and its cosine are next to each other. Some models "
        "are trained with halves; this formula has pairs.",
        swap(lay=lambda sines, cosines: torch.cat([sines, cosines], dim=-1)),
    ),
    mistake(
        "positions from 1",
        "Row 0 holds position 1, and so on.",
        "What are the sine and the cosine of position 0?",
        swap(first=1),
    ),
    mistake(
        "only sines",
        "Every column holds a sine.",
        "Which function does the formula put into the odd columns?",
        swap(lay=lambda sines, cosines: _alternating(sines, sines)),
    ),
    mistake(
        "cosines missing",
        "The odd columns hold nothing but 0: the cosines were not filled in.",
        "Which columns does the second line of the formula fill?",
        swap(lay=lambda sines, cosines: _alternating(sines, 0 * cosines)),
    ),
    mistake(
        "a different frequency in every column",
        "A cosine does not have the same frequency as the sine to its left.",
        "Both lines of the formula contain 2i, even the one for column 2i + 1.",
        _own_frequencies,
    ),
    mistake(
        "every column counted as a pair",
        "The number of the column was used as i, so the exponent runs up to nearly 2.",
        "Columns 2i and 2i + 1 share one i. How many different values does i take?",
        lambda length, d_model: _own_frequencies(length, d_model, factor=2),
    ),
    mistake(
        "columns overwritten",
        "Sine and cosine went into columns i and i + 1, so each sine overwrote a "
        "cosine.",
        "Which two columns does the formula name for one i?",
        _overwritten,
    ),
    mistake(
        "multiplied",
        "Late columns turn faster than early ones: the position was multiplied by the "
        "power of 10000, or the exponent has the wrong sign.",
        "Which columns should turn slowly: the early or the late ones?",
        swap(angle=lambda position, power: position * power),
        _times_float32,
        _sign_forgotten,
        _sign_twice,
    ),
    mistake(
        "another base",
        "The base is not 10000.",
        "Which number is raised to a power in the formula? Count its zeros.",
        swap(base=1000.0),
        swap(base=1e5),
        swap(base=math.e),
    ),
    mistake(
        "one frequency for all columns",
        "All columns turn at the same speed: the exponent is 0 in each of them.",
        "What does your exponent come to for the last pair? Does a division round it?",
        swap(exponent=lambda pair, d_model: 0 * pair),
    ),
    mistake(
        "pairs not laid in a row",
        "The sines and cosines are right, but each pair still has an axis of its own.",
        "How many axes does the table have, and how do you join the last two?",
        swap(lay=lambda sines, cosines: torch.stack([sines, cosines], dim=-1)),
    ),
    mistake(
        "axes swapped",
        "The table lies on its side: it is (d_model, length).",
        "Which of the two should a row stand for: a position or a feature?",
        lambda length, d_model: table_step(length, d_model).T,
    ),
    in_float64(table_step),
)


def _first_row(case: Case, outputs: dict) -> str | None:
    row = outputs["table"][0]
    expected = torch.tensor([0.0, 1.0]).repeat(len(row) // 2)
    if torch.allclose(row, expected, atol=1e-4):
        return None
    return f"it starts with {[round(number, 3) + 0.0 for number in row[:4].tolist()]}"


EXERCISES = (
    Exercise(
        "1.F",
        "The positional encoding",
        "function",
        difficulty=3,
        points=3,
        core=True,
        exact=True,
        answers=(
            Answer(
                "positional_encoding", positional_encoding, {"table": "length, d_model"}
            ),
        ),
        cases=_cases,
        proves="five sizes, every sine and every cosine in its place",
        properties=(Property("Is row 0 equal to 0, 1, 0, 1, ...", _first_row),),
        misconceptions=MISTAKES,
    ),
)
