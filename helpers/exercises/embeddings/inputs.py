"""1.J, 1.K: positions as a module, and what goes into the first layer."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.embeddings.shared import some_ids
from helpers.exercises.kit import exchanging, normal
from helpers.models import positions

# --- 1.J ---


class PositionalEncoding(nn.Module):
    """The course's own answer to 1.J."""

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
        return self.add(x, self.table)

    def add(self, x: Tensor, table: Tensor) -> Tensor:
        """The rows of the table that belong to the positions of x, on top of x."""
        return x + table[: x.shape[1]]


swap = exchanging(PositionalEncoding)


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


MODULE_MISTAKES = (
    mistake(
        "cut off from autograd",
        "The sum is right, but no gradient gets through it to x, so the embeddings "
        "before it could not learn.",
        "Look for what keeps no history: `.detach()`, `.data`, `torch.no_grad()`.",
        swap(add=lambda self, x, table: (x + table[: x.shape[1]]).detach()),
        swap(add=lambda self, x, table: x.detach() + table[: x.shape[1]]),
    ),
    mistake(
        "position from the batch axis",
        "The table was cut to the number of sentences, not to the number of words.",
        "The input is (batch, length, d_model). Which axis counts positions?",
        swap(add=lambda self, x, table: x + table[: x.shape[0]]),
        swap(add=lambda self, x, table: x + table[: len(x)][:, None]),
    ),
    mistake(
        "whole table",
        "The whole table was added, which fits only a sentence as long as the table.",
        "How many positions does this x have?",
        swap(add=lambda self, x, table: x + table),
    ),
    mistake(
        "one position off",
        "The first word got the row of position 1, not of position 0.",
        "Positions are counted from 0.",
        swap(add=lambda self, x, table: x + table[1 : x.shape[1] + 1]),
    ),
    mistake(
        "the same row for every word",
        "All words of a sentence got the same row.",
        "A number as index fetches one row. How do you get the first few?",
        swap(add=lambda self, x, table: x + table[x.shape[1] - 1]),
        swap(add=lambda self, x, table: x + table[x.shape[1]]),
    ),
    mistake(
        "x forgotten",
        "Only the positions came back, and the words are gone.",
        "What should the positions be added to?",
        swap(add=lambda self, x, table: table[: x.shape[1]].expand(x.shape)),
        swap(add=lambda self, x, table: table[: x.shape[1]]),
    ),
    mistake(
        "multiplied",
        "The vectors were multiplied by the table, whose row 0 sets half of the first "
        "one to 0.",
        "Does the exercise ask for a sum or for a product?",
        swap(add=lambda self, x, table: x * table[: x.shape[1]]),
    ),
    mistake(
        "x scaled",
        "x was multiplied by the root of d_model before the positions were added.",
        "The scale belongs to the next exercise. What does this one ask for?",
        swap(
            add=lambda self, x, table: x * x.shape[2] ** 0.5 + table[: x.shape[1]],
        ),
    ),
    mistake(
        "a parameter",
        "The table is a parameter, so training would change it.",
        "Which kind of tensor belongs to a module without being trained?",
        swap(keep=lambda self, table: nn.Parameter(table)),
    ),
    mistake(
        "a frozen parameter",
        "The table is a parameter that does not learn, but it is still listed and "
        "counted among the parameters.",
        "Which kind of tensor belongs to a module without being a parameter?",
        swap(keep=lambda self, table: nn.Parameter(table, requires_grad=False)),
    ),
    mistake(
        "dropout",
        "Dropout was applied to the sum: some numbers became 0, and the others grew.",
        "The exercise asks for the sum alone: where else could dropout go?",
        *(
            swap(
                add=lambda self, x, table, rate=rate: nn.functional.dropout(
                    x + table[: x.shape[1]], rate
                )
            )
            for rate in (0.1, 0.2, 0.3, 0.5)
        ),
    ),
    mistake(
        "a plain attribute",
        "The sum is right, but the module holds no buffer with all rows of the table, "
        "so they do not move to a GPU with it.",
        "Which kind of tensor belongs to a module without being trained?",
        swap(keep=lambda self, table: table),
    ),
)

# --- 1.K ---


def encoder_input(table: Tensor, ids: Tensor, encoding: Tensor) -> Tensor:
    """The course's own answer to 1.K."""
    d_model = table.shape[1]
    return table[ids] * d_model**0.5 + encoding[: ids.shape[1]]


