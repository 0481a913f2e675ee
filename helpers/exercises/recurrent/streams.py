"""7.C: a text cut into batches that continue each other, and their targets."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.text.characters import batches as reference

Batches = list[tuple[Tensor, Tensor]]


def batches(ids: Tensor, batch_size: int, length: int) -> Batches:
    """The course's own answer to 7.C."""
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


@mistake(
    "targets not shifted",
    "Input and target are the same characters: the model only has to copy.",
    "When the model has read x[t], which character should it predict?",
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
    "wrapped around to the beginning.",
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
    "The character after a piece is in the next batch. Where does your shift take it "
    "from?",
)
def _wrapped_pieces(ids: Tensor, batch_size: int, length: int) -> Batches:
    return [(x, x.roll(-1, 1)) for x, _ in reference(ids, batch_size, length)]


@mistake(
    "rows do not continue",
    "Each batch was cut from its own block of the text: row 0 of the next batch does "
    "not continue row 0 of this one.",
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
    "Neighbouring characters landed in different rows, so no row is readable.",
    "Decode one row. Which axis should run along the text?",
)
def _dealt(ids: Tensor, batch_size: int, length: int) -> Batches:
    used = batch_size * length * _count(ids, batch_size, length)
    x, y = (ids[n : used + n].view(-1, batch_size).T for n in (0, 1))
    return list(zip(x.split(length, 1), y.split(length, 1), strict=True))


@mistake(
    "time and batch swapped",
    "Each piece is (length, batch), so a text runs from top to bottom.",
    "Batch first, everywhere in this course: print the shape of one x.",
)
def _swapped(ids: Tensor, batch_size: int, length: int) -> Batches:
    return [(x.T, y.T) for x, y in reference(ids, batch_size, length)]


@mistake(
    "a character skipped",
    "One character is lost between two batches: the next x starts after the last "
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
    "Each piece starts only one character after the one before, so most characters "
    "are read again and again.",
    "Where does piece 1 start, if piece 0 has T characters?",
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
    "number and length swapped",
    "Each row was cut into T pieces, not into pieces of T.",
    "What does the number in your cut mean: how many pieces there are, or how long "
    "each of them is?",
)
def _exchanged(ids: Tensor, batch_size: int, length: int) -> Batches:
    used = batch_size * length * _count(ids, batch_size, length)
    x, y = (ids[n : used + n].view(batch_size, -1) for n in (0, 1))
    return list(zip(x.chunk(length, 1), y.chunk(length, 1), strict=True))


@mistake(
    "one batch lost",
    "The last batch is missing.",
    "Which character is the last target of a batch, and does the text still have it?",
)
def _short(ids: Tensor, batch_size: int, length: int) -> Batches:
    return reference(ids, batch_size, length)[:-1]


@mistake(
    "one batch too many",
    "A batch was counted whose last target does not exist: the text ends one character "
    "too early for it.",
    "How many characters do n batches need, with the last target?",
    lambda ids, rows, length: _without_last_target(ids, rows, length, rows, -1),
)
def _long(ids: Tensor, batch_size: int, length: int) -> Batches:
    width = len(ids) // (batch_size * length) * length
    return _without_last_target(ids, batch_size, length, batch_size, width)


def _without_last_target(
    ids: Tensor, batch_size: int, length: int, *shape: int
) -> Batches:
    """Inputs and targets laid out alike; the targets may be one too few."""
    used = len(ids) // (batch_size * length) * batch_size * length
    x, y = (ids[n : used + n].reshape(shape) for n in (0, 1))
    return list(zip(x.split(length, 1), y.split(length, 1), strict=True))


@mistake(
    "one target per row",
    "Each row of a piece has one target only, but every character in it needs one.",
    "After how many of the characters does the model predict something?",
    lambda *args: [(x, y[:, -1:]) for x, y in reference(*args)],
)
def _only_the_last(ids: Tensor, batch_size: int, length: int) -> Batches:
    return [(x, y[:, -1]) for x, y in reference(ids, batch_size, length)]


