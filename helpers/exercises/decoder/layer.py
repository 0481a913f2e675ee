"""5.A: the decoder layer."""

from collections.abc import Callable
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
    run_feed_forward,
)
from helpers.exercises.kit import attend, exchanging, normal, padded, shake
from helpers.models import transformer
from helpers.models.layers import FeedForward
from helpers.models.masks import look_ahead_mask
from helpers.models.multi_head import MultiHeadAttention

NORMS = ("norm1", "norm2", "norm3")
AS_ASKED = "as asked"


class DecoderLayer(nn.Module):
    """The course's own answer to 5.A; misconceptions exchange one of its steps."""

    parts = AS_ASKED  # the reference's parts may be a student's, so it says itself

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        """Create the six parts and remember the options."""
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.rate, self.activation = dropout, activation
        self.norm_first = norm_first

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
        return attend(heads_in(self.self_attention), y, y, y, target)

    def cross_attend(
        self, y: Tensor, memory: Tensor, target: Any, source: Any
    ) -> Tensor:
        """Cross-attention."""
        return attend(heads_in(self.cross_attention), y, memory, memory, source)

    def feed(self, y: Tensor) -> Tensor:
        """The feed-forward."""
        return run_feed_forward(self.feed_forward, y, self.activation)

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
    seen = {"output": output, "parts": _parts(call, inputs[0])}
    return Look({**seen, **_influence(call, *inputs)})


def _influence(
    call: Any, x: Tensor, memory: Tensor, target: Any, source: Any = None
) -> dict[str, str]:
    """Whether the last word of each side changes words that it is hidden from."""
    seen = {"target": "none", "source": "none"}
    if _has_foreign(call, "self_attention") and target is not None:
        hidden = _hidden(target, x, x)
        hidden[:, -1] = False  # it knows itself by the residual
        seen["target"] = influence(
            lambda some: call(some, memory, target, source), x, hidden
        )
    if _has_foreign(call, "cross_attention") and source is not None:
        seen["source"] = influence(
            lambda some: call(x, some, target, source),
            memory,
            _hidden(source, x, memory),
        )
    return {f"influence of hidden {side} words": found for side, found in seen.items()}


def _has_foreign(call: Any, attention: str) -> bool:
    """Whether it must be tried out; the reference's attention may be a student's."""
    foreign = is_foreign(getattr(call, attention, None))
    return foreign and type(call) is not DecoderLayer


def _hidden(mask: Tensor, x: Tensor, keys: Tensor) -> Tensor:
    """(B, T), True where a mask hides the last key from a word."""
    return ~mask.expand(len(x), 1, x.shape[1], keys.shape[1])[:, 0, :, -1]


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

    post, pre = (3, 11, 0.0), (3, 11, 0.0, "relu", True)
    both = look_ahead_mask(5) & padded(5, 3, length=5)
    return [
        case("post-norm, no future", (2, 5, 7, 6), post, look_ahead_mask(5)),
        case("pre-norm, no future", (2, 5, 7, 6), pre, look_ahead_mask(5)),
        case(
            "post-norm, padding in the source",
            *((2, 5, 7, 6), post, look_ahead_mask(5), padded(7, 4, length=7)),
        ),
        case(
            "pre-norm, GELU, padding on both sides",
            *((2, 5, 4, 6), (3, 11, 0.0, "gelu", True), both, padded(2, 4, length=4)),
        ),
        case(
            "source and target both 5 long",
            *((2, 5, 5, 10), (5, 7, 0.0), look_ahead_mask(5), padded(3, 5, length=5)),
        ),
        case(
            "pre-norm, source and target both 5 long",
            *((3, 5, 5, 6), pre, look_ahead_mask(5), padded(3, 5, 4, length=5)),
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
            *((2, 5, 7, 6), (3, 11, 1.0, "relu", True), look_ahead_mask(5)),
            look=_training,
        ),
        case("the gradient", (2, 3, 4, 6), post, look_ahead_mask(3), gradient=True),
    ]


