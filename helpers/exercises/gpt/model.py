"""10.B: GPT, whose embedding table is used at both ends."""

from collections.abc import Callable
from typing import Any
from zlib import crc32

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.gpt.shared import tokens
from helpers.exercises.kit import exchanging, normal
from helpers.models import gpt as course
from helpers.models.gpt import GPTBlock, GPTConfig

PARTS = ("embedding", "positions", "layers", "norm")


class GPT(nn.Module):
    """The course's own answer to 10.B; misconceptions exchange one of its steps."""

    def __init__(self, config: GPTConfig) -> None:
        """Create the parts and remember the options."""
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = nn.Embedding(config.max_length, config.d_model)
        self.layers = self.stack()
        self.norm = nn.LayerNorm(config.d_model)

    def layer(self, dropout: float | None = None) -> GPTBlock:
        """A new block."""
        config = self.config
        rate = config.dropout if dropout is None else dropout
        return GPTBlock(config.d_model, config.num_heads, config.d_ff, rate)

    def stack(self) -> nn.ModuleList:
        """As many blocks as asked for."""
        return nn.ModuleList(self.layer() for _ in range(self.config.num_layers))

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) -> logits (B, T, V)."""
        x = self.climb(self.drop(self.embed(ids)))
        return self.score(self.finish(x))

    def embed(self, ids: Tensor) -> Tensor:
        """Tokens and positions."""
        return self.embedding(ids) + self.positions(torch.arange(ids.shape[1]))

    def drop(self, x: Tensor) -> Tensor:
        """Dropout on their sum."""
        return F.dropout(x, self.config.dropout, self.training)

    def climb(self, x: Tensor) -> Tensor:
        """Block after block."""
        for layer in self.layers:
            x = layer(x)
        return x

    def finish(self, x: Tensor) -> Tensor:
        """The last norm."""
        return self.norm(x)

    def score(self, x: Tensor) -> Tensor:
        """A logit for each row of the embedding table."""
        return x @ self.embedding.weight.T


@torch.no_grad()
def _prepare(call: Any) -> Any:
    """Put numbers of our own wherever initial ones say nothing, the same in every run.

    For embeddings and norms they depend on the name. Whatever else a model has (such as
    a scoring layer of its own) gets numbers that depend on its place.
    """
    call.double()
    known = set()
    for part in PARTS:
        module = getattr(call, part, None)
        for name, value in (
            module.named_parameters() if isinstance(module, nn.Module) else ()
        ):
            known.add(value)
            if part != "layers" or "norm" in name:
                _fill(value, f"{part}.{name}", 1.0 if _is_gain(value, name) else 0.0)
    others = [value for value in call.parameters() if value not in known]
    for place, value in enumerate(others):
        _fill(value, f"{place} {tuple(value.shape)}", 0.0)
    return call


def _is_gain(value: Tensor, name: str) -> bool:
    return value.dim() == 1 and name.endswith("weight")


def _fill(value: Tensor, name: str, middle: float) -> None:
    draw = torch.Generator().manual_seed(crc32(name.encode()))
    value.copy_(middle + 0.5 * normal(draw, *value.shape))


def _look(call: Any, ids: Tensor, blocks_drop: bool = True) -> Look:
    if not isinstance(call.layers, nn.ModuleList):
        return Look({"layers": f"of type {type(call.layers).__name__}"})
    if not blocks_drop:
        call.layers.eval()
    _prepare(call)
    return Look(
        {
            "layers": "of type ModuleList",
            "different layers": len({id(layer) for layer in call.layers}),
            "parameters": sum(value.numel() for value in call.parameters()),
            "logits": call(ids),
        }
    )


def _evaluating(call: Any, ids: Tensor) -> Look:
    return _look(call.eval(), ids)


def _training(call: Any, ids: Tensor) -> Look:
    return _look(call.train(), ids)


def _training_outside(call: Any, ids: Tensor) -> Look:
    """Blocks that drop nothing: if they dropped all, what went in would not show.

    They are in eval mode: a block of the student's own may keep its rate anywhere.
    """
    return _look(call.train(), ids, blocks_drop=False)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        size: tuple[int, int],
        sizes: tuple,
        look: Callable = _evaluating,
        **more: Any,
    ) -> Case:
        ids = tokens(draw, sizes[0], *size)
        init = (GPTConfig(*sizes),)
        return Case(name, (ids,), inputs=("ids",), init=init, look=look, **more)

    sizes = (13, 9, 6, 3, 2)  # vocabulary, max_length, d_model, heads, layers
    return [
        case("two layers", (2, 5), sizes),
        case("three layers", (3, 4), (17, 8, 10, 2, 3)),
        case("one layer, as long as it can be", (2, 7), (11, 7, 6, 2, 1)),
        case("one token", (4, 1), sizes),
        case("dropout 1.0, in eval mode", (2, 5), (*sizes, 1.0)),
        case("dropout 1.0, in training", (2, 5), (*sizes, 1.0), look=_training),
        case(
            "dropout 1.0 only outside the blocks, in training",
            (2, 5),
            (*sizes, 1.0),
            look=_training_outside,
        ),
        case("the gradient", (2, 3), sizes, gradient=True),
    ]


swap = exchanging(GPT)


class _Untied(GPT):
    """A second table scores the tokens."""

    bias = False

    def __init__(self, config: GPTConfig) -> None:
        super().__init__(config)
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=self.bias)

    def score(self, x: Tensor) -> Tensor:
        return self.head(x)


class _UntiedWithBias(_Untied):
    bias = True


class _TiedWithBias(GPT):
    """One table, but the scores get a bias."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__(config)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def score(self, x: Tensor) -> Tensor:
        return super().score(x) + self.bias


