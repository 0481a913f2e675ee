"""8.3: additive attention, and the axis that a softmax ran over."""

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
    Property,
    mistake,
    value_cases,
)
from helpers.exercises.kit import normal
from helpers.exercises.translation.shared import kinds, outputs, real, remember

Both = tuple[Tensor, Tensor]
PARTS = ("W_q", "W_k", "v")


class AdditiveAttention(nn.Module):
    """The course's own answer to 8.3; misconceptions exchange one of its steps."""

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
        weights = self.share(scores, mask)
        return weights @ memory, weights

    def score(self, query: Tensor, memory: Tensor) -> Tensor:
        """(B, T, S)."""
        q, k = self.W_q(query)[:, :, None], self.W_k(memory)[:, None]
        return self.v(self.bend(q + k)).squeeze(-1)

    def bend(self, pairs: Tensor) -> Tensor:
        """What makes the small network more than a linear map."""
        return pairs.tanh()

    def share(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Weights of each query over the keys."""
        return self.block(scores, mask).softmax(-1)

    def block(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Blocked scores, before the softmax."""
        if mask is None:
            return scores
        return scores.masked_fill(~mask, float("-inf"))


def _look(call: Any, *inputs: Any) -> Look:
    """Both outputs, and whether a part has a bias."""
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


def _rows_sum_to_one(case: Case, outputs: Any) -> str | None:
    sums = outputs["weights"].sum(-1)
    if (sums - 1).abs().max() < 1e-4:
        return None
    return f"one row sums to {sums.flatten()[(sums - 1).abs().argmax()]:.4f}"


def _wrong(**steps: Callable) -> type:
    return type("_Wrong", (AdditiveAttention,), steps)


def _scoring(score: Callable) -> type:
    return _wrong(score=score)


def _zeroed_after(self: Any, scores: Tensor, mask: Tensor | None) -> Tensor:
    weights = scores.softmax(-1)
    return weights if mask is None else weights * mask


def _bent_at_last(self: Any, query: Tensor, memory: Tensor) -> Tensor:
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


def _one_to_one(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    """Query t meets key t alone, where there are as many of both, or one query."""
    return self.v((self.W_q(query) + self.W_k(memory)).tanh()).squeeze(-1)


def _with_last_axis(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    return AdditiveAttention.score(self, query, memory)[..., None]


def _squeezed(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    return AdditiveAttention.score(self, query, memory).squeeze()


def _axes_exchanged(self: Any, query: Tensor, memory: Tensor) -> Tensor:
    q, k = self.W_q(query)[:, None], self.W_k(memory)[:, :, None]
    return self.v((q + k).tanh()).squeeze(-1)


def _mixing_keys(self: Any, query: Tensor, memory: Tensor, mask: Any = None) -> Both:
    weights = self.share(self.score(query, memory), mask)
    return weights @ self.W_k(memory), weights


MISTAKES = (
    mistake(
        "shared out over the queries",
        "The softmax ran over the queries: each column of weights sums to 1, not each "
        "row.",
        "A query asks, the keys compete. Along which axis do the weights of one query "
        "lie?",
        _wrong(share=lambda self, scores, mask: self.block(scores, mask).softmax(1)),
    ),
    mistake(
        "shared out over the batch",
        "The softmax ran over the sentences of the batch.",
        "A query asks, the keys compete. Along which axis do the weights of one query "
        "lie?",
        _wrong(share=lambda self, scores, mask: self.block(scores, mask).softmax(0)),
    ),
    mistake(
        "padding attended",
        "The mask was not used: padding gets its share.",
        "Follow `mask`. Which scores must not count, and when is the last moment to "
        "say so?",
        _wrong(block=lambda self, scores, mask: scores),
    ),
    mistake(
        "mask turned round",
        "What may be attended to was blocked, and the rest was not.",
        "True means: may attend.",
        _wrong(
            block=lambda self, scores, mask: (
                scores if mask is None else scores.masked_fill(mask, float("-inf"))
            )
        ),
        _wrong(
            block=lambda self, scores, mask: (
                scores if mask is None else scores.masked_fill(mask, -1e9)
            )
        ),
    ),
    mistake(
        "blocked after the softmax",
        "The weights of blocked keys were set to 0 after the softmax: the rest no "
        "longer sums to 1.",
        "Print the sums of the rows. What has to happen to the scores before?",
        _wrong(share=_zeroed_after),
    ),
    mistake(
        "blocked scores set to 0",
        "A blocked score became 0, which is a score like any other.",
        "Which score becomes the weight 0 in a softmax?",
        _wrong(
            block=lambda self, scores, mask: scores if mask is None else scores * mask
        ),
    ),
    mistake(
        "no tanh",
        "Without a tanh of their sum, a score is a query's part plus a key's part, and "
        "the query cancels in the softmax.",
        "Compare the weights of two queries. What has to stand between sum and v?",
        _wrong(bend=lambda self, pairs: pairs),
        _scoring(_query_only_inside),
    ),
    mistake(
        "tanh behind v",
        "v met the bare sum, and the tanh was taken of the score.",
        "In the formula, what stands in the brackets behind tanh?",
        _scoring(_bent_at_last),
    ),
    mistake(
        "tanh before the sum",
        "The tanh was taken of the two parts one by one, not of their sum, so the "
        "query cancels in the softmax.",
        "What does the formula bend: each part, or what they make together?",
        _scoring(_both_inside),
        _scoring(_key_only_inside),
    ),
    mistake(
        "ReLU in place of tanh",
        "A ReLU was taken where the formula has a tanh.",
        "Compare your activation with the formula's.",
        _wrong(bend=lambda self, pairs: pairs.relu()),
    ),
    mistake(
        "sigmoid in place of tanh",
        "A sigmoid was taken where the formula has a tanh.",
        "Compare your activation with the formula's.",
        _wrong(bend=lambda self, pairs: pairs.sigmoid()),
    ),
    mistake(
        "dot product",
        "Queries and keys were compared by their dot product, as in lesson 02.",
        "Additive attention has a third part, v. What does it score?",
        _scoring(_dot),
        _scoring(_scaled_dot),
        _scoring(_plain_dot),
        _scoring(_plain_scaled_dot),
        _scoring(_bilinear),
    ),
    mistake(
        "a bias",
        "At least one of W_q, W_k and v has a bias, which the formula has not.",
        "Which argument of `nn.Linear` leaves it out?",
        *tuple(
            _wrong(biased=some)
            for count in (3, 1, 2)
            for some in combinations(PARTS, count)
        ),
    ),
    mistake(
        "multiplied, not added",
        "Each query was multiplied with each key, entry by entry.",
        "Why is it called additive?",
        _scoring(_multiplied),
    ),
    mistake(
        "W_q and W_k exchanged",
        "The queries went through W_k and the memory through W_q.",
        "Compare the names of the parts with what you put through them.",
        _scoring(_exchanged),
    ),
    mistake(
        "scaled",
        "The scores were divided by the root of d_model, as in lesson 02.",
        "Is there a root in this formula?",
        _scoring(_scaled),
    ),
    mistake(
        "v forgotten",
        "The entries after the tanh were added up, each with the same weight.",
        "Which of the parts has not been used?",
        _scoring(_summed),
    ),
    mistake(
        "queries and keys on each other's axes",
        "The scores have a row per key and a column per query.",
        "Where does the new axis of length 1 go, in the query and in the key?",
        _scoring(_axes_exchanged),
    ),
    mistake(
        "no axis for the pairs",
        "Queries and keys were added place by place, so no query meets every key.",
        "The scores have a row per query and a column per key: which shapes give that "
        "when they are added?",
        _scoring(_one_to_one),
    ),
    mistake(
        "an axis of length 1 left over",
        "What v leaves at the end, an axis of length 1, was kept, and the softmax ran "
        "over it.",
        "Print the shape of the scores before the softmax.",
        _scoring(_with_last_axis),
    ),
    mistake(
        "every axis of length 1 squeezed away",
        "A bare `squeeze()` also removed the axis of the queries where there is one "
        "query.",
        "Which one axis should go? `squeeze` takes its number.",
        _scoring(_squeezed),
    ),
    mistake(
        "mixture of keys",
        "The weights mix W_k's output; what is to be mixed is the memory itself.",
        "What are the values here?",
        _wrong(forward=_mixing_keys),
    ),
    mistake(
        "scores in place of weights",
        "The second result is the scores, not the weights.",
        "Before or after the softmax?",
        _wrong(
            forward=lambda self, query, memory, mask=None: (
                self.share(self.score(query, memory), mask) @ memory,
                self.score(query, memory),
            )
        ),
        _wrong(
            forward=lambda self, query, memory, mask=None: (
                self.share(self.score(query, memory), mask) @ memory,
                self.block(self.score(query, memory), mask),
            )
        ),
    ),
)

EXERCISES = (
    Exercise(
        "8.3",
        "Additive attention",
        "class",
        difficulty=3,
        minutes=15,
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
        properties=(Property("Does every row of weights sum to 1", _rows_sum_to_one),),
        misconceptions=MISTAKES,
    ),
    Exercise(
        "8.3c",
        "Bug hunt: an evenly dark map",
        "value",
        difficulty=3,
        minutes=6,
        points=2,
        answers=(Answer("sum_of_the_weights", 5),),
        cases=lambda seed: value_cases(),
        proves="a question that is alone on the axis of the softmax gets 1 everywhere",
        misconceptions=(
            mistake(
                "what it should be",
                "A softmax over the keys would make it 1. This one runs over another "
                "axis.",
                "Which axis of (B, T, S) has the number 1?",
                1,
            ),
            mistake(
                "one weight",
                "That is one weight of an even mixture; asked is the sum of five.",
                "What is the softmax of a single number?",
                0.2,
            ),
            mistake(
                "shared out over the batch",
                "Axis 0 is the batch; this softmax does not run over it.",
                "Which axis of (B, T, S) has the number 1?",
                2.5,
            ),
            mistake(
                "both sentences",
                "That is the sum over both sentences; asked is that of one question.",
                "How many weights does one question have here?",
                10,
            ),
        ),
    ),
)
