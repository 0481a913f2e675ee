"""6.3: the mask of the decoder's own attention: neither the future nor padding."""

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.masks.shared import additive, padded_ids
from helpers.models.masks import look_ahead_mask, padding_mask, target_mask

AXES = {"mask": "batch, heads=1, query, key"}


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, ids: Tensor) -> Case:
        return Case(name, (ids,), inputs=("ids",))

    gap = padded_ids(draw, (6, 7), 7)
    gap[1, 2] = 0  # a padding id inside: it is hidden wherever it stands
    return [
        case("two sentences, five places", padded_ids(draw, (4, 2), 5)),
        case("three sentences, four places", padded_ids(draw, (4, 3, 1), 4)),
        case("no padding at all", padded_ids(draw, (6, 6), 6)),
        case("a padding id in the middle", gap),
        case("one sentence of one token", torch.tensor([[1]])),
    ]


def reference(ids: Tensor) -> Tensor:
    """The course's own answer to 6.3."""
    return target_mask(ids)


def _ahead(ids: Tensor) -> Tensor:
    return look_ahead_mask(ids.shape[1])


def _square(mask: Tensor, ids: Tensor) -> Tensor:
    return mask.expand(len(ids), 1, ids.shape[1], ids.shape[1]).clone()


@mistake(
    "or in place of and",
    "A key is open if one of the two masks allows it; both have to.",
    "A key in the past that is padding: may it be looked at?",
    lambda ids: torch.logical_or(padding_mask(ids), _ahead(ids)),
    lambda ids: torch.maximum(padding_mask(ids), _ahead(ids)),
)
def _either(ids: Tensor) -> Tensor:
    return padding_mask(ids) | _ahead(ids)


@mistake(
    "look-ahead forgotten",
    "Padding is hidden, the future is not.",
    "Which of the two masks is missing from your result?",
    lambda ids: _square(padding_mask(ids), ids),
)
def _no_ahead(ids: Tensor) -> Tensor:
    return padding_mask(ids)


@mistake(
    "padding forgotten",
    "The future is hidden, padding is not.",
    "Which of the two masks is missing from your result?",
    lambda ids: _square(_ahead(ids), ids),
    lambda ids: _ahead(ids)[None, None],
)
def _no_padding(ids: Tensor) -> Tensor:
    return _ahead(ids)


@mistake(
    "padding on the queries",
    "The rows of padding are blocked, its columns are not.",
    "The last axis is the key axis: which axis does the sentence lie on?",
)
def _rows(ids: Tensor) -> Tensor:
    return _ahead(ids) & (ids != 0)[:, None, :, None]


@mistake(
    "padding on queries and keys",
    "The rows of padding are blocked as well: they have nothing left to attend to.",
    "Who is hidden, and from whom? A row without any True is trouble (lesson 02).",
)
def _both(ids: Tensor) -> Tensor:
    return target_mask(ids) & (ids != 0)[:, None, :, None]


@mistake(
    "inverted",
    "True marks what is blocked; in this course True means may attend.",
    "Read row 0 of the first sentence aloud.",
)
def _inverted(ids: Tensor) -> Tensor:
    return ~target_mask(ids)


@mistake(
    "two conventions mixed",
    "In one of the two masks True means may attend, in the other blocked.",
    "Say for each of the two masks what True means, before you combine them.",
    lambda ids: ~padding_mask(ids) & _ahead(ids),
    lambda ids: padding_mask(ids) & ~_ahead(ids),
    lambda ids: padding_mask(ids) | ~_ahead(ids),
)
def _mixed(ids: Tensor) -> Tensor:
    return ~padding_mask(ids) | _ahead(ids)


@mistake(
    "numbers for a boolean",
    "Every entry is right, but they are numbers.",
    "Combine booleans by a logical operation, and convert nothing.",
    lambda ids: target_mask(ids).long(),
    lambda ids: target_mask(ids).int(),
)
def _numbers(ids: Tensor) -> Tensor:
    return target_mask(ids).float()


@mistake(
    "ready to be added",
    "The mask holds 0 and very negative numbers, ready to be added to scores.",
    "The docstring promises a boolean: True = may attend.",
    lambda ids: ~target_mask(ids) * -1e9,
)
def _added(ids: Tensor) -> Tensor:
    return additive(target_mask(ids))


@mistake(
    "heads axis missing",
    "The mask is (batch, query, key): its batch would line up with the heads.",
    "Shapes are lined up from the right. Which axis stands second in the scores?",
)
def _flat(ids: Tensor) -> Tensor:
    return target_mask(ids)[:, 0]


@mistake(
    "axes of the padding missing",
    "The row of real tokens, (batch, key), met the triangle, (query, key), without "
    "axes in between: the batch came to lie on the queries.",
    "Shapes are lined up from the right. Which axes lie between batch and key?",
    lambda ids: (ids != 0) & _ahead(ids),
    lambda ids: torch.logical_and(ids != 0, _ahead(ids)),
)
def _bare(ids: Tensor) -> Tensor:
    return _ahead(ids) & (ids != 0)


@mistake(
    "as long as the batch",
    "The triangle is as wide as the batch has sentences, not as these are long.",
    "Which axis of ids counts the places? `len` looks at the first one.",
    lambda ids: padding_mask(ids) & look_ahead_mask(len(ids)),
)
def _batch_size(ids: Tensor) -> Tensor:
    return look_ahead_mask(len(ids)) & padding_mask(ids)


EXERCISES = (
    Exercise(
        "6.3",
        "The target mask",
        "function",
        difficulty=2,
        minutes=8,
        points=2,
        core=True,
        answers=(Answer("target_mask", reference, AXES),),
        cases=_cases,
        proves="both masks at once, four axes, boolean, padding anywhere",
        misconceptions=(
            _either,
            _no_ahead,
            _no_padding,
            _rows,
            _both,
            _inverted,
            _mixed,
            _numbers,
            _added,
            _flat,
            _bare,
            _batch_size,
        ),
    ),
)
