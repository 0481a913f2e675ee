"""2.A and 2.F: softmax and its gradient."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    Property,
    mistake,
)
from helpers.exercises.kit import exchanging, normal

# --- 2.A ---


def softmax(x: Tensor, dim: int) -> Tensor:
    """The course's own answer to 2.A."""
    powers = (x - x.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


def _softmax_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    names = ("x", "dim")
    table, block = normal(draw, 3, 5), normal(draw, 2, 3, 5)
    large = torch.tensor(
        [
            [2.0, 4.0, 1000.0],
            [-1000.0, -1001.0, -1003.0],
            [1001.0, 1000.0, 1003.0],
            [998.0, 999.0, 997.0],
        ]
    )
    return [
        Case(
            "the row [2, 4, 5]",
            (torch.tensor([2.0, 4.0, 5.0]).double(), 0),
            inputs=names,
        ),
        Case("each row of a table", (table, -1), inputs=names),
        Case("each column of a table", (table, 0), inputs=names),
        Case("the middle axis of three", (block, 1), inputs=names, gradient=True),
        Case("float32", (block.float(), 2), inputs=names),
        Case("numbers near 1000 and -1000", (large.double(), 1), inputs=names),
        Case("the same, float32", (large, 1), inputs=names, tolerance=1e-4),
    ]


def _sums_to_one(case: Case, outputs: Mapping[str, Any]) -> str | None:
    sums = outputs["probabilities"].sum(case.args[1]).flatten()
    off = sums[((sums - 1).abs() > 1e-4) | sums.isnan()]
    return f"one of them sums to {off[0].item():.4f}" if off.numel() else None


def _plain_softmax(
    x: Tensor,
    dim: int,
    *,
    peak: Callable = lambda x, dim: x.amax(dim, keepdim=True),
    total: Callable = lambda powers, dim: powers.sum(dim, keepdim=True),
) -> Tensor:
    """The softmax, in steps that a mistake can exchange."""
    powers = (x - peak(x, dim)).exp()
    return powers / total(powers, dim)


swap = exchanging(_plain_softmax)

SOFTMAX_MISTAKES = (
    mistake(
        "no maximum subtracted",
        "Numbers near 1000 reached the exponential, and exp(1000) is infinite.",
        "What may you subtract from all numbers of a softmax without changing it?",
        swap(peak=lambda x, dim: 0.0),
    ),
    mistake(
        "the formula from the cell above",
        "Nothing was subtracted, and each exponential was divided by the sum of the "
        "whole tensor: that is the line from the cell above.",
        "Two things are missing: what protects you from exp(1000), and where `dim` "
        "belongs.",
        lambda x, dim: x.exp() / x.exp().sum(),
    ),
    mistake(
        "something other than the maximum subtracted",
        "The mean or the smallest number was subtracted, and what is left can still be "
        "too large for an exponential.",
        "What must you subtract so that no number stays above 0?",
        swap(peak=lambda x, dim: x.mean(dim, keepdim=True)),
        swap(peak=lambda x, dim: x.amin(dim, keepdim=True)),
    ),
    mistake(
        "subtracted in the numerator only",
        "The maximum was subtracted in the numerator, but not in the sum below it.",
        "Numerator and denominator need the same exponentials.",
        lambda x, dim: (
            (x - x.amax(dim, keepdim=True)).exp() / x.exp().sum(dim, keepdim=True)
        ),
    ),
    mistake(
        "always the last axis",
        "In the sum, the maximum or both, the argument `dim` is ignored, and the last "
        "axis is used instead.",
        "Follow `dim` through your lines: each reduction needs it.",
        lambda x, dim: softmax(x, -1),
        swap(total=lambda e, dim: e.sum(-1, keepdim=True)),
        swap(peak=lambda x, dim: x.amax(-1, keepdim=True)),
    ),
    mistake(
        "always the first axis",
        "In the sum, the maximum or both, the argument `dim` is ignored, and the first "
        "axis is used instead.",
        "Follow `dim` through your lines: each reduction needs it.",
        lambda x, dim: softmax(x, 0),
        swap(total=lambda e, dim: e.sum(0, keepdim=True)),
        swap(peak=lambda x, dim: x.amax(0, keepdim=True)),
    ),
    mistake(
        "sum over everything",
        "Each exponential was divided by the sum of the whole tensor.",
        "Look at the denominator: which numbers should sum to 1 together?",
        swap(total=lambda powers, dim: powers.sum()),
        lambda x, dim: softmax(x.flatten(), 0).view(x.shape),
    ),
    mistake(
        "maximum of everything",
        "The largest number of the whole tensor was subtracted: a row far below it "
        "underflows to 0 / 0.",
        "Look at the maximum: like the sum, it belongs to one row.",
        swap(peak=lambda x, dim: x.max()),
    ),
    mistake(
        "reduced axis dropped",
        "The sum or the maximum lost its axis, so it no longer lines up with x.",
        "Print the shapes on both sides of the division or the subtraction.",
        swap(peak=lambda x, dim: x.amax(dim)),
        swap(total=lambda powers, dim: powers.sum(dim)),
    ),
    mistake(
        "maxima and indices together",
        "`x.max(dim)` returns two things, the maxima and their indices.",
        "Which of the two do you want to subtract?",
        lambda x, dim: x - x.max(dim),
        lambda x, dim: x - x.max(dim, keepdim=True),
    ),
    mistake(
        "logarithm returned",
        "The results are logarithms of probabilities.",
        "What is the last operation of your function?",
        lambda x, dim: x.log_softmax(dim),
        lambda x, dim: x - x.amax(dim, keepdim=True) - x.logsumexp(dim, keepdim=True),
    ),
    mistake(
        "sign reversed",
        "The smallest number gets the largest exponential.",
        "Look at the sign of what goes into the exponential.",
        lambda x, dim: softmax(-x, dim),
        lambda x, dim: (
            (x.amax(dim, keepdim=True) - x).exp()
            / (x.amax(dim, keepdim=True) - x).exp().sum(dim, keepdim=True)
        ),
    ),
    mistake(
        "divided by the maximum",
        "The numbers were divided by the maximum, and that changes the result.",
        "Which operation cancels in the fraction, because exp(a + b) = exp(a) exp(b)?",
        lambda x, dim: (x / x.amax(dim, keepdim=True)).softmax(dim),
    ),
    mistake(
        "a fixed number subtracted",
        "The same number was subtracted in every case: where the numbers are far from "
        "it, zeros or infinities are left.",
        "Which number of a slice is right to subtract from that slice?",
        swap(peak=lambda x, dim: 1000.0),
        swap(peak=lambda x, dim: 100.0),
    ),
    mistake(
        "cut off from autograd",
        "The shares are right, but no gradient gets through them to x.",
        "Look for what keeps no history: `.detach()`, `.data`, `.numpy()`, "
        "`torch.tensor(...)`, `torch.no_grad()`.",
        lambda x, dim: softmax(x.detach(), dim),
    ),
    mistake(
        "no division",
        "The exponentials were never divided by their sum.",
        "What makes the results sum to 1?",
        lambda x, dim: (x - x.amax(dim, keepdim=True)).exp(),
        lambda x, dim: x.exp(),
    ),
)


# --- 2.F ---


def softmax_jacobian(z: Tensor) -> Tensor:
    """The course's own answer to 2.F."""
    share = z.softmax(-1)
    return share.diag() - torch.outer(share, share)


def _jacobian_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    example = torch.tensor([1.0, 20.0, 3.0, 4.0], dtype=torch.float64)
    return [
        Case("one large number", (example,), inputs=("z",)),
        Case("three numbers", (normal(draw, 3),), inputs=("z",)),
        Case("seven numbers", (normal(draw, 7),), inputs=("z",)),
        Case("float32", (normal(draw, 5, dtype=torch.float32),), inputs=("z",)),
    ]


def _places(given: Any) -> Look:
    """The places in any order and any kind of collection, or a single one."""
    if isinstance(given, Tensor | np.ndarray):
        given = given.tolist()
    several = given if isinstance(given, tuple | list | set | range) else (given,)
    if not several or not all(isinstance(place, int | float) for place in several):
        return Look({"value": given})
    return Look({"value": tuple(sorted(several))})


def _gradient_rows(case: Case, outputs: Mapping[str, Any]) -> str | None:
    sums = outputs["jacobian"].sum(-1)
    off = sums[sums.abs() > 1e-4]
    return f"one row sums to {off[0].item():.4f}" if off.numel() else None


@mistake(
    "only the diagonal",
    "Only the diagonal was computed, as if each output depended on its own input "
    "alone.",
    "If one number grows, what happens to the probabilities of the others?",
    lambda z: z.softmax(-1) * (1 - z.softmax(-1)),
)
def _only_diagonal(z: Tensor) -> Tensor:
    share = z.softmax(-1)
    return (share * (1 - share)).diag()


@mistake(
    "sign of the off-diagonal",
    "Off the diagonal the sign is plus, as if all probabilities could grow together.",
    "If one probability grows, do the others grow or shrink?",
    lambda z: z.softmax(-1).diag() + torch.outer(z.softmax(-1), z.softmax(-1)),
)
def _plus(z: Tensor) -> Tensor:
    share = z.softmax(-1)
    outer = torch.outer(share, share)
    return outer - 2 * outer.diag().diag() + share.diag()


@mistake(
    "diagonal without the minus",
    "The diagonal holds p_i; the term -p_i p_i is missing there.",
    "Write out the case i = j: what does the product rule leave?",
)
def _full_diagonal(z: Tensor) -> Tensor:
    share = z.softmax(-1)
    outer = torch.outer(share, share)
    return share.diag() - outer + outer.diag().diag()


@mistake(
    "diagonal missing",
    "Every entry is -p_i p_j, on the diagonal as well.",
    "Write out the case i = j: there the numerator depends on z_i, too.",
)
def _no_diagonal(z: Tensor) -> Tensor:
    share = z.softmax(-1)
    return -torch.outer(share, share)


@mistake(
    "all signs reversed",
    "The size of each entry is right, but each sign is wrong.",
    "If z_i grows, does p_i grow or shrink?",
)
def _negative(z: Tensor) -> Tensor:
    return -softmax_jacobian(z)


@mistake(
    "diagonal empty",
    "Off the diagonal all is right, but on the diagonal there are zeros.",
    "Which formula holds for i = j?",
)
def _hollow(z: Tensor) -> Tensor:
    jacobian = softmax_jacobian(z)
    return jacobian - jacobian.diag().diag()


@mistake(
    "1 on the diagonal",
    "The table of products was subtracted from 1 on the diagonal, not from p_i.",
    "Which matrix has p_i on its diagonal, and zeros elsewhere?",
)
def _from_one(z: Tensor) -> Tensor:
    share = z.softmax(-1)
    return torch.eye(len(z), dtype=z.dtype) - torch.outer(share, share)


@mistake(
    "the diagonal's formula everywhere",
    "Every entry is p_i (1 - p_j), also where i and j differ.",
    "Which of the two formulas holds off the diagonal?",
)
def _everywhere(z: Tensor) -> Tensor:
    share = z.softmax(-1)
    return torch.outer(share, 1 - share)


@mistake(
    "diagonal counted twice",
    "On the diagonal p_i p_i was subtracted twice: once in p_i (1 - p_i), and once "
    "with the table of all products.",
    "Which of your two terms already contains the square on the diagonal?",
)
def _twice(z: Tensor) -> Tensor:
    share = z.softmax(-1)
    return (share * (1 - share)).diag() - torch.outer(share, share)


@mistake(
    "elementwise product",
    "`p * p` holds n products, each probability times itself, and broadcasting "
    "repeated them in every row.",
    "Which operation gives every product p_i p_j a place of its own?",
)
def _entrywise(z: Tensor) -> Tensor:
    share = z.softmax(-1)
    return share.diag() - share * share


@mistake(
    "dot product instead of outer product",
    "One and the same number, the sum of all squares, was subtracted everywhere: it is "
    "what `@` makes of two vectors.",
    "Which operation gives every product p_i p_j a place of its own?",
)
def _dot(z: Tensor) -> Tensor:
    share = z.softmax(-1)
    return share.diag() - share @ share


@mistake(
    "z instead of its softmax",
    "The formula was used with the numbers z, not with their softmax.",
    "In the formula p is a softmax. Where do you compute it?",
)
def _raw(z: Tensor) -> Tensor:
    return z.diag() - torch.outer(z, z)


EXERCISES = (
    Exercise(
        "2.A",
        "A softmax that survives large numbers",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(Answer("softmax", softmax, {"probabilities": "as x"}),),
        cases=_softmax_cases,
        proves="any axis, numbers near 1000 and -1000, float32, the gradient",
        properties=(Property("Does each slice sum to 1", _sums_to_one),),
        misconceptions=SOFTMAX_MISTAKES,
    ),
    Exercise(
        "2.F",
        "The gradient of softmax",
        "function",
        difficulty=3,
        points=2,
        answers=(
            Answer(
                "softmax_jacobian", softmax_jacobian, {"jacobian": "output i, input j"}
            ),
        ),
        cases=_jacobian_cases,
        proves="diagonal, off-diagonal, three lengths",
        properties=(Property("Does every row sum to 0", _gradient_rows),),
        misconceptions=(
            _only_diagonal,
            _plus,
            _full_diagonal,
            _no_diagonal,
            _negative,
            _hollow,
            _from_one,
            _everywhere,
            _twice,
            _entrywise,
            _dot,
            _raw,
        ),
    ),
    Exercise(
        "2.G",
        "A printed gradient that cannot be",
        "value",
        difficulty=2,
        points=1,
        answers=(Answer("impossible_entries", (1, 3)),),
        cases=lambda seed: [Case("your value", look=_places)],
        proves="a product of two shares is at most 1/4",
        misconceptions=(
            mistake(
                "all negative entries",
                "You named all negative entries, but some entries of a softmax "
                "gradient really are negative.",
                "How large can p_i p_j be at most, if p_i + p_j is at most 1?",
                (1, 2, 3),
            ),
            mistake(
                "one of the two",
                "That is an impossible entry, but not the only one.",
                "Compare every other entry with the largest possible product.",
                (1,),
                (3,),
            ),
            mistake(
                "values instead of places",
                "You gave the entries themselves, not their places.",
                "Count the places from 0.",
                (-2.7149, -3.0553),
            ),
            mistake(
                "counted from 1",
                "These would be the right entries if counting started at 1.",
                "Python counts from 0.",
                (2, 4),
            ),
            mistake(
                "the smallest entry",
                "You named the entry of -1.1e-07, but a gradient may be tiny.",
                "Look for an upper bound: how large can p_i p_j be?",
                (2,),
            ),
        ),
    ),
)
