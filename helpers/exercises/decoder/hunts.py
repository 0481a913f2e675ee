"""5.E: a loss below its floor, mass on padding, a wrong side; 5.J: three readings."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    mistake,
    value_cases,
)
from helpers.exercises.decoder.layer import DecoderLayer
from helpers.exercises.kit import exchanging, normal, number, padded, reordered

# --- 5.E ---


def _floor_look(value: Any) -> Look:
    """Judge the number; what is near the floor is rounded as the lesson prints it."""
    given = number(value)
    near = isinstance(given, float) and 1.2e-4 < abs(given - math.log(11)) < 0.06
    return Look({"value": round(given, 2) if near else value})


def _floor_cases(seed: int) -> list[Case]:
    """The floor to three decimals: a measured loss only comes near it."""
    first, second = value_cases(count=2)
    return [replace(first, look=_floor_look, tolerance=5e-5), second]


FLOOR = (
    mistake(
        "near the floor",
        "That is near the floor, but not the floor itself: a measured loss only comes "
        "close to it, and so does a number rounded too early.",
        "The floor follows from the number of words alone. Let Python compute it.",
        *(hundredths / 100 for hundredths in range(234, 247)),
    ),
    mistake(
        "minus forgotten",
        "That is the logarithm of the probability. It is negative, and a cross-entropy "
        "never is.",
        "Which sign stands in front of the logarithm in the definition of the loss?",
        -math.log(11),
    ),
    mistake(
        "sum over the places",
        "That is the loss of six words together; the curve shows the loss of each "
        "word.",
        "How many words does each point of the curve stand for?",
        6 * math.log(11),
    ),
    mistake(
        "bits",
        "That is the logarithm to base 2, in bits; torch's cross-entropy uses base e.",
        "Which base does the logarithm of your formula have?",
        math.log2(11),
    ),
    mistake(
        "the probability itself",
        "That is the probability of each word, not yet a loss.",
        "The loss is minus the logarithm of the probability of the right word.",
        1 / 11,
    ),
    mistake(
        "the whole vocabulary",
        "There are 13 ids, but padding and the start token are never the answer.",
        "From how many words is the target drawn?",
        math.log(13),
        math.log(12),
    ),
    mistake(
        "the wrong argument: source_mask",
        "No source is padded here, so a source mask would change nothing.",
        "Which words does the model get right? Which one does it miss? What follows?",
        "source_mask",
        of=1,
    ),
    mistake(
        "the wrong argument: memory",
        "The memory reaches the decoder, but the target has nothing to do with the "
        "source, so it is of no use here.",
        "Which words does the model get right? Which one does it miss? What follows?",
        "memory",
        "source",
        of=1,
    ),
    mistake(
        "another spelling",
        "`forward` has no argument of that name.",
        "What are the arguments in the first line of `Trusting.forward` called?",
        "mask",
        "masks",
        "look_ahead_mask",
        "causal_mask",
        "target mask",
        "tgt_mask",
        of=1,
    ),
)

# --- 5.F ---


def mass_on_padding(weights: Tensor, source_mask: Tensor) -> float:
    """The course's own answer to 5.F."""
    return _mass(weights, source_mask)


def _mass(
    weights: Tensor,
    source_mask: Tensor,
    *,
    over: Callable = lambda mask: ~mask,
    gather: Callable = lambda blocked: blocked.sum(-1),
    average: Callable = lambda rows: rows.mean(),
) -> float:
    blocked = torch.where(over(source_mask), weights, 0.0)  # (B, H, T, S)
    return average(gather(blocked)).item()


def _mass_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, size: tuple[int, int, int, int], *lengths: int) -> Case:
        weights = normal(draw, *size).softmax(-1)
        args = (weights, padded(*lengths, length=size[-1]))
        return Case(name, args, inputs=("weights", "source_mask"))

    return [
        case("three of six source words are padding", (2, 3, 5, 6), 6, 3),
        case("more padding than words", (3, 2, 4, 7), 2, 7, 1),
        case("no padding", (2, 3, 5, 4), 4, 4),
        Case(
            "padding in front and in the middle",
            (normal(draw, 3, 2, 4, 5).softmax(-1), _anywhere()),
            inputs=("weights", "source_mask"),
        ),
    ]


