"""10.A: a GPT block; 10.F: what a GPT block does not have."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    mistake,
    value_cases,
)
from helpers.exercises.kit import attend, exchanging, normal, shake
from helpers.models import gpt as course
from helpers.models.layers import FeedForward
from helpers.models.masks import look_ahead_mask
from helpers.models.multi_head import MultiHeadAttention


class GPTBlock(nn.Module):
    """The course's own answer to 10.A; misconceptions exchange one of its steps."""

    def __init__(
        self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.0
    ) -> None:
        """Create the four parts."""
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, "gelu_tanh")
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.rate = dropout

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        x = self.add(x, self.recall, self.norm1)
        return self.add(x, self.think, self.norm2)

    def recall(self, y: Tensor) -> Tensor:
        """Self-attention."""
        return attend(self.attention, y, y, y, self.mask(y.shape[1]))

    def mask(self, length: int) -> Tensor | None:
        """(T, T), True = may attend."""
        return look_ahead_mask(length)

    def think(self, y: Tensor) -> Tensor:
        """The feed-forward."""
        return self.feed_forward(y)

    def drop(self, y: Tensor) -> Tensor:
        """Dropout on what a sublayer puts out."""
        return F.dropout(y, self.rate, self.training)

    def normalise(self, norm: nn.Module, y: Tensor) -> Tensor:
        """One of the two norms."""
        return norm(y)

    def add(self, x: Tensor, sublayer: Callable, norm: nn.Module) -> Tensor:
        """One sublayer with norm and residual."""
        return x + self.drop(sublayer(self.normalise(norm, x)))


def _evaluating(call: Any, x: Tensor) -> Look:
    shake(getattr(call, "norm1", None), getattr(call, "norm2", None))
    return Look({"output": call.eval()(x)})


def _training(call: Any, x: Tensor) -> Look:
    shake(getattr(call, "norm1", None), getattr(call, "norm2", None))
    return Look({"output": call.train()(x)})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple[int, int, int],
        options: tuple = (3, 11),
        dtype: Any = torch.float64,
        look: Callable = _evaluating,
        **more: Any,
    ) -> Case:
        x = normal(draw, *size, dtype=dtype)
        init = (size[-1], *options)
        return Case(name, (x,), inputs=("x",), init=init, look=look, **more)

    return [
        case("five tokens", (2, 5, 6)),
        case("one head", (3, 4, 7), (1, 5)),
        case("as many texts as tokens, float32", (4, 4, 10), (5, 7), torch.float32),
        case("one token", (2, 1, 6)),
        case("dropout 1.0, in eval mode", (2, 5, 6), (3, 11, 1.0)),
        case("dropout 1.0, in training", (2, 5, 6), (3, 11, 1.0), look=_training),
        case("the gradient", (2, 3, 6), gradient=True),
    ]


swap = exchanging(GPTBlock)


def _ones(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool)


def _batch_masked(self: Any, y: Tensor) -> Tensor:
    return attend(self.attention, y, y, y, self.mask(y.shape[0]))


