"""11.H: the perplexity of a text; 11.K: what RLHF adds."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.generation.shared import ROUNDED, Toy
from helpers.exercises.gpt.shared import tokens
from helpers.exercises.kit import number
from helpers.generation import sampling

VOCAB = 13


def reference(model: Any, ids: Tensor) -> float:
    """The course's own answer to 11.H."""
    return sampling.perplexity(model, ids)


def _look(call: Callable, model: Toy, ids: Tensor) -> Look:
    return Look({"perplexity": number(call(model, ids))})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    return [
        Case(
            f"a text of {length} tokens",
            (Toy(draw, VOCAB, sharp=0.5), tokens(draw, VOCAB, 1, length)),
            inputs=("model", "ids"),
            look=_look,
            tolerance=ROUNDED,
        )
        for length in (6, 9, 2, 5)
    ]


def _surprise(model: Any, ids: Tensor) -> Tensor:
    """- log p of each token but the first, (T - 1)."""
    scores = model(ids).logits[:, :-1]
    return F.cross_entropy(scores.mT, ids[:, 1:], reduction="none")[0]


@mistake(
    "of the mean probability",
    "The probabilities were averaged, and the mean inverted; it is the logarithms "
    "that have to be averaged.",
    "The probability of a text is a product. Which mean fits a product?",
)
def _mean_probability(model: Any, ids: Tensor) -> Tensor:
    return 1 / _surprise(model, ids).neg().exp().mean()


@mistake(
    "no exponential",
    "That is the loss, the mean surprise; the perplexity is not measured in nats.",
    "Compare the formula with your last line.",
)
def _loss(model: Any, ids: Tensor) -> Tensor:
    return _surprise(model, ids).mean()


@mistake(
    "two to the power of nats",
    "2 was raised to a loss in nats; the base has to match the logarithm.",
    "Which logarithm does `log_softmax` take?",
)
def _two(model: Any, ids: Tensor) -> Tensor:
    return 2 ** _surprise(model, ids).mean()


@mistake(
    "not shifted",
    "Each token was compared with the scores that the model gave after reading it.",
    "Which token is row t of the scores about?",
    lambda model, ids: F.cross_entropy(model(ids).logits[:, :-1].mT, ids[:, :-1]).exp(),
)
def _same(model: Any, ids: Tensor) -> Tensor:
    return F.cross_entropy(model(ids).logits.mT, ids).exp()


@mistake(
    "shifted the wrong way",
    "Each row of scores was compared with the token before.",
    "Which token is row t of the scores about?",
)
def _backwards(model: Any, ids: Tensor) -> Tensor:
    return F.cross_entropy(model(ids).logits[:, 1:].mT, ids[:, :-1]).exp()


@mistake(
    "divided by all tokens",
    "The sum was divided by the number of all tokens, but the first one was never "
    "predicted.",
    "How many terms does your sum have?",
)
def _by_all(model: Any, ids: Tensor) -> Tensor:
    return (_surprise(model, ids).sum() / ids.shape[1]).exp()


@mistake(
    "of the sum",
    "The surprise was added up, not averaged, so longer texts get larger numbers.",
    "Should a text be more perplexing because it is longer?",
)
def _sum(model: Any, ids: Tensor) -> Tensor:
    return _surprise(model, ids).sum().exp()


@mistake(
    "sign lost",
    "A sign is missing: the result is below 1, a kind of mean probability.",
    "A good model has a perplexity near 1, a bad one a large perplexity. What is "
    "yours?",
)
def _sign(model: Any, ids: Tensor) -> Tensor:
    return _surprise(model, ids).mean().neg().exp()


@mistake(
    "softmax twice",
    "The scores went through a softmax twice: `cross_entropy` and `log_softmax` apply "
    "one of their own.",
    "Does the function that takes the logarithm expect scores or probabilities?",
)
def _double(model: Any, ids: Tensor) -> Tensor:
    shares = model(ids).logits[:, :-1].softmax(-1)
    return F.cross_entropy(shares.mT, ids[:, 1:]).exp()


@mistake(
    "mean of perplexities",
    "The exponential was taken for every token, and the mean afterwards.",
    "Which comes first, the mean or the exponential?",
)
def _of_each(model: Any, ids: Tensor) -> Tensor:
    return _surprise(model, ids).exp().mean()


@mistake(
    "token 0 left out",
    "A token with id 0 was not counted, but here it is a token like any other.",
    "Is there any padding in this text?",
    lambda model, ids: _surprise(model, ids)[ids[0, 1:] != 0].mean().exp(),
)
def _zero(model: Any, ids: Tensor) -> Tensor:
    scores = model(ids).logits[:, :-1]
    return F.cross_entropy(scores.mT, ids[:, 1:], ignore_index=0).exp()


@mistake(
    "last token left out",
    "The last token was not counted.",
    "How many tokens does the text have after its first?",
)
def _last(model: Any, ids: Tensor) -> Tensor:
    return _surprise(model, ids)[:-1].mean().exp()


EXERCISES = (
    Exercise(
        "11.H",
        "The perplexity of a text",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(Answer("perplexity", reference, {"perplexity": ""}),),
        cases=_cases,
        proves="the shift, the mean, the exponential, texts of four lengths",
        locates=False,  # a product, bits or running sums part from the others at once
        misconceptions=(
            _mean_probability,
            _loss,
            _two,
            _same,
            _backwards,
            _by_all,
            _sum,
            _sign,
            _double,
            _of_each,
            _zero,
            _last,
        ),
    ),
    Exercise(
        "11.K",
        "What reinforcement learning from human feedback adds",
        "written",
        difficulty=3,
        points=3,
    ),
)
