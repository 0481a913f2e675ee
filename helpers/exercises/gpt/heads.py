"""10.J: find the two heads by a score."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import exchanging, normal
from helpers.experiments import recall
from helpers.models.masks import look_ahead_mask


def previous_token_score(weights: Tensor) -> Tensor:
    """The course's own answer to 10.J, first part."""
    return recall.previous_token_score(weights)


def lookup_score(weights: Tensor, ids: Tensor, pairs: int) -> Tensor:
    """The course's own answer to 10.J, second part."""
    return recall.lookup_score(weights, ids, pairs)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def weights(batch: int, heads: int, length: int, dtype: Any) -> Tensor:
        scores = normal(draw, batch, heads, length, length, dtype=dtype)
        return scores.masked_fill(~look_ahead_mask(length), float("-inf")).softmax(-1)

    def previous(name: str, *size: int, dtype: Any = torch.float64) -> Case:
        return Case(name, (weights(*size, dtype),), inputs=("weights",))

    def lookup(
        name: str, batch: int, heads: int, pairs: int, dtype: Any = torch.float64
    ) -> Case:
        task = recall.RecallTask(pairs, 2 * pairs + 1, 3)  # values come again
        ids, _ = task.batch(batch, draw)
        args = (weights(batch, heads, 3 * pairs, dtype), ids, pairs)
        return Case(name, args, inputs=("weights", "ids", "pairs"), of=1)

    return [
        previous("three heads", 2, 3, 5),
        previous("one text, two tokens", 1, 4, 2),
        previous("as many texts as heads, float32", 3, 3, 7, dtype=torch.float32),
        lookup("three heads, four pairs", 2, 3, 4),
        lookup("one text, five pairs", 1, 2, 5),
        lookup("as many texts as heads, float32", 3, 3, 6, dtype=torch.float32),
    ]


# --- the previous token ---------------------------------------------------------------


def _beside(
    weights: Tensor, *, offset: int = -1, over: tuple[int, ...] = (0, -1)
) -> Tensor:
    return weights.diagonal(offset, -2, -1).mean(over)


def _after(weights: Tensor) -> Tensor:
    """Rows and columns swapped: the weight of a token on the next one."""
    return _beside(weights, offset=1)


def _first_row_too(weights: Tensor) -> Tensor:
    return weights.diagonal(-1, -2, -1).sum(-1).mean(0) / weights.shape[-1]


def _strongest(weights: Tensor) -> Tensor:
    return weights.diagonal(-1, -2, -1).amax((0, -1))


def _share(weights: Tensor) -> Tensor:
    best = weights.argmax(-1)[..., 1:]
    places = torch.arange(best.shape[-1])
    return (best == places).to(weights.dtype).mean((0, -1))


def _summed(weights: Tensor) -> Tensor:
    return weights.diagonal(-1, -2, -1).sum((0, -1))


def _earlier(weights: Tensor) -> Tensor:
    """All the weight on the past, not only on the previous token."""
    return weights.tril(-1).sum(-1)[..., 1:].mean((0, -1))


PREVIOUS = (
    mistake(
        "on itself",
        "The score is the weight of a token on itself.",
        "Row t, which column?",
        lambda weights: _beside(weights, offset=0),
    ),
    mistake(
        "on the next token",
        "The score reads above the diagonal, where a causal model has zeros.",
        "Rows are queries, columns are keys.",
        _after,
    ),
    mistake(
        "first token counted",
        "The first token has no previous one, but the mean counts it all the same.",
        "How many rows can have a previous token?",
        _first_row_too,
    ),
    mistake(
        "the whole past",
        "Weights on all earlier tokens were added up.",
        "Only one column counts in each row.",
        _earlier,
    ),
    mistake(
        "mean over the heads",
        "The heads were averaged as well: there is one score for each text, or one "
        "for all.",
        "Which of the four axes must remain?",
        lambda weights: _beside(weights, over=(1, -1)),
        lambda weights: _beside(weights, over=(0, 1, -1)),
    ),
    mistake(
        "texts not averaged",
        "There is one score for each text and head.",
        "Which of the four axes must remain?",
        lambda weights: _beside(weights, over=(-1,)),
    ),
    mistake(
        "sum instead of mean",
        "The weights were added up: a longer text gets a higher score.",
        "Take a head that always looks there: what score should it get?",
        _summed,
    ),
    mistake(
        "the largest weight",
        "The score is the largest weight, not the mean.",
        "Take a head that looks there only once: what score should it get?",
        _strongest,
    ),
    mistake(
        "counted, not weighed",
        "The score counts the rows whose largest weight lies there.",
        "The task asks for a mean of weights.",
        _share,
    ),
)