def _anywhere() -> Tensor:
    """A mask (B=3, 1, 1, S=5) whose padding does not stand at the end."""
    rows = [[0, 0, 1, 1, 1], [1, 0, 1, 0, 1], [1, 1, 0, 0, 1]]
    return torch.tensor(rows, dtype=torch.bool)[:, None, None]


def _at_the_end(mask: Tensor) -> Tensor:
    return torch.arange(mask.shape[-1]) >= mask.sum(-1, keepdim=True)


swap_mass = exchanging(_mass)
MASS_MISTAKES = (
    mistake(
        "padding only at the end",
        "The right number of keys was taken for padding, but always the last ones; "
        "padding may also stand in front of the words or between them.",
        "The mask says for each key what it is, not only how many are real.",
        swap_mass(over=_at_the_end),
    ),
    mistake(
        "mass on the words",
        "That is the share of the real words, not that of the padding.",
        "The mask is True for real words.",
        swap_mass(over=lambda mask: mask),
    ),
    mistake(
        "mean weight of a key",
        "The weights were averaged over the keys, but a query's share is their sum.",
        "Over which axis do the weights of one query sum to 1?",
        swap_mass(gather=lambda blocked: blocked.mean(-1)),
        lambda weights, mask: (
            weights[(~mask).expand_as(weights)].mean().nan_to_num().item()
        ),
        lambda weights, mask: weights[(~mask).expand_as(weights)].mean().item(),
    ),
    mistake(
        "sum over everything",
        "The shares of all queries were added up, but their average is asked for.",
        "The weights of each query sum to 1. How many queries are there?",
        swap_mass(average=lambda rows: rows.sum()),
    ),
    mistake(
        "first sequence only",
        "Only the first sequence of the batch was looked at.",
        "Over which axes do you average?",
        swap_mass(average=lambda rows: rows[0].mean()),
    ),
    mistake(
        "largest weight",
        "That is the largest weight on padding, not the sum.",
        "Over which axis do the weights of one query sum to 1?",
        swap_mass(gather=lambda blocked: blocked.amax(-1)),
    ),
    mistake(
        "share of the padded keys",
        "That is the share of the source's places that are padding, whatever their "
        "weights.",
        "Where does your function use `weights`?",
        lambda weights, mask: (~mask).double().mean().item(),
    ),
)

# --- 5.G ---


def reads_memory(layer: Callable) -> bool:
    """The course's own answer to 5.G."""
    return _reads(layer)


def _close(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, atol=1e-5)


def _reads(
    layer: Callable,
    listens: bool = True,
    in_any_order: bool = True,
    close: Callable = _close,
    axis: int = 1,
) -> bool:
    draw = torch.Generator().manual_seed(56)
    x, memory, other = (normal(draw, 3, 5, 8).float() for _ in range(3))
    output = layer(x, memory)
    heard = not close(layer(x, other), output)
    as_a_set = close(layer(x, memory.flip(axis)), output)
    return (heard or not listens) and (as_a_set or not in_any_order)


def _patient(
    layer: Any,
    ask: Callable = lambda y, memory: (y, memory, memory),
    front: Callable = lambda x, memory: x,
) -> Callable:
    """A decoder layer as a function of x and memory; float64 inside."""

    @torch.no_grad()
    def run(x: Tensor, memory: Tensor) -> Tensor:
        y, m = x.double(), memory.double()
        y = layer.add(
            front(y, m), lambda z: layer.self_attend(z, None, None), layer.norm1
        )
        y = layer.add(y, lambda z: layer.cross_attention(*ask(z, m)), layer.norm2)
        return layer.add(y, layer.feed, layer.norm3).to(x.dtype)

    return run


def _rounding(layer: Callable) -> Callable:
    """The same, rounded as sums in another order would be: the first key decides."""

    def run(x: Tensor, memory: Tensor) -> Tensor:
        odd = memory[:, :1, :1] > memory[:, -1:, :1]  # (B, 1, 1)
        output = layer(x, memory)
        return output * (1 + odd * torch.finfo(output.dtype).eps)

    return run


def _diagonal(y: Tensor, memory: Tensor) -> tuple:
    mask = torch.ones(y.shape[1], memory.shape[1], dtype=torch.bool).tril()
    return y, memory, memory, mask


