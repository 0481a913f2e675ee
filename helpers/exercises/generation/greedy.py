"""11.A: greedy continuation of a prompt, and what `max_length` counts."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import (
    Answer,
    Case,
    Exercise,
    Look,
    mistake,
    value_cases,
)
from helpers.exercises.generation.shared import Toy
from helpers.exercises.gpt.shared import tokens
from helpers.exercises.kit import exchanging
from helpers.generation import sampling

VOCAB = 13


def greedy(model: Any, ids: Tensor, max_new_tokens: int) -> Tensor:
    """The course's own answer to 11.A."""
    return sampling.greedy(model, ids, max_new_tokens)


class Attentive(Toy):
    """A model to which the first token of a long text matters as much as the last."""

    def scores(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, V)."""
        return self.first[ids].cumsum(1).sin()


def _look(call: Callable, model: Toy, ids: Tensor, max_new_tokens: int) -> Look:
    return Look({"ids": call(model, ids, max_new_tokens)}, {"read": model.read})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, batch: int, length: int, new: int, kind: type = Toy) -> Case:
        args = kind(draw, VOCAB), tokens(draw, VOCAB, batch, length), new
        return Case(name, args, inputs=("model", "ids", "max_new_tokens"), look=_look)

    return [
        case("a prompt of 4 tokens, 6 more", 1, 4, 6),
        case("three prompts of 5 tokens, 4 more", 3, 5, 4),
        case("a prompt of one token, 7 more", 1, 1, 7),
        case("two prompts of 6 tokens, 1 more", 2, 6, 1),
        case("two prompts of 3 tokens, 9 more", 2, 3, 9),
        case("two prompts of 40 tokens, 8 more", 2, 40, 8, Attentive),
    ]


def _greedy(
    model: Any,
    ids: Tensor,
    max_new_tokens: int,
    *,
    fed: Callable = lambda ids, prompt: ids,
    place: Callable = lambda logits, prompt: logits[:, -1],
    choose: Callable = lambda scores: scores.argmax(-1, keepdim=True),
    join: Callable = lambda ids, best: torch.cat([ids, best], 1),
    steps: Callable = lambda new, prompt: new,
    finish: Callable = lambda ids, prompt: ids,
) -> Tensor:
    """Greedy continuation with one step exchanged."""
    prompt = ids
    for _ in range(steps(max_new_tokens, prompt)):
        logits = model(fed(ids, prompt)).logits
        ids = join(ids, choose(place(logits, prompt)))
    return finish(ids, prompt)


swap = exchanging(_greedy)


def _draw(scores: Tensor) -> Tensor:
    return torch.multinomial(scores.softmax(-1), 1)


def _end_of(window: int) -> Any:
    """The model reads no more than the last few tokens."""
    return swap(fed=lambda ids, prompt: ids[:, -window:])


def _asked_once(model: Any, ids: Tensor, max_new_tokens: int) -> Tensor:
    """The scores are computed before the loop."""
    best = model(ids).logits[:, -1].argmax(-1, keepdim=True)
    return torch.cat([ids, best.expand(-1, max_new_tokens)], 1)


MISTAKES = (
    mistake(
        "reads the wrong position",
        "The next token was taken from the scores after the first token of the text.",
        "Row t of the scores is about the token after token t. Which row is about "
        "the token that is still missing?",
        swap(place=lambda logits, prompt: logits[:, 0]),
    ),
    mistake(
        "position of the prompt's end",
        "The scores were always read where the prompt ended, even after the text had "
        "grown.",
        "Where does the text end after the first new token?",
        swap(place=lambda logits, prompt: logits[:, prompt.shape[1] - 1]),
    ),
    mistake(
        "the last token only",
        "The model got only the last token, so it knows nothing of what comes before "
        "it.",
        "What does the model have to know to continue your prompt?",
        swap(fed=lambda ids, prompt: ids[:, -1:]),
    ),
    mistake(
        "the last few tokens only",
        "The model got only the last few tokens of a long text, so it knows nothing of "
        "how the text begins.",
        "A prompt has 40 tokens: how many of them does your model read?",
        *map(_end_of, (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 24, 30, 32)),
    ),
    mistake(
        "the prompt again and again",
        "The model only ever read the prompt, so it predicted the same token each "
        "time.",
        "What does the model read in the second round of your loop?",
        swap(fed=lambda ids, prompt: prompt),
        _asked_once,
    ),
    mistake(
        "prompt cut off",
        "The new tokens are right, but the prompt is missing before them.",
        "Which shape does the docstring promise?",
        swap(finish=lambda ids, prompt: ids[:, prompt.shape[1] :]),
    ),
    mistake(
        "prompt counted as new",
        "The prompt was counted: nothing was written once the whole text had "
        "max_new_tokens tokens. That would be `max_length`.",
        "How many tokens does your loop write if the prompt has five?",
        swap(steps=lambda new, prompt: max(new - prompt.shape[1], 0)),
    ),
    mistake(
        "one round only",
        "One token was written, however many were asked for.",
        "Is your `return` inside the loop or after it?",
        swap(steps=lambda new, prompt: 1),
    ),
    mistake(
        "one token too few",
        "One token is missing at the end.",
        "Count the rounds of your loop for max_new_tokens = 1.",
        swap(steps=lambda new, prompt: new - 1),
    ),
    mistake(
        "one token too many",
        "One token more was written than asked for.",
        "Count the rounds of your loop for max_new_tokens = 1.",
        swap(steps=lambda new, prompt: new + 1),
    ),
    mistake(
        "least likely token",
        "The token with the lowest score was taken.",
        "Does a likely token have a high score or a low one?",
        swap(choose=lambda scores: scores.argmin(-1, keepdim=True)),
    ),
    mistake(
        "sampled",
        "The token was drawn at random; greedy decoding always takes the best one.",
        "Is anything random about a greedy choice?",
        swap(choose=_draw),
    ),
    mistake(
        "one choice for the whole batch",
        "All prompts of the batch got the same token.",
        "Along which axis do you look for the best token?",
        swap(choose=lambda s: s[:1].argmax(-1, keepdim=True).expand(len(s), 1)),
        swap(choose=lambda s: s.sum(0).argmax().expand(len(s), 1)),
    ),
    mistake(
        "written in front",
        "The new token was put before the text.",
        "In which order does `torch.cat` put its parts?",
        swap(join=lambda ids, best: torch.cat([best, ids], 1)),
    ),
)

EXERCISES = (
    Exercise(
        "11.A",
        "Greedy continuation",
        "function",
        difficulty=2,
        points=3,
        core=True,
        answers=(Answer("greedy", greedy, {"ids": "batch, prompt + new"}),),
        cases=_cases,
        proves="every token, in batches too, prompts of several lengths, each read "
        "whole",
        misconceptions=MISTAKES,
    ),
    Exercise(
        "11.J",
        "What max_length counts",
        "value",
        difficulty=1,
        points=1,
        answers=(Answer("new_tokens", 91),),
        cases=lambda seed: value_cases(),
        proves="`max_length` counts the prompt, `max_new_tokens` does not",
        misconceptions=(
            mistake(
                "the prompt not counted",
                "That would be `max_new_tokens`; `max_length` is the length of the "
                "whole text.",
                "What is as long as `max_length` says?",
                100,
            ),
            mistake(
                "prompt added",
                "The prompt was added on top; the limit includes it.",
                "What is as long as `max_length` says?",
                109,
            ),
        ),
    ),
)
