"""6.8: the paper's learning rate, which warms up and then cools down."""

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.training import noam_schedule

NAMES = ("step", "d_model", "warmup")


def _cases(seed: int) -> list[Case]:
    asked = [
        ("the first step", (1, 512, 4000)),
        ("in the warm-up", (1000, 512, 4000)),
        ("at its peak", (4000, 512, 4000)),
        ("after the warm-up", (100_000, 512, 4000)),
        ("a small model", (30 + seed, 64, 200)),
        ("a small model, later", (700 + seed, 64, 200)),
        ("no warm-up to speak of", (9, 128, 1)),
    ]
    return [
        Case(name, args, inputs=NAMES, tolerance=1e-6 * noam_schedule(*args))
        for name, args in asked
    ]


def reference(step: int, d_model: int, warmup: int) -> float:
    """The course's own answer to 6.8."""
    return noam_schedule(step, d_model, warmup)


@mistake(
    "the larger of the two",
    "The larger of the two terms was taken: the rate starts high and ends high.",
    "Draw both terms over the steps. Which one is below during the warm-up?",
)
def _larger(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)


@mistake(
    "no warm-up",
    "The rate falls from the first step on.",
    "Which term should rule while step is less than warmup?",
)
def _cold(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * step**-0.5


@mistake(
    "no way down",
    "The rate goes on rising after the warm-up.",
    "Which term should rule when step is more than warmup?",
)
def _rising(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * step * warmup**-1.5


@mistake(
    "width left out",
    "The width has no influence: wide models learn as fast as narrow ones.",
    "What stands in front of the bracket in the formula?",
)
def _any_width(step: int, d_model: int, warmup: int) -> float:
    return min(step**-0.5, step * warmup**-1.5)


@mistake(
    "root for its inverse",
    "The width multiplies the rate by its root; it should divide it.",
    "Look at the sign of the exponent of d_model.",
)
def _wide(step: int, d_model: int, warmup: int) -> float:
    return d_model**0.5 * min(step**-0.5, step * warmup**-1.5)


@mistake(
    "warm-up with another power",
    "The straight line and the root don't meet at step = warmup.",
    "Set step = warmup in both terms: they should be equal.",
    lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step * warmup**-0.5),
    lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step / warmup),
)
def _power(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.0)


EXERCISES = (
    Exercise(
        "6.8",
        "The learning rate of the paper",
        "function",
        difficulty=2,
        minutes=8,
        points=1,
        answers=(Answer("noam_schedule", reference, {"rate": ""}),),
        cases=_cases,
        proves="warm-up, peak and decay, two widths",
        misconceptions=(_larger, _cold, _rising, _any_width, _wide, _power),
    ),
)
