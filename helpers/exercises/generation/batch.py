"""11.M: positions in a batch of prompts that is padded on the left."""

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake


def places(mask: Tensor) -> Tensor:
    """The course's own answer to 11.M."""
    return (mask.long().cumsum(-1) - 1).clamp(min=0)


def _look(call, mask: Tensor) -> Look:
    """What padding gets does not matter, as long as the model has such a position."""
    found = call(mask)
    if not isinstance(found, Tensor) or found.shape != mask.shape:
        return Look({"positions": found})
    whole = not found.is_floating_point() and found.dtype != torch.bool
    found = found.long() if whole else found
    valid = bool(((found >= 0) & (found < mask.shape[1])).all())
    return Look(
        {
            "positions of real tokens": found.masked_fill(mask == 0, 0),
            "whole numbers": whole,
            "all from 0 to below the length": valid,
        }
    )


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def mask(*lengths: int, of: int) -> Tensor:
        order = torch.randperm(len(lengths), generator=draw)
        lengths = torch.tensor(lengths)[order]
        return torch.arange(of) >= of - lengths[:, None]

    given = {
        "three prompts": mask(5, 2, 4, of=5),
        "two prompts": mask(7, 1, of=7),
        "no padding": mask(3, 3, 3, 3, of=3),
        "one prompt with padding": mask(4, of=6),
    }
    return [
        Case(name, (one,), inputs=("mask",), look=_look) for name, one in given.items()
    ]


@mistake(
    "padding counted",
    "The positions were counted from the left edge, padding included.",
    "Take a prompt that is alone, without padding: which position does its first "
    "token have?",
)
def _all(mask: Tensor) -> Tensor:
    return torch.arange(mask.shape[1]).expand(mask.shape)


@mistake(
    "counted from 1",
    "The first real token got position 1.",
    "From which number does the model count positions?",
)
def _from_one(mask: Tensor) -> Tensor:
    return mask.long().cumsum(-1).clamp(max=mask.shape[1] - 1)


@mistake(
    "counted from 1, beyond the end",
    "The first real token got position 1, and the last one a position that a text of "
    "this length does not have.",
    "From which number does the model count positions?",
)
def _beyond(mask: Tensor) -> Tensor:
    return mask.long().cumsum(-1)


@mistake(
    "negative positions",
    "The real tokens are right, but the padding got position -1, and no table has "
    "such a row.",
    "The model looks up a row for padding as well. Which rows are there?",
)
def _negative(mask: Tensor) -> Tensor:
    return mask.long().cumsum(-1) - 1


@mistake(
    "counted from the right",
    "The positions run backwards.",
    "Read one row aloud: which token of the prompt comes first?",
)
def _right(mask: Tensor) -> Tensor:
    return mask.shape[1] - 1 - torch.arange(mask.shape[1]).expand(mask.shape)


@mistake(
    "counted down the batch",
    "The sum ran across the prompts, not along each one.",
    "Along which axis do the tokens of one prompt lie?",
)
def _down(mask: Tensor) -> Tensor:
    return (mask.long().cumsum(0) - 1).clamp(0, mask.shape[1] - 1)


@mistake(
    "not whole numbers",
    "The positions are right, but they are floats: no table has a row 2.0.",
    "Which dtype does the running sum have, and why?",
)
def _floats(mask: Tensor) -> Tensor:
    return (mask.double().cumsum(-1) - 1).clamp(min=0)


EXERCISES = (
    Exercise(
        "11.M",
        "Positions in a left-padded batch",
        "function",
        difficulty=2,
        points=2,
        answers=(Answer("positions_of", places, {"positions": "batch, length"}),),
        cases=_cases,
        proves="every prompt counted from its own first token, padding within bounds",
        misconceptions=(_all, _from_one, _beyond, _negative, _right, _down, _floats),
    ),
)