def _every_layer_from_the_start(self: Any, x: Tensor) -> Tensor:
    for layer in self.layers:
        y = layer(x)
    return y


def _first_layer(self: Any, x: Tensor) -> Tensor:
    return self.layers[0](x)


def _counting(start: int) -> Callable:
    def embed(self: Any, ids: Tensor) -> Tensor:
        places = (torch.arange(ids.shape[1]) + start) % self.config.max_length
        return self.embedding(ids) + self.positions(places)

    return embed


def _out_of_the_table(self: Any, ids: Tensor) -> Tensor:
    places = torch.arange(1, ids.shape[1] + 1)
    return self.embedding(ids) + self.positions(places)


def _times_root(self: Any, ids: Tensor) -> Tensor:
    places = torch.arange(ids.shape[1])
    return self.embedding(ids) * self.config.d_model**0.5 + self.positions(places)


def _dropped_behind(self: Any, ids: Tensor) -> Tensor:
    x = self.drop(self.climb(self.embed(ids)))
    return self.score(self.finish(x))


def _tokens_dropped(self: Any, ids: Tensor) -> Tensor:
    places = torch.arange(ids.shape[1])
    return GPT.drop(self, self.embedding(ids)) + self.positions(places)


MISTAKES = (
    mistake(
        "embeddings untied",
        "The scores come from a layer of their own: there are two tables, and both "
        "are learned.",
        "One row of the table stands for a token when it is read. Which row stands "
        "for it when it is written?",
        _Untied,
        _UntiedWithBias,
    ),
    mistake(
        "a bias for the scores",
        "The table is shared, but a bias was added: GPT-2 has none there.",
        "Does your model hold numbers that belong to none of the stub's parts?",
        _TiedWithBias,
    ),
    mistake(
        "table detached at the end",
        "The scores are right, but no gradient goes through the table where they are "
        "computed.",
        "Look for `.detach()`, `.data` or `no_grad` near the scores.",
        swap(score=lambda self, x: x @ self.embedding.weight.detach().T),
    ),
    mistake(
        "positions forgotten",
        "The tokens have no positions.",
        "Which of the parts of `__init__` is never used?",
        swap(embed=lambda self, ids: self.embedding(ids)),
    ),
    mistake(
        "positions from 1",
        "The first token got the second position.",
        "Where does `torch.arange` begin, and where do your positions?",
        swap(embed=_counting(1)),
        swap(embed=_out_of_the_table),
    ),
    mistake(
        "one position for all",
        "Every token got the first position.",
        "Print the positions that you look up.",
        swap(
            embed=lambda self, ids: (
                self.embedding(ids) + self.positions(torch.tensor(0))
            )
        ),
    ),
    mistake(
        "positions looked up by token",
        "The tokens' ids were looked up in the table of positions.",
        "What does row 3 of the positions belong to: token 3 of the vocabulary, or "
        "the fourth place in the text?",
        swap(embed=lambda self, ids: self.embedding(ids) + self.positions(ids)),
    ),
    mistake(
        "embedding times the root of d_model",
        "The token's vector was scaled up, as in the Transformer of 2017; GPT-2 does "
        "not do that.",
        "What is added in GPT-2, and to what?",
        swap(embed=_times_root),
    ),
    mistake(
        "last norm missing",
        "A pre-norm stack ends with one more layer norm; it is not used.",
        "Which of the parts of `__init__` is never used?",
        swap(finish=lambda self, x: x),
    ),
    mistake(
        "one layer, used again and again",
        "All layers are the same object, so they share their weights.",
        "How often is a block created, and how often is it put into the list?",
        swap(stack=lambda self: nn.ModuleList([self.layer()] * self.config.num_layers)),
    ),
    mistake(
        "a plain list",
        "The layers are in a Python list: torch does not see their weights.",
        "Which container tells the module that it has sub-modules?",
        swap(stack=lambda self: [self.layer() for _ in range(self.config.num_layers)]),
    ),
    mistake(
        "only the last layer counts",
        "Every layer started from the embeddings, so the work of all but the last was "
        "thrown away.",
        "What should go into the second layer?",
        swap(climb=_every_layer_from_the_start),
    ),
    mistake(
        "only the first layer",
        "Only the first block was used.",
        "How often does your loop run? Is a `return` inside it?",
        swap(climb=_first_layer),
    ),
    mistake(
        "softmax at the end",
        "Probabilities, or their logarithms, came back; the task asks for logits, the "
        "raw scores.",
        "Where is the softmax taken when you train? Read on to exercise 10.C.",
        swap(score=lambda self, x: GPT.score(self, x).softmax(-1)),
        swap(score=lambda self, x: GPT.score(self, x).log_softmax(-1)),
    ),
    mistake(
        "the last position only",
        "Scores came back for the last position; training needs them at every "
        "position.",
        "Which axes does the docstring promise?",
        swap(score=lambda self, x: GPT.score(self, x[:, -1])),
        swap(score=lambda self, x: GPT.score(self, x[:, -1:])),
    ),
    mistake(
        "no dropout on the embeddings",
        "In training nothing is dropped from the sum of token and position.",
        "Which of the parts of `__init__` is never used?",
        swap(drop=lambda self, x: x),
    ),
    mistake(
        "dropout in the wrong place",
        "There is dropout outside the blocks, but not on the sum of token and "
        "position.",
        "What goes through dropout, and is that before or after the blocks?",
        swap(forward=_dropped_behind),
        swap(embed=_tokens_dropped, drop=lambda self, x: x),
        swap(
            drop=lambda self, x: x,
            finish=lambda self, x: GPT.drop(self, self.norm(x)),
        ),
    ),
    mistake(
        "dropout not passed on",
        "The blocks drop nothing, whatever the configuration says.",
        "Follow `config.dropout` from `__init__` to the blocks.",
        swap(
            stack=lambda self: nn.ModuleList(
                self.layer(0.0) for _ in range(self.config.num_layers)
            )
        ),
    ),
)

EXERCISES = (
    Exercise(
        "10.B",
        "GPT",
        "class",
        difficulty=3,
        points=3,
        core=True,
        answers=(
            Answer(
                "GPT",
                GPT,
                {"logits": "batch, length, vocabulary"},
                parts=PARTS,
                stand_in=course.GPT,
            ),
        ),
        cases=_cases,
        proves="layers with weights of their own, positions, one table for both ends, "
        "dropout, a gradient in every part",
        misconceptions=MISTAKES,
    ),
)
