"""12.B: rotary positions; 12.C: two conventions, and the order that joins them."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    Property,
    mistake,
    value_cases,
)
from helpers.exercises.kit import exchanging, normal

Two = tuple[Tensor, Tensor]


def rotate(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """The course's own answer to 12.B."""
    return _rotate(x, positions, base)


def _halves(x: Tensor) -> Two:
    return x.chunk(2, -1)


def _beside(first: Tensor, second: Tensor) -> Tensor:
    return torch.cat([first, second], -1)


def _turned(first: Tensor, second: Tensor, cos: Tensor, sin: Tensor) -> Two:
    return first * cos - second * sin, first * sin + second * cos


def _rotate(
    x: Tensor,
    positions: Tensor,
    base: float = 10_000.0,
    *,
    places: Callable = lambda x, positions: positions,
    exponent: Callable = lambda pair, width: 2 * pair / width,
    pace: Callable = lambda base, exponent: 1 / base**exponent,
    cut: Callable = _halves,
    turn: Callable = _turned,
    join: Callable = _beside,
) -> Tensor:
    """Rotate with one step exchanged."""
    width = x.shape[-1]
    pairs = torch.arange(width // 2, dtype=torch.float64)
    speeds = pace(torch.tensor(base, dtype=torch.float64), exponent(pairs, width))
    angles = places(x, positions).double()[..., None] * speeds  # (T, K / 2)
    return join(*turn(*cut(x), angles.cos().to(x), angles.sin().to(x)))


def _with_dtype(call: Callable, *args: Any) -> Look:
    """Wider numbers than those that came in would not go with the values."""
    rotated = call(*args)
    kind = str(getattr(rotated, "dtype", type(rotated).__name__))
    return Look({"dtype": kind.removeprefix("torch."), "rotated": rotated})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple,
        positions: Any = None,
        base: float = 10_000.0,
        dtype: Any = torch.float64,
        **more: Any,
    ) -> Case:
        x = normal(draw, *size, dtype=dtype)
        where = torch.arange(size[-2]) if positions is None else torch.tensor(positions)
        inputs = ("x", "positions", "base")
        return Case(name, (x, where, base), inputs=inputs, **more)

    return [
        case("one pair", (4, 2)),
        case("three pairs", (5, 6)),
        case("a batch of heads", (2, 3, 5, 8)),
        case("two new tokens after seven", (2, 4, 2, 6), [7, 8]),
        case("positions in any order", (3, 4, 10), [9, 2, 0, 5]),
        case("another base", (2, 3, 4, 6), None, 50.0),
        case("one token far from the start", (1, 2, 1, 8), [100]),
        case(
            "float32",
            (2, 3, 5, 6),
            [0, 1, 2, 3, 500],
            100.0,
            torch.float32,
            look=_with_dtype,
        ),
        case("the gradient", (2, 3, 4), [3, 4, 5], gradient=True),
    ]


def _lengths(case: Case, outputs: Mapping[str, Any]) -> str | None:
    before, after = case.args[0].norm(dim=-1), outputs["rotated"].norm(dim=-1)
    off = (before - after).abs() > 1e-3
    if not off.any():
        return None
    return f"one was {before[off][0].item():.3f} long and is {after[off][0].item():.3f}"


def _stays_at_0(case: Case, outputs: Mapping[str, Any]) -> str | None:
    """At position 0 every angle is 0."""
    start = case.args[1] == 0
    moved = (outputs["rotated"] - case.args[0])[..., start, :].abs()
    if not moved.numel() or moved.max() < 1e-3:
        return None
    return f"one of its features moved by {moved.max().item():.3f}"


swap = exchanging(_rotate)


def _neighbours(x: Tensor) -> Two:
    return x[..., 0::2], x[..., 1::2]


def _between(first: Tensor, second: Tensor) -> Tensor:
    return torch.stack([first, second], -1).flatten(-2)


def _overwritten(first: Tensor, second: Tensor, cos: Tensor, sin: Tensor) -> Two:
    first = first * cos - second * sin
    return first, first * sin + second * cos


