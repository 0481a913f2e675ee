"""7.G: a state with too long a memory; 7.J: a loss that stops at 3.14."""

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import normal, number


def carried(state: Tensor) -> Tensor:
    """The course's own answer to 7.G."""
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
        "two rows": (2, 5, torch.float64),
        "three rows": (3, 4, torch.float64),
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
    "The state still depends on all the batches before it, and `backward` will go "
    "through them again.",
    "Which tensor method gives the same numbers without their history?",
    lambda state: (state.retain_grad(), state)[1],
    lambda state: state * 1,
    lambda state: state + 0,
    lambda state: state.view_as(state),
)
def _kept(state: Tensor) -> Tensor:
    return state


@mistake(
    "copied with its history",
    "The state was cloned: a clone has the same numbers, and the same history.",
    "What has to be cut off is not the numbers, but where they came from.",
)
def _cloned(state: Tensor) -> Tensor:
    return state.clone()


@mistake(
    "not called",
    "The method itself came back: it was not called.",
    "What has to stand behind the name of a method, so that it runs?",
)
def _not_called(state: Tensor) -> Callable:
    return state.detach


@mistake(
    "memory lost",
    "The state is all zeros: the history is gone, but so is everything that was "
    "remembered.",
    "The numbers should be the same as before.",
    lambda state: torch.zeros(state.shape, dtype=state.dtype),
)
def _zeroed(state: Tensor) -> Tensor:
    return torch.zeros_like(state)


@mistake(
    "requires_grad turned off",
    "`requires_grad` was turned off, which torch allows only for tensors that were "
    "not computed from others.",
    "Read the error: it names the method to use instead.",
)
def _flagged(state: Tensor) -> Tensor:
    return state.requires_grad_(False)


@mistake(
    "NumPy too early",
    "The state was converted to NumPy while it had its history, which torch refuses.",
    "Read the error: which call does it want first?",
)
def _numpy(state: Tensor) -> Tensor:
    return torch.from_numpy(state.numpy())


def _rounded(value: Any) -> Look:
    """Three decimals are wanted; more of them do no harm."""
    value = number(value)
    if isinstance(value, Real) and not isinstance(value, int):
        value = round(float(value), 3)
    return Look({"value": value})


EXERCISES = (
    Exercise(
        "7.G",
        "Bug hunt: three messages, one missing word",
        "function",
        difficulty=1,
        points=2,
        answers=(Answer("carried", carried, {"state": "batch, hidden"}),),
        cases=_cases,
        proves="the same numbers, without their history",
        misconceptions=(_kept, _cloned, _not_called, _zeroed, _flagged, _numpy),
    ),
    Exercise(
        "7.J",
        "Bug hunt: why does the loss stop at 3.14?",
        "value",
        difficulty=3,
        points=2,
        answers=(Answer("lowest_loss", math.log(1 + 60 / math.e)),),
        cases=lambda seed: [Case("your value", look=_rounded)],
        proves="the lowest loss that is left when probabilities are taken for logits",
        misconceptions=(
            mistake(
                "read off the curve",
                "This is the 3.14 from the text, or pi, which starts with the same "
                "digits.",
                "Compute the loss of the best row of probabilities: rounded to three "
                "decimals, it is another number.",
                3.14,
                math.pi,
            ),
            mistake(
                "no floor",
                "0 is the lowest loss for logits, which can grow without limit.",
                "What is the largest number that a softmax can return?",
                0,
                0.0,
            ),
            mistake(
                "the loss of a guess",
                "That is the loss of a model that knows nothing: ln 61.",
                "Give the right character the probability 1 and the others 0: what is "
                "the loss then?",
                4.1109,
            ),
            mistake(
                "right character left out",
                "The sum in the softmax was taken over 60 characters, without the "
                "right one.",
                "How many terms does the sum in the softmax have?",
                math.log(60 / math.e),
            ),
            mistake(
                "terms miscounted",
                "The sum in the softmax does not have one right term for each of the "
                "61 characters.",
                "How many of the terms are exp(1), and how many are exp(0)?",
                math.log(61 / math.e),
                math.log(1 + 61 / math.e),
                math.log(1 + 59 / math.e),
            ),
            mistake(
                "not yet the loss",
                "That is the probability of the right character, or its logarithm.",
                "How does the loss follow from that probability?",
                1 / (1 + 60 / math.e),
                -math.log(1 + 60 / math.e),
            ),
            mistake(
                "cut off, not rounded",
                "The digits after the third decimal were cut off, not rounded.",
                "Which digit comes fourth, and what does it do to the third?",
                3.138,
            ),
            mistake(
                "the sum alone",
                "This is the logarithm of the sum in the softmax alone.",
                "The softmax divides something by that sum. What is its logarithm?",
                math.log(math.e + 60),
            ),
            mistake(
                "logarithm to base 10",
                "The logarithm was taken to base 10; `F.cross_entropy` takes the "
                "natural one.",
                "Which function of `math` gives the natural logarithm?",
                math.log10(1 + 60 / math.e),
            ),
            mistake(
                "in bits",
                "The number is right in bits, but `F.cross_entropy` counts in nats.",
                "Which logarithm does the loss use?",
                math.log2(1 + 60 / math.e),
            ),
        ),
    ),
)
