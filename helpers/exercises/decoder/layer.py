"""5.1: the decoder layer."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.encoder.shared import lacking
from helpers.exercises.kit import attend, exchanging, normal, padded, shake
from helpers.models.layers import FeedForward
from helpers.models.masks import look_ahead_mask
from helpers.models.multi_head import MultiHeadAttention

NORMS = ("norm1", "norm2", "norm3")
AS_ASKED = "as asked"


class DecoderLayer(nn.Module):
    """The course's own answer to 5.1; misconceptions exchange one of its steps."""

    parts = AS_ASKED  # the reference's parts may be a student's, so it says itself

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        norm_first: bool = False,
    ) -> None:
        """Create the six parts and remember the options."""
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.rate, self.norm_first = dropout, norm_first

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor | None,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """(B, T, D) and memory (B, S, D) -> (B, T, D)."""
        masks = (target_mask, source_mask)
        x = self.add(x, lambda y: self.self_attend(y, *masks), self.norm1)
        x = self.add(x, lambda y: self.cross_attend(y, memory, *masks), self.norm2)
        return self.add(x, self.feed, self.norm3)

    def self_attend(self, y: Tensor, target: Any, source: Any) -> Tensor:
        """Self-attention."""
        return attend(self.self_attention, y, y, y, target)

    def cross_attend(
        self, y: Tensor, memory: Tensor, target: Any, source: Any
    ) -> Tensor:
        """Cross-attention."""
        return attend(self.cross_attention, y, memory, memory, source)

    def feed(self, y: Tensor) -> Tensor:
        """The feed-forward."""
        return self.feed_forward(y)

    def drop(self, y: Tensor) -> Tensor:
        """Dropout on what a sublayer puts out."""
        return F.dropout(y, self.rate, self.training)

    def normalise(self, norm: nn.Module, y: Tensor) -> Tensor:
        """One of the three norms."""
        return norm(y)

    def add(self, x: Tensor, sublayer: Callable, norm: nn.Module) -> Tensor:
        """One sublayer with residual and norm."""
        if self.norm_first:
            return x + self.drop(sublayer(self.normalise(norm, x)))
        return self.normalise(norm, x + self.drop(sublayer(x)))


def _norms(call: Any) -> list:
    return [getattr(call, name, None) for name in NORMS]


def _parts(call: Any, x: Tensor) -> str:
    """What the course's classes say of themselves, or how a student built the parts."""
    if isinstance(call, DecoderLayer):
        return call.parts
    norms = _norms(call)
    attentions = [
        getattr(call, f"{name}_attention", None) for name in ("self", "cross")
    ]
    if not all(isinstance(part, nn.Module) for part in (*attentions, *norms)):
        return AS_ASKED  # a missing part is reported by name
    missing = lacking(attentions=attentions, norms=norms)
    if missing != "there":
        return f"biases {missing}"
    return AS_ASKED if all(_is_layer_norm(norm, x) for norm in norms) else NO_NORM


NO_NORM = "a norm other than layer norm"


def _is_layer_norm(norm: Any, x: Tensor) -> bool:
    """Whatever its epsilon, and whoever wrote it."""
    gain, shift = getattr(norm, "weight", None), getattr(norm, "bias", None)
    right = F.layer_norm(x, x.shape[-1:], gain, shift)
    with torch.no_grad():
        found = norm(x)
    return found.shape == x.shape and bool((found - right).abs().max() < 1e-2)


def _evaluating(call: Any, *inputs: Any) -> Look:
    shake(*_norms(call))  # fresh ones hide which was used where
    output = call.eval()(*inputs)
    return Look({"output": output, "parts": _parts(call, inputs[0])})


