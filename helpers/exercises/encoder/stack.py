"""4.E: the encoder."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.encoder.layer import EncoderLayer as LayerInSteps
from helpers.exercises.encoder.shared import ids_from
from helpers.exercises.kit import exchanging, padded, shake
from helpers.models.encoder import EncoderLayer
from helpers.models.positions import PositionalEncoding


class Encoder(nn.Module):
    """The course's own answer to 4.E; misconceptions replace one of its steps."""

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
        eps: float = 1e-5,
    ) -> None:
        """Create the parts and remember the options."""
        super().__init__()
        self.d_model = d_model  # the stub sets it, and 4.G may use it
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions: nn.Module = PositionalEncoding(d_model, max_length)
        self.options = (dropout, activation, norm_first, eps)
        self.layers = self.stack(num_layers, d_model, num_heads, d_ff)
        self.norm = nn.LayerNorm(d_model, eps) if norm_first else nn.Identity()

    def stack(self, num_layers: int, *sizes: int) -> nn.ModuleList:
        """As many layers as asked for."""
        new = (EncoderLayer(*sizes, *self.options) for _ in range(num_layers))
        return nn.ModuleList(new)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """(B, T) -> (B, T, D)."""
        return self.finish(self.climb(self.drop(self.embed(ids)), mask))

    def embed(self, ids: Tensor) -> Tensor:
        """Words and positions."""
        return self.positions(self.embedding(ids) * self.embedding.embedding_dim**0.5)

    def drop(self, x: Tensor) -> Tensor:
        """Dropout on their sum."""
        return F.dropout(x, self.options[0], self.training)

    def climb(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Layer after layer."""
        for layer in self.layers:
            x = self.run(layer, x, mask, self.options)
        return x

    def run(self, layer: Any, x: Tensor, mask: Tensor | None, options: tuple) -> Tensor:
        """One layer, with the weights of the student's and with these options."""
        same = LayerInSteps.__new__(LayerInSteps)
        nn.Module.__init__(same)
        same.attention, same.feed_forward = layer.attention, layer.feed_forward
        same.norm1, same.norm2 = layer.norm1, layer.norm2
        same.rate, same.activation, same.norm_first, same.eps = options
        same.training = self.training
        return same(x, mask)

    def finish(self, x: Tensor) -> Tensor:
        """The last norm of a pre-norm stack."""
        return self.norm(x)


def _observe(call: Any, ids: Tensor, mask: Tensor | None) -> Look:
    layers, positions = getattr(call, "layers", ...), getattr(call, "positions", ...)
    seen = {"part layers": _kind(layers), "part positions": "missing"}
    if isinstance(positions, nn.Module):
        seen["part positions"] = "module"
    if not isinstance(layers, nn.ModuleList | nn.Sequential):
        return Look({**seen, "output": None})
    seen["different layers"] = len({id(layer) for layer in layers})
    for layer in layers:
        shake(getattr(layer, "norm1", None), getattr(layer, "norm2", None))
    torch.default_generator.manual_seed(1)  # a wrong rate drops the same entries
    return Look({**seen, "output": call(ids, mask)})


def _kind(layers: Any) -> str:
    if layers is ...:
        return "missing"
    lists = nn.ModuleList | nn.Sequential
    return "ModuleList" if isinstance(layers, lists) else f"a {type(layers).__name__}"


def _evaluating(call: Any, ids: Tensor, mask: Tensor | None = None) -> Look:
    return _observe(call.double().eval(), ids, mask)


def _single(call: Any, ids: Tensor, mask: Tensor | None = None) -> Look:
    return _observe(call.eval(), ids, mask)


def _training(call: Any, ids: Tensor, mask: Tensor | None = None) -> Look:
    return _observe(call.double().train(), ids, mask)


# Tables of positions are computed in float32 before a module is moved to float64.
TABLE = 1e-6


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple[int, int],
        *init: Any,
        mask: Tensor | None = None,
        look: Callable = _evaluating,
        tolerance: float = TABLE,
        **more: Any,
    ) -> Case:
        ids = ids_from(draw, init[0], *size)
        args = (ids,) if mask is None else (ids, mask)
        rest = {"look": look, "tolerance": tolerance, **more}
        return Case(name, args, inputs=("ids", "mask"), init=init, **rest)

    three, five = padded(5, 3, length=5), padded(2, 4, 3, length=4)
    pre = (0.0, "gelu", True)
    return [
        case("two layers", (2, 5), 13, 6, 3, 11, 2, 9, 0.0),
        case("padding", (2, 5), 13, 6, 3, 11, 2, 9, 0.0, mask=three),
        case("pre-norm, GELU, padding", (3, 4), 17, 10, 5, 7, 3, 8, *pre, mask=five),
        case(
            "one layer, a large eps",
            (2, 5),
            13,
            6,
            2,
            11,
            1,
            9,
            0.0,
            "relu",
            False,
            0.3,
        ),
        case("float32", (2, 7), 13, 9, 3, 5, 2, 7, 0.0, look=_single, tolerance=1e-5),
        case("a text of 515 tokens", (1, 515), 5, 4, 2, 3, 1, 520, 0.0),
        case("as long as it may be", (1, 7), 5, 6, 2, 4, 1, 7, 0.0),
        case("dropout 1.0, in eval mode", (2, 5), 13, 6, 3, 11, 2, 9, 1.0),
        case(
            "dropout 1.0, in training", (2, 5), 13, 6, 3, 11, 2, 9, 1.0, look=_training
        ),
        case("the gradient", (2, 3), 13, 6, 3, 8, 2, 9, 0.0, gradient=True),
    ]


