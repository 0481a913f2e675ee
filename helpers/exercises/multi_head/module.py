"""3.2: multi-head attention as a module."""

from collections.abc import Callable, Mapping
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
)
from helpers.exercises.attention.shared import (
    ROWS,
    mask_asked_for_its_truth,
    random_mask,
    weights_not_asked_for,
)
from helpers.exercises.kit import normal
from helpers.models.attention import attention
from helpers.models.multi_head import merge_heads, split_heads

PARTS = ("W_q", "W_k", "W_v", "W_o")
RETURNS = {
    "output": "batch, query, d_model",
    "weights": "batch, heads, query, key",
}


class MultiHeadAttention(nn.Module):
    """The course's own answer to 3.2, in steps that a mistake can exchange."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        """Create the four projections."""
        super().__init__()
        self.refuse(d_model, num_heads)
        self.num_heads = num_heads
        self.layers(d_model)

    def refuse(self, d_model: int, num_heads: int) -> None:
        """A width that can't be shared."""
        if d_model % num_heads:
            raise ValueError(f"{d_model=} is not a multiple of {num_heads=}")

    def layers(self, d_model: int) -> None:
        """The four projections."""
        for part in PARTS:
            setattr(self, part, nn.Linear(d_model, d_model))

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple:
        """Query, key and value, before they are split."""
        return self.W_q(query), self.W_k(key), self.W_v(value)

    def split(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, H, T, K)."""
        return split_heads(x, self.num_heads)

    def scale(self, query: Tensor) -> float:
        """What the scores are multiplied by."""
        return query.shape[-1] ** -0.5

    def block(self, scores: Tensor, mask: Tensor) -> Tensor:
        """The scores under a mask."""
        return scores.masked_fill(~mask, float("-inf"))

    def normalise(self, scores: Tensor) -> Tensor:
        """From scores to weights."""
        return scores.softmax(-1)

    def mix(self, weights: Tensor, value: Tensor) -> Tensor:
        """What each head found, (B, H, T, K)."""
        return weights @ value

    def merge(self, x: Tensor) -> Tensor:
        """(B, H, T, K) -> (B, T, D)."""
        return merge_heads(x)

    def finish(self, merged: Tensor, weights: Tensor) -> Any:
        """What comes back."""
        return self.W_o(merged), weights

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Any:
        """(B, T, D), (B, S, D) twice -> output (B, T, D), weights (B, H, T, S)."""
        query, key, value = map(self.split, self.project(query, key, value))
        scores = query @ key.mT * self.scale(query)
        if mask is not None:
            scores = self.block(scores, mask)
        weights = self.normalise(scores)
        return self.finish(self.merge(self.mix(weights, value)), weights)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        keys: int = 7,
        mask: tuple[int, ...] = (),
        init: tuple[int, int] = (12, 3),
        dtype: Any = torch.float64,
        **more: Any,
    ) -> Case:
        args = tuple(
            normal(draw, 2, length, init[0], dtype=dtype) for length in (5, keys, keys)
        )
        if mask:
            args += (random_mask(draw, *mask),)
        names = ("query", "key", "value", "mask")
        return Case(name, args, inputs=names, init=init, **more)

    return [
        case("no mask, other keys than queries"),
        case("as many keys as queries, float32", keys=5, dtype=torch.float32),
        case("a padding mask (batch, 1, 1, key)", mask=(2, 1, 1, 7)),
        case("the same, as many keys as queries", keys=5, mask=(2, 1, 1, 5)),
        case("a mask (query, key)", mask=(5, 7)),
        case("a mask per head", mask=(2, 3, 5, 7)),
        case("five heads of two", init=(10, 5)),
        case("one head", init=(6, 1), mask=(2, 1, 5, 7)),
        case("the gradient", mask=(2, 1, 1, 7), gradient=True),
        Case("the layers as they are made", init=(12, 3), look=_biases),
        Case("a width of 10 for 3 heads", init=(12, 3), look=_refused),
    ]


def _refused(module: nn.Module) -> Look:
    """What the class says to a width that its heads can't share."""
    try:
        type(module)(10, 3)
    except Exception as error:
        return Look({"the error": type(error).__name__})
    return Look({"the error": "none"})


