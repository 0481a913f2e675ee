"""4.D: the encoder layer."""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.encoder.shared import (
    Deaf,
    heads_in,
    in_one_order,
    influence,
    is_foreign,
    lacking,
    normalise,
    run_feed_forward,
)
from helpers.exercises.kit import attend, exchanging, normal, padded, shake
from helpers.models.layers import FeedForward
from helpers.models.multi_head import MultiHeadAttention

PARTS = ("attention", "feed_forward", "norm1", "norm2")


class EncoderLayer(nn.Module):
    """The course's own answer to 4.D; misconceptions replace one of its steps."""

    biases = "there"  # said here: the reference's parts may be a student's

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
        eps: float = 1e-5,
    ) -> None:
        """Create the four parts and remember the options."""
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.norm1, self.norm2 = nn.LayerNorm(d_model, eps), nn.LayerNorm(d_model, eps)
        self.rate, self.activation = dropout, activation
        self.norm_first, self.eps = norm_first, eps

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        x = self.add(x, lambda y: self.self_attend(y, mask), self.norm1)
        return self.add(x, self.run_feed_forward, self.norm2)

    def self_attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Self-attention."""
        return attend(heads_in(self.attention), x, x, x, mask)

    def run_feed_forward(self, x: Tensor) -> Tensor:
        """The feed-forward network."""
        return run_feed_forward(self.feed_forward, x, self.activation)

    def drop(self, x: Tensor) -> Tensor:
        """Dropout on a sublayer's output."""
        return F.dropout(x, self.rate, self.training)

    def normalise(self, norm: nn.Module, x: Tensor) -> Tensor:
        """One of the two norms."""
        return normalise(norm, x, self.eps)

    def add(self, x: Tensor, sublayer: Callable, norm: nn.Module) -> Tensor:
        """One sublayer with residual and norm."""
        if self.norm_first:
            return x + self.drop(sublayer(self.normalise(norm, x)))
        return self.normalise(norm, x + self.drop(sublayer(x)))


def _biases(call: Any) -> str:
    """What the course's classes say of themselves, or what a student's class has."""
    if hasattr(call, "biases") and isinstance(call, EncoderLayer):
        return call.biases
    attention, feed_forward, *norms = (getattr(call, name, None) for name in PARTS)
    return lacking(attention=(attention,), feed_forward=(feed_forward,), norms=norms)


def _evaluating(call: Any, x: Tensor, mask: Tensor | None = None) -> Look:
    shake(getattr(call, "norm1", None), getattr(call, "norm2", None))
    seen = {"output": call.eval()(x, mask), "biases": _biases(call)}
    if mask is not None:
        seen["influence of hidden tokens"] = _influence(call, x, mask)
    return Look(seen)


def _influence(call: Any, x: Tensor, mask: Tensor) -> str:
    """Whether the last token changes others that the mask hides it from."""
    part = getattr(call, "attention", None)
    if type(call) is EncoderLayer or not is_foreign(part):
        return "none"  # the reference's attention may be a student's
    hidden = ~mask.expand(len(x), 1, x.shape[1], -1)[:, 0, :, -1]  # (B, T)
    hidden[:, -1] = False  # it knows itself by the residual
    return influence(lambda some: call(some, mask), x, hidden)


