"""10.D: byte-pair encoding by hand: the most frequent pair, and its merge."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import chain, combinations, pairwise
from typing import Any

import torch

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging
from helpers.text import byte_pairs

Pair = tuple[str, str]
Word = tuple[str, ...]


def most_frequent_pair(words: Mapping[Word, int]) -> Pair:
    """The course's own answer to 10.D, first part."""
    return byte_pairs.most_frequent_pair(words)


def merge(word: Word, pair: Pair) -> Word:
    """The course's own answer to 10.D, second part."""
    return byte_pairs.merge(word, pair)


def _looking(call: Callable, *inputs: Any) -> Look:
    """Lists count as tuples; the inputs must be left alone."""
    before = [dict(one) if isinstance(one, dict) else one for one in inputs]
    result = call(*inputs)
    kept = "changed" if any(map(_differ, before, inputs)) else "unchanged"
    return Look({"result": result, "the inputs": kept})


def _differ(one: Any, other: Any) -> bool:
    return one != other


def _case(name: str, of: int, *args: Any) -> Case:
    inputs = (("words",), ("word", "pair"))[of]
    return Case(name, args, inputs=inputs, of=of, look=_looking)


def _letters(draw: torch.Generator, count: int) -> list[str]:
    """Different letters in random order: no case can be learned by heart."""
    order = torch.randperm(26, generator=draw)[:count].tolist()
    return [chr(ord("a") + place) for place in order]


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    a, b, c, d, e, f = _letters(draw, 6)
    low, middle, high = (
        tuple(sorted((a, b, c, d, e, f))[n : n + 2]) for n in (0, 2, 4)
    )
    many = 5 + int(torch.randint(9, (1,), generator=draw))
    sennrich = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    return [
        _case(
            "low, lower, newest, widest", 0, {tuple(w): n for w, n in sennrich.items()}
        ),
        _case("one word, seen often", 0, {(a, b): 1, (c, d): many, (a, b, e): 1}),
        _case("where two words meet", 0, {(c, d, a): 4, (b, c, d): 1, (b, f, a): 4}),
        _case("order counts", 0, {(a, b, c): 3, (b, a, d): 2, (b, a, e): 2}),
        _case("a tie", 0, {middle: 2, high: 2, low: 2}),
        _case("another tie", 0, {middle: many, low: many, high: many}),
        _case("symbols of two letters", 0, {(a + b, c, a + b, c): 2, (a, b, d): 3}),
        _case(
            "apart is not a pair", 0, {(a, c, b): many, (a, d, b): 3, (e, f): many + 1}
        ),
        _case("twice in one word", 0, {(a, b, c, a, b): 3, (d, e): 4, (d, e, f): 1}),
        _case("other symbols that spell the pair", 1, (a, b + c, d), (a + b, c)),
        _case("once", 1, (a, b, c, d), (b, c)),
        _case("nowhere", 1, (a, c, b), (a, b)),
        _case("three times", 1, (a, b, c, a, b, a, b), (a, b)),
        _case("the same letter five times", 1, (a, a, a, a, a), (a, a)),
        _case("three in the middle", 1, (b, a, a, a, c), (a, a)),
        _case("the other way round", 1, (b, a, b, a, c), (a, b)),
        _case("a longer symbol ends alike", 1, (c + a, b, d), (a, b)),
        _case("a longer symbol begins alike", 1, (d, a, b + c), (a, b)),
        _case("pieces become longer", 1, (a + b, c, a + b, c, a), (a + b, c)),
        _case("one letter", 1, (a,), (a, b)),
    ]


# --- the most frequent pair -----------------------------------------------------------


def _counted(
    words: Mapping[Word, int],
    *,
    pairs: Callable = pairwise,
    times: Callable = lambda count: count,
    add: Callable = lambda before, count: before + count,
    choose: Callable = lambda counts: max(counts, key=counts.get),
) -> Any:
    """Count with one step exchanged."""
    counts: Counter = Counter()
    for word, count in words.items():
        for pair in pairs(word):
            counts[pair] = add(counts[pair], times(count))
    return choose(counts)


counting = exchanging(_counted)


def _across(words: Mapping[Word, int]) -> Pair:
    text = list(chain.from_iterable(w for w, n in words.items() for _ in range(n)))
    return _counted({tuple(text): 1})


