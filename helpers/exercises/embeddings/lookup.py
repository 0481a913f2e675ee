"""1.A: the look-up, what its axes mean, and how large a table is."""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Property,
    mistake,
    value_cases,
)
from helpers.exercises.embeddings.shared import some_ids
from helpers.exercises.kit import normal


def embed(table: Tensor, ids: Tensor) -> Tensor:
    """The course's own answer to 1.A."""
    return F.embedding(ids, table)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        count: int,
        width: int,
        *size: int,
        unused: int = 0,
        **more: Any,
    ) -> Case:
        # float32, as in every model: `one_hot(...).float() @ table` is a right answer.
        table = normal(draw, count + unused, width, dtype=torch.float32)
        args = (table, some_ids(draw, count, *size))
        return Case(name, args, inputs=("table", "ids"), **more)

    return [
        case("one sentence", 7, 3, 4),
        case("a batch of sentences", 11, 4, 2, 5),
        case("a batch of one", 7, 3, 1, 4),
        case("the last words of the table do not occur", 6, 5, 2, 4, unused=2),
        case("more axes", 5, 6, 2, 3, 4),
        case("a square table", 6, 6, 2, 5),
        case("the gradient", 7, 4, 2, 3, gradient=True),
    ]


def _rows_of_the_table(case: Case, outputs: Mapping[str, Any]) -> str | None:
    table, ids = case.args
    vectors = outputs["vectors"].detach().flatten(0, -2)
    for vector, token in zip(vectors, ids.flatten().tolist(), strict=True):
        if not (table - vector).abs().amax(-1).lt(1e-4).any():
            return f"the one for id {token} is not in the table"
    return None


@mistake(
    "columns instead of rows",
    "The ids picked columns of the table: one number from every word in it.",
    "The table is (vocabulary, d_model). Which of its axes counts the words?",
    lambda table, ids: table.T[ids],
    lambda table, ids: F.embedding(ids, table.T),
)
def _columns(table: Tensor, ids: Tensor) -> Tensor:
    return table[:, ids]


@mistake(
    "counted from 1",
    "Each token got the row before its own, and id 0 got the last row.",
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
    "A look-up changes no numbers. The scale comes later, in 1.K.",
)
def _scaled(table: Tensor, ids: Tensor) -> Tensor:
    return table[ids] * table.shape[-1] ** 0.5


@mistake(
    "batch axis lost",
    "All tokens ended up in one long list, and which sentence they belong to is lost.",
    "The result should have all the axes of the ids, and one more.",
    lambda table, ids: F.one_hot(ids.flatten(), len(table)).to(table) @ table,
)
def _flat(table: Tensor, ids: Tensor) -> Tensor:
    return table[ids.flatten()]


@mistake(
    "positions instead of ids",
    "Rows 0, 1, 2 and so on came back: the positions were looked up, not the ids.",
    "Do your row numbers come from the ids themselves, or only from their shape?",
    lambda table, ids: table[: ids.shape[-1]].expand(*ids.shape, -1),
    lambda table, ids: table[: ids.shape[-1]],
)
def _places(table: Tensor, ids: Tensor) -> Tensor:
    return table[torch.arange(ids.shape[-1]).expand(ids.shape)]


@mistake(
    "one-hot returned",
    "The result is one-hot: as wide as the vocabulary, and it ignores the table.",
    "A one-hot vector says which row is wanted. What fetches that row?",
    lambda table, ids: F.one_hot(ids, len(table)),
)
def _one_hot(table: Tensor, ids: Tensor) -> Tensor:
    return F.one_hot(ids, len(table)).to(table.dtype)


@mistake(
    "one-hot too narrow",
    "The one-hot vectors are only as wide as the largest of these ids requires.",
    "How many entries must a vector have to multiply the table?",
    lambda table, ids: F.one_hot(ids).float() @ table,
)
def _narrow(table: Tensor, ids: Tensor) -> Tensor:
    return F.one_hot(ids).to(table.dtype) @ table


@mistake(
    "whole numbers times the table",
    "`@` was given whole numbers on its left and the table's floats on its right, and "
    "it does not mix the two. `F.one_hot` gives whole numbers.",
    "What must become of a one-hot vector before it can multiply the table?",
)
def _whole_numbers(table: Tensor, ids: Tensor) -> Tensor:
    return F.one_hot(ids, len(table)) @ table


@mistake(
    "nested lists as an index",
    "The ids were turned into nested Python lists, and as an index each of the inner "
    "lists counts along an axis of its own.",
    "Is there a need to turn the ids into anything before you use them as an index?",
)
def _nested(table: Tensor, ids: Tensor) -> Tensor:
    return table[ids.tolist()]