def _training(call: Any, x: Tensor, mask: Tensor | None = None) -> Look:
    """Start from one random state: a wrong rate always drops the same entries."""
    shake(getattr(call, "norm1", None), getattr(call, "norm2", None))
    torch.default_generator.manual_seed(1)
    return Look({"output": call.train()(x, mask)})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple[int, int, int],
        *options: Any,
        mask: Tensor | None = None,
        dtype: Any = torch.float64,
        look: Callable = _evaluating,
        **more: Any,
    ) -> Case:
        args = (normal(draw, *size, dtype=dtype), *(() if mask is None else (mask,)))
        init = (size[2], *options)
        return Case(name, args, inputs=("x", "mask"), init=init, look=look, **more)

    three, five = padded(5, 3, length=5), padded(2, 4, 3, length=4)
    pairs = torch.ones(5, 5, dtype=torch.bool).tril()
    return [
        case("post-norm", (2, 5, 6), 3, 11, 0.0),
        case("pre-norm", (2, 5, 6), 3, 11, 0.0, "relu", True),
        case("post-norm, padding", (2, 5, 6), 2, 11, 0.0, mask=three),
        case("pre-norm, GELU, padding", (3, 4, 10), 5, 7, 0.0, "gelu", True, mask=five),
        case("a mask (query, key)", (2, 5, 6), 3, 11, 0.0, "gelu", mask=pairs),
        case("post-norm, a large eps", (2, 5, 6), 3, 11, 0.0, "relu", False, 0.3),
        case("post-norm, float32", (3, 7, 9), 3, 5, 0.0, dtype=torch.float32),
        case("dropout 1.0, in eval mode", (2, 5, 6), 3, 11, 1.0),
        case("dropout 1.0, in training", (2, 5, 6), 3, 11, 1.0, look=_training),
        case(
            "pre-norm, dropout 1.0, in training",
            (2, 5, 6),
            *(3, 11, 1.0, "relu", True),
            look=_training,
        ),
        case("the gradient", (2, 3, 6), 3, 8, 0.0, gradient=True),
    ]


swap = exchanging(EncoderLayer)


