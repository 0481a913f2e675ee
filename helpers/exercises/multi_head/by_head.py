"""3.K: heads with a width of their own, and layers of their own."""

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
    """The course's own answer to 3.K, in steps that a mistake can exchange."""

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


# What the heads' results become if they are not placed side by side. The same error
# comes from a `return` at the end of the loop's body: then W_o sees the first head.
ONE_HEAD_WIDE = (
    lambda found: sum(found) / len(found),
    lambda found: sum(found),
    lambda found: found[0],
    lambda found: found[-1],
)


def _square_output(self: HeadByHead, *sizes: int) -> None:
    HeadByHead.layers(self, *sizes)
    inner = sizes[1] * sizes[2]
    self.W_o = nn.Linear(inner, inner)


class _LargeLayers(HeadByHead):
    """One layer for all heads, cut as in 3.C."""

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


def _early(self: HeadByHead, x: Tensor) -> Any:
    """A `return` inside the loop."""
    query, key, value = (self.layer(part, 0)(x) for part in PARTS[:3])
    output, weights = attention(query, key, value, need_weights=True)
    return self.finish(self.join([output])), self.gather([weights])


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
        "Some layers stayed float32 when the module was made float64: torch does not "
        "know them, so an optimizer would not reach them either.",
        "Are they in a plain Python list, or made inside `forward`? Which kind of list "
        "does torch.nn offer for modules?",
        swap(layers=_plain_list),
    ),
    mistake(
        "one large layer for all heads",
        "The results are right, but one large layer was cut into heads, as in 3.C: no "
        "head has a layer of its own.",
        "Which kind of list does the exercise ask for, and how long is it?",
        _LargeLayers,
    ),
    mistake(
        "one head's layers for all",
        "All heads used the layers of one and the same head.",
        "Inside your loop, with which index do you pick the layers?",
        swap(layer=lambda self, part, head: getattr(self, part)[0]),
        swap(layer=lambda self, part, head: getattr(self, part)[-1]),
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
        "heads not side by side",
        "What went into W_o is as wide as one head: not all heads' results were side "
        "by side.",
        "What have you collected when W_o is called: has the loop ended by then? How "
        "are the results joined?",
        swap(forward=_early),
        *(swap(join=staticmethod(one)) for one in ONE_HEAD_WIDE),
        *(
            swap(join=staticmethod(one), layers=_output_per_head)
            for one in ONE_HEAD_WIDE
        ),
    ),
    mistake(
        "heads one after the other",
        "The heads' results were joined along the batch or the length, not along the "
        "features.",
        "Which axis of (B, T, K) should grow, and what does `torch.cat` take for it?",
        swap(join=lambda self, found: torch.cat(found, 0)),
        swap(join=lambda self, found: torch.cat(found, 1)),
    ),
    mistake(
        "no output projection",
        "The heads are side by side, but W_o was never applied.",
        "What is left of the formula after Concat?",
        swap(finish=lambda self, joined: joined),
    ),
    mistake(
        "weights of one head returned",
        "The weights of a single head came back.",
        "The weights are promised as (B, H, T, T). Which axis is missing?",
        swap(gather=lambda self, maps: maps[-1]),
        swap(gather=lambda self, maps: maps[0]),
    ),
    mistake(
        "weights averaged over the heads",
        "The weights came back as a mean over the heads.",
        "The weights are promised as (B, H, T, T). Which axis did you average away?",
        swap(gather=lambda self, maps: sum(maps) / len(maps)),
    ),
    mistake(
        "heads before the batch",
        "The weights of the heads were stacked in front of the batch.",
        "Where in (B, H, T, T) does the new axis belong? `torch.stack` takes a `dim`.",
        swap(gather=lambda self, maps: torch.stack(maps)),
    ),
)


EXERCISES = (
    Exercise(
        "3.K",
        "Heads with a width of their own",
        "class",
        difficulty=3,
        points=3,
        answers=(Answer("HeadByHead", HeadByHead, RETURNS, parts=PARTS),),
        cases=_cases,
        proves="heads narrower and wider than their share, output width, gradients",
        properties=(ROWS,),
        misconceptions=MISTAKES,
    ),
)
