"""How much fits through one vector? Exact match over width, length and training.

Two recurrent translators of lesson 08, one whose decoder gets nothing but the encoder's
last state and one that looks back at all of its states, learn number words of up to six
digits. `python -m tools.experiments bottleneck` repeats what `MEASURED` holds.
"""

import time
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import torch

from helpers.experiments import translators
from helpers.experiments.translation import NumberTask, exact_match

WIDTHS = (8, 16, 32, 64)
RATES = (0.0025, 0.005, 0.01, 0.02)  # peaks
DIGITS = ("1 to 3", "4", "5", "6")  # of the numbers whose scores are told together


class Run(NamedTuple):
    """One training."""

    looks_back: bool
    width: int  # of words and states, and so of the context
    steps: int = 2000
    peak: float = 0.01  # of the learning rate


class Score(NamedTuple):
    """What came of it."""

    exact: float  # share of the held-out numbers that are right in every letter
    by_digits: tuple[float, ...]  # the same, for each of `DIGITS`
    seconds: float  # of processor time, for the training


@cache
def task() -> NumberTask:
    """English to German, 7,200 numbers to learn from and 800 held out."""
    return translators.long_number_task("en", "de")


def measure(run: Run, seed: int) -> Score:
    """Train one translator, and let it write the held-out numbers."""
    numbers = task()
    torch.manual_seed(seed)
    kind = "RNN with attention" if run.looks_back else "RNN"
    model = translators.new_translator(kind, numbers, run.width)
    start = time.process_time()
    translators.teach(model, numbers, run.steps, seed, run.peak)
    seconds = time.process_time() - start
    texts = translators.translate(model, numbers, numbers.held_out)
    shares = translators.match_by_length(
        texts,
        [pair.target for pair in numbers.held_out],
        [group(pair.number) for pair in numbers.held_out],
    )
    by_digits = tuple(shares[name] for name in DIGITS)
    return Score(exact_match(numbers.held_out, texts), by_digits, seconds)


def group(number: int) -> str:
    """Which of `DIGITS` a number belongs to."""
    return DIGITS[max(len(str(number)), 3) - 3]


# What came of it with the seed 0: width -> {steps -> exact match}. A test compares it
# with docs/experiments.md, where the other seeds are.
WITHOUT: Mapping[int, Mapping[int, float]] = {
    16: {1000: 0.00875, 2000: 0.04625},
    64: {400: 0.625, 1000: 0.99625},
}
WITH: Mapping[int, Mapping[int, float]] = {16: {2000: 0.99625}}
# After the longest training of each, for each of `DIGITS`.
BY_DIGITS: Mapping[str, Mapping[int, tuple[float, ...]]] = {
    "without attention": {
        16: (0.1635, 0.0417, 0.0298, 0.0163),
        64: (1.0, 1.0, 0.9957, 0.9918),
    },
    "with attention": {16: (0.9904, 1.0, 1.0, 0.9918)},
}
