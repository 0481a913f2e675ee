"""11.E: no run of n tokens twice, and the word that this rule breaks off."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    mistake,
    value_cases,
)
from helpers.exercises.generation.shared import NEVER, filtered
from helpers.exercises.kit import normal
from helpers.generation import sampling


def reference(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    """The course's own answer to 11.E."""
    return sampling.no_repeat_ngram_filter(logits, ids, n)


def _look(call: Callable, logits: Tensor, ids: Tensor, n: int) -> Look:
    return Look(filtered(call(logits, ids, n)))


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, n: int, rows: list[list[int]], size: int) -> Case:
        logits = normal(draw, len(rows), size)
        order = torch.randperm(size, generator=draw)  # which token plays which part
        args = logits, order[torch.tensor(rows)], n
        return Case(name, args, inputs=("logits", "ids", "n"), look=_look)

    pairs = [[1, 2, 3, 1, 4, 5, 1], [6, 1, 6, 2, 2, 3, 2], [1, 2, 3, 4, 5, 6, 0]]
    three = [[1, 2, 3, 2, 1, 4, 0, 1, 2], [5, 1, 5, 1, 2, 1, 6, 5, 1]]
    more = torch.randint(0, 4, (3, 17), generator=draw).tolist()
    return [
        case("n = 2, three texts", 2, pairs, 7),
        case("n = 3, two texts", 3, three, 8),
        case("n = 1: no token twice", 1, [[1, 3, 3, 0], [2, 2, 2, 5]], 6),
        case("n = 2, a token twice in a row", 2, [[3, 1, 2, 2]], 5),
        case("n = 3, a text of two tokens", 3, [[1, 2], [2, 2]], 4),
        case("n = 2, a text of one token", 2, [[1]], 3),
        case("n = 4, few different tokens", 4, [[1, 2, 1, 2, 1, 2, 0, 1, 2, 1]], 9),
        case("n = 3, long texts of four tokens", 3, more, 5),
        case("n = 2, three tokens come again", 2, [[1, 2, 3, 0, 1, 2]], 5),
    ]


def _runs(row: list[int], n: int, size: int = 0) -> Iterator[list[int]]:
    """All runs of n tokens in a text."""
    return (row[start : start + n] for start in range(len(row) - n + 1))


def _last(row: list[int], count: int) -> list[int]:
    return row[len(row) - count :] if count <= len(row) else [-1]


def _plain(row: list[int], n: int) -> set[int]:
    """The tokens that the rule blocks."""
    return {run[-1] for run in _runs(row, n) if run[:-1] == _last(row, n - 1)}


def _block(
    logits: Tensor,
    ids: Tensor,
    n: int,
    which: Callable[[list[int], int], set[int]],
    filler: float = NEVER,
) -> Tensor:
    """Block, in each row, the tokens that a rule names."""
    scores = logits.clone()
    for place, row in enumerate(ids.tolist()):
        for token in which(row, n):
            scores[place, token] = filler
    return scores


