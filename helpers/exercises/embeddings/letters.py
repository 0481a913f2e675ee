"""1.C: letters as vectors, trained to predict the letter that follows."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.embeddings.shared import some_ids
from helpers.exercises.kit import exchanging, normal


def next_letter_loss(table: Tensor, weight: Tensor, bias: Tensor, ids: Tensor) -> Any:
    """The course's own answer to 1.C."""
    return _loss(table, weight, bias, ids)


def _loss(
    table: Tensor,
    weight: Tensor,
    bias: Tensor,
    ids: Tensor,
    *,
    read: Callable = lambda ids: ids[:-1],
    right: Callable = lambda ids: ids[1:],
    score: Callable = lambda vectors, weight, bias: vectors @ weight + bias,
    cost: Callable = F.cross_entropy,
) -> Any:
    """The loss with one step exchanged."""
    return cost(score(table[read(ids)], weight, bias), right(ids))


swap = exchanging(_loss)


def _all(ids: Tensor) -> Tensor:
    return ids


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, count: int, width: int, length: int, **more: Any) -> Case:
        # float32, as in every model: `one_hot(...).float() @ table` is a right answer.
        sizes = (count, width), (width, count), (count,)
        tensors = (normal(draw, *size, dtype=torch.float32) for size in sizes)
        ids = some_ids(draw, count, length)
        inputs = "table", "weight", "bias", "ids"
        return Case(name, (*tensors, ids), inputs=inputs, **more)

    return [
        case("27 letters in two dimensions", 27, 2, 40),
        case("a short text", 5, 2, 4),
        case("three dimensions", 6, 3, 9),
        case("more letters than the text has", 11, 2, 7),
        case("the gradient", 7, 2, 12, gradient=True),
    ]


def _probability(logits: Tensor, right: Tensor) -> Tensor:
    return -logits.softmax(-1).gather(-1, right[:, None]).mean()


def _across(logits: Tensor, right: Tensor) -> Tensor:
    """A softmax over the text instead of over the letters."""
    return F.nll_loss(logits.log_softmax(0), right)


MISTAKES = (
    mistake(
        "not shifted",
        "Each letter was asked for itself, not for the letter after it.",
        "Write the text twice on paper, and below each letter the one to be guessed.",
        swap(read=_all, right=_all),
        swap(right=lambda ids: ids[:-1]),
        swap(read=lambda ids: ids[1:]),
    ),
    mistake(
        "shifted the wrong way",
        "Each letter was asked for the one before it.",
        "Which of the two begins earlier in the text: what is read, or what is asked?",
        swap(read=lambda ids: ids[1:], right=lambda ids: ids[:-1]),
        swap(read=_all, right=lambda ids: ids.roll(1)),
    ),
    mistake(
        "last letter kept",
        "The last letter was asked as well, for the first one of the text.",
        "How many letters of a text of four have a next one?",
        swap(read=_all, right=lambda ids: ids.roll(-1)),
    ),
    mistake(
        "shifted twice",
        "Each letter was asked for the one after the next.",
        "Count the shifts on the way: is there one too many?",
        swap(read=lambda ids: ids[:-2], right=lambda ids: ids[2:]),
    ),
    mistake(
        "bias forgotten",
        "The bias was not added to the scores.",
        "Which of your four inputs have you not used yet?",
        swap(score=lambda vectors, weight, bias: vectors @ weight),
    ),
    mistake(
        "bias subtracted",
        "The bias was subtracted from the scores.",
        "With which sign does the formula have the bias?",
        swap(score=lambda vectors, weight, bias: vectors @ weight - bias),
    ),
    mistake(
        "softmax twice",
        "The scores went through a softmax twice: `cross_entropy` and `log_softmax` "
        "apply one of their own.",
        "Does the function that takes the logarithm expect scores or probabilities?",
        swap(cost=lambda logits, right: F.cross_entropy(logits.softmax(-1), right)),
    ),
    mistake(
        "softmax over the text",
        "The softmax ran along the text, so the probabilities of the letters at one "
        "place do not sum to 1.",
        "Which axis holds the candidates among which one letter is chosen?",
        swap(cost=_across),
    ),
    mistake(
        "no logarithm",
        "The result is a mean of probabilities, without their logarithm.",
        "What does cross-entropy do with the probability of the right letter?",
        swap(cost=_probability),
    ),
    mistake(
        "the sign",
        "The result is negative: the sign in front of the logarithm is missing.",
        "Is a model that is surely right to get a loss of 0, and any other more or "
        "less than that?",
        swap(cost=lambda logits, right: -F.cross_entropy(logits, right)),
    ),
    mistake(
        "sum instead of mean",
        "The loss was added up over the text, so a longer text would have a larger "
        "one.",
        "Read what the docstring promises about the mean.",
        swap(
            cost=lambda logits, right: F.cross_entropy(logits, right, reduction="sum")
        ),
    ),
    mistake(
        "one number per letter",
        "The losses of all letters came back, not their mean.",
        "What should `loss.backward()` start from?",
        swap(
            cost=lambda logits, right: F.cross_entropy(logits, right, reduction="none")
        ),
    ),
    mistake(
        "a bare number",
        "The loss came back as a Python number, so no gradient can flow back from it.",
        "What does `.item()` lose, and who calls `.backward()`?",
        lambda *inputs: _loss(*inputs).item(),
    ),
    mistake(
        "the table cut off",
        "The number is right, but no gradient reaches the table, so the letters could "
        "not move.",
        "Look for `.detach()`, `.data` or `no_grad` between the table and the scores.",
        lambda table, *others: _loss(table.detach(), *others),
    ),
)

EXERCISES = (
    Exercise(
        "1.C",
        "A loss for letters",
        "function",
        difficulty=2,
        points=2,
        core=True,
        answers=(Answer("next_letter_loss", next_letter_loss, {"loss": ""}),),
        cases=_cases,
        proves="each letter is asked for the next one, the last for none; mean, "
        "gradient",
        locates=False,  # running sums part from the others at once
        misconceptions=MISTAKES,
    ),
)