def _input_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        count: int,
        width: int,
        *size: int,
        dtype: Any = torch.float64,
        unused: int = 0,
        learned: bool = False,
        **more: Any,
    ) -> Case:
        table = normal(draw, count + unused, width, dtype=dtype)
        encoding = positions.positional_encoding(17, width, dtype)
        if learned:
            encoding = normal(draw, 17, width, dtype=dtype)
        args = (table, some_ids(draw, count, *size), encoding)
        return Case(name, args, inputs=("table", "ids", "encoding"), **more)

    return [
        case("a batch", 11, 6, 2, 5),
        case("more sentences than words", 13, 4, 7, 3, dtype=torch.float32),
        case("batch and length both 4", 7, 10, 4, 4),
        case("the last words of the table do not occur", 6, 8, 2, 5, unused=3),
        case("an encoding that was learned", 7, 6, 3, 5, learned=True),
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
    """The first layer's input, in steps that a mistake can exchange."""
    return mix(table[ids], scale(table), rows(encoding, ids))


swap_input = exchanging(_input)


INPUT_MISTAKES = (
    mistake(
        "scale missing",
        "The word vectors were used as they are, without the root of d_model.",
        "What does section 3.4 of the paper do to the embedding first?",
        swap_input(scale=lambda table: 1.0),
    ),
    mistake(
        "positions scaled too",
        "The sum was scaled, so the positions grew as well.",
        "Which of the two is multiplied: the word vector or the sum?",
        swap_input(mix=lambda vectors, scale, rows: (vectors + rows) * scale),
    ),
    mistake(
        "only the positions scaled",
        "The positions were multiplied, but the word vectors were not.",
        "Which of the two is multiplied?",
        swap_input(mix=lambda vectors, scale, rows: vectors + rows * scale),
    ),
    mistake(
        "divided",
        "The word vectors were divided by the root of d_model, so they shrank.",
        "Should the words become louder or quieter?",
        swap_input(scale=lambda table: table.shape[1] ** -0.5),
    ),
    mistake(
        "no root",
        "The factor is d_model itself.",
        "Look at the factor again: what is missing?",
        swap_input(scale=lambda table: table.shape[1]),
    ),
    mistake(
        "root of the vocabulary",
        "The factor is the root of the number of words in the table.",
        "The table is (vocabulary, d_model). Which of the two belongs under the root?",
        swap_input(scale=lambda table: table.shape[0] ** 0.5),
    ),
    mistake(
        "root of the length",
        "The factor is the root of the number of words in the sentence.",
        "Should a word get louder in a longer sentence?",
        lambda table, ids, encoding: (
            table[ids] * ids.shape[1] ** 0.5 + encoding[: ids.shape[1]]
        ),
    ),
    mistake(
        "position from the batch axis",
        "The rows of the encoding were counted by sentences, not by words.",
        "The ids are (batch, length). Which axis counts positions?",
        swap_input(rows=lambda encoding, ids: encoding[: len(ids), None]),
        swap_input(rows=lambda encoding, ids: encoding[: len(ids)]),
    ),
    mistake(
        "one position off",
        "The first word got the row of position 1, not of position 0.",
        "Positions are counted from 0.",
        swap_input(rows=lambda encoding, ids: encoding[1 : ids.shape[1] + 1]),
    ),
    mistake(
        "whole table",
        "The whole encoding was added, which fits only a sentence as long as the "
        "table.",
        "How many words are there in a sentence of this batch?",
        swap_input(rows=lambda encoding, ids: encoding),
    ),
    mistake(
        "the same row for every word",
        "All words of a sentence got the same row of the encoding.",
        "A number as index fetches one row. How do you get the first few?",
        swap_input(rows=lambda encoding, ids: encoding[ids.shape[1]]),
        swap_input(rows=lambda encoding, ids: encoding[ids.shape[1] - 1]),
    ),
    mistake(
        "encoding looked up by id",
        "The encoding was looked up by token id, not by position.",
        "Does a word's row of the encoding depend on which word it is?",
        swap_input(rows=lambda encoding, ids: encoding[ids]),
    ),
    mistake(
        "an encoding of its own",
        "The positions are right for sines and cosines, but the `encoding` that came "
        "in was never read.",
        "Which of the three arguments do your lines not use?",
        swap_input(
            rows=lambda encoding, ids: positions.positional_encoding(
                ids.shape[1], encoding.shape[1], encoding.dtype
            )
        ),
        swap_input(
            rows=lambda encoding, ids: positions.positional_encoding(
                ids.shape[1], encoding.shape[1]
            )
        ),
    ),
    mistake(
        "no positions",
        "The vectors are scaled, but nothing was added to them.",
        "What tells the first word from the second?",
        swap_input(mix=lambda vectors, scale, rows: vectors * scale),
    ),
)

EXERCISES = (
    Exercise(
        "1.J",
        "Positions as a module",
        "class",
        difficulty=2,
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
        "1.K",
        "What goes into the first layer",
        "function",
        difficulty=2,
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
