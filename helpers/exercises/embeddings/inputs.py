"""1.4b, 1.4c: positions as a module, and what goes into the first layer."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, Misconception, mistake
from helpers.exercises.embeddings.shared import some_ids
from helpers.exercises.kit import normal
from helpers.models import positions

# --- 1.4b ---


class PositionalEncoding(nn.Module):
    """The course's own answer to 1.4b."""

    def __init__(self, d_model: int, max_length: int) -> None:
        """Keep the table."""
        super().__init__()
        table = positions.positional_encoding(max_length, d_model)
        self.table = self.keep(table)

    def keep(self, table: Tensor) -> Any:
        """As a buffer."""
        return nn.Buffer(table)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, d_model) -> the same."""
        return x + self.table[: x.shape[1]]


def _module_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    sizes = {
        "a batch": ((2, 5, 6), 11),
        "more sentences than words": ((7, 3, 4), 9),
        "batch and length both 4": ((4, 4, 8), 13),
        "as long as the table": ((3, 5, 6), 5),
    }
    return [
        Case(
            name,
            (normal(draw, *size, dtype=torch.float32),),
            inputs=("x",),
            init=(size[-1], most),
            look=partial(_look, max_length=most),
            gradient=name == "a batch",
        )
        for name, (size, most) in sizes.items()
    ]


def _look(module: nn.Module, x: Tensor, max_length: int) -> Look:
    """The sum, and whether the table moves with the module without being trained."""
    rows = [value.numel() // x.shape[-1] for value in module.buffers()]
    held = max_length if max_length in rows else max(rows, default=0)
    frozen = any(not value.requires_grad for value in module.parameters())
    return Look(
        {
            "placed": module(x),
            "numbers in parameters": sum(
                value.numel() for value in module.parameters()
            ),
            "rows of the table in a buffer": held,
        },
        {"frozen": frozen},
    )


def _module(name: str = "", **steps: Any) -> type:
    return type("PositionalEncoding", (PositionalEncoding,), steps)


def _class_mistake(name: str, done: str, where: str, *classes: type) -> Misconception:
    return mistake(name, done, where, *classes)


def _changed(result: Callable) -> type:
    return _module(forward=lambda self, x: result(x, self.table))


MODULE_MISTAKES = (
    _class_mistake(
        "cut off from autograd",
        "The sum is right, but no gradient gets through it to x: the embeddings before "
        "it could not learn.",
        "Look for what makes a copy without a history: `.detach()` or `.data`.",
        _changed(lambda x, table: (x + table[: x.shape[1]]).detach()),
        _changed(lambda x, table: x.detach() + table[: x.shape[1]]),
    ),
    _class_mistake(
        "position from the batch axis",
        "The table was cut to the number of sentences, not to the number of words.",
        "The input is (batch, length, d_model). Which axis counts positions?",
        _changed(lambda x, table: x + table[: x.shape[0]]),
        _changed(lambda x, table: x + table[: len(x)][:, None]),
    ),
    _class_mistake(
        "whole table",
        "The whole table was added: it fits only a sentence as long as the table.",
        "How many positions does this x have?",
        _changed(lambda x, table: x + table),
    ),
    _class_mistake(
        "one position off",
        "The first word got the row of position 1.",
        "Positions are counted from 0.",
        _changed(lambda x, table: x + table[1 : x.shape[1] + 1]),
    ),
    _class_mistake(
        "the same row for every word",
        "All words of a sentence got the same row.",
        "A number as index fetches one row. What fetches the first few?",
        _changed(lambda x, table: x + table[x.shape[1] - 1]),
        _changed(lambda x, table: x + table[x.shape[1]]),
    ),
    _class_mistake(
        "x forgotten",
        "Only the positions came back: the words are gone.",
        "The positions are added to something.",
        _changed(lambda x, table: table[: x.shape[1]].expand(x.shape)),
        _changed(lambda x, table: table[: x.shape[1]]),
    ),
    _class_mistake(
        "multiplied",
        "The vectors were multiplied by the table: position 0 wipes out half of each.",
        "Sum or product?",
        _changed(lambda x, table: x * table[: x.shape[1]]),
    ),
    _class_mistake(
        "a parameter",
        "The table is a parameter, so training would change it.",
        "Which kind of tensor belongs to a module without being trained?",
        _module(keep=lambda self, table: nn.Parameter(table)),
    ),
    _class_mistake(
        "a frozen parameter",
        "The table is a parameter that is told not to learn: it is still listed and "
        "counted among what a model learns.",
        "Which kind of tensor belongs to a module without being a parameter?",
        _module(keep=lambda self, table: nn.Parameter(table, requires_grad=False)),
    ),
    _class_mistake(
        "dropout",
        "Dropout stands behind the sum: some numbers became 0 and the others grew.",
        "The sum alone is asked for: where would dropout belong?",
        _module(
            forward=lambda self, x: nn.functional.dropout(
                x + self.table[: x.shape[1]], 0.1
            )
        ),
    ),
    _class_mistake(
        "a plain attribute",
        "The sum is right, but the table is a plain attribute: it stays behind when "
        "the module moves to a GPU.",
        "Which kind of tensor belongs to a module without being trained?",
        _module(keep=lambda self, table: table),
    ),
)

# --- 1.4c ---


def encoder_input(table: Tensor, ids: Tensor, encoding: Tensor) -> Tensor:
    """The course's own answer to 1.4c."""
    d_model = table.shape[1]
    return table[ids] * d_model**0.5 + encoding[: ids.shape[1]]


