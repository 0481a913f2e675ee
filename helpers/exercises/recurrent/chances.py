"""7.L: temperature and top-k turn logits into probabilities."""

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import exchanging, normal
from helpers.exercises.masks.shared import BLOCKERS


def _threshold(logits: Tensor, top_k: int) -> Tensor:
    """The k-th best logit of each row, (B, 1): the threshold."""
    return logits.topk(top_k, -1).values[:, -1:]


def _kept(logits: Tensor, top_k: int, others: float = float("-inf")) -> Tensor:
    """All but the k largest logits of each row replaced by this number."""
    return logits.masked_fill(logits < _threshold(logits, top_k), others)


def chances(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    *,
    cut: Callable = _kept,
    scale: Callable = operator.truediv,
    softmax: Callable = lambda logits: logits.softmax(-1),
) -> Tensor:
    """The course's own answer to 7.L, in steps that a mistake can exchange."""
    if top_k is not None:
        logits = cut(logits, top_k)
    return softmax(scale(logits, temperature))


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        batch: int,
        vocabulary: int,
        *more: Any,
        dtype: Any = torch.float64,
        around: float = 0.0,
    ) -> Case:
        """No two logits of a row are close: k has a clear meaning."""
        rows = [torch.randperm(vocabulary, generator=draw) for _ in range(batch)]
        spread = torch.rand((batch, vocabulary), generator=draw, dtype=dtype)
        logits = 0.4 * torch.stack(rows).to(dtype) - 0.8 + 0.2 * spread
        logits += around + normal(draw, batch, 1, dtype=dtype)
        names = ("logits", "temperature", "top_k")
        return Case(name, (logits, *more), inputs=names)

    return [
        case("no temperature, no top-k", 3, 5),
        case("cooler", 2, 6, 0.5),
        case("hotter, the best 3", 3, 7, 2.0, 3),
        case("k = 1", 2, 5, 0.8, 1),
        case("k = all of them, float32", 2, 6, 1.3, 6, dtype=torch.float32),
        case("one row, the best 2", 1, 4, 0.6, 2),
        case(
            "all logits near -200, the best 2, float32",
            3,
            6,
            0.9,
            2,
            dtype=torch.float32,
            around=-200.0,
        ),
    ]


def _cutting(out: Callable[[Tensor, int], Tensor], **more: Callable) -> tuple:
    """Blocks the logits for which `out(logits, k)` is True, in every usual way."""
    return tuple(
        swap(cut=lambda logits, k, block=block: block(logits, out(logits, k)), **more)
        for block in BLOCKERS
    )


