"""Lesson 00: one toy exercise, to see the four outcomes of a check."""

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import normal


def row_means(x: Tensor) -> Tensor:
    """The course's own answer to 0.A."""
    return x.mean(-1)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    sizes = {"a table": (3, 5), "a batch of tables": (2, 3, 5), "one row": (7,)}
    return [
        Case(name, (normal(draw, *size),), inputs=("x",))
        for name, size in sizes.items()
    ]


@mistake(
    "mean over the first axis",
    "The mean was taken over the first axis: in a table, down the columns.",
    "Which axis does a row run along? Compare the two shapes.",
)
def _columns(x: Tensor) -> Tensor:
    return x.mean(0)


@mistake(
    "mean over everything",
    "All rows were averaged together into a single number.",
    "A mean takes an axis; without one it averages everything.",
    lambda x: x.sum() / x.numel(),
)
def _everything(x: Tensor) -> Tensor:
    return x.mean()


@mistake(
    "sum instead of mean",
    "Each row was added up, but not divided by how many numbers it holds.",
    "What turns a sum into a mean?",
)
def _sum(x: Tensor) -> Tensor:
    return x.sum(-1)


@mistake(
    "axis counted from the front",
    "The axis was counted from the front, so it is the last one only for one number of "
    "axes.",
    "Count from the end: which index names the last axis, however many there are?",
    lambda x: x.mean(2),
)
def _second(x: Tensor) -> Tensor:
    return x.mean(1)


@mistake(
    "a loop over the first axis",
    "Each entry along the first axis was averaged as a whole: in a batch of tables "
    "that is a whole table, in a single row just one number.",
    "What does `for row in x` hand you when x has three axes, or only one?",
)
def _loop(x: Tensor) -> Tensor:
    return x.flatten(1).mean(1) if x.dim() > 1 else x


@mistake(
    "a loop that adds up what it gets",
    "In a loop over the first axis each entry was added up along its own first axis, "
    "which is a row only in a table.",
    "What does `for row in x` hand you when x has three axes, or only one?",
)
def _loop_of_sums(x: Tensor) -> Tensor:
    return torch.stack([sum(row) / len(row) for row in x])


@mistake(
    "divided by the number of rows",
    "Each row was added up, but divided by the size of the first axis.",
    "How many numbers did you add up for one row?",
)
def _by_rows(x: Tensor) -> Tensor:
    return x.sum(-1) / x.shape[0]


@mistake(
    "axis kept",
    "The averaged axis is still there, with size 1.",
    "Compare the two shapes. What does `keepdim` decide, and what does `None` as an "
    "index add?",
    lambda x: x.mean(-1)[..., None],
)
def _kept(x: Tensor) -> Tensor:
    return x.mean(-1, keepdim=True)


EXERCISES = (
    Exercise(
        "0.A",
        "The mean of each row",
        "function",
        difficulty=1,
        core=True,
        answers=(Answer("row_means", row_means, {"means": "x without its last axis"}),),
        cases=_cases,
        proves="the right axis for one, two and three axes",
        misconceptions=(
            _columns,
            _everything,
            _sum,
            _second,
            _loop,
            _loop_of_sums,
            _by_rows,
            _kept,
        ),
    ),
)
