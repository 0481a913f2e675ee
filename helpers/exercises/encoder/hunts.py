"""4.K: a test that finds wrong layer norms, and a residual around a tuple."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import normal, reordered

# --- 4.K ---


def is_layer_norm(norm: Callable) -> bool:
    """The course's own answer to 4.K."""
    x = normal(torch.Generator().manual_seed(45), 4, 3)
    x[2] = 5.0 + x[2] / 1000
    return torch.allclose(norm(x), F.layer_norm(x, (3,)), rtol=0, atol=1e-8)


def norm_step(
    x: Tensor,
    *,
    axes: tuple[int, ...] = (-1,),
    correction: int = 0,
    centre: bool = True,
    eps: float = 1e-5,
    outside: float = 0.0,
    rounding: float = 0.0,
) -> Tensor:
    """Layer norm whose steps can be replaced: the patients of 4.K."""
    spread, mean = torch.var_mean(x, axes, correction=correction, keepdim=True)
    y = (x - mean * centre) / ((spread + eps).sqrt() + outside)
    return y * (1 + rounding * torch.finfo(y.dtype).eps)


def torchs_own(x: Tensor) -> Tensor:
    """One of the two right patients."""
    return F.layer_norm(x, x.shape[-1:])


PATIENTS: dict[str, Callable] = {
    "torch's own": torchs_own,
    # Right, and on every processor some last bits away from torch's.
    "the formula in steps": partial(norm_step, rounding=4.0),
    "one that divides by n - 1": partial(norm_step, correction=1),
    "one with epsilon after the root": partial(norm_step, eps=0.0, outside=1e-5),
    "the published one, which does both": partial(
        norm_step, correction=1, eps=0.0, outside=1e-5
    ),
    "one over the tokens": partial(norm_step, axes=(0,)),
    "one over everything": partial(norm_step, axes=(0, 1)),
    "one that does not centre": partial(norm_step, centre=False),
    "one that does nothing": torch.clone,
}


def _patients(seed: int) -> list[Case]:
    cases = (Case(name, (one,), inputs=("norm",)) for name, one in PATIENTS.items())
    return reordered(cases, seed)


def _probe(
    norm: Callable,
    size: tuple[int, int] = (4, 3),
    flat: bool = True,
    within: float = 1e-8,
    statistics: int | None = None,
) -> bool:
    x = normal(torch.Generator().manual_seed(55), *size)
    if flat:
        x[0] = 2.0 + x[0] / 1000
    y = norm(x)
    if statistics is not None:
        centred = bool((y.mean(-1).abs() < 1e-6).all())
        return centred and bool(
            ((y.std(-1, correction=statistics) - 1).abs() < 1e-3).all()
        )
    return torch.allclose(y, norm_step(x), rtol=0, atol=within)


ROWS = normal(torch.Generator().manual_seed(5), 5, 3)

PROBE_MISTAKES = (
    mistake(
        "only the shape",
        "The test says yes to all of them, also to those that are wrong; the shape "
        "tells nothing, for it is right in each.",
        "Which numbers would layer norm return? Compare with them.",
        lambda norm: True,
        lambda norm: norm(torch.randn(4, 3)).shape == (4, 3),
    ),
    mistake(
        "wide rows, loose tolerance",
        "The test says yes to a division by n - 1 and to epsilon after the root: its "
        "rows are so wide, or its tolerance is so loose, that neither shows.",
        "With how many numbers per row do n and n - 1 differ most?",
        partial(_probe, size=(4, 768), flat=False, within=1e-2),
        partial(_probe, size=(4, 512), flat=False, within=1e-2),
        partial(_probe, size=(4, 1024), flat=False, within=1e-2),
    ),
    mistake(
        "no row that hardly varies",
        "The test says yes to epsilon after the root: that shows only where the "
        "variance is tiny.",
        "On which rows do √(σ² + ε) and σ + ε differ most?",
        partial(_probe, flat=False, within=1e-3),
        partial(_probe, flat=False, within=1e-4),
        partial(_probe, flat=False, statistics=0),
    ),
    mistake(
        "only mean and standard deviation",
        "The test expects a division by n - 1, the default of torch's `var` and `std`, "
        "so wrong ones pass and right ones fail.",
        "Which `correction` does the formula need?",
        partial(_probe, flat=False, statistics=1),
    ),
    mistake(
        "a single row",
        "The test says yes to a norm over everything: for a single row, that is layer "
        "norm.",
        "How many rows does it take to see whether rows are mixed?",
        partial(_probe, size=(1, 3)),
        partial(_probe, size=(1, 4)),
    ),
    mistake(
        "a single row, compared loosely",
        "The test says yes to epsilon after the root and to a norm over everything: "
        "with a single row that varies, neither shows.",
        "On which rows do √(σ² + ε) and σ + ε differ most, and how many rows does it "
        "take?",
        partial(_probe, size=(1, 4), flat=False, within=1e-3),
        partial(_probe, size=(1, 4), flat=False, within=1e-4),
    ),
    mistake(
        "no room for rounding",
        "The test says no to a layer norm that is right and only rounded differently.",
        "How far apart may two right float64 results be?",
        lambda norm: torch.equal(norm(ROWS), torchs_own(ROWS)),
    ),
    mistake(
        "no to all of them",
        "The test says no to all of them, the right ones included.",
        "What does your test say of `F.layer_norm` itself, with the task's epsilon?",
        lambda norm: False,
    ),
    mistake(
        "verdict reversed",
        "The test says yes to the wrong ones and no to the right ones.",
        "True means that it is a layer norm.",
        lambda norm: not is_layer_norm(norm),
    ),
)


