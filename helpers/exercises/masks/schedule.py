"""6.K: the paper's learning rate, which warms up and then cools down."""

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.training import noam_schedule

NAMES = ("step", "d_model", "warmup")


def _cases(seed: int) -> list[Case]:
    asked = [
        ("the first step", (1, 512, 4000)),
        ("in the warm-up", (1000, 512, 4000)),
        ("at its peak", (4000, 512, 4000)),
        ("after the warm-up", (100_000, 512, 4000)),
        ("a small model", (30 + seed % 100, 64, 200)),
        ("a small model, later", (700 + seed % 100, 64, 200)),
        ("no warm-up to speak of", (9, 128, 1)),
    ]
    return [
        Case(name, args, inputs=NAMES, tolerance=1e-6 * noam_schedule(*args))
        for name, args in asked
    ]


def reference(step: int, d_model: int, warmup: int) -> float:
    """The course's own answer to 6.K."""
    return noam_schedule(step, d_model, warmup)


@mistake(
    "the larger of the two",
    "The larger of the two terms was taken: the rate starts high and ends high.",
    "Plot both terms against the step. Which one is smaller during the warm-up?",
)
def _larger(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)


@mistake(
    "no warm-up",
    "The rate falls from the first step on.",
    "Which term should decide while step is less than warmup?",
)
def _cold(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * step**-0.5


@mistake(
    "no decay",
    "The rate keeps rising after the warm-up.",
    "Which term should decide when step is more than warmup?",
)
def _rising(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * step * warmup**-1.5


@mistake(
    "both terms added",
    "The two terms were added, so the rate is too high, most of all at its peak.",
    "What does the formula do with its two terms?",
)
def _sum(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * (step**-0.5 + step * warmup**-1.5)


@mistake(
    "counted from 0",
    "The rate is that of the next step, as if steps were counted from 0.",
    "Which number does the first step have?",
)
def _next(step: int, d_model: int, warmup: int) -> float:
    return noam_schedule(step + 1, d_model, warmup)


@mistake(
    "width left out",
    "The width has no influence: wide models get the same rate as narrow ones.",
    "What comes before the bracket in the formula?",
)
def _any_width(step: int, d_model: int, warmup: int) -> float:
    return min(step**-0.5, step * warmup**-1.5)


@mistake(
    "divided by the width itself",
    "The rate was divided by the width, but it should be divided by its root.",
    "Look at the exponent of d_model in the formula.",
)
def _narrow(step: int, d_model: int, warmup: int) -> float:
    return min(step**-0.5, step * warmup**-1.5) / d_model


@mistake(
    "root instead of its inverse",
    "The rate is multiplied by the root of the width, but it should be divided by it.",
    "Look at the sign of the exponent of d_model.",
)
def _wide(step: int, d_model: int, warmup: int) -> float:
    return d_model**0.5 * min(step**-0.5, step * warmup**-1.5)


@mistake(
    "wrong power of warmup",
    "The straight line and the curve don't meet at step = warmup.",
    "Set step = warmup in both terms: they should be equal.",
    lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step * warmup**-0.5),
    lambda step, d_model, warmup: d_model**-0.5 * min(step**-0.5, step / warmup),
)
def _power(step: int, d_model: int, warmup: int) -> float:
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.0)


EXERCISES = (
    Exercise(
        "6.K",
        "The learning rate of the paper",
        "function",
        difficulty=2,
        points=1,
        answers=(Answer("noam_schedule", reference, {"rate": ""}),),
        cases=_cases,
        proves="warm-up, peak and decay, two widths",
        misconceptions=(
            _larger,
            _cold,
            _rising,
            _sum,
            _next,
            _any_width,
            _narrow,
            _wide,
            _power,
        ),
    ),
)
