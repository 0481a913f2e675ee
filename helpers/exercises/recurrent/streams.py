"""7.3: a text cut into batches whose rows go on, each target one character ahead."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.text.characters import batches as reference

Batches = list[tuple[Tensor, Tensor]]


def batches(ids: Tensor, batch_size: int, length: int) -> Batches:
    """The course's own answer to 7.3."""
    return reference(ids, batch_size, length)


def _look(call: Callable, ids: Tensor, batch_size: int, length: int) -> Look:
    found = call(ids, batch_size, length)
    if not _are_pairs(found):
        return Look({"result": found})
    judged: dict[str, Any] = {"number of batches": len(found)}
    due = _count(ids, batch_size, length)
    for number in range(min(6, max(due, len(found)))):
        none = ("no such batch", "no such batch")
        x, y = found[number] if number < len(found) else none
        judged |= {f"x of batch {number}": x, f"y of batch {number}": y}
    return Look(judged)


def _are_pairs(found: Any) -> bool:
    if not isinstance(found, list | tuple):
        return False
    pairs = (one for one in found if isinstance(one, list | tuple) and len(one) == 2)
    tensors = [all(isinstance(part, Tensor) for part in pair) for pair in pairs]
    return len(tensors) == len(found) and all(tensors)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, letters: int, batch_size: int, length: int) -> Case:
        ids = torch.randperm(letters, generator=draw)  # no id twice
        names = ("ids", "batch_size", "length")
        return Case(name, (ids, batch_size, length), inputs=names, look=_look)

    return [
        case("3 batches, and 4 characters to spare", 2 * 5 * 3 + 4, 2, 5),
        case("just enough for 2 batches", 3 * 4 * 2 + 1, 3, 4),
        case("one character short of 3 batches", 2 * 4 * 3, 2, 4),
        case("B = T", 4 * 4 * 2 + 7, 4, 4),
        case("one row", 31, 1, 7),
    ]


def _laid(
    ids: Tensor, targets: Tensor, batch_size: int, length: int, count: int
) -> Batches:
    """Both laid out in rows, then cut along the time."""
    used = batch_size * length * count
    x, y = (one[:used].reshape(batch_size, -1) for one in (ids, targets))
    return list(zip(x.split(length, 1), y.split(length, 1), strict=True))


def _count(ids: Tensor, batch_size: int, length: int) -> int:
    return (len(ids) - 1) // (batch_size * length)


def _changed(change: Callable) -> Callable:
    """Right batches, each then changed: change(x, y) -> (x, y)."""
    return lambda *args: [change(x, y) for x, y in reference(*args)]


@mistake(
    "targets not shifted",
    "Input and target are the same characters: the model has only to copy.",
    "When the model has read x[t], which character should it say?",
)
def _same(ids: Tensor, batch_size: int, length: int) -> Batches:
    return [(x, x) for x, _ in reference(ids, batch_size, length)]


@mistake(
    "shifted the wrong way",
    "Each target is the character before its input: the model learns to look back.",
    "Write x and y of one row below each other.",
)
def _backwards(ids: Tensor, batch_size: int, length: int) -> Batches:
    return [(y, x) for x, y in reference(ids, batch_size, length)]


@mistake(
    "wrap-around",
    "The last target of the last row is the first character of the text: the end was "
    "bent back to the beginning.",
    "Which character follows the last input, and are you sure that there is one?",
    lambda ids, rows, length: _laid(
        ids,
        ids[: rows * length * _count(ids, rows, length)].roll(-1),
        rows,
        length,
        _count(ids, rows, length),
    ),
    lambda ids, rows, length: _laid(
        ids, ids.roll(-1), rows, length, len(ids) // (rows * length)
    ),
)
def _wrapped(ids: Tensor, batch_size: int, length: int) -> Batches:
    count = len(ids) // (batch_size * length)
    rolled = ids[: batch_size * length * count].roll(-1)
    return _laid(ids, rolled, batch_size, length, count)


@mistake(
    "wrap-around in each row",
    "The last target of every row is the first character of the same row.",
    "Which character of the text comes after the last one of a row?",
)
def _wrapped_rows(ids: Tensor, batch_size: int, length: int) -> Batches:
    count = _count(ids, batch_size, length)
    x = ids[: batch_size * length * count].view(batch_size, -1)
    return list(zip(x.split(length, 1), x.roll(-1, 1).split(length, 1), strict=True))


@mistake(
    "wrap-around in each batch",
    "The last target of each piece is the first character of the same piece.",
    "The character after a piece stands in the next batch. Where does your shift look?",
)
def _wrapped_pieces(ids: Tensor, batch_size: int, length: int) -> Batches:
    return [(x, x.roll(-1, 1)) for x, _ in reference(ids, batch_size, length)]


@mistake(
    "rows do not go on",
    "Each batch is a block of the text of its own: row 0 of the next batch does not "
    "go on where row 0 of this one ended.",
    "Lay the whole text out in rows first. What is cut afterwards, rows or columns?",
)
def _blocks(ids: Tensor, batch_size: int, length: int) -> Batches:
    size = batch_size * length
    starts = range(0, size * _count(ids, batch_size, length), size)
    return [
        (
            ids[first : first + size].view(batch_size, length),
            ids[first + 1 : first + size + 1].view(batch_size, length),
        )
        for first in starts
    ]