@mistake(
    "blocks tokens, not n-grams",
    "Every token that was used before is blocked, whatever comes before it.",
    "Which run of n tokens would be written a second time?",
)
def _tokens(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    return _block(logits, ids, n, lambda row, n: set(row))


@mistake(
    "blocks every follower",
    "Every token that ended a run was blocked, not only those of runs with the right "
    "beginning.",
    "Which runs begin the way the text ends now?",
)
def _followers(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    return _block(logits, ids, n, lambda row, n: {run[-1] for run in _runs(row, n)})


@mistake(
    "beginning one too long",
    "The last n tokens were compared, so runs of n + 1 tokens were forbidden.",
    "A run of n tokens: how many of them are there before the last one is written?",
)
def _long(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    return _block(logits, ids, n, lambda row, n: _plain(row, n + 1))


@mistake(
    "beginning one too short",
    "The last n - 2 tokens were compared, so runs of n - 1 tokens were forbidden.",
    "A run of n tokens: how many of them are there before the last one is written?",
    lambda logits, ids, n: _block(logits, ids, n, lambda row, n: _plain(row, n - 1)),
)
def _shorter(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    return _block(logits, ids, n, lambda row, n: _plain(row, max(n - 1, 1)))


def _all_but_the_last(row: list[int], n: int) -> set[int]:
    runs = list(_runs(row, n))[:-1]
    return {run[-1] for run in runs if run[:-1] == _last(row, n - 1)}


@mistake(
    "last run missed",
    "The last run of the text was left out.",
    "How many runs of n does a text of T tokens have? Count for T = 4, n = 2.",
)
def _missed(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    return _block(logits, ids, n, _all_but_the_last)


@mistake(
    "last run missed, n = 1 forgotten",
    "The last run of the text was left out, and with n = 1 nothing is blocked.",
    "How many runs of n does a text of T tokens have? And what does `text[-(n - 1):]` "
    "hold when n is 1?",
)
def _missed_twice(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    if n == 1:
        return logits.clone()
    return _block(logits, ids, n, _all_but_the_last)


@mistake(
    "n = 1 forgotten",
    "With n = 1 nothing is blocked, though no token may come twice then. The usual "
    "reason: a slice that begins at -0 is the whole text, not an empty one.",
    "What is `text[-(n - 1):]` when n is 1?",
)
def _whole(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    return _block(logits, ids, n, lambda row, n: _plain(row, n) if n > 1 else set())


@mistake(
    "one step behind",
    "The end of the text was taken without its last token.",
    "Which tokens come directly before the one that is written next?",
)
def _behind(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    def which(row: list[int], n: int) -> set[int]:
        end = _last(row[:-1], n - 1)
        return {run[-1] for run in _runs(row, n) if run[:-1] == end}

    return _block(logits, ids, n, which)


@mistake(
    "blocked too late",
    "The token after the run was blocked, not the one that would complete it.",
    "Take n = 2: how many tokens of the text do you compare, and does the one that you "
    "block come directly after them?",
)
def _after_the_run(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    def which(row: list[int], n: int) -> set[int]:
        end = _last(row, n - 1)
        return {run[-1] for run in _runs(row, n + 1) if run[:-2] == end}

    return _block(logits, ids, n, which)


@mistake(
    "nothing blocked",
    "Nothing was blocked, in no text.",
    "Print the two lists of tokens that you compare. Two lists that differ in length "
    "are never equal.",
    lambda logits, ids, n: logits,
)
def _nothing(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    return logits.clone()


@mistake(
    "one end for all texts",
    "What one text ends with was looked for in every text of the batch.",
    "Each text ends in its own way. Where does your code take the last n - 1 tokens "
    "from?",
    lambda logits, ids, n: _one_end(logits, ids, n, -1),
)
def _first_end(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    return _one_end(logits, ids, n, 0)


def _one_end(logits: Tensor, ids: Tensor, n: int, whose: int) -> Tensor:
    end = _last(ids[whose].tolist(), n - 1)

    def which(row: list[int], n: int) -> set[int]:
        return {run[-1] for run in _runs(row, n) if run[:-1] == end}

    return _block(logits, ids, n, which)


@mistake(
    "blocks the beginning",
    "The first token of the run was blocked, not the one that would complete it.",
    "Of a run of n tokens that was found, which one would be written next?",
)
def _begins(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    def which(row: list[int], n: int) -> set[int]:
        return {run[0] for run in _runs(row, n) if run[:-1] == _last(row, n - 1)}

    return _block(logits, ids, n, which)


@mistake(
    "order ignored",
    "The order of the tokens was ignored: *a b* counted as *b a*.",
    "Is a run of tokens the same when its tokens change places?",
)
def _unordered(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    def which(row: list[int], n: int) -> set[int]:
        end = sorted(_last(row, n - 1))
        return {run[-1] for run in _runs(row, n) if sorted(run[:-1]) == end}

    return _block(logits, ids, n, which)


@mistake(
    "only one of several",
    "Only one run with this beginning was found, the first or the last; there may be "
    "several.",
    "What does your code do with the second one that it finds?",
    lambda logits, ids, n: _block(
        logits, ids, n, lambda row, n: set(_followers_of_the_end(row, n)[-1:])
    ),
)
def _earliest(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    return _block(logits, ids, n, lambda row, n: set(_followers_of_the_end(row, n)[:1]))


def _followers_of_the_end(row: list[int], n: int) -> list[int]:
    end = _last(row, n - 1)
    return [run[-1] for run in _runs(row, n) if run[:-1] == end]


@mistake(
    "texts of the batch mixed up",
    "What one text already holds was forbidden to all texts of the batch.",
    "Which text's runs should decide what a row may not write?",
)
def _pooled(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    scores = logits.clone()
    rows = ids.tolist()
    for place, row in enumerate(rows):
        runs = (run for other in rows for run in _runs(other, n))
        for run in runs:
            if run[:-1] == _last(row, n - 1):
                scores[place, run[-1]] = NEVER
    return scores


@mistake(
    "blocked in every row",
    "What one text must not write was blocked in all rows of the batch.",
    "Your assignment of minus infinity: how many rows does it reach?",
)
def _everywhere(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    scores = logits.clone()
    for row in ids.tolist():
        scores[:, list(_plain(row, n))] = NEVER
    return scores


@mistake(
    "first row only",
    "Only the first text of the batch was searched.",
    "How many rows does `ids` have?",
    lambda logits, ids, n: torch.cat(
        [_block(logits[:1], ids[:1], n, _plain), logits[1:]]
    ),
)
def _first(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    scores = logits.clone()
    for token in _plain(ids[0].tolist(), n):
        scores[:, token] = NEVER
    return scores


@mistake(
    "zero for blocked",
    "Blocked tokens got the score 0; after a softmax that is a probability above 0.",
    "Which score has the exponential 0?",
)
def _zero(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    return _block(logits, ids, n, _plain, filler=0.0)


@mistake(
    "a low number for blocked",
    "Blocked tokens got a very low score, but not minus infinity.",
    "What does the docstring promise for blocked tokens?",
)
def _finite(logits: Tensor, ids: Tensor, n: int) -> Tensor:
    return _block(logits, ids, n, _plain, filler=-1e9)


EXERCISES = (
    Exercise(
        "11.E",
        "No run of n tokens twice",
        "function",
        difficulty=3,
        points=4,
        core=True,
        answers=(
            Answer("no_repeat_ngram_filter", reference, {"logits": "batch, token"}),
        ),
        cases=_cases,
        proves="n from 1 to 4, each text by itself, overlapping runs, short texts, "
        "minus infinity",
        misconceptions=(
            _tokens,
            _followers,
            _long,
            _shorter,
            _missed,
            _missed_twice,
            _whole,
            _behind,
            _after_the_run,
            _nothing,
            _first_end,
            _begins,
            _unordered,
            _earliest,
            _pooled,
            _everywhere,
            _first,
            _zero,
            _finite,
        ),
    ),
    Exercise(
        "11.F",
        "Detective work: the word that broke off",
        "value",
        difficulty=2,
        points=2,
        core=True,
        answers=(Answer("forbidden", (" don", "'t")),),
        cases=lambda seed: value_cases(),
        proves="the pair of tokens that was used up, with the space where it belongs",
        misconceptions=(
            mistake(
                "the word as a whole",
                "To the model, the word is not one token, and the rule counts tokens.",
                "Read the list of tokens that the cell above printed.",
                (" don't",),
                ("don't",),
                " don't",
                "don't",
            ),
            mistake(
                "the space lost",
                "Almost: the space before the word belongs to its first token.",
                "Compare letter by letter with the printed list.",
                ("don", "'t"),
                ("don ", "'t"),
            ),
            mistake(
                "the sign for a space",
                "The right pair, but Ġ is only how the tokenizer shows a space.",
                "Compare letter by letter with the printed list.",
                ("Ġdon", "'t"),
            ),
            mistake(
                "split at the apostrophe",
                "The apostrophe and the t are a single token.",
                "Read the list of tokens that the cell above printed.",
                (" don", "'", "t"),
                ("don", "'", "t"),
                (" don'", "t"),
                ("don'", "t"),
            ),
            mistake(
                "the pair before",
                "That pair may have been used up too, but it is not what is missing "
                "after *don*.",
                "The word broke off after *don*. Which pair begins there?",
                (" you", " don"),
                (" do", " not"),
            ),
        ),
    ),
)
