"""5.B: the decoder."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.decoder.shared import TABLE
from helpers.exercises.encoder.shared import ids_from
from helpers.exercises.kit import exchanging, normal, padded, shake
from helpers.models import transformer
from helpers.models.masks import look_ahead_mask
from helpers.models.positions import PositionalEncoding, TokenEmbedding
from helpers.models.transformer import DecoderLayer


def with_options(layer: Any, rate: float, activation: str, norm_first: bool) -> Any:
    """Change the options of a layer, where it keeps them as the stub of 5.A does."""
    layer.norm_first = norm_first
    if isinstance(getattr(layer, "dropout", None), nn.Dropout):
        layer.dropout.p = rate
    if hasattr(getattr(layer, "feed_forward", None), "activation"):
        layer.feed_forward.activation = activation
    return layer


class Decoder(nn.Module):
    """The course's own answer to 5.B; misconceptions exchange one of its steps."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        max_length: int = 512,
        dropout: float = 0.1,
        activation: str = "relu",
        norm_first: bool = False,
    ) -> None:
        """Create the parts and remember the options."""
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.positions = PositionalEncoding(d_model, max_length)
        self.sizes = (d_model, num_heads, d_ff)
        self.rate, self.norm_first = dropout, norm_first
        self.options = (dropout, activation, norm_first)
        self.layers = self.stack(num_layers)
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()

    def layer(self) -> DecoderLayer:
        """A new layer; its options are set when it runs."""
        return DecoderLayer(*self.sizes)

    def stack(self, num_layers: int) -> nn.ModuleList:
        """As many layers as asked for."""
        return nn.ModuleList(self.layer() for _ in range(num_layers))

    def forward(
        self, ids: Tensor, memory: Tensor, target_mask: Any, source_mask: Any = None
    ) -> Tensor:
        """(B, T) and memory (B, S, D) -> (B, T, D)."""
        x = self.drop(self.embed(ids))
        return self.finish(self.climb(x, memory, target_mask, source_mask))

    def embed(self, ids: Tensor) -> Tensor:
        """Words and positions."""
        return self.positions(self.embedding(ids))

    def drop(self, x: Tensor) -> Tensor:
        """Dropout on their sum."""
        return F.dropout(x, self.rate, self.training)

    def climb(self, x: Tensor, memory: Tensor, target: Any, source: Any) -> Tensor:
        """Layer after layer."""
        for layer in self.layers:
            x = self.run(layer, x, memory, target, source)
        return x

    def run(
        self, layer: Any, x: Tensor, memory: Tensor, target: Any, source: Any
    ) -> Tensor:
        """One layer of the student's, with the options that were asked for."""
        return with_options(layer, *self.options)(x, memory, target, source)

    def finish(self, x: Tensor) -> Tensor:
        """The last norm of a pre-norm stack."""
        return self.norm(x)


def _look(call: Any, *inputs: Any) -> Look:
    layers = getattr(call, "layers", ...)
    if not isinstance(layers, nn.ModuleList | nn.Sequential):
        kind = "missing" if layers is ... else f"a {type(layers).__name__}"
        return Look({"part layers": kind, "output": None})
    for part in (*layers, call.norm):
        shake(part)
    seen = {
        "part layers": "ModuleList",
        "different layers": len({id(layer) for layer in layers}),
    }
    torch.default_generator.manual_seed(1)  # a wrong rate drops the same places in all
    return Look({**seen, "output": call(*inputs)})


def _evaluating(call: Any, *inputs: Any) -> Look:
    return _look(call.eval(), *inputs)


def _training(call: Any, *inputs: Any) -> Look:
    return _look(call.train(), *inputs)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple[int, int, int],
        init: tuple,
        source_mask: Tensor | None = None,
        look: Callable = _evaluating,
        **more: Any,
    ) -> Case:
        batch, query, key = size
        ids = ids_from(draw, init[0], batch, query)
        memory = normal(draw, batch, key, init[1])
        args = (ids, memory, look_ahead_mask(query))
        args += () if source_mask is None else (source_mask,)
        names = ("ids", "memory", "target_mask", "source_mask")
        rest = {"look": look, "tolerance": TABLE, **more}
        return Case(name, args, inputs=names, init=init, **rest)

    sizes = (13, 6, 3, 11, 2, 9)
    return [
        case("two layers", (2, 5, 7), (*sizes, 0.0)),
        case("padding in the source", (2, 5, 7), (*sizes, 0.0), padded(7, 4, length=7)),
        case(
            "pre-norm, GELU, three layers",
            *((3, 4, 2), (17, 10, 5, 7, 3, 8, 0.0, "gelu", True)),
        ),
        case("GELU", (2, 5, 7), (*sizes, 0.0, "gelu")),
        case("pre-norm", (2, 5, 7), (*sizes, 0.0, "relu", True)),
        case(
            "source and target both 5 long",
            *((2, 5, 5), (*sizes, 0.0), padded(3, 5, length=5)),
        ),
        case("one layer", (2, 5, 7), (13, 6, 2, 11, 1, 9, 0.0)),
        case("dropout 1.0, in eval mode", (2, 5, 7), (*sizes, 1.0)),
        case("dropout 1.0, in training", (2, 5, 7), (*sizes, 1.0), look=_training),
        case("the gradient", (2, 3, 4), (*sizes, 0.0), gradient=True),
    ]


