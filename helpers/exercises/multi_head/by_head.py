"""3.6: heads with a width of their own, and layers of their own."""

from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.attention.shared import ROWS
from helpers.exercises.kit import exchanging, normal
from helpers.exercises.multi_head.module import PARTS, RETURNS
from helpers.models.attention import attention
from helpers.models.multi_head import merge_heads, split_heads


class HeadByHead(nn.Module):
    """The course's own answer to 3.6, in steps that a mistake can exchange."""

    def __init__(self, d_model: int, num_heads: int, d_head: int) -> None:
        """Create three layers for each head, and one for all."""
        super().__init__()
        self.layers(d_model, num_heads, d_head)

    def layers(self, d_model: int, num_heads: int, d_head: int) -> None:
        """The layers."""
        for part in PARTS[:3]:
            heads = [nn.Linear(d_model, d_head) for _ in range(num_heads)]
            setattr(self, part, nn.ModuleList(heads))
        self.W_o = nn.Linear(num_heads * d_head, d_model)

    def layer(self, part: str, head: int) -> nn.Module:
        """The layer of one head."""
        return getattr(self, part)[head]

    def scale(self, query: Tensor, x: Tensor) -> Tensor:
        """The query, still to be divided by the root of its width."""
        return query

    def join(self, found: list[Tensor]) -> Tensor:
        """What the heads found, side by side."""
        return torch.cat(found, -1)

    def finish(self, joined: Tensor) -> Tensor:
        """The last step."""
        return self.W_o(joined)

    def gather(self, maps: list[Tensor]) -> Tensor:
        """The heads' weights, (B, H, T, T)."""
        return torch.stack(maps, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T, D) -> output (B, T, D), weights (B, H, T, T)."""
        found, maps = [], []
        for head in range(len(self.W_q)):
            query, key, value = (self.layer(part, head)(x) for part in PARTS[:3])
            query = self.scale(query, x)
            output, weights = attention(query, key, value, need_weights=True)
            found.append(output)
            maps.append(weights)
        return self.finish(self.join(found)), self.gather(maps)


swap = exchanging(HeadByHead)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        init: tuple[int, int, int],
        length: int = 5,
        dtype: Any = torch.float64,
        **more: Any,
    ) -> Case:
        args = (normal(draw, 2, length, init[0], dtype=dtype),)
        return Case(name, args, inputs=("x",), init=init, **more)

    return [
        case("three heads of four in a width of ten", (10, 3, 4)),
        case("heads that fill the width, float32", (12, 3, 4), dtype=torch.float32),
        case("two heads wider than the model", (6, 2, 7), length=3),
        case("one head", (6, 1, 4)),
        case("the gradient", (10, 3, 4), gradient=True),
        Case("the layers as they are made", init=(10, 3, 4), look=_biases),
    ]


def _biases(module: nn.Module) -> Look:
    """Which lists have only biased layers when fresh: `module`'s may be borrowed."""
    fresh = type(module)(10, 3, 4)
    with_bias = []
    for part in PARTS[:3]:
        child = getattr(fresh, part, None)
        layers = child if isinstance(child, nn.ModuleList | list | tuple) else [child]
        if all(getattr(layer, "bias", None) is not None for layer in layers):
            with_bias.append(part)
    return Look({"with a bias": ", ".join(with_bias) or "none of them"})


def _square_output(self: HeadByHead, *sizes: int) -> None:
    HeadByHead.layers(self, *sizes)
    inner = sizes[1] * sizes[2]
    self.W_o = nn.Linear(inner, inner)


class _LargeLayers(HeadByHead):
    """One layer for all heads, cut as in 3.2."""

    def layers(self, d_model: int, num_heads: int, d_head: int) -> None:
        self.num_heads = num_heads
        for part in PARTS[:3]:
            setattr(self, part, nn.Linear(d_model, num_heads * d_head))
        self.W_o = nn.Linear(num_heads * d_head, d_model)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        large = (self.W_q, self.W_k, self.W_v)
        parts = (split_heads(layer(x), self.num_heads) for layer in large)
        output, weights = attention(*parts, need_weights=True)
        return self.W_o(merge_heads(output)), weights


