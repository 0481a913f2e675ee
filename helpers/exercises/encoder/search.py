"""4.J: one vector per sentence."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Property,
    mistake,
)
from helpers.exercises.kit import normal, padded


def mean_pool(hidden: Tensor, real: Tensor) -> Tensor:
    """The course's own answer to 4.J."""
    share = real.to(hidden) / real.sum(-1, keepdim=True)
    return (share[:, None] @ hidden).squeeze(1)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str, size: tuple, counts: tuple, dtype: Any = None, **more: Any
    ) -> Case:
        hidden = 1 + normal(draw, *size, dtype=dtype or torch.float64)
        real = padded(*counts, length=size[1])[:, 0, 0]
        return Case(name, (hidden, real), inputs=("hidden", "real"), **more)

    return [
        case("three sentences", (3, 5, 7), (5, 2, 3)),
        case("no padding", (2, 4, 3), (4, 4)),
        anywhere("padding in front and in the middle", draw),
        case("sentences as many as tokens", (4, 4, 6), (4, 1, 3, 2)),
        case("float32", (3, 6, 5), (1, 6, 4), torch.float32),
        case("the gradient", (2, 5, 3), (3, 5), gradient=True),
    ]


def anywhere(name: str, draw: torch.Generator) -> Case:
    """A case whose padding is not at the end."""
    real = torch.tensor([[0, 0, 1, 1, 1], [1, 0, 1, 0, 1], [1, 1, 0, 0, 1]]).bool()
    hidden = 1 + normal(draw, 3, 5, 4)
    return Case(name, (hidden, real), inputs=("hidden", "real"))


def _alone(case: Case, outputs: Mapping[str, Any]) -> str | None:
    """Padding must not matter: compare with a mean of the real tokens alone."""
    hidden, real = case.args
    for row in range(len(hidden)):
        expected = hidden[row, real[row]].mean(0)
        if (outputs["sentence"][row] - expected).abs().max() > 1e-4:
            return f"sentence {row}, with {int(real[row].sum())} tokens, is not"
    return None


def _summed(hidden: Tensor, real: Tensor) -> Tensor:
    return (hidden * real[..., None]).sum(1)


def _by_count(sums: Tensor, real: Tensor) -> Tensor:
    return sums / real.sum(1, keepdim=True)


def _up_to_the_last(hidden: Tensor, real: Tensor) -> Tensor:
    first = torch.arange(hidden.shape[1]) < real.sum(-1, keepdim=True)
    return mean_pool(hidden, first)


MISTAKES = (
    mistake(
        "padding only at the end",
        "The first tokens of each sentence were averaged, as many as are real, but "
        "padding may also come first or in between.",
        "`real` says for each token whether it counts, not only how many do.",
        _up_to_the_last,
    ),
    mistake(
        "padding included",
        "The mean includes the padding, whose vectors mean nothing.",
        "What does your function use `real` for?",
        lambda hidden, real: hidden.mean(1),
    ),
    mistake(
        "token counts without an axis",
        "The sums are (batch, d_model), but the token counts are only (batch), so they "
        "do not line up.",
        "Shapes line up from the right. Which axis should a sum not lose?",
        lambda hidden, real: _summed(hidden, real) / real.sum(1),
    ),
    mistake(
        "tokens lined up with features",
        "`real` has no axis for the features, or has it in the wrong place.",
        "Shapes line up from the right: write one below the other.",
        lambda hidden, real: _by_count((hidden * real).sum(1), real),
        lambda hidden, real: _by_count((hidden * real[:, None]).sum(1), real),
    ),
    mistake(
        "padding in the sum",
        "The sum includes the padding, though it was divided by the right number.",
        "Which vectors did you add up for the shortest sentence?",
        lambda hidden, real: _by_count(hidden.sum(1), real),
    ),
    mistake(
        "divided by the length",
        "Only real tokens were added up, but the sum was divided by the padded length.",
        "How many numbers were added up for the shortest sentence?",
        lambda hidden, real: (hidden * real[..., None]).mean(1),
    ),
    mistake(
        "sum instead of mean",
        "The real tokens were added up but not divided.",
        "What turns a sum into a mean?",
        _summed,
    ),
    mistake(
        "divided by all tokens of the batch",
        "The sum was divided by the number of real tokens in the whole batch.",
        "Along which axis do you count the tokens of a single sentence?",
        lambda hidden, real: _summed(hidden, real) / real.sum(),
    ),
    mistake(
        "only the first token",
        "The first token's vector was returned, and nothing was averaged.",
        "A mean needs all real tokens.",
        lambda hidden, real: hidden[:, 0],
    ),
    mistake(
        "mean of the padding",
        "The mean was taken over the padding, not over the real tokens.",
        "True means a real token.",
        lambda hidden, real: (
            _summed(hidden, ~real) / (~real).sum(-1, keepdim=True).clamp(min=1)
        ),
        lambda hidden, real: _summed(hidden, ~real) / (~real).sum(-1, keepdim=True),
    ),
    mistake(
        "over the features",
        "The mean was taken over the features, so one number per token came back.",
        "Which axis of (batch, length, d_model) should be gone afterwards?",
        lambda hidden, real: hidden.mean(-1) * real,
        lambda hidden, real: hidden.mean(-1),
    ),
)

EXERCISES = (
    Exercise(
        "4.J",
        "One vector per sentence",
        "function",
        difficulty=2,
        points=1,
        core=True,
        answers=(Answer("mean_pool", mean_pool, {"sentence": "batch, d_model"}),),
        cases=_cases,
        proves="padding does not count, wherever it stands, batch equal to "
        "length, float32, the gradient",
        properties=(Property("Is each row the mean of its real tokens", _alone),),
        misconceptions=MISTAKES,
    ),
)
