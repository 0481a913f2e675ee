"""8.D: additive attention, and the axis that a softmax ran over."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    mistake,
    value_cases,
)
from helpers.exercises.attention.shared import ROWS
from helpers.exercises.kit import exchanging, normal
from helpers.exercises.masks.shared import BLOCKERS, FILLS, filling
from helpers.exercises.translation.shared import kinds, outputs, real, remember

Both = tuple[Tensor, Tensor]
PARTS = ("W_q", "W_k", "v")


class AdditiveAttention(nn.Module):
    """The course's own answer to 8.D; misconceptions exchange one of its steps."""

    biased: tuple[str, ...] = ()

    def __init__(self, d_model: int) -> None:
        """Create the three linear maps."""
        super().__init__()
        biased = self.biased
        self.W_q = nn.Linear(d_model, d_model, bias="W_q" in biased)
        self.W_k = nn.Linear(d_model, d_model, bias="W_k" in biased)
        self.v = nn.Linear(d_model, 1, bias="v" in biased)
        remember(self, *PARTS)

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor | None = None) -> Any:
        """(B, T, D), (B, S, D) -> output (B, T, D), weights (B, T, S)."""
        scores = self.score(query, memory)
        weights = self.weigh(scores, mask)
        return weights @ memory, weights

    def score(self, query: Tensor, memory: Tensor) -> Tensor:
        """(B, T, S)."""
        q, k = self.W_q(query)[:, :, None], self.W_k(memory)[:, None]
        return self.v(self.activation(q + k)).squeeze(-1)

    def activation(self, pairs: Tensor) -> Tensor:
        """What makes the small network more than a linear map."""
        return pairs.tanh()

    def weigh(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Weights of each query over the keys."""
        return self.block(scores, mask).softmax(-1)

    def block(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Blocked scores, before the softmax."""
        if mask is None:
            return scores
        return scores.masked_fill(~mask, float("-inf"))


def _look(call: Any, *inputs: Any) -> Look:
    """Both outputs, and whether the parts have biases."""
    seen = outputs("output", "weights")(call, *inputs)
    return Look({**kinds(call, *PARTS), **seen.judged})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple[int, int, int, int],
        mask: Tensor | None = None,
        dtype: Any = torch.float64,
        **more: Any,
    ) -> Case:
        batch, query, key, width = size
        args = (
            normal(draw, batch, query, width, dtype=dtype),
            normal(draw, batch, key, width, dtype=dtype),
        )
        args += () if mask is None else (mask,)
        names = ("query", "memory", "mask")
        return Case(name, args, inputs=names, init=(width,), look=_look, **more)

    table = torch.rand(2, 3, 5, generator=draw) < 0.6
    table[..., 1] = True
    return [
        case("without a mask", (2, 3, 5, 4)),
        case("padding in the memory", (3, 2, 5, 4), real((5, 2, 3), 5)),
        case("a mask for each query", (2, 3, 5, 4), table),
        case("as many queries as keys", (2, 4, 4, 3), real((4, 2), 4)),
        case("as many sentences as queries", (3, 3, 6, 5), real((6, 4, 1), 6)),
        case("one query, as when it writes", (3, 1, 4, 6), real((2, 4, 3), 4)),
        case("float32", (2, 3, 7, 5), dtype=torch.float32),
        case("the gradient", (2, 3, 4, 3), real((4, 2), 4), gradient=True),
    ]


swap = exchanging(AdditiveAttention)


def _blocking(block: Callable, out: Callable = Tensor.logical_not) -> Callable:
    """A step `block` that blocks in this way, and what `out(mask)` says."""
    return lambda self, scores, mask: (
        scores if mask is None else block(scores, out(mask))
    )


def _over_axis(axis: int) -> tuple[type, ...]:
    """The softmax over this axis, after every usual way to block."""
    return tuple(
        swap(
            weigh=lambda self, scores, mask: self.block(scores, mask).softmax(axis),
            block=_blocking(block),
        )
        for block in BLOCKERS
    )