@mistake(
    "targets missing at the end of a row",
    "The targets were cut from the inputs, which end one character before the last "
    "target of a row.",
    "Where in the text is the target of the last character of a row?",
)
def _cut_from_inputs(ids: Tensor, batch_size: int, length: int) -> Batches:
    used = batch_size * length * _count(ids, batch_size, length)
    x = ids[:used].view(batch_size, -1)
    return list(zip(x.split(length, 1), x[:, 1:].split(length, 1), strict=False))


@mistake(
    "rows as long as possible",
    "The spare characters were spread over the rows, so row b does not start at "
    "character b times n times T.",
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
    "There is one batch too many: what was left over at the end became a last piece, "
    "shorter than the others or empty.",
    "What does the exercise say about the characters that are left over?",
    lambda ids, rows, length: [
        *reference(ids, rows, length),
        (ids.new_zeros(rows, 0), ids.new_zeros(rows, 0)),
    ],
)
def _leftovers(ids: Tensor, batch_size: int, length: int) -> Batches:
    size = (len(ids) - 1) // batch_size
    x, y = (ids[n : n + batch_size * size].view(batch_size, size) for n in (0, 1))
    return list(zip(x.split(length, 1), y.split(length, 1), strict=True))


@mistake(
    "rows cut, not columns",
    "The rows were cut apart, not the time: the pieces are not T characters long.",
    "Which axis of what you laid out runs along the text, and on which did you cut?",
    lambda *args: [tuple(_rows_of(n, *args)) for n in range(_count(*args))],
)
def _rows_cut(ids: Tensor, batch_size: int, length: int) -> Batches:
    x, y = _in_rows(ids, batch_size, length)
    return list(zip(x.split(length), y.split(length), strict=True))


def _in_rows(ids: Tensor, batch_size: int, length: int) -> list[Tensor]:
    """Inputs and targets, laid out and not yet cut."""
    used = batch_size * length * _count(ids, batch_size, length)
    return [ids[n : used + n].view(batch_size, -1) for n in (0, 1)]


def _rows_of(number: int, ids: Tensor, batch_size: int, length: int) -> list[Tensor]:
    """A slice of rows, where one of columns is due."""
    first = number * length
    laid = _in_rows(ids, batch_size, length)
    return [one[first : first + length] for one in laid]


@mistake(
    "laid out in T rows",
    "The text was laid out in T rows, not in B.",
    "What is the first axis of `inputs` to be, and what did you give to `reshape`?",
    lambda ids, rows, length: _in_t_rows(ids, rows, length, rows),
)
def _t_rows(ids: Tensor, batch_size: int, length: int) -> Batches:
    return _in_t_rows(ids, batch_size, length, length)


def _in_t_rows(ids: Tensor, batch_size: int, length: int, piece: int) -> Batches:
    used = batch_size * length * _count(ids, batch_size, length)
    x, y = (ids[n : used + n].view(length, -1) for n in (0, 1))
    return list(zip(x.split(piece, 1), y.split(piece, 1), strict=True))


@mistake(
    "two characters ahead",
    "Each target is the character after the next one.",
    "Write x and y of one row below each other. What follows the first character?",
)
def _two_ahead(ids: Tensor, batch_size: int, length: int) -> Batches:
    count = _count(ids, batch_size, length)
    return _laid(ids, ids[2:], batch_size, length, count)


@mistake(
    "left out at the beginning",
    "What is left over was left out at the beginning of the text, not at its end.",
    "Which character of the text is the first of row 0?",
)
def _from_the_end(ids: Tensor, batch_size: int, length: int) -> Batches:
    used = batch_size * length * _count(ids, batch_size, length)
    return reference(ids[-used - 1 :], batch_size, length)


EXERCISES = (
    Exercise(
        "7.C",
        "Batches that continue the text",
        "function",
        difficulty=2,
        points=3,
        core=True,
        answers=(Answer("batches", batches, {"a list of pairs": ""}),),
        cases=_cases,
        proves="rows continue from batch to batch, every target is the next "
        "character, nothing wraps around",
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
            _long,
            _only_the_last,
            _cut_from_inputs,
            _stretched,
            _leftovers,
            _rows_cut,
            _t_rows,
            _two_ahead,
            _from_the_end,
        ),
    ),
)