def _training(call: Any, *inputs: Any) -> Look:
    shake(*_norms(call))
    return Look({"output": call.train()(*inputs)})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple[int, int, int, int],
        options: tuple,
        target_mask: Tensor | None,
        source_mask: Tensor | None = None,
        dtype: Any = torch.float64,
        look: Callable = _evaluating,
        **more: Any,
    ) -> Case:
        batch, query, key, width = size
        x = normal(draw, batch, query, width, dtype=dtype)
        memory = normal(draw, batch, key, width, dtype=dtype)
        args = (x, memory, target_mask)
        args += () if source_mask is None else (source_mask,)
        names = ("x", "memory", "target_mask", "source_mask")
        init = (width, *options)
        return Case(name, args, inputs=names, init=init, look=look, **more)

    post, pre = (3, 11, 0.0), (3, 11, 0.0, True)
    both = look_ahead_mask(5) & padded(5, 3, length=5)
    return [
        case("post-norm, no future", (2, 5, 7, 6), post, look_ahead_mask(5)),
        case("pre-norm, no future", (2, 5, 7, 6), pre, look_ahead_mask(5)),
        case(
            "post-norm, padding in the source",
            *((2, 5, 7, 6), post, look_ahead_mask(5), padded(7, 4, length=7)),
        ),
        case(
            "pre-norm, padding on both sides",
            *((2, 5, 4, 6), pre, both, padded(2, 4, length=4)),
        ),
        case(
            "source and target both 5 long",
            *((2, 5, 5, 10), (5, 7, 0.0), look_ahead_mask(5), padded(3, 5, length=5)),
        ),
        case("no masks, float32", (3, 4, 2, 9), post, None, dtype=torch.float32),
        case(
            "dropout 1.0, in eval mode", (2, 5, 7, 6), (3, 11, 1.0), look_ahead_mask(5)
        ),
        case(
            "dropout 1.0, in training",
            *((2, 5, 7, 6), (3, 11, 1.0), look_ahead_mask(5)),
            look=_training,
        ),
        case(
            "pre-norm, dropout 1.0, in training",
            *((2, 5, 7, 6), (3, 11, 1.0, True), look_ahead_mask(5)),
            look=_training,
        ),
        case("the gradient", (2, 3, 4, 6), post, look_ahead_mask(3), gradient=True),
    ]


swap = exchanging(DecoderLayer)


def _cross_attending(cross_attend: Callable) -> type:
    """Another cross-attention; gets the part, y, memory, target and source mask."""
    return swap(
        cross_attend=lambda self, y, memory, target, source: attend(
            self.cross_attention, *cross_attend(y, memory, target, source)
        )
    )


def _self_attending(self_attend: Callable) -> type:
    return swap(
        self_attend=lambda self, y, target, source: attend(
            self.self_attention, *self_attend(y, target, source)
        )
    )


