"""11.C: keep the k most likely tokens."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.generation.shared import (
    NEVER,
    ZERO_TIMES_INFINITY,
    filtered,
    look_sorted,
)
from helpers.exercises.kit import normal
from helpers.generation import sampling


def reference(logits: Tensor, k: int) -> Tensor:
    """The course's own answer to 11.C."""
    return sampling.top_k_filter(logits, k)


def _look(call: Callable, logits: Tensor, k: int) -> Look:
    return Look(filtered(call(logits, k)))


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, logits: Tensor, k: int, look: Any = _look) -> Case:
        return Case(name, (logits, k), inputs=("logits", "k"), look=look)

    def tied(*rows: tuple[float, ...]) -> Tensor:
        shuffled = torch.randperm(len(rows[0]), generator=draw)
        return torch.tensor(rows, dtype=torch.float64)[:, shuffled]

    ties = tied((3, 1, 1, 1, 0, -1, -2), (2, 1, 0.5, 0.5, 0.5, 0.5, -4))
    return [
        case("k = 4 of 11", normal(draw, 3, 11), 4),
        case("k = 1", normal(draw, 2, 7), 1),
        case("ties with the k-th, k = 3", ties, 3, look_sorted),
        case("ties above the k-th, k = 4", tied((5, 5, 4, 3, 2, 1, 0)), 4),
        case("k = 5 of 13, float32", normal(draw, 4, 13, dtype=torch.float32), 5),
        case("k = all 6", normal(draw, 2, 6), 6),
        case("k = 9 of 5", normal(draw, 3, 5), 9),
        case("k = 2, all scores below 0", normal(draw, 1, 8) - 9, 2),
    ]


def _lowest(logits: Tensor, k: int) -> Tensor:
    """The score of the k-th most likely token of each row, (B, 1)."""
    return logits.topk(min(k, logits.shape[-1])).values[..., -1:]


def _below(logits: Tensor, bound: Any) -> Tensor:
    return logits.masked_fill(logits < bound, NEVER)


@mistake(
    "keeps k + 1",
    "One token too many is left.",
    "Python counts from 0: at which index of a sorted row is the k-th entry?",
    lambda logits, k: _below(
        logits, logits.sort(descending=True).values[:, : k + 1][:, -1:]
    ),
    lambda logits, k: _below(logits, logits.sort(descending=True).values[:, k, None]),
    lambda logits, k: _below(logits, logits.sort().values[:, -k - 1, None]),
    lambda logits, k: _below(
        logits,
        logits.sort(descending=True).values[:, min(k, logits.shape[1])].unsqueeze(1),
    ),
    lambda logits, k: _below(logits, logits.topk(k + 1).values[..., -1:]),
    lambda logits, k: _below(
        logits, logits.kthvalue(logits.shape[-1] - k, keepdim=True).values
    ),
)
def _one_more(logits: Tensor, k: int) -> Tensor:
    return _below(logits, _lowest(logits, k + 1))


@mistake(
    "keeps k - 1",
    "The bound is the score before the k-th, so one token too few is left.",
    "For k = 4, which place of the sorted row does your bound come from?",
    lambda logits, k: _below(logits, _lowest(logits, k - 1)),
    lambda logits, k: _below(logits, logits.topk(k - 1).values[..., -1:]),
)
def _fewer(logits: Tensor, k: int) -> Tensor:
    return _below(logits, _lowest(logits, max(k - 1, 1)))


@mistake(
    "only the best",
    "Only the most likely token of each row was kept, whatever k is.",
    "`topk` gives k scores, the best first. Which of them did you take as the bound?",
)
def _best(logits: Tensor, k: int) -> Tensor:
    return _below(logits, logits.amax(-1, keepdim=True))


@mistake(
    "counted from the lowest",
    "The bound is the k-th lowest score, not the k-th highest.",
    "From which end do `sort` and `kthvalue` count?",
    lambda logits, k: _below(logits, logits.kthvalue(k, keepdim=True).values),
    lambda logits, k: _below(logits, logits.sort().values[:, k - 1, None]),
    lambda logits, k: _below(logits, logits.sort().values[:, k - 1 : k]),
)
def _from_below(logits: Tensor, k: int) -> Tensor:
    return _below(
        logits, logits.kthvalue(min(k, logits.shape[-1]), keepdim=True).values
    )


@mistake(
    "sorted down the batch",
    "The best k were looked for down the batch, not along the tokens of each row.",
    "Along which axis do the tokens of one row lie?",
    lambda logits, k: _below(logits, logits.topk(k, dim=0).values[-1:]),
)
def _down(logits: Tensor, k: int) -> Tensor:
    return _below(logits, logits.topk(min(k, len(logits)), dim=0).values[-1:])


@mistake(
    "the k-th dropped",
    "The k-th token itself was blocked; with k = 1 nothing is left at all.",
    "Should a token whose score equals your bound be kept?",
    lambda logits, k: logits.masked_fill(
        logits <= logits.topk(k).values[..., -1:], NEVER
    ),
)
def _one_less(logits: Tensor, k: int) -> Tensor:
    return logits.masked_fill(logits <= _lowest(logits, k), NEVER)


@mistake(
    "drops ties",
    "Of several tokens that are as likely as the k-th, only some were kept: those "
    "that the sorting happened to put first.",
    "Do you choose by index or by score? Read again what should happen to equal "
    "scores.",
    lambda logits, k: torch.full_like(logits, NEVER).scatter(-1, *logits.topk(k)[::-1]),
)
def _exact(logits: Tensor, k: int) -> Tensor:
    values, places = logits.topk(min(k, logits.shape[-1]))
    return torch.full_like(logits, NEVER).scatter(-1, places, values)


