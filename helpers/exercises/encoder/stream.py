"""4.A: the residual stream, and what each sub-layer writes into it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Property, mistake
from helpers.exercises.kit import exchanging, normal

Sublayers = Sequence[Callable[[Tensor], Tensor]]


def _so_far(parts: list[Tensor]) -> Tensor:
    return torch.stack(parts).sum(0)


def written(
    x: Tensor,
    sublayers: Sublayers,
    *,
    read: Callable[[list[Tensor]], Tensor] = _so_far,
    order: Callable[[Sublayers], Any] = iter,
    give: Callable[[list[Tensor]], Any] = torch.stack,
) -> Any:
    """The course's own answer to 4.A; the keywords are for the misconceptions."""
    parts = [x]
    for sublayer in order(sublayers):
        parts.append(sublayer(read(parts)))
    return give(parts)


class _Sublayer:
    """(B, T, D) -> (B, T, D): every token reads the others, in the dtype of x."""

    def __init__(self, number: int, mix: Tensor, turn: Tensor) -> None:
        self.number, self.mix, self.turn = number, mix, turn

    def __call__(self, x: Tensor) -> Tensor:
        return torch.tanh(self.mix.to(x.dtype) @ x @ self.turn.to(x.dtype))

    def __repr__(self) -> str:
        return f"sub-layer {self.number}"


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, size: tuple, count: int, dtype: Any = torch.float64) -> Case:
        _, length, width = size
        sublayers = [
            _Sublayer(
                number,
                normal(draw, length, length, scale=0.4, dtype=dtype),
                normal(draw, width, width, scale=0.4, dtype=dtype),
            )
            for number in range(1, count + 1)
        ]
        x = normal(draw, *size, dtype=dtype)
        return Case(name, (x, sublayers), inputs=("x", "sublayers"))

    return [
        case("four sub-layers", (2, 3, 6), 4),
        case("one sub-layer", (3, 5, 4), 1),
        case("as many as sentences", (3, 4, 5), 2),
        case("no sub-layer at all", (2, 4, 3), 0),
        case("float32", (2, 5, 7), 3, torch.float32),
    ]


def _streams(x: Tensor, sublayers: Sublayers) -> Iterator[Tensor]:
    """The stream at the start, and after each sub-layer."""
    for count in range(len(sublayers) + 1):
        yield _so_far([*written(x, sublayers[:count])])


def _adds_up(case: Case, outputs: Mapping[str, Any]) -> str | None:
    """All parts together are the stream at the end."""
    *_, end = _streams(*case.args)
    off = (outputs["parts"].sum(0) - end).abs().max().item()
    return f"they are off by up to {off:.4f}" if off > 1e-4 else None


def _in_place(x: Tensor, sublayers: Sublayers) -> Tensor:
    stream, parts = x, [x]
    for sublayer in sublayers:
        parts.append(sublayer(stream))
        stream += parts[-1]
    return torch.stack(parts)


swap = exchanging(written)

MISTAKES = (
    mistake(
        "every sub-layer reads x",
        "Every sub-layer read x, so none of them knew what the ones before it had "
        "written.",
        "What does the second sub-layer find in the stream that the first one did not?",
        swap(read=lambda parts: parts[0]),
    ),
    mistake(
        "a chain without a stream",
        "Each sub-layer read only what the one before it had written: nothing was "
        "added up.",
        "What becomes of x after the first sub-layer in your loop?",
        swap(read=lambda parts: parts[-1]),
    ),
    mistake(
        "x and the last thing written",
        "Each sub-layer read x and what the one before it had written; all that was "
        "written earlier is lost.",
        "Does your stream keep growing, or does each round start from x?",
        swap(read=lambda parts: parts[0] + parts[-1] if parts[1:] else parts[0]),
    ),
    mistake(
        "x twice",
        "The stream began with x, and then x was added once more.",
        "Count the places where x enters your sum.",
        swap(read=lambda parts: parts[0] + _so_far(parts)),
    ),
    mistake(
        "stream without x",
        "After the first sub-layer the stream held only what had been written, and no "
        "longer x.",
        "Where does the stream start?",
        swap(read=lambda parts: _so_far(parts[1:]) if parts[1:] else parts[0]),
    ),
    mistake(
        "an average in place of a sum",
        "The sub-layers read the mean of all parts, not their sum.",
        "Read the box again: what happens to a result when it is written?",
        swap(read=lambda parts: torch.stack(parts).mean(0)),
    ),
    mistake(
        "the stream after each step",
        "You kept the whole stream after each sub-layer, not what the sub-layer added "
        "to it.",
        "Which of the two goes into your list, the sum or the summand?",
        swap(give=lambda parts: torch.stack(parts).cumsum(0)),
    ),
    mistake(
        "only the end of the stream",
        "Only the sum came back, so nobody can see any more who wrote what.",
        "How many axes has the result in the docstring?",
        swap(give=_so_far),
    ),
    mistake(
        "x left out",
        "What the sub-layers wrote came back, but x itself is missing at the front.",
        "The parts have to add up to the stream. Which one is the first?",
        swap(give=lambda parts: torch.stack(parts[1:]) if parts[1:] else parts[0][:0]),
        swap(give=lambda parts: torch.stack(parts[1:])),
    ),
    mistake(
        "last sub-layer left out",
        "The last sub-layer never ran, or its result was not kept.",
        "How many rounds does your loop take for four sub-layers?",
        swap(order=lambda sublayers: iter(sublayers[:-1])),
        swap(give=lambda parts: torch.stack(parts[:-1] if parts[1:] else parts)),
    ),
    mistake(
        "from the last to the first",
        "The sub-layers ran in the opposite order.",
        "Which one of the list reads x alone?",
        swap(order=reversed),
    ),
    mistake(
        "parts along another axis",
        "The parts are right, but their axis is not the first one.",
        "Where in the result's shape does the docstring put the parts?",
        swap(give=partial(torch.stack, dim=1)),
        swap(give=partial(torch.stack, dim=-1)),
    ),
    mistake(
        "parts joined without an axis",
        "The parts were joined along an axis that was there already.",
        "Which of torch's two ways to join tensors makes a new axis?",
        swap(give=torch.cat),
        swap(give=partial(torch.cat, dim=-1)),
        swap(give=partial(torch.cat, dim=1)),
    ),
    mistake(
        "x overwritten",
        "What was written went into x itself, so the first part is not x any more.",
        "What does `+=` do to a tensor that has a second name?",
        _in_place,
    ),
)

EXERCISES = (
    Exercise(
        "4.A",
        "What each sub-layer writes",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(
            Answer("written", written, {"parts": "parts, batch, length, d_model"}),
        ),
        cases=_cases,
        proves="each sub-layer reads the whole stream, the parts in order, x first, "
        "none of them changed, float32",
        properties=(Property("Do the parts add up to the stream", _adds_up),),
        misconceptions=MISTAKES,
    ),
)