def _flipped(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else ~mask


def _no_residual(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    if self.norm_first:
        return self.drop(sublayer(self.normalise(norm, x)))
    return self.normalise(norm, self.drop(sublayer(x)))


def _one_residual(missing: str) -> type:
    def add(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
        step = _no_residual if norm is getattr(self, missing) else DecoderLayer.add
        return step(self, x, sublayer, norm)

    return swap(add=add)


def _order(*steps: tuple[str, str]) -> type:
    """Other sublayers, or the same with other norms, in another order."""

    def forward(
        self: Any, x: Tensor, memory: Tensor, target: Any, source: Any = None
    ) -> Tensor:
        sublayers = {
            "self_attend": lambda y: self.self_attend(y, target, source),
            "cross_attend": lambda y: self.cross_attend(y, memory, target, source),
            "feed": self.feed,
        }
        for step, norm in steps:
            x = self.add(x, sublayers[step], getattr(self, norm))
        return x

    return swap(forward=forward)


def _always(norm_first: bool | None) -> type:
    def add(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
        pre = not self.norm_first if norm_first is None else norm_first
        if pre:
            return x + self.drop(sublayer(self.normalise(norm, x)))
        return self.normalise(norm, x + self.drop(sublayer(x)))

    return swap(add=add)


def _from_normalised(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    if not self.norm_first:
        return DecoderLayer.add(self, x, sublayer, norm)
    x = self.normalise(norm, x)
    return x + self.drop(sublayer(x))


def _one_undropped(*bare: str) -> type:
    def add(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
        if not any(norm is getattr(self, name) for name in bare):
            return DecoderLayer.add(self, x, sublayer, norm)
        if self.norm_first:
            return x + sublayer(self.normalise(norm, x))
        return self.normalise(norm, x + sublayer(x))

    return swap(add=add)


def _drop_the_sum(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    if self.norm_first:
        return self.drop(x + sublayer(self.normalise(norm, x)))
    return self.normalise(norm, self.drop(x + sublayer(x)))


def _memory_normalised(self: Any, y: Tensor, memory: Tensor, target, source) -> Tensor:
    if self.norm_first:
        memory = self.normalise(self.norm2, memory)
    return DecoderLayer.cross_attend(self, y, memory, target, source)


def _asks_early(self: Any, x: Tensor, memory: Tensor, target, source=None) -> Tensor:
    first = self.add(x, lambda y: self.self_attend(y, target, source), self.norm1)
    asked = self.normalise(self.norm2, x) if self.norm_first else x
    found = self.drop(self.cross_attend(asked, memory, target, source))
    x = first + found if self.norm_first else self.normalise(self.norm2, first + found)
    return self.add(x, self.feed, self.norm3)


def _source_twice(self: Any, x: Tensor, memory: Tensor, target, source=None) -> Tensor:
    def first(y: Tensor) -> Tensor:
        return attend(self.self_attention, y, memory, memory, source)

    def second(y: Tensor) -> Tensor:
        return self.cross_attend(y, memory, target, source)

    x = self.add(self.add(x, first, self.norm1), second, self.norm2)
    return self.add(x, self.feed, self.norm3)


ALL = ("self_attend", "norm1"), ("cross_attend", "norm2"), ("feed", "norm3")
MISTAKES = (
    mistake(
        "parts without biases",
        "The layer computes the right thing, but some of its parts have no biases.",
        "Build the parts as in lesson 04, without an argument that forbids a bias.",
        *tuple(
            swap(parts=f"biases missing in {where}")
            for where in ("attentions", "norms", "attentions and norms")
        ),
    ),
    mistake(
        "another norm than layer norm",
        "The norms stand in the right places, but they do not compute layer norm.",
        "Feed one of them a row of numbers. Are mean and variance then 0 and 1?",
        swap(parts=NO_NORM),
    ),
    mistake(
        "keys and values from the decoder",
        "The second attention reads the decoder's own vectors and never looks at the "
        "source.",
        "Where does your `forward` use `memory`?",
        _cross_attending(lambda y, memory, target, source: (y, y, y, source)),
        _cross_attending(lambda y, memory, target, source: (y, y, y, target)),
        _cross_attending(lambda y, memory, target, source: (y, y, y, None)),
    ),
    mistake(
        "query from the encoder",
        "The source asks and the target answers, so one vector per source token comes "
        "out.",
        "Which side is writing, and has a question? How long must the output be?",
        _cross_attending(lambda y, memory, target, source: (memory, y, y, source)),
        _cross_attending(lambda y, memory, target, source: (memory, y, y, target)),
        _cross_attending(lambda y, memory, target, source: (memory, y, y, None)),
    ),
    mistake(
        "values from the decoder",
        "The keys come from the encoder, but the values are the decoder's own vectors.",
        "A key and its value belong to the same token. Which sentence is it in?",
        _cross_attending(lambda y, memory, target, source: (y, memory, y, source)),
    ),
    mistake(
        "keys from the decoder",
        "The values come from the encoder, but the keys are the decoder's own vectors.",
        "A key and its value belong to the same token. Which sentence is it in?",
        _cross_attending(lambda y, memory, target, source: (y, y, memory, source)),
    ),
    mistake(
        "look-ahead mask on the cross-attention",
        "The second attention got the target's mask. The source has no future: all of "
        "it is there before the first word is written.",
        "Which of the two masks knows about the length of the source?",
        _cross_attending(lambda y, memory, target, source: (y, memory, memory, target)),
    ),
    mistake(
        "masks exchanged",
        "Each attention got the other one's mask.",
        "Which mask is as wide as the target, which as wide as the source?",
        swap(
            self_attend=lambda self, y, target, source: attend(
                self.self_attention, y, y, y, source
            ),
            cross_attend=lambda self, y, memory, target, source: attend(
                self.cross_attention, y, memory, memory, target
            ),
        ),
    ),
    mistake(
        "self-attention unmasked",
        "The target's mask is not used: every word sees the words after it.",
        "Follow `target_mask` through your `forward`.",
        _self_attending(lambda y, target, source: (y, y, y, None)),
    ),
    mistake(
        "source mask not passed",
        "The source's mask is not used: the decoder reads padding.",
        "Follow `source_mask` through your `forward`.",
        _cross_attending(lambda y, memory, target, source: (y, memory, memory, None)),
    ),
    mistake(
        "no masks at all",
        "Neither of the two masks is used.",
        "Follow `target_mask` and `source_mask` through your `forward`.",
        swap(
            self_attend=lambda self, y, target, source: attend(
                self.self_attention, y, y, y, None
            ),
            cross_attend=lambda self, y, memory, target, source: attend(
                self.cross_attention, y, memory, memory, None
            ),
        ),
    ),
    mistake(
        "target mask inverted",
        "Each word sees the words after it, and not those before.",
        "True means may attend, here and in MultiHeadAttention.",
        _self_attending(lambda y, target, source: (y, y, y, _flipped(target))),
    ),
    mistake(
        "source mask inverted",
        "The decoder reads the padding of the source and not its words.",
        "True means may attend, here and in MultiHeadAttention.",
        _cross_attending(
            lambda y, memory, target, source: (y, memory, memory, _flipped(source))
        ),
    ),
    mistake(
        "self-attention reads the encoder",
        "The first attention already looks at `memory`: the layer never looks at what "
        "has been written.",
        "Which of the two is self-attention, and what does it attend to?",
        swap(forward=_source_twice),
    ),
    mistake(
        "one attention for both",
        "Both attentions use the weights of the same part.",
        "How many attentions did `__init__` create, and which one is used where?",
        swap(
            cross_attend=lambda self, y, memory, target, source: attend(
                self.self_attention, y, memory, memory, source
            )
        ),
        swap(
            self_attend=lambda self, y, target, source: attend(
                self.cross_attention, y, y, y, target
            )
        ),
    ),
    mistake(
        "attentions exchanged",
        "The part called cross_attention looked at the target, and self_attention at "
        "the source.",
        "Compare the names of the two parts with what you hand to each.",
        swap(
            self_attend=lambda self, y, target, source: attend(
                self.cross_attention, y, y, y, target
            ),
            cross_attend=lambda self, y, memory, target, source: attend(
                self.self_attention, y, memory, memory, source
            ),
        ),
    ),
    mistake(
        "cross-attention first",
        "The layer looked at the source before it looked at what is written.",
        "In which order do the three boxes stand in the figure, from bottom to top?",
        _order(("cross_attend", "norm2"), ("self_attend", "norm1"), ALL[2]),
        _order(("cross_attend", "norm1"), ("self_attend", "norm2"), ALL[2]),
    ),
    mistake(
        "no cross-attention",
        "There is no second attention: that is an encoder layer with another mask.",
        "How many boxes does a decoder layer have in the figure?",
        _order(ALL[0], ALL[2]),
        _order(ALL[0], ("feed", "norm2")),
    ),
    mistake(
        "no feed-forward",
        "The layer ends after the second attention.",
        "How many boxes does a decoder layer have in the figure?",
        _order(ALL[0], ALL[1]),
    ),
    mistake(
        "cross-attention asks too early",
        "The queries of the second attention come from the layer's input, not from "
        "what the first attention has made of it.",
        "Which x goes into the second sublayer?",
        swap(forward=_asks_early),
    ),
    mistake(
        "no residual",
        "Nothing is added: each sublayer replaces its input.",
        "What does `Add` in `Add & Norm` add?",
        swap(add=_no_residual),
    ),
    mistake(
        "no residual around the self-attention",
        "The first attention's output replaces x instead of being added to it.",
        "Compare your three sublayers: which one lacks a sum?",
        _one_residual("norm1"),
    ),
    mistake(
        "no residual around the cross-attention",
        "The second attention's output replaces x, and what was written is lost.",
        "Compare your three sublayers: which one lacks a sum?",
        _one_residual("norm2"),
    ),
    mistake(
        "no residual around the feed-forward",
        "The feed-forward's output replaces x instead of being added to it.",
        "Compare your three sublayers: which one lacks a sum?",
        _one_residual("norm3"),
    ),
    mistake(
        "residual from the normalised input",
        "In pre-norm the normalised x was added back, so the untouched x is lost.",
        "Which x travels along the residual: the one before the norm or after it?",
        swap(add=_from_normalised),
    ),
    mistake(
        "always post-norm",
        "`norm_first` changes nothing: the norm always comes after the sum.",
        "Where does your `forward` use norm_first?",
        _always(False),
    ),
    mistake(
        "always pre-norm",
        "`norm_first` changes nothing: the norm always comes before the sublayer.",
        "Where does your `forward` use norm_first?",
        _always(True),
    ),
    mistake(
        "pre-norm and post-norm exchanged",
        "With norm_first the norm comes last, and without it first.",
        "Read the condition aloud.",
        _always(None),
    ),
    mistake(
        "memory normalised again",
        "In pre-norm the encoder's output went through norm2 as well.",
        "The encoder has finished its work. Which input belongs to the decoder?",
        swap(cross_attend=_memory_normalised),
    ),
    mistake(
        "no norm at all",
        "None of the three norms is used.",
        "Search your `forward` for norm1, norm2 and norm3.",
        swap(normalise=lambda self, norm, y: y),
    ),
    mistake(
        "norms in another order",
        "Each sublayer has a norm of its own, but not the one that the stub names.",
        "The norms are numbered like the sublayers, from bottom to top.",
        _order(ALL[0], ("cross_attend", "norm3"), ("feed", "norm2")),
        _order(("self_attend", "norm2"), ("cross_attend", "norm1"), ALL[2]),
        _order(("self_attend", "norm2"), ("cross_attend", "norm3"), ("feed", "norm1")),
        _order(("self_attend", "norm3"), ("cross_attend", "norm2"), ("feed", "norm1")),
        _order(("self_attend", "norm3"), ("cross_attend", "norm1"), ("feed", "norm2")),
    ),
    mistake(
        "one norm used twice",
        "Two sublayers share a norm, and one norm is never used.",
        "How many norms did `__init__` create, and which one is used where?",
        _order(ALL[0], ("cross_attend", "norm1"), ALL[2]),
        _order(ALL[0], ALL[1], ("feed", "norm2")),
        _order(ALL[0], ("cross_attend", "norm1"), ("feed", "norm2")),
        _order(ALL[0], ("cross_attend", "norm1"), ("feed", "norm1")),
    ),
    mistake(
        "no dropout",
        "Nothing is dropped in training.",
        "Where is the dropout of `__init__` used?",
        swap(drop=lambda self, y: y),
    ),
    mistake(
        "a sublayer without dropout",
        "One or two of the three sublayers have no dropout on what they add.",
        "Count the sublayers in your `forward`, and the uses of dropout.",
        *(_one_undropped(name) for name in NORMS),
        *(_one_undropped(*(n for n in NORMS if n != name)) for name in NORMS),
    ),
    mistake(
        "dropout on the sum",
        "Dropout was applied to the whole sum: with a rate of 1 nothing is left of x.",
        "What should be dropped: x, or what the sublayer adds to it?",
        swap(add=_drop_the_sum),
    ),
    mistake(
        "dropout active in eval mode",
        "Dropout is still active after `.eval()`: `F.dropout` does not know the mode.",
        "What tells dropout whether the layer is in training?",
        swap(drop=lambda self, y: F.dropout(y, self.rate)),
    ),
)

EXERCISES = (
    Exercise(
        "5.1",
        "The decoder layer",
        "class",
        difficulty=3,
        minutes=20,
        points=4,
        core=True,
        answers=(
            Answer(
                "DecoderLayer",
                DecoderLayer,
                {"output": "batch, target length, d_model"},
                parts=("self_attention", "cross_attention", "feed_forward", *NORMS),
            ),
        ),
        cases=_cases,
        proves="two attentions and where they look, both masks, both norm orders, "
        "layer norms, biases, dropout in training only, the gradient",
        misconceptions=MISTAKES,
    ),
)