@mistake(
    "keeps the least likely",
    "The k lowest scores were kept.",
    "Which end of the sorted row has the likely tokens?",
)
def _low(logits: Tensor, k: int) -> Tensor:
    bound = logits.topk(min(k, logits.shape[-1]), largest=False).values[..., -1:]
    return logits.masked_fill(logits > bound, NEVER)


@mistake(
    "blocks the likely ones",
    "The k most likely tokens were blocked, and all others kept.",
    "Read your condition aloud: which tokens get minus infinity?",
)
def _inverted(logits: Tensor, k: int) -> Tensor:
    return logits.masked_fill(logits >= _lowest(logits, k), NEVER)


@mistake(
    "zero for blocked",
    "Blocked tokens got the score 0; after a softmax that is a probability above 0.",
    "Which score has the exponential 0?",
    lambda logits, k: logits * (logits >= _lowest(logits, k)),
    lambda logits, k: torch.zeros_like(logits).scatter(
        -1, *logits.topk(min(k, logits.shape[-1]))[::-1]
    ),
)
def _zero(logits: Tensor, k: int) -> Tensor:
    return logits.masked_fill(logits < _lowest(logits, k), 0.0)


@mistake(
    "a low number for blocked",
    "Blocked tokens got a very low score, but not minus infinity.",
    "What does the docstring promise for blocked tokens?",
)
def _finite(logits: Tensor, k: int) -> Tensor:
    return logits.masked_fill(logits < _lowest(logits, k), -1e9)


@mistake(
    "one bound for the batch",
    "All rows were compared with the same bound.",
    "How many rows does your bound have?",
    lambda logits, k: _below(logits, _lowest(logits, k)[:1]),
    lambda logits, k: _below(logits, _lowest(logits, k)[-1:]),
    lambda logits, k: _below(logits, _lowest(logits, k).amin()),
    lambda logits, k: _below(logits, _lowest(logits, k).amax()),
    lambda logits, k: _below(logits, _lowest(logits, k).mean()),
    lambda logits, k: _below(logits, logits.topk(k).values.min()),
    lambda logits, k: _below(logits, logits.topk(k).values[0, -1]),
    lambda logits, k: _below(logits, logits.topk(k).values[-1, -1]),
    lambda logits, k: _below(
        logits, logits.flatten().topk(min(k, logits.shape[-1])).values[-1]
    ),
)
def _shared(logits: Tensor, k: int) -> Tensor:
    return _below(logits, logits.flatten().topk(min(k, logits.numel())).values[-1])


@mistake(
    "bound without its axis",
    "The bound has lost its axis and can't be compared with the rows.",
    "Print the two shapes that you compare: (batch, token) with what?",
    lambda logits, k: _below(
        logits, logits.topk(min(k, logits.shape[-1])).values[..., -1]
    ),
)
def _squeezed(logits: Tensor, k: int) -> Tensor:
    return _below(logits, _lowest(logits, k).squeeze())


@mistake(
    "only the kept ones returned",
    "Only k scores came back, without the tokens that they belong to.",
    "The filtered scores must have the shape of the ones you got. Why?",
)
def _short(logits: Tensor, k: int) -> Tensor:
    return logits.topk(min(k, logits.shape[-1])).values


@mistake(
    "probabilities returned",
    "Probabilities came back; the next filter expects scores.",
    "What does the docstring promise?",
    lambda logits, k: logits.softmax(-1) * (logits >= _lowest(logits, k)),
)
def _softmax(logits: Tensor, k: int) -> Tensor:
    return _below(logits, _lowest(logits, k)).softmax(-1)


@mistake(
    "k beyond the vocabulary",
    "If k is larger than the vocabulary, there is no k-th score, and looking for it "
    "raises an error; all tokens should be kept then.",
    "How many tokens can be kept at most?",
    lambda logits, k: _below(
        logits, logits.sort(descending=True).values[:, k - 1, None]
    ),
    lambda logits, k: _below(logits, logits.sort(descending=True).values[:, k - 1 : k]),
    lambda logits, k: _below(logits, logits.sort().values[:, -k, None]),
    lambda logits, k: _below(
        logits, logits.kthvalue(logits.shape[-1] - k + 1, keepdim=True).values
    ),
)
def _beyond(logits: Tensor, k: int) -> Tensor:
    return _below(logits, logits.topk(k).values[..., -1:])


@mistake(
    "never all kept",
    "If k is at least as large as the vocabulary, one token was dropped; all of them "
    "should be kept then.",
    "How many tokens can be kept at most?",
)
def _never_all(logits: Tensor, k: int) -> Tensor:
    return _below(logits, _lowest(logits, min(k, logits.shape[-1] - 1)))


@mistake(
    *ZERO_TIMES_INFINITY,
    lambda logits, k: logits + (logits < _lowest(logits, k)) * NEVER,
)
def _product(logits: Tensor, k: int) -> Tensor:
    kept = logits >= _lowest(logits, k)
    return logits * kept + ~kept * NEVER


EXERCISES = (
    Exercise(
        "11.C",
        "Top-k: the best few",
        "function",
        difficulty=2,
        points=3,
        core=True,
        answers=(Answer("top_k_filter", reference, {"logits": "batch, token"}),),
        cases=_cases,
        proves="each row by itself, ties, k = 1, k = all and more than all, "
        "minus infinity",
        misconceptions=(
            _one_more,
            _fewer,
            _best,
            _from_below,
            _down,
            _one_less,
            _exact,
            _low,
            _inverted,
            _zero,
            _finite,
            _shared,
            _squeezed,
            _short,
            _softmax,
            _beyond,
            _never_all,
            _product,
        ),
    ),
)