def _zeroed_after(self: Any, scores: Tensor, mask: Tensor | None) -> Tensor:
    weights = scores.softmax(-1)
    return weights if mask is None else weights * mask


def _tanh_at_last(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    pairs = self.W_q(query)[:, :, None] + self.W_k(memory)[:, None]
    return self.v(pairs)[..., 0].tanh()


def _dot(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    return self.W_q(query) @ self.W_k(memory).mT


def _scaled_dot(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    return _dot(self, query, memory) / query.shape[-1] ** 0.5


def _plain_dot(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    return query @ memory.mT


def _plain_scaled_dot(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    return query @ memory.mT / query.shape[-1] ** 0.5


def _bilinear(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    return self.W_q(query) @ memory.mT


def _query_only_inside(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    q, k = self.W_q(query)[:, :, None], self.W_k(memory)[:, None]
    return self.v(q.tanh() + k).squeeze(-1)


def _key_only_inside(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    q, k = self.W_q(query)[:, :, None], self.W_k(memory)[:, None]
    return self.v(q + k.tanh()).squeeze(-1)


def _both_inside(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    q, k = self.W_q(query)[:, :, None], self.W_k(memory)[:, None]
    return self.v(q.tanh() + k.tanh()).squeeze(-1)


def _exchanged(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    q, k = self.W_k(query)[:, :, None], self.W_q(memory)[:, None]
    return self.v((q + k).tanh()).squeeze(-1)


def _multiplied(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    q, k = self.W_q(query)[:, :, None], self.W_k(memory)[:, None]
    return self.v((q * k).tanh()).squeeze(-1)


def _scaled(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    return AdditiveAttention.score(self, query, memory) / query.shape[-1] ** 0.5


def _summed(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    q, k = self.W_q(query)[:, :, None], self.W_k(memory)[:, None]
    return (q + k).tanh().sum(-1)


def _without(*unused: str) -> Callable:
    """A score for which these parts are left out."""

    def score(self: Any, query: Tensor, memory: Tensor) -> Tensor:
        q = query if "W_q" in unused else self.W_q(query)
        k = memory if "W_k" in unused else self.W_k(memory)
        return self.v((q[:, :, None] + k[:, None]).tanh()).squeeze(-1)

    return score


def _one_to_one(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    """Query t meets key t alone where there are as many of both, or one query."""
    return self.v((self.W_q(query) + self.W_k(memory)).tanh()).squeeze(-1)


def _with_last_axis(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    return AdditiveAttention.score(self, query, memory)[..., None]


def _squeezed(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    return AdditiveAttention.score(self, query, memory).squeeze()


def _axes_exchanged(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    q, k = self.W_q(query)[:, None], self.W_k(memory)[:, :, None]
    return self.v((q + k).tanh()).squeeze(-1)


def _mixing_keys(self: Any, query: Tensor, memory: Tensor, mask: Any = None) -> Both:
    weights = self.weigh(self.score(query, memory), mask)
    return weights @ self.W_k(memory), weights


MISTAKES = (
    mistake(
        "softmax over the queries",
        "The softmax ran over the queries: each column of weights sums to 1, not each "
        "row.",
        "A query asks, the keys compete. Along which axis do the weights of one query "
        "lie?",
        *_over_axis(1),
    ),
    mistake(
        "softmax over the batch",
        "The softmax ran over the sentences of the batch.",
        "A query asks, the keys compete. Along which axis do the weights of one query "
        "lie?",
        *_over_axis(0),
    ),
    mistake(
        "padding attended",
        "The mask was not used, so padding is attended to as well.",
        "Follow `mask`. Which scores must not count, and when is the last moment to "
        "say so?",
        swap(block=lambda self, scores, mask: scores),
    ),
    mistake(
        "mask inverted",
        "What may be attended to was blocked, and the rest was not.",
        "True means: may attend.",
        *(swap(block=_blocking(block, Tensor.clone)) for block in BLOCKERS),
    ),
    mistake(
        "blocked after the softmax",
        "The weights of blocked keys were set to 0 after the softmax, so the rest no "
        "longer sums to 1.",
        "Print the sums of the rows. What has to happen to the scores before the "
        "softmax?",
        swap(weigh=_zeroed_after),
    ),
    mistake(
        "blocked scores set to 0",
        "A blocked score became 0, or nearly 0, which is a score like any other.",
        "Which score gets the weight 0 from a softmax?",
        swap(
            block=lambda self, scores, mask: scores if mask is None else scores * mask
        ),
    ),
    mistake(
        "mask added as it is",
        "The mask was added to the scores, where True counts as 1 and False as 0.",
        "Which score gets the weight 0 from a softmax?",
        swap(
            block=lambda self, scores, mask: scores if mask is None else scores + mask
        ),
    ),
    mistake(
        "no mask not expected",
        "Without a mask the answer ends in an error: it works on None.",
        "What is `mask` when the caller gives none?",
        swap(block=lambda self, scores, mask: filling(FILLS[0])(scores, ~mask)),
        swap(block=lambda self, scores, mask: filling(FILLS[0])(scores, mask == 0)),
    ),
    mistake(
        "no softmax",
        "The scores did not go through a softmax, so the weights of a query do not sum "
        "to 1.",
        "What makes shares of one whole out of a row of scores?",
        *(
            swap(
                weigh=lambda self, scores, mask, instead=instead: instead(
                    self.block(scores, mask)
                ),
                block=_blocking(block),
            )
            for instead in (torch.clone, torch.sigmoid)
            for block in BLOCKERS
        ),
    ),
    mistake(
        "W_q or W_k unused",
        "The queries did not go through W_q, or the memory not through W_k.",
        "Which of the three parts has not been used?",
        *(
            swap(score=_without(*unused))
            for unused in (("W_q",), ("W_k",), ("W_q", "W_k"))
        ),
    ),
    mistake(
        "outputs swapped",
        "The weights came first and the output second.",
        "In which order does the docstring promise them?",
        swap(
            forward=lambda self, *inputs: AdditiveAttention.forward(self, *inputs)[::-1]
        ),
    ),
    mistake(
        "no tanh",
        "Without a tanh of the sum, a score is the query's part plus the key's part, "
        "and the query cancels in the softmax.",
        "Compare the weights of two queries. What has to stand between the sum and v?",
        swap(activation=lambda self, pairs: pairs),
        swap(score=_query_only_inside),
    ),
    mistake(
        "tanh after v",
        "v was applied to the bare sum, and the tanh to the score.",
        "In the formula, what is the tanh applied to?",
        swap(score=_tanh_at_last),
    ),
    mistake(
        "tanh before the sum",
        "The tanh was applied before the sum, so the query cancels in the softmax.",
        "What does the formula apply the tanh to: each part, or their sum?",
        swap(score=_both_inside),
        swap(score=_key_only_inside),
    ),
    mistake(
        "ReLU instead of tanh",
        "A ReLU was used where the formula has a tanh.",
        "Compare your activation with the formula's.",
        swap(activation=lambda self, pairs: pairs.relu()),
    ),
    mistake(
        "sigmoid instead of tanh",
        "A sigmoid was used where the formula has a tanh.",
        "Compare your activation with the formula's.",
        swap(activation=lambda self, pairs: pairs.sigmoid()),
    ),
    mistake(
        "dot product",
        "Queries and keys were compared by a dot product, as in lesson 02.",
        "Additive attention has a third part, v. What does it score?",
        swap(score=_dot),
        swap(score=_scaled_dot),
        swap(score=_plain_dot),
        swap(score=_plain_scaled_dot),
        swap(score=_bilinear),
    ),
    mistake(
        "a bias",
        "At least one of W_q, W_k and v has a bias, but the formula has none.",
        "Which argument of `nn.Linear` leaves it out?",
        *tuple(
            swap(biased=some)
            for count in (3, 1, 2)
            for some in combinations(PARTS, count)
        ),
    ),
    mistake(
        "multiplied, not added",
        "Each query was multiplied by each key, entry by entry.",
        "Why is it called additive?",
        swap(score=_multiplied),
    ),
    mistake(
        "W_q and W_k swapped",
        "The queries went through W_k and the memory through W_q.",
        "Compare the names of the parts with what you put through them.",
        swap(score=_exchanged),
    ),
    mistake(
        "scaled",
        "The scores were divided by the square root of d_model, as in lesson 02.",
        "Is there a root in this formula?",
        swap(score=_scaled),
    ),
    mistake(
        "v forgotten",
        "The entries after the tanh were added up or averaged: each has the same "
        "weight.",
        "Which of the parts has not been used?",
        swap(score=_summed),
        swap(score=lambda self, q, m: _summed(self, q, m) / q.shape[-1]),
    ),
    mistake(
        "queries and keys on each other's axes",
        "The scores have a row per key and a column per query.",
        "Where does the new axis of length 1 go, in the query and in the key?",
        swap(score=_axes_exchanged),
    ),
    mistake(
        "no axis for the pairs",
        "Queries and keys were added position by position, not each query to each key.",
        "The scores have a row per query and a column per key: which shapes give that "
        "when they are added?",
        swap(score=_one_to_one),
    ),
    mistake(
        "an axis of length 1 left over",
        "v leaves a last axis of length 1, which was kept, and the softmax ran over "
        "it.",
        "Print the shape of the scores before the softmax.",
        swap(score=_with_last_axis),
    ),
    mistake(
        "every axis of length 1 squeezed away",
        "A bare `squeeze()` also removed the axis of the queries where there is only "
        "one.",
        "Which one axis should go? `squeeze` takes its number.",
        swap(score=_squeezed),
    ),
    mistake(
        "mixture of keys",
        "The weights mix the output of W_k; they should mix the memory itself.",
        "What are the values here?",
        swap(forward=_mixing_keys),
    ),
    mistake(
        "scores instead of weights",
        "The second result holds the scores, not the weights.",
        "Before or after the softmax?",
        swap(
            forward=lambda self, query, memory, mask=None: (
                self.weigh(self.score(query, memory), mask) @ memory,
                self.score(query, memory),
            )
        ),
        *(
            swap(
                forward=lambda self, query, memory, mask=None: (
                    self.weigh(self.score(query, memory), mask) @ memory,
                    self.block(self.score(query, memory), mask),
                ),
                block=_blocking(filling(fill)),
            )
            for fill in FILLS
        ),
    ),
)

EXERCISES = (
    Exercise(
        "8.D",
        "Additive attention",
        "class",
        difficulty=3,
        points=4,
        core=True,
        answers=(
            Answer(
                "AdditiveAttention",
                AdditiveAttention,
                {"output": "batch, query, d_model", "weights": "batch, query, key"},
                parts=PARTS,
            ),
        ),
        cases=_cases,
        proves="no bias, scores of every pair, rows that sum to 1, masks, gradient",
        properties=(ROWS,),
        misconceptions=MISTAKES,
    ),
    Exercise(
        "8.F",
        "Bug hunt: an evenly dark map",
        "value",
        difficulty=3,
        points=2,
        answers=(Answer("sum_of_the_weights", 5),),
        cases=lambda seed: value_cases(),
        proves="a query that is alone on the axis of the softmax gets the weight 1 "
        "everywhere",
        misconceptions=(
            mistake(
                "what it should be",
                "A softmax over the keys would make it 1. This one runs over another "
                "axis.",
                "Which axis of (B, T, S) is number 1?",
                1,
            ),
            mistake(
                "one weight",
                "That is one weight of an even mixture, but the sum of all five is "
                "wanted.",
                "What is the softmax of a single number?",
                0.2,
            ),
            mistake(
                "softmax over the batch",
                "Axis 0 is the batch; this softmax does not run over it.",
                "Which axis of (B, T, S) is number 1?",
                2.5,
            ),
            mistake(
                "both sentences",
                "That is the sum over both sentences, but the sum for one question is "
                "wanted.",
                "How many weights does one question have here?",
                10,
            ),
        ),
    ),
)
