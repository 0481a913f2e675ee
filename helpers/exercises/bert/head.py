"""9.B: the head that guesses words; 9.G: what stop words take away."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    mistake,
    value_cases,
)
from helpers.exercises.kit import normal
from helpers.models.bert import MaskedLanguageHead

PARTS = ("dense", "norm", "decoder")


def _biases(module: nn.Module, hidden: Tensor) -> Look:
    """Asked of a new instance: the reference may hold the student's own layers."""
    new = type(module)(7, 13)
    layers = {name: getattr(new, name, None) for name in ("dense", "decoder")}
    return Look(
        {
            f"bias of {name}": "there"
            if isinstance(getattr(layer, "bias", None), Tensor)
            else "missing"
            for name, layer in layers.items()
        }
    )


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, d_model: int, vocab_size: int, *lead: int, **more) -> Case:
        dtype = more.pop("dtype", torch.float64)
        args, init = (
            (normal(draw, *lead, d_model, scale=2.0, dtype=dtype),),
            (d_model, vocab_size),
        )
        return Case(name, args, inputs=("hidden",), init=init, **more)

    return [
        case("two sentences of five tokens", 7, 13, 2, 5),
        case("three sentences, with the gradient", 6, 11, 3, 4, gradient=True),
        case("chosen tokens alone", 8, 17, 5),
        case("float32", 5, 12, 2, 3, dtype=torch.float32),
        case("a new head", 7, 13, 2, look=_biases),
    ]


class _Head(MaskedLanguageHead):
    """The course's head with one step exchanged."""

    act: Callable = staticmethod(F.gelu)
    order: tuple[str, ...] = ("dense", "act", "norm", "decoder")

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., D) -> (..., V)."""
        for step in self.order:
            hidden = getattr(self, step)(hidden)
        return hidden


@mistake(
    "no activation",
    "The numbers go from the first linear layer into the norm without an activation "
    "function.",
    "Which steps does the docstring name, and which of them does `forward` take?",
)
class _Straight(_Head):
    order = ("dense", "norm", "decoder")


class _Tanh(_Head):
    act = staticmethod(torch.tanh)


class _Silu(_Head):
    act = staticmethod(F.silu)


@mistake(
    "GELU by an approximation",
    "The activation is GELU's tanh approximation, which GPT-2 uses; BERT has the exact "
    "function.",
    "Which option did you give to GELU, or which formula for it did you write?",
)
class _GeluTanh(_Head):
    act = staticmethod(lambda x: F.gelu(x, approximate="tanh"))


@mistake(
    "another activation",
    "The activation function is not GELU.",
    "Which steps does the docstring name, and which activation function is yours?",
    _Tanh,
    _Silu,
)
class _Relu(_Head):
    act = staticmethod(F.relu)


@mistake(
    "no norm",
    "The norm was not applied.",
    "Which of the three parts is missing from your `forward`?",
)
class _NoNorm(_Head):
    order = ("dense", "act", "decoder")


@mistake(
    "norm before the activation",
    "The norm came before the activation.",
    "In which order does the docstring name the steps?",
)
class _Early(_Head):
    order = ("dense", "norm", "act", "decoder")


@mistake(
    "norm first",
    "The norm was applied to the encoder's output, which has been through one already.",
    "In which order does the docstring name the steps?",
)
class _First(_Head):
    order = ("norm", "dense", "act", "decoder")


@mistake(
    "dense layer skipped",
    "The first linear layer was not applied.",
    "Which of the three parts is missing from your `forward`?",
)
class _NoDense(_Head):
    order = ("act", "norm", "decoder")


class _Log(_Head):
    def forward(self, hidden: Tensor) -> Tensor:
        return super().forward(hidden).log_softmax(-1)


@mistake(
    "probabilities in place of logits",
    "A softmax or its logarithm came last; the task asks for logits, and the loss "
    "applies a softmax of its own.",
    "What does `F.cross_entropy` expect?",
    _Log,
)
class _Softmax(_Head):
    def forward(self, hidden: Tensor) -> Tensor:
        return super().forward(hidden).softmax(-1)


class _DenseWithout(_Head):
    def __init__(self, d_model: int, vocab_size: int) -> None:
        super().__init__(d_model, vocab_size)
        self.dense = nn.Linear(d_model, d_model, bias=False)


class _BothWithout(_DenseWithout):
    def __init__(self, d_model: int, vocab_size: int) -> None:
        super().__init__(d_model, vocab_size)
        self.decoder = nn.Linear(d_model, vocab_size, bias=False)


@mistake(
    "no bias",
    "At least one of the two linear layers has no bias.",
    "Which options did you give the linear layers, and what does the docstring say?",
    _DenseWithout,
    _BothWithout,
)
class _Without(_Head):
    def __init__(self, d_model: int, vocab_size: int) -> None:
        super().__init__(d_model, vocab_size)
        self.decoder = nn.Linear(d_model, vocab_size, bias=False)


LEFT = ("food", "good", "come")
STOP_WORDS = (
    mistake(
        "one string",
        "The words are right, but they are in one string; a list or tuple of words is "
        "asked for.",
        "What does `split` return, and what did you make of it?",
        "food good come",
        ("food good come",),
    ),
    mistake(
        "the stop words",
        "These are the words that go; asked for are those that stay.",
        "Read your condition aloud: which words does it let through?",
        ("the", "was", "not", "and", "i", "would", "never", "back"),
    ),
    mistake(
        "not and never kept",
        "You kept negations: this list throws them away like any other stop word.",
        "Print the list, or look up single words in it with `in`.",
        ("food", "not", "good", "never", "come"),
        ("food", "not", "good", "never", "come", "back"),
        ("food", "not", "good", "would", "never", "come", "back"),
    ),
    mistake(
        "would and back kept",
        "You kept words that are on the list: it holds more than articles and "
        "pronouns.",
        "Look up every single word in the list with `in`.",
        ("food", "good", "come", "back"),
        ("food", "good", "would", "come", "back"),
        ("food", "good", "would", "come"),
    ),
)

EXERCISES = (
    Exercise(
        "9.B",
        "A head that guesses words",
        "class",
        difficulty=1,
        points=2,
        core=True,
        answers=(
            Answer(
                "MaskedLanguageHead",
                MaskedLanguageHead,
                {"logits": "..., vocabulary"},
                parts=PARTS,
            ),
        ),
        cases=_cases,
        proves="order of the steps, GELU, logits and gradient, float32",
        misconceptions=(
            _Straight,
            _GeluTanh,
            _Relu,
            _NoNorm,
            _Early,
            _First,
            _NoDense,
            _Softmax,
            _Without,
        ),
    ),
    Exercise(
        "9.G",
        "Bug hunt: what do stop words take away?",
        "value",
        difficulty=1,
        points=1,
        answers=(Answer("left", LEFT),),
        cases=lambda seed: value_cases(),
        proves="no negation survives: food, good, come",
        misconceptions=STOP_WORDS,
    ),
)
