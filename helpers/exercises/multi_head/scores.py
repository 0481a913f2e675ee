"""3.F: how much of its attention each head gives to which kind of token."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    Property,
    mistake,
    value_cases,
)
from helpers.exercises.kit import exchanging, normal

RETURNS = {"previous": "heads", "itself": "heads", "separator": "heads"}


def head_scores(weights: Tensor, tokens: Sequence[str]) -> tuple:
    """The course's own answer to 3.F."""
    previous = weights.diagonal(-1, -2, -1).mean(-1)
    itself = weights.diagonal(0, -2, -1).mean(-1)
    is_separator = torch.tensor([token == "[SEP]" for token in tokens])
    return previous, itself, weights[..., is_separator].sum(-1).mean(-1)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, heads: int, text: str, dtype: Any = torch.float64) -> Case:
        tokens = text.split()
        scores = 2 * normal(draw, heads, len(tokens), len(tokens))
        args = (scores.softmax(-1).to(dtype), tokens)
        return Case(name, args, inputs=("weights", "tokens"))

    return [
        case("one sentence, three heads", 3, "[CLS] i love paris [SEP]"),
        case("two sentences, four heads", 4, "[CLS] who ? [SEP] it was me [SEP]"),
        case("as many heads as tokens", 4, "[CLS] hello there [SEP]"),
        case(
            "float32, [SEP] inside only",
            5,
            "so [SEP] what then now",
            dtype=torch.float32,
        ),
    ]


def _shares(case: Case, outputs: Mapping[str, Any]) -> str | None:
    for name in RETURNS:
        wrong = outputs[name][(outputs[name] < 0) | (outputs[name] > 1 + 1e-6)]
        if wrong.numel():
            return f"{name} holds {wrong[0].item():.4f}"
    return None


def _score(
    weights: Tensor,
    tokens: Sequence[str],
    *,
    previous: Callable = lambda weights: weights.diagonal(-1, -2, -1),
    mean: Callable = lambda entries: entries.mean(-1),
    separator: Callable | None = None,
    order: tuple[int, int, int] = (0, 1, 2),
) -> tuple:
    """The scores, in steps that a mistake can exchange."""
    where = [place for place, token in enumerate(tokens) if token == "[SEP]"]
    seen = separator or (lambda weights, where: weights[:, :, where].sum(-1))
    itself = weights.diagonal(0, -2, -1)
    all_three = [mean(previous(weights)), mean(itself), mean(seen(weights, where))]
    return tuple(all_three[place] for place in order)


swap = exchanging(_score)


def _whole_length(weights: Tensor, tokens: Sequence[str]) -> tuple:
    previous, itself, separator = head_scores(weights, tokens)
    return previous * (len(tokens) - 1) / len(tokens), itself, separator


def _first_two_axes(weights: Tensor, tokens: Sequence[str], both: bool = True) -> tuple:
    previous, itself, separator = head_scores(weights, tokens)
    itself = weights.diagonal(0).mean(-1) if both else itself
    return weights.diagonal(-1).mean(-1), itself, separator


def _around(weights: Tensor, tokens: Sequence[str]) -> tuple:
    seen = torch.stack([weights[:, t, t - 1] for t in range(len(tokens))], -1)
    return seen.mean(-1), *head_scores(weights, tokens)[1:]


def _words_in_a_tensor(weights: Tensor, tokens: Sequence[str]) -> tuple:
    is_separator = torch.tensor(tokens) == "[SEP]"
    return *head_scores(weights, tokens)[:2], weights[:, :, is_separator]


def _read_off_a_flag(weights: Tensor, where: list[int]) -> Tensor:
    return weights[:, :, [place for place, found in enumerate(False) if found]]