@mistake(
    "dealt out like cards",
    "Neighbours in the text landed in different rows: no row is readable.",
    "Decode one row. Which axis should run along the text?",
)
def _dealt(ids: Tensor, batch_size: int, length: int) -> Batches:
    used = batch_size * length * _count(ids, batch_size, length)
    x, y = (ids[n : used + n].view(-1, batch_size).T for n in (0, 1))
    return list(zip(x.split(length, 1), y.split(length, 1), strict=True))


@mistake(
    "time and batch swapped",
    "Each piece is (length, batch): time runs down the rows.",
    "Batch first, everywhere in this course: print the shape of one x.",
)
def _swapped(ids: Tensor, batch_size: int, length: int) -> Batches:
    return [(x.T, y.T) for x, y in reference(ids, batch_size, length)]


@mistake(
    "a character skipped",
    "Between two batches one character is lost: the next x begins behind the last "
    "target, not with it.",
    "Compare the last y of a batch with the first x of the next one.",
)
def _skipping(ids: Tensor, batch_size: int, length: int) -> Batches:
    count = _count(ids, batch_size, length)
    rows = ids[: batch_size * length * count].view(batch_size, -1)
    pieces = rows.split(length + 1, 1)
    return [(one[:, :-1], one[:, 1:]) for one in pieces if one.shape[1] == length + 1]


@mistake(
    "pieces overlap",
    "Each piece begins one character behind the one before, so that most characters "
    "are read again.",
    "Where does piece 1 begin, if piece 0 has T characters?",
)
def _overlapping(ids: Tensor, batch_size: int, length: int) -> Batches:
    count = _count(ids, batch_size, length)
    used = batch_size * length * count
    x, y = (ids[n : used + n].view(batch_size, -1) for n in (0, 1))
    return [
        (x[:, place : place + length], y[:, place : place + length])
        for place in range(count)
    ]


@mistake(
    "number and length exchanged",
    "Each row was cut into T pieces, not into pieces of T.",
    "What does the number in your cut mean: how many pieces, or how long each of them?",
)
def _exchanged(ids: Tensor, batch_size: int, length: int) -> Batches:
    used = batch_size * length * _count(ids, batch_size, length)
    x, y = (ids[n : used + n].view(batch_size, -1) for n in (0, 1))
    return list(zip(x.chunk(length, 1), y.chunk(length, 1), strict=True))


@mistake(
    "one batch lost",
    "The last batch is missing.",
    "What is a batch's last target made of, and is that character there?",
)
def _short(ids: Tensor, batch_size: int, length: int) -> Batches:
    return reference(ids, batch_size, length)[:-1]


@mistake(
    "one target per row",
    "There is one target behind each piece; every character of it has one.",
    "After how many of the characters does the model predict something?",
    _changed(lambda x, y: (x, y[:, -1:])),
)
def _only_the_last(ids: Tensor, batch_size: int, length: int) -> Batches:
    return [(x, y[:, -1]) for x, y in reference(ids, batch_size, length)]


@mistake(
    "rows as long as possible",
    "The spare characters were shared out among the rows, so that row b does not "
    "begin at b times n times T.",
    "First find the number of batches n; it says how long a row is.",
)
def _stretched(ids: Tensor, batch_size: int, length: int) -> Batches:
    stride, count = (len(ids) - 1) // batch_size, _count(ids, batch_size, length)
    return [
        tuple(
            torch.stack([
                ids[row * stride + place : row * stride + place + length]
                for row in range(batch_size)
            ])
            for place in (number * length, number * length + 1)
        )
        for number in range(count)
    ]  # fmt: skip


@mistake(
    "a batch of leftovers",
    "There is one batch too many: what is left over at the end became a last piece, "
    "shorter than the others or empty.",
    "What does the task say about the characters that are left over?",
    lambda ids, rows, length: [
        *reference(ids, rows, length),
        (ids.new_zeros(rows, 0), ids.new_zeros(rows, 0)),
    ],
)
def _leftovers(ids: Tensor, batch_size: int, length: int) -> Batches:
    size = (len(ids) - 1) // batch_size
    x, y = (ids[n : n + batch_size * size].view(batch_size, size) for n in (0, 1))
    return list(zip(x.split(length, 1), y.split(length, 1), strict=True))


EXERCISES = (
    Exercise(
        "7.3",
        "Batches that go on",
        "function",
        difficulty=3,
        minutes=12,
        points=3,
        core=True,
        answers=(Answer("batches", batches, {"a list of pairs": ""}),),
        cases=_cases,
        proves="rows go on from batch to batch, every target is the next character, "
        "nothing wraps around",
        misconceptions=(
            _same,
            _backwards,
            _wrapped,
            _wrapped_rows,
            _wrapped_pieces,
            _blocks,
            _dealt,
            _swapped,
            _skipping,
            _overlapping,
            _exchanged,
            _short,
            _only_the_last,
            _stretched,
            _leftovers,
        ),
    ),
)
