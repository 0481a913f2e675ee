"""What the exercises share: numbers, sentences, masks, and the kinds of parts."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Look, Misconception, mistake
from helpers.exercises.kit import padded, words

PLAIN = "GRU of one layer in one direction"


def sentences(
    draw: torch.Generator, lengths: Sequence[int], width: int, vocab_size: int
) -> Tensor:
    """Ids above 0, a row per length, padded with 0 to the width."""
    return words(draw, vocab_size, len(lengths), width) * real(lengths, width)[:, 0]


def real(lengths: Sequence[int], width: int) -> Tensor:
    """A padding mask (B, T=1, S): no heads here."""
    return padded(*lengths, length=width)[:, 0]


def kind(part: nn.Module) -> str:
    """What a part is: a GRU's layers and directions, or a weight's shape and bias."""
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
    """A look that also judges the kind of a part, and calls the answer if it is right.

    Neither the reference nor a mistake could run with a student's part of another kind;
    and a mistake whose own part is of another kind says nothing about a right one.
    """

    def first(call: Any, *inputs: Any) -> Look:
        judged, found = kinds(call, part), getattr(call, part, None)
        if isinstance(found, nn.Module) and {kind(found), *judged.values()} != {right}:
            return Look(judged)
        seen = look(call, *inputs)
        return Look({**judged, **seen.judged}, seen.clues)

    return first


def not_plain(swap: Callable[..., type]) -> tuple[Misconception, ...]:
    """What may stand where the docstring has a plain GRU.

    Args:
        swap: what writes the course's class with another `layer(self, d_model)`
    """
    return (
        mistake(
            "two directions",
            "The GRU reads in two directions, so it has two states for each position: "
            "2 D numbers, where the docstring promises D.",
            "Which argument of your `nn.GRU` makes it read backwards as well?",
            swap(layer=lambda self, d: nn.GRU(d, d, bidirectional=True)),
            swap(layer=lambda self, d: nn.GRU(d, d, 2, bidirectional=True)),
        ),
        mistake(
            "several layers",
            "The GRU is a stack of layers, each with its own state, but the context "
            "is a single state.",
            "Which argument of your `nn.GRU` sets the number of layers?",
            swap(layer=lambda self, d: nn.GRU(d, d, 2)),
        ),
        mistake(
            "not a GRU",
            "The docstring asks for `nn.GRU`, but this is another recurrent part.",
            "Compare the name of your layer with the docstring's.",
            swap(layer=lambda self, d: nn.LSTM(d, d)),
            swap(layer=lambda self, d: nn.RNN(d, d)),
            swap(layer=lambda self, d: nn.GRUCell(d, d)),
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
