"""8.H: how many steps apart two places are; 8.J: and at what price."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake

MOST = 4_000  # operations on the table; loops over its entries need a thousand or two
ENDLESS = "none, for the loop goes on without end"


class _Endless(Exception):
    """The table was used far too often."""


class _Counted(Tensor):
    """A table that notices a loop without an end, long before the time limit does."""

    left = MOST

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Any, args: tuple = (), kwargs: Any = None
    ) -> Any:
        """Count an operation, and do it."""
        _Counted.left -= 1
        if _Counted.left < 0:
            raise _Endless
        return super().__torch_function__(func, types, args, kwargs or {})


def _look(call: Callable, reads: Tensor) -> Look:
    """The steps, or that there was no end to them."""
    _Counted.left = MOST
    try:
        steps = call(reads.as_subclass(_Counted))
    except _Endless:
        return Look({"steps": ENDLESS})
    return Look({"steps": steps.item() if isinstance(steps, _Counted) else steps})


def _band(length: int, back: int, ahead: int) -> Tensor:
    """Each place reads itself, and so many places before and after it."""
    place = torch.arange(length)
    apart = place[:, None] - place  # (T, S): how far behind the reader
    return (apart <= back) & (apart >= -ahead)


def _links(length: int, *pairs: tuple[int, int]) -> Tensor:
    """(reader, read) pairs."""
    table = torch.zeros(length, length, dtype=torch.bool)
    for reader, read in pairs:
        table[reader, read] = True
    return table


def _detour(draw: torch.Generator) -> Tensor:
    """The last place reads two others: the farther one has the longer way to go."""
    length = int(torch.randint(6, 10, (), generator=draw))
    far = int(torch.randint(2, length - 3, (), generator=draw))
    near = int(torch.randint(far + 1, length - 1, (), generator=draw))
    ways = ((length - 1, far), (length - 1, near), (near, 0), (0, length - 1))
    return _band(length, 1, 0) | _links(length, *ways)


def _cases(seed: int) -> list[Case]:
    """Every place can be reached from every other, so that no search runs forever."""
    draw = torch.Generator().manual_seed(seed)
    ring = [(place, place - 1) for place in range(1, 7)]
    trap = _band(9, 1, 2) | _links(9, (5, 0), (6, 2), (8, 6))
    trap[6:8, 5] = False
    mixed = _band(8, 1, 1)
    mixed[torch.randperm(6, generator=draw)[:2] + 2, 0] = True
    tables = {
        "two neighbours read each other": _band(6, 1, 1),
        "everybody reads everybody": torch.ones(7, 7, dtype=torch.bool),
        "two places back, one ahead": _band(9, 2, 1),
        "one place back, three ahead": _band(8, 1, 3),
        "a ring: the first reads the last": _links(7, *ring, (0, 6)),
        "two places, one of them hears nothing new": _links(2, (1, 0), (0, 1), (0, 0)),
        "a long jump into a dead end": trap,
        "some long jumps": mixed,
        "the last place reads two": _detour(draw),
        "the middle is the last to know": _band(7, 1, 1) | _links(7, (6, 1)),
        "one place": torch.ones(1, 1, dtype=torch.bool),
    }
    return [
        Case(name, (one,), inputs=("reads",), look=_look)
        for name, one in tables.items()
    ]


def path_length(reads: Tensor) -> int:
    """The course's own answer to 8.H."""
    return _search(reads, 0, len(reads) - 1)


def _search(reads: Tensor, first: int, last: int) -> int:
    known = torch.arange(len(reads)) == first
    for steps in range(len(reads)):
        if known[last]:
            return steps
        known = known | (reads & known).any(1)
    return len(reads)


def _by_farthest_jump(reads: Tensor) -> int:
    """From each place to the farthest that reads it; if stuck, one step on."""
    place, steps = 0, 0
    while place < len(reads) - 1 and steps < len(reads):
        readers = reads[:, place].nonzero().flatten().tolist()
        place, steps = max([*readers, place]), steps + 1
    return steps


