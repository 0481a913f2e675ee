"""4.C: layer norm."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    Property,
    mistake,
)
from helpers.checks.plain import plain
from helpers.exercises.kit import exchanging, normal


class LayerNorm(nn.Module):
    """The course's own answer to 4.C; misconceptions replace one of its steps."""

    correction = 0  # the variance is divided by D minus this

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        """Create a gain of ones and a bias of zeros."""
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        return self.finish(self.standard(x))

    def standard(self, x: Tensor) -> Tensor:
        """Bring each row to mean 0 and variance 1."""
        return self.centre(x) / self.root(self.variance(x))

    def axes(self, x: Tensor) -> tuple[int, ...]:
        """What mean and variance are taken over."""
        return (-1,)

    def mean(self, x: Tensor) -> Tensor:
        """One number for each row."""
        return x.mean(self.axes(x), keepdim=True)

    def centre(self, x: Tensor) -> Tensor:
        """The rows without their means."""
        return x - self.mean(x)

    def variance(self, x: Tensor) -> Tensor:
        """Another number for each row."""
        return x.var(self.axes(x), correction=self.correction, keepdim=True)

    def root(self, variance: Tensor) -> Tensor:
        """What the rows are divided by."""
        return (variance + self.eps).sqrt()

    def finish(self, x: Tensor) -> Tensor:
        """Apply gain and bias."""
        return torch.addcmul(self.bias, self.weight, x)


PLAIN = "output with gain 1 and bias 0"
FAR = 1000.0  # added to rows of float32 that vary by a tenth


def _look(call: Any, x: Tensor, gain: Tensor, shift: Tensor) -> Look:
    """Run with a gain and a bias that are not 1 and 0, then with 1 and 0."""
    seen = {}
    for name in ("weight", "bias"):
        seen[f"part {name}"] = _learned(getattr(call, name, None))
    if not all(found.startswith("parameter") for found in seen.values()):
        own = len(list(call.parameters())) if isinstance(call, nn.Module) else 0
        return Look({**seen, "output": None}, {"parameters": own})
    for name, wanted in (("weight", "ones"), ("bias", "zeros")):
        numbers = getattr(call, name).detach()
        right = torch.equal(numbers, getattr(torch, wanted)(numbers.shape).to(numbers))
        seen[f"{name} of a new module"] = wanted if right else f"not all {wanted}"
    for name, one in (("output", (gain.to(x), shift.to(x))), (PLAIN, (1.0, 0.0))):
        numbers = {
            part: torch.zeros_like(gain).to(x) + value
            for part, value in zip(("weight", "bias"), one, strict=True)
        }
        seen[name] = functional_call(call, numbers, (x,))
    return Look(seen)


def _far_look(call: Any, x: Tensor, gain: Tensor, shift: Tensor) -> Look:
    """Run on rows, and on the same rows with one number added to all of them.

    Both results are the same. A variance that is the difference of two large numbers
    makes them differ; by how much depends on the processor, so no number is kept.
    """
    seen = _look(call, x, gain, shift)
    near = seen.judged.get(PLAIN)
    if near is None:
        return seen
    numbers = {"weight": torch.ones_like(gain), "bias": torch.zeros_like(shift)}
    far = functional_call(call, numbers, (x + FAR,))
    said = "the same" if _alike(plain(far), plain(near)) else "something else"
    return Look({**seen.judged, f"output with {FAR:.0f} added to x": said}, seen.clues)


def _alike(one: Any, other: Any) -> bool:
    """Whether two outputs of float32 are equal to two digits."""
    if not (isinstance(one, Tensor) and isinstance(other, Tensor)):
        return False
    if one.shape != other.shape:
        return False
    room = 1e-2 * float(other.detach().abs().max().clamp(1))
    return bool((one - other).abs().max() < room)


def _learned(value: Any) -> str:
    if isinstance(value, nn.Parameter):
        return f"parameter {tuple(value.shape)}"
    plain = "a plain tensor, which no optimizer sees"
    return plain if isinstance(value, Tensor) else "missing"


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str, x: Tensor, eps: float = 1e-5, look: Any = _look, **more: Any
    ) -> Case:
        gain, shift = (normal(draw, x.shape[-1]).round(decimals=1) for _ in range(2))
        gain = gain.abs() + 0.5
        inputs = ("x", "weight", "bias")
        args, init = (x, gain.to(x), shift.to(x)), (x.shape[-1], eps)
        return Case(name, args, inputs=inputs, init=init, look=look, **more)

    example = torch.tensor([[2.0, -1.0, 3.0, 0.0]], dtype=torch.float64)
    rows = normal(draw, 3, 5)
    rows[1] = 4.0 + 1e-3 * rows[1]  # hardly varies: eps decides
    constant = normal(draw, 2, 3, 6)
    constant[1, 1] = 0.7  # does not vary at all
    tenths = normal(draw, 4, 6, scale=0.1, dtype=torch.float32)
    tenths = (tenths + FAR) - FAR  # so that nothing is lost when it is added
    return [
        case("the row [2, -1, 3, 0]", example),
        case("a batch of sentences", 3 * normal(draw, 2, 5, 7) + 1),
        case("one row that hardly varies", rows),
        case("one row that is constant", constant, eps=1e-6),
        case("a large eps", normal(draw, 4, 3), eps=0.5),
        case("two numbers per row", normal(draw, 3, 2)),
        case("float32", normal(draw, 2, 4, 9, dtype=torch.float32)),
        case("the gradient", normal(draw, 2, 3, 5), gradient=True),
        case("float32, far from 0", tenths, look=_far_look),
    ]


