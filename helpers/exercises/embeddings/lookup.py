"""1.1: the look-up, what its axes mean, and how large a table is."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Misconception,
    mistake,
    value_cases,
)
from helpers.exercises.embeddings.shared import some_ids
from helpers.exercises.kit import normal


def embed(table: Tensor, ids: Tensor) -> Tensor:
    """The course's own answer to 1.1."""
    return F.embedding(ids, table)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        count: int,
        width: int,
        *size: int,
        dtype: Any = None,
        unused: int = 0,
        **more: Any,
    ) -> Case:
        table = normal(draw, count + unused, width, dtype=dtype or torch.float64)
        args = (table, some_ids(draw, count, *size))
        return Case(name, args, inputs=("table", "ids"), **more)

    return [
        case("one sentence", 7, 3, 4),
        case("a batch of sentences", 11, 4, 2, 5),
        case("a batch of one", 7, 3, 1, 4),
        case("the last words of the table do not occur", 6, 5, 2, 4, unused=2),
        case("more axes, float32", 5, 6, 2, 3, 4, dtype=torch.float32),
        case("a square table", 6, 6, 2, 5),
        case("the gradient", 7, 4, 2, 3, gradient=True),
    ]


@mistake(
    "columns instead of rows",
    "The ids picked columns of the table: one number of every word in it.",
    "The table is (vocabulary, d_model). Which of its axes counts the words?",
    lambda table, ids: table.T[ids],
    lambda table, ids: F.embedding(ids, table.T),
)
def _columns(table: Tensor, ids: Tensor) -> Tensor:
    return table[:, ids]


@mistake(
    "counted from 1",
    "Each token got the row before its own; id 0 got the last one.",
    "Ids and rows are both counted from 0.",
    lambda table, ids: table.roll(1, 0)[ids],
)
def _one_early(table: Tensor, ids: Tensor) -> Tensor:
    return table[ids - 1]


@mistake(
    "the row after",
    "Each token got the row after its own, where there is one.",
    "Ids and rows are both counted from 0.",
    lambda table, ids: table.roll(-1, 0)[ids],
    lambda table, ids: table[(ids + 1).clamp(max=len(table) - 1)],
)
def _one_late(table: Tensor, ids: Tensor) -> Tensor:
    return table[ids + 1]


@mistake(
    "scaled",
    "The rows are right, but were multiplied by the root of d_model.",
    "A look-up changes no number. The scale has its place later, in 1.4c.",
)
def _scaled(table: Tensor, ids: Tensor) -> Tensor:
    return table[ids] * table.shape[-1] ** 0.5


@mistake(
    "batch axis lost",
    "All tokens stand in one long list; which sentence they belong to is lost.",
    "The result has all the axes of the ids, and one more.",
    lambda table, ids: F.one_hot(ids.flatten(), len(table)).to(table) @ table,
)
def _flat(table: Tensor, ids: Tensor) -> Tensor:
    return table[ids.flatten()]


@mistake(
    "the place instead of the word",
    "The rows 0, 1, 2 and so on came back: the places were looked up, not the ids.",
    "Which of your numbers comes from the ids themselves, not from their shape?",
    lambda table, ids: table[: ids.shape[-1]].expand(*ids.shape, -1),
)
def _places(table: Tensor, ids: Tensor) -> Tensor:
    return table[torch.arange(ids.shape[-1]).expand(ids.shape)]


@mistake(
    "one-hot returned",
    "The result is one-hot: as wide as the vocabulary, and it ignores the table.",
    "A one-hot vector says which row. What fetches the row?",
    lambda table, ids: F.one_hot(ids, len(table)),
    lambda table, ids: F.one_hot(ids, len(table)).float(),
)
def _one_hot(table: Tensor, ids: Tensor) -> Tensor:
    return F.one_hot(ids, len(table)).to(table.dtype)


@mistake(
    "one-hot too narrow",
    "The one-hot vectors are as wide as the largest id among these, not as the table.",
    "How many entries must a vector have that multiplies the table?",
    lambda table, ids: F.one_hot(ids).double() @ table,
)
def _narrow(table: Tensor, ids: Tensor) -> Tensor:
    return F.one_hot(ids).to(table.dtype) @ table


@mistake(
    "one vector for the sentence",
    "The vectors of a sentence were averaged into one.",
    "Every token keeps a vector of its own.",
)
def _pooled(table: Tensor, ids: Tensor) -> Tensor:
    return table[ids].mean(-2)