def _input_cases(seed: int) -> list[Case]:
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
        dtype = dtype or torch.float64
        table = normal(draw, count + unused, width, dtype=dtype)
        encoding = positions.positional_encoding(17, width, dtype)
        args = (table, some_ids(draw, count, *size), encoding)
        return Case(name, args, inputs=("table", "ids", "encoding"), **more)

    return [
        case("a batch", 11, 6, 2, 5),
        case("more sentences than words", 13, 4, 7, 3, dtype=torch.float32),
        case("batch and length both 4", 7, 10, 4, 4),
        case("the last words of the table do not occur", 6, 8, 2, 5, unused=3),
        case("the gradient", 5, 8, 2, 3, gradient=True),
    ]


def _input(
    table: Tensor,
    ids: Tensor,
    encoding: Tensor,
    scale: Callable = lambda table: table.shape[1] ** 0.5,
    rows: Callable = lambda encoding, ids: encoding[: ids.shape[1]],
    mix: Callable = lambda vectors, scale, rows: vectors * scale + rows,
) -> Tensor:
    """The first layer's input with one step exchanged."""
    return mix(table[ids], scale(table), rows(encoding, ids))


def _wrong_input(name: str, done: str, where: str, *more: dict, **step: Any) -> Any:
    spellings = tuple(partial(_input, **one) for one in (step, *more))
    return mistake(name, done, where, *spellings)


@mistake(
    "no positions",
    "The vectors are scaled, but nothing was added to them.",
    "What tells the first word from the second?",
)
def _unplaced(table: Tensor, ids: Tensor, encoding: Tensor) -> Tensor:
    return table[ids] * table.shape[1] ** 0.5


def _root_of_length(table: Tensor, ids: Tensor, encoding: Tensor) -> Tensor:
    return table[ids] * ids.shape[1] ** 0.5 + encoding[: ids.shape[1]]


INPUT_MISTAKES = (
    _wrong_input(
        "scale missing",
        "The word vectors were added as they are, without the root of d_model.",
        "Section 3.4 of the paper does something to the embedding first.",
        scale=lambda table: 1.0,
    ),
    _wrong_input(
        "positions scaled too",
        "The sum was scaled, so the positions grew as well.",
        "Which of the two is multiplied: the word vector or the sum?",
        mix=lambda vectors, scale, rows: (vectors + rows) * scale,
    ),
    _wrong_input(
        "only the positions scaled",
        "The positions were multiplied, the word vectors were not.",
        "Which of the two is multiplied?",
        mix=lambda vectors, scale, rows: vectors + rows * scale,
    ),
    _wrong_input(
        "divided",
        "The word vectors were divided by the root of d_model: they shrank.",
        "Should the words become louder or quieter?",
        scale=lambda table: table.shape[1] ** -0.5,
    ),
    _wrong_input(
        "no root",
        "The factor is d_model itself.",
        "Look at the factor once more.",
        scale=lambda table: table.shape[1],
    ),
    _wrong_input(
        "root of the vocabulary",
        "The factor is the root of the number of words in the table.",
        "The table is (vocabulary, d_model). Which of the two is meant?",
        scale=lambda table: table.shape[0] ** 0.5,
    ),
    mistake(
        "root of the length",
        "The factor is the root of the number of words in the sentence.",
        "Should a word get louder in a longer sentence?",
        _root_of_length,
    ),
    _wrong_input(
        "position from the batch axis",
        "Each sentence got the row of its number in the batch.",
        "The ids are (batch, length). Which axis counts positions?",
        {"rows": lambda encoding, ids: encoding[: len(ids)]},
        rows=lambda encoding, ids: encoding[: len(ids), None],
    ),
    _wrong_input(
        "one position off",
        "The first word got the row of position 1.",
        "Positions are counted from 0.",
        rows=lambda encoding, ids: encoding[1 : ids.shape[1] + 1],
    ),
    _wrong_input(
        "whole table",
        "The whole encoding was added: it fits only a sentence as long as the table.",
        "How many words has a sentence of this batch?",
        rows=lambda encoding, ids: encoding,
    ),
    _wrong_input(
        "the same row for every word",
        "All words of a sentence got the same row of the encoding.",
        "A number as index fetches one row. What fetches the first few?",
        {"rows": lambda encoding, ids: encoding[ids.shape[1] - 1]},
        rows=lambda encoding, ids: encoding[ids.shape[1]],
    ),
    _wrong_input(
        "position of the id",
        "The encoding was looked up by token id, not by place.",
        "Does a word's row of the encoding depend on which word it is?",
        rows=lambda encoding, ids: encoding[ids],
    ),
    _unplaced,
)

EXERCISES = (
    Exercise(
        "1.4b",
        "Positions as a module",
        "class",
        difficulty=2,
        minutes=8,
        points=2,
        answers=(
            Answer(
                "PositionalEncoding",
                PositionalEncoding,
                {"placed": "batch, length, d_model"},
            ),
        ),
        cases=_module_cases,
        proves="the right axis, any length, a table that moves but is never trained",
        misconceptions=MODULE_MISTAKES,
    ),
    Exercise(
        "1.4c",
        "What goes into the first layer",
        "function",
        difficulty=2,
        minutes=6,
        points=2,
        answers=(
            Answer(
                "encoder_input", encoder_input, {"vectors": "batch, length, d_model"}
            ),
        ),
        cases=_input_cases,
        proves="the scale, the position of each word, the gradient of the table",
        misconceptions=INPUT_MISTAKES,
    ),
)
