"""6.A: the padding mask."""

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.masks.shared import FILLS, additive, padded_ids
from helpers.models.masks import padding_mask

AXES = {"mask": "batch, heads=1, query=1, key"}


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, ids: Tensor) -> Case:
        return Case(name, (ids,), inputs=("ids",))

    begins = padded_ids(draw, (4, 6), 6)
    begins[1, :2] = 0
    return [
        case("two sentences, five places", padded_ids(draw, (4, 2), 5)),
        case("three sentences, seven places", padded_ids(draw, (5, 7, 3), 7)),
        case("no padding at all", padded_ids(draw, (4, 4, 4), 4)),
        case("padding at the beginning", begins),
        case("one sentence of one token", torch.tensor([[8]])),
        case("32-bit ids", padded_ids(draw, (3, 5), 6).int()),
    ]


def reference(ids: Tensor) -> Tensor:
    """The course's own answer to 6.A."""
    return padding_mask(ids)


@mistake(
    "inverted",
    'True marks the padding, but in this course True means "may attend".',
    "Which tokens may be looked at: those equal to the padding id, or the others?",
)
def _inverted(ids: Tensor) -> Tensor:
    return (ids == 0)[:, None, None, :]


@mistake(
    "on the queries",
    "The sentence is on the query axis, so whole rows are blocked instead of columns.",
    "The axes are batch, heads, query, key: who must not be looked at?",
    lambda ids: (ids != 0).unsqueeze(1).unsqueeze(-1),
)
def _queries(ids: Tensor) -> Tensor:
    return (ids != 0)[:, None, :, None]


@mistake(
    "on queries and keys",
    "Padding is blocked as a key and as a query, so its rows have nothing left to "
    "attend to.",
    "Who is hidden, and from whom? A row without a single True is trouble (lesson 02).",
    lambda ids: (ids != 0)[:, None, :, None] * (ids != 0)[:, None, None, :],
)
def _both(ids: Tensor) -> Tensor:
    real = ids != 0
    return real[:, None, :, None] & real[:, None, None, :]


@mistake(
    "wrong padding id",
    "Real tokens are hidden: an id other than 0 is taken for padding.",
    "Which id does the padding have? Print one row of ids next to its mask.",
    lambda ids: (ids > 1)[:, None, None, :],
    lambda ids: (ids != 2)[:, None, None, :],
    lambda ids: (ids != ids[:, -1:])[:, None, None, :],
)
def _other_id(ids: Tensor) -> Tensor:
    return (ids != 1)[:, None, None, :]


@mistake(
    "nothing hidden",
    "Every entry is True: the padding may be attended to as well.",
    "Which id does the padding have? Print one row of ids next to its mask.",
    lambda ids: torch.ones_like(ids, dtype=torch.bool)[:, None, None, :],
)
def _open(ids: Tensor) -> Tensor:
    return (ids != -1)[:, None, None, :]


@mistake(
    "axes missing",
    "The mask has fewer axes than (batch, heads, query, key), so it lines up with the "
    "wrong ones.",
    "Shapes line up from the right. Where would the batch end up?",
    lambda ids: (ids != 0)[:, None, :],
    lambda ids: (ids != 0)[:, :, None],
    lambda ids: (ids != 0)[None],
)
def _flat(ids: Tensor) -> Tensor:
    return ids != 0


@mistake(
    "batch not first",
    "The mask has four axes, but its first one is not the batch.",
    "The axes are batch, heads, query, key: at which places do your new axes belong?",
    lambda ids: (ids != 0)[None, :, None],
)
def _late_batch(ids: Tensor) -> Tensor:
    return (ids != 0)[None, None]


@mistake(
    "numbers instead of booleans",
    "The mask is right, but it holds numbers, and what is done with it next needs "
    "booleans: `~mask`, for instance, and `masked_fill`.",
    "What does a comparison return, before anything is converted?",
    lambda ids: (ids != 0).long()[:, None, None, :],
    lambda ids: (ids != 0).int()[:, None, None, :],
    lambda ids: (ids != 0).to(torch.uint8)[:, None, None, :],
)
def _numbers(ids: Tensor) -> Tensor:
    return (ids != 0).float()[:, None, None, :]


@mistake(
    "numbers that mark the padding",
    "A 1 marks the padding, and it is a number, as in code that multiplies the mask by "
    "a very negative number and adds it to the scores.",
    "The docstring promises a boolean, with True for what may be looked at.",
    lambda ids: (ids == 0).long()[:, None, None, :],
    lambda ids: (ids == 0).int()[:, None, None, :],
)
def _marked(ids: Tensor) -> Tensor:
    return (ids == 0).float()[:, None, None, :]


@mistake(
    "additive mask",
    "The mask holds 0 and very negative numbers, made to be added to the scores.",
    'The docstring promises a boolean: True means "may attend".',
    *(
        lambda ids, low=low: additive(ids != 0, low)[:, None, None, :]
        for low in FILLS[1:]
    ),
)
def _added(ids: Tensor) -> Tensor:
    return additive(ids != 0)[:, None, None, :]


@mistake(
    "a row for every query",
    "The row was copied for every query. Now the mask fits only queries from the same "
    "sentence, so the decoder could not use it on the source.",
    "What is padding does not depend on the query. How long must the query axis be?",
    lambda ids: (ids != 0)[:, None, None, :].repeat(1, 1, ids.shape[1], 1),
)
def _copied(ids: Tensor) -> Tensor:
    return (ids != 0)[:, None, None, :].expand(-1, 1, ids.shape[1], -1)


@mistake(
    "one mask for the whole batch",
    "All sentences share one mask, though their padding differs.",
    "Follow the batch axis: which line loses it?",
    lambda ids: (ids != 0).any(0)[None, None, None, :],
    lambda ids: (ids != 0)[:1, None, None, :],
)
def _shared(ids: Tensor) -> Tensor:
    return (ids != 0).all(0)[None, None, None, :]


EXERCISES = (
    Exercise(
        "6.A",
        "The padding mask",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(Answer("padding_mask", reference, AXES),),
        cases=_cases,
        proves="four axes, boolean, padding anywhere, two integer types",
        misconceptions=(
            _inverted,
            _queries,
            _both,
            _other_id,
            _open,
            _flat,
            _late_batch,
            _numbers,
            _marked,
            _added,
            _copied,
            _shared,
        ),
    ),
)
