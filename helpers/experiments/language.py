"""The little language as a translation task: sentences, training and scores.

Pairs of words are held out, such as the animal and the street: a model that is to
translate them has seen both words, but never in one sentence.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from helpers.corpora.language.pairs import (
    SentencePair,
    held_out_constructions,
    pronouns,
    sentence_pairs,
    split_pairs,
    vocabularies,
)
from helpers.corpora.language.words import Words
from helpers.corpora.vocabulary import END, START, pad
from helpers.experiments.translation import (
    Ids,
    collate,
    train_translator,
    translation_loss,
)
from helpers.generation.decoding import greedy_decode
from helpers.models.masks import padding_mask
from helpers.models.transformer import Transformer, TransformerConfig
from helpers.training import History

LONGEST = 24  # words of a translation, at most; the grammar's longest has 21
MIXED = 20  # batches whose sentences are sorted by length together
TESTED = 1000  # held-out sentences that are translated
OFTEN, MOST = 60, 8  # a rarer word's sentences are read again, each so often at most


@dataclass(frozen=True)
class LanguageTask:
    """Sentences to learn from, and some whose words never meet in those."""

    code: str
    part: str
    train: tuple[SentencePair, ...]
    held_out: tuple[SentencePair, ...]
    source: Words
    target: Words

    def ids(self, pairs: Sequence[SentencePair]) -> list[tuple[list[int], list[int]]]:
        """Source ids and target ids of each pair, each with start and end."""
        return [
            (self.source.encode(pair.source), self.target.encode(pair.target))
            for pair in pairs
        ]

    def sources(self, pairs: Sequence[SentencePair]) -> Tensor:
        """(B, S): what a translator gets to read."""
        return pad(self.source.encode(pair.source) for pair in pairs)

    def texts(self, written: Tensor) -> list[str]:
        """(B, T) target ids -> the text of each row."""
        return [self.target.decode(row) for row in written]

    @cached_property
    def constructions(self) -> dict[str, list[SentencePair]]:
        """Name -> sentences of a construction that is never seen in training."""
        return held_out_constructions(self.code, part=self.part)


def language_task(
    code: str = "de", part: str = "core", count: int = 20_000, seed: int = 0
) -> LanguageTask:
    """Draw sentences in English and another language, and hold out pairs of words.

    Args:
        code: "de" or "fr"
        part: "core", which is learnt within a minute, or "all"
        count: how many sentences are drawn; about a tenth of them is held out
        seed: another seed, other sentences; the same pairs of words are held out
    """
    learned, held_out = split_pairs(sentence_pairs(code, count, seed, part=part))
    words = vocabularies(code, part)
    return LanguageTask(code, part, tuple(learned), tuple(held_out[:TESTED]), *words)


def new_translator(task: LanguageTask, d_model: int = 64) -> Transformer:
    """An untrained Transformer of two layers for a task."""
    sizes = len(task.source), len(task.target)
    heads, d_ff, layers, dropout = 4, 2 * d_model, 2, 0.0
    return Transformer(
        TransformerConfig(
            *sizes, d_model, heads, d_ff, layers, 64, dropout, norm_first=True
        )
    )


def with_rare_words(
    pairs: Sequence[tuple[Ids, Ids]], often: int = OFTEN, most: int = MOST
) -> list[tuple[Ids, Ids]]:
    """Repeat sentences with a rare target word, so that it is read often enough.

    A German form such as "schnelles" may stand in one of 9,000 drawn sentences.

    Args:
        pairs: source ids and target ids
        often: how often each target word should be read while all pairs are read once
        most: how often one sentence is read, at most
    """
    count = Counter(index for _, target in pairs for index in target)
    rarest = (min(count[index] for index in target) for _, target in pairs)
    repeats = (min(most, -(-often // number)) for number in rarest)
    return [
        pair for pair, many in zip(pairs, repeats, strict=True) for _ in range(many)
    ]


def similar_batches(
    pairs: Sequence[tuple[Ids, Ids]],
    size: int,
    seed: int,
    lay: Callable[[list[tuple[Ids, Ids]]], tuple[Tensor, Tensor]] = collate,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches without end, of sentences of like length: less is padding.

    Args:
        pairs: source ids and target ids, each with start and end
        size: how many pairs are in a batch
        seed: another seed, other orders
        lay: makes two tensors of pairs

    Raises:
        ValueError: There are fewer pairs than are sorted together.
    """
    if len(pairs) < size * MIXED:
        raise ValueError(f"{len(pairs)} pairs are fewer than {size * MIXED}")
    draw = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(len(pairs), generator=draw).tolist()
        for first in range(0, len(order) - size * MIXED + 1, size * MIXED):
            some = [pairs[place] for place in order[first : first + size * MIXED]]
            some.sort(key=lambda pair: len(pair[0]))
            for place in torch.randperm(MIXED, generator=draw).tolist():
                yield lay(some[place * size : (place + 1) * size])


def teach(
    model: nn.Module,
    task: LanguageTask,
    steps: int = 1500,
    seed: int = 0,
    peak: float = 0.005,
    name: str = "translation",
) -> History:
    """Train a translator, and put it in eval mode.

    Adam, 64 pairs a step, label smoothing 0.1, gradients clipped to norm 1; the rate
    rises for 50 steps, and falls to 0 over the last half. Pairs with a rare word are
    read more often than others, `with_rare_words`.

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

    batches = similar_batches(with_rare_words(task.ids(task.train)), 64, seed)
    options = {"falling": 2, "fused": True, "name": name}
    return train_translator(model, batches, loss_of, steps, peak, **options)


def translate(
    model: nn.Module, task: LanguageTask, pairs: Sequence[SentencePair]
) -> list[str]:
    """Let a translator write, greedily, what it makes of the sources."""
    source = task.sources(pairs)
    written = greedy_decode(model, source, padding_mask(source), START, END, LONGEST)
    return task.texts(written)


def exact(pairs: Sequence[SentencePair], texts: Sequence[str]) -> float:
    """The share of the texts that are right in every word."""
    right = [text == pair.target for pair, text in zip(pairs, texts, strict=True)]
    return sum(right) / len(right)


def pronouns_right(
    pairs: Sequence[SentencePair], texts: Sequence[str], code: str
) -> float:
    """The share of the reasons, `because it ...`, that have the right pronoun."""
    right = [
        pronouns(text, code) == pronouns(pair.target, code)
        for pair, text in zip(pairs, texts, strict=True)
        if pair.meaning.because
    ]
    return sum(right) / len(right)


def scores(model: nn.Module, task: LanguageTask) -> dict[str, float]:
    """How much is right, in %: held-out words, pronouns, held-out constructions.

    Returns:
        "exact" and "pronouns" for the held-out pairs of words,
        and the name of each held-out construction
    """
    texts = translate(model, task, task.held_out)
    found = {
        "exact": exact(task.held_out, texts),
        "pronouns": pronouns_right(task.held_out, texts, task.code),
    }
    for name, pairs in task.constructions.items():
        found[name] = exact(pairs, translate(model, task, pairs))
    return {name: round(100 * share, 1) for name, share in found.items()}
