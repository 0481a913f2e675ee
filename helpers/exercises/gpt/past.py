"""10.G: what a cache hands to the attention: all keys, all values, who sees whom."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging, normal

Pair = tuple[Tensor, Tensor]  # keys and values, (B, H, S, K) each
Found = tuple[Tensor, Tensor, Tensor]  # all keys, all values, the mask


def extend_past(past: Pair | None, key: Tensor, value: Tensor) -> Found:
    """The course's own answer to 10.G."""
    return _extend(past, key, value)


def _appended(before: Tensor, new: Tensor) -> Tensor:
    return torch.cat([before, new], 2)


def _lower(new: int, everything: int) -> Tensor:
    """The last `new` of all tokens as queries, all tokens as keys."""
    return torch.ones(new, everything, dtype=torch.bool).tril(everything - new)


def _extend(
    past: Pair | None,
    key: Tensor,
    value: Tensor,
    *,
    keys: Callable = _appended,
    values: Callable = _appended,
    mask: Callable = _lower,
    order: Callable = lambda *found: found,
) -> Found:
    """The past and the new tokens with one step exchanged."""
    new = key.shape[2]
    if past is not None:
        key, value = keys(past[0], key), values(past[1], value)
    return order(key, value, mask(new, key.shape[2]))


class _Past(list):
    """A pair that looks short in messages."""

    def __repr__(self) -> str:
        return f"keys and values, {tuple(self[0].shape)} each"


def _look(call: Callable, past: Pair | None, key: Tensor, value: Tensor) -> Look:
    before = [one.clone() for one in past or ()]
    result = call(past, key, value)
    kept = all(map(torch.equal, before, past or ()))
    judged: dict[str, Any] = {"the past": "as it was" if kept else "changed"}
    if not (isinstance(result, tuple | list) and len(result) == 3):
        return Look({**judged, "result": result})
    names = ("keys", "values", "mask")
    return Look(judged | dict(zip(names, result, strict=True)))


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        batch: int,
        heads: int,
        before: int,
        new: int,
        width: int,
        **more: Any,
    ) -> Case:
        def pair(length: int) -> Pair:
            size = (batch, heads, length, width)
            return _Past(normal(draw, *size, **more) for _ in range(2))

        past = pair(before) if before else None
        args = (past, *pair(new))
        return Case(name, args, inputs=("past", "key", "value"), look=_look)

    return [
        case("the beginning: four tokens, no past", 2, 3, 0, 4, 5),
        case("one new token after four", 2, 3, 4, 1, 5),
        case("two new tokens after three", 1, 2, 3, 2, 4),
        case("three after three, as many heads, float32", 3, 3, 3, 3, 3,
             dtype=torch.float32),
        case("three new tokens after one", 2, 4, 1, 3, 6),
    ]  # fmt: skip


swap = exchanging(_extend)


def _both(step: Callable) -> Callable:
    return swap(keys=step, values=step)


def _along(axis: int) -> Callable:
    return _both(lambda before, new: torch.cat([before, new], axis))


def _of(build: Callable) -> Callable:
    return swap(mask=build)


def _all_tokens(new: int, everything: int) -> Tensor:
    """A row for each token, also for those that were read before."""
    return _lower(everything, everything)


MISTAKES = (
    mistake(
        "appended twice",
        "The new keys and values are there twice.",
        "Three tokens were read and two are new. How many keys should there be?",
        _both(lambda before, new: torch.cat([before, new, new], 2)),
    ),
    mistake(
        "new before old",
        "The new keys and values stand in front of the old ones.",
        "In which order were the tokens read?",
        _both(lambda before, new: torch.cat([new, before], 2)),
    ),
    mistake(
        "joined along another axis",
        "Old and new were joined along the axis of the batch, the heads or the width.",
        "Which of the four axes (batch, heads, length, width) grows with the text?",
        _along(0),
        _along(1),
        _along(3),
    ),
    mistake(
        "the past left out",
        "Only the keys and values of the new tokens came back.",
        "What is the past for, if nobody attends to it?",
        _both(lambda before, new: new),
    ),
    mistake(
        "the new tokens left out",
        "Only the keys and values of the past came back.",
        "May a new token see itself?",
        _both(lambda before, new: before),
    ),
    mistake(
        "values forgotten",
        "The keys are all there, but the values are only those of the new tokens.",
        "How many values does a row of weights need?",
        swap(values=lambda before, new: new),
    ),
    mistake(
        "keys and values swapped",
        "The values came back first and the keys second.",
        "In which order does the docstring name them?",
        swap(order=lambda keys, values, mask: (values, keys, mask)),
    ),
    mistake(
        "mask of numbers",
        "The mask holds ones and zeros, not True and False: attention would add them "
        "to the scores, and hide nothing.",
        "Print the dtype of your mask. What does lesson 06 say it should be?",
        _of(lambda new, everything: _lower(new, everything).float()),
        _of(lambda new, everything: _lower(new, everything).int()),
        _of(lambda new, everything: _lower(new, everything).long()),
    ),
    mistake(
        "mask in the wrong corner",
        "The first new token sees only the first key: the mask ignores the past.",
        "Draw the mask for two new tokens after three: two rows, five columns.",
        _of(lambda new, everything: torch.ones(new, everything).bool().tril()),
    ),
    mistake(
        "mask without the past",
        "The mask has one column for each new token, but there are more keys than "
        "that.",
        "Draw the mask for two new tokens after three: two rows, five columns.",
        _of(lambda new, everything: _lower(new, new)),
    ),
    mistake(
        "mask for all tokens",
        "The mask has a row for each token, but only the new ones ask.",
        "How many queries are there, and how many keys?",
        _of(_all_tokens),
    ),
    mistake(
        "mask off by one: itself hidden",
        "The new tokens do not see themselves.",
        "Draw the mask for two new tokens after three: two rows, five columns.",
        _of(lambda new, everything: _lower(new, everything).tril(everything - new - 1)),
    ),
    mistake(
        "mask off by one: one token ahead",
        "Each new token sees the one after it.",
        "The first of two new tokens stands at the fourth place. Which keys may it "
        "see?",
        _of(
            lambda new, everything: (
                torch.ones(new, everything).bool().tril(everything - new + 1)
            )
        ),
    ),
    mistake(
        "mask the wrong way round",
        "What a new token may see is hidden from it, and the later tokens are not.",
        "In this course True means: may attend.",
        _of(lambda new, everything: ~_lower(new, everything)),
    ),
    mistake(
        "nothing hidden",
        "Each new token sees the new tokens behind it as well.",
        "A prompt is read in one call. May its first token see its last one?",
        _of(lambda new, everything: torch.ones(new, everything).bool()),
    ),
)

EXERCISES = (
    Exercise(
        "10.G",
        "The past and the new tokens",
        "function",
        difficulty=2,
        points=2,
        answers=(
            Answer(
                "extend_past",
                extend_past,
                {
                    "keys": "batch, heads, all, d_head",
                    "values": "batch, heads, all, d_head",
                    "mask": "new, all",
                },
            ),
        ),
        cases=_cases,
        proves="with and without a past, order and axis, a boolean mask in the right "
        "corner",
        misconceptions=MISTAKES,
    ),
)
