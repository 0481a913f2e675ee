"""11.N: keep the tokens that are not much less likely than the best one."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.generation.shared import (
    NEVER,
    ZERO_TIMES_INFINITY,
    filtered,
)
from helpers.exercises.kit import normal
from helpers.generation import sampling


def reference(logits: Tensor, p: float) -> Tensor:
    """The course's own answer to 11.N."""
    return sampling.min_p_filter(logits, p)


def _look(call: Callable, logits: Tensor, p: float) -> Look:
    return Look(filtered(call(logits, p)))


def _cases(seed: int) -> list[Case]:
    """No probability is close to its bound: no rounding decides."""
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, p: float, *shares: tuple[float, ...], **how: Any) -> Case:
        logits = torch.tensor(shares, dtype=torch.float64).log()
        order = torch.randperm(logits.shape[-1], generator=draw)
        shifts = normal(draw, len(shares), 1)  # a constant changes no probability
        logits = (logits[:, order] + shifts).to(how.get("dtype", torch.float64))
        return Case(name, (logits, p), inputs=("logits", "p"), look=_look)

    sure, even = (0.9, 0.05, 0.03, 0.015, 0.005), (0.24, 0.22, 0.2, 0.18, 0.16)
    mixed, two = (0.5, 0.2, 0.12, 0.1, 0.06, 0.02), (0.44, 0.41, 0.09, 0.04, 0.015)
    return [
        case("p = 0.1, a sure row and an even one", 0.1, sure, even),
        case("p = 0.02", 0.02, sure, two),
        case("p = 0.3, one row", 0.3, mixed),
        case("p = 0.15, float32", 0.15, mixed, mixed[::-1], dtype=torch.float32),
        case("p = 0.7: few are left", 0.7, even, two, sure),
        case("two best ones that are equal", 0.5, (0.4, 0.4, 0.15, 0.05)),
    ]


def _keep(logits: Tensor, kept: Tensor, filler: float = NEVER) -> Tensor:
    return logits.masked_fill(~kept, filler)


def _kept(logits: Tensor, p: float) -> Tensor:
    shares = logits.softmax(-1)
    return shares >= p * shares.amax(-1, keepdim=True)


@mistake(
    "each token against p",
    "Each probability was compared with p itself, as if the best one did not matter.",
    "The bound is a share of something. Of what?",
)
def _absolute(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, logits.softmax(-1) >= p)


@mistake(
    "a share of the best score",
    "Scores were compared with a share of the best score; the rule is about "
    "probabilities.",
    "What has to happen to scores before one of them can be a tenth as likely as "
    "another?",
)
def _scores(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, logits >= p * logits.amax(-1, keepdim=True))


@mistake(
    "one bound for the batch",
    "All rows were compared with the same bound.",
    "How many rows does your bound have?",
)
def _shared(logits: Tensor, p: float) -> Tensor:
    shares = logits.softmax(-1)
    return _keep(logits, shares >= p * shares.max())


@mistake(
    "top-p again",
    "Probabilities were added up until they reached p: that is top-p.",
    "Nothing is added up here. Which two probabilities are compared?",
)
def _nucleus(logits: Tensor, p: float) -> Tensor:
    return sampling.top_p_filter(logits, p)


@mistake(
    "measured from the other end",
    "The bound was 1 - p of the best probability.",
    "With p = 0.1, how likely must a token be beside the best one?",
)
def _other_end(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, _kept(logits, 1 - p))


@mistake(
    "keeps the tail",
    "What should be blocked was kept, and the other way round.",
    "Read your condition aloud: which tokens get minus infinity?",
)
def _tail(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, ~_kept(logits, p))


@mistake(
    "zero for blocked",
    "Blocked tokens got the score 0; after a softmax that is a probability above 0.",
    "Which score has the exponential 0?",
)
def _zero(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, _kept(logits, p), 0.0)


@mistake(
    "a low number for blocked",
    "Blocked tokens got a very low score, but not minus infinity.",
    "What does the docstring promise for blocked tokens?",
)
def _finite(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, _kept(logits, p), -1e9)


@mistake(
    "probabilities returned",
    "Probabilities came back; the task asks for scores.",
    "What does the docstring promise?",
    lambda logits, p: logits.softmax(-1) * _kept(logits, p),
)
def _softmax(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, _kept(logits, p)).softmax(-1)


@mistake(
    *ZERO_TIMES_INFINITY,
    lambda logits, p: logits + ~_kept(logits, p) * NEVER,
)
def _product(logits: Tensor, p: float) -> Tensor:
    kept = _kept(logits, p)
    return logits * kept + ~kept * NEVER


EXERCISES = (
    Exercise(
        "11.N",
        "Min-p: a share of the best",
        "function",
        difficulty=2,
        points=2,
        answers=(Answer("min_p_filter", reference, {"logits": "batch, token"}),),
        cases=_cases,
        proves="a bound of its own for each row, sure rows and even ones, minus "
        "infinity",
        misconceptions=(
            _absolute,
            _scores,
            _shared,
            _nucleus,
            _other_end,
            _tail,
            _zero,
            _finite,
            _softmax,
            _product,
        ),
    ),
)