def _without(*missing: str) -> type:
    """No residual around one sublayer."""

    def add(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
        found = self.drop(sublayer(self.normalise(norm, x)))
        return (
            found if any(norm is getattr(self, one) for one in missing) else x + found
        )

    return swap(add=add)


def _normed_residual(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    y = self.normalise(norm, x)
    return y + self.drop(sublayer(y))


def _post_norm(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    return self.normalise(norm, x + self.drop(sublayer(x)))


def _norm_inside(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    """What a sublayer puts out is normalised, then added."""
    return x + self.drop(self.normalise(norm, sublayer(x)))


def _at_one(name: str, wrong: Callable) -> type:
    """One of the two sublayers is added in another way."""

    def add(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
        way = wrong if norm is getattr(self, name) else GPTBlock.add
        return way(self, x, sublayer, norm)

    return swap(add=add)


def _steps(*steps: tuple[str, str]) -> type:
    """Other sublayers or norms, or in another order."""

    def forward(self: Any, x: Tensor) -> Tensor:
        for sublayer, norm in steps:
            x = self.add(x, getattr(self, sublayer), getattr(self, norm))
        return x

    return swap(forward=forward)


def _side_by_side(self: Any, x: Tensor) -> Tensor:
    first = self.add(x, self.recall, self.norm1)
    return first + self.add(x, self.think, self.norm2) - x


def _back_to_the_start(self: Any, x: Tensor) -> Tensor:
    """The second sublayer's output is added to what came into the block."""
    first = self.add(x, self.recall, self.norm1)
    return x + self.drop(self.think(self.normalise(self.norm2, first)))


def _asks_alone(self: Any, x: Tensor) -> Tensor:
    y, mask = self.norm1(x), self.mask(x.shape[1])
    x = x + self.drop(attend(self.attention, y, x, x, mask))
    return self.add(x, self.think, self.norm2)


def _drops_one(kept: str) -> type:
    """Dropout after one of the two sublayers only."""

    def add(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
        found = sublayer(self.normalise(norm, x))
        return x + (self.drop(found) if norm is getattr(self, kept) else found)

    return swap(add=add)


def _drops_all(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    return self.drop(x + sublayer(self.normalise(norm, x)))


def _first_text(self: Any, y: Tensor) -> Tensor:
    return GPTBlock.recall(self, y)[0]


def _unpacked(self: Any, y: Tensor) -> Tensor:
    first, _ = GPTBlock.recall(self, y)  # of two texts; other batches raise
    return first


def _bare(name: str) -> Callable:
    """One of the norms is left out."""

    def normalise(self: Any, norm: nn.Module, y: Tensor) -> Tensor:
        return y if norm is getattr(self, name) else norm(y)

    return normalise


MISTAKES = (
    mistake(
        "no mask",
        "Every token sees the tokens after it: nothing is hidden from it.",
        "What will the model copy when it is trained to predict the next token?",
        swap(mask=staticmethod(lambda length: None)),
        swap(mask=staticmethod(_ones)),
    ),
    mistake(
        "mask off by one: itself hidden",
        "No token sees itself: the mask begins one place too early.",
        "Print your mask for three tokens. What is on its diagonal?",
        swap(mask=staticmethod(lambda length: _ones(length).tril(-1))),
    ),
    mistake(
        "mask off by one: one token ahead",
        "Every token sees the very next one: the mask ends one place too late.",
        "Print your mask for three tokens. What is just above its diagonal?",
        swap(mask=staticmethod(lambda length: _ones(length).tril(1))),
    ),
    mistake(
        "mask the wrong way round",
        "The past is hidden and the future is open.",
        "In this course True means: may attend. And a row of the mask is a query.",
        swap(mask=staticmethod(lambda length: _ones(length).triu(1))),
        swap(mask=staticmethod(lambda length: _ones(length).triu())),
    ),
    mistake(
        "mask of numbers",
        "The mask holds ones and zeros, not True and False: they were added to the "
        "scores, and nothing is blocked.",
        "Print the dtype of your mask. What does lesson 06 say it should be?",
        swap(mask=staticmethod(lambda length: torch.ones(length, length).tril())),
        swap(mask=staticmethod(lambda length: torch.ones(length, length).triu(1))),
    ),
    mistake(
        "mask as long as the batch",
        "The mask was made from the number of texts, not from their length.",
        "Which axis of x counts the tokens?",
        swap(recall=_batch_masked),
    ),
    mistake(
        "post-norm",
        "The norms come after the sum, as in the Transformer of 2017.",
        "Pre-norm: what goes into a sublayer, and what is its output added to?",
        swap(add=_post_norm),
    ),
    mistake(
        "one sublayer in post-norm",
        "One of the two sublayers has its norm after the sum; the other is right.",
        "Compare your two sublayers, line by line.",
        _at_one("norm1", _post_norm),
        _at_one("norm2", _post_norm),
    ),
    mistake(
        "norm on the way out",
        "A sublayer reads the vectors as they are, and what it puts out is normalised "
        "before it is added.",
        "Pre-norm: what goes into a sublayer, and what is its output added to?",
        swap(add=_norm_inside),
        _at_one("norm1", _norm_inside),
        _at_one("norm2", _norm_inside),
    ),
    mistake(
        "norms not used",
        "The vectors go into the sublayers as they are, without the norms.",
        "Which parts of `__init__` does `forward` never use?",
        swap(normalise=lambda self, norm, y: y),
    ),
    mistake(
        "one norm not used",
        "One of the two sublayers reads the vectors as they are, without its norm.",
        "Compare your two sublayers, line by line.",
        swap(normalise=_bare("norm1")),
        swap(normalise=_bare("norm2")),
    ),
    mistake(
        "the first text for all",
        "The attention's output was unpacked as if it were a pair: the result for the "
        "first text was added to every text.",
        "Does this attention return a pair, as yours in lesson 03 did, or one tensor?",
        swap(recall=_first_text),
        swap(recall=_unpacked),
    ),
    mistake(
        "only the query normalised",
        "Queries come from the normalised vectors, but keys and values do not.",
        "A block attends to itself: how many different inputs does its attention have?",
        swap(forward=_asks_alone),
    ),
    mistake(
        "no residual",
        "A sublayer's output replaces the vectors, instead of being added to them.",
        "How do the vectors that came in get past a sublayer?",
        _without("norm1", "norm2"),
    ),
    mistake(
        "no residual around the attention",
        "The attention's output replaces the vectors, instead of being added to them.",
        "Compare your two sublayers, line by line.",
        _without("norm1"),
    ),
    mistake(
        "no residual around the feed-forward",
        "The feed-forward's output replaces the vectors, instead of being added to "
        "them.",
        "Compare your two sublayers, line by line.",
        _without("norm2"),
    ),
    mistake(
        "residual taken after the norm",
        "A sublayer's output was added to the normalised vectors, not to those that "
        "came in.",
        "Does one name stand for two things? There is no norm on the way past a "
        "sublayer.",
        swap(add=_normed_residual),
        _at_one("norm1", _normed_residual),
        _at_one("norm2", _normed_residual),
    ),
    mistake(
        "second residual from the start",
        "The second sublayer's output was added to what came into the block, so the "
        "attention's output is lost on the way past.",
        "Which vectors are there when the second sublayer begins?",
        swap(forward=_back_to_the_start),
    ),
    mistake(
        "side by side",
        "The feed-forward read what came into the block, not what the attention left.",
        "Which vectors go into the second sublayer?",
        swap(forward=_side_by_side),
    ),
    mistake(
        "feed-forward first",
        "The two sublayers run in the wrong order.",
        "The text says what a block does first. Which of the two sublayers is that?",
        _steps(("think", "norm2"), ("recall", "norm1")),
    ),
    mistake(
        "one norm used twice",
        "Both sublayers use the same norm; each should use its own.",
        "Which parts of `__init__` does `forward` never use?",
        _steps(("recall", "norm1"), ("think", "norm1")),
        _steps(("recall", "norm2"), ("think", "norm2")),
    ),
    mistake(
        "norms swapped",
        "The attention uses norm2 and the feed-forward norm1.",
        "GPT-2's weights will be loaded under these names, so it matters which is "
        "which.",
        _steps(("recall", "norm2"), ("think", "norm1")),
    ),
    mistake(
        "no dropout",
        "In training nothing is dropped.",
        "Which part of `__init__` does `forward` never use?",
        swap(drop=lambda self, y: y),
    ),
    mistake(
        "dropout on one sublayer",
        "Only one of the two sublayers is followed by dropout.",
        "Compare your two sublayers, line by line.",
        _drops_one("norm1"),
        _drops_one("norm2"),
    ),
    mistake(
        "dropout on the sum",
        "The vectors themselves are dropped, not only what a sublayer adds to them.",
        "What should be left of the block when dropout is 1.0?",
        swap(add=_drops_all),
    ),
)

EXERCISES = (
    Exercise(
        "10.A",
        "A GPT block",
        "class",
        difficulty=2,
        points=3,
        core=True,
        answers=(
            Answer(
                "GPTBlock",
                GPTBlock,
                {"output": "batch, length, d_model"},
                parts=("attention", "feed_forward", "norm1", "norm2"),
                calls="The check calls `self.attention(query, key, value, mask)`, with "
                "three times (B, T, D) and a boolean mask (T, T), True = may attend, "
                "and expects (B, T, D): write your attention so that it can be called "
                "like this, or take `mine.MultiHeadAttention`.",
                stand_in=course.GPTBlock,
            ),
        ),
        cases=_cases,
        proves="no token sees a later one, pre-norm, residuals, dropout, gradient",
        misconceptions=MISTAKES,
    ),
    Exercise(
        "10.F",
        "Bug hunt: a figure with one arrow too many",
        "value",
        difficulty=1,
        points=1,
        answers=(Answer("must_go", ("cross_attention", "norm2")),),
        cases=lambda seed: value_cases(),
        proves="without a source there is no cross-attention, and no norm that goes "
        "with it",
        misconceptions=(
            mistake(
                "its norm stays",
                "The cross-attention is gone, but the norm that belongs to it is "
                "still there.",
                "How many sublayers are left, and how many norms?",
                ("cross_attention",),
            ),
            mistake(
                "the wrong order",
                "Both names are right, but in the wrong order.",
                "In which order does the cell above print them?",
                ("norm2", "cross_attention"),
            ),
            mistake(
                "the wrong attention",
                "Self-attention is how a token sees the tokens before it.",
                "Which of the two attentions needs a second text?",
                ("self_attention", "norm1"),
                ("self_attention",),
            ),
            mistake(
                "the last norm",
                "The norm norm3 belongs to the feed-forward, which stays.",
                "Which norm belongs to the cross-attention in that layer?",
                ("cross_attention", "norm3"),
                ("norm3", "cross_attention"),
            ),
            mistake(
                "the first norm",
                "The norm norm1 belongs to the self-attention, which stays.",
                "Which norm belongs to the cross-attention in that layer?",
                ("cross_attention", "norm1"),
                ("norm1", "cross_attention"),
            ),
        ),
    ),
)
