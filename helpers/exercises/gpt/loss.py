"""10.C: the loss of a language model, and the shift in it."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.gpt.shared import tokens
from helpers.exercises.kit import exchanging, normal


def language_model_loss(logits: Tensor, ids: Tensor) -> Tensor:
    """The course's own answer to 10.C."""
    return _loss(logits, ids)


def _loss(
    logits: Tensor,
    ids: Tensor,
    *,
    rows: Callable = lambda logits: logits[:, :-1],
    labels: Callable = lambda ids: ids[:, 1:],
    turn: Callable = lambda logits: logits.transpose(1, 2),
    **how: Any,
) -> Tensor:
    """Cross-entropy with one step exchanged."""
    return F.cross_entropy(turn(rows(logits)), labels(ids), **how)


swap = exchanging(_loss)


def _all(x: Tensor) -> Tensor:
    return x


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, *size: int, dtype: Any = torch.float64, **more: Any) -> Case:
        batch, length, vocab = size
        logits = normal(draw, *size, dtype=dtype)
        ids = tokens(draw, vocab, batch, length)
        return Case(name, (logits, ids), inputs=("logits", "ids"), **more)

    return [
        case("two texts of five tokens", 2, 5, 7),
        case("more tokens than words", 3, 9, 4),
        case("one text", 1, 6, 11),
        case("two tokens", 4, 2, 5),
        case("float32", 3, 4, 6, dtype=torch.float32),
        case("the gradient", 2, 4, 5, gradient=True),
    ]


def _wrapped(ids: Tensor) -> Tensor:
    return ids.roll(-1, 1)


def _padded(ids: Tensor) -> Tensor:
    return torch.cat([ids[:, 1:], torch.zeros_like(ids[:, :1])], 1)


def _reread(logits: Tensor) -> Tensor:
    batch, length, vocab = logits.shape
    return logits.reshape(batch, vocab, length)


def _across(logits: Tensor, ids: Tensor) -> Tensor:
    """All texts in one row: the last position of a text meets the next text."""
    return F.cross_entropy(logits.flatten(0, 1)[:-1], ids.flatten()[1:])


def _unpadded(logits: Tensor, ids: Tensor) -> Tensor:
    """Id 0 counts nothing, but stays among the questions that are counted."""
    each = swap(reduction="none", ignore_index=0)(logits, ids)
    return each.mean()


def _probability(logits: Tensor, ids: Tensor) -> Tensor:
    chosen = logits[:, :-1].softmax(-1).gather(-1, ids[:, 1:, None])
    return -chosen.mean().log()