swap = exchanging(Encoder)


def _with_options(change: Callable) -> Callable:
    def run(self: Any, layer: Any, x: Tensor, mask: Any, options: tuple) -> Tensor:
        return Encoder.run(self, layer, x, mask, change(*options))

    return run


def _from_the_start(self: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    last = x
    for layer in self.layers:
        last = self.run(layer, x, mask, self.options)
    return last


def _only_first(self: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    return self.run(self.layers[0], x, mask, self.options)


def _only_first_returned(self: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    for layer in self.layers[:1]:
        x = self.run(layer, x, mask, self.options)
    return x


def _residuals(self: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    for layer in self.layers:
        x = x + self.run(layer, x, mask, self.options)
    return x


class _FixedLength(Encoder):
    def __init__(self, *sizes: Any) -> None:
        super().__init__(*sizes)
        self.positions = PositionalEncoding(self.embedding.embedding_dim, 512)


def _mask_once(self: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    for number, layer in enumerate(self.layers):
        x = self.run(layer, x, None if number else mask, self.options)
    return x


def _same_layer(self: Any, num_layers: int, *sizes: int) -> nn.ModuleList:
    return nn.ModuleList([EncoderLayer(*sizes, *self.options)] * num_layers)


def _options_as_one(self: Any, num_layers: int, *sizes: int) -> nn.ModuleList:
    new = (EncoderLayer(*sizes, self.options) for _ in range(num_layers))
    return nn.ModuleList(new)


def _dropout_of(rate: Callable) -> Callable:
    """Layers that make their dropout with this rate, as the stub of 4.D does."""

    def stack(self: Any, num_layers: int, *sizes: int) -> nn.ModuleList:
        return nn.ModuleList(nn.Dropout(rate(self.options)) for _ in range(num_layers))

    return stack


def _without_the_rate(self: Any, num_layers: int, *sizes: int) -> nn.ModuleList:
    new = (EncoderLayer(*sizes, *self.options[1:]) for _ in range(num_layers))
    return nn.ModuleList(new)


def _plain_list(self: Any, num_layers: int, *sizes: int) -> list:
    return [EncoderLayer(*sizes, *self.options) for _ in range(num_layers)]


def _norm_every_layer(self: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    for layer in self.layers:
        x = self.norm(self.run(layer, x, mask, self.options))
    return x


def _norm_always(self: Any, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], eps=self.options[3])


def _norm_always_with_default_eps(self: Any, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


def _words_twice(self: Any, ids: Tensor) -> Tensor:
    scaled = self.embedding(ids) * self.embedding.embedding_dim**0.5
    return scaled + self.positions(scaled)


def _defaults(count: int) -> list[type]:
    """Encoders whose layers have the default of so many options."""
    default = (0.1, "relu", False, 1e-5)

    def change(places: tuple[int, ...]) -> Callable:
        return lambda *options: tuple(
            default[place] if place in places else option
            for place, option in enumerate(options)
        )

    chosen = combinations(range(4), count)
    return [swap(run=_with_options(change(places))) for places in chosen]


def _drop_words(self: Any, ids: Tensor) -> Tensor:
    scaled = self.embedding(ids) * self.embedding.embedding_dim**0.5
    return self.positions(Encoder.drop(self, scaled))


def _plain(self: Any, ids: Tensor) -> Tensor:
    return self.positions(self.embedding(ids))


MISTAKES = (
    mistake(
        "embedding not scaled",
        "The word vectors were not multiplied by the root of d_model.",
        "Compare the first line of your `forward` with the formula.",
        swap(embed=_plain),
    ),
    mistake(
        "positions scaled too",
        "The sum of words and positions was scaled; only the words should be.",
        "What is inside the brackets that you multiply?",
        swap(
            embed=lambda self, ids: (
                self.positions(self.embedding(ids)) * self.embedding.embedding_dim**0.5
            )
        ),
    ),
    mistake(
        "scaled by d_model",
        "The word vectors were multiplied by d_model itself.",
        "Which function of d_model appears in the formula?",
        swap(
            embed=lambda self, ids: self.positions(
                self.embedding(ids) * self.embedding.embedding_dim
            )
        ),
    ),
    mistake(
        "divided by the root",
        "The word vectors were divided by the root of d_model, so they almost vanish "
        "next to the positions.",
        "Which should contribute most to the sum: the words or the positions?",
        swap(
            embed=lambda self, ids: self.positions(
                self.embedding(ids) / self.embedding.embedding_dim**0.5
            )
        ),
    ),
    mistake(
        "no positions",
        "The positions were never added, so any order of the words gives the same "
        "vectors.",
        "Which of the parts that `__init__` creates does your `forward` not use?",
        swap(
            embed=lambda self, ids: (
                self.embedding(ids) * self.embedding.embedding_dim**0.5
            )
        ),
    ),
    mistake(
        "words added twice",
        "The word vectors were added to a sum that already contains them.",
        "What does `PositionalEncoding` return: its rows, or x plus its rows?",
        swap(embed=_words_twice),
    ),
    mistake(
        "max_length ignored",
        "There are always 512 positions, whatever max_length says.",
        "Follow `max_length` from the arguments of `__init__` to the positions.",
        _FixedLength,
    ),
    mistake(
        "mask not passed on",
        "The layers were called without the mask, so tokens attend to padding.",
        "Follow `mask` to the call of each layer.",
        swap(climb=lambda self, x, mask: Encoder.climb(self, x, None)),
    ),
    mistake(
        "mask for the first layer only",
        "Only the first layer got the mask.",
        "Is padding any more meaningful after one layer?",
        swap(climb=_mask_once),
    ),
    mistake(
        "one layer, many times",
        "All layers are the same object, so they share their weights.",
        "How often does your `__init__` create a layer, and how many are needed?",
        swap(stack=_same_layer),
    ),
    mistake(
        "layers in a plain list",
        "The layers are in a plain list: torch does not look inside it, so "
        "`parameters()` misses them.",
        "Which of torch's lists registers the modules that it holds?",
        swap(stack=_plain_list),
    ),
    mistake(
        "every layer reads the embedding",
        "The last layer read the embedded words themselves, so the layers before it "
        "have no influence.",
        "What goes into the second layer?",
        swap(climb=_from_the_start),
    ),
    mistake(
        "only the first layer",
        "The result is the output of the first layer.",
        "Does the loop end too early? Look at the indentation of `return`.",
        swap(climb=_only_first),
        swap(climb=_only_first_returned),
        swap(climb=_only_first, finish=lambda self, x: x),
    ),
    mistake(
        "a residual around each layer",
        "Each layer's output was added to its input, but the residuals are already "
        "inside the layers.",
        "Does the encoder add anything that its layers don't?",
        swap(climb=_residuals),
    ),
    mistake(
        "last norm missing",
        "With norm_first, nothing normalises the last sum.",
        "What comes out of a pre-norm layer: something normalised, or a sum?",
        swap(finish=lambda self, x: x),
    ),
    mistake(
        "last norm always",
        "The last norm is applied without norm_first too, where each layer already "
        "ends with a norm of its own.",
        "When is the last norm needed?",
        swap(finish=_norm_always),
        swap(finish=_norm_always_with_default_eps),
    ),
    mistake(
        "last norm after every layer",
        "The last norm was applied after every layer, not once at the end.",
        "Is it inside your loop?",
        swap(climb=_norm_every_layer, finish=lambda self, x: x),
    ),
    mistake(
        "no dropout",
        "In training, nothing is dropped from the sum of words and positions.",
        "Where do you use the dropout from `__init__`?",
        swap(drop=lambda self, x: x),
    ),
    mistake(
        "dropout before the positions",
        "Dropout was applied to the words before the positions were added.",
        "In which order does the task list the two steps?",
        swap(embed=_drop_words, drop=lambda self, x: x),
    ),
    mistake(
        "dropout active in eval mode",
        "Dropout stays on after `.eval()`: it does not know which mode the encoder is "
        "in.",
        "What tells dropout whether the encoder is in training mode?",
        swap(drop=lambda self, x: F.dropout(x, self.options[0])),
    ),
    mistake(
        "norm_first not passed on",
        "The layers are post-norm, whatever norm_first says.",
        "Compare the arguments of `__init__` with those you pass to each layer.",
        swap(run=_with_options(lambda rate, act, pre, eps: (rate, act, False, eps))),
    ),
    mistake(
        "activation not passed on",
        "The layers use ReLU, whatever activation was asked for.",
        "Compare the arguments of `__init__` with those you pass to each layer.",
        swap(run=_with_options(lambda rate, act, pre, eps: (rate, "relu", pre, eps))),
    ),
    mistake(
        "eps not passed on",
        "The layers' norms use an epsilon of 1e-5, whatever was asked for.",
        "Compare the arguments of `__init__` with those you pass to each layer.",
        swap(run=_with_options(lambda rate, act, pre, eps: (rate, act, pre, 1e-5))),
    ),
    mistake(
        "two options not passed on",
        "Two of the four options did not reach the layers.",
        "Compare the arguments of `__init__` with those you pass to each layer.",
        *tuple(_defaults(2)),
    ),
    mistake(
        "three options not passed on",
        "Only one of the four options reached the layers.",
        "Compare the arguments of `__init__` with those you pass to each layer.",
        *tuple(_defaults(3)),
    ),
    mistake(
        "options passed on as one",
        "A layer was given the tuple `options` as a whole, and took it for its rate of "
        "dropout, which has to be a number.",
        "What does a star in front of `options` do in a call?",
        swap(stack=_options_as_one),
        swap(stack=_dropout_of(lambda options: options)),
        swap(run=_with_options(lambda *options: (options, "relu", False, 1e-5))),
    ),
    mistake(
        "dropout left out of the call",
        "A layer was given its options without the first, dropout, so the name of the "
        "activation came where the rate of dropout is expected.",
        "In which order does the layer take its arguments?",
        swap(stack=_without_the_rate),
        swap(stack=_dropout_of(lambda options: options[1])),
    ),
    mistake(
        "dropout not passed on",
        "The layers' dropout rate is 0.1, whatever rate was asked for.",
        "Compare the arguments of `__init__` with those you pass to each layer.",
        swap(run=_with_options(lambda rate, act, pre, eps: (0.1, act, pre, eps))),
    ),
    mistake(
        "no option passed on",
        "The layers were built with sizes only: dropout, activation, norm order and "
        "epsilon are left at their defaults.",
        "Compare the arguments of `__init__` with those you pass to each layer.",
        swap(run=_with_options(lambda rate, act, pre, eps: (0.1, "relu", False, 1e-5))),
    ),
)

EXERCISES = (
    Exercise(
        "4.E",
        "The encoder",
        "class",
        difficulty=2,
        points=4,
        core=True,
        answers=(
            Answer(
                "Encoder",
                Encoder,
                {"output": "batch, length, d_model"},
                parts=("embedding", "layers"),
            ),
        ),
        cases=_cases,
        proves="scale, positions, masks, layers with weights of their own, dropout in "
        "training only, the last norm, the gradient",
        misconceptions=MISTAKES,
    ),
)
