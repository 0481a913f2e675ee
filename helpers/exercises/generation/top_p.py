"""11.D: keep the most likely tokens that together have the probability p."""

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
from helpers.exercises.kit import exchanging, normal
from helpers.generation import sampling


def reference(logits: Tensor, p: float) -> Tensor:
    """The course's own answer to 11.D."""
    return sampling.top_p_filter(logits, p)


def _look(call: Callable, logits: Tensor, p: float) -> Look:
    return Look(filtered(call(logits, p)))


def _cases(seed: int) -> list[Case]:
    """No sum comes close to p: whether it reaches p is for no rounding to decide."""
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, logits: Tensor, p: float, look: Any = _look) -> Case:
        return Case(name, (logits, p), inputs=("logits", "p"), look=look)

    sure = normal(draw, 2, 6)
    sure[:, 4] += 6.0
    return [
        case("p = 0.7", normal(draw, 3, 11), 0.7),
        case("p = 0.95, sharper", 2 * normal(draw, 2, 13), 0.95),
        case("p = 0.4, float32", normal(draw, 4, 7, dtype=torch.float32), 0.4),
        case("one token has more than p", sure, 0.5),
        case("p = 0: the most likely is left", normal(draw, 3, 5), 0.0),
        case("p = 0.999: all are left", 0.3 * normal(draw, 2, 9), 0.999),
        case("p = 0.6 of seven equals", torch.zeros(2, 7), 0.6, look_sorted),
        case("p = 0.65 of six equals", torch.zeros(3, 6), 0.65, look_sorted),
    ]


def _keep(
    logits: Tensor,
    p: float,
    *,
    descending: bool = True,
    weigh: Callable = lambda scores: scores.softmax(-1),
    rule: Callable = lambda upto, each, p: upto - each < p,
    least: int = 1,
    back: bool = True,
    filler: float = NEVER,
) -> Tensor:
    """Top-p with one step exchanged."""
    ordered, places = logits.sort(dim=-1, descending=descending)
    each = weigh(ordered)
    kept = rule(each.cumsum(-1), each, p)
    kept[..., :least] = True
    if back:
        kept = torch.zeros_like(kept).scatter(-1, places, kept)
    return logits.masked_fill(~kept, filler)


@mistake(
    "drops the token that crosses",
    "The token with which the sum reaches p was dropped, so less than p is left.",
    "Add up what you kept: does it reach p?",
    lambda logits, p: _keep(logits, p, rule=lambda upto, each, p: upto < p),
)
def _crossing(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, p, rule=lambda upto, each, p: upto <= p)


@mistake(
    "drops the token that crosses, even the first",
    "The token with which the sum reaches p was dropped; where the most likely token "
    "reaches it alone, nothing is left.",
    "Try a token with probability 0.9 and p = 0.5: what is left?",
    lambda logits, p: _keep(logits, p, rule=lambda upto, each, p: upto < p, least=0),
)
def _nothing(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, p, rule=lambda upto, each, p: upto <= p, least=0)


@mistake(
    "keeps one too many",
    "One token more than needed was kept in each row.",
    "Add up what you kept, without the last one: does it reach p already?",
    lambda logits, p: _keep(logits, p, rule=_looked_at_late),
)
def _one_more(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, p, rule=_late)


def _late(upto: Tensor, each: Tensor, p: float) -> Tensor:
    kept = upto - each < p
    kept[..., 0] = True
    return torch.cat([kept[..., :1], kept[..., :-1]], -1)


def _looked_at_late(upto: Tensor, each: Tensor, p: float) -> Tensor:
    """A loop that looks at the sum before it adds the token that it has kept."""
    kept = upto - each < p
    return torch.cat([torch.ones_like(kept[..., :1]), kept[..., :-1]], -1)


@mistake(
    "keeps all ties",
    "All tokens as likely as the last one needed were kept, so the set is larger than "
    "it has to be.",
    "Seven equal tokens and p = 0.6: how many does the smallest set have?",
    lambda logits, p: logits.masked_fill(
        logits.softmax(-1) < _last_kept(logits.softmax(-1), logits, p), NEVER
    ),
)
def _ties(logits: Tensor, p: float) -> Tensor:
    return logits.masked_fill(logits < _last_kept(logits, logits, p), NEVER)


def _last_kept(values: Tensor, logits: Tensor, p: float) -> Tensor:
    """The value of the least likely token that is needed, (B, 1)."""
    blocked = _keep(logits, p) == NEVER
    return values.masked_fill(blocked, torch.inf).amin(-1, keepdim=True)


@mistake(
    "sorts ascending",
    "The least likely tokens were kept, not the most likely ones.",
    "Which token has to be counted first, and which ones does your comparison keep?",
)
def _ascending(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, p, descending=False)


def _along(
    logits: Tensor,
    p: float,
    *,
    rule: Callable = lambda upto, each, p: upto - each < p,
    least: int = 0,
) -> Tensor:
    """Adds up in the order of the vocabulary."""
    each = logits.softmax(-1)
    kept = rule(each.cumsum(-1), each, p)
    kept[..., :least] = True
    return logits.masked_fill(~kept, NEVER)