def _from_normalised(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    if not self.norm_first:
        return EncoderLayer.add(self, x, sublayer, norm)
    x = self.normalise(norm, x)
    return x + self.drop(sublayer(x))


def _from_normalised_once(where: str) -> Callable:
    def add(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
        step = _from_normalised if norm is getattr(self, where) else EncoderLayer.add
        return step(self, x, sublayer, norm)

    return add


def _from_normalised_always(self: Any, x: Tensor, sub: Callable, norm: Any) -> Tensor:
    x = self.normalise(norm, x)
    added = x + self.drop(sub(x))
    return added


def _no_residual(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    if self.norm_first:
        return self.drop(sublayer(self.normalise(norm, x)))
    return self.normalise(norm, self.drop(sublayer(x)))


def _one_residual(missing: str) -> Callable:
    def add(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
        step = _no_residual if norm is getattr(self, missing) else EncoderLayer.add
        return step(self, x, sublayer, norm)

    return add


def _always(norm_first: bool | None) -> Callable:
    def add(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
        pre = not self.norm_first if norm_first is None else norm_first
        if pre:
            return x + self.drop(sublayer(self.normalise(norm, x)))
        return self.normalise(norm, x + self.drop(sublayer(x)))

    return add


def _norm_of_sublayer(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    return x + self.normalise(norm, self.drop(sublayer(x)))


def _undropped(bare: str) -> Callable:
    def add(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
        if norm is not getattr(self, bare):
            return EncoderLayer.add(self, x, sublayer, norm)
        if self.norm_first:
            return x + sublayer(self.normalise(norm, x))
        return self.normalise(norm, x + sublayer(x))

    return add


def _half_always(half: str, norm_first: bool) -> Callable:
    """An `add` that obeys norm_first in only one half of the layer."""
    always = _always(norm_first)

    def add(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
        step = always if norm is getattr(self, half) else EncoderLayer.add
        return step(self, x, sublayer, norm)

    return add


def _attending(attention: Callable) -> type:
    """Another self-attention; gets the part, x and the mask."""
    return swap(
        self_attend=lambda self, x, mask: attention(heads_in(self.attention), x, mask)
    )


class _DeafLayer(EncoderLayer):
    def __init__(self, *sizes: Any) -> None:
        super().__init__(*sizes)
        self.attention = Deaf(self.attention)

    def self_attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return attend(self.attention, x, x, x, mask)


def _unpacked(part: nn.Module, x: Tensor, mask: Tensor | None) -> Tensor:
    output, _ = attend(part, x, x, x, mask)
    return output


def _drop_the_sum(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    if self.norm_first:
        return self.drop(x + sublayer(self.normalise(norm, x)))
    return self.normalise(norm, self.drop(x + sublayer(x)))


def _drop_last(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    if self.norm_first:
        return self.drop(x + sublayer(self.normalise(norm, x)))
    return self.drop(self.normalise(norm, x + sublayer(x)))


def _only_query(self: Any, x: Tensor, mask: Tensor | None = None) -> Tensor:
    if not self.norm_first:
        return EncoderLayer.forward(self, x, mask)
    query = self.normalise(self.norm1, x)
    x = x + self.drop(attend(heads_in(self.attention), query, x, x, mask))
    return self.add(x, self.run_feed_forward, self.norm2)


def _second_half(*, reads_old: bool, adds_old: bool) -> type:
    """A second half that goes back to the layer's input."""

    def forward(self: Any, x: Tensor, mask: Tensor | None = None) -> Tensor:
        new = self.add(x, lambda y: self.self_attend(y, mask), self.norm1)
        read, residual = x if reads_old else new, x if adds_old else new
        if self.norm_first:
            read = self.normalise(self.norm2, read)
            return residual + self.drop(self.run_feed_forward(read))
        return self.normalise(
            self.norm2, residual + self.drop(self.run_feed_forward(read))
        )

    return swap(forward=forward)


def _feed_forward_first(self: Any, x: Tensor, mask: Tensor | None = None) -> Tensor:
    x = self.add(x, self.run_feed_forward, self.norm2)
    return self.add(x, lambda y: self.self_attend(y, mask), self.norm1)


def _norms_swapped(self: Any, x: Tensor, mask: Tensor | None = None) -> Tensor:
    x = self.add(x, lambda y: self.self_attend(y, mask), self.norm2)
    return self.add(x, self.run_feed_forward, self.norm1)


def _one_norm(name: str) -> Callable:
    def forward(self: Any, x: Tensor, mask: Tensor | None = None) -> Tensor:
        norm = getattr(self, name)
        x = self.add(x, lambda y: self.self_attend(y, mask), norm)
        return self.add(x, self.run_feed_forward, norm)

    return forward


def _norm_twice(self: Any, x: Tensor, mask: Tensor | None = None) -> Tensor:
    self.norm1 = self.norm2  # two names for one object
    return EncoderLayer.forward(self, x, mask)


def _no_norm(norm: str) -> Callable:
    def step(self: Any, part: nn.Module, x: Tensor) -> Tensor:
        skipped = norm == "both" or part is getattr(self, norm)
        return x if skipped else normalise(part, x, self.eps)

    return step


def _published(self: Any, part: nn.Module, x: Tensor) -> Tensor:
    standard = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps)
    return part.weight * standard + part.bias


def _without_biases() -> Iterator[type]:
    """Layers without them in one, two or all three parts."""
    for count in (1, 2, 3):
        for parts in combinations(("attention", "feed_forward", "norms"), count):
            yield swap(biases=f"missing in {' and '.join(parts)}")


# Each of these is also made in one norm order alone.
IN_BOTH_ORDERS = (
    mistake(
        "no residual",
        "Nothing is added: each sublayer replaces its input.",
        "What does `Add` in `Add & Norm` add?",
        swap(add=_no_residual),
    ),
    mistake(
        "no residual around the attention",
        "The attention's output replaces x instead of being added to it.",
        "Compare the two sublayers: which one is missing a sum?",
        swap(add=_one_residual("norm1")),
    ),
    mistake(
        "no residual around the feed-forward",
        "The feed-forward network's output replaces x instead of being added to it.",
        "Compare the two sublayers: which one is missing a sum?",
        swap(add=_one_residual("norm2")),
    ),
    mistake(
        "norm of the sublayer alone",
        "Each sublayer's output was normalised on its own, before x was added to it.",
        "Compare your `forward` with the two formulas: what stands inside LN?",
        swap(add=_norm_of_sublayer),
    ),
    mistake(
        "no norm at all",
        "Neither of the two norms has an effect.",
        "Search your `forward` for norm1 and norm2.",
        swap(normalise=_no_norm("both")),
    ),
    mistake(
        "first norm missing",
        "The attention's sublayer has no norm.",
        "How many `Add & Norm` boxes does an encoder layer have?",
        swap(normalise=_no_norm("norm1")),
    ),
    mistake(
        "second norm missing",
        "The feed-forward network's sublayer has no norm.",
        "How many `Add & Norm` boxes does an encoder layer have?",
        swap(normalise=_no_norm("norm2")),
    ),
    mistake(
        "one norm for both",
        "Both sublayers share one norm, but each should have a gain and a bias of its "
        "own.",
        "How many norms did `__init__` create, and where is each of them used?",
        swap(forward=_one_norm("norm1")),
        swap(forward=_one_norm("norm2")),
        swap(forward=_norm_twice),
    ),
    mistake(
        "norms swapped",
        "The attention got norm2 and the feed-forward network norm1.",
        "Which norm belongs to which sublayer? Look at the docstring.",
        swap(forward=_norms_swapped),
    ),
    mistake(
        "no dropout",
        "Nothing is dropped in training.",
        "Where do you use the dropout from `__init__`?",
        swap(drop=lambda self, x: x),
    ),
    mistake(
        "a sublayer without dropout",
        "No dropout is applied to the output of one of the two sublayers.",
        "Count the sublayers in your `forward`, and the places where dropout is used.",
        swap(add=_undropped("norm1")),
        swap(add=_undropped("norm2")),
    ),
    mistake(
        "dropout on the sum",
        "Dropout was applied to the residual too: with a rate of 1 nothing is left of "
        "x.",
        "What should be dropped: x, or what the sublayer adds to it?",
        swap(add=_drop_the_sum),
        swap(add=_drop_last),
    ),
    mistake(
        "mask ignored",
        "The mask has no effect, so tokens attend to padding.",
        "Follow `mask` to the place where the scores are computed.",
        _attending(lambda part, x, mask: attend(part, x, x, x, None)),
        _DeafLayer,
    ),
    mistake(
        "feed-forward from the layer's input",
        "The feed-forward network read the layer's input, not what the attention had "
        "made of it.",
        "Which x goes into the second sublayer?",
        _second_half(reads_old=True, adds_old=False),
    ),
    mistake(
        "second residual from the layer's input",
        "The feed-forward network's output was added to the layer's input, not to what "
        "the first half had made of it.",
        "Which x stands on the left of the second plus?",
        _second_half(reads_old=False, adds_old=True),
    ),
    mistake(
        "the attention has no influence",
        "The second half starts from the layer's input again, so what the attention "
        "found is lost.",
        "Which x goes into the second half of your `forward`?",
        _second_half(reads_old=True, adds_old=True),
    ),
)

MISTAKES = (
    *IN_BOTH_ORDERS,
    *in_one_order(EncoderLayer, *IN_BOTH_ORDERS),
    mistake(
        "dropout active in eval mode",
        "Dropout stays on after `.eval()`: it does not know which mode the layer is "
        "in.",
        "What tells dropout whether the layer is in training mode?",
        swap(drop=lambda self, x: F.dropout(x, self.rate)),
    ),
    mistake(
        "mask inverted",
        "The real tokens were blocked and the padding left open.",
        'True means "may attend", here and in MultiHeadAttention.',
        _attending(
            lambda part, x, mask: attend(part, x, x, x, None if mask is None else ~mask)
        ),
    ),
    mistake(
        "first sequence of the batch",
        "The attention's output for the first sequence was added to every sequence of "
        "the batch: an index was applied to a tensor, not to a pair.",
        "What does [0] take from a pair, and what from a tensor?",
        _attending(lambda part, x, mask: attend(part, x, x, x, mask)[0]),
    ),
    mistake(
        "a tensor unpacked like a pair",
        "The attention's result was unpacked into two names, but it is one tensor: "
        "Python takes the batch apart, or fails if it does not hold two sequences.",
        "What does the task say that the attention returns?",
        _attending(_unpacked),
    ),
    mistake(
        "feed-forward first",
        "The feed-forward network came before the attention.",
        "In which order does the figure show the two sublayers?",
        swap(forward=_feed_forward_first),
    ),
    mistake(
        "parts without biases",
        "The layer computes the right thing, but some of its parts have no biases, so "
        "BERT's parameters will not fit into it.",
        "Build the parts as the task says, without an argument that switches a bias "
        "off.",
        *tuple(_without_biases()),
    ),
    mistake(
        "residual from the normalised input",
        "In pre-norm the normalised x was added back, so the untouched x is lost.",
        "Which x does the residual connection carry: the one before the norm or the "
        "one after it?",
        swap(add=_from_normalised),
    ),
    mistake(
        "one residual from the normalised input",
        "In pre-norm one of the two sublayers adds the normalised x back, so the "
        "untouched x is lost there.",
        "Compare the two sublayers: which x does each residual connection carry?",
        swap(add=_from_normalised_once("norm1")),
        swap(add=_from_normalised_once("norm2")),
    ),
    mistake(
        "always pre-norm, residual from the normalised input",
        "The norm always comes before the sublayer, whatever norm_first says, and the "
        "normalised x is added back.",
        "Where does your `forward` look at norm_first, and which x does the residual "
        "connection carry?",
        swap(add=_from_normalised_always),
    ),
    mistake(
        "always post-norm",
        "`norm_first` changes nothing: the norm always comes after the sum.",
        "Where does your `forward` look at norm_first?",
        swap(add=_always(False)),
    ),
    mistake(
        "always pre-norm",
        "`norm_first` changes nothing: the norm always comes before the sublayer.",
        "Where does your `forward` look at norm_first?",
        swap(add=_always(True)),
    ),
    mistake(
        "pre-norm and post-norm swapped",
        "With norm_first the norm comes last, and without it the norm comes first.",
        "Read the condition aloud.",
        swap(add=_always(None)),
    ),
    mistake(
        "one half with a fixed norm order",
        "One of the two sublayers obeys norm_first, the other does not.",
        "How often does your `forward` look at norm_first, and for which sublayers?",
        *tuple(
            swap(add=_half_always(half, norm_first))
            for half in ("norm1", "norm2")
            for norm_first in (False, True)
        ),
    ),
    mistake(
        "a wrong layer norm",
        "The layer is right, but its norms divide by n - 1 and add epsilon after the "
        "root.",
        "Go back to exercise 4.C, or build the layer with nn.LayerNorm.",
        swap(normalise=_published),
    ),
    mistake(
        "another dropout rate",
        "Something is dropped in training, but not at the rate that was asked for.",
        "Follow `dropout` from the arguments of `__init__` to the place where it is "
        "used.",
        swap(drop=lambda self, x: F.dropout(x, 0.1, self.training)),
        swap(drop=lambda self, x: F.dropout(x, 0.5, self.training)),
    ),
    mistake(
        "no activation",
        "The feed-forward network is linear: it has no activation function between its "
        "two layers.",
        "Go back to exercise 4.B.",
        swap(
            run_feed_forward=lambda self, x: self.linear(x),
            linear=lambda self, x: self.feed_forward.W_2(self.feed_forward.W_1(x)),
        ),
    ),
    mistake(
        "activation not passed on",
        "The feed-forward network uses ReLU, whatever activation was asked for.",
        "Follow `activation` from the arguments of `__init__` to the feed-forward "
        "network.",
        swap(
            run_feed_forward=lambda self, x: run_feed_forward(
                self.feed_forward, x, "relu"
            )
        ),
    ),
    mistake(
        "eps not passed on",
        "The norms use an epsilon of 1e-5, whatever was asked for.",
        "Follow `eps` from the arguments of `__init__` to both norms.",
        swap(normalise=lambda self, part, x: normalise(part, x, 1e-5)),
    ),
    mistake(
        "activation and eps not passed on",
        "The feed-forward network uses ReLU and the norms use 1e-5, whatever was asked "
        "for.",
        "Compare the arguments of `__init__` with those you pass to the parts.",
        swap(
            run_feed_forward=lambda self, x: run_feed_forward(
                self.feed_forward, x, "relu"
            ),
            normalise=lambda self, part, x: normalise(part, x, 1e-5),
        ),
    ),
    mistake(
        "only the query normalised",
        "In pre-norm the query was normalised, but key and value were not.",
        "Self-attention gets the same tensor three times. Does yours?",
        swap(forward=_only_query),
    ),
)

EXERCISES = (
    Exercise(
        "4.D",
        "The encoder layer",
        "class",
        difficulty=3,
        points=4,
        core=True,
        answers=(
            Answer(
                "EncoderLayer",
                EncoderLayer,
                {"output": "batch, length, d_model"},
                parts=PARTS,
            ),
        ),
        cases=_cases,
        proves="pre-norm and post-norm, both activations, biases, masks, dropout in "
        "training only, epsilon, the gradient",
        misconceptions=MISTAKES,
    ),
)