# --- the look-up ----------------------------------------------------------------------


def _looked_up(
    weights: Tensor,
    ids: Tensor,
    pairs: int,
    *,
    step: int = 1,
    where: Callable = recall.told_at,
    over: tuple[int, ...] = (0, -1),
    first: Callable = lambda pairs: 2 * pairs,
) -> Tensor:
    """The look-up score with one step exchanged."""
    asked = weights[:, :, first(pairs) :]  # (B, H, pairs, T)
    places = where(ids, pairs) + step  # (B, pairs)
    index = places[:, None, :, None].expand(-1, weights.shape[1], -1, 1)
    return asked.gather(-1, index)[..., 0].mean(over)


looking = exchanging(_looked_up)


def _in_order(ids: Tensor, pairs: int) -> Tensor:
    return (2 * torch.arange(pairs)).expand(len(ids), -1)


def _all_rows(weights: Tensor, ids: Tensor, pairs: int) -> Tensor:
    return _looked_up(weights, ids, pairs) * pairs / weights.shape[-1]


def _rows_of_pairs(weights: Tensor, ids: Tensor, pairs: int) -> Tensor:
    """All values of the text, whichever was asked for."""
    asked = weights[:, :, 2 * pairs :, 1 : 2 * pairs : 2]
    return asked.sum(-1).mean((0, -1))


def _itself(weights: Tensor, ids: Tensor, pairs: int) -> Tensor:
    return weights[:, :, 2 * pairs :, 2 * pairs :].diagonal(0, -2, -1).mean((0, -1))


def _first_text(weights: Tensor, ids: Tensor, pairs: int) -> Tensor:
    """The places of the first text, used for all."""
    return _looked_up(weights, ids[:1].expand_as(ids), pairs)


def _summed_up(weights: Tensor, ids: Tensor, pairs: int) -> Tensor:
    return _looked_up(weights, ids, pairs) * pairs * len(ids)


LOOKUP = (
    mistake(
        "on the key",
        "The score reads the weight on the key itself, not on the value after it.",
        "Which of the two tokens of a pair is the answer?",
        looking(step=0),
        of=1,
    ),
    mistake(
        "queries taken in order",
        "The first query was assumed to ask for the first pair, but the queries are "
        "shuffled.",
        "How do you find the place where this key was told?",
        looking(where=_in_order),
        of=1,
    ),
    mistake(
        "any value",
        "Weights on all values were added up, whichever was asked for.",
        "Take a head that looks at every value alike: what score should it get?",
        _rows_of_pairs,
        of=1,
    ),
    mistake(
        "on the query itself",
        "The key was found where it is asked for, not where it was told.",
        "Where in the text does the same id appear for the first time?",
        _itself,
        of=1,
    ),
    mistake(
        "divided by all rows",
        "The sum over the queries was divided by the length of the whole text.",
        "How many rows are queries?",
        _all_rows,
        of=1,
    ),
    mistake(
        "first text's places for all",
        "The keys were looked up in the first text only.",
        "Each text has its own pairs.",
        _first_text,
        of=1,
    ),
    mistake(
        "rows of the pairs",
        "The rows of the first pairs were read, not those of the queries.",
        "At which position is the first query?",
        lambda weights, ids, pairs: _looked_up(
            weights[:, :, :pairs], ids, pairs, first=lambda pairs: 0
        ),
        of=1,
    ),
    mistake(
        "heads not kept apart",
        "The heads were averaged as well.",
        "Which of the four axes must remain?",
        looking(over=(1, -1)),
        looking(over=(0, 1, -1)),
        of=1,
    ),
    mistake(
        "added up",
        "The weights were added up over queries and texts, not averaged.",
        "Take a head that always looks there: what score should it get?",
        _summed_up,
        of=1,
    ),
)

EXERCISES = (
    Exercise(
        "10.J",
        "Find the two heads",
        "function",
        difficulty=3,
        points=3,
        answers=(
            Answer("previous_token_score", previous_token_score, {"score": "heads"}),
            Answer("lookup_score", lookup_score, {"score": "heads"}),
        ),
        cases=_cases,
        proves="the previous token, and the value after the key that is asked for, "
        "averaged over positions and texts, head by head",
        misconceptions=(*PREVIOUS, *LOOKUP),
    ),
)