swap = exchanging(DecoderLayer)


def _cross_attending(cross_attend: Callable) -> type:
    """Another cross-attention; gets the part, y, memory, target and source mask."""
    return swap(
        cross_attend=lambda self, y, memory, target, source: attend(
            heads_in(self.cross_attention), *cross_attend(y, memory, target, source)
        )
    )


def _self_attending(self_attend: Callable) -> type:
    return swap(
        self_attend=lambda self, y, target, source: attend(
            heads_in(self.self_attention), *self_attend(y, target, source)
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


def _steps(self: Any, memory: Tensor, target: Any, source: Any) -> dict[str, Callable]:
    """The three sublayers by name."""
    return {
        "self_attend": lambda y: self.self_attend(y, target, source),
        "cross_attend": lambda y: self.cross_attend(y, memory, target, source),
        "feed": self.feed,
    }


def _order(*steps: tuple[str, str]) -> type:
    """Other sublayers, or the same with other norms, in another order."""

    def forward(
        self: Any, x: Tensor, memory: Tensor, target: Any, source: Any = None
    ) -> Tensor:
        sublayers = _steps(self, memory, target, source)
        for step, norm in steps:
            x = self.add(x, sublayers[step], getattr(self, norm))
        return x

    return swap(forward=forward)


def _going_back(
    reads: tuple[int, ...] = (0, 1, 2), adds: tuple[int, ...] = (0, 1, 2)
) -> type:
    """Sublayers that go back to an earlier x: 0 is the layer's input.

    Args:
        reads: which x each of the three reads
        adds: which x each of the three is added to
    """

    def forward(
        self: Any, x: Tensor, memory: Tensor, target: Any, source: Any = None
    ) -> Tensor:
        sublayers, known = _steps(self, memory, target, source), [x]
        for number, (step, name) in enumerate(ALL):
            norm, sublayer = getattr(self, name), sublayers[step]
            read, residual = known[reads[number]], known[adds[number]]
            if self.norm_first:
                new = residual + self.drop(sublayer(self.normalise(norm, read)))
            else:
                new = self.normalise(norm, residual + self.drop(sublayer(read)))
            known.append(new)
        return known[-1]

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


def _unnormed(*bare: str) -> type:
    """Some sublayers without their norm."""

    def normalise(self: Any, norm: nn.Module, y: Tensor) -> Tensor:
        skipped = any(norm is getattr(self, name) for name in bare)
        return y if skipped else norm(y)

    return swap(normalise=normalise)


def _drop_the_sum(self: Any, x: Tensor, sublayer: Callable, norm: Any) -> Tensor:
    if self.norm_first:
        return self.drop(x + sublayer(self.normalise(norm, x)))
    return self.normalise(norm, self.drop(x + sublayer(x)))


def _memory_normalised(self: Any, y: Tensor, memory: Tensor, target, source) -> Tensor:
    if self.norm_first:
        memory = self.normalise(self.norm2, memory)
    return DecoderLayer.cross_attend(self, y, memory, target, source)


def _source_twice(choose: Callable) -> type:
    """Two looks at the source; the first with a mask chosen from target and source."""

    def self_attend(self: Any, y: Tensor, memory: Tensor, mask: Any) -> Tensor:
        return attend(heads_in(self.self_attention), y, memory, memory, mask)

    def forward(self: Any, x: Tensor, memory: Tensor, target: Any, source: Any = None):
        mask = choose(target, source)
        x = self.add(x, lambda y: self_attend(self, y, memory, mask), self.norm1)
        sublayers = _steps(self, memory, target, source)
        x = self.add(x, sublayers["cross_attend"], self.norm2)
        return self.add(x, self.feed, self.norm3)

    return swap(forward=forward)


class _DeafToTarget(DecoderLayer):
    def __init__(self, *sizes: Any) -> None:
        super().__init__(*sizes)
        self.self_attention = Deaf(self.self_attention)

    def self_attend(self, y: Tensor, target: Any, source: Any) -> Tensor:
        return self.self_attention(y, y, y, target)


class _DeafToSource(DecoderLayer):
    def __init__(self, *sizes: Any) -> None:
        super().__init__(*sizes)
        self.cross_attention = Deaf(self.cross_attention)

    def cross_attend(
        self, y: Tensor, memory: Tensor, target: Any, source: Any
    ) -> Tensor:
        return self.cross_attention(y, memory, memory, source)


def _unpacked(self: Any, y: Tensor, target: Any, source: Any) -> Tensor:
    output, _ = DecoderLayer.self_attend(self, y, target, source)
    return output


def _unpacked_memory(self: Any, y: Tensor, memory: Tensor, *masks: Any) -> Tensor:
    output, _ = DecoderLayer.cross_attend(self, y, memory, *masks)
    return output


def _first_sequence(*attentions: str) -> type:
    """The index of a pair on the tensors of one attention, or of both."""

    def step(name: str) -> Callable:
        return lambda self, *inputs: getattr(DecoderLayer, name)(self, *inputs)[0]

    return swap(**{name: step(name) for name in attentions})


ALL = ("self_attend", "norm1"), ("cross_attend", "norm2"), ("feed", "norm3")
# Each of these is also made in one norm order alone.
IN_BOTH_ORDERS = (
    mistake(
        "self-attention unmasked",
        "The target's mask has no effect: every word sees the words after it.",
        "Follow `target_mask` to the place where the scores are computed.",
        _self_attending(lambda y, target, source: (y, y, y, None)),
        _DeafToTarget,
    ),
    mistake(
        "source mask not passed",
        "The source's mask has no effect: the decoder reads padding.",
        "Follow `source_mask` to the place where the scores are computed.",
        _cross_attending(lambda y, memory, target, source: (y, memory, memory, None)),
        _DeafToSource,
    ),
    mistake(
        "no masks at all",
        "Neither of the two masks has an effect.",
        "Follow `target_mask` and `source_mask` through your `forward`.",
        swap(
            self_attend=lambda self, y, target, source: attend(
                heads_in(self.self_attention), y, y, y, None
            ),
            cross_attend=lambda self, y, memory, target, source: attend(
                heads_in(self.cross_attention), y, memory, memory, None
            ),
        ),
    ),
    mistake(
        "cross-attention asks too early",
        "The queries of the second attention come from the layer's input, not from "
        "what the first attention has made of it.",
        "Which x goes into the second sublayer?",
        _going_back(reads=(0, 0, 2)),
    ),
    mistake(
        "residual from an earlier x",
        "What a sublayer found was added to an earlier x, not to what the sublayer "
        "before it had left.",
        "Compare the three sums in your `forward`: which x stands on the left of each?",
        *(
            _going_back(adds=adds)
            for adds in ((0, 0, 2), (0, 1, 0), (0, 1, 1), (0, 0, 0))
        ),
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
        "Compare your three sublayers: which one is missing a sum?",
        _one_residual("norm1"),
    ),
    mistake(
        "no residual around the cross-attention",
        "The second attention's output replaces x instead of being added to it.",
        "Compare your three sublayers: which one is missing a sum?",
        _one_residual("norm2"),
    ),
    mistake(
        "no residual around the feed-forward",
        "The feed-forward network's output replaces x instead of being added to it.",
        "Compare your three sublayers: which one is missing a sum?",
        _one_residual("norm3"),
    ),
    mistake(
        "no norm at all",
        "None of the three norms has an effect.",
        "Search your `forward` for norm1, norm2 and norm3.",
        swap(normalise=lambda self, norm, y: y),
    ),
    mistake(
        "norms missing",
        "One or two of the three norms have no effect.",
        "How many `Add & Norm` boxes does a decoder layer have?",
        *(_unnormed(name) for name in NORMS),
        *(_unnormed(*(n for n in NORMS if n != name)) for name in NORMS),
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
)


class _WithoutActivation(DecoderLayer):
    """Takes what the first edition's stub took."""

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.1,
        norm_first: bool = False,
    ) -> None:
        super().__init__(d_model, num_heads, d_ff, dropout, "relu", norm_first)


# The error names the class that the stub has.
_WithoutActivation.__init__.__qualname__ = "DecoderLayer.__init__"

MISTAKES = (
    mistake(
        "no argument for the activation",
        "The layer takes no `activation` between dropout and norm_first.",
        "Compare the arguments of your `__init__` with those of the stub.",
        _WithoutActivation,
    ),
    *IN_BOTH_ORDERS,
    *in_one_order(DecoderLayer, *IN_BOTH_ORDERS),
    mistake(
        "masks exchanged",
        "Each attention got the other one's mask.",
        "Which mask is as wide as the target, which as wide as the source?",
        swap(
            self_attend=lambda self, y, target, source: attend(
                heads_in(self.self_attention), y, y, y, source
            ),
            cross_attend=lambda self, y, memory, target, source: attend(
                heads_in(self.cross_attention), y, memory, memory, target
            ),
        ),
    ),
    mistake(
        "look-ahead mask on the cross-attention",
        "The second attention got the target's mask. The source has no future: all of "
        "it is there before the first word is written.",
        "Which of the two masks knows about the length of the source?",
        _cross_attending(lambda y, memory, target, source: (y, memory, memory, target)),
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
        "no cross-attention",
        "The second attention has no influence on the result: what is left is an "
        "encoder layer with another mask.",
        "How many boxes does a decoder layer have in the figure?",
        _order(ALL[0], ALL[2]),
        _order(ALL[0], ("feed", "norm2")),
    ),
    mistake(
        "one norm used twice",
        "Two or three sublayers share a norm, but each should have a gain and a bias "
        "of its own.",
        "How many norms did `__init__` create, and which one is used where?",
        _order(ALL[0], ("cross_attend", "norm1"), ALL[2]),
        _order(ALL[0], ALL[1], ("feed", "norm2")),
        _order(ALL[0], ("cross_attend", "norm1"), ("feed", "norm2")),
        _order(ALL[0], ("cross_attend", "norm1"), ("feed", "norm1")),
    ),
    mistake(
        "target mask inverted",
        "The target's mask was inverted: each word sees just what it must not see.",
        'True means "may attend", here and in MultiHeadAttention.',
        _self_attending(lambda y, target, source: (y, y, y, _flipped(target))),
    ),
    mistake(
        "source mask inverted",
        "The decoder reads the padding of the source and not its words.",
        'True means "may attend", here and in MultiHeadAttention.',
        _cross_attending(
            lambda y, memory, target, source: (y, memory, memory, _flipped(source))
        ),
    ),
    mistake(
        "query from the encoder",
        "The source asks and the target answers, so this attention finds one vector "
        "per source token.",
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
        "self-attention reads the encoder",
        "The first attention already looks at `memory`: no word attends to what has "
        "been written.",
        "Which of the two is self-attention, and what does it attend to?",
        _source_twice(lambda target, source: source),
        _source_twice(lambda target, source: target),
        _source_twice(lambda target, source: None),
    ),
    mistake(
        "one attention for both",
        "Both attentions use the weights of the same part.",
        "How many attentions did `__init__` create, and which one is used where?",
        swap(
            cross_attend=lambda self, y, memory, target, source: attend(
                heads_in(self.self_attention), y, memory, memory, source
            )
        ),
        swap(
            self_attend=lambda self, y, target, source: attend(
                heads_in(self.cross_attention), y, y, y, target
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
                heads_in(self.cross_attention), y, y, y, target
            ),
            cross_attend=lambda self, y, memory, target, source: attend(
                heads_in(self.self_attention), y, memory, memory, source
            ),
        ),
    ),
    mistake(
        "cross-attention first",
        "The layer looked at the source before it looked at what is written.",
        "In which order does the figure show the three boxes, from bottom to top?",
        _order(("cross_attend", "norm2"), ("self_attend", "norm1"), ALL[2]),
        _order(("cross_attend", "norm1"), ("self_attend", "norm2"), ALL[2]),
    ),
    mistake(
        "no feed-forward",
        "The feed-forward network has no influence: the result is what the second "
        "attention left.",
        "How many boxes does a decoder layer have in the figure?",
        _order(ALL[0], ALL[1]),
    ),
    mistake(
        "activation not passed on",
        "The feed-forward network uses ReLU, whatever activation was asked for.",
        "Follow `activation` from the arguments of `__init__` to the feed-forward "
        "network.",
        swap(feed=lambda self, y: run_feed_forward(self.feed_forward, y, "relu")),
    ),
    mistake(
        "feed-forward reads too early",
        "The feed-forward network read an earlier x, not what the second attention had "
        "made of it.",
        "Which x goes into the third sublayer?",
        _going_back(reads=(0, 1, 0)),
        _going_back(reads=(0, 1, 1)),
    ),
    mistake(
        "first sequence of the batch",
        "What an attention found for the first sequence was added to every sequence of "
        "the batch: an index was applied to a tensor, not to a pair.",
        "What does [0] take from a pair, and what from a tensor?",
        _first_sequence("self_attend"),
        _first_sequence("cross_attend"),
        _first_sequence("self_attend", "cross_attend"),
    ),
    mistake(
        "a tensor unpacked like a pair",
        "An attention's result was unpacked into two names, but it is one tensor: "
        "Python takes the batch apart, or fails if it does not hold two sequences.",
        "What did `MultiHeadAttention` return in lesson 04?",
        swap(self_attend=_unpacked),
        swap(cross_attend=_unpacked_memory),
        swap(self_attend=_unpacked, cross_attend=_unpacked_memory),
    ),
    mistake(
        "norms in another order",
        "Each sublayer has a norm of its own, but not the one with its number.",
        "The norms are numbered like the sublayers, from bottom to top.",
        _order(ALL[0], ("cross_attend", "norm3"), ("feed", "norm2")),
        _order(("self_attend", "norm2"), ("cross_attend", "norm1"), ALL[2]),
        _order(("self_attend", "norm2"), ("cross_attend", "norm3"), ("feed", "norm1")),
        _order(("self_attend", "norm3"), ("cross_attend", "norm2"), ("feed", "norm1")),
        _order(("self_attend", "norm3"), ("cross_attend", "norm1"), ("feed", "norm2")),
    ),
    mistake(
        "dropout active in eval mode",
        "Dropout stays on after `.eval()`: it does not know which mode the layer is "
        "in.",
        "What tells dropout whether the layer is in training mode?",
        swap(drop=lambda self, y: F.dropout(y, self.rate)),
    ),
    mistake(
        "parts without biases",
        "The layer computes the right thing, but some of its parts have no biases.",
        "Build the parts as in lesson 04, without an argument that switches a bias "
        "off.",
        *tuple(
            swap(parts=f"biases missing in {where}")
            for where in ("attentions", "norms", "attentions and norms")
        ),
    ),
    mistake(
        "another norm than layer norm",
        "The norms are in the right places, but they do not compute layer norm.",
        "Feed one of them a row of numbers. Are mean and variance then 0 and 1?",
        swap(parts=NO_NORM),
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
)

EXERCISES = (
    Exercise(
        "5.A",
        "The decoder layer",
        "class",
        difficulty=3,
        points=4,
        core=True,
        answers=(
            Answer(
                "DecoderLayer",
                DecoderLayer,
                {"output": "batch, target length, d_model"},
                parts=("self_attention", "cross_attention", "feed_forward", *NORMS),
                stand_in=transformer.DecoderLayer,
            ),
        ),
        cases=_cases,
        proves="two attentions and where they look, both masks, both norm orders, both "
        "activations, layer norms, biases, dropout in training only, the gradient",
        misconceptions=MISTAKES,
    ),
)