def _centred(case: Case, outputs: Mapping[str, Any]) -> str | None:
    """The first row whose mean is not 0, where gain and bias were 1 and 0."""
    means = outputs[PLAIN].mean(-1).flatten()
    off = means[means.abs() > 1e-3]
    return f"one has mean {off[0].item():.4f}" if off.numel() else None


swap = exchanging(LayerNorm)


def _over(*axes: int) -> type:
    return swap(axes=lambda self, x: axes or tuple(range(x.dim())))


def _mean_square(self: LayerNorm, x: Tensor) -> Tensor:
    return x.square().mean(self.axes(x), keepdim=True)


def _difference(self: LayerNorm, x: Tensor) -> Tensor:
    return _mean_square(self, x) - self.mean(x).square()


def _outside(self: LayerNorm, variance: Tensor) -> Tensor:
    return variance.sqrt() + self.eps


def _start(**numbers: Callable) -> Callable:
    """An `__init__` that starts the gain or the bias as other numbers."""

    def build(self: LayerNorm, d_model: int, eps: float = 1e-5) -> None:
        LayerNorm.__init__(self, d_model, eps)
        for name, draw in numbers.items():
            setattr(self, name, nn.Parameter(draw(d_model)))

    return build


class _Bare(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return LayerNorm.standard(self, x)


class _Greek(_Bare):
    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__(d_model, eps)
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))


class _Plain(_Bare):
    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__(d_model, eps)
        self.weight, self.bias = torch.ones(d_model), torch.zeros(d_model)


class _Buffers(_Bare):
    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__(d_model, eps)
        self.register_buffer("weight", torch.ones(d_model))
        self.register_buffer("bias", torch.zeros(d_model))


