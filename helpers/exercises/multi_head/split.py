"""3.A: cut the width into heads, and put it together again."""

from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import normal


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """The course's own first answer to 3.A."""
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model // num_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """The course's own second answer to 3.A."""
    batch, heads, length, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, length, heads * d_head)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def split(name: str, *size: int, heads: int, dtype: Any = torch.float64, **more):
        args = (normal(draw, *size, dtype=dtype), heads)
        return Case(name, args, inputs=("x", "num_heads"), **more)

    def merge(name: str, *size: int, dtype: Any = torch.float64, **more) -> Case:
        return Case(
            name, (normal(draw, *size, dtype=dtype),), inputs=("x",), of=1, **more
        )

    return [
        split("three heads", 2, 5, 12, heads=3, gradient=True),
        split("as many tokens as heads", 2, 3, 12, heads=3),
        split("four heads, float32", 3, 7, 20, heads=4, dtype=torch.float32),
        split("one head", 2, 5, 6, heads=1),
        split("a batch of one", 1, 5, 12, heads=3),
        merge("three heads", 2, 3, 5, 4, gradient=True),
        merge("as many tokens as heads", 2, 3, 3, 4),
        merge("four heads, float32", 3, 4, 7, 5, dtype=torch.float32),
        merge("one head", 2, 1, 5, 6),
        merge("a batch of one", 1, 3, 5, 4),
    ]


# --- splitting ---


