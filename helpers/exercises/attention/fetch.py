"""2.J: the query that fetches a given value; 2.K: a row with nothing to attend to."""

from collections.abc import Callable

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import normal


def query_for(keys: Tensor, wanted: int) -> Tensor:
    """The course's own answer to 2.J."""
    target = torch.zeros(len(keys), dtype=keys.dtype)
    target[wanted] = 20.0 * keys.shape[-1] ** 0.5
    return torch.linalg.pinv(keys) @ target


def _fetch_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    cases = []
    for count, d_head in ((3, 4), (5, 7), (6, 11)):
        dtype = torch.float32 if count == 3 else torch.float64
        keys = normal(draw, count, d_head, dtype=dtype)
        keys[1] = 2 * keys[0] + 0.3 * keys[1]  # longer, and nearly the same direction
        for wanted in (0, count - 1):
            cases.append(
                Case(
                    f"key {wanted} of {count}",
                    (keys, wanted),
                    inputs=("keys", "wanted"),
                    look=_fetch,
                )
            )
    return cases


def _fetch(call: Callable, keys: Tensor, wanted: int) -> Look:
    """Judge the weight that the wanted key gets: many queries are right."""
    asked = "at least 0.99 of the weight on it"
    query = call(keys, wanted)
    if not isinstance(query, Tensor):
        found = "nothing came back, so look for the `return`"
        found = found if query is None else "what came back is not a tensor"
        return Look({asked: False}, {"result": found})
    query = query.to(keys.dtype)
    way = query / query.norm()  # mistakes are known by direction, not by length
    if query.shape != keys.shape[1:]:
        sizes = f"your query is {tuple(query.shape)}, a key is {tuple(keys.shape[1:])}"
        return Look({asked: False}, {"way": way, "sizes": sizes})
    weights = (keys @ query / keys.shape[-1] ** 0.5).softmax(0)
    return Look({asked: bool(weights[wanted] > 0.99)}, {"way": way})


@mistake(
    "along the wanted key",
    "The query points along the wanted key, so a longer key in nearly the same "
    "direction gets a higher score.",
    "Which direction not only makes this score large, but keeps the others small?",
    *(
        lambda keys, wanted, longer=longer: longer * keys[wanted]
        for longer in (2, 5, 10, 20, 50, 100, 1000)
    ),
    *(
        lambda keys, wanted, longer=longer: longer * keys[wanted] / keys[wanted].norm()
        for longer in (1, 10, 50, 100)
    ),
)
def _along(keys: Tensor, wanted: int) -> Tensor:
    return keys[wanted].clone()


@mistake(
    "not sharp enough",
    "The direction is right, but the scores are so close together that the softmax "
    "spreads the weight over all keys.",
    "How large must the wanted score be to leave less than 1 % for the others?",
    lambda keys, wanted: torch.linalg.pinv(keys)[:, wanted] * keys.shape[-1] ** 0.5,
    lambda keys, wanted: 4 * torch.linalg.pinv(keys)[:, wanted],
)
def _blunt(keys: Tensor, wanted: int) -> Tensor:
    return torch.linalg.pinv(keys)[:, wanted]


@mistake(
    "one feature of the query",
    "The query is 0 everywhere but at one feature, and features are not keys.",
    "A score sums over all features. Which query makes a single score large?",
    lambda keys, wanted: 100 * torch.eye(keys.shape[-1], dtype=keys.dtype)[wanted],
)
def _one_feature(keys: Tensor, wanted: int) -> Tensor:
    return torch.eye(keys.shape[-1], dtype=keys.dtype)[wanted]


@mistake(
    "one-hot over the keys",
    "The result says which key is wanted, but it has one number per key, not one per "
    "feature.",
    "A query lives in the same space as a key. How many numbers is that?",
)
def _one_hot(keys: Tensor, wanted: int) -> Tensor:
    return torch.eye(len(keys), dtype=keys.dtype)[wanted]


EXERCISES = (
    Exercise(
        "2.J",
        "The query that fetches a given value",
        "function",
        difficulty=4,
        points=2,
        answers=(Answer("query_for", query_for, {"query": "d_head"}),),
        cases=_fetch_cases,
        proves="99 % of the weight on the wanted key, in three soft dictionaries",
        misconceptions=(_along, _blunt, _one_feature, _one_hot),
    ),
    Exercise(
        "2.K",
        "A row with nothing to attend to",
        "written",
        difficulty=3,
        points=3,
    ),
)