def _biases(module: nn.Module) -> Look:
    """Which projections of a fresh module have a bias: `module`'s may be lent."""
    fresh = type(module)(12, 3)
    with_bias = [
        part
        for part in PARTS
        if getattr(getattr(fresh, part, None), "bias", None) is not None
    ]
    return Look({"with a bias": ", ".join(with_bias) or "none of them"})


def _rows(case: Case, outputs: Mapping[str, Any]) -> str | None:
    return ROWS.broken(case, outputs) if "weights" in outputs else None


ROWS_IF_ANY = Property(ROWS.name, _rows)  # some cases look at the layers alone


def _blocked(case: Case, outputs: Mapping[str, Any]) -> str | None:
    if len(case.args) < 4:
        return None
    weights = outputs["weights"]
    blocked = weights[~case.args[3].expand(weights.shape)]
    largest = blocked.abs().max().item()
    return f"one of them has {largest:.4f}" if largest > 1e-6 else None


def _with(**steps: Callable) -> type:
    """The course's answer with some steps exchanged."""
    return type("_Wrong", (MultiHeadAttention,), steps)


def _projecting(query: str, key: str, value: str, take: str = "qkv") -> type:
    """Which layer projects the query, the key, the value, and what it projects."""

    def project(self: nn.Module, *inputs: Tensor) -> tuple:
        layers = (getattr(self, f"W_{name}") for name in (query, key, value))
        taken = (inputs["qkv".index(name)] for name in take)
        return tuple(layer(x) for layer, x in zip(layers, taken, strict=True))

    return _with(project=project)


def _memory_order_split(self: MultiHeadAttention, x: Tensor) -> Tensor:
    return x.reshape(len(x), self.num_heads, x.shape[1], -1)


def _memory_order_merge(self: MultiHeadAttention, x: Tensor) -> Tensor:
    return x.reshape(len(x), x.shape[2], -1)


def _wide_layers(self: MultiHeadAttention, d_model: int) -> None:
    inner = d_model * self.num_heads
    for part in PARTS[:3]:
        setattr(self, part, nn.Linear(d_model, inner))
    self.W_o = nn.Linear(inner, d_model)


def _narrow_output(self: MultiHeadAttention, d_model: int) -> None:
    MultiHeadAttention.layers(self, d_model)
    self.W_o = nn.Linear(d_model // self.num_heads, d_model)


def _without_bias(self: MultiHeadAttention, d_model: int) -> None:
    for part in PARTS:
        setattr(self, part, nn.Linear(d_model, d_model, bias=False))


def _one_axis_more(self: MultiHeadAttention, scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask[:, None], float("-inf"))


def _merge_as_asked(x: Tensor) -> Tensor:
    batch, num_heads, length, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, length, num_heads * d_head)


def _calling(call: Callable, merge: Callable = merge_heads) -> type:
    """The class with another call of `attention`."""

    class Wrong(MultiHeadAttention):
        def forward(
            self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
        ) -> Any:
            projected = map(self.split, self.project(query, key, value))
            found, weights = call(*projected, mask)
            return self.W_o(merge(found)), weights

    return Wrong


def _zeroed(self: MultiHeadAttention, scores: Tensor, mask: Tensor) -> Tensor:
    self.kept = mask
    return scores


def _normalise_then_zero(self: MultiHeadAttention, scores: Tensor) -> Tensor:
    weights, kept = scores.softmax(-1), getattr(self, "kept", None)
    return weights if kept is None else weights.masked_fill(~kept, 0.0)


