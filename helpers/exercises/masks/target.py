"""6.C: the mask of the decoder's self-attention: neither the future nor padding."""

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.masks.shared import FILLS, additive, padded_ids
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
    """The course's own answer to 6.C."""
    return target_mask(ids)


def _ahead(ids: Tensor) -> Tensor:
    return look_ahead_mask(ids.shape[1])


def _wide(ids: Tensor) -> tuple[int, int]:
    return ids.shape[1], ids.shape[1]


def _square(mask: Tensor, ids: Tensor) -> Tensor:
    return mask.expand(len(ids), 1, ids.shape[1], ids.shape[1]).clone()


@mistake(
    "or instead of and",
    "A key is open if either of the two masks allows it, but both have to.",
    "Take a key that is in the past and is padding: may it be looked at?",
    lambda ids: torch.logical_or(padding_mask(ids), _ahead(ids)),
    lambda ids: torch.maximum(padding_mask(ids), _ahead(ids)),
)
def _either(ids: Tensor) -> Tensor:
    return padding_mask(ids) | _ahead(ids)


@mistake(
    "look-ahead forgotten",
    "Padding is hidden, but the future is not.",
    "Which of the two masks is missing from your result?",
    lambda ids: _square(padding_mask(ids), ids),
)
def _no_ahead(ids: Tensor) -> Tensor:
    return padding_mask(ids)


@mistake(
    "padding forgotten",
    "The future is hidden, but padding is not.",
    "Which of the two masks is missing from your result?",
    lambda ids: _square(_ahead(ids), ids),
    lambda ids: _ahead(ids)[None, None],
)
def _no_padding(ids: Tensor) -> Tensor:
    return _ahead(ids)


@mistake(
    "diagonal blocked",
    "Each token is hidden from itself, too: only what comes before it is left.",
    "Read row 0: what is left for the first token?",
)
def _no_self(ids: Tensor) -> Tensor:
    return target_mask(ids).tril(-1)


@mistake(
    "future open by one",
    "Each token sees the next one, which is exactly the token it has to predict.",
    "Read row 0: how many keys exist when the first token asks?",
)
def _by_one(ids: Tensor) -> Tensor:
    return _square(padding_mask(ids), ids).tril(1)


@mistake(
    "the other triangle",
    "Padding is hidden, but each token sees itself and its future, not its past.",
    "Rows are queries, columns are keys. Which corner of the table is the future?",
)
def _upper(ids: Tensor) -> Tensor:
    return padding_mask(ids) & _ahead(ids).T


@mistake(
    "padding on the queries",
    "The rows of the padding are blocked, but its columns are not.",
    "The last axis is the key axis: which axis is the sentence on?",
)
def _rows(ids: Tensor) -> Tensor:
    return _ahead(ids) & (ids != 0)[:, None, :, None]


@mistake(
    "padding on queries and keys",
    "The rows of the padding are blocked as well, so they have nothing left to attend "
    "to.",
    "Who is hidden, and from whom? A row without a single True is trouble (lesson 02).",
)
def _both(ids: Tensor) -> Tensor:
    return target_mask(ids) & (ids != 0)[:, None, :, None]


@mistake(
    "inverted",
    'True marks what is blocked, but in this course True means "may attend".',
    "Read row 0 of the first sentence aloud.",
)
def _inverted(ids: Tensor) -> Tensor:
    return ~target_mask(ids)


@mistake(
    "two conventions mixed",
    'In one of the two masks True means "may attend", in the other "blocked".',
    "Before you combine the two masks, say what True means in each.",
    lambda ids: ~padding_mask(ids) & _ahead(ids),
    lambda ids: padding_mask(ids) & ~_ahead(ids),
    lambda ids: padding_mask(ids) | ~_ahead(ids),
)
def _mixed(ids: Tensor) -> Tensor:
    return ~padding_mask(ids) | _ahead(ids)


@mistake(
    "numbers instead of booleans",
    "Every entry is right, but the entries are numbers.",
    "Combine booleans with a logical operation, and convert nothing.",
    lambda ids: target_mask(ids).long(),
    lambda ids: target_mask(ids).int(),
)
def _numbers(ids: Tensor) -> Tensor:
    return target_mask(ids).float()


@mistake(
    "a triangle of numbers",
    "The triangle holds floating-point numbers, which `&`, `|` and `~` refuse.",
    "Which dtype does `torch.ones` have by default, and which one has your other mask?",
    lambda ids: torch.ones(_wide(ids)).tril() & padding_mask(ids),
    lambda ids: padding_mask(ids) & ~torch.ones(_wide(ids)).triu(1),
)
def _float_triangle(ids: Tensor) -> Tensor:
    return padding_mask(ids) & torch.ones(_wide(ids)).tril()


@mistake(
    "additive mask",
    "The mask holds 0 and very negative numbers, made to be added to the scores.",
    'The docstring promises a boolean: True means "may attend".',
    *(lambda ids, low=low: additive(target_mask(ids), low) for low in FILLS[1:]),
)
def _added(ids: Tensor) -> Tensor:
    return additive(target_mask(ids))


@mistake(
    "heads axis missing",
    "The mask is (batch, query, key), so its batch would line up with the heads.",
    "Shapes line up from the right. Which axis comes second in the scores?",
)
def _flat(ids: Tensor) -> Tensor:
    return target_mask(ids)[:, 0]


@mistake(
    "axes of the padding missing",
    "The real tokens, (batch, key), were combined with the triangle, (query, key), "
    "without any axes in between, so the batch lined up with the queries.",
    "Shapes line up from the right. Which axes belong between batch and key?",
    lambda ids: (ids != 0) & _ahead(ids),
    lambda ids: torch.logical_and(ids != 0, _ahead(ids)),
)
def _bare(ids: Tensor) -> Tensor:
    return _ahead(ids) & (ids != 0)


@mistake(
    "triangle the size of the batch",
    "The size of the triangle is the number of sentences, not their length.",
    "Which axis of ids counts the tokens? `len` looks at the first one.",
    lambda ids: padding_mask(ids) & look_ahead_mask(len(ids)),
)
def _batch_size(ids: Tensor) -> Tensor:
    return look_ahead_mask(len(ids)) & padding_mask(ids)


EXERCISES = (
    Exercise(
        "6.C",
        "The target mask",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(Answer("target_mask", reference, AXES),),
        cases=_cases,
        proves="both masks at once, four axes, boolean, padding anywhere",
        misconceptions=(
            _either,
            _no_ahead,
            _no_padding,
            _no_self,
            _by_one,
            _upper,
            _rows,
            _both,
            _inverted,
            _mixed,
            _numbers,
            _float_triangle,
            _added,
            _flat,
            _bare,
            _batch_size,
        ),
    ),
)
