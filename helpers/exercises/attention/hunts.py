"""2.D: a test that finds sick attention, and two bug hunts in printed numbers."""

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake, value_cases
from helpers.exercises.attention.scaled import (
    late,
    scaled_dot_product_attention,
)
from helpers.exercises.attention.scaled import swap as attending
from helpers.exercises.kit import exchanging, normal, reordered


def looks_healthy(attend: Callable) -> bool:
    """The course's own answer to 2.D."""
    draw = torch.Generator().manual_seed(5)
    query, key = normal(draw, 5, 4), normal(draw, 7, 4)
    constant = torch.full((7, 3), 2.5, dtype=torch.float64)
    output, weights = attend(query, key, constant)
    rows = torch.allclose(weights.sum(-1), torch.ones(5, dtype=torch.float64))
    return rows and torch.allclose(output, torch.full_like(output, 2.5))


def _by_hand(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    rows = [
        (one[..., None, :] * key / one.shape[-1] ** 0.5).sum(-1).softmax(-1)
        for one in query.unbind(-2)
    ]
    weights = torch.stack(rows, -2)
    return torch.einsum("...qk,...kw->...qw", weights, value), weights


def _shifted(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    output, weights = scaled_dot_product_attention(query, key, value)
    return output + 0.1, weights


def _column_weights(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    output, _ = scaled_dot_product_attention(query, key, value)
    return output, (query @ key.mT).softmax(-2)


def _half_output(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    output, weights = scaled_dot_product_attention(query, key, value)
    return output / query.shape[-1] ** 0.5, weights


def _right_in_total(query: Tensor, key: Tensor, value: Tensor) -> tuple:
    output, _ = scaled_dot_product_attention(query, key, value)
    scores = query @ key.mT
    return output, scores.flatten().softmax(0).view(scores.shape) * len(query)


def _scores_as_weights(query: Tensor, key: Tensor, value: Tensor) -> tuple:
    output, _ = scaled_dot_product_attention(query, key, value)
    return output, query @ key.mT


PATIENTS = {
    "a right implementation": scaled_dot_product_attention,
    "a right implementation, query by query": _by_hand,
    "one that divides after the softmax": late,
    "one whose softmax runs over the queries": attending(
        normalise=lambda scores: scores.softmax(-2)
    ),
    "one with good weights and a shrunken output": _half_output,
    "one with a good output and scores for weights": _scores_as_weights,
    "one with a good output and columns that sum to 1": _column_weights,
    "one with a good output and weights that are right in total": _right_in_total,
    "one that adds 0.1 to a good output": _shifted,
}


def _patients(seed: int) -> list[Case]:
    cases = (Case(name, (one,), inputs=("attend",)) for name, one in PATIENTS.items())
    return reordered(cases, seed)


def _probe(
    attend: Callable,
    rows: Callable | None = lambda weights: (weights.sum(-1) - 1).abs().max() < 1e-4,
    constant: float | None = 2.5,
    exact: bool = False,
) -> bool:
    """The test, in steps that a mistake can exchange.

    50 rows: their sums can't all be exactly 1, whatever the processor.
    """
    draw = torch.Generator().manual_seed(7)
    query, key = torch.randn(50, 4, generator=draw), torch.randn(31, 4, generator=draw)
    value = torch.full((31, 3), constant if constant is not None else 1.0)
    output, weights = attend(query, key, value)
    if exact:
        return bool((weights.sum(-1) == 1).all() and (output == value[0]).all())
    healthy = rows is None or bool(rows(weights))
    return healthy and (constant is None or bool(torch.allclose(output, value[0])))


swap = exchanging(_probe)

PROBE_MISTAKES = (
    mistake(
        "only shapes",
        "Your test calls all of them healthy, also those with wrong numbers of the "
        "right shape.",
        "What must be true of the numbers in a row of weights?",
        lambda attend: True,
        swap(rows=None, constant=None),
    ),
    mistake(
        "only the rows",
        "Your test finds wrong rows of weights, but no wrong output.",
        "If every value is the same vector, what must come out?",
        swap(constant=None),
    ),
    mistake(
        "only the constant",
        "Your test finds a wrong output, but not wrong weights that come with it.",
        "What does each row of the weights sum to?",
        swap(rows=None),
    ),
    mistake(
        "columns instead of rows",
        "Your test calls weights healthy whose columns sum to 1, and right ones sick.",
        "Whose weights should sum to 1: those of a query or those of a key?",
        swap(rows=lambda weights: (weights.sum(-2) - 1).abs().max() < 1e-4),
    ),
    mistake(
        "the total of all weights",
        "Weights that are right in total pass your test, though one row has too much "
        "and another too little.",
        "Which of the weights should sum to 1 together?",
        swap(rows=lambda weights: (weights.sum() - len(weights)).abs() < 1e-3),
    ),
    mistake(
        "a constant of 0",
        "An output that has shrunk passes your test, as it does where all values are "
        "0: any share of 0 is 0.",
        "Which constant would reveal weights that sum to one half?",
        swap(constant=0.0),
    ),
    mistake(
        "sick in any case",
        "Your test calls all of them sick, the right ones included.",
        "Does it test what `attend` returns? If so, which of your conditions fails on "
        "right results? Sums of rounded numbers are seldom exactly 1.",
        swap(exact=True),
        lambda attend: False,
    ),
    mistake(
        "verdict reversed",
        "Your test calls the wrong ones healthy and the right ones sick.",
        "True means healthy.",
        lambda attend: not looks_healthy(attend),
    ),
)


EXERCISES = (
    Exercise(
        "2.D",
        "Bug hunt: a test that finds the sick attention",
        "probe",
        difficulty=3,
        points=2,
        core=True,
        answers=(Answer("looks_healthy", looks_healthy, {"verdict": ""}),),
        cases=_patients,
        proves="two right implementations pass your test, seven wrong ones do not",
        misconceptions=PROBE_MISTAKES,
    ),
    Exercise(
        "2.E",
        "Bug hunt: the root of what?",
        "value",
        difficulty=2,
        points=1,
        answers=(Answer("too_small_by", 5**0.5),),
        cases=lambda seed: value_cases(within=0.01),
        proves="the width of a query belongs under the root, not the number of queries",
        misconceptions=(
            mistake(
                "no root",
                "5 is the number under the root.",
                "The code divides by a square root, not by the number itself.",
                5.0,
                5,
            ),
            mistake(
                "upside down",
                "That is the size of the scores as a fraction of the size that they "
                "should have.",
                "The question asks for the factor by which they are too small.",
                5**-0.5,
            ),
        ),
    ),
    Exercise(
        "2.H",
        "Bug hunt: the cell that ran again",
        "value",
        difficulty=3,
        points=1,
        answers=(Answer("times_applied", 2),),
        cases=lambda seed: value_cases(),
        proves="the printed weights are the softmax of a softmax",
        misconceptions=(
            mistake(
                "once",
                "One softmax gives 0.1821 as the first number, but 0.1964 was printed.",
                "Compute one softmax of the scores and compare it with the printed "
                "row.",
                1,
            ),
            mistake(
                "three times",
                "Three softmaxes give 0.1993 as the first number, but 0.1964 was "
                "printed.",
                "Each softmax moves the row closer to 0.2: stop when it matches.",
                3,
            ),
        ),
    ),
)
