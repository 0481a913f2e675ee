"""2.C: self-attention as a module."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Misconception,
    Property,
    mistake,
)
from helpers.exercises.attention.scaled import ATTENTION_MISTAKES
from helpers.exercises.attention.shared import (
    REPLACED,
    ROWS,
    if_mask,
    leak,
    under_every_fill,
    weights_not_requested,
)
from helpers.exercises.kit import exchanging, normal
from helpers.models.attention import attention


class SelfAttention(nn.Module):
    """The course's own answer to 2.C, in steps that a mistake can exchange."""

    def __init__(self, d_model: int, d_head: int) -> None:
        """Create the three projections."""
        super().__init__()
        self.layers(d_model, d_head)

    def layers(self, d_model: int, d_head: int) -> None:
        """The three projections."""
        self.W_q = nn.Linear(d_model, d_head, bias=False)
        self.W_k = nn.Linear(d_model, d_head, bias=False)
        self.W_v = nn.Linear(d_model, d_head, bias=False)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value."""
        return self.W_q(x), self.W_k(x), self.W_v(x)

    def scale(self, query: Tensor) -> float:
        """What the scores are multiplied by."""
        return query.shape[-1] ** -0.5

    def lay(self, mask: Tensor) -> Tensor:
        """The mask (B, S) beside the scores: (B, T=1, S)."""
        return mask[:, None, :]

    def block(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The scores under a mask."""
        return scores.masked_fill(~mask, -1e30)

    def normalise(self, scores: Tensor) -> Tensor:
        """From scores to weights."""
        return scores.softmax(-1)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Everything after the projections."""
        scores = query @ key.mT * self.scale(query)
        if mask is not None:
            scores = self.block(scores, mask)
        weights = self.normalise(scores)
        return weights @ value, weights

    def finish(self, output: Tensor, weights: Tensor) -> Any:
        """What comes back."""
        return output, weights

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        """(B, T, D), a mask (B, S) -> output (B, T, K), weights (B, T, S)."""
        query, key, value = self.project(x)
        laid = None if mask is None else self.lay(mask.bool())
        output, weights = self.attend(query, key, value, laid)
        return self.finish(output, weights)


swap = exchanging(SelfAttention)


def _module_cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple[int, int, int],
        d_head: int,
        real: tuple[int, ...] | None = None,
        dtype: Any = torch.float64,
        **more: Any,
    ) -> Case:
        args = (normal(draw, *size, dtype=dtype),)
        if real:
            args += (torch.arange(size[1]) < torch.tensor(real)[:, None],)
        init = (size[2], d_head)
        return Case(name, args, inputs=("x", "mask"), init=init, **more)

    # In float64 d_head is a square: a root taken in float32 is right as well.
    return [
        case("no mask", (2, 5, 7), 4),
        case("no mask, float32", (3, 4, 6), 5, dtype=torch.float32),
        case("a padding mask (batch, length)", (2, 5, 7), 4, (5, 3)),
        case("batch and length both 4, with padding", (4, 4, 7), 9, (4, 1, 3, 2)),
        case("one sequence, no padding", (1, 6, 5), 4, (6,)),
        case("the gradient", (2, 5, 7), 4, (4, 5), gradient=True),
    ]


def _padding(case: Case, outputs: Mapping[str, Any]) -> str | None:
    if len(case.args) < 2:
        return None
    return leak(outputs["weights"], case.args[1][:, None, :])


def _of_the_course(
    self: SelfAttention, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> Any:
    """What `attention` makes of a row that is blocked whole: weights of 0."""
    return attention(query, key, value, mask, need_weights=True)


def _square(self: SelfAttention, mask: Tensor) -> Tensor:
    return mask[:, None, :] & mask[:, :, None]


def _projecting(query: str, key: str, value: str) -> type:
    """Which layer makes the query, the key and the value."""

    def project(self: SelfAttention, x: Tensor) -> tuple:
        return tuple(getattr(self, f"W_{name}")(x) for name in (query, key, value))

    return swap(project=project)


# One wrong, or two that changed places, where there is no sentence of its own:
CONFUSED = ("vkv", "qvv", "qkq", "vkq")


def _as_in_2_2(name: str) -> Misconception:
    """A mistake of 2.B, made after the projections."""
    known = next(one for one in ATTENTION_MISTAKES if one.name == name)
    attends = (swap(attend=staticmethod(spelling)) for spelling in known.spellings)
    return mistake(name, known.done, known.where, *attends)


def _without_asking(lay: Callable) -> type:
    """Use the mask without asking whether there is one."""
    return swap(
        forward=lambda self, x, mask=None: self.attend(*self.project(x), lay(mask))
    )


MODULE_MISTAKES = (
    mistake(
        "mask applied to the queries",
        "The mask blocks whole rows, the queries at padding, but not the padded keys.",
        "The mask says which tokens may be attended to: which axis of the scores is "
        "that?",
        *under_every_fill(  # lowered as a whole, a row keeps its weights
            swap, lay=lambda self, mask: mask[:, :, None], fills=REPLACED
        ),
        swap(lay=lambda self, mask: mask[:, :, None], attend=_of_the_course),
    ),
    mistake(
        "mask without a query axis",
        "The (batch, length) mask was used on the (batch, query, key) scores as it is: "
        "its batch axis was taken for the query axis.",
        "Write the two shapes below each other, right-aligned. Where is an axis "
        "missing?",
        *under_every_fill(swap, lay=lambda self, mask: mask),
        swap(lay=lambda self, mask: mask, attend=_of_the_course),
    ),
    mistake(
        "padded queries blocked as well",
        "The mask also blocks the rows of the padded queries, and such a row has no "
        "key left to attend to.",
        "The mask says which tokens may be attended to: which one axis of the scores "
        "is that?",
        *under_every_fill(swap, lay=_square),
        swap(lay=_square, attend=_of_the_course),
    ),
    weights_not_requested(
        swap(
            attend=lambda self, query, key, value, mask: attention(
                query, key, value, mask
            )
        )
    ),
    mistake(
        "an axis for heads",
        "The mask has four axes, as it would for several heads, so everything after "
        "it has one axis too many.",
        "How many axes do the scores of a single head have?",
        swap(lay=lambda self, mask: mask[:, None, None, :], attend=_of_the_course),
    ),
    mistake(
        "padding set to 0 in x",
        "The vectors at padding became 0, but their keys can still be attended to: "
        "their scores go into the softmax like any others.",
        "Where in the formula does the mask come in?",
        swap(
            forward=lambda self, x, mask=None: SelfAttention.forward(
                self, x if mask is None else x * mask[..., None]
            )
        ),
    ),
    mistake(
        "no check for a missing mask",
        "The mask was used without asking whether there is one.",
        "What is `mask` when the module is called with x alone?",
        _without_asking(lambda mask: mask[:, None, :]),
        _without_asking(lambda mask: mask.unsqueeze(1)),
        _without_asking(lambda mask: mask.bool()[:, None]),
        _without_asking(lambda mask: ~(~mask)[:, None]),
    ),
    if_mask(
        swap(
            attend=lambda self, query, key, value, mask: attention(
                query, key, value, mask if mask else None, need_weights=True
            )
        ),
        swap(block=lambda self, scores, mask: scores.masked_fill(not mask, -1e9)),
    ),
    mistake(
        "weight not transposed",
        "x was multiplied by the weight of a layer as it is stored, which is (d_head, "
        "d_model).",
        "A layer can be called like a function: it does the whole product itself.",
        swap(
            project=lambda self, x: (
                x @ self.W_q.weight,
                x @ self.W_k.weight,
                x @ self.W_v.weight,
            )
        ),
    ),
    mistake(
        "sizes of the layers swapped",
        "The layers map d_head features to d_model, but x comes with d_model features.",
        "In which order does `nn.Linear` take its two sizes?",
        swap(
            layers=lambda self, d_model, d_head: SelfAttention.layers(
                self, d_head, d_model
            )
        ),
    ),
    mistake(
        "mask ignored",
        "The mask changed nothing: padded keys still get weight.",
        "Does what you do with `mask` reach the softmax, and does it lower single keys "
        "or a row as a whole?",
        swap(block=lambda self, scores, mask: scores),
    ),
    mistake(
        "mask inverted",
        "The real tokens were blocked, and the padding was left open.",
        "True means a real token. Which entries must be filled?",
        *under_every_fill(swap, see=lambda mask: ~mask),
        swap(lay=lambda self, mask: ~mask[:, None, :], attend=_of_the_course),
    ),
    mistake(
        "blocked scores set to 0",
        "Scores of padded keys became 0, or nearly 0, and exp(0) is 1.",
        "Which score has the exponential 0?",
        swap(block=lambda self, scores, mask: scores * mask),
    ),
    mistake(
        "one projection for all three",
        "Query, key and value all come from the same projection.",
        "How many matrices does the formula learn, and where is each used?",
        *(_projecting(name, name, name) for name in "qkv"),
    ),
    mistake(
        "query used as key",
        "Query and key come from the same projection, so the scores are symmetric.",
        "Check which layer computes the key.",
        _projecting("q", "q", "v"),
        _projecting("k", "k", "v"),
    ),
    mistake(
        "key used as value",
        "The vectors that are mixed come from the key's projection.",
        "Check which layer computes the value.",
        _projecting("q", "k", "k"),
    ),
    mistake(
        "key and value swapped",
        "What W_v made was used as the key, and what W_k made as the value.",
        "Check the order in which you pass the three on, and each layer's name.",
        _projecting("q", "v", "k"),
    ),
    mistake(
        "query and key swapped",
        "What W_k made was used as the query, and what W_q made as the key, so the "
        "scores are transposed.",
        "Check the order in which you pass the three on, and each layer's name.",
        _projecting("k", "q", "v"),
    ),
    mistake(
        "layers confused",
        "Query, key and value did not each come from the layer of their own name.",
        "Follow each of the three from its layer to its place in the formula.",
        *(_projecting(*names) for names in CONFUSED),
    ),
    mistake(
        "value not projected",
        "The weights mix x itself instead of the projected values.",
        "What width should the output have?",
        swap(project=lambda self, x: (self.W_q(x), self.W_k(x), x)),
    ),
    mistake(
        "scaled by d_model",
        "The scale uses the width of x, but the dot product sums over d_head numbers.",
        "How long are the vectors whose dot product is a score?",
        swap(scale=lambda self, query: self.W_q.weight.shape[1] ** -0.5),
    ),
    mistake(
        "no scaling",
        "The scores went into the softmax without being divided.",
        "Compare with the function you wrote in 2.B.",
        swap(scale=lambda self, query: 1.0),
    ),
    mistake(
        "divided by d_head",
        "All in all, the scores were divided by d_head itself.",
        "What is under the fraction line, and do you divide once?",
        swap(scale=lambda self, query: 1 / query.shape[-1]),
    ),
    mistake(
        "softmax over the queries",
        "The softmax ran over the queries: the columns sum to 1, the rows do not.",
        "Each query divides its attention among the keys. Which axis is that?",
        *under_every_fill(swap, normalise=lambda self, scores: scores.softmax(1)),
    ),
    *(
        _as_in_2_2(name)
        for name in (
            "softmax over axis 0",
            "missing transpose",
            "mask after the softmax",
            "mask added",
            "0 times infinity",
        )
    ),
    mistake(
        "tuple order",
        "The weights came first and the output second.",
        "Read the docstring's last line again.",
        swap(finish=lambda self, output, weights: (weights, output)),
    ),
    mistake(
        "only the output returned",
        "The weights are missing: only one tensor came back.",
        "Read the docstring's last line again: what comes back besides the output?",
        swap(finish=lambda self, output, weights: output),
    ),
)


EXERCISES = (
    Exercise(
        "2.C",
        "Self-attention as a module",
        "class",
        difficulty=3,
        points=4,
        core=True,
        answers=(
            Answer(
                "SelfAttention",
                SelfAttention,
                {"output": "batch, query, d_head", "weights": "batch, query, key"},
                parts=("W_q", "W_k", "W_v"),
            ),
        ),
        cases=_module_cases,
        proves="three projections, padding mask, batch equal to length, gradients",
        properties=(
            ROWS,
            Property("Does padding get zero weight", _padding),
        ),
        misconceptions=MODULE_MISTAKES,
    ),
)
