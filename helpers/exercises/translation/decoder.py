"""8.B: one vector into a sentence."""

from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import exchanging, normal
from helpers.exercises.translation.shared import (
    PLAIN,
    not_plain,
    of_kind,
    outputs,
    remember,
    sentences,
)


class Decoder(nn.Module):
    """The course's own answer to 8.B; misconceptions exchange one of its steps."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        """Create the table of words, the recurrent layer and the scores of words."""
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.rnn = self.layer(d_model)
        self.final_layer = nn.Linear(d_model, vocab_size)
        remember(self, "rnn")

    def layer(self, d_model: int) -> nn.Module:
        """The recurrent layer."""
        return nn.GRU(d_model, d_model, batch_first=True)

    def forward(self, target: Tensor, context: Tensor) -> Tensor:
        """(B, T), (B, D) -> logits (B, T, V)."""
        return self.finish(self.run(self.embedding(target), self.start(context)))

    def start(self, context: Tensor) -> Tensor:
        """The first state, (1, B, D)."""
        return context[None].contiguous()

    def run(self, words: Tensor, state: Tensor) -> Tensor:
        """(B, T, D) -> a state for each position, (B, T, D)."""
        self.rnn.batch_first = True  # whatever the student's says
        return self.rnn(words, state)[0]

    def finish(self, states: Tensor) -> Tensor:
        """A score for each word of the vocabulary."""
        return self.final_layer(states)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    look = of_kind("rnn", PLAIN, outputs("logits"))

    def case(
        name: str, lengths: tuple, width: int, init: tuple, dtype=torch.float64, **more
    ) -> Case:
        target = sentences(draw, lengths, width, init[0])
        context = normal(draw, len(lengths), init[1], dtype=dtype)
        names = ("target", "context")
        inputs = target, context
        return Case(name, inputs, inputs=names, init=init, look=look, **more)

    return [
        case("three targets", (5, 5, 5), 5, (11, 4)),
        case("another size", (6, 6), 6, (13, 7)),
        case("padding at the end", (4, 2, 5), 5, (11, 3)),
        case("as many words as targets", (4, 4, 4, 4), 4, (13, 5)),
        case("only the start token", (1, 1), 1, (11, 4)),
        case("float32", (4, 4, 4), 4, (11, 5), dtype=torch.float32),
        case("the gradient", (4, 3), 4, (11, 3), gradient=True),
    ]


swap = exchanging(Decoder)


def _time_first(self: Any, words: Tensor, state: Tensor) -> Tensor:
    """Time and batch swapped; the state fits only where both have the same length."""
    self.rnn.batch_first = False
    return self.rnn(words, state)[0]


def _own_words(self: Any, target: Tensor, context: Tensor) -> Tensor:
    """Each word is the one the model has just chosen, not the true one."""
    self.rnn.batch_first = True
    word, state, scores = target[:, :1], self.start(context), []
    for _ in range(target.shape[1]):
        states, state = self.rnn(self.embedding(word), state)
        scores.append(self.finish(states))
        word = scores[-1].argmax(-1)
    return torch.cat(scores, 1)


def _new_start(self: Any, words: Tensor, state: Tensor) -> Tensor:
    """Every word starts from the context again."""
    return torch.cat([Decoder.run(self, word, state) for word in words.split(1, 1)], 1)


def _shifted(self: Any, target: Tensor, context: Tensor) -> Tensor:
    return Decoder.forward(self, target[:, :-1], context)


def _added(self: Any, target: Tensor, context: Tensor) -> Tensor:
    words = self.embedding(target) + context[:, None]
    return self.finish(self.run(words, torch.zeros_like(self.start(context))))


def _added_too(self: Any, target: Tensor, context: Tensor) -> Tensor:
    words = self.embedding(target) + context[:, None]
    return self.finish(self.run(words, self.start(context)))


def _backwards(self: Any, words: Tensor, state: Tensor) -> Tensor:
    return Decoder.run(self, words.flip(1), state).flip(1)


def _without_layer(self: Any, words: Tensor, state: Tensor) -> Tensor:
    return words + state[0][:, None]


MISTAKES = (
    mistake(
        "context unused",
        "The first state is zero: the decoder knows nothing about the source.",
        "Follow `context`: where does the recurrent layer get it?",
        swap(start=lambda self, context: torch.zeros_like(context)[None]),
    ),
    mistake(
        "no axis for the layers",
        "The context went into `nn.GRU` as it is, but a first state needs one more "
        "axis, for the layers.",
        "Print the shape of the second thing that `nn.GRU` returns.",
        swap(start=lambda self, context: context),
    ),
    mistake(
        "layer axis in the wrong place",
        "The axis for the layers is not where `nn.GRU` expects it.",
        "Print the shape of the second thing that `nn.GRU` returns.",
        swap(start=lambda self, context: context[:, None].contiguous()),
    ),
    mistake(
        "context as an input",
        "The context was added to the words, and the first state is zero.",
        "A recurrent layer takes two things: inputs, and the state it starts from.",
        swap(forward=_added),
    ),
    mistake(
        "context in every word too",
        "The context is the first state, as it should be, but it was also added to "
        "every word.",
        "How often does this decoder get to see the context?",
        swap(forward=_added_too),
    ),
    mistake(
        "its own words read",
        "The decoder read its own predictions, not the true words.",
        "With teacher forcing, which words enter the recurrent layer during training?",
        swap(forward=_own_words),
    ),
    mistake(
        "restarted at each word",
        "Every word started from the context, so nothing written before it counts.",
        "From which state should the second word start?",
        swap(run=_new_start),
    ),
    mistake(
        "last word dropped",
        "The last word of the target was dropped, but the caller has already done "
        "that.",
        "The docstring promises a row of scores for each word of `target`.",
        swap(forward=_shifted),
    ),
    mistake(
        "only the last position",
        "Scores for a single position came back, but every position predicts its next "
        "word.",
        "The recurrent layer returns the states at all positions, and the last one: "
        "which of the two do you need?",
        swap(finish=lambda self, states: self.final_layer(states[:, -1])),
        swap(finish=lambda self, states: self.final_layer(states[:, -1:])),
        swap(finish=lambda self, states: self.final_layer(states[:, -1])[None]),
    ),
    mistake(
        "probabilities, not logits",
        "Probabilities or their logarithms came back, but the loss applies a softmax "
        "of its own.",
        "What does `F.cross_entropy` expect?",
        swap(finish=lambda self, states: self.final_layer(states).softmax(-1)),
        swap(finish=lambda self, states: self.final_layer(states).log_softmax(-1)),
    ),
    mistake(
        "words, not scores",
        "The most likely word of each position came back, not a score for each word.",
        "What does `F.cross_entropy` expect?",
        swap(finish=lambda self, states: self.final_layer(states).argmax(-1)),
    ),
    mistake(
        "vocabulary before the words",
        "The logits are (batch, vocabulary, words), but the vocabulary comes last.",
        "Which shape does the docstring promise?",
        swap(finish=lambda self, states: self.final_layer(states).mT),
    ),
    mistake(
        "states, not scores",
        "The states were returned as they are.",
        "Which of the parts has not been used?",
        swap(finish=lambda self, states: states),
    ),
    mistake(
        "time and batch swapped",
        "The recurrence ran from sentence to sentence, not from word to word.",
        "Which axis does `nn.GRU` take for time, and which argument changes that?",
        swap(run=_time_first),
    ),
    mistake(
        "read backwards",
        "The target was read from its end to its beginning, so each position has seen "
        "the words that follow it.",
        "In which order do the words enter the recurrent layer?",
        swap(run=_backwards),
    ),
    mistake(
        "no recurrence",
        "Words and context were added up; the recurrent layer was never used.",
        "Which of the parts has not been used?",
        swap(run=_without_layer),
    ),
    *not_plain(swap),
)

EXERCISES = (
    Exercise(
        "8.B",
        "One vector into a sentence",
        "class",
        difficulty=2,
        points=3,
        core=True,
        answers=(
            Answer(
                "Decoder",
                Decoder,
                {"logits": "batch, target length, vocabulary"},
                parts=("embedding", "rnn", "final_layer"),
            ),
        ),
        cases=_cases,
        proves="one GRU that starts from the context and reads the true words, scores "
        "at every position, gradient",
        misconceptions=MISTAKES,
    ),
)
