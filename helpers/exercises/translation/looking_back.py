"""8.E: a decoder that looks back before each word."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import exchanging, normal
from helpers.exercises.translation.attention import AdditiveAttention
from helpers.exercises.translation.shared import (
    of_kind,
    outputs,
    real,
    remember,
    sentences,
)

Both = tuple[Tensor, Tensor]


class AttentionDecoder(nn.Module):
    """The course's own answer to 8.E; misconceptions exchange one of its steps."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        """Create table, attention, recurrent cell and the scores of words."""
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = AdditiveAttention(d_model)
        self.cell = self.recurrence(2 * d_model, d_model)
        self.final_layer = nn.Linear(d_model, vocab_size)
        remember(self, "cell")

    def recurrence(self, inputs: int, d_model: int) -> nn.Module:
        """What makes the next state of an input and a state."""
        return nn.GRUCell(inputs, d_model)

    def forward(
        self, target: Tensor, memory: Tensor, context: Tensor, mask: Any = None
    ) -> Any:
        """(B, T), (B, S, D), (B, D) -> logits (B, T, V), weights (B, T, S)."""
        state, steps = self.begin(context), []
        for word in self.embedding(target).unbind(1):
            state, *step = self.step(word, state, memory, mask, context)
            steps.append(step)
        states, weights = zip(*steps, strict=True)
        return self.final_layer(torch.stack(states, 1)), torch.stack(weights, 1)

    def begin(self, context: Tensor) -> Tensor:
        """The state before the first word, (B, D)."""
        return context

    def step(
        self, word: Tensor, state: Tensor, memory: Tensor, mask: Any, context: Tensor
    ) -> tuple[Tensor, ...]:
        """(B, D) each -> the next state, what is scored, the weights (B, S)."""
        answer, weights = self.ask(state, memory, mask)
        state = self.turn(word, answer, state)
        return state, state, weights

    def ask(self, state: Tensor, memory: Tensor, mask: Any) -> Both:
        """(B, D), (B, S, D) -> answer (B, D), weights (B, S)."""
        output, weights = self.attention(state[:, None], memory, mask)
        return output[:, 0], weights[:, 0]

    def turn(self, word: Tensor, answer: Tensor, state: Tensor) -> Tensor:
        """One step of the recurrence."""
        return self.cell(torch.cat([word, answer], -1), state)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    look = of_kind("cell", "GRUCell", outputs("logits", "weights"))

    def case(
        name: str,
        size: tuple[int, int, int],
        init: tuple[int, int],
        mask: Tensor | None = None,
        dtype: Any = torch.float64,
        **more: Any,
    ) -> Case:
        (batch, query, key), (vocabulary, width) = size, init
        target = sentences(draw, [query] * batch, query, vocabulary)
        memory = normal(draw, batch, key, width, dtype=dtype)
        context = normal(draw, batch, width, dtype=dtype)
        args = (target, memory, context) + (() if mask is None else (mask,))
        names = ("target", "memory", "context", "mask")
        return Case(name, args, inputs=names, init=init, look=look, **more)

    return [
        case("three targets", (3, 4, 5), (11, 6)),
        case("padding in the source", (2, 4, 5), (13, 6), real((2, 5), 5)),
        case("source and target both 4 long", (3, 4, 4), (11, 5), real((4, 1, 3), 4)),
        case("as many targets as words", (3, 3, 6), (11, 4), real((6, 3, 4), 6)),
        case("only the start token", (2, 1, 4), (11, 5)),
        case("float32", (2, 3, 4), (11, 5), dtype=torch.float32),
        case("the gradient", (2, 3, 4), (11, 3), real((4, 2), 4), gradient=True),
    ]


swap = exchanging(AttentionDecoder)


def _next_state(self: Any, word: Tensor, state: Tensor, memory: Tensor, mask, context):
    """The new state is the query, and the answer waits for the next word."""
    answer = getattr(self, "kept", None)
    answer = torch.zeros_like(state) if answer is None else answer
    state = self.turn(word, answer, state)
    self.kept, weights = self.ask(state, memory, mask)
    return state, state, weights


def _next_state_forward(self: Any, *inputs: Any) -> Any:
    self.kept = None
    return AttentionDecoder.forward(self, *inputs)


def _asks_after(self: Any, word: Tensor, state: Tensor, memory: Tensor, mask, context):
    """The query is a state made without an answer; then the cell runs with one."""
    early = self.turn(word, torch.zeros_like(state), state)
    answer, weights = self.ask(early, memory, mask)
    state = self.turn(word, answer, state)
    return state, state, weights


