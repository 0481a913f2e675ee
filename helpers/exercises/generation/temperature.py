"""11.B: the temperature."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import normal
from helpers.generation import sampling


def reference(logits: Tensor, temperature: float) -> Tensor:
    """The course's own answer to 11.B."""
    return sampling.apply_temperature(logits, temperature)


def _look(call: Callable, logits: Tensor, temperature: float) -> Look:
    """A constant added to all scores changes no probability, so it is taken off."""
    before = logits.clone()
    scores: Any = call(logits, temperature)
    if not isinstance(scores, Tensor) or scores.shape != logits.shape:
        return Look({"logits": scores})
    above = scores - scores.amax(-1, keepdim=True)
    judged = {"logits minus the maximum of their row": above}
    if temperature != 1:  # where nothing has to change
        judged["change of the scores"] = _change(scores - before)
    return Look(judged)


def _change(apart: Tensor) -> str:
    """Whether each score moved by an amount of its own."""
    if (apart.abs() < 1e-5).all():
        return "no change"
    alike = ((apart - apart[:, :1]).abs() < 1e-5).all()
    return "the same for a whole row" if alike else "another one for each"


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, temperature: float, *size: int, **how: Any) -> Case:
        logits = 2 * normal(draw, *size, **how) + 1
        return Case(
            name, (logits, temperature), inputs=("logits", "temperature"), look=_look
        )

    return [
        case("temperature 0.5", 0.5, 3, 7),
        case("temperature 3, float32", 3.0, 2, 11, dtype=torch.float32),
        case("temperature 0.7, one row", 0.7, 1, 5),
        case("temperature 1: as it was", 1.0, 4, 6),
        case("temperature 0.01", 0.01, 2, 3),
    ]


@mistake(
    "multiplied",
    "The scores were multiplied by the temperature: hot became cold.",
    "A high temperature should flatten the distribution. Does yours make the gaps "
    "between scores smaller?",
)
def _multiplied(logits: Tensor, temperature: float) -> Tensor:
    return logits * temperature


@mistake(
    "applied to probabilities",
    "The probabilities were divided, not the scores: once normalised, they are what "
    "they were before.",
    "How does the ratio of two probabilities change when both are divided by the same "
    "number?",
    lambda logits, temperature: logits.softmax(-1),  # divided, then normalised again
)
def _probabilities(logits: Tensor, temperature: float) -> Tensor:
    return logits.softmax(-1) / temperature


@mistake(
    "probabilities returned",
    "The exponential was already taken, but the filters that come next expect scores.",
    "What does the docstring promise, scores or probabilities?",
    lambda logits, temperature: (logits / temperature).exp(),
)
def _softmax(logits: Tensor, temperature: float) -> Tensor:
    return (logits / temperature).softmax(-1)


@mistake(
    "powers of probabilities",
    "Probabilities were raised to a power. Normalised, that is the right "
    "distribution, but the task asks for scores.",
    "What does the docstring promise, scores or probabilities?",
)
def _powers(logits: Tensor, temperature: float) -> Tensor:
    return logits.softmax(-1) ** (1 / temperature)


@mistake(
    "root of the temperature",
    "The scores were divided by the square root of the temperature.",
    "The root belongs to attention. What does the formula say here?",
)
def _root(logits: Tensor, temperature: float) -> Tensor:
    return logits / temperature**0.5


@mistake(
    "no effect",
    "The scores came back as they went in: the temperature has no effect on them.",
    "Where does the formula use the temperature, and does that reach your `return`?",
    lambda logits, temperature: logits.clone(),
)
def _unused(logits: Tensor, temperature: float) -> Tensor:
    return logits


@mistake(
    "the same amount for all",
    "All scores of a row moved by the same amount, which changes no probability.",
    "What does the softmax do with a number that is added to every score?",
    lambda logits, temperature: logits + temperature,
    lambda logits, temperature: logits.log_softmax(-1),
)
def _subtracted(logits: Tensor, temperature: float) -> Tensor:
    return logits - temperature


@mistake(
    "divided by the standard deviation",
    "The scores were also divided by their standard deviation, so every row looks "
    "equally sure.",
    "How many numbers does the formula divide by?",
)
def _spread(logits: Tensor, temperature: float) -> Tensor:
    return logits / (temperature * logits.std(-1, keepdim=True))


@mistake(
    "divided by the square",
    "The scores were divided by the temperature twice.",
    "Count how often your code uses the temperature.",
)
def _square(logits: Tensor, temperature: float) -> Tensor:
    return logits / temperature**2


EXERCISES = (
    Exercise(
        "11.B",
        "Temperature",
        "function",
        difficulty=1,
        points=1,
        core=True,
        answers=(Answer("apply_temperature", reference, {"logits": "batch, token"}),),
        cases=_cases,
        proves="five temperatures, scores in and scores out",
        misconceptions=(
            _multiplied,
            _probabilities,
            _softmax,
            _powers,
            _root,
            _unused,
            _subtracted,
            _spread,
            _square,
        ),
    ),
)