MISTAKES = (
    mistake(
        "a bare number",
        "The loss came back as a Python number, so no gradient can flow back from it.",
        "What does `.item()` lose, and who calls `.backward()`?",
        lambda logits, ids: _loss(logits, ids).item(),
    ),
    mistake(
        "not shifted",
        "Each position was asked for the token it has just read.",
        "Row t of the logits comes after token t. Which token should it predict?",
        swap(rows=_all, labels=_all),
        swap(labels=lambda ids: ids[:, :-1]),
        swap(rows=lambda logits: logits[:, 1:]),
    ),
    mistake(
        "shifted the wrong way",
        "Each position was asked for the token before it.",
        "Write two rows on paper: what is read, and what should be predicted. Which "
        "of the two begins earlier in the text?",
        swap(rows=lambda logits: logits[:, 1:], labels=lambda ids: ids[:, :-1]),
        swap(rows=_all, labels=lambda ids: ids.roll(1, 1)),
    ),
    mistake(
        "no softmax",
        "The scores themselves were taken for logarithms of probabilities.",
        "Which function makes probabilities of logits, and which their logarithms?",
        lambda logits, ids: -logits[:, :-1].gather(-1, ids[:, 1:, None]).mean(),
    ),
    mistake(
        "last position kept",
        "The last position was asked as well, for the first token or for id 0, though "
        "its next token is not known.",
        "How many tokens of a text of five have a next one?",
        swap(rows=_all, labels=_wrapped),
        swap(rows=_all, labels=_padded),
    ),
    mistake(
        "shifted twice",
        "Each position was asked for the token after the next one.",
        "Count the shifts on the way: is there one too many?",
        swap(rows=lambda logits: logits[:, :-2], labels=lambda ids: ids[:, 2:]),
        swap(rows=lambda logits: logits[:, :-1], labels=lambda ids: _far(ids)),
    ),
    mistake(
        "shifted after flattening",
        "The texts were put in one row before the shift, so the last position of each "
        "text was asked for the first token of the next one.",
        "How many questions do two texts of five tokens ask? Count yours.",
        _across,
    ),
    mistake(
        "token 0 left out",
        "Wherever the next token has id 0, nothing was counted; here 0 is a token like "
        "any other.",
        "Is there any padding in these texts?",
        swap(ignore_index=0),
        _unpadded,
    ),
    mistake(
        "shifted along the batch",
        "Each text was asked for the tokens of the next text.",
        "Which axis of ids is time?",
        swap(rows=lambda logits: logits[:-1], labels=lambda ids: ids[1:]),
    ),
    mistake(
        "reshaped, not transposed",
        "The vocabulary axis was moved by `view` or `reshape`. These keep the numbers "
        "in their old order, so every row is a mixture of several.",
        "Lesson 03 had the same problem with heads. What swaps two axes?",
        swap(turn=_reread),
        swap(turn=lambda logits: logits.contiguous().view(*_turned(logits))),
    ),
    mistake(
        "vocabulary on the last axis",
        "Cross-entropy took the length for the vocabulary.",
        "On which axis does `F.cross_entropy` expect the scores of the classes?",
        swap(turn=_all),
    ),
    mistake(
        "softmax twice",
        "The scores went through a softmax twice: `cross_entropy` and `log_softmax` "
        "apply one of their own.",
        "Does the function that takes the logarithm expect scores or probabilities?",
        swap(turn=lambda logits: logits.softmax(-1).transpose(1, 2)),
    ),
    mistake(
        "sum instead of mean",
        "The loss was added up over all positions: a longer text would weigh more.",
        "Read what the docstring promises about the mean.",
        swap(reduction="sum"),
        lambda logits, ids: swap(reduction="sum")(logits, ids) / len(ids),
    ),
    mistake(
        "divided by all positions",
        "The sum was divided by the number of all positions, also of those that were "
        "asked nothing.",
        "How many questions does a text of five tokens ask?",
        lambda logits, ids: swap(reduction="sum")(logits, ids) / ids.numel(),
    ),
    mistake(
        "bits instead of nats",
        "The loss came back in bits: its logarithm has base 2, or it was divided by "
        "the logarithm of 2.",
        "The docstring asks for nats. Which base does their logarithm have?",
        lambda logits, ids: _loss(logits, ids) / math.log(2),
    ),
    mistake(
        "one number per position",
        "The losses of all positions came back, not their mean.",
        "What should `loss.backward()` start from?",
        swap(reduction="none"),
    ),
    mistake(
        "the last position only",
        "Only the last prediction was counted: the others teach just as much.",
        "How many predictions does one text give you?",
        swap(rows=lambda logits: logits[:, -2:-1], labels=lambda ids: ids[:, -1:]),
    ),
    mistake(
        "logarithm of the mean",
        "The probabilities were averaged first, and the logarithm was taken of their "
        "mean.",
        "Cross-entropy is a mean of logarithms.",
        _probability,
    ),
)


def _far(ids: Tensor) -> Tensor:
    return ids[:, 1:].roll(-1, 1)


def _turned(logits: Tensor) -> tuple[int, int, int]:
    batch, length, vocab = logits.shape
    return batch, vocab, length


EXERCISES = (
    Exercise(
        "10.C",
        "The loss, and the shift in it",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(Answer("language_model_loss", language_model_loss, {"loss": ""}),),
        cases=_cases,
        proves="each position is asked for the next token, the last one for none; "
        "mean, gradient",
        locates=False,  # running sums part from the others at once
        misconceptions=MISTAKES,
    ),
)
