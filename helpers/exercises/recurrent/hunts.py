"""7.5: a state with too long a memory, dropout while sampling, a loss stuck at 3.14."""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import normal
from helpers.exercises.recurrent.shared import DOUBLE


def carried(state: Tensor) -> Tensor:
    """The course's own answer to 7.5."""
    return state.detach()


def _look(call: Callable, state: Tensor) -> Look:
    """Hand in a state that has a history, as after a batch."""
    old = (state.clone().requires_grad_() * 1.0).tanh()
    new = call(old)
    judged = {"state": new, "history": "cut off"}
    if isinstance(new, Tensor) and new.grad_fn is not None:
        judged["history"] = f"still there, back through {new.grad_fn.name()}"
    return Look(judged)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    sizes = {
        "two rows": (2, 5, DOUBLE),
        "three rows": (3, 4, DOUBLE),
        "float32": (2, 7, torch.float32),
    }
    return [
        Case(
            name,
            (normal(draw, batch, hidden, dtype=dtype),),
            inputs=("state",),
            look=_look,
        )
        for name, (batch, hidden, dtype) in sizes.items()
    ]


@mistake(
    "history kept",
    "The state still hangs on all batches before: backward will go through them again.",
    "Which method of a tensor gives the same numbers without their history?",
    lambda state: (state.retain_grad(), state)[1],
)
def _kept(state: Tensor) -> Tensor:
    return state


@mistake(
    "copied with its history",
    "A clone has numbers of its own, and the same history.",
    "It is not the numbers that must be cut off, it is where they came from.",
)
def _cloned(state: Tensor) -> Tensor:
    return state.clone()


@mistake(
    "memory lost",
    "The state is all zeros: the history is gone, and what was remembered as well.",
    "The numbers should be the same as before.",
    lambda state: torch.zeros(state.shape, dtype=state.dtype),
)
def _zeroed(state: Tensor) -> Tensor:
    return torch.zeros_like(state)


@mistake(
    "a flag on a result",
    "The state was told to need no gradient; only tensors that are nobody's result "
    "can be told so.",
    "Read the error: it names the method that it wants you to use.",
)
def _flagged(state: Tensor) -> Tensor:
    return state.requires_grad_(False)


@mistake(
    "numpy asked too early",
    "Numpy can't hold a history, so torch refuses to hand the numbers over.",
    "Read the error: which call does it want first?",
)
def _numpy(state: Tensor) -> Tensor:
    return torch.from_numpy(state.numpy())


def _any_case(value: Any) -> Look:
    """A letter is as good in lower case."""
    return Look({"value": value.strip().upper() if isinstance(value, str) else value})


def _rounded(value: Any) -> Look:
    """Three decimals are asked for; more of them do no harm."""
    if isinstance(value, Tensor) and value.is_floating_point() and value.numel() == 1:
        value = value.item()
    if isinstance(value, Real) and not isinstance(value, int):
        value = round(float(value), 3)
    return Look({"value": value})


EXERCISES = (
    Exercise(
        "7.5",
        "Bug hunt: three messages, one missing word",
        "function",
        difficulty=3,
        minutes=6,
        points=2,
        answers=(Answer("carried", carried, {"state": "batch, hidden"}),),
        cases=_cases,
        proves="the same numbers, and nothing behind them",
        misconceptions=(_kept, _cloned, _zeroed, _flagged, _numpy),
    ),
    Exercise(
        "7.5b",
        "Bug hunt: the model that would not repeat itself",
        "value",
        difficulty=2,
        minutes=4,
        points=1,
        answers=(Answer("with_dropout", "B"),),
        cases=lambda seed: [Case("your value", look=_any_case)],
        proves="what differs between two readings of one text, dropout did",
        misconceptions=(
            mistake(
                "the steady one",
                "A predicts the same each time, as a function should.",
                "What does dropout draw anew in every call?",
                "A",
            ),
            mistake(
                "both",
                "One of the two gives the same three lines.",
                "Compare the lines within A, then within B.",
                "BOTH",
                "AB",
                "A AND B",
            ),
        ),
    ),
    Exercise(
        "7.5c",
        "Bug hunt: why does the loss stop at 3.14?",
        "value",
        difficulty=3,
        minutes=6,
        points=2,
        answers=(Answer("lowest_loss", math.log(1 + 60 / math.e)),),
        cases=lambda seed: [Case("your value", look=_rounded)],
        proves="the best that cross-entropy can do with probabilities for logits",
        misconceptions=(
            mistake(
                "read off the curve",
                "This is the 3.14 of the text, or pi, which begins with the same "
                "digits.",
                "Compute the loss of the best row of probabilities: from the third "
                "decimal on it is another number.",
                3.14,
                math.pi,
            ),
            mistake(
                "no floor",
                "0 is the floor for logits, which may grow as they like.",
                "What is the largest number that a softmax can return?",
                0,
                0.0,
            ),
            mistake(
                "a guess",
                "That is the loss of a model that knows nothing: ln 61.",
                "Give the right character the probability 1, and the others 0.",
                4.1109,
            ),
            mistake(
                "all logits 1",
                "The sum was taken over 60 characters, the right one left out.",
                "How many terms has the sum under the softmax?",
                math.log(60 / math.e),
            ),
            mistake(
                "terms miscounted",
                "The sum under the softmax has other terms than one for each of the 61 "
                "characters.",
                "How many of them are exp(1), and how many exp(0)?",
                math.log(61 / math.e),
                math.log(1 + 61 / math.e),
            ),
            mistake(
                "not yet the loss",
                "That is the chance of the right character, or its logarithm.",
                "What does the loss make of that chance?",
                1 / (1 + 60 / math.e),
                -math.log(1 + 60 / math.e),
            ),
            mistake(
                "in bits",
                "The number is right in bits; `F.cross_entropy` counts in nats.",
                "Which logarithm does the loss take?",
                math.log2(1 + 60 / math.e),
            ),
        ),
    ),
)