def _across_once(words: Mapping[Word, int]) -> Pair:
    """Only borders between different words, as often as the second word occurs."""
    counts: Counter = Counter()
    last = None
    for word, count in words.items():
        for pair in pairwise(word if last is None else (last, *word)):
            counts[pair] += count
        last = word[-1]
    return max(counts, key=counts.get)


def _with_count(counts: Counter) -> tuple[Pair, int]:
    return counts.most_common(1)[0]


def _last_of_ties(counts: Counter) -> Pair:
    return max(reversed(counts), key=counts.get)


COUNTING = (
    mistake(
        "counts across words",
        "The last letter of a word was counted as a pair with the first letter of the "
        "next.",
        "Where does one word end in your loop, and the next begin?",
        _across,
        _across_once,
    ),
    mistake(
        "word counts ignored",
        "Every word was counted once, however often it occurs.",
        "`words` holds a number for each word. Where do you use it?",
        counting(times=lambda count: 1),
    ),
    mistake(
        "counts overwritten",
        "A pair's count is that of one word, not the sum over all words that hold it.",
        "What becomes of the count that a pair already has?",
        counting(add=lambda before, count: count),
        counting(add=lambda before, count: before or count),
    ),
    mistake(
        "order ignored",
        "A pair was counted together with the same two symbols the other way round.",
        "Is *ab* the same text as *ba*?",
        counting(pairs=lambda word: (tuple(sorted(p)) for p in pairwise(word))),
    ),
    mistake(
        "not side by side",
        "Symbols were counted as a pair though there are others between them.",
        "Which pairs does a word of three symbols have?",
        counting(pairs=lambda word: combinations(word, 2)),
    ),
    mistake(
        "every second pair skipped",
        "After each pair the next one began two symbols further on, so half of them "
        "were missed.",
        "Which pairs does a word of three symbols have?",
        counting(pairs=lambda word: zip(word[::2], word[1::2], strict=False)),
    ),
    mistake(
        "once per word",
        "A pair that occurs twice in a word was counted only once there.",
        "Did a set lose something on the way?",
        counting(pairs=lambda word: dict.fromkeys(pairwise(word))),
        counting(pairs=lambda word: set(pairwise(word))),
    ),
    mistake(
        "the rarest pair",
        "The pair with the smallest count came back.",
        "Which end of the counts does the task ask for?",
        counting(choose=lambda counts: min(counts, key=counts.get)),
    ),
    mistake(
        "the count as well",
        "The pair is right, but its count came back with it.",
        "What does the docstring promise, and what does `most_common` return?",
        counting(choose=_with_count),
    ),
    mistake(
        "the last of a tie",
        "Where several pairs are equally frequent, the one met last came back.",
        "What does the docstring say about ties?",
        counting(choose=_last_of_ties),
    ),
    mistake(
        "alphabetical",
        "Where several pairs are equally frequent, the alphabet decided.",
        "What does the docstring say about ties?",
        counting(choose=lambda counts: min(counts, key=lambda p: (-counts[p], p))),
        counting(choose=lambda counts: max(counts, key=lambda p: (counts[p], p))),
    ),
)


# --- merge ----------------------------------------------------------------------------


def _merged(
    word: Word,
    pair: Pair,
    *,
    same: Callable = lambda found, pair: found == pair,
    skip: int = 2,
    once: bool = False,
    glue: Callable = "".join,
    right: bool = False,
) -> Word:
    """Merge with one step exchanged."""
    symbols, result, place, done = list(word), [], 0, False
    if right:
        symbols = symbols[::-1]
    while place < len(symbols):
        found = tuple(symbols[place : place + 2])
        found = found[::-1] if right else found
        if same(found, pair) and not (once and done):
            result.append(glue(found))
            place, done = place + skip, True
        else:
            result.append(symbols[place])
            place += 1
    return tuple(result[::-1] if right else result)


merging = exchanging(_merged)


def _in_text(word: Word, pair: Pair) -> Word:
    return tuple(" ".join(word).replace(" ".join(pair), "".join(pair)).split(" "))


def _by_spelling(word: Word, pair: Pair) -> Word:
    """Two symbols are merged if their letters are those of the pair."""
    return _merged(word, pair, same=lambda found, pair: "".join(found) == "".join(pair))


