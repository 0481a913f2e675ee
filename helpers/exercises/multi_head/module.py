"""3.C: multi-head attention as a module."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    Misconception,
    mistake,
)
from helpers.exercises.attention.shared import (
    BLOCKED,
    ROWS,
    if_mask,
    random_mask,
    under_every_fill,
)
from helpers.exercises.kit import exchanging, normal
from helpers.models.attention import attention
from helpers.models.multi_head import MultiHeadAttention as Layer
from helpers.models.multi_head import merge_heads, split_heads

PARTS = ("W_q", "W_k", "W_v", "W_o")
RETURNS = {
    "output": "batch, query, d_model",
    "weights": "batch, heads, query, key",
}


class MultiHeadAttention(nn.Module):
    """The course's own answer to 3.C, in steps that a mistake can exchange."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        """Create the four projections."""
        super().__init__()
        self.refuse(d_model, num_heads)
        self.num_heads = num_heads
        self.layers(d_model)

    def refuse(self, d_model: int, num_heads: int) -> None:
        """Refuse a width that the heads can't divide among themselves."""
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

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Everything between the split and the merge."""
        scores = query @ key.mT * self.scale(query)
        if mask is not None:
            scores = self.block(scores, mask)
        weights = self.normalise(scores)
        return self.mix(weights, value), weights

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
        found, weights = self.attend(query, key, value, mask)
        return self.finish(self.merge(found), weights)


def as_layer(own: Callable) -> type:
    """A student's 3.C in the form of the course's layer, for the layers of lesson 04.

    Args:
        own: the class; its instances return (output, weights)

    Returns:
        A class whose instances return the output alone, and take BERT's four layers.
    """

    class Attention(nn.Module):
        """A student's attention inside a layer; weights come on request."""

        def __init__(self, d_model: int, num_heads: int) -> None:
            super().__init__()
            self.own = own(d_model, num_heads)

        def forward(
            self,
            query: Tensor,
            key: Tensor,
            value: Tensor,
            mask: Tensor | None = None,
            *,
            need_weights: bool = False,
        ) -> Any:
            """(B, T, D), (B, S, D) twice -> (B, T, D), on request also the weights."""
            output, weights = self.own(query, key, value, mask)
            return (output, weights) if need_weights else output

        def copy_layers(self, *layers: nn.Linear) -> "Attention":
            """Copy the weights of W_q, W_k, W_v and W_o; returns itself."""
            for name, layer in zip(PARTS, layers, strict=True):
                getattr(self.own, name).load_state_dict(layer.state_dict())
            return self

    return Attention


swap = exchanging(MultiHeadAttention)


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
    """What the class says to a width that its heads can't divide among themselves."""
    try:
        type(module)(10, 3)
    except Exception as error:
        return Look({"the error": type(error).__name__})
    return Look({"the error": "none"})


def _biases(module: nn.Module) -> Look:
    """Which projections have a bias, in a fresh module: `module`'s may be borrowed."""
    fresh = type(module)(12, 3)
    with_bias = [
        part
        for part in PARTS
        if getattr(getattr(fresh, part, None), "bias", None) is not None
    ]
    return Look({"with a bias": ", ".join(with_bias) or "none of them"})


def three_axes(*spellings: Any) -> Misconception:
    """No split, a second merge, no weights asked for: Python says the same of all."""
    return mistake(
        "three axes where four should be merged",
        "What was merged has three axes, but (batch, heads, length, d_head) are four.",
        "Print its shape before you merge. Was it never cut, or merged before? Or is "
        "it half of a batch, unpacked because the weights were not asked for?",
        *spellings,
    )


def _projecting(query: str, key: str, value: str, take: str = "qkv") -> type:
    """Which layer projects the query, the key, the value, and what it projects."""

    def project(self: nn.Module, *inputs: Tensor) -> tuple:
        layers = (getattr(self, f"W_{name}") for name in (query, key, value))
        taken = (inputs["qkv".index(name)] for name in take)
        return tuple(layer(x) for layer, x in zip(layers, taken, strict=True))

    return swap(project=project)


# One wrong, or two that changed places, where there is no sentence of its own:
LAYERS = ("kkv", "vkv", "qqv", "qvv", "qkq", "qvk", "vkq")
TAKEN = ("kkv", "vkv", "qqv", "qkq", "kqv", "qvk", "vkq", "kkk", "vvv")


def _leaving_out(left: str) -> type:
    """Some of query, key and value go into the heads as they came."""

    def project(self: nn.Module, *inputs: Tensor) -> tuple:
        return tuple(
            x if name in left else getattr(self, f"W_{name}")(x)
            for name, x in zip("qkv", inputs, strict=True)
        )

    return swap(project=project)


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