def _by_farthest_read(reads: Tensor) -> int:
    """Backwards: from each place to the first one that it reads."""
    place, steps = len(reads) - 1, 0
    while place > 0 and steps < len(reads):
        place, steps = int(reads[place].nonzero()[0]), steps + 1
    return steps


def _longest_way(reads: Tensor) -> int:
    return len(reads) - 1


def _doubling(reads: Tensor) -> int:
    """Squares the table, and counts the squarings."""
    steps, table = 0, reads | torch.eye(len(reads), dtype=torch.bool)
    while not table[-1, 0]:
        table, steps = (table.float() @ table.float()) > 0, steps + 1
    return steps + (len(reads) > 1)


def _within_a_step(reads: Tensor) -> int:
    """Place by place: who has just learned already tells the next one."""
    known, steps = [True] + [False] * (len(reads) - 1), 0
    while not known[-1]:
        for place, read in enumerate(reads.tolist()):
            known[place] |= any(a and b for a, b in zip(read, known, strict=True))
        steps += 1
    return steps


def _until_all_know(reads: Tensor) -> int:
    known, steps = torch.arange(len(reads)) == 0, 0
    while not known.all():
        known, steps = known | (reads & known).any(1), steps + 1
    return steps


MISTAKES = (
    mistake(
        "places counted, not steps",
        "The places on the way were counted, both ends included.",
        "How many steps lead from a place to its neighbour?",
        lambda reads: path_length(reads) + 1,
    ),
    mistake(
        "last step forgotten",
        "The step onto the last place was not counted.",
        "How many steps lead from a place to its neighbour?",
        lambda reads: max(path_length(reads) - 1, 0),
    ),
    mistake(
        "the wrong way round",
        "The path runs from the last place to the first, or rows were taken for "
        "columns.",
        "`reads[t, s]`: t reads s. In which direction does the information go?",
        lambda reads: _search(reads.T, 0, len(reads) - 1),
        lambda reads: _search(reads, len(reads) - 1, 0),
    ),
    mistake(
        "nobody learns anything new",
        "The loop never ends: in each turn those who know are told what they know, and "
        "nobody else is told anything.",
        "Your table has a row for each reader and a column for each place that is "
        "read. Along which of the two must `any` look, so that a reader learns?",
        lambda reads: ENDLESS if len(reads) > 1 else 0,
    ),
    mistake(
        "distance instead of steps",
        "The answer is how far apart the two places stand, whatever the table says.",
        "What is the answer where everybody reads everybody?",
        _longest_way,
        lambda reads: len(reads),
    ),
    mistake(
        "the farthest jump each time",
        "From each place the farthest jump was taken, which can lead into a dead end "
        "or a detour.",
        "Keep track of all the places that know by now, not just one.",
        _by_farthest_jump,
        _by_farthest_read,
    ),
    mistake(
        "doublings counted",
        "The table was squared again and again, so each turn covers twice as many "
        "steps as the one before.",
        "How many steps does the third squaring add?",
        _doubling,
    ),
    mistake(
        "news of the same step",
        "Places that learned something in a step passed it on within that step, so "
        "the count is too low.",
        "Who knew before the step began? Only they can be asked in it.",
        _within_a_step,
    ),
    mistake(
        "until everybody knows",
        "The search went on until all places knew.",
        "Which one place is the goal?",
        _until_all_know,
    ),
    mistake(
        "entries counted",
        "The entries of the table were counted: that is the price, not the path.",
        "Start with the first place. Who knows after one step? After two?",
        lambda reads: int(reads.sum()),
    ),
)

EXERCISES = (
    Exercise(
        "8.H",
        "Steps between two distant words",
        "function",
        difficulty=3,
        points=3,
        answers=(Answer("path_length", path_length, {"steps": ""}),),
        cases=_cases,
        proves="fewest steps: neighbours, windows, jumps, dead ends, detours",
        misconceptions=MISTAKES,
    ),
    Exercise(
        "8.J",
        "A short path, and its price",
        "written",
        difficulty=3,
        points=3,
    ),
)