swap = exchanging(Decoder)


def _running(run: Callable) -> type:
    """Other inputs for each layer."""
    return swap(
        run=lambda self, layer, x, memory, target, source: Decoder.run(
            self, layer, *run(x, memory, target, source)
        )
    )


def _left_at_default(*names: str) -> type:
    """Layers that do not get some of their options."""

    def run(self: Any, layer: Any, *inputs: Any) -> Tensor:
        asked = dict(zip(DEFAULTS, self.options, strict=True))
        options = asked | {name: DEFAULTS[name] for name in names}
        return with_options(layer, *options.values())(*inputs)

    return swap(run=run)


DEFAULTS = {"dropout": 0.1, "activation": "relu", "norm_first": False}


def _first_only(self: Any, x: Tensor, *inputs: Any) -> Tensor:
    return self.run(self.layers[0], x, *inputs)


def _norm_every_layer(self: Any, x: Tensor, *inputs: Any) -> Tensor:
    for layer in self.layers:
        x = self.norm(self.run(layer, x, *inputs))
    return x


def _drop_words(self: Any, ids: Tensor) -> Tensor:
    return self.positions(Decoder.drop(self, self.embedding(ids)))


def _scaled(self: Any, ids: Tensor) -> Tensor:
    words = self.embedding(ids)
    return self.positions(words * words.shape[-1] ** 0.5)


def _words_twice(self: Any, ids: Tensor) -> Tensor:
    words = self.embedding(ids)
    return words + self.positions(words)


def _always_from_the_start(self: Any, x: Tensor, *inputs: Any) -> Tensor:
    for layer in self.layers:
        y = self.run(layer, x, *inputs)
    return y


def _output_as_memory(self: Any, x: Tensor, memory: Tensor, *masks: Any) -> Tensor:
    for layer in self.layers:
        memory = x = self.run(layer, x, memory, *masks)
    return x


class _OneLayer(Decoder):
    """Its only layer runs as often as there should be layers."""

    def stack(self, num_layers: int) -> nn.ModuleList:
        self.times = num_layers
        return nn.ModuleList([self.layer()])

    def climb(self, x: Tensor, *inputs: Any) -> Tensor:
        for _ in range(self.times):
            x = self.run(self.layers[0], x, *inputs)
        return x