MISTAKES = (
    mistake(
        "last token as the first one's previous",
        "The first token has no previous one: for t = 0 the column t - 1 is -1, and "
        "Python took the last one.",
        "At which query must the mean for the previous token start?",
        _around,
    ),
    mistake(
        "diagonal of heads and queries",
        "What was read lies on the diagonal of the first two axes, heads and queries, "
        "where `diagonal` reads unless you name others.",
        "Between which two axes of (H, T, T) does the diagonal lie?",
        _first_two_axes,
        partial(_first_two_axes, both=False),
    ),
    mistake(
        "next instead of previous",
        "You took the diagonal above the main one, which belongs to the next token.",
        "Row t is the query. Which column belongs to token t - 1?",
        swap(previous=lambda weights: weights.diagonal(1, -2, -1)),
    ),
    mistake(
        "mean over the heads",
        "The heads were averaged, and the tokens were kept.",
        "The result has one number per head: which axis has to go?",
        swap(mean=lambda entries: entries.mean(0)),
    ),
    mistake(
        "one number for all heads",
        "Heads and tokens were averaged together.",
        "A mean takes an axis; without one it averages everything.",
        swap(mean=lambda entries: entries.mean()),
    ),
    mistake(
        "divided by the whole length",
        "The first token was counted, although it has no previous one.",
        "How many queries have a previous token?",
        _whole_length,
        swap(
            previous=lambda weights: torch.cat(
                [weights.diagonal(-1, -2, -1), torch.zeros_like(weights[:, 0, :1])],
                -1,
            ),
        ),
    ),
    mistake(
        "what the separator looks at",
        "For [SEP], whole rows were taken, and a row sums to 1, whatever a head looks "
        "at.",
        "Is [SEP] the query here, or the key? Which axis holds the keys?",
        swap(
            separator=lambda weights, where: weights[:, where].mean(1),
        ),
        swap(
            separator=lambda weights, where: weights[:, where].sum(1),
        ),
    ),
    mistake(
        "one separator only",
        "Only one [SEP] was counted, but a pair of sentences has two.",
        "`index` finds a single place. What finds all of them?",
        swap(separator=lambda weights, where: weights[:, :, where[0]]),
        swap(separator=lambda weights, where: weights[:, :, where[-1]]),
    ),
    mistake(
        "mean over the separators",
        "The weights on two [SEP] were averaged, but together they get the sum.",
        "A query puts 0.2 on one [SEP] and 0.3 on the other: how much on [SEP] in all?",
        swap(separator=lambda weights, where: weights[:, :, where].mean(-1)),
    ),
    mistake(
        "last token instead of the separator",
        "You took the last column, whichever token is there.",
        "How does `tokens` tell you where a [SEP] is?",
        swap(separator=lambda weights, where: weights[:, :, -1]),
    ),
    mistake(
        "sum over the queries",
        "The weights were added up over the queries, but not divided by how many there "
        "are.",
        "How much does a single query give on average?",
        swap(mean=lambda entries: entries.sum(-1)),
    ),
    mistake(
        "order of the three",
        "The three scores are right but come back in another order.",
        "Read the docstring's last line again.",
        *(swap(order=order) for order in list(permutations(range(3)))[1:]),
    ),
    mistake(
        "all tokens compared with one word",
        'The whole list `tokens` was compared with "[SEP]". A list is never equal to a '
        "word, so that is a single False, and no token was asked.",
        "Which comparison has to be made once for each token?",
        swap(separator=lambda weights, where: weights[:, :, False].sum(-1)),
        swap(separator=lambda weights, where: weights[..., False].sum(-1)),
        swap(separator=lambda weights, where: (weights * False).sum(-1)),
        swap(separator=lambda weights, where: weights[:, :, torch.tensor([False])]),
        swap(separator=_read_off_a_flag),
    ),
    mistake(
        "a tensor of words",
        "`torch.tensor` was given words, and a tensor holds numbers only.",
        "Which question about a token has the answer True or False?",
        _words_in_a_tensor,
    ),
)


def _plain(word: Any) -> Any:
    """A word in lower case, without spaces around it."""
    return word.strip().lower() if isinstance(word, str) else word


EXERCISES = (
    Exercise(
        "3.F",
        "What does each head look at?",
        "function",
        difficulty=3,
        points=3,
        core=True,
        answers=(Answer("head_scores", head_scores, RETURNS),),
        cases=_cases,
        proves="previous, itself, one and two separators, as many heads as tokens",
        properties=(Property("Is every score between 0 and 1", _shares),),
        misconceptions=MISTAKES,
    ),
    Exercise(
        "3.G",
        "Find the neighbour head",
        "value",
        difficulty=2,
        points=1,
        answers=(Answer("neighbour_head", (0, 2)), Answer("looks_at", "previous")),
        cases=lambda seed: [
            *value_cases(),
            Case("your value", of=1, look=lambda it: Look({"value": _plain(it)})),
        ],
        proves="layer 0, head 2 looks at the previous token",
        misconceptions=(
            mistake(
                "head before layer",
                "That names head 0 of layer 2: the layer comes first here.",
                "(layer, head), both counted from 0.",
                (2, 0),
            ),
            mistake(
                "counted from 1",
                "Rows and columns were counted from 1.",
                "(layer, head), both counted from 0.",
                (1, 3),
            ),
            mistake(
                "next",
                "That would be the diagonal above the main one.",
                "Row t is the query. In which column is the dark cell?",
                "next",
                of=1,
            ),
            mistake(
                "itself",
                "That would be the main diagonal.",
                "Row t is the query. In which column is the dark cell?",
                "itself",
                of=1,
            ),
        ),
    ),
)