def _again(others: float, always: bool) -> Callable:
    """Cut the probabilities, and put them through a second softmax."""

    def wrong(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
        whole = chances(logits, temperature)
        if top_k is not None:
            whole = _kept(whole, top_k, others)
        return whole.softmax(-1) if always or top_k is not None else whole

    return wrong


def _not_renormalized(
    logits: Tensor, temperature: float = 1.0, top_k: Any = None
) -> Tensor:
    whole = chances(logits, temperature)
    return whole if top_k is None else whole * (logits >= _threshold(logits, top_k))


swap = exchanging(chances)
MISTAKES = (
    mistake(
        "multiplied by the temperature",
        "A low temperature made the probabilities more even; it should make them less "
        "so.",
        "Divide or multiply? Try a temperature close to 0.",
        swap(scale=operator.mul),
    ),
    mistake(
        "no temperature",
        "The temperature has no effect.",
        "Where does your code use `temperature`, and does a later line undo it?",
        swap(scale=lambda logits, temperature: logits),
    ),
    mistake(
        "temperature after the softmax",
        "The probabilities were divided by the temperature, so they no longer add up "
        "to 1.",
        "Which should be scaled: what goes into the softmax, or what comes out?",
        lambda logits, temperature=1.0, top_k=None: (
            chances(logits, 1.0, top_k) / temperature
        ),
    ),
    mistake(
        "softmax over the batch",
        "The probabilities of each character add up to 1 over the rows; those of each "
        "row should add up to 1 over the characters.",
        "Along which axis of (batch, vocabulary) is a character chosen?",
        *_cutting(
            lambda logits, k: logits < _threshold(logits, k),
            softmax=lambda logits: logits.softmax(0),
        ),
    ),
    mistake(
        "one more than k",
        "One character too many was kept.",
        "With k = 1, how many probabilities may be above 0? Check whether your "
        "comparison says < or <=.",
        swap(cut=lambda logits, k: _kept(logits, min(k + 1, logits.shape[1]))),
    ),
    mistake(
        "one fewer than k",
        "One character too few was kept; with k = 1 none is left.",
        "Does the k-th best logit pass your comparison?",
        *_cutting(lambda logits, k: logits <= _threshold(logits, k)),
    ),
    mistake(
        "only the best kept",
        "One character of each row was kept, whatever k is.",
        "Which of the k best logits is the threshold: the first, or the last?",
        swap(cut=lambda logits, k: _kept(logits, 1)),
    ),
    mistake(
        "logarithms",
        "The logarithms of the probabilities came back.",
        "In which range should each number lie, and to what should a row add up?",
        swap(softmax=lambda logits: logits.log_softmax(-1)),
    ),
    mistake(
        "k ignored",
        "Every character can still be drawn.",
        "Where does your code use `top_k`?",
        swap(cut=lambda logits, k: logits),
    ),
    mistake(
        "the k worst kept",
        "The k least likely characters were kept.",
        "Which end of the sorted logits do you want?",
        swap(cut=lambda logits, k: -_kept(-logits, k, float("inf"))),
    ),
    mistake(
        "blocked with 0",
        "The other logits became 0, and exp(0) is 1: those characters can still be "
        "drawn.",
        "Which logit has an exponential of 0?",
        swap(cut=partial(_kept, others=0.0)),
        swap(cut=lambda logits, k: logits * (logits >= _threshold(logits, k))),
    ),
    mistake(
        "blocked with a finite number",
        "The other logits became a low number, but the logits that are kept can be "
        "lower still.",
        "Only the differences between logits matter to a softmax, so all of them may "
        "be near -200. Which number is below every logit?",
        *(
            swap(cut=partial(_kept, others=low))
            for low in (-30.0, -50.0, -100.0, -10.0)
        ),
    ),
    mistake(
        "exponentials that underflow",
        "In float32, exp(-200) underflows to 0, and 0 was divided by 0.",
        "The softmax of lesson 02 survives this. What does it do before the "
        "exponential?",
        swap(softmax=lambda logits: logits.exp() / logits.exp().sum(-1, keepdim=True)),
    ),
    mistake(
        "the k best blocked",
        "The best were blocked, and the others kept.",
        "Print your mask for one row: is it True for what stays or for what goes?",
        *_cutting(lambda logits, k: logits >= _threshold(logits, k)),
        *_cutting(lambda logits, k: logits > _threshold(logits, k))[:1],
    ),
    mistake(
        "a softmax of probabilities",
        "Probabilities went through a second softmax and came out almost equal.",
        "Exercise 7.J: what belongs in a softmax?",
        *(
            _again(others, always)
            for others in (0.0, float("-inf"))
            for always in (True, False)
        ),
    ),
    mistake(
        "axis of the threshold lost",
        "The thresholds have shape (B,), one per row, which does not line up with "
        "(B, V): the last axes are compared first.",
        "Print both shapes. Which axis should the thresholds keep?",
        *_cutting(lambda logits, k: logits < _threshold(logits, k)[:, 0])[:1],
    ),
    mistake(
        "not renormalized",
        "The other probabilities were set to 0 after the softmax, so the rest no "
        "longer adds up to 1.",
        "Do you cut before the softmax or after it? If after, what is missing?",
        _not_renormalized,
    ),
    mistake(
        "one threshold for all rows",
        "Every row was cut at the same logit.",
        "The k best of each row are wanted. What shape does your threshold have?",
        *_cutting(lambda logits, k: logits < _threshold(logits, k)[0]),
        *_cutting(lambda logits, k: logits < _threshold(logits, k).min()),
        *_cutting(lambda logits, k: logits < logits.flatten().topk(k).values[-1]),
    ),
    mistake(
        "only k columns",
        "Only k probabilities per row came back, so nobody can tell which characters "
        "they belong to.",
        "Every character should get a probability, even if most of them are 0.",
        swap(cut=lambda logits, k: logits.topk(k, -1).values),
    ),
)

EXERCISES = (
    Exercise(
        "7.L",
        "Temperature and top-k",
        "function",
        difficulty=2,
        points=2,
        answers=(Answer("chances", chances, {"chances": "batch, vocabulary"}),),
        cases=_cases,
        proves="temperature, the k best of each row, k = 1 and k = all, logits far "
        "below 0, every row adds up to 1",
        misconceptions=MISTAKES,
    ),
)