class _WithoutActivation(Decoder):
    """Takes what the first edition's stub took."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        max_length: int = 512,
        dropout: float = 0.1,
        norm_first: bool = False,
    ) -> None:
        sizes = vocab_size, d_model, num_heads, d_ff, num_layers, max_length
        super().__init__(*sizes, dropout, "relu", norm_first)


# The error names the class that the stub has.
_WithoutActivation.__init__.__qualname__ = "Decoder.__init__"

MISTAKES = (
    mistake(
        "no argument for the activation",
        "The class does not take all of `config.stack`: `activation` stands there "
        "between dropout and norm_first.",
        "Compare the arguments of your `__init__` with those of the stub.",
        _WithoutActivation,
    ),
    mistake(
        "one layer, used again and again",
        "All layers are one and the same, so they share their weights.",
        "How often does your `__init__` create a layer, and how many are needed?",
        swap(stack=lambda self, count: nn.ModuleList([self.layer()] * count)),
        _OneLayer,
    ),
    mistake(
        "only the last layer counts",
        "The last layer read the embeddings themselves, so the layers before it have "
        "no influence.",
        "What should go into the second layer?",
        swap(climb=_always_from_the_start),
    ),
    mistake(
        "a plain list",
        "The layers are in a plain list: torch does not look inside it, so "
        "`parameters()` misses them.",
        "Which of torch's lists registers the modules that it holds?",
        swap(stack=lambda self, count: [self.layer() for _ in range(count)]),
    ),
    mistake(
        "target mask not passed",
        "The layers never got the target's mask: every word sees the words after it.",
        "Follow `target_mask` to the call of a layer.",
        _running(lambda x, memory, target, source: (x, memory, None, source)),
    ),
    mistake(
        "source mask not passed",
        "The layers never got the source's mask: they read padding.",
        "Follow `source_mask` to the call of a layer.",
        _running(lambda x, memory, target, source: (x, memory, target, None)),
    ),
    mistake(
        "masks exchanged",
        "Each layer got the two masks in the wrong order.",
        "Compare the order of the arguments with the layer's own.",
        _running(lambda x, memory, target, source: (x, memory, source, target)),
    ),
    mistake(
        "memory overwritten",
        "From the second layer on, memory was replaced by the decoder's own output.",
        "The encoder's output is the same for all layers. Which name holds it?",
        swap(climb=_output_as_memory),
    ),
    mistake(
        "x and memory exchanged",
        "The layers got memory first and what is written second.",
        "Compare the order of the arguments with the layer's own.",
        _running(lambda x, memory, target, source: (memory, x, target, source)),
    ),
    mistake(
        "positions forgotten",
        "The positions were never added, so a word enters the layers with the same "
        "vector at every place.",
        "Which of the parts of `__init__` is never used?",
        swap(embed=lambda self, ids: self.embedding(ids)),
    ),
    mistake(
        "norm_first not passed on",
        "The layers are post-norm, whatever norm_first says.",
        "Follow `norm_first` from the arguments of `__init__` to the layers.",
        _left_at_default("norm_first"),
    ),
    mistake(
        "activation not passed on",
        "The layers use ReLU, whatever activation was asked for.",
        "Follow `activation` from the arguments of `__init__` to the layers.",
        _left_at_default("activation"),
    ),
    mistake(
        "dropout not passed on",
        "The layers' dropout rate is 0.1, whatever rate was asked for.",
        "Follow `dropout` from the arguments of `__init__` to the layers.",
        _left_at_default("dropout"),
    ),
    mistake(
        "two options not passed on",
        "Of dropout, activation and norm order the layers got one, and have the "
        "default of the other two.",
        "Compare the arguments of `__init__` with those you give to each layer.",
        *(_left_at_default(*two) for two in combinations(DEFAULTS, 2)),
    ),
    mistake(
        "no option passed on",
        "The layers were built with sizes only: dropout, activation and norm order are "
        "left at their defaults.",
        "Compare the arguments of `__init__` with those you give to each layer.",
        _left_at_default(*DEFAULTS),
    ),
    mistake(
        "only the first layer",
        "The result is the first layer's output.",
        "Does the loop end too early? Look at the indentation of `return`.",
        swap(climb=_first_only),
        swap(climb=_first_only, finish=lambda self, x: x),
    ),
    mistake(
        "last norm after every layer",
        "The last norm was applied after every layer, not once at the end.",
        "Is it inside your loop?",
        swap(climb=_norm_every_layer, finish=lambda self, x: x),
    ),
    mistake(
        "embedding scaled twice",
        "The word vectors were multiplied by the root of d_model once more.",
        "What does `TokenEmbedding` do by itself? The comment in `__init__` says it.",
        swap(embed=_scaled),
    ),
    mistake(
        "words added twice",
        "The word vectors were added to a sum that already contains them.",
        "What does `PositionalEncoding` return: its rows, or x plus its rows?",
        swap(embed=_words_twice),
    ),
    mistake(
        "dropout before the positions",
        "Dropout was applied to the words before the positions were added.",
        "In which order does `__init__` list embedding, positions and dropout?",
        swap(embed=_drop_words, drop=lambda self, x: x),
    ),
    mistake(
        "last norm missing",
        "With norm_first, nothing normalises the last sum.",
        "Which of the parts of `__init__` is never used?",
        swap(finish=lambda self, x: x),
    ),
    mistake(
        "no dropout on the embeddings",
        "In training, nothing is dropped from the sum of words and positions.",
        "Which of the parts of `__init__` is never used?",
        swap(drop=lambda self, x: x),
    ),
)

EXERCISES = (
    Exercise(
        "5.B",
        "The decoder",
        "class",
        difficulty=2,
        points=2,
        answers=(
            Answer(
                "Decoder",
                Decoder,
                {"output": "batch, target length, d_model"},
                parts=("embedding", "layers", "norm"),
                stand_in=transformer.Decoder,
            ),
        ),
        cases=_cases,
        proves="layers with weights of their own, one memory for all, both masks, both "
        "norm orders, every option of `config.stack`",
        misconceptions=MISTAKES,
    ),
)
