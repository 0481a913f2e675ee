"""12.J: a sliding window with sinks; 12.K: what would you take over, and why?"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Property, mistake
from helpers.exercises.kit import exchanging


def window_mask(queries: int, keys: int, window: int, sinks: int = 0) -> Tensor:
    """The course's own answer to 12.J."""
    return _window(queries, keys, window, sinks)


def _window(
    queries: int,
    keys: int,
    window: int,
    sinks: int = 0,
    *,
    rows: Callable = lambda queries, keys: torch.arange(keys - queries, keys),
    near: Callable = lambda back, window: back < window,
    first: Callable = lambda column, sinks: column < sinks,
    past: Callable = lambda back: back >= 0,
    join: Callable = lambda past, near, first: past & (near | first),
) -> Tensor:
    column = torch.arange(keys)
    back = rows(queries, keys)[:, None] - column  # how far back a key lies, (T, S)
    return join(past(back), near(back, window), first(column, sinks))


def _cases(seed: int) -> list[Case]:
    sizes = [
        ("a text of six", 6, 6, 3, 0),
        ("a window of one", 4, 4, 1, 0),
        ("a window longer than the text", 5, 5, 9, 0),
        ("one new token after seven", 1, 8, 3, 0),
        ("three new tokens after four", 3, 7, 2, 0),
        ("two sinks", 7, 7, 2, 2),
        ("one sink, two new tokens after six", 2, 8, 3, 1),
        ("more sinks than tokens so far", 4, 4, 1, 3),
    ]
    if seed:
        draw = torch.Generator().manual_seed(seed)
        n, more, window, sinks = torch.randint(1, 6, (4,), generator=draw).tolist()
        sizes.append(("another size", n, n + more, window, sinks))
    inputs = ("queries", "keys", "window", "sinks")
    return [Case(name, tuple(args), inputs=inputs) for name, *args in sizes]


def _no_future(case: Case, outputs: Mapping[str, Any]) -> str | None:
    queries, keys, *_ = case.args
    late = torch.ones(queries, keys, dtype=torch.bool).triu(keys - queries + 1)
    seen = (outputs["mask"].bool() & late).any(1)
    if not seen.any():
        return None
    return f"row {seen.nonzero()[0].item()} does"


swap = exchanging(_window)

MISTAKES = (
    mistake(
        "one too many",
        "A token sees one token more than the window holds.",
        "A window of 1: which token may a token see?",
        swap(near=lambda back, window: back <= window),
    ),
    mistake(
        "one too few",
        "A token sees one token less than the window holds.",
        "A window of 1: which token may a token see?",
        swap(near=lambda back, window: back < window - 1),
    ),
    mistake(
        "both sides",
        "The window reaches into the future as well.",
        "May a token see a later one?",
        swap(
            near=lambda back, window: back.abs() < window,
            join=lambda past, near, first: near | (first & past),
        ),
    ),
    mistake(
        "no limit ahead",
        "The window ends in the past, but the whole future is open.",
        "May a token see a later one?",
        swap(join=lambda past, near, first: near | first),
    ),
    mistake(
        "sinks that come too early",
        "The sinks can be seen by tokens that stand before them.",
        "With two sinks: may the first token see the second?",
        swap(join=lambda past, near, first: past & near | first),
    ),
    mistake(
        "in the wrong corner",
        "The rows were taken for the first tokens, not for the last ones.",
        "One new token after seven: at which position does it stand?",
        swap(rows=lambda queries, keys: torch.arange(queries)),
    ),
    mistake(
        "sinks forgotten",
        "The first tokens can be seen only while they are in the window.",
        "Where is `sinks` used?",
        swap(first=lambda column, sinks: column < 0),
    ),
    mistake(
        "sinks alone",
        "Beside the sinks nothing can be seen, or only what is in both.",
        "A token sees the sinks and the window: is that *and* or *or* for a column?",
        swap(join=lambda past, near, first: past & near & first),
    ),
    mistake(
        "no window",
        "Every token sees all of its past.",
        "Where is `window` used?",
        swap(near=lambda back, window: back < 10**6),
    ),
    mistake(
        "the wrong way round",
        "The mask is True where a token may not look.",
        "In this course True means: may attend.",
        swap(join=lambda past, near, first: ~(past & (near | first))),
    ),
    mistake(
        "numbers",
        "The mask holds numbers, not True and False.",
        "Print its dtype.",
        swap(join=lambda past, near, first: (past & (near | first)).float()),
        swap(join=lambda past, near, first: (past & (near | first)).long()),
    ),
)

EXERCISES = (
    Exercise(
        "12.J",
        "A window that slides, and its sinks",
        "function",
        difficulty=2,
        points=2,
        answers=(Answer("window_mask", window_mask, {"mask": "queries, keys"}),),
        cases=_cases,
        proves="the length of the window, the future, several new tokens, sinks",
        properties=(Property("Does no token see a later one", _no_future),),
        misconceptions=MISTAKES,
    ),
    Exercise(
        "12.K",
        "Which change would you keep?",
        "written",
        difficulty=3,
        points=3,
    ),
)
