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
from torch import Tensor, nn

from helpers.experiments import translators
from helpers.experiments.translation import NumberTask, exact_match
from helpers.models.seq2seq import Seq2Seq

WIDTHS = (8, 16, 32, 64)
RATES = (0.0025, 0.005, 0.01, 0.02)  # peaks
DIGITS = ("1 to 3", "4", "5", "6")  # of the numbers whose scores are told together


class Run(NamedTuple):
    """One training."""

    looks_back: bool
    width: int  # of words and states, and so of the context
    steps: int = 2000
    peak: float = 0.01  # of the learning rate
    context: int | None = None  # numbers of the context that get through; None: all


class Score(NamedTuple):
    """What came of it."""

    exact: float  # share of the held-out numbers that are right in every letter
    by_digits: tuple[float, ...]  # the same, for each of `DIGITS`
    seconds: float  # of processor time, for the training


class NarrowContext(Seq2Seq):
    """The translator without attention; of its context a part gets through."""

    def __init__(
        self, source_size: int, target_size: int, d_model: int, context: int
    ) -> None:
        """Create both halves; with context = d_model nothing is held back.

        Args:
            source_size: ids of the source
            target_size: ids of the target
            d_model: width of words and states
            context: how many numbers the decoder gets from the encoder
        """
        super().__init__(source_size, target_size, d_model, attention=False)
        self.context = context

    def encode(self, source: Tensor, source_mask: Tensor | None) -> Tensor:
        """(B, S) -> memory (B, S, D): the numbers behind the first ones are 0."""
        memory = super().encode(source, source_mask)
        passed = memory[..., : self.context]
        return nn.functional.pad(passed, (0, memory.shape[-1] - self.context))


@cache
def task() -> NumberTask:
    """English to German, 7,200 numbers to learn from and 800 held out."""
    return translators.long_number_task("en", "de")


def measure(run: Run, seed: int) -> Score:
    """Train one translator, and let it write the held-out numbers."""
    numbers = task()
    torch.manual_seed(seed)
    model = _new(run, numbers)
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


def _new(run: Run, numbers: NumberTask) -> nn.Module:
    if run.context is not None:
        sizes = len(numbers.source), len(numbers.target)
        return NarrowContext(*sizes, run.width, run.context)
    kind = "RNN with attention" if run.looks_back else "RNN"
    return translators.new_translator(kind, numbers, run.width)


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