def _overwritten_second(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> Two:
    b = a * sin + b * cos
    return a * cos - b * sin, b


def _restarted(x: Tensor, positions: Tensor) -> Tensor:
    return torch.arange(len(positions))


def _in_order(x: Tensor, positions: Tensor) -> Tensor:
    return positions[0] + torch.arange(len(positions))


def _added(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    angles = positions.double()[:, None] / base ** (
        torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1]
    )
    return x + torch.cat([angles.sin(), angles.cos()], -1).to(x)


MISTAKES = (
    mistake(
        "neighbours as pairs",
        "Features 2i and 2i + 1 were turned together: this is the other convention.",
        "Which two features make pair i, by the text of the exercise?",
        swap(cut=_neighbours, join=_between),
        swap(cut=_neighbours),
    ),
    mistake(
        "put together alternately",
        "The right features were turned together, but their halves came back "
        "interleaved: a, b, a, b.",
        "The first half of a vector holds all the a. What does `torch.stack` make?",
        swap(join=_between),
    ),
    mistake(
        "in float64",
        "What comes back is float64 although x is float32: scores and values would not "
        "go together.",
        "Which of your tensors has to take the dtype of x, before it is multiplied?",
        swap(join=lambda first, second: _beside(first, second).double()),
        swap(turn=lambda a, b, cos, sin: _turned(a.double(), b.double(), cos, sin)),
    ),
    mistake(
        "turned backwards",
        "The angles have the wrong sign: each pair turns the other way.",
        "Which of the two sines has the minus in the formula?",
        swap(turn=lambda a, b, cos, sin: _turned(a, b, cos, -sin)),
        swap(turn=lambda a, b, cos, sin: _turned(b, a, cos, sin)[::-1]),
    ),
    mistake(
        "no minus",
        "Both sines have a plus, so this is not a rotation, and lengths change.",
        "Write the two lines of the formula below each other and compare.",
        swap(turn=lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)),
    ),
    mistake(
        "sine and cosine exchanged",
        "At position 0 the vectors change, because sine stands where cosine should.",
        "What should an angle of 0 do to a vector?",
        swap(turn=lambda a, b, cos, sin: _turned(a, b, sin, cos)),
    ),
    mistake(
        "first half overwritten",
        "The second line of the formula used a half that was already turned.",
        "Does one name stand for two things in your function?",
        swap(turn=_overwritten),
        swap(turn=_overwritten_second),
    ),
    mistake(
        "one half left as it was",
        "Half of the features came back unturned.",
        "How many features does turning a pair change?",
        swap(turn=lambda a, b, cos, sin: (_turned(a, b, cos, sin)[0], b)),
        swap(turn=lambda a, b, cos, sin: (a, _turned(a, b, cos, sin)[1])),
    ),
    mistake(
        "halves swapped",
        "What belongs into the second half came back in the first.",
        "In which order are the two turned halves put side by side?",
        swap(join=lambda first, second: _beside(second, first)),
    ),
    mistake(
        "the same speed for all pairs",
        "Every pair turns by the same angle.",
        "The pace depends on the pair. Which of your lines knows which pair it is?",
        swap(exponent=lambda pair, width: 0 * pair),
    ),
    mistake(
        "the same angle everywhere",
        "Every token was turned by the same angle, whatever its position.",
        "Where do `positions` enter your angles?",
        swap(places=lambda x, positions: torch.ones_like(positions)),
        swap(places=lambda x, positions: positions[-1:].expand(len(positions))),
    ),
    mistake(
        "positions restarted",
        "The tokens were counted from 0, whatever `positions` says.",
        "A cache holds seven tokens. At which position does the next one stand?",
        swap(places=_restarted),
    ),
    mistake(
        "positions taken in order",
        "Only the first of the `positions` was used; the others were counted on from "
        "it.",
        "Which position does the second token have, by `positions`?",
        swap(places=_in_order),
    ),
    mistake(
        "positions from 1",
        "All positions are one too far: the first token is turned as well.",
        "By which angle should a token at position 0 be turned?",
        swap(places=lambda x, positions: positions + 1),
    ),
    mistake(
        "exponent doubled",
        "The pace falls twice as fast from pair to pair as it should.",
        "If you count in steps of two, you already have the formula's 2i.",
        swap(exponent=lambda pair, width: 4 * pair / width),
    ),
    mistake(
        "exponent halved",
        "The pace falls half as fast from pair to pair as it should.",
        "Count the pairs: 0, 1, 2. What does the formula do with that number?",
        swap(exponent=lambda pair, width: pair / width),
    ),
    mistake(
        "base hard-coded",
        "The base is always 10,000, whatever was asked for.",
        "Is `base` used anywhere in your function?",
        swap(pace=lambda base, exponent: 1 / 10_000.0**exponent),
    ),
    mistake(
        "pace upside down",
        "The angles were multiplied by the power of the base instead of divided by it.",
        "Which pair should turn fastest, the first or the last?",
        swap(pace=lambda base, exponent: base**exponent),
    ),
    mistake(
        "slowest pair first",
        "The paces are in reverse order: the first pair turns most slowly.",
        "Which pair should turn by one radian per position?",
        swap(pace=lambda base, exponent: (1 / base**exponent).flip(0)),
    ),
    mistake(
        "added",
        "Sines and cosines were added to the vectors, as in lesson 01.",
        "What is the first word of the title of this exercise?",
        _added,
    ),
)

EXERCISES = (
    Exercise(
        "12.B",
        "Rotary positions",
        "function",
        difficulty=3,
        points=4,
        core=True,
        answers=(Answer("rotate", rotate, {"rotated": "..., length, d_head"}),),
        cases=_cases,
        proves="pairs by halves, an angle for each position and pair, positions that "
        "start anywhere, the gradient",
        properties=(
            Property("Does every vector keep its length", _lengths),
            Property("Does a vector at position 0 stay as it is", _stays_at_0),
        ),
        misconceptions=MISTAKES,
    ),
    Exercise(
        "12.C",
        "Bug hunt: right by itself, wrong together",
        "value",
        difficulty=2,
        points=2,
        answers=(Answer("order", (0, 2, 4, 6, 1, 3, 5, 7)),),
        cases=lambda seed: value_cases(),
        proves="the features that are turned together come to the places where the "
        "other code looks for them",
        misconceptions=(
            mistake(
                "the wrong way round",
                "This order leads from pairs by halves to neighbours: it undoes what "
                "is needed.",
                "The first feature and its partner: where does each of them have to "
                "go?",
                (0, 4, 1, 5, 2, 6, 3, 7),
            ),
            mistake(
                "nothing moved",
                "This order leaves every feature where it is.",
                "Which features does the other function turn together?",
                (0, 1, 2, 3, 4, 5, 6, 7),
            ),
            mistake(
                "partners exchanged",
                "The right features meet, but each pair turns the other way.",
                "Which of the two features of a pair is the first?",
                (1, 3, 5, 7, 0, 2, 4, 6),
            ),
            mistake(
                "counted from 1",
                "These places are counted from 1.",
                "Which number does the first feature have?",
                (1, 3, 5, 7, 2, 4, 6, 8),
            ),
            mistake(
                "halves exchanged",
                "The features that are turned together are still those of the halves.",
                "Which features does the other function turn together?",
                (4, 5, 6, 7, 0, 1, 2, 3),
            ),
        ),
    ),
)