@mistake(
    "view without transpose",
    "The numbers were read in memory order, so each head holds pieces of several "
    "tokens' features.",
    "First cut only the last axis in two. Which axis has to move after that?",
    lambda x, num_heads: x.reshape(len(x), num_heads, x.shape[1], -1),
)
def _view(x: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.view(batch, num_heads, length, d_model // num_heads)


@mistake(
    "heads left after the tokens",
    "The width is cut, but the axis of heads still comes after the length.",
    "Attention works on the last two axes: which two should they be?",
)
def _untransposed(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (num_heads, -1))


@mistake(
    "every h-th feature",
    "A head got every h-th feature, but it should get neighbouring ones.",
    "When you cut the last axis in two, which comes first: heads or d_head?",
    lambda x, num_heads: torch.stack(
        [x[..., h::num_heads] for h in range(num_heads)], 1
    ),
)
def _strided(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


@mistake(
    "d_head and num_heads swapped",
    "There are d_head heads of num_heads features each: it should be the other way "
    "round.",
    "How wide is a head when num_heads of them divide the width among themselves?",
    lambda x, num_heads: x.reshape(*x.shape[:2], -1, num_heads).transpose(1, 2),
)
def _exchanged(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (-1, num_heads)).transpose(1, 2)


@mistake(
    "features before tokens",
    "Inside a head the last two axes are swapped: features first, tokens last.",
    "Compare the order of your axes with the docstring's (B, H, T, K).",
)
def _turned(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (num_heads, -1)).permute(0, 2, 3, 1)


@mistake(
    "the wrong two axes swapped",
    "After the cut the last two axes, heads and d_head, were swapped, and the length "
    "stayed where it was.",
    "Number the four axes after the cut: which two of them must change places?",
)
def _last_two(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (num_heads, -1)).transpose(2, 3)


@mistake(
    "view after an early transpose",
    "`view` was called after a transpose, and then the numbers no longer lie in memory "
    "in the order of the axes.",
    "Cut first: which axis holds the features before anything has moved?",
)
def _early_view(x: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.transpose(1, 2).view(batch, num_heads, length, d_model // num_heads)


@mistake(
    "every head sees everything",
    "Each head holds the whole width: x was copied, not cut.",
    "How wide can a head be, if all of them together are d_model wide?",
    lambda x, num_heads: torch.stack([x] * num_heads, 1),
)
def _copied(x: Tensor, num_heads: int) -> Tensor:
    return x[:, None].expand(-1, num_heads, -1, -1)


@mistake(
    "heads before the batch",
    "The heads became the first axis, in front of the batch.",
    "Where in (B, H, T, K) does the new axis belong? `torch.stack` takes a `dim`.",
    lambda x, num_heads: x.unflatten(-1, (num_heads, -1)).permute(2, 0, 1, 3),
)
def _heads_first(x: Tensor, num_heads: int) -> Tensor:
    return torch.stack(x.chunk(num_heads, -1))


@mistake(
    "heads inside the batch",
    "Batch and heads were joined into one axis, but here they stay two.",
    "How many axes does the docstring promise?",
    lambda x, num_heads: torch.cat(x.chunk(num_heads, -1)),
)
def _folded(x: Tensor, num_heads: int) -> Tensor:
    return split_heads(x, num_heads).flatten(0, 1)


@mistake(
    "transposed before the cut",
    "Length and width were swapped first, so the cut went through the tokens.",
    "Cut first: which axis holds the features before anything has moved?",
)
def _early(x: Tensor, num_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.transpose(1, 2).reshape(batch, num_heads, length, d_model // num_heads)


@mistake(
    "a size with a fraction",
    "`/` gives a float, even if the division leaves no remainder, and a size must be "
    "an int.",
    "Which division of two ints gives an int in Python?",
    lambda x, num_heads: x.reshape(
        *x.shape[:2], num_heads, x.shape[2] / num_heads
    ).transpose(1, 2),
    lambda x, num_heads: x.reshape(
        (*x.shape[:2], num_heads, x.shape[2] / num_heads)
    ).transpose(1, 2),
)
def _float_size(x: Tensor, num_heads: int) -> Tensor:
    return x.view(*x.shape[:2], num_heads, x.shape[2] / num_heads).transpose(1, 2)


# --- merging ---


@mistake(
    "merged without transposing back",
    "The heads were read one after the other, so each token's row holds pieces of "
    "several tokens.",
    "Undo the steps of the split in reverse order. Which was the last one?",
    lambda x: x.reshape(x.shape[0], x.shape[2], -1),
    of=1,
)
def _read_off(x: Tensor) -> Tensor:
    batch, heads, length, d_head = x.shape
    return x.contiguous().view(batch, length, heads * d_head)


@mistake(
    "heads averaged",
    "The heads were averaged, but they should be placed side by side.",
    "How wide must the result be, so that nothing a head found is lost?",
    of=1,
)
def _averaged(x: Tensor) -> Tensor:
    return x.mean(1)


@mistake(
    "heads added",
    "The heads were added up, but they should be placed side by side.",
    "How wide must the result be, so that nothing a head found is lost?",
    of=1,
)
def _added(x: Tensor) -> Tensor:
    return x.sum(1)


@mistake(
    "heads interleaved",
    "The features of the heads alternate, but each head's should stay together.",
    "Which axis must come just before d_head when the last two are joined?",
    lambda x: x.permute(0, 2, 3, 1).flatten(2),
    of=1,
)
def _interleaved(x: Tensor) -> Tensor:
    return torch.stack(x.unbind(1), -1).flatten(2)


@mistake(
    "heads one after the other",
    "The heads were lined up along the length: the sequence got longer, not wider.",
    "Which of the two axes should grow, length or width?",
    lambda x: torch.cat(x.unbind(1), 1),
    of=1,
)
def _lined_up(x: Tensor) -> Tensor:
    return x.flatten(1, 2)


@mistake(
    "the other two axes swapped back",
    "Length and d_head were swapped, not heads and length, so the features of each "
    "token are scattered.",
    "Which two axes did the split swap?",
    of=1,
)
def _other_two(x: Tensor) -> Tensor:
    batch, heads, length, d_head = x.shape
    return x.transpose(2, 3).reshape(batch, length, heads * d_head)


@mistake(
    "sentences side by side",
    "The sentences of the batch were placed side by side, not the heads.",
    "Which axis does a loop over x, or `list(x)`, walk along?",
    of=1,
)
def _sentences(x: Tensor) -> Tensor:
    return torch.cat(list(x), -1)


@mistake(
    "length and features joined",
    "Length and d_head became one axis, and the heads stayed an axis of their own.",
    "Which axis must come just before d_head when the last two are joined?",
    of=1,
)
def _long_rows(x: Tensor) -> Tensor:
    return x.flatten(2)


@mistake(
    "heads not joined",
    "The axes are in order, but heads and d_head are still two axes.",
    "How many axes did x have before it was split?",
    of=1,
)
def _apart(x: Tensor) -> Tensor:
    return x.transpose(1, 2)


@mistake(
    "axis of one lost",
    "The numbers are right, but for a batch of one sentence the batch axis is gone.",
    "Which call drops every axis of length 1, wherever it stands?",
    of=1,
)
def _squeezed(x: Tensor) -> Tensor:
    return merge_heads(x).squeeze()


@mistake(
    "view after a transpose",
    "`view` needs the numbers to lie in memory in the order of the axes, and after a "
    "transpose they don't.",
    "Which relative of `view` copies the numbers when it has to?",
    lambda x: x.permute(0, 2, 1, 3).view(x.shape[0], x.shape[2], -1),
    of=1,
)
def _not_contiguous(x: Tensor) -> Tensor:
    batch, heads, length, d_head = x.shape
    return x.transpose(1, 2).view(batch, length, heads * d_head)


EXERCISES = (
    Exercise(
        "3.A",
        "Split and merge heads",
        "function",
        difficulty=2,
        points=3,
        core=True,
        answers=(
            Answer(
                "split_heads", split_heads, {"heads": "batch, heads, length, d_head"}
            ),
            Answer("merge_heads", merge_heads, {"merged": "batch, length, d_model"}),
        ),
        cases=_cases,
        proves="every feature in its place, as many tokens as heads, gradient, float32",
        misconceptions=(
            _view,
            _untransposed,
            _strided,
            _exchanged,
            _turned,
            _last_two,
            _early_view,
            _copied,
            _heads_first,
            _folded,
            _early,
            _float_size,
            _read_off,
            _averaged,
            _added,
            _interleaved,
            _lined_up,
            _other_two,
            _sentences,
            _long_rows,
            _apart,
            _squeezed,
            _not_contiguous,
        ),
    ),
)
