"""Longer number words, and three translators trained on them under one set of rules.

Lesson 08 compares a recurrent model without attention, one with additive attention, and
lesson 06's Transformer. `tools/experiments` repeats the comparison.
"""

import random
import time
from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from helpers.corpora.numbers import (
    END,
    START,
    NumberPair,
    Vocabulary,
    number_pairs,
    split_pairs,
)
from helpers.experiments.translation import (
    MANY,
    PIECES,
    NumberTask,
    pair_batches,
    train_translator,
    translation_loss,
)
from helpers.generation.decoding import greedy_decode
from helpers.models.masks import padding_mask, target_mask
from helpers.models.seq2seq import Seq2Seq
from helpers.models.transformer import Transformer, TransformerConfig
from helpers.training import History

KINDS = ("RNN", "RNN with attention", "Transformer")
LONGEST = 40  # tokens of a translation, at most


def long_number_task(
    source: str = "en",
    target: str = "de",
    digits: int = 6,
    count: int = 8000,
    seed: int = 0,
) -> NumberTask:
    """Some numbers of up to so many digits in two languages, a tenth held out.

    Every count of digits is drawn equally often, as far as there are enough numbers:
    if all numbers were equally likely, short ones would hardly occur.

    Args:
        source: language to translate from
        target: language to translate into
        digits: of the longest numbers
        count: how many different numbers
        seed: another seed, other numbers; the same numbers in every language
    """
    draw = random.Random(seed).random
    numbers: set[int] = set()
    while len(numbers) < count:
        high = 10 ** (1 + int(digits * draw()))
        low = high // 10 if high > 10 else 0
        numbers.add(low + int((high - low) * draw()))
    pairs = [_spelt(source, target, number) for number in sorted(numbers)]
    learned, held_out = split_pairs(pairs)
    sources = Vocabulary.from_texts([pair.source for pair in learned], MANY)
    targets = Vocabulary.from_texts([pair.target for pair in learned], PIECES)
    return NumberTask(tuple(learned), tuple(held_out), sources, targets)


def _spelt(source: str, target: str, number: int) -> NumberPair:
    return number_pairs(source, target, number, number + 1)[0]


def new_translator(kind: str, task: NumberTask, d_model: int = 64) -> nn.Module:
    """An untrained translator for a task.

    Args:
        kind: one of `KINDS`
        task: says how many ids there are
        d_model: width of words and states

    Raises:
        ValueError: The kind is not one of `KINDS`.
    """
    sizes = len(task.source), len(task.target)
    if kind == "Transformer":
        heads, d_ff, layers, dropout = 4, 4 * d_model, 2, 0.0
        return Transformer(
            TransformerConfig(
                *sizes, d_model, heads, d_ff, layers, 64, dropout, norm_first=True
            )
        )
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r}, not in {KINDS}")
    return Seq2Seq(*sizes, d_model, attention=kind == "RNN with attention")


def teach(
    model: nn.Module,
    task: NumberTask,
    steps: int = 400,
    seed: int = 0,
    peak: float = 0.01,
    name: str = "translation",
) -> History:
    """Train a translator by the rules that hold for all three, and put it in eval mode.

    Adam, 64 pairs a step, label smoothing 0.1, gradients clipped to norm 1; the rate
    rises for 50 steps, and falls to 0 over the last third.

    Args:
        model: called with source, target and their masks; returns logits
        task: the pairs
        steps: how many
        seed: of the order of the pairs
        peak: the largest learning rate
        name: in front of the progress bar
    """

    def loss_of(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return translation_loss(model, batch, smoothing=0.1)

    where = next(model.parameters()).device
    batches = pair_batches(task.ids(task.train), 64, seed, where)
    return train_translator(model, batches, loss_of, steps, peak, falling=3, name=name)


def translate(
    model: nn.Module, task: NumberTask, pairs: Sequence[NumberPair]
) -> list[str]:
    """Let a translator write, greedily, what it makes of the sources."""
    where = next(model.parameters()).device
    source = task.sources(pairs).to(where)
    mask = padding_mask(source)
    return task.texts(greedy_decode(model, source, mask, START, END, LONGEST))


def target_lengths(task: NumberTask, pairs: Sequence[NumberPair]) -> list[int]:
    """How many tokens each translation should have, without start and end."""
    return [len(task.target.encode(pair.target)) - 2 for pair in pairs]


def match_by_length(
    texts: Sequence[str], expected: Sequence[str], lengths: Sequence[Hashable]
) -> dict[Any, float]:
    """The share of the texts of each length that are right in every letter."""
    right: dict[Any, list[bool]] = {}
    for text, wanted, length in zip(texts, expected, lengths, strict=True):
        right.setdefault(length, []).append(text == wanted)
    return {length: sum(some) / len(some) for length, some in right.items()}


def path_length(reads: Tensor) -> int:
    """The fewest steps that carry what the first place knows to the last one.

    Args:
        reads: (T, T), boolean: in one step, place t gets what the places s know for
            which reads[t, s] is True

    Raises:
        ValueError: No number of steps is enough.
    """
    known = torch.arange(len(reads)) == 0
    for steps in range(len(reads)):
        if known[-1]:
            return steps
        known = known | (reads & known).any(1)
    raise ValueError("the last place never hears of the first")


def random_batch(length: int, size: int = 16) -> tuple[Tensor, Tensor]:
    """Source and target ids of one length, for measurements: the words don't matter."""
    draw = torch.Generator().manual_seed(0)
    source = torch.randint(3, 60, (size, length), generator=draw)
    return source, torch.randint(3, 60, (size, length + 1), generator=draw)


def seconds_per_step(model: nn.Module, length: int, repeats: int = 3) -> float:
    """The time of one step of training, forward and backward, at best of some."""
    batch, times = random_batch(length), []
    for _ in range(repeats):
        start = time.perf_counter()
        translation_loss(model, batch).backward()
        times.append(time.perf_counter() - start)
    model.zero_grad()
    return min(times)


def longest_chain(result: Tensor) -> int:
    """How many operations had to wait for each other until this result was there.

    Found in the graph that autograd keeps: the longest way from the result back to a
    parameter, counted in operations.
    """
    depth: dict = {}
    todo = [result.grad_fn]
    while todo:
        node = todo[-1]
        before = [one for one, _ in node.next_functions if one is not None]
        unknown = [one for one in before if one not in depth]
        if unknown:
            todo += unknown
            continue
        depth[todo.pop()] = 1 + max((depth[one] for one in before), default=0)
    return depth[result.grad_fn]


def waiting(model: nn.Module, length: int) -> int:
    """The longest chain of a training step on sentences of a length."""
    source, target = random_batch(length, size=2)
    written = target[:, :-1]
    logits = model(source, written, padding_mask(source), target_mask(written))
    return longest_chain(logits)
