"""Independent solutions to 10.D."""

from collections import Counter, defaultdict

import numpy as np


def pair_by_counter(words):
    counts = Counter()
    for word, times in words.items():
        for left, right in zip(word, word[1:], strict=False):
            counts[left, right] += times
    return counts.most_common(1)[0][0]


def pair_by_loops(words):
    counts = defaultdict(int)
    for word in words:
        for place in range(len(word) - 1):
            counts[word[place], word[place + 1]] += words[word]
    best = None
    for pair, count in counts.items():
        if best is None or count > counts[best]:
            best = pair
    return best


def pair_as_a_list(words):
    pairs, counts = [], []
    for word, times in words.items():
        for pair in zip(word[:-1], word[1:], strict=True):
            if pair not in pairs:
                pairs.append(pair)
                counts.append(0)
            counts[pairs.index(pair)] += times
    return list(pairs[int(np.argmax(counts))])


def merge_by_places(word, pair):
    result, place = [], 0
    while place < len(word):
        if list(word[place : place + 2]) == list(pair):
            result += ["".join(pair)]
            place += 2
        else:
            result += [word[place]]
            place += 1
    return result


def merge_by_recursion(word, pair):
    if len(word) < 2:
        return tuple(word)
    if (word[0], word[1]) == tuple(pair):
        return (word[0] + word[1], *merge_by_recursion(word[2:], pair))
    return (word[0], *merge_by_recursion(word[1:], pair))


def merge_by_iterator(word, pair):
    left, right = pair
    result = []
    for symbol in word:
        if result and result[-1] == left and symbol == right:
            result[-1] = left + right
        else:
            result.append(symbol)
    return tuple(result)


VARIANTS = {
    "10.D": (
        (pair_by_counter, merge_by_places),
        (pair_by_loops, merge_by_recursion),
        (pair_as_a_list, merge_by_iterator),
    ),
}