def _plain_list(self: HeadByHead, d_model: int, num_heads: int, d_head: int) -> None:
    for part in PARTS[:3]:
        setattr(self, part, [nn.Linear(d_model, d_head) for _ in range(num_heads)])
    self.W_o = nn.Linear(num_heads * d_head, d_model)


def _output_per_head(self: HeadByHead, *sizes: int) -> None:
    HeadByHead.layers(self, *sizes)
    self.W_o = nn.Linear(sizes[2], sizes[0])


def _one_layer(self: HeadByHead, d_model: int, num_heads: int, d_head: int) -> None:
    for part in PARTS[:3]:
        one = nn.Linear(d_model, d_head)
        setattr(self, part, nn.ModuleList([one] * num_heads))
    self.W_o = nn.Linear(num_heads * d_head, d_model)


def _without_bias(self: HeadByHead, d_model: int, num_heads: int, d_head: int) -> None:
    HeadByHead.layers(self, d_model, num_heads, d_head)
    for part in PARTS[:3]:
        heads = [nn.Linear(d_model, d_head, bias=False) for _ in range(num_heads)]
        setattr(self, part, nn.ModuleList(heads))


def _no_bias_at_all(self: HeadByHead, *sizes: int) -> None:
    _without_bias(self, *sizes)
    self.W_o = nn.Linear(sizes[1] * sizes[2], sizes[0], bias=False)


MISTAKES = (
    mistake(
        "projections without a bias",
        "The results are right for these layers, but they were made without a bias.",
        "The exercise asks for a plain nn.Linear(d_model, d_head).",
        swap(layers=_without_bias),
        swap(layers=_no_bias_at_all),
    ),
    mistake(
        "output projection that keeps the width",
        "W_o keeps the width of heads x d_head, but the output should be d_model wide.",
        "What is the result added to in the next lesson, and how wide is that?",
        swap(layers=_square_output),
    ),
    mistake(
        "layers in a plain list",
        "A Python list hides its layers from torch: neither an optimizer nor "
        "`.double()` would reach them.",
        "Which kind of list does torch.nn offer for modules?",
        swap(layers=_plain_list),
    ),
    mistake(
        "one large layer for all heads",
        "The results are right, but one large layer was cut into heads, as in 3.2: no "
        "head has a layer of its own.",
        "Which kind of list does the exercise ask for, and how long is it?",
        _LargeLayers,
    ),
    mistake(
        "first head only",
        "All heads use the layers of head 0.",
        "Inside your loop, with which index do you pick the layers?",
        swap(layer=lambda self, part, head: getattr(self, part)[0]),
    ),
    mistake(
        "one layer, listed many times",
        "The list holds the same layer num_heads times, so the heads can't differ.",
        "What does `[layer] * 3` copy: layers or references to one layer?",
        swap(layers=_one_layer),
    ),
    mistake(
        "scaled by d_model",
        "The scores were divided by the root of d_model, but a head's dot product "
        "sums over d_head numbers.",
        "How long are the two vectors whose dot product is a score?",
        swap(
            scale=lambda self, query, x: query * (query.shape[-1] / x.shape[-1]) ** 0.5
        ),
    ),
    mistake(
        "heads averaged",
        "The heads' results were averaged, but they should be placed side by side.",
        "How wide is the concatenation of all heads, and what does W_o expect?",
        swap(join=lambda self, found: sum(found) / len(found)),
        swap(
            join=lambda self, found: sum(found) / len(found),
            layers=_output_per_head,
        ),
        swap(join=lambda self, found: torch.stack(found, 0).mean(0)),
    ),
    mistake(
        "no output projection",
        "The heads are side by side, but W_o was never applied.",
        "What is left of the formula after Concat?",
        swap(finish=lambda self, joined: joined),
    ),
    mistake(
        "weights of one head returned",
        "Only the last head's weights came back.",
        "The weights are promised as (B, H, T, T). Which axis is missing?",
        swap(gather=lambda self, maps: maps[-1]),
    ),
)


EXERCISES = (
    Exercise(
        "3.6",
        "Heads with a width of their own",
        "class",
        difficulty=3,
        minutes=12,
        points=3,
        answers=(Answer("HeadByHead", HeadByHead, RETURNS, parts=PARTS),),
        cases=_cases,
        proves="heads narrower and wider than their share, output width, gradients",
        properties=(ROWS,),
        misconceptions=MISTAKES,
    ),
)