def _narrow_layers(self: MultiHeadAttention, d_model: int) -> None:
    self.d_head = d_model // self.num_heads
    for part in PARTS[:3]:
        setattr(self, part, nn.Linear(d_model, self.d_head))
    self.W_o = nn.Linear(d_model, d_model)


def _cut_to_d_head(self: MultiHeadAttention, x: Tensor) -> Tensor:
    size = (*x.shape[:2], self.num_heads, self.d_head)
    return x.reshape(size).transpose(1, 2)


def _cut_as_asked(self: MultiHeadAttention, x: Tensor) -> Tensor:
    size = (*x.shape[:2], self.num_heads, x.shape[2] // self.num_heads)
    return x.reshape(size).transpose(1, 2)


def _without_bias(parts: tuple[str, ...]) -> Callable:
    def layers(self: MultiHeadAttention, d_model: int) -> None:
        for part in PARTS:
            setattr(self, part, nn.Linear(d_model, d_model, bias=part not in parts))

    return layers


def _projected_again(self: MultiHeadAttention, query: Tensor, *_: Tensor) -> tuple:
    query = self.W_q(query)
    return query, self.W_k(query), self.W_v(query)


class _OneLength(MultiHeadAttention):
    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Any:
        self.size = (*query.shape[:2], self.num_heads, query.shape[2] // self.num_heads)
        return super().forward(query, key, value, mask)

    def split(self, x: Tensor) -> Tensor:
        return x.reshape(self.size).transpose(1, 2)


class _CutBeforeProjected(MultiHeadAttention):
    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Any:
        heads = map(self.split, (query, key, value))
        found, weights = self.attend(*self.project(*heads), mask)
        return self.finish(self.merge(found), weights)


# What heads of (B, H, T, K) become if they are not placed side by side.
ONE_HEAD_WIDE = (
    lambda x: x.mean(1),
    lambda x: x.sum(1),
    lambda x: x[:, 0],
    lambda x: x[:, -1],
)


def _one_axis_more(self: MultiHeadAttention, scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask[:, None], float("-inf"))


def _two_axes_more(self: MultiHeadAttention, scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask[:, None, None], float("-inf"))


def _output_alone(self: MultiHeadAttention, *inputs: Tensor | None) -> Tensor:
    return attention(*inputs)


def _merge_as_asked(self: MultiHeadAttention, x: Tensor) -> Tensor:
    batch, num_heads, length, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, length, num_heads * d_head)


def _merged_by_view(self: MultiHeadAttention, x: Tensor) -> Tensor:
    batch, num_heads, length, d_head = x.shape
    return x.transpose(1, 2).view(batch, length, num_heads * d_head)


def _merged_twice(self: MultiHeadAttention, x: Tensor) -> Tensor:
    return _merge_as_asked(self, _merge_as_asked(self, x))


def _zeroed(self: MultiHeadAttention, scores: Tensor, mask: Tensor) -> Tensor:
    self.kept = mask
    return scores


def _normalise_then_zero(self: MultiHeadAttention, scores: Tensor) -> Tensor:
    weights, kept = scores.softmax(-1), getattr(self, "kept", None)
    return weights if kept is None else weights.masked_fill(~kept, 0.0)


MISTAKES = (
    mistake(
        "view without transpose",
        "The heads were cut in memory order, so each head holds pieces of several "
        "tokens' features.",
        "Compare your split with 3.A: cut only the last axis, then move an axis.",
        swap(split=_memory_order_split),
        swap(split=_memory_order_split, merge=_memory_order_merge),
    ),
    mistake(
        "merged without transposing back",
        "The heads' results were read one head after the other, so the tokens are "
        "mixed up.",
        "Compare your merge with 3.A: which axis must move before the last two join?",
        swap(merge=_memory_order_merge),
    ),
    mistake(
        "heads not side by side",
        "What went into W_o is as wide as one head: the heads' results were not placed "
        "side by side.",
        "How wide is the concatenation of all heads, and what does W_o expect?",
        *(swap(merge=staticmethod(one)) for one in ONE_HEAD_WIDE),
        *(
            swap(merge=staticmethod(one), layers=_narrow_output)
            for one in ONE_HEAD_WIDE
        ),
    ),
    mistake(
        "W_o for a single head",
        "W_o takes d_head features, but it gets those of all heads.",
        "How wide is the concatenation of all heads?",
        swap(layers=_narrow_output),
    ),
    mistake(
        "d_head and num_heads swapped",
        "There are d_head heads of num_heads features each: it should be the other way "
        "round.",
        "How many heads were asked for, and how wide is one?",
        swap(split=lambda self, x: split_heads(x, x.shape[-1] // self.num_heads)),
    ),
    mistake(
        "the query's length for the keys",
        "The length of the query was used for key and value as well, which may have "
        "another.",
        "Where do your lines take the length from when they cut key and value?",
        _OneLength,
    ),
    mistake(
        "view after a transpose",
        "`view` needs the numbers to lie in memory in the order of the axes, and after "
        "a transpose they don't.",
        "Which relative of `view` copies the numbers when it has to?",
        swap(merge=_merged_by_view),
    ),
    mistake(
        "never cut into heads",
        "The width was never cut into heads: there is a single map, over all features.",
        "Which step turns (batch, length, d_model) into four axes?",
        swap(split=lambda self, x: x, merge=lambda self, x: x),
    ),
    mistake(
        "a layer for the whole width on the heads",
        "A layer that takes d_model features was given the d_head features of a head.",
        "Write down the order of projection, split, merge and W_o, and compare.",
        _CutBeforeProjected,
        swap(merge=lambda self, x: x),
    ),
    mistake(
        "layers as wide as one head",
        "W_q, W_k and W_v put out d_head features, but each of them serves all heads.",
        "How wide must a result be that is cut into num_heads heads of d_head each?",
        swap(layers=_narrow_layers),
        swap(layers=_narrow_layers, split=_cut_as_asked),
        swap(layers=_narrow_layers, split=_cut_to_d_head),
    ),
    mistake(
        "one map for all heads",
        "The weights were averaged over the heads before they mixed the values.",
        "Each head mixes its values with its own weights: where do you lose them?",
        swap(mix=lambda self, weights, value: weights.mean(1, keepdim=True) @ value),
    ),
    mistake(
        "weights of all heads in one map",
        "The output is right, but the weights came back as the mean or the sum of the "
        "heads.",
        "You will want to look at each head. Which axis is gone?",
        swap(finish=lambda self, merged, weights: (self.W_o(merged), weights.mean(1))),
        swap(finish=lambda self, merged, weights: (self.W_o(merged), weights.sum(1))),
    ),
    mistake(
        "scaled by d_model",
        "The scores were divided by the root of d_model, but a head's dot product "
        "sums over d_head numbers.",
        "How long are the two vectors whose dot product is a score?",
        swap(scale=lambda self, query: self.W_q.out_features**-0.5),
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
        "no output projection",
        "The heads are side by side, but W_o was never applied.",
        "What is left of the formula after Concat?",
        swap(finish=lambda self, merged, weights: (merged, weights)),
    ),
    mistake(
        "one projection for all three",
        "Query, key and value all went through the same layer.",
        "How many matrices are there in the formula, and where is each used?",
        *tuple(_projecting(name, name, name) for name in "qkv"),
    ),
    mistake(
        "query and key layers swapped",
        "The query went through W_k and the key through W_q.",
        "Check the name on each side of the first two projections.",
        _projecting("k", "q", "v"),
    ),
    mistake(
        "key used as value layer",
        "The value went through W_k.",
        "Check which layer makes the value.",
        _projecting("q", "k", "k"),
    ),
    mistake(
        "keys computed from value",
        "W_k was applied to the value, not to the key.",
        "Check what you call W_k on.",
        _projecting("q", "k", "v", take="qvv"),
    ),
    mistake(
        "values computed from key",
        "W_v was applied to the key, not to the value.",
        "Check what you call W_v on.",
        _projecting("q", "k", "v", take="qkk"),
    ),
    mistake(
        "query used for all three",
        "Key and value were computed from the query, so it can only look at itself.",
        "Which of the three arguments does your code never read?",
        _projecting("q", "k", "v", take="qqq"),
    ),
    mistake(
        "projected query projected again",
        "Key and value were computed from the query that had been through W_q.",
        "Which value does the name `query` have when W_k and W_v are called?",
        swap(project=_projected_again),
    ),
    mistake(
        "layers or inputs confused",
        "Query, key and value did not each go through the layer of their own name.",
        "Follow each of the three from the signature through its layer to the scores.",
        *(_projecting(*layers) for layers in LAYERS),
        *(_projecting("q", "k", "v", take=taken) for taken in TAKEN),
    ),
    mistake(
        "key and value swapped",
        "The projected values were used as keys, and the projected keys as values.",
        "Check the order in which you pass the three on.",
        swap(
            attend=lambda self, query, key, value, mask: attention(
                query, value, key, mask, need_weights=True
            )
        ),
    ),
    three_axes(
        swap(attend=_output_alone),
        swap(attend=_output_alone, merge=_merge_as_asked),
        swap(merge=_merged_twice),
        swap(split=lambda self, x: x, merge=_merge_as_asked),
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
        "a projection left out",
        "Not all of query, key and value were projected before they were cut.",
        "Which of the layers W_q, W_k and W_v does your code never call?",
        *(_leaving_out(some) for some in ("q", "k", "v", "qkv")),
    ),
    mistake(
        "a layer over the token axis",
        "A layer was applied where the tokens are the last axis, not the features.",
        "A linear layer works on the last axis: which is that after each transpose and "
        "each merge of yours?",
        swap(merge=lambda self, x: merge_heads(merge_heads(x))),
        swap(
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
        swap(layers=_wide_layers),
    ),
    mistake(
        "projections without a bias",
        "The results are right for these layers, but not all of them have a bias.",
        "The exercise asks for nn.Linear as it comes: BERT's biases need a place.",
        swap(layers=_without_bias(PARTS)),
        swap(layers=_without_bias(PARTS[:3])),
        swap(layers=_without_bias(PARTS[3:])),
    ),
    mistake(
        "bad width accepted",
        "The results are right, but a width of 10 for 3 heads was accepted, where the "
        "stub promises a ValueError.",
        "Compare the first lines of your `__init__` with the stub's.",
        swap(refuse=lambda self, d_model, num_heads: None),
    ),
    mistake(
        "mask ignored",
        "The mask changed nothing: blocked keys still get weight.",
        "Follow `mask` through `forward`: does it reach the softmax?",
        swap(block=lambda self, scores, mask: scores),
    ),
    mistake(
        "mask inverted",
        "The keys that may be attended to were blocked, and the others left open.",
        "True means may attend. Which entries must be filled?",
        swap(block=lambda self, scores, mask: scores.masked_fill(mask, float("-inf"))),
    ),
    mistake(
        "mask applied to the queries",
        "The mask was transposed: it blocks queries, and leaves every key open to the "
        "others.",
        "In (B, H, T, S) keys are the last axis. Where did the mask's last axis go?",
        *under_every_fill(swap, see=lambda mask: mask.mT),
        swap(
            attend=lambda self, query, key, value, mask: attention(
                query, key, value, None if mask is None else mask.mT, need_weights=True
            )
        ),
    ),
    mistake(
        "an axis added to the mask",
        "The mask got more axes, though it broadcasts to (B, H, T, S) as it is.",
        "Read what the docstring says about the mask: does it need any work?",
        swap(block=_one_axis_more),
        swap(block=_one_axis_more, merge=_merge_as_asked),
        swap(block=_two_axes_more),
        swap(block=_two_axes_more, merge=_merge_as_asked),
    ),
    mistake(
        "mask after the softmax",
        "The weights of blocked keys were set to 0 after the softmax, so what is left "
        "of a row no longer sums to 1.",
        "Which step makes a row sum to 1, and does your mask come before it?",
        swap(block=_zeroed, normalise=_normalise_then_zero),
    ),
    mistake(
        "softmax over the heads",
        "The softmax ran over axis 1: a key's weights sum to 1 over the heads.",
        "Which weights should sum to 1: those of one head, or those of all heads?",
        *under_every_fill(swap, normalise=lambda self, scores: scores.softmax(1)),
    ),
    mistake(
        "softmax over the queries",
        "The softmax ran over the queries: the columns sum to 1, the rows do not.",
        "Which axis of (B, H, T, S) are the keys?",
        *under_every_fill(swap, normalise=lambda self, scores: scores.softmax(-2)),
    ),
    mistake(
        "tuple order",
        "The weights came first and the output second.",
        "Read the docstring's last line again.",
        swap(finish=lambda self, merged, weights: (weights, self.W_o(merged))),
    ),
    mistake(
        "only the output returned",
        "The weights are missing: only one tensor came back.",
        "Read the docstring's last line again: what comes back besides the output?",
        swap(finish=lambda self, merged, weights: self.W_o(merged)),
    ),
)


EXERCISES = (
    Exercise(
        "3.C",
        "Multi-head attention",
        "class",
        difficulty=3,
        points=5,
        core=True,
        answers=(
            Answer(
                "MultiHeadAttention",
                MultiHeadAttention,
                RETURNS,
                parts=PARTS,
                stand_in=Layer,
                fit=as_layer,
            ),
        ),
        cases=_cases,
        proves="four projections, heads, scale, masks of four shapes, gradients",
        properties=(ROWS, BLOCKED),
        misconceptions=MISTAKES,
    ),
)
