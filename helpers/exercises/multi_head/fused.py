"""3.3: one layer for query, key and value."""

from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.attention.shared import ROWS, random_mask, weights_not_requested
from helpers.exercises.kit import exchanging, normal
from helpers.exercises.multi_head.module import RETURNS
from helpers.models.attention import attention
from helpers.models.multi_head import merge_heads, split_heads


class FusedSelfAttention(nn.Module):
    """The course's own answer to 3.3, in steps that a mistake can exchange."""

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

    def finish(self, merged: Tensor) -> Tensor:
        """The last step."""
        return self.W_o(merged)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(B, T, D) -> output (B, T, D), weights (B, H, T, T)."""
        output, weights = self.attend(*self.cut(self.to_qkv(x)), mask)
        return self.finish(merge_heads(output)), weights


swap = exchanging(FusedSelfAttention)


def _batch_cut(self: FusedSelfAttention, qkv: Tensor) -> Any:
    query, key, value = qkv.chunk(3)
    return (split_heads(part, self.num_heads) for part in (query, key, value))


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
        "The docstring says thirds: which features make up the first one?",
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
        "Which third is which? The docstring says so.",
        *tuple(
            _ordered(order) for order in ((1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0))
        ),
    ),
    mistake(
        "fused layer too narrow",
        "`to_qkv` is as wide as one projection, but it takes the place of three.",
        "How many numbers per token must come out of it?",
        swap(layers=_too_narrow),
    ),
    mistake(
        "cut along the batch",
        "`chunk(3)` cuts the first axis unless you name another: that is the batch.",
        "Along which axis are query, key and value side by side?",
        swap(cut=_batch_cut),
    ),
    mistake(
        "mask ignored",
        "The mask changed nothing: blocked keys still get weight.",
        "Does `forward` ever use `mask`?",
        swap(
            attend=lambda self, query, key, value, mask: attention(
                query, key, value, need_weights=True
            )
        ),
    ),
    weights_not_requested(swap(attend=lambda self, *inputs: attention(*inputs))),
    mistake(
        "no output projection",
        "The heads are side by side, but W_o was never applied.",
        "What is left of the formula after Concat?",
        swap(finish=lambda self, merged: merged),
    ),
)


EXERCISES = (
    Exercise(
        "3.3",
        "Three projections in one",
        "class",
        difficulty=4,
        minutes=12,
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
