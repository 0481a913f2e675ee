"""Number words as a translation task: pairs, vocabularies, batches, loss and score.

Numbers are held out, not pairs: a model that is asked for "forty-two" has never seen 42
in any form. Lessons 06 and 08 learn from the same pairs.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.corpora.numbers import (
    NumberPair,
    Vocabulary,
    number_pairs,
    pad,
    split_pairs,
)
from helpers.corpora.vocabulary import PAD
from helpers.models.masks import padding_mask, target_mask
from helpers.training import History, train

Ids = Sequence[int]

PIECES = 80  # ids of the target: "zwei", "und", "vierzig" are pieces, and so is "z"
MANY = 1000  # more ids than the source has use for: whole words become pieces


@dataclass(frozen=True)
class NumberTask:
    """Two languages, the numbers to learn from and the numbers to be tested on."""

    train: tuple[NumberPair, ...]
    held_out: tuple[NumberPair, ...]
    source: Vocabulary
    target: Vocabulary

    def ids(self, pairs: Sequence[NumberPair]) -> list[tuple[list[int], list[int]]]:
        """Source ids and target ids of each pair, each with start and end."""
        return [
            (self.source.encode(pair.source), self.target.encode(pair.target))
            for pair in pairs
        ]

    def sources(self, pairs: Sequence[NumberPair]) -> Tensor:
        """(B, S): what a translator gets to read."""
        return pad(self.source.encode(pair.source) for pair in pairs)

    def texts(self, written: Tensor) -> list[str]:
        """(B, T) target ids -> the text of each row."""
        return [self.target.decode(row) for row in written]


def number_task(
    source: str = "en", target: str = "de", high: int = 10_000, held_out: float = 0.1
) -> NumberTask:
    """All numbers below `high` in two languages, a tenth of them held out.

    The vocabularies are learned from the training part alone.
    """
    train, test = split_pairs(number_pairs(source, target, high=high), held_out)
    sources = Vocabulary.from_texts([pair.source for pair in train], MANY)
    targets = Vocabulary.from_texts([pair.target for pair in train], PIECES)
    return NumberTask(tuple(train), tuple(test), sources, targets)


def collate(pairs: Iterable[tuple[Ids, Ids]]) -> tuple[Tensor, Tensor]:
    """Lay pairs of id lists into two tensors, source (B, S) and target (B, T)."""
    sources, targets = zip(*pairs, strict=True)
    return pad(sources), pad(targets)


def pair_batches(
    pairs: Sequence[tuple[Ids, Ids]],
    batch_size: int,
    seed: int,
    device: torch.device | str = "cpu",
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches without end; each epoch goes through all pairs in a new order.

    Args:
        pairs: source ids and target ids, each with start and end
        batch_size: B; the last pairs of an epoch that do not fill B are not used
        seed: another seed, other orders
        device: where the batches go

    Raises:
        ValueError: There are fewer pairs than a batch holds.
    """
    if len(pairs) < batch_size:
        raise ValueError(f"{len(pairs)} pairs do not fill a batch of {batch_size}")
    draw = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(len(pairs), generator=draw).tolist()
        for first in range(0, len(pairs) - batch_size + 1, batch_size):
            chosen = order[first : first + batch_size]
            source, target = collate(pairs[place] for place in chosen)
            yield source.to(device), target.to(device)


def translation_loss(
    model: nn.Module, batch: tuple[Tensor, Tensor], smoothing: float = 0.0
) -> Tensor:
    """Cross-entropy of the next target token, given the true ones before it.

    Args:
        model: takes source, target, source mask, target mask; returns logits (B, T, V)
        batch: source (B, S) and target (B, T + 1), the target with start and end
        smoothing: fraction of each label that is spread evenly over the vocabulary

    Returns:
        The mean over all real tokens; padding does not count.

    Source: Vaswani et al. 2017, sections 3.1 and 5.4.
    """
    source, target = batch
    written, labels = target[:, :-1], target[:, 1:]  # (B, T) each
    logits = model(source, written, padding_mask(source), target_mask(written))
    return F.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=PAD, label_smoothing=smoothing
    )


def exact_match(pairs: Sequence[NumberPair], texts: Sequence[str]) -> float:
    """The share of the texts that are right in every letter."""
    right = [text == pair.target for pair, text in zip(pairs, texts, strict=True)]
    return sum(right) / len(right)


def misses(task: NumberTask, texts: Sequence[str]) -> list[tuple[NumberPair, str]]:
    """The held-out pairs that were translated wrongly, each with what was written."""
    both = zip(task.held_out, texts, strict=True)
    return [(pair, text) for pair, text in both if text != pair.target]


def train_translator(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    loss_of: Callable[[nn.Module, Any], Tensor],
    steps: int,
    peak: float,
    *,
    falling: int,
    fused: bool | None = None,
    name: str = "translation",
) -> History:
    """Train a translator, and put it in eval mode.

    Adam, gradients clipped to norm 1; the rate rises for 50 steps, and falls to 0 at
    the end.

    Args:
        model: called with source, target and their masks; returns logits
        batches: source and target ids, without end
        loss_of: model and batch -> loss
        steps: how many
        peak: the largest learning rate
        falling: 3: the rate falls over the last third of the steps
        fused: Adam changes all parameters in one call, which saves time; None lets
            torch decide
        name: in front of the progress bar
    """

    def rate(step: int) -> float:
        return peak * min(1, step / 50, (steps + 1 - step) / (steps / falling))

    settings = {"betas": (0.9, 0.98), "eps": 1e-9, "fused": fused}
    optimizer = torch.optim.Adam(model.parameters(), **settings)
    options = {"schedule": rate, "clip": 1.0, "name": name}
    history = train(model, batches, loss_of, optimizer, steps, **options)
    model.eval()
    return history
