"""6.E: pairs made into a batch, and the target shifted by one token."""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging
from helpers.exercises.masks.shared import padded_ids

Pairs = list[tuple[list[int], list[int]]]


def _table(
    rows: list[list[int]],
    filler: int = 0,
    width: int | None = None,
    left: bool = False,
) -> Tensor:
    width = width or max(map(len, rows))
    full = []
    for row in rows:
        more = [filler] * (width - len(row))
        full.append((more + list(row) if left else list(row) + more)[:width])
    return torch.tensor(full)


def collate(
    pairs: Pairs,
    *,
    table: Callable[[list[list[int]]], Tensor] = _table,
    second: Callable[[list[list[int]]], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """The course's own answer to the first half of 6.E, with steps to replace.

    `second` makes the table of the targets, where that is another.
    """
    sources, targets = ([list(pair[side]) for pair in pairs] for side in (0, 1))
    return table(sources), (second or table)(targets)


def shift(target: Tensor) -> tuple[Tensor, Tensor]:
    """The course's own answer to the second half of 6.E."""
    return target[:, :-1], target[:, 1:]


def _sentence(draw: torch.Generator, length: int) -> list[int]:
    inside = torch.randint(3, 12, (length - 2,), generator=draw).tolist()
    return [1, *inside, 2]


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def batch(name: str, *lengths: tuple[int, int]) -> Case:
        pairs = [(_sentence(draw, s), _sentence(draw, t)) for s, t in lengths]
        return Case(name, (pairs,), inputs=("pairs",), look=_collating)

    def target(name: str, lengths: tuple[int, ...], width: int) -> Case:
        ids = padded_ids(draw, lengths, width)
        ids[:, 0] = 1  # the start token
        return Case(name, (ids,), inputs=("target",), of=1)

    return [
        batch("three pairs of different lengths", (4, 6), (7, 3), (5, 5)),
        batch("two pairs, sources longer than targets", (9, 4), (6, 5)),
        batch("one pair", (3, 5)),
        batch("four pairs of the same lengths", (4, 5), (4, 5), (4, 5), (4, 5)),
        target("two targets of five tokens", (5, 3), 5),
        target("three targets of seven tokens", (6, 7, 4), 7),
        target("one target of two tokens", (2,), 2),
    ]


def _collating(call: Callable, pairs: Pairs) -> Look:
    """Judge the two tables, and that the caller's lists are unchanged."""
    before = copy.deepcopy(pairs)
    result: Any = call(pairs)
    two = isinstance(result, tuple | list) and len(result) == 2
    ids = map(_whole, result) if two else ()
    tables = dict(zip(("source", "target"), ids, strict=True)) if two else {}
    lists = "as they were" if pairs == before else "changed"
    return Look({**(tables or {"result": result}), "the lists in pairs": lists})


def _whole(ids: Any) -> Any:
    """Whole numbers of 32 bits are as good: an embedding takes both kinds."""
    small = isinstance(ids, Tensor) and ids.dtype == torch.int32
    return ids.long() if small else ids


swap = exchanging(collate)


_left = mistake(
    "padding in front",
    "The padding comes before the sentences, but it belongs after them.",
    "Where does the start token of the shorter sentence end up?",
    swap(table=partial(_table, left=True)),
)


_filler = mistake(
    "wrong padding id",
    "Short sentences are padded with an id other than 0.",
    "Which id does every mask in this lesson take for padding?",
    *(swap(table=partial(_table, filler=filler)) for filler in (1, 2, -100, -1)),
    *(swap(second=partial(_table, filler=filler)) for filler in (2, -100)),
)


@mistake(
    "positions before the batch",
    "The tables are (position, batch), but the batch should come first.",
    "Which axis holds the pairs? `pad_sequence` has an argument for that.",
)
def _places_first(pairs: Pairs) -> tuple[Tensor, Tensor]:
    return tuple(table.T for table in collate(pairs))


_cut = mistake(
    "cut to the shortest",
    "Longer sentences were cut off, so their ends are lost.",
    "Which sentence decides how wide the table is?",
    swap(table=lambda side: _table(side, width=min(map(len, side)))),
)


@mistake(
    "both sides equally wide",
    "Source and target were padded to one common length, but each side has its own.",
    "Which sentences share a tensor?",
)
def _one_width(pairs: Pairs) -> tuple[Tensor, Tensor]:
    width = max(len(ids) for pair in pairs for ids in pair)
    return collate(pairs, table=partial(_table, width=width))


@mistake(
    "source and target swapped",
    "The target came first.",
    "In which order does the docstring promise them?",
)
def _swapped(pairs: Pairs) -> tuple[Tensor, Tensor]:
    return collate(pairs)[::-1]


_ragged = mistake(
    "not padded",
    "The lists were made into a tensor as they are, although they differ in length.",
    "Which length must all rows of a table have, and what fills the shorter ones?",
    swap(table=torch.tensor),
)


_lists = mistake(
    "lists instead of tensors",
    "The rows are padded, but they came back as lists, not as a tensor.",
    "Which type does the docstring promise?",
    swap(table=lambda side: _table(side).tolist()),
)


_floats = mistake(
    "ids as floats",
    "The ids are floats, but an embedding looks rows up by whole numbers.",
    "Which dtype does `torch.zeros` have by default?",
    swap(table=lambda side: _table(side).double()),
    swap(table=lambda side: _table(side).float()),
)


@mistake(
    "pairs lengthened in place",
    "The padding was appended to the lists in `pairs` themselves. They belong to the "
    "caller, and next time they will already be padded.",
    "Look for `append`, `extend` and `+=`: whose list do they lengthen?",
)
def _lengthened(pairs: Pairs) -> tuple[Tensor, Tensor]:
    tables = collate(pairs)
    for pair in pairs:
        for ids, table in zip(pair, tables, strict=True):
            ids.extend([0] * (table.shape[1] - len(ids)))
    return tables


@mistake(
    "not shifted",
    "Input and labels are the same tokens, so the model only has to copy.",
    "At position t the model has read input[t]. Which token should it predict next?",
    lambda target: (target[:, :-1], target[:, :-1]),
    lambda target: (target[:, 1:], target[:, 1:]),
    of=1,
)
def _same(target: Tensor) -> tuple[Tensor, Tensor]:
    return target, target


@mistake(
    "shifted the wrong way",
    "The labels are the tokens before the input, so the model would learn to predict "
    "the text backwards.",
    "Write the input and the labels of one short sentence one below the other.",
    of=1,
)
def _backwards(target: Tensor) -> tuple[Tensor, Tensor]:
    return target[:, 1:], target[:, :-1]


@mistake(
    "one side left whole",
    "Only one of the two was shortened, so they differ in length.",
    "How many predictions are there for a target of n tokens?",
    lambda target: (target, target[:, 1:]),
    of=1,
)
def _half(target: Tensor) -> tuple[Tensor, Tensor]:
    return target[:, :-1], target


@mistake(
    "rolled around",
    "The first token came back at the end, as the label of the last one.",
    "What follows the last token of a sentence? Nothing that should be learned.",
    lambda target: (target, torch.cat([target[:, 1:], target[:, :1]], 1)),
    of=1,
)
def _rolled(target: Tensor) -> tuple[Tensor, Tensor]:
    return target, target.roll(-1, 1)


@mistake(
    "shifted along the batch",
    "The shift went along the batch, so the labels of each sentence are another "
    "sentence.",
    "Which axis holds the tokens of a sentence?",
    of=1,
)
def _batch(target: Tensor) -> tuple[Tensor, Tensor]:
    return target[:-1], target[1:]


@mistake(
    "shifted by two",
    "The labels are two tokens ahead, so one token of each sentence is never learned.",
    "At position 0 the model has read the start token. What should it predict?",
    of=1,
)
def _two(target: Tensor) -> tuple[Tensor, Tensor]:
    return target[:, :-2], target[:, 2:]


EXERCISES = (
    Exercise(
        "6.E",
        "Pairs into a batch, and the target shifted",
        "function",
        difficulty=2,
        points=3,
        core=True,
        answers=(
            Answer(
                "collate", collate, {"source": "batch, key", "target": "batch, query"}
            ),
            Answer(
                "shift",
                shift,
                {"decoder_input": "batch, query", "labels": "batch, query"},
            ),
        ),
        cases=_cases,
        proves="both sides padded, ids unchanged; labels one place ahead of the input",
        misconceptions=(
            _left,
            _filler,
            _cut,
            _places_first,
            _one_width,
            _swapped,
            _ragged,
            _lists,
            _floats,
            _lengthened,
            _same,
            _backwards,
            _half,
            _rolled,
            _batch,
            _two,
        ),
    ),
)