def _overlapping(word: Word, pair: Pair) -> Word:
    """Every place that begins a pair gives a merged symbol."""
    result = []
    for place, symbol in enumerate(word):
        if word[place : place + 2] == pair:
            result.append("".join(pair))
        elif place == 0 or word[place - 1 : place + 1] != pair:
            result.append(symbol)
    return tuple(result)


def _both_kept(word: Word, pair: Pair) -> Word:
    """The merged symbol, and its second half again."""
    return _merged(word, pair, skip=1)


def _each_place(word: Word, pair: Pair) -> Word:
    """Looks at each two neighbours, and never at the last symbol alone."""
    return tuple("".join(pair) if two == pair else two[0] for two in pairwise(word))


def _text(word: Word, pair: Pair) -> str:
    return " ".join(_merged(word, pair))


def _last_lost(word: Word, pair: Pair) -> Word:
    """Stops before the last symbol unless it belongs to a pair."""
    result, place = [], 0
    while place < len(word) - 1:
        found = word[place : place + 2] == pair
        result.append("".join(pair) if found else word[place])
        place += 2 if found else 1
    return tuple(result)


MERGING = (
    mistake(
        "overlapping pairs",
        "In *aaa* both pairs were merged: the middle letter was used twice.",
        "After a merge, at which symbol does the search go on?",
        _overlapping,
        of=1,
    ),
    mistake(
        "second half kept",
        "The pair was merged, but its second symbol is still there.",
        "After a merge, how many symbols of the old word are used up?",
        _both_kept,
        of=1,
    ),
    mistake(
        "second half kept, last symbol lost",
        "The pair's second symbol is still there after a merge, and a last symbol that "
        "belongs to no pair is missing.",
        "After a merge, how many symbols of the old word are used up? And where does "
        "your loop end?",
        _each_place,
        of=1,
    ),
    mistake(
        "only the first place",
        "Only one occurrence was merged; the others were left.",
        "When does your search end?",
        merging(once=True),
        of=1,
    ),
    mistake(
        "replaced as text",
        "A symbol that only ends or begins like the pair was cut up: *ca b* holds the "
        "text *a b*, but not the symbols *a* and *b*.",
        "Compare whole symbols, not the letters of a text.",
        _in_text,
        of=1,
    ),
    mistake(
        "spelling compared",
        "Two other symbols were merged because together they spell the pair: *a* and "
        "*bc* are not the pair *ab* and *c*.",
        "Compare symbol with symbol, before anything is joined.",
        _by_spelling,
        of=1,
    ),
    mistake(
        "either order merged",
        "The same two symbols the other way round were merged as well.",
        "Is *ab* the same text as *ba*?",
        merging(same=lambda found, pair: sorted(found) == sorted(pair)),
        of=1,
    ),
    mistake(
        "from the right",
        "The word was searched from its end: in *aaa* the last two were merged, not "
        "the first two.",
        "What does the docstring say about the order?",
        merging(right=True),
        of=1,
    ),
    mistake(
        "last symbol lost",
        "A symbol at the end that belongs to no pair is missing.",
        "What becomes of a word of one letter?",
        _last_lost,
        of=1,
    ),
    mistake(
        "glued with a space",
        "The new symbol has a space in it.",
        "Print the new symbol with `repr`.",
        merging(glue=" ".join),
        of=1,
    ),
    mistake(
        "one string",
        "The whole word came back as one string, not as a tuple of symbols.",
        "What does the docstring promise?",
        _text,
        lambda word, pair: "".join(_merged(word, pair)),
        of=1,
    ),
    mistake(
        "pair put in as it is",
        "The pair itself was put into the word, a tuple in a tuple, not one new "
        "symbol.",
        "A symbol is a string.",
        merging(glue=tuple),
        of=1,
    ),
)

EXERCISES = (
    Exercise(
        "10.D",
        "Byte pairs",
        "function",
        difficulty=2,
        points=4,
        core=True,
        answers=(
            Answer("most_frequent_pair", most_frequent_pair, {"pair": ""}),
            Answer("merge", merge, {"word": ""}),
        ),
        cases=_cases,
        proves="counts within words, times their number, ties; merges left to right, "
        "each symbol once, whole symbols only",
        misconceptions=(*COUNTING, *MERGING),
    ),
)