MISTAKES = (
    mistake(
        "unbiased variance",
        "The variance was divided by n - 1, the default of torch's `var` and `std`.",
        "What does σ² in the formula divide by? Look at `correction`.",
        swap(correction=1),
    ),
    mistake(
        "epsilon outside the root",
        "Epsilon was added to the standard deviation, after the root was taken.",
        "Where is ε in the formula: under the root or outside it?",
        swap(root=_outside),
    ),
    mistake(
        "unbiased, and epsilon outside",
        "Two mistakes at once, as in a class that was published: the variance was "
        "divided by n - 1, and epsilon was added after the root was taken.",
        "Print the variance of [2, -1, 3, 0], then look where ε is in the formula.",
        swap(correction=1, root=_outside),
    ),
    mistake(
        "no epsilon",
        "Epsilon is missing, so a constant row becomes 0 divided by 0.",
        "What is the variance of a row whose numbers are all equal?",
        swap(root=lambda self, variance: variance.sqrt()),
        swap(
            standard=lambda self, x: (
                (x - x.mean(-1, keepdim=True)) / x.std(-1, correction=0, keepdim=True)
            )
        ),
    ),
    mistake(
        "epsilon hard-coded",
        "Epsilon is always 1e-5, whatever the class was built with.",
        "Does `forward` use the eps that `__init__` was given?",
        swap(root=lambda self, variance: (variance + 1e-5).sqrt()),
    ),
    mistake(
        "over the tokens",
        "The mean and variance are taken over the tokens of a sentence, so a word's "
        "numbers depend on its neighbours.",
        "Each vector is normalised on its own. Which axis holds its numbers?",
        _over(1),
        _over(-2),
    ),
    mistake(
        "over the batch",
        "The mean and variance are taken over axis 0, which is almost batch norm.",
        "Each vector is normalised on its own. Which axis holds its numbers?",
        _over(0),
    ),
    mistake(
        "over everything",
        "One mean and one variance were taken for the whole tensor.",
        "How many means should there be for 2 sentences of 5 words?",
        _over(),
    ),
    mistake(
        "over tokens and features",
        "One mean and one variance were taken for each sentence.",
        "How many means should there be for a sentence of 5 words?",
        _over(-2, -1),
    ),
    mistake(
        "mean not subtracted",
        "The rows were divided by their standard deviation without being centred "
        "first.",
        "What happens to x before the division?",
        swap(centre=lambda self, x: x),
    ),
    mistake(
        "root of the mean square",
        "The rows were divided by the root of their mean square and never centred: "
        "that is RMSNorm, which newer models use.",
        "Which number does the formula subtract from every entry?",
        swap(centre=lambda self, x: x, variance=_mean_square),
    ),
    mistake(
        "variance not around the mean",
        "The squares of the numbers themselves were averaged, not the squares of their "
        "distances from the mean.",
        "In the formula for σ², what is squared?",
        swap(variance=_mean_square),
    ),
    mistake(
        "variance as a difference",
        "The variance was computed as the mean of the squares minus the square of the "
        "mean: far from 0 these are two large and nearly equal numbers, and rounding "
        "leaves little of their difference.",
        "In the formula for σ², what is done first: the square or the subtraction?",
        swap(variance=_difference),
        swap(
            variance=lambda self, x: (
                (x * x).sum(-1, keepdim=True) / x.shape[-1]
                - (x.sum(-1, keepdim=True) / x.shape[-1]) ** 2
            )
        ),
    ),
    mistake(
        "only the mean divided",
        "The mean was divided by the root, and then subtracted from x.",
        "Without brackets, which does Python do first: the subtraction or the "
        "division?",
        swap(standard=lambda self, x: x - self.mean(x) / self.root(self.variance(x))),
    ),
    mistake(
        "last axis of the mean lost",
        "The mean or the variance of the rows lost its last axis, so it does not line "
        "up with x.",
        "What shape does `x.mean(-1)` have, and what shape do the stub's comments "
        "promise?",
        swap(mean=lambda self, x: x.mean(-1)),
        swap(variance=lambda self, x: x.var(-1, correction=0)),
    ),
    mistake(
        "no root",
        "The rows were divided by the variance itself.",
        "Which power of σ² is in the denominator of the formula?",
        swap(root=lambda self, variance: variance + self.eps),
    ),
    mistake(
        "gain and bias unused",
        "The learned gain and bias have no influence on the result.",
        "Which two symbols of the formula does your `forward` not use?",
        swap(finish=lambda self, x: x),
    ),
    mistake(
        "gain and bias missing",
        "The class has no parameters, so it can't learn how wide its outputs should "
        "be.",
        "Which two symbols of the formula are learned?",
        _Bare,
    ),
    mistake(
        "gain and bias under other names",
        "The class has parameters, but they are not called weight and bias.",
        "What names does the task give the gain and the bias, and why?",
        _Greek,
    ),
    mistake(
        "gain and bias not learned",
        "The gain and bias are plain tensors, so `parameters()` does not list them.",
        "Which torch class turns a tensor into something that is learned?",
        _Plain,
        _Buffers,
    ),
    mistake(
        "gain does not start as ones",
        "The formula is right, but a new layer's gain is not all ones, so the layer "
        "does more than normalise before it has learned anything.",
        "Which number can you multiply by without changing anything?",
        swap(__init__=_start(weight=torch.zeros)),
        swap(__init__=_start(weight=torch.randn)),
    ),
    mistake(
        "bias does not start as zeros",
        "The formula is right, but a new layer's bias is not all zeros, so the layer "
        "does more than normalise before it has learned anything.",
        "Which number can you add without changing anything?",
        swap(__init__=_start(bias=torch.ones)),
        swap(__init__=_start(bias=torch.randn)),
    ),
    mistake(
        "gain and bias start as other numbers",
        "The formula is right, but in a new layer the gain is not all ones and the "
        "bias is not all zeros.",
        "Which number can you multiply by, and which can you add, without changing "
        "anything?",
        swap(__init__=_start(weight=torch.zeros, bias=torch.ones)),
        swap(__init__=_start(weight=torch.randn, bias=torch.randn)),
    ),
    mistake(
        "only the gain",
        "The result is multiplied by the gain, but the bias is not added.",
        "Compare the end of the formula with your last line.",
        swap(finish=lambda self, x: self.weight * x),
    ),
    mistake(
        "gain and bias swapped",
        "The result is multiplied by the bias, and the gain is added to it.",
        "Which of the two starts as ones, and why?",
        swap(finish=lambda self, x: self.bias * x + self.weight),
    ),
)


EXERCISES = (
    Exercise(
        "4.C",
        "Layer norm",
        "class",
        difficulty=2,
        points=3,
        core=True,
        answers=(Answer("LayerNorm", LayerNorm, {"output": "batch, length, d_model"}),),
        cases=_cases,
        proves="a row that hardly varies, a constant row, rows far from 0, gain and "
        "bias, fresh ones of 1 and 0, small rows, float32, the gradient",
        properties=(
            Property(
                "Does every row have mean 0 where the gain is 1 and the bias 0",
                _centred,
            ),
        ),
        misconceptions=MISTAKES,
    ),
)
