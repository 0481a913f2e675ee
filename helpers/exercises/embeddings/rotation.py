"""1.M: the matrix that moves an encoding by k positions; 1.N: why positions at all."""

import math
import random
from collections.abc import Callable

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Property, mistake
from helpers.exercises.embeddings.shared import in_float64
from helpers.exercises.kit import exchanging
from helpers.models.positions import positional_encoding


def _turns(
    k: int,
    d_model: int,
    angle: Callable = lambda k, pair, d_model: k / 10000 ** (2 * pair / d_model),
    block: tuple[int, int, int, int] = (1, 1, -1, 1),
) -> Tensor:
    """A block diagonal of 2 x 2 rotations, in steps that a mistake can exchange.

    Args:
        k: how far to move
        d_model: size of the matrix
        angle: of each pair
        block: signs of cosine, sine, sine, cosine in a block, row by row
    """
    matrix = torch.zeros(d_model, d_model)
    for pair in range(d_model // 2):
        turn = torch.as_tensor(angle(k, pair, d_model), dtype=torch.float64)
        entries = (turn.cos(), turn.sin(), turn.sin(), turn.cos())
        signed = [sign * entry for sign, entry in zip(block, entries, strict=True)]
        place = slice(2 * pair, 2 * pair + 2)
        matrix[place, place] = torch.stack(signed).view(2, 2).float()
    return matrix


swap = exchanging(_turns)


def shift_matrix(k: int, d_model: int) -> Tensor:
    """The course's own answer to 1.M."""
    return _turns(k, d_model)


def _cases(seed: int) -> list[Case]:
    sizes = [(1, 4), (3, 6), (7, 10), (-2, 4), (0, 8)]
    if seed:  # more than in the notebook
        draw = random.Random(seed)
        sizes.append((draw.randint(2, 12), 2 * draw.randint(2, 8)))
    return [
        Case(
            f"k = {k}, d_model = {d_model}",
            (k, d_model),
            inputs=("k", "d_model"),
            tolerance=1e-5,
        )
        for k, d_model in sizes
    ]


def _moves(case: Case, outputs: dict) -> str | None:
    k, d_model = case.args
    start = 5
    table = positional_encoding(start + abs(k) + 1, d_model)
    there = outputs["matrix"].float() @ table[start]
    apart = (there - table[start + k]).abs()
    off = apart[apart > 1e-3]
    return f"one entry is off by {off[0].item():.3f}" if off.numel() else None


def _in_halves(k: int, d_model: int) -> Tensor:
    order = torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])
    return shift_matrix(k, d_model)[order][:, order]


MISTAKES = (
    mistake(
        "rotated backwards",
        "The matrix moves by -k: the minus is on the wrong one of the two sines.",
        "Write out sin(a + b) and cos(a + b), and read the two rows of a block from "
        "them.",
        swap(block=(1, -1, 1, 1)),
        lambda k, d_model: _turns(k, d_model).T,
    ),
    mistake(
        "no minus",
        "Both sines have a plus, so this is not a rotation.",
        "Write out cos(a + b).",
        swap(block=(1, 1, 1, 1)),
    ),
    mistake(
        "one angle for all pairs",
        "Every pair turns by the same angle.",
        "How far does pair i turn in one step? The formula of the table tells you.",
        swap(angle=lambda k, pair, d_model: float(k)),
    ),
    mistake(
        "k forgotten",
        "The matrix moves by one position, whatever k is.",
        "How does the angle depend on k?",
        swap(angle=lambda k, pair, d_model: 1 / 10000 ** (2 * pair / d_model)),
    ),
    mistake(
        "exponent doubled",
        "The angles belong to the table with the doubled exponent.",
        "If your i counts in steps of two, it already is the formula's 2i.",
        swap(angle=lambda k, pair, d_model: k / 10000 ** (4 * pair / d_model)),
    ),
    mistake(
        "exponent halved",
        "The frequencies are those of an exponent that ends near one half, as if the 2 "
        "of the formula were missing.",
        "Count the pairs: 0, 1, 2. What does the formula do with that number?",
        swap(angle=lambda k, pair, d_model: k / 10000 ** (pair / d_model)),
    ),
    mistake(
        "sine and cosine exchanged",
        "The sines stand on the diagonal, and the cosines beside it.",
        "What must the matrix be for k = 0, where every angle is 0?",
        swap(
            angle=lambda k, pair, d_model: (
                math.pi / 2 - k / 10000 ** (2 * pair / d_model)
            )
        ),
        swap(
            angle=lambda k, pair, d_model: (
                math.pi / 2 - k / 10000 ** (2 * pair / d_model)
            ),
            block=(1, -1, 1, 1),
        ),
    ),
    mistake(
        "halves",
        "The matrix fits a table with all sines on the left and all cosines on the "
        "right.",
        "Which two columns of the table belong together?",
        _in_halves,
    ),
    in_float64(_turns),
)

EXERCISES = (
    Exercise(
        "1.M",
        "A matrix that moves by k positions",
        "function",
        difficulty=4,
        points=2,
        exact=True,
        answers=(Answer("shift_matrix", shift_matrix, {"matrix": "d_model, d_model"}),),
        cases=_cases,
        proves="forwards, backwards and not at all, four widths",
        properties=(Property("Does it turn position 5 into position 5 + k", _moves),),
        misconceptions=MISTAKES,
    ),
    Exercise(
        "1.N",
        "Dog bites man, man bites dog",
        "written",
        difficulty=3,
        points=3,
    ),
)