@mistake(
    "a table of its own",
    "The vectors are fresh random numbers, as in a new layer: the table that came in "
    "was never read.",
    "Where in your lines does `table` give you its numbers?",
    lambda table, ids: torch.randn(table.shape)[ids],
)
def _new_layer(table: Tensor, ids: Tensor) -> Tensor:
    return torch.nn.Embedding(*table.shape)(ids)


@mistake(
    "one vector for the sentence",
    "The vectors of a sentence were averaged into one.",
    "Every token keeps a vector of its own.",
)
def _pooled(table: Tensor, ids: Tensor) -> Tensor:
    return table[ids].mean(-2)


@mistake(
    "axis of length 1 lost",
    "The rows are right, but an axis of length 1, one that the ids had, is gone.",
    "What happens to the axes when the batch holds one sentence?",
)
def _squeezed(table: Tensor, ids: Tensor) -> Tensor:
    return table[ids].squeeze()


@mistake(
    "cut off from autograd",
    "The numbers are right, but no gradient reaches the table, so it could not learn.",
    "Look for what makes a copy without a history: `.data`, `.detach()`, `.numpy()`, "
    "`torch.tensor(...)`, a new layer made from the table.",
    lambda table, ids: torch.tensor(table.detach().numpy()[ids.numpy()]),
    lambda table, ids: F.embedding(ids, torch.nn.Parameter(table)),
)
def _cut(table: Tensor, ids: Tensor) -> Tensor:
    return table.detach()[ids]


SHAPES = (
    mistake(
        "batch axis kept",
        "The batch was kept as an axis of 1, but a single index removes its axis.",
        "Compare `out[0]` with `out[0:1]`.",
        (1, 3, 300),
    ),
    mistake(
        "a sentence taken for a word",
        "(300,) is one word, but the first axis of `out` counts sentences.",
        "Which axis does a single index count along?",
        (300,),
    ),
    mistake(
        "two axes for two numbers",
        "(3, 300) is the shape of `out[0]`, but here two numbers are in the brackets.",
        "What does each single number do to its axis, and how many axes are left?",
        (3, 300),
        of=1,
    ),
    mistake(
        "axis kept",
        "(1, 300) would be the shape of `out[0, 2:3]`.",
        "What does a single number as index do to its axis, and what does a slice do?",
        (1, 300),
        of=1,
    ),
    mistake(
        "a number in brackets",
        "300 is a number, also with brackets around it, but a shape is a tuple, even "
        "with a single axis.",
        "How does Python write a tuple with one entry? Print `(1)` and `(1,)`.",
        300,
        of=1,
    ),
    mistake(
        "the colon removed too",
        "(300,) is the shape of a single word, but the colon stands for all sentences.",
        "Which axis is the 2 the index of, and what becomes of the axis of the colon?",
        (300,),
        of=2,
    ),
    mistake(
        "the wrong axis removed",
        "In (2, 3) the last axis is gone, but the 2 is the index of the second axis, "
        "which counts words.",
        "Write the three axes in a row, and the colon and the 2 below them.",
        (2, 3),
        of=2,
    ),
)

EXERCISES = (
    Exercise(
        "1.A",
        "The embedding layer is a look-up",
        "function",
        difficulty=1,
        points=2,
        core=True,
        answers=(Answer("embed", embed, {"vectors": "as ids, d_model"}),),
        cases=_cases,
        proves="one sentence, a batch, more axes, the gradient of the table",
        properties=(
            Property("Is every vector a row of the table", _rows_of_the_table),
        ),
        misconceptions=(
            _columns,
            _one_early,
            _one_late,
            _scaled,
            _flat,
            _places,
            _one_hot,
            _narrow,
            _whole_numbers,
            _nested,
            _new_layer,
            _pooled,
            _squeezed,
            _cut,
        ),
    ),
    Exercise(
        "1.B",
        "Read three indices",
        "value",
        difficulty=1,
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
        "1.G",
        "Bytes, before you allocate them",
        "value",
        difficulty=1,
        points=1,
        answers=(Answer("table_bytes", 1_200_000_000),),
        cases=lambda seed: value_cases(within=0.005),
        proves="rows times columns times four bytes: 1.2 GB",
        misconceptions=(
            mistake(
                "numbers, not bytes",
                "300 million is the number of entries, and each of them takes several "
                "bytes.",
                "How many bytes does one float32 take?",
                300_000_000,
            ),
            mistake(
                "gigabytes",
                "That is in gigabytes or megabytes, but the exercise asks for bytes.",
                "How many bytes are there in a gigabyte, or in a megabyte?",
                1.2,
                1.118,
                1.12,
                1200,
                1144,
            ),
            mistake(
                "bits",
                "That is the number of bits in the table.",
                "How many bits are there in a byte?",
                9_600_000_000,
            ),
            mistake(
                "float64",
                "That would be 8 bytes per number, but torch's default is float32.",
                "How many bits does a float32 have, as its name says?",
                2_400_000_000,
            ),
        ),
    ),
)