@mistake(
    "axis of one lost",
    "The rows are right, but an axis of length 1 is gone, and it was one of the ids'.",
    "What happens to the axes when the batch holds one sentence?",
)
def _squeezed(table: Tensor, ids: Tensor) -> Tensor:
    return table[ids].squeeze()


@mistake(
    "cut off from autograd",
    "The numbers are right, but no gradient reaches the table: it could not learn.",
    "Look for what makes a copy without a history: `.data`, `.detach()`, `.numpy()`, "
    "`torch.tensor(...)`, a layer made anew from the table.",
    lambda table, ids: torch.tensor(table.detach().numpy()[ids.numpy()]),
    lambda table, ids: F.embedding(ids, torch.nn.Parameter(table)),
)
def _cut(table: Tensor, ids: Tensor) -> Tensor:
    return table.detach()[ids]


def _shape(name: str, done: str, where: str, wrong: Any, of: int) -> Misconception:
    return mistake(name, done, where, wrong, of=of)


SHAPES = (
    _shape(
        "batch axis kept",
        "Batch 1 was kept as an axis; a whole number as index removes the axis.",
        "Compare `out[0]` with `out[0:1]`.",
        (1, 3, 300),
        0,
    ),
    _shape(
        "a sentence taken for a word",
        "(300,) is one word; the first axis of `out` counts sentences.",
        "Which axis does a single index count along?",
        (300,),
        0,
    ),
    _shape(
        "two axes for two numbers",
        "Each whole number removes one axis: two of the three are gone.",
        "How many axes are left?",
        (3, 300),
        1,
    ),
    _shape(
        "axis kept",
        "(1, 300) would be `out[0, 2:3]`.",
        "A whole number as index removes its axis.",
        (1, 300),
        1,
    ),
    _shape(
        "brackets alone",
        "300 in brackets is a number; a shape is a tuple, also a shape of one axis.",
        "How does Python write a tuple of one entry? Print `(1)` and `(1,)`.",
        300,
        1,
    ),
    _shape(
        "the colon removed too",
        "The colon keeps its axis: it means all sentences.",
        "Which axis does the 2 stand at?",
        (300,),
        2,
    ),
    _shape(
        "the wrong axis removed",
        "The 2 stands at the second axis, the one that counts words.",
        "Write the three axes side by side with the colon and the 2.",
        (2, 3),
        2,
    ),
)

EXERCISES = (
    Exercise(
        "1.1",
        "The embedding layer is a look-up",
        "function",
        difficulty=1,
        minutes=8,
        points=2,
        core=True,
        answers=(Answer("embed", embed, {"vectors": "as ids, d_model"}),),
        cases=_cases,
        proves="one sentence, a batch, more axes, the gradient of the table",
        misconceptions=(
            _columns,
            _one_early,
            _one_late,
            _scaled,
            _flat,
            _places,
            _one_hot,
            _narrow,
            _pooled,
            _squeezed,
            _cut,
        ),
    ),
    Exercise(
        "1.1b",
        "Read three indices",
        "value",
        difficulty=1,
        minutes=4,
        points=1,
        core=True,
        answers=(
            Answer("shape_of_first", (3, 300)),
            Answer("shape_of_first_third", (300,)),
            Answer("shape_of_all_third", (2, 300)),
        ),
        cases=lambda seed: value_cases(3),
        proves="a number removes its axis, a colon keeps it",
        misconceptions=SHAPES,
    ),
    Exercise(
        "1.1c",
        "Bytes, before you allocate them",
        "value",
        difficulty=1,
        minutes=3,
        points=1,
        answers=(Answer("table_bytes", 1_200_000_000),),
        cases=lambda seed: value_cases(within=0.005),
        proves="rows times columns times four bytes: 1.2 GB",
        misconceptions=(
            mistake(
                "numbers, not bytes",
                "300 million is how many numbers there are.",
                "How many bytes does one float32 take?",
                300_000_000,
            ),
            mistake(
                "gigabytes",
                "That is in giga- or megabytes; the exercise asks for bytes.",
                "How many bytes are in a gigabyte, or in a megabyte?",
                1.2,
                1.118,
                1.12,
                1200,
                1144,
            ),
            mistake(
                "bits",
                "That is how many bits the table takes.",
                "How many bits are in a byte?",
                9_600_000_000,
            ),
            mistake(
                "float64",
                "That is for 8 bytes a number; torch's default is float32.",
                "How many bits does the name float32 promise?",
                2_400_000_000,
            ),
        ),
    ),
)