def _asks_twice(self: Any, word: Tensor, state: Tensor, memory: Tensor, mask, context):
    """The right answer goes in, but the weights of the new state come back."""
    state = self.turn(word, self.ask(state, memory, mask)[0], state)
    return state, state, self.ask(state, memory, mask)[1]


def _forgets_behind(self: Any, *inputs: Any) -> tuple[Tensor, ...]:
    """The state that is passed on has no history."""
    state, *rest = AttentionDecoder.step(self, *inputs)
    return state.detach(), *rest


def _forgets_in_the_cell(self: Any, word: Tensor, answer: Tensor, state: Tensor):
    return AttentionDecoder.turn(self, word, answer, state.detach())


def _first_asks(self: Any, word: Tensor, state: Tensor, memory: Tensor, mask, context):
    answer, weights = self.ask(context, memory, mask)
    state = self.turn(word, answer, state)
    return state, state, weights


def _word_asks(self: Any, word: Tensor, state: Tensor, memory: Tensor, mask, context):
    answer, weights = self.ask(word, memory, mask)
    state = self.turn(word, answer, state)
    return state, state, weights


def _forgets(self: Any, word: Tensor, state: Tensor, memory: Tensor, mask, context):
    _, *step = AttentionDecoder.step(self, word, state, memory, mask, context)
    return state, *step


def _never_moves(self: Any, word: Tensor, state: Tensor, memory, mask, context):
    """What the cell returns is dropped."""
    _, _, weights = AttentionDecoder.step(self, word, state, memory, mask, context)
    return state, state, weights


def _answer_as_state(self: Any, word, state, memory: Tensor, mask, context):
    answer, weights = self.ask(state, memory, mask)
    state = self.turn(word, answer, answer)
    return state, state, weights


def _scores_the_answer(self: Any, word, state, memory: Tensor, mask, context):
    answer, weights = self.ask(state, memory, mask)
    return self.turn(word, answer, state), answer, weights


def _scores_before(self: Any, word, state, memory: Tensor, mask, context):
    new, _, weights = AttentionDecoder.step(self, word, state, memory, mask, context)
    return new, state, weights


def _always_context(self: Any, word, state, memory: Tensor, mask, context):
    _, weights = self.ask(state, memory, mask)
    state = self.turn(word, context, state)
    return state, state, weights


def _own_words(self: Any, target: Tensor, memory: Tensor, context: Tensor, mask=None):
    word, state, logits, looks = target[:, 0], context, [], []
    for _ in range(target.shape[1]):
        state, _, weights = self.step(
            self.embedding(word), state, memory, mask, context
        )
        logits.append(self.final_layer(state))
        looks.append(weights)
        word = logits[-1].argmax(-1)
    return torch.stack(logits, 1), torch.stack(looks, 1)


def _last_weights(self: Any, *inputs: Any) -> Both:
    logits, weights = AttentionDecoder.forward(self, *inputs)
    return logits, weights[:, -1]


def _only_logits(self: Any, *inputs: Any) -> Tensor:
    return AttentionDecoder.forward(self, *inputs)[0]


def _time_first(self: Any, *inputs: Any) -> Both:
    logits, weights = AttentionDecoder.forward(self, *inputs)
    return logits.transpose(0, 1), weights.transpose(0, 1)


def _softmax(self: Any, *inputs: Any) -> Both:
    logits, weights = AttentionDecoder.forward(self, *inputs)
    return logits.softmax(-1), weights


def _log_softmax(self: Any, *inputs: Any) -> Both:
    logits, weights = AttentionDecoder.forward(self, *inputs)
    return logits.log_softmax(-1), weights


def _extra_axis(self: Any, *inputs: Any) -> Both:
    logits, weights = AttentionDecoder.forward(self, *inputs)
    return logits, weights[:, :, None]


def _joined(axis: int) -> Callable:
    """The states joined along an axis that is there already."""

    def forward(self: Any, target: Tensor, memory: Tensor, context: Tensor, mask=None):
        state, states, looks = context, [], []
        for word in self.embedding(target).unbind(1):
            state, _, weights = self.step(word, state, memory, mask, context)
            states.append(state)
            looks.append(weights)
        return self.final_layer(torch.cat(states, axis)), torch.stack(looks, 1)

    return forward


