"""3.J: one layer for query, key and value."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.attention.shared import ROWS, random_mask
from helpers.exercises.kit import exchanging, normal
from helpers.exercises.multi_head.module import RETURNS, three_axes
from helpers.models.attention import attention
from helpers.models.multi_head import merge_heads, split_heads


class FusedSelfAttention(nn.Module):
    """The course's own answer to 3.J, in steps that a mistake can exchange."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        """Create the two layers."""
        super().__init__()
        self.num_heads = num_heads
        self.layers(d_model)

    def layers(self, d_model: int) -> None:
        """The two layers."""
        self.to_qkv = nn.Linear(d_model, 3 * d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def cut(self, qkv: Tensor) -> Any:
        """(B, T, 3 D) -> query, key, value, each (B, H, T, K)."""
        return (split_heads(part, self.num_heads) for part in qkv.chunk(3, -1))

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """What the heads found, (B, H, T, K), and their weights."""
        return attention(query, key, value, mask, need_weights=True)

    def merge(self, found: Tensor) -> Tensor:
        """(B, H, T, K) -> (B, T, D)."""
        return merge_heads(found)

    def finish(self, merged: Tensor) -> Tensor:
        """The last step."""
        return self.W_o(merged)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(B, T, D) -> output (B, T, D), weights (B, H, T, T)."""
        output, weights = self.attend(*self.cut(self.to_qkv(x)), mask)
        return self.finish(self.merge(output)), weights


swap = exchanging(FusedSelfAttention)


def _cut_by(pieces: Callable) -> Callable:
    def cut(self: FusedSelfAttention, qkv: Tensor) -> Any:
        query, key, value = pieces(qkv)
        return (split_heads(part, self.num_heads) for part in (query, key, value))

    return cut


def _merge_as_asked(self: FusedSelfAttention, found: Tensor) -> Tensor:
    batch, num_heads, length, d_head = found.shape
    return found.transpose(1, 2).reshape(batch, length, num_heads * d_head)


def _merged_twice(self: FusedSelfAttention, found: Tensor) -> Tensor:
    return _merge_as_asked(self, _merge_as_asked(self, found))


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple[int, ...] = (2, 5, 12),
        heads: int = 3,
        mask: tuple[int, ...] = (),
        dtype: Any = torch.float64,
        **more: Any,
    ) -> Case:
        args = (normal(draw, *size, dtype=dtype),)
        if mask:
            args += (random_mask(draw, *mask),)
        init = (size[-1], heads)
        return Case(name, args, inputs=("x", "mask"), init=init, **more)

    return [
        case("no mask"),
        case("three tokens, float32", (2, 3, 12), dtype=torch.float32),
        case("a padding mask (batch, 1, 1, key)", mask=(2, 1, 1, 5)),
        case("five heads of two, six tokens", (2, 6, 10), heads=5),
        case("the gradient", mask=(5, 5), gradient=True),
    ]


def _ordered(order: tuple[int, int, int]) -> type:
    def cut(self: FusedSelfAttention, qkv: Tensor) -> Any:
        parts = qkv.chunk(3, -1)
        return (split_heads(parts[place], self.num_heads) for place in order)

    return swap(cut=cut)


def _interleaved(self: FusedSelfAttention, qkv: Tensor) -> Any:
    """(B, T, H, 3, K) -> three times (B, H, T, K)."""
    return qkv.unflatten(-1, (self.num_heads, 3, -1)).permute(3, 0, 2, 1, 4)


def _per_head_chunks(self: FusedSelfAttention, qkv: Tensor) -> Any:
    return split_heads(qkv, self.num_heads).chunk(3, -1)


def _innermost(self: FusedSelfAttention, qkv: Tensor) -> Any:
    """(B, T, H, K, 3) -> three times (B, H, T, K)."""
    return qkv.unflatten(-1, (self.num_heads, -1, 3)).permute(4, 0, 2, 1, 3)


def _in_memory_order(self: FusedSelfAttention, qkv: Tensor) -> Any:
    batch, length, width = qkv.shape
    size = (3, batch, self.num_heads, length, width // 3 // self.num_heads)
    return qkv.reshape(*size)


def _too_narrow(self: FusedSelfAttention, d_model: int) -> None:
    self.to_qkv, self.W_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)


MISTAKES = (
    mistake(
        "query, key and value per head",
        "Each head's part was cut into query, key and value, but the layer's first "
        "third should be the query of all heads.",
        "Which cut comes first: into three, or into heads?",
        swap(cut=_interleaved),
        swap(cut=_per_head_chunks),
    ),
    mistake(
        "every third feature",
        "Query, key and value took turns, feature by feature.",
        "The exercise speaks of thirds: which features make up the first one?",
        swap(cut=_innermost),
    ),
    mistake(
        "memory order",
        "The numbers were read in memory order, so batch, tokens and features are "
        "mixed up.",
        "Cut only the last axis, then move axes with `transpose` or `permute`.",
        swap(cut=_in_memory_order),
    ),
    mistake(
        "thirds in another order",
        "The three parts are not query, key and value, in this order.",
        "Which third is which? The exercise says so, above the stub.",
        *(_ordered(order) for order in list(permutations(range(3)))[1:]),
    ),
    mistake(
        "fused layer too narrow",
        "`to_qkv` is as wide as one projection, but it takes the place of three.",
        "How many numbers per token must come out of it?",
        swap(layers=_too_narrow),
    ),
    mistake(
        "cut along the batch",
        "The first axis was taken apart, which is the batch, and does not hold three.",
        "Along which axis do query, key and value lie? `chunk` takes a `dim`.",
        swap(cut=_cut_by(lambda qkv: qkv.chunk(3))),
        swap(cut=_cut_by(lambda qkv: qkv.split(3))),
    ),
    mistake(
        "cut along the tokens",
        "The axis of the tokens was cut into three, not the axis of the features.",
        "Along which axis are query, key and value side by side?",
        swap(cut=_cut_by(lambda qkv: qkv.chunk(3, 1))),
    ),
    mistake(
        "more than three pieces",
        "More than three pieces were to be unpacked into three names. `split(n)` makes "
        "pieces of length n, `chunk(n)` makes n pieces.",
        "How many pieces do you need, and how long is each of them?",
        swap(cut=_cut_by(lambda qkv: qkv.split(3, -1))),
    ),
    mistake(
        "never cut into heads",
        "The width was never cut into heads: there is a single map, over all features.",
        "Which step turns (batch, length, d_model) into four axes?",
        swap(cut=lambda self, qkv: qkv.chunk(3, -1), merge=lambda self, found: found),
    ),
    mistake(
        "mask ignored",
        "The mask changed nothing: blocked keys still get weight.",
        "Follow `mask` through `forward`: does it reach the softmax?",
        swap(
            attend=lambda self, query, key, value, mask: attention(
                query, key, value, need_weights=True
            )
        ),
    ),
    three_axes(
        swap(attend=lambda self, *inputs: attention(*inputs)),
        swap(attend=lambda self, *inputs: attention(*inputs), merge=_merge_as_asked),
        swap(merge=_merged_twice),
        swap(cut=lambda self, qkv: qkv.chunk(3, -1), merge=_merge_as_asked),
        swap(merge=lambda self, found: merge_heads(merge_heads(found))),
    ),
    mistake(
        "no output projection",
        "The heads are side by side, but W_o was never applied.",
        "What is left of the formula after Concat?",
        swap(finish=lambda self, merged: merged),
    ),
)


EXERCISES = (
    Exercise(
        "3.J",
        "Three projections in one",
        "class",
        difficulty=4,
        points=2,
        answers=(
            Answer(
                "FusedSelfAttention",
                FusedSelfAttention,
                RETURNS,
                parts=("to_qkv", "W_o"),
            ),
        ),
        cases=_cases,
        proves="thirds in their order, heads, mask, gradients",
        properties=(ROWS,),
        misconceptions=MISTAKES,
    ),
)
