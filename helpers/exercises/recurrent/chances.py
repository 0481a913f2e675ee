"""7.7: temperature and top-k turn logits into chances."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import normal
from helpers.exercises.recurrent.shared import DOUBLE


def chances(logits: Tensor, temperature: float = 1.0, top_k: int | None = None):
    """The course's own answer to 7.7."""
    if top_k is not None:
        logits = _kept(logits, top_k)
    return torch.softmax(logits / temperature, -1)


def _kept(logits: Tensor, top_k: int) -> Tensor:
    """All but the k largest logits of each row at minus infinity."""
    worst = logits.topk(top_k, -1).values[:, -1:]
    return logits.masked_fill(logits < worst, float("-inf"))


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        batch: int,
        words: int,
        *more: Any,
        dtype: Any = DOUBLE,
        around: float = 0.0,
    ) -> Case:
        """No two logits of a row are close: k has a clear meaning."""
        rows = [torch.randperm(words, generator=draw) for _ in range(batch)]
        spread = torch.rand((batch, words), generator=draw, dtype=dtype)
        logits = 0.4 * torch.stack(rows).to(dtype) - 0.8 + 0.2 * spread
        logits += around + normal(draw, batch, 1, dtype=dtype)
        names = ("logits", "temperature", "top_k")
        return Case(name, (logits, *more), inputs=names)

    return [
        case("as they are", 3, 5),
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


@mistake(
    "multiplied by the temperature",
    "A low temperature made the chances more equal; it should make them less so.",
    "Divide or multiply? Try a temperature close to 0.",
)
def _multiplied(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    return chances(logits, 1 / temperature, top_k)


@mistake(
    "no temperature",
    "The temperature changes nothing.",
    "Where does your code use `temperature`, and does a later line undo it?",
)
def _ignored(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    return chances(logits, 1.0, top_k)


@mistake(
    "temperature after the softmax",
    "The chances were divided by the temperature: they no longer add up to 1.",
    "What has to be scaled, what goes into the softmax or what comes out?",
)
def _after(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    return chances(logits, 1.0, top_k) / temperature


@mistake(
    "softmax over the batch",
    "Each character's chances add up to 1 over the rows, not each row's over the "
    "characters.",
    "Which axis of (batch, vocabulary) is the choice made from?",
)
def _over_rows(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    logits = logits if top_k is None else _kept(logits, top_k)
    return torch.softmax(logits / temperature, 0)


@mistake(
    "one more than k",
    "One character too many has a chance.",
    "With k = 1, how many chances may be above 0? Watch whether it says < or <=.",
)
def _one_more(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    more = None if top_k is None else min(top_k + 1, logits.shape[-1])
    return chances(logits, temperature, more)


@mistake(
    "one less than k",
    "One character too few has a chance; with k = 1 none is left.",
    "Does the k-th best pass your comparison?",
)
def _one_less(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    if top_k is not None:
        worst = logits.topk(top_k, -1).values[:, -1:]
        logits = logits.masked_fill(logits <= worst, float("-inf"))
    return torch.softmax(logits / temperature, -1)


@mistake(
    "k ignored",
    "All the characters keep a chance.",
    "Where does your code use `top_k`?",
)
def _all(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    return chances(logits, temperature)


@mistake(
    "the worst k",
    "The k least likely characters were kept.",
    "Which end of the sorted logits do you want?",
)
def _worst(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    if top_k is not None:
        best = logits.topk(top_k, -1, largest=False).values[:, -1:]
        logits = logits.masked_fill(logits > best, float("-inf"))
    return torch.softmax(logits / temperature, -1)


@mistake(
    "blocked with 0",
    "The others got the logit 0, and exp(0) is 1: they still have a chance.",
    "Which logit becomes 0 under the exponential?",
    lambda logits, temperature=1.0, top_k=None: torch.softmax(
        (
            logits
            if top_k is None
            else logits * (logits >= logits.topk(top_k, -1).values[:, -1:])
        )
        / temperature,
        -1,
    ),
)
def _zeroed(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    kept = logits if top_k is None else _kept(logits, top_k)
    kept = kept.masked_fill(kept.isinf(), 0.0)
    return torch.softmax(kept / temperature, -1)


def _filled(number: float) -> Callable:
    """Block with this number."""

    def wrong(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
        kept = logits if top_k is None else _kept(logits, top_k)
        kept = kept.masked_fill(kept.isinf(), number)
        return torch.softmax(kept / temperature, -1)

    return wrong


LOW = mistake(
    "blocked with a number",
    "The others got a low logit, but not the lowest: it can lie above those that are "
    "kept.",
    "The softmax does not care where the logits lie, they may all be near -200. Which "
    "number is below every logit?",
    _filled(-30.0),
    _filled(-50.0),
    _filled(-100.0),
    _filled(-10.0),
)


@mistake(
    "exponentials that vanish",
    "In float32 exp(-200) is 0: 0 was divided by 0.",
    "The softmax of lesson 02 survives this. What does it do before the exponential?",
)
def _by_hand(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    kept = logits if top_k is None else _kept(logits, top_k)
    powers = (kept / temperature).exp()
    return powers / powers.sum(-1, keepdim=True)


@mistake(
    "the k best blocked",
    "The k best were blocked, and the others kept.",
    "Print your mask for one row: is it True for what stays or for what goes?",
)
def _turned(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    if top_k is not None:
        worst = logits.topk(top_k, -1).values[:, -1:]
        logits = logits.masked_fill(logits >= worst, float("-inf"))
    return torch.softmax(logits / temperature, -1)


def _twice(blocked: float, always: bool) -> Callable:
    """Cut the chances, and put them through a softmax again."""

    def wrong(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
        whole = torch.softmax(logits / temperature, -1)
        if top_k is not None:
            worst = whole.topk(top_k, -1).values[:, -1:]
            whole = whole.masked_fill(whole < worst, blocked)
        return whole.softmax(-1) if always or top_k is not None else whole

    return wrong


TWICE = mistake(
    "a softmax of chances",
    "Chances went into a softmax once more: they come out almost equal.",
    "Exercise 7.5c: what belongs into a softmax?",
    *tuple(
        _twice(to, always) for to in (0.0, float("-inf")) for always in (True, False)
    ),
)


@mistake(
    "axis of the threshold lost",
    "The thresholds are (B,), one for each row, and beside (B, V) they lie along the "
    "wrong axis.",
    "Print both shapes. Which axis should the thresholds keep?",
)
def _flat(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    if top_k is not None:
        worst = logits.topk(top_k, -1).values[:, -1]
        logits = logits.masked_fill(logits < worst, float("-inf"))
    return torch.softmax(logits / temperature, -1)


@mistake(
    "not shared out again",
    "The others' chances were set to 0 after the softmax: what is left does not add "
    "up to 1.",
    "Cut first or last? If last, what is missing?",
)
def _not_shared(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    whole = chances(logits, temperature)
    kept = logits if top_k is None else _kept(logits, top_k)
    return whole * ~kept.isinf()


@mistake(
    "one threshold for all rows",
    "All rows were cut at one and the same logit.",
    "The k best of each row are asked for. Which shape has your threshold?",
    lambda logits, temperature=1.0, top_k=None: torch.softmax(
        (
            logits
            if top_k is None
            else logits.masked_fill(
                logits < logits.topk(top_k, -1).values.min(), float("-inf")
            )
        )
        / temperature,
        -1,
    ),
    lambda logits, temperature=1.0, top_k=None: torch.softmax(
        (
            logits
            if top_k is None
            else logits.masked_fill(
                logits < logits.flatten().topk(top_k).values[-1], float("-inf")
            )
        )
        / temperature,
        -1,
    ),
)
def _same_for_all(logits: Tensor, temperature: float = 1.0, top_k: Any = None):
    if top_k is not None:
        worst = logits[0].topk(top_k).values[-1]
        logits = logits.masked_fill(logits < worst, float("-inf"))
    return torch.softmax(logits / temperature, -1)


@mistake(
    "only k columns",
    "The chances of the k best come back alone: nobody knows whose they are.",
    "There should be a chance for every character, most of them 0.",
)
def _narrow(logits: Tensor, temperature: float = 1.0, top_k: Any = None) -> Tensor:
    best = logits if top_k is None else logits.topk(top_k, -1).values
    return torch.softmax(best / temperature, -1)


EXERCISES = (
    Exercise(
        "7.7",
        "Temperature and top-k",
        "function",
        difficulty=2,
        minutes=6,
        points=2,
        answers=(Answer("chances", chances, {"chances": "batch, vocabulary"}),),
        cases=_cases,
        proves="temperature, the k best of each row, k = 1 and k = all, logits far "
        "below 0, every row adds up to 1",
        misconceptions=(
            _multiplied,
            _ignored,
            _after,
            _over_rows,
            _one_more,
            _one_less,
            _all,
            _worst,
            _zeroed,
            LOW,
            _by_hand,
            _turned,
            TWICE,
            _flat,
            _not_shared,
            _same_for_all,
            _narrow,
        ),
    ),
)
