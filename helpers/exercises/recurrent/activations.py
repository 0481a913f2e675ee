"""7.P: three activation functions and how steep they are."""

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake

Slopes = tuple[Tensor, Tensor, Tensor]
NAMES = ("sigmoid's slope", "tanh's slope", "ReLU's slope")


def slopes(x: Tensor) -> Slopes:
    """The course's own answer to 7.P."""
    s = x.sigmoid()
    return s * (1 - s), 1 - x.tanh() ** 2, (x > 0).to(x)


def _at_zero(call: Callable, x: Tensor) -> Look:
    """Where the ReLU has its corner, any slope from 0 to 1 is right, and NaN is not."""
    found = call(x.clone())
    if not isinstance(found, tuple | list) or len(found) != len(NAMES):
        return Look({"result": found})
    *smooth, relu = found
    if isinstance(relu, Tensor) and relu.shape == x.shape:
        relu = torch.where((x == 0) & (relu >= 0) & (relu <= 1), relu * 0, relu)
    return Look(dict(zip(NAMES, (*smooth, relu), strict=True)))


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, *size: int, dtype: torch.dtype = torch.float64) -> Case:
        """Numbers on both sides of 0, none of them close to it."""
        x = 0.2 + 1.8 * torch.rand(size, generator=draw, dtype=dtype)
        sign = torch.ones(x.numel(), dtype=dtype)
        sign[1::2] = -1
        return Case(name, (x * sign.view(size),), inputs=("x",))

    extreme = torch.tensor([-800.0, -30.0, 0.3, 30.0, 800.0], dtype=torch.float64)
    corner = torch.tensor([-1.5, 0.0, 0.7], dtype=torch.float64)
    return [
        case("seven numbers", 7),
        case("a matrix, float32", 3, 5, dtype=torch.float32),
        Case("numbers as large as 800", (extreme,), inputs=("x",)),
        Case("0 among others", (corner,), inputs=("x",), look=_at_zero),
    ]


@mistake(
    "values instead of slopes",
    "These are the values of the functions, not their slopes.",
    "Where is the sigmoid steepest, and what do you return there?",
)
def _values(x: Tensor) -> Slopes:
    return x.sigmoid(), x.tanh(), x.relu()


@mistake(
    "x in place of the function's value",
    "At least one formula got x itself where it needs the value of the function at x.",
    "In s (1 - s), what is s?",
    lambda x: (x * (1 - x), 1 - x.tanh() ** 2, (x > 0).to(x)),
    lambda x: (slopes(x)[0], 1 - x**2, (x > 0).to(x)),
)
def _fed_with_x(x: Tensor) -> Slopes:
    return x * (1 - x), 1 - x**2, (x > 0).to(x)


@mistake(
    "tanh not squared",
    "A square is missing in the slope of tanh: it comes out above 1 for negative x.",
    "The curve of tanh is symmetric: how should its slopes at -1 and 1 compare?",
)
def _unsquared(x: Tensor) -> Slopes:
    return slopes(x)[0], 1 - x.tanh(), (x > 0).to(x)


@mistake(
    "tanh's formula used for the sigmoid",
    "The sigmoid's slope was computed as 1 minus its square, which is the rule for "
    "tanh.",
    "At x = 0 the sigmoid is 0.5. How steep is its curve there?",
)
def _squared_sigmoid(x: Tensor) -> Slopes:
    return 1 - x.sigmoid() ** 2, *slopes(x)[1:]


@mistake(
    "one factor of the sigmoid's slope",
    "The sigmoid's slope has only one of its two factors, so it falls to 0 on one "
    "side only.",
    "The curve is flat on both sides. Which factor goes to 0 on which side?",
    lambda x: (1 - x.sigmoid(), *slopes(x)[1:]),
)
def _one_factor(x: Tensor) -> Slopes:
    return x.sigmoid(), *slopes(x)[1:]


@mistake(
    "the ReLU itself, not its slope",
    "For positive x the third slope grows with x, but the ReLU is a straight line "
    "there.",
    "By how much does max(0, x) grow when x grows from 2 to 3?",
)
def _relu_itself(x: Tensor) -> Slopes:
    return *slopes(x)[:2], x.relu()


@mistake(
    "a dtype of its own",
    "The third slope is right, but its dtype is not that of x.",
    "What does a comparison return, and what does your code make of it?",
    lambda x: (*slopes(x)[:2], (x > 0).float()),
    lambda x: (*slopes(x)[:2], (x > 0).long()),
    lambda x: (*slopes(x)[:2], (x > 0).int()),
)
def _own_dtype(x: Tensor) -> Slopes:
    return *slopes(x)[:2], x > 0


@mistake(
    "a negative slope",
    "For negative x the third slope is -1, as if the function were falling there.",
    "What does the ReLU return for -2 and for -3?",
    lambda x: (*slopes(x)[:2], torch.where(x > 0, 1.0, -1.0).to(x)),
    lambda x: (*slopes(x)[:2], torch.where(x >= 0, 1.0, -1.0).to(x)),
)
def _sign(x: Tensor) -> Slopes:
    return *slopes(x)[:2], x.sign()


def _bell(e: Tensor) -> Tensor:
    """The slope of the sigmoid from exp(x) or exp(-x), which may be infinite."""
    return e / (1 + e) ** 2


def _by_exponentials(x: Tensor) -> Tensor:
    up, down = x.exp(), (-x).exp()
    return 1 - ((up - down) / (up + down)) ** 2


@mistake(
    "overflow",
    "Far from 0 an exponential overflows to infinity, and infinity divided by "
    "infinity is NaN.",
    "Which torch functions compute sigmoid and tanh without overflow?",
    lambda x: (_bell(x.exp()), *slopes(x)[1:]),
    lambda x: (slopes(x)[0], _by_exponentials(x), (x > 0).to(x)),
    lambda x: (slopes(x)[0], 4 * _bell((2 * x).exp()), (x > 0).to(x)),
    lambda x: (_bell((-x).exp()), _by_exponentials(x), (x > 0).to(x)),
    lambda x: (_bell(x.exp()), _by_exponentials(x), (x > 0).to(x)),
)
def _overflow(x: Tensor) -> Slopes:
    return _bell((-x).exp()), *slopes(x)[1:]


@mistake(
    "0 divided by 0",
    "At x = 0 the slope of the ReLU is NaN: 0 was divided by 0.",
    "Is x above 0 or not? Answering that takes no division.",
    lambda x: (*slopes(x)[:2], (x + x.abs()) / (2 * x)),
    lambda x: (*slopes(x)[:2], (1 + x / x.abs()) / 2),
)
def _divided(x: Tensor) -> Slopes:
    return *slopes(x)[:2], x.relu() / x


EXERCISES = (
    Exercise(
        "7.P",
        "How steep are they?",
        "function",
        difficulty=1,
        points=1,
        exact=True,
        answers=(
            Answer(
                "slopes",
                slopes,
                dict.fromkeys(NAMES, ""),
            ),
        ),
        cases=_cases,
        proves="three derivatives, two shapes, no overflow at 800, no NaN at 0",
        misconceptions=(
            _values,
            _fed_with_x,
            _unsquared,
            _squared_sigmoid,
            _one_factor,
            _relu_itself,
            _own_dtype,
            _sign,
            _overflow,
            _divided,
        ),
    ),
)
