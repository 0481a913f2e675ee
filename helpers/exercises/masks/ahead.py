"""6.B: the look-ahead mask."""

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.masks.shared import FILLS, additive
from helpers.models.masks import look_ahead_mask


def _cases(seed: int) -> list[Case]:
    lengths = torch.randperm(9, generator=torch.Generator().manual_seed(seed)) + 8
    return [
        Case(f"length {length}", (length,), inputs=("length",))
        for length in (5, 1, 2, lengths[0].item())
    ]


def reference(length: int) -> Tensor:
    """The course's own answer to 6.B."""
    return look_ahead_mask(length)


def _all(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool)


@mistake(
    "diagonal blocked",
    "No token may attend to itself, and the first one to nothing at all.",
    "Read row 0: what is left for the first token?",
    lambda length: torch.arange(length)[:, None] > torch.arange(length),
)
def _no_self(length: int) -> Tensor:
    return _all(length).tril(-1)


@mistake(
    "inverted",
    'True marks the future, but in this course True means "may attend".',
    "Read row 0 aloud: the first query may attend to which keys?",
    lambda length: ~_all(length).tril(),
)
def _inverted(length: int) -> Tensor:
    return _all(length).triu(1)


@mistake(
    "future open by one",
    "Each token sees the next one, which is exactly the token it has to predict.",
    "Read row 0: how many keys exist when the first token asks?",
    lambda length: ~_all(length).triu(2),
)
def _by_one(length: int) -> Tensor:
    return _all(length).tril(1)


@mistake(
    "the other triangle",
    "The upper triangle is open: each token sees itself and its future, not its past.",
    "Rows are queries, columns are keys. Which corner of the table is the future?",
    lambda length: look_ahead_mask(length).T,
)
def _upper(length: int) -> Tensor:
    return _all(length).triu()


@mistake(
    "numbers instead of booleans",
    "The triangle is right, but it holds numbers, and what is done with it next needs "
    "booleans: `~mask`, for instance, and `masked_fill`.",
    "Which dtype does the docstring promise, and which one does `torch.ones` have?",
    lambda length: torch.ones(length, length).tril().long(),
    lambda length: torch.ones(length, length).tril().int(),
    lambda length: torch.ones(length, length).tril().to(torch.uint8),
)
def _numbers(length: int) -> Tensor:
    return torch.ones(length, length).tril()


@mistake(
    "numbers that mark the future",
    "A 1 marks the future, and it is a number, as in code that multiplies the mask by "
    "a very negative number and adds it to the scores.",
    "The docstring promises a boolean, with True for what may be looked at.",
    lambda length: torch.ones(length, length).triu(1).long(),
    lambda length: torch.ones(length, length).triu(1).int(),
)
def _marked(length: int) -> Tensor:
    return torch.ones(length, length).triu(1)


@mistake(
    "additive mask",
    "The mask holds 0 and very negative numbers, made to be added to the scores.",
    'The docstring promises a boolean: True means "may attend".',
    *(lambda n, low=low: additive(look_ahead_mask(n), low) for low in FILLS[1:]),
)
def _added(length: int) -> Tensor:
    return additive(look_ahead_mask(length))


@mistake(
    "nothing blocked",
    "Every token may attend to every other, the future included.",
    "Print the mask for length 3 and read it row by row.",
)
def _open(length: int) -> Tensor:
    return _all(length)


@mistake(
    "only itself",
    "Each token may attend to itself alone: the past is blocked too.",
    "What does the third token need to know about the first two?",
)
def _alone(length: int) -> Tensor:
    return torch.eye(length, dtype=torch.bool)


@mistake(
    "more axes than promised",
    "The triangle is right, but it has at least one extra axis in front.",
    "The docstring promises (T, T). Broadcasting adds the others by itself.",
    lambda length: look_ahead_mask(length)[None],
)
def _deep(length: int) -> Tensor:
    return look_ahead_mask(length)[None, None]


EXERCISES = (
    Exercise(
        "6.B",
        "The look-ahead mask",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(Answer("look_ahead_mask", reference, {"mask": "query, key"}),),
        cases=_cases,
        proves="every entry, boolean, four lengths, one of them 1",
        misconceptions=(
            _no_self,
            _inverted,
            _by_one,
            _upper,
            _numbers,
            _marked,
            _added,
            _open,
            _alone,
            _deep,
        ),
    ),
)
