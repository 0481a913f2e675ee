"""What the exercises share: numbers, sentences, masks, and the kinds of parts."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Look, Misconception, mistake

PLAIN = "GRU of one layer in one direction"


def sentences(
    draw: torch.Generator, lengths: Sequence[int], width: int, most: int
) -> Tensor:
    """Ids from 1 to `most`, a row per length, filled up with 0 to the width."""
    ids = torch.randint(1, most + 1, (len(lengths), width), generator=draw)
    return ids * (torch.arange(width) < torch.tensor(lengths)[:, None])


def real(lengths: Sequence[int], width: int) -> Tensor:
    """(B, T=1, S), True for so many places of each row."""
    return (torch.arange(width) < torch.tensor(lengths)[:, None])[:, None]


def kind(part: nn.Module) -> str:
    """What a part is: how often a GRU goes through the words, or if there is a bias."""
    if isinstance(part, nn.GRU):
        layers = "one layer" if part.num_layers == 1 else "several layers"
        ways = "two directions" if part.bidirectional else "one direction"
        return f"GRU of {layers} in {ways}"
    if isinstance(part, nn.RNNCellBase):
        return next(one.__name__ for one in CELLS if isinstance(part, one))
    weight = getattr(part, "weight", None)
    if not isinstance(weight, Tensor):
        return type(part).__name__
    bias = "" if getattr(part, "bias", None) is None else " and a bias"
    return f"weight {tuple(weight.shape)}{bias}"


CELLS = (nn.GRUCell, nn.LSTMCell, nn.RNNCell, nn.RNNCellBase)


def remember(module: nn.Module, *parts: str) -> None:
    """Note the kinds of the course's own parts, before it takes over a student's."""
    module.own_kinds = {part: kind(getattr(module, part)) for part in parts}


def kinds(module: Any, *parts: str) -> dict[str, str]:
    """The kind of each part that is there, to be judged; the course's own as noted."""
    own = getattr(module, "own_kinds", {})
    return {
        f"part {part}": own.get(part) or kind(getattr(module, part))
        for part in parts
        if isinstance(getattr(module, part, None), nn.Module)
    }


def of_kind(part: str, right: str, look: Callable[..., Look]) -> Callable[..., Look]:
    """A look that judges the kind of a part too, and asks only the right one.

    Nobody else's code could run on another: not the reference's, nor a mistake's.
    """

    def first(call: Any, *inputs: Any) -> Look:
        judged, found = kinds(call, part), getattr(call, part, None)
        if isinstance(found, nn.Module) and kind(found) != right:
            return Look(judged)
        seen = look(call, *inputs)
        return Look({**judged, **seen.judged}, seen.clues)

    return first


def not_plain(wrong: Callable[..., type]) -> tuple[Misconception, ...]:
    """What may stand where the docstring has a plain GRU.

    Args:
        wrong: the course's class with another `layer(self, d_model)`
    """
    return (
        mistake(
            "two directions",
            "The GRU reads in two directions, so it has two states for each place: 2 D "
            "numbers, where the docstring promises D.",
            "Which argument of your `nn.GRU` makes it read backwards as well?",
            wrong(layer=lambda self, d: nn.GRU(d, d, bidirectional=True)),
            wrong(layer=lambda self, d: nn.GRU(d, d, 2, bidirectional=True)),
        ),
        mistake(
            "several layers",
            "The GRU is a stack of layers, each with a state of its own; the context "
            "is one state.",
            "Which argument of your `nn.GRU` sets the number of layers?",
            wrong(layer=lambda self, d: nn.GRU(d, d, 2)),
        ),
        mistake(
            "not a GRU",
            "Another recurrent layer stands where the docstring has `nn.GRU`.",
            "Compare the name of your layer with the docstring's.",
            wrong(layer=lambda self, d: nn.LSTM(d, d)),
            wrong(layer=lambda self, d: nn.RNN(d, d)),
            wrong(layer=lambda self, d: nn.GRUCell(d, d)),
        ),
    )


def outputs(*names: str) -> Callable[..., Look]:
    """A look at what comes back, under these names where there are as many."""

    def look(call: Any, *inputs: Any) -> Look:
        result = call(*inputs)
        if len(names) == 1:
            return Look({names[0]: result})
        if isinstance(result, tuple | list) and len(result) == len(names):
            return Look(dict(zip(names, result, strict=True)))
        return Look({"result": result})

    return look
