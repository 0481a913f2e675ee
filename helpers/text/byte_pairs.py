"""Byte-pair encoding: frequent neighbours become one symbol, again and again.

Words are tuples of symbols, at first of characters (GPT-2: of bytes). Learning merges
the most frequent pair of neighbours, then the next, and remembers the order; encoding
applies the merges to a new word in that order.

Source: Sennrich et al. 2016 (arXiv 1508.07909), section 3.2; Gage 1994 for the idea.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

Pair = tuple[str, str]
Word = tuple[str, ...]

__all__ = ["count_words", "encode", "learn", "merge", "most_frequent_pair"]


def count_words(text: str) -> dict[Word, int]:
    """How often each word occurs, as a tuple of characters.

    A space belongs to the word behind it, as in GPT-2; other characters stand alone.
    """
    counts = Counter(re.findall(r" ?\w+|\W", text))
    return {tuple(word): count for word, count in counts.items()}


def most_frequent_pair(words: Mapping[Word, int]) -> Pair:
    """The two neighbours that stand side by side most often, within words.

    Args:
        words: word -> how often it occurs

    Returns:
        The pair; of several that are equally frequent the one that comes first.

    Raises:
        ValueError: No word has two symbols.
    """
    counts = _pair_counts(words)
    if not counts:
        raise ValueError("No word has two symbols left, so there is nothing to merge.")
    return max(counts, key=counts.__getitem__)


def _pair_counts(words: Mapping[Word, int]) -> Counter:
    counts: Counter = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return counts


def merge(word: Word, pair: Pair) -> Word:
    """Join a pair wherever it occurs, from left to right, each symbol once at most."""
    merged: list[str] = []
    place = 0
    while place < len(word):
        if word[place : place + 2] == pair:
            merged.append(pair[0] + pair[1])
            place += 2
        else:
            merged.append(word[place])
            place += 1
    return tuple(merged)


def learn(words: Mapping[Word, int], merges: int) -> list[Pair]:
    """The merges in their order, at most so many; fewer if no pair is left."""
    words, learned = dict(words), []
    for _ in range(merges):
        if not any(len(word) > 1 for word in words):
            break
        learned.append(most_frequent_pair(words))
        words = _merge_all(words, learned[-1])
    return learned


def _merge_all(words: Mapping[Word, int], pair: Pair) -> dict[Word, int]:
    merged: Counter = Counter()  # two spellings of one word may become the same
    for word, count in words.items():
        merged[merge(word, pair)] += count
    return dict(merged)


def encode(word: Iterable[str], merges: Sequence[Pair]) -> Word:
    """Cut a new word into symbols: the earliest learned merge first.

    Args:
        word: its characters (or bytes)
        merges: in the order in which they were learned
    """
    rank = {pair: place for place, pair in enumerate(merges)}
    symbols = tuple(word)
    while len(symbols) > 1:
        first = min(pairwise(symbols), key=lambda pair: rank.get(pair, len(rank)))
        if first not in rank:
            break
        symbols = merge(symbols, first)
    return symbols