# --- 4.L ---


def pre_norm_step(x: Tensor, norm: Callable, attend: Callable) -> Tensor:
    """The course's own answer to 4.L."""
    output, _ = attend(norm(x))
    return x + output


def _attend(x: Tensor) -> tuple[Tensor, Tensor]:
    weights = (x @ x.mT / x.shape[-1] ** 0.5).softmax(-1)
    return weights @ x, weights


def _norm(x: Tensor) -> Tensor:
    return 1.5 * F.layer_norm(x, x.shape[-1:]) + 0.25


def _step_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    names = ("x", "norm", "attend")
    return [
        Case("a batch", (normal(draw, 2, 5, 7), _norm, _attend), inputs=names),
        Case(
            "float32",
            (normal(draw, 3, 4, 6, dtype=torch.float32), _norm, _attend),
            inputs=names,
        ),
        Case(
            "the gradient",
            (normal(draw, 2, 3, 5), _norm, _attend),
            inputs=names,
            gradient=True,
        ),
    ]


@mistake(
    "the tuple was added",
    "The attention returns a pair, and the whole pair was added to x.",
    "Print `type(attend(x))`: which part of it has the shape of x?",
)
def _tuple(x: Tensor, norm: Callable, attend: Callable) -> Any:
    return x + attend(norm(x))


@mistake(
    "the weights were added",
    "The second part of the pair, the weights, was added to x.",
    "Which part of the pair has the shape of x?",
)
def _weights(x: Tensor, norm: Callable, attend: Callable) -> Any:
    return x + attend(norm(x))[1]


@mistake(
    "first sequence of the batch",
    "The first sequence's output was added to all of them: an index was applied to the "
    "output itself, not to the pair.",
    "What does [0] take from a pair, and what from a tensor?",
)
def _first(x: Tensor, norm: Callable, attend: Callable) -> Any:
    return x + attend(norm(x))[0][0]


@mistake(
    "residual from the normalised input",
    "The normalised x was added back, so the untouched x is lost.",
    "Which x comes before the plus in the buggy line?",
)
def _normalised(x: Tensor, norm: Callable, attend: Callable) -> Any:
    return norm(x) + attend(norm(x))[0]


@mistake(
    "no residual",
    "The attention's output was returned without x.",
    "What was the sum in the buggy line for?",
)
def _alone(x: Tensor, norm: Callable, attend: Callable) -> Any:
    return attend(norm(x))[0]


@mistake(
    "no norm",
    "The attention got x without the norm.",
    "What goes into the attention in the buggy line?",
)
def _raw(x: Tensor, norm: Callable, attend: Callable) -> Any:
    return x + attend(x)[0]


@mistake(
    "post-norm",
    "The norm came after the sum; the buggy line was pre-norm.",
    "What goes into the attention in the buggy line?",
)
def _post(x: Tensor, norm: Callable, attend: Callable) -> Any:
    return norm(x + attend(x)[0])


EXERCISES = (
    Exercise(
        "4.K",
        "Bug hunt: a test for layer norms",
        "probe",
        difficulty=3,
        points=2,
        answers=(Answer("is_layer_norm", is_layer_norm, {"verdict": ""}),),
        cases=_patients,
        proves="two right layer norms pass your test, seven wrong ones do not",
        misconceptions=PROBE_MISTAKES,
    ),
    Exercise(
        "4.L",
        "Bug hunt: can only add a tensor",
        "function",
        difficulty=2,
        points=1,
        answers=(
            Answer("pre_norm_step", pre_norm_step, {"x": "batch, length, d_model"}),
        ),
        cases=_step_cases,
        proves="the output is added and the weights are not, in pre-norm order",
        misconceptions=(_tuple, _weights, _first, _normalised, _alone, _raw, _post),
    ),
)