MISTAKES = (
    mistake(
        "view without transpose",
        "The heads were cut in memory order, so one head holds pieces of several "
        "tokens' features.",
        "Compare your split with 3.1: cut the last axis only, then move an axis.",
        _with(split=_memory_order_split),
        _with(split=_memory_order_split, merge=_memory_order_merge),
    ),
    mistake(
        "merged without transposing back",
        "The heads' results were read off one head after the other, so tokens are "
        "mixed up.",
        "Compare your merge with 3.1: which axis must move before the last two join?",
        _with(merge=_memory_order_merge),
    ),
    mistake(
        "heads averaged",
        "The heads' results were averaged; they should lie side by side.",
        "How wide is the concatenation of all heads, and what does W_o expect?",
        _with(merge=lambda self, x: x.mean(1)),
        _with(merge=lambda self, x: x.mean(1), layers=_narrow_output),
    ),
    mistake(
        "one map for all heads",
        "The weights were averaged over the heads before they mixed the values.",
        "Each head mixes its values by its own weights: where do the maps get mixed?",
        _with(mix=lambda self, weights, value: weights.mean(1, keepdim=True) @ value),
    ),
    mistake(
        "weights averaged over the heads",
        "The output is right, but the weights came back averaged over the heads.",
        "You will want to look at each head. Which axis did you average away?",
        _with(finish=lambda self, merged, weights: (self.W_o(merged), weights.mean(1))),
    ),
    mistake(
        "scaled by d_model",
        "The scores were divided by the root of d_model; a head's dot product sums "
        "over d_head numbers.",
        "How long are the two vectors whose dot product is a score?",
        _with(scale=lambda self, query: self.W_q.out_features**-0.5),
    ),
    mistake(
        "no scaling",
        "The scores went into the softmax without being divided.",
        "Compare with the function that you wrote in 2.2.",
        _with(scale=lambda self, query: 1.0),
    ),
    mistake(
        "no output projection",
        "The heads lie side by side, but W_o was never applied.",
        "What is left of the formula after Concat?",
        _with(finish=lambda self, merged, weights: (merged, weights)),
    ),
    mistake(
        "one projection for all three",
        "Query, key and value all go through the same layer.",
        "How many matrices stand in the formula, and where is each used?",
        *tuple(_projecting(name, name, name) for name in "qkv"),
    ),
    mistake(
        "query and key layers exchanged",
        "The query goes through W_k and the key through W_q.",
        "Check the name on each side of the first two projections.",
        _projecting("k", "q", "v"),
    ),
    mistake(
        "key used as value layer",
        "The value goes through W_k.",
        "Check which layer makes the value.",
        _projecting("q", "k", "k"),
    ),
    mistake(
        "keys computed from value",
        "W_k was applied to the value, not to the key.",
        "Check what stands in the brackets of W_k.",
        _projecting("q", "k", "v", take="qvv"),
    ),
    mistake(
        "values computed from key",
        "W_v was applied to the key, not to the value.",
        "Check what stands in the brackets of W_v.",
        _projecting("q", "k", "v", take="qkk"),
    ),
    mistake(
        "query used for all three",
        "Key and value were computed from the query, so it only ever looks at itself.",
        "Which of the three arguments does your code never read?",
        _projecting("q", "k", "v", take="qqq"),
    ),
    mistake(
        "key and value swapped",
        "Attention got the projected values as keys and the keys as values.",
        "Check the order in which the three are handed on.",
        _calling(
            lambda query, key, value, mask: attention(
                query, value, key, mask, need_weights=True
            )
        ),
    ),
    weights_not_asked_for(_calling(attention), _calling(attention, _merge_as_asked)),
    mask_asked_for_its_truth(
        _calling(
            lambda query, key, value, mask: attention(
                query, key, value, mask if mask else None, need_weights=True
            )
        )
    ),
    mistake(
        "value not projected",
        "The weights mix the values as they came in, without W_v.",
        "Which of the three layers does your code never call?",
        _with(
            project=lambda self, query, key, value: (
                self.W_q(query),
                self.W_k(key),
                value,
            )
        ),
    ),
    mistake(
        "projection over the token axis",
        "The layers were applied to turned inputs: they mix tokens, not features.",
        "A linear layer works on the last axis: which is that after your transpose?",
        _with(
            project=lambda self, query, key, value: (
                self.W_q(query.mT).mT,
                self.W_k(key.mT).mT,
                self.W_v(value.mT).mT,
            )
        ),
    ),
    mistake(
        "each head as wide as d_model",
        "Every head got the full width, so the projections are num_heads times too "
        "large.",
        "All heads together are d_model wide. How wide is one?",
        _with(layers=_wide_layers),
    ),
    mistake(
        "projections without a bias",
        "The results are right for these layers, but they were made without a bias.",
        "The docstring asks for nn.Linear as it comes: BERT's biases need a place.",
        _with(layers=_without_bias),
    ),
    mistake(
        "bad width accepted",
        "The results are right, but a width of 10 for 3 heads was accepted, and the "
        "stub promises a ValueError.",
        "Compare the first lines of your `__init__` with the stub's.",
        _with(refuse=lambda self, d_model, num_heads: None),
    ),
    mistake(
        "mask ignored",
        "The mask changed nothing: blocked keys get weight.",
        "Does `forward` ever use `mask`?",
        _with(block=lambda self, scores, mask: scores),
    ),
    mistake(
        "mask inverted",
        "What may be attended to was blocked, and the rest left open.",
        "True means may attend. Which entries must be filled?",
        _with(block=lambda self, scores, mask: scores.masked_fill(mask, float("-inf"))),
        _with(block=lambda self, scores, mask: scores.masked_fill(mask, -1e9)),
    ),
    mistake(
        "mask laid on the queries",
        "The mask was turned: it blocks queries and leaves every key open to the rest.",
        "In (B, H, T, S) keys are the last axis. Where did the mask's last axis go?",
        _with(block=lambda self, scores, mask: scores.masked_fill(~mask.mT, -1e9)),
        _with(
            block=lambda self, scores, mask: scores.masked_fill(~mask.mT, float("-inf"))
        ),
    ),
    mistake(
        "an axis added to the mask",
        "The mask got one more axis, though it broadcasts to (B, H, T, S) as it comes.",
        "Read what the docstring says about the mask: does it need any work?",
        _with(block=_one_axis_more),
        _with(block=_one_axis_more, merge=lambda self, x: _merge_as_asked(x)),
    ),
    mistake(
        "mask after the softmax",
        "The weights were set to 0 after the softmax and not shared out again.",
        "Block before the softmax, then the softmax itself shares out what is left.",
        _with(block=_zeroed, normalise=_normalise_then_zero),
    ),
    mistake(
        "softmax over the heads",
        "The softmax ran over axis 1: a key's weights sum to 1 over the heads.",
        "Who shares out 1: one query of one head, or all heads together?",
        _with(normalise=lambda self, scores: scores.softmax(1)),
    ),
    mistake(
        "softmax over the queries",
        "The softmax ran down the columns: each key shares out 1 among the queries.",
        "Which axis of (B, H, T, S) are the keys?",
        _with(normalise=lambda self, scores: scores.softmax(-2)),
    ),
    mistake(
        "tuple order",
        "The weights came first and the output second.",
        "Read the docstring's last line again.",
        _with(finish=lambda self, merged, weights: (weights, self.W_o(merged))),
    ),
    mistake(
        "only the output returned",
        "The weights are missing: only one tensor came back.",
        "Read the docstring's last line again: what comes back beside the output?",
        _with(finish=lambda self, merged, weights: self.W_o(merged)),
    ),
)


EXERCISES = (
    Exercise(
        "3.2",
        "Multi-head attention",
        "class",
        difficulty=3,
        minutes=25,
        points=5,
        core=True,
        answers=(
            Answer("MultiHeadAttention", MultiHeadAttention, RETURNS, parts=PARTS),
        ),
        cases=_cases,
        proves="four projections, heads, scale, masks of four shapes, gradients",
        properties=(
            ROWS_IF_ANY,
            Property("Do blocked keys get no weight", _blocked),
        ),
        misconceptions=MISTAKES,
    ),
)