NOT_SORTED = mistake(
    "not sorted",
    "The probabilities were added up in the order of the vocabulary, not from the most "
    "likely one on.",
    "Which token has to be counted first?",
    _along,
    exchanging(_along)(least=1),
    exchanging(_along)(rule=lambda upto, each, p: upto < p),
    exchanging(_along)(rule=lambda upto, each, p: upto <= p),
)


@mistake(
    "never unsorted",
    "The decision was made for the sorted row but applied to the unsorted one.",
    "Which token does entry 0 of your mask belong to?",
)
def _unsorted(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, p, back=False)


@mistake(
    "put back the wrong way",
    "What was decided in sorted order was put back the wrong way: the indices say "
    "where an entry came from, but were used as where to fetch it.",
    "Follow one row by hand: where does the mark of its most likely token end up?",
    lambda logits, p: _kept_in_order(logits, p).gather(-1, _order(logits)),
)
def _fetched(logits: Tensor, p: float) -> Tensor:
    kept = _kept_in_order(logits, p) > NEVER
    return logits.masked_fill(~kept.gather(-1, _order(logits)), NEVER)


def _order(logits: Tensor) -> Tensor:
    return logits.argsort(dim=-1, descending=True)


def _kept_in_order(logits: Tensor, p: float) -> Tensor:
    """The filtered scores, the most likely first."""
    return _keep(logits, p).gather(-1, _order(logits))


@mistake(
    "returned in sorted order",
    "The scores came back sorted: nobody can tell which token each of them belongs to.",
    "Which token does entry 0 of your result belong to?",
)
def _sorted(logits: Tensor, p: float) -> Tensor:
    return _keep(logits.sort(dim=-1, descending=True).values, p)


@mistake(
    "each token against p",
    "Each probability was compared with a bound on its own; nothing was added up.",
    "p is the probability of a whole set. Where is the sum?",
    lambda logits, p: logits.masked_fill(logits.softmax(-1) < 1 - p, NEVER),
)
def _single(logits: Tensor, p: float) -> Tensor:
    return logits.masked_fill(logits.softmax(-1) < p, NEVER)


@mistake(
    "scores added up",
    "The raw scores were added up, not probabilities.",
    "What has to happen to scores before they can add up to 1?",
)
def _raw(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, p, weigh=lambda scores: scores)


@mistake(
    "p = 0 leaves nothing",
    "With p = 0 every token was blocked, and there is nothing left to write.",
    "Which token has to stay whatever p is?",
)
def _zero(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, p, least=0)


@mistake(
    "zero for blocked",
    "Blocked tokens got the score 0; after a softmax that is a probability above 0.",
    "Which score has the exponential 0?",
)
def _filled(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, p, filler=0.0)


@mistake(
    "a low number for blocked",
    "Blocked tokens got a very low score, but not minus infinity.",
    "What does the docstring promise for blocked tokens?",
)
def _finite(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, p, filler=-1e9)


@mistake(
    "the first row's choice for all",
    "The tokens that the first row keeps were kept in every row.",
    "Does each row have its own order and its own mask?",
)
def _first(logits: Tensor, p: float) -> Tensor:
    kept = _keep(logits, p)[:1] > NEVER
    return logits.masked_fill(~kept, NEVER)


@mistake(
    "probabilities returned",
    "Probabilities came back; the task asks for scores.",
    "What does the docstring promise?",
    lambda logits, p: logits.softmax(-1) * (_keep(logits, p) > NEVER),
)
def _softmax(logits: Tensor, p: float) -> Tensor:
    return _keep(logits, p).softmax(-1)


@mistake(
    "keeps the tail",
    "What should be blocked was kept, and the other way round.",
    "Read your condition aloud: which tokens get minus infinity?",
)
def _tail(logits: Tensor, p: float) -> Tensor:
    return logits.masked_fill(_keep(logits, p) > NEVER, NEVER)


@mistake(
    *ZERO_TIMES_INFINITY,
    lambda logits, p: logits + (_keep(logits, p) == NEVER) * NEVER,
)
def _product(logits: Tensor, p: float) -> Tensor:
    kept = _keep(logits, p) > NEVER
    return logits * kept + ~kept * NEVER


EXERCISES = (
    Exercise(
        "11.D",
        "Top-p: a share of the probability",
        "function",
        difficulty=3,
        points=4,
        core=True,
        answers=(Answer("top_p_filter", reference, {"logits": "batch, token"}),),
        cases=_cases,
        proves="the smallest set that reaches p, in the old order, p = 0, ties, "
        "minus infinity",
        misconceptions=(
            _crossing,
            _nothing,
            _one_more,
            _ties,
            _ascending,
            NOT_SORTED,
            _unsorted,
            _sorted,
            _single,
            _raw,
            _zero,
            _filled,
            _finite,
            _first,
            _softmax,
            _tail,
            _fetched,
            _product,
        ),
    ),
)