def _patients(seed: int) -> list[Case]:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        post = DecoderLayer(8, 2, 16).double().eval()
        pre = DecoderLayer(8, 4, 12, norm_first=True).double().eval()
    patients = {
        "a right layer": _patient(post),
        "a right layer, pre-norm": _patient(pre),
        "a right layer whose sums are rounded differently": _rounding(_patient(post)),
        "one whose keys and values come from the decoder": _patient(
            post, lambda y, memory: (y, y, y)
        ),
        "one whose values come from the decoder": _patient(
            pre, lambda y, memory: (y, memory, y)
        ),
        "one whose keys come from the decoder": _patient(
            post, lambda y, memory: (y, y, memory)
        ),
        "one in which the source asks": _patient(pre, lambda y, memory: (memory, y, y)),
        "one that adds memory to x": _patient(
            post, lambda y, memory: (y, y, y), lambda x, memory: x + memory
        ),
        "one with a look-ahead mask on memory": _patient(post, _diagonal),
    }
    cases = (Case(name, (one,), inputs=("layer",)) for name, one in patients.items())
    return reordered(cases, seed)


swap_test = exchanging(_reads)


@mistake(
    "only shapes",
    "The test says True for every layer, the wrong ones included; their shapes are all "
    "right.",
    "Change something that a layer should notice. What must happen to the output?",
)
def _shapes(layer: Callable) -> bool:
    x = torch.randn(3, 5, 8)
    return layer(x, torch.randn(3, 5, 8)).shape == x.shape


PROBE_MISTAKES = (
    _shapes,
    mistake(
        "only another memory",
        "The test says True for every layer whose output changes with memory, but it "
        "also changes when keys and values come from different sides.",
        "Shuffle the words of memory: what must a key and its value do together?",
        swap_test(in_any_order=False),
    ),
    mistake(
        "only another order",
        "The test says True for a layer that never reads memory: shuffling memory "
        "changes nothing there, just as in a right layer.",
        "What must happen to the output when memory is a different sentence?",
        swap_test(listens=False),
    ),
    mistake(
        "True for none of them",
        "The test says False for every layer, the right ones included.",
        "Which axis of memory holds its words, and what must shuffling them change?",
        lambda layer: False,
        swap_test(axis=0),
        swap_test(axis=2),
    ),
    mistake(
        "exact comparison",
        "Rounded numbers were compared for equality, so a right layer fails too.",
        "How far apart may two roundings of the same float32 number be?",
        swap_test(close=torch.equal),
    ),
    mistake(
        "order expected to matter",
        "The test says True for layers whose output changes when memory is shuffled, "
        "but attention ignores the order of its keys.",
        "What did exercise 1.N say about a model without positions?",
        lambda layer: _reads(layer, in_any_order=False) and not _reads(layer),
    ),
    mistake(
        "verdict turned around",
        "The test says True for the wrong layers and False for the right ones.",
        "True means that the layer reads memory as it should.",
        lambda layer: not _reads(layer),
    ),
)

EXERCISES = (
    Exercise(
        "5.E",
        "Bug hunt: the loss below the floor",
        "value",
        difficulty=2,
        points=2,
        answers=(
            Answer("floor", math.log(11)),
            Answer("forgotten", "target_mask"),
        ),
        cases=_floor_cases,
        proves="ln 11 is the lowest loss of an honest model; without a target mask it "
        "reads the answer",
        misconceptions=FLOOR,
    ),
    Exercise(
        "5.F",
        "Bug hunt: who reads the padding?",
        "function",
        difficulty=2,
        points=1,
        answers=(Answer("mass_on_padding", mass_on_padding, {"mass": ""}),),
        cases=_mass_cases,
        proves="the share of attention that falls on padding, wherever it stands, "
        "averaged over queries",
        misconceptions=MASS_MISTAKES,
    ),
    Exercise(
        "5.G",
        "Bug hunt: keys and values from the wrong side",
        "probe",
        difficulty=4,
        points=2,
        answers=(Answer("reads_memory", reads_memory, {"verdict": ""}),),
        cases=_patients,
        proves="three right layers pass your test, six wrong ones do not",
        misconceptions=PROBE_MISTAKES,
    ),
    Exercise(
        "5.J",
        "Three readings of one figure",
        "written",
        difficulty=3,
        points=4,
    ),
)