def _list_for_one(self: Any, state: Tensor, memory: Tensor, mask: Any) -> Both:
    """The answer keeps its axis of length 1."""
    output, weights = self.attention(state[:, None], memory, mask)
    return output, weights[:, 0]


def _stateless(self: Any, word: Tensor, answer: Tensor, state: Tensor) -> Tensor:
    return self.cell(torch.cat([word, answer], -1))


def _small(self: Any, inputs: int, d_model: int) -> nn.Module:
    """A cell whose inputs are as wide as a word alone."""
    return nn.GRUCell(d_model, d_model)


def _last_logits(self: Any, *inputs: Any) -> Both:
    logits, weights = AttentionDecoder.forward(self, *inputs)
    return logits[:, -1], weights


MISTAKES = (
    mistake(
        "query from the new state",
        "The query was the state after the word had been read, so what it found came "
        "one word late.",
        "In each turn of the loop, which comes first: the attention or the cell?",
        swap(step=_next_state, forward=_next_state_forward),
    ),
    mistake(
        "cell used twice",
        "The cell ran twice for each word: without an answer, to make a query, and "
        "again with the answer.",
        "Which state is there already when a word arrives?",
        swap(step=_asks_after),
    ),
    mistake(
        "weights of another query",
        "The logits are right, but the weights that came back belong to the new state.",
        "Which weights made the answer that the cell got?",
        swap(step=_asks_twice),
    ),
    mistake(
        "no axis for the query",
        "The state went into the attention as it is, but the attention expects a list "
        "of queries for each sentence, here of length 1.",
        "Compare the shape of `state` with that of `query` in 8.D.",
        swap(ask=lambda self, state, memory, mask: self.attention(state, memory, mask)),
    ),
    mistake(
        "padding attended",
        "The mask has no effect, so padding is attended to as well.",
        "Follow `mask` from the arguments through the attention to its softmax.",
        swap(
            ask=lambda self, state, memory, mask: AttentionDecoder.ask(
                self, state, memory, None
            )
        ),
    ),
    mistake(
        "mask inverted",
        "The padding is attended to, and the real words are not.",
        'In this course True means "may attend". Which scores does your line fill?',
        swap(
            ask=lambda self, state, memory, mask: AttentionDecoder.ask(
                self, state, memory, None if mask is None else ~mask
            )
        ),
    ),
    mistake(
        "the same query each time",
        "The context was the query at every word, so the answer is always the same.",
        "Which state should be the query before the third word is written?",
        swap(step=_first_asks),
    ),
    mistake(
        "the word as the query",
        "The embedding of the word was the query.",
        "The state knows the words before this one. Which of the two should be the "
        "query?",
        swap(step=_word_asks),
    ),
    mistake(
        "history cut at each word",
        "The state was detached inside the loop, so no gradient reaches an earlier "
        "word.",
        "Lesson 07 cut the history between batches. Should it be cut between the "
        "words of one?",
        swap(step=_forgets_behind),
        swap(turn=_forgets_in_the_cell),
    ),
    mistake(
        "state not carried along",
        "Every word started from the context again.",
        "Which name holds the state after the cell, and who reads it next?",
        swap(step=_forgets),
    ),
    mistake(
        "cell's result dropped",
        "The state never changed: every query and every score came from the context.",
        "A cell returns the new state. Which name gets it?",
        swap(step=_never_moves),
    ),
    mistake(
        "answer as the state",
        "The cell also got the attention's answer as its state.",
        "The cell takes an input and a state. Which of them does the answer belong to?",
        swap(step=_answer_as_state),
    ),
    mistake(
        "starts from zero",
        "The first state is zero: the context was not used.",
        "Which vector should the first query come from?",
        swap(begin=lambda self, context: torch.zeros_like(context)),
    ),
    mistake(
        "answer before word",
        "Answer and word went into the cell in the opposite order to the task's.",
        "Compare the order with the task.",
        swap(
            turn=lambda self, word, answer, state: self.cell(
                torch.cat([answer, word], -1), state
            )
        ),
    ),
    mistake(
        "answer unused",
        "The context went into the cell at every word, whatever the attention said.",
        "Where should the output of the attention go?",
        swap(step=_always_context),
    ),
    mistake(
        "answer scored",
        "The last layer scored the attention's answer, not the state.",
        "What knows both the words so far and the answer?",
        swap(step=_scores_the_answer),
    ),
    mistake(
        "scored too early",
        "The last layer got the state from before the word was read.",
        "Position t has read word t. Which state should be scored there?",
        swap(step=_scores_before),
    ),
    mistake(
        "its own words read",
        "The decoder read its own predictions, not the true words.",
        "With teacher forcing, which words enter the cell during training?",
        swap(forward=_own_words),
    ),
    mistake(
        "probabilities, not logits",
        "Probabilities or their logarithms came back, but the loss applies a softmax "
        "of its own.",
        "What does `F.cross_entropy` expect?",
        swap(forward=_softmax),
        swap(forward=_log_softmax),
    ),
    mistake(
        "weights of the last word only",
        "One row of weights came back, but there should be one for each word.",
        "Keep the weights of every turn of the loop.",
        swap(forward=_last_weights),
    ),
    mistake(
        "logits of the last word only",
        "Scores for a single position came back, but every position predicts its next "
        "word.",
        "Keep the state of every turn of the loop.",
        swap(forward=_last_logits),
    ),
    mistake(
        "time before batch",
        "The results were stacked along the first axis: time stands where the batch "
        "should be.",
        "Which axis does `torch.stack` make by default?",
        swap(forward=_time_first),
    ),
    mistake(
        "only the logits",
        "One result came back instead of two.",
        "Read the `Returns` of the docstring.",
        swap(forward=_only_logits),
    ),
    mistake(
        "an axis of length 1 in the weights",
        "The weights came back with an extra axis of length 1, that of the one query "
        "in each turn.",
        "Print the shape of the weights of one turn. Which of its axes becomes that of "
        "the words?",
        swap(forward=_extra_axis),
    ),
    mistake(
        "states joined, not stacked",
        "The states were concatenated along an axis that they have, so there is none "
        "for the words.",
        "What is the difference between `cat` and `stack`?",
        swap(forward=_joined(0)),
        swap(forward=_joined(1)),
    ),
    mistake(
        "the answer's axis of length 1 kept",
        "The answer of the attention is (B, 1, D), a list of one, and the word is "
        "(B, D), so they can't be joined.",
        "Print both shapes before you join them.",
        swap(ask=_list_for_one),
    ),
    mistake(
        "no state for the cell",
        "The cell got no state, or zeros, so nothing of the words before is left.",
        "A cell takes an input and a state. What does yours get as the second?",
        swap(turn=_stateless),
    ),
    mistake(
        "a cell too narrow",
        "The cell is made for inputs of D numbers, but the word and the answer "
        "together have 2 D.",
        "Read the error: which width did the cell expect, and what was joined?",
        swap(recurrence=_small),
    ),
    mistake(
        "one of the two left out",
        "The cell is made for inputs of D numbers and got the word alone, the answer "
        "alone, or their sum; the task has both, side by side.",
        "How wide is the input of the cell in the task, and what fills it?",
        *(
            swap(recurrence=_small, turn=turn)
            for turn in (
                lambda self, word, answer, state: self.cell(word, state),
                lambda self, word, answer, state: self.cell(answer, state),
                lambda self, word, answer, state: self.cell(word + answer, state),
            )
        ),
    ),
    mistake(
        "not a GRU cell",
        "The task asks for `nn.GRUCell`, but this is another recurrent part.",
        "Compare the name of your cell with the task's: input and one state in, "
        "new state out.",
        swap(recurrence=lambda self, *sizes: nn.GRU(*sizes)),
        swap(recurrence=lambda self, *sizes: nn.GRU(*sizes, 2)),
        swap(recurrence=lambda self, *sizes: nn.GRU(*sizes, bidirectional=True)),
        swap(recurrence=lambda self, *sizes: nn.GRU(*sizes, 2, bidirectional=True)),
        swap(recurrence=lambda self, *sizes: nn.LSTMCell(*sizes)),
        swap(recurrence=lambda self, *sizes: nn.RNNCell(*sizes)),
    ),
)

EXERCISES = (
    Exercise(
        "8.E",
        "A decoder that looks back",
        "class",
        difficulty=4,
        points=4,
        core=True,
        answers=(
            Answer(
                "AttentionDecoder",
                AttentionDecoder,
                {
                    "logits": "batch, target length, vocabulary",
                    "weights": "batch, target length, source length",
                },
                parts=("embedding", "attention", "cell", "final_layer"),
            ),
        ),
        cases=_cases,
        proves="the state before each word is the query, mask, true words, a row of "
        "weights per word, gradient",
        misconceptions=MISTAKES,
    ),
)
