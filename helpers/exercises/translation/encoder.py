"""8.A: a sentence into one vector."""

from typing import Any

import torch
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging
from helpers.exercises.translation.shared import (
    PLAIN,
    not_plain,
    of_kind,
    remember,
    sentences,
)

Both = tuple[Tensor, Tensor]


class Encoder(nn.Module):
    """The course's own answer to 8.A; misconceptions exchange one of its steps."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        """Create the table of words and the recurrent layer."""
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.rnn = self.layer(d_model)
        remember(self, "rnn")

    def layer(self, d_model: int) -> nn.Module:
        """The recurrent layer."""
        return nn.GRU(d_model, d_model, batch_first=True)

    def forward(self, ids: Tensor) -> Both:
        """(B, S) -> memory (B, S, D), context (B, D)."""
        memory = self.read(self.embed(ids))
        return memory, self.summary(memory, (ids != 0).sum(1))

    def embed(self, ids: Tensor) -> Tensor:
        """(B, S) -> (B, S, D)."""
        return self.embedding(ids)

    def read(self, words: Tensor) -> Tensor:
        """(B, S, D) -> a state for each position, (B, S, D)."""
        self.rnn.batch_first = True  # whatever the student's says
        return self.rnn(words)[0]

    def summary(self, memory: Tensor, lengths: Tensor) -> Tensor:
        """The state after the last real word, (B, D)."""
        return memory[torch.arange(len(memory)), lengths - 1]


def _look(call: Any, ids: Tensor) -> Look:
    """Both outputs; what the memory holds at padding does not count."""
    result = call.eval()(ids)
    if not (isinstance(result, tuple | list) and len(result) == 2):
        return Look({"result": result})
    memory, context = result
    if isinstance(memory, Tensor) and memory.shape[:2] == ids.shape and memory.dim():
        memory = memory.masked_fill((ids == 0)[..., None], 0.0)
    return Look({"memory": memory, "context": context})


def _double(call: Any, ids: Tensor) -> Look:
    return _look(call.double(), ids)


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str, lengths: tuple, width: int, init: tuple, look: Any = _double, **more
    ) -> Case:
        ids = sentences(draw, lengths, width, init[0])
        look = of_kind("rnn", PLAIN, look)
        return Case(name, (ids,), inputs=("ids",), init=init, look=look, **more)

    return [
        case("two sentences of one length", (7, 7), 7, (13, 5)),
        case("padding after the shorter ones", (4, 7, 2), 7, (13, 5)),
        case("padding after all of them", (4, 3), 6, (11, 3)),
        case("as many words as sentences", (5, 2, 4, 3, 5), 5, (17, 4)),
        case("one word each", (1, 1, 1), 1, (11, 6)),
        case("float32", (3, 6), 6, (13, 5), look=_look),
        case("the gradient", (3, 5), 5, (11, 4), gradient=True),
    ]


swap = exchanging(Encoder)


def _last_column(self: Any, memory: Tensor, lengths: Tensor) -> Tensor:
    return memory[:, -1]


def _after_padding(self: Any, memory: Tensor, lengths: Tensor) -> Tensor:
    """At another position in each sentence: one too late where there is padding."""
    return memory[torch.arange(len(memory)), lengths.clamp(max=memory.shape[1] - 1)]


def _off_the_end(self: Any, memory: Tensor, lengths: Tensor) -> Tensor:
    """The same, and an error where there is no padding."""
    return memory[torch.arange(len(memory)), lengths]


def _off_the_end_one_by_one(self: Any, memory: Tensor, lengths: Tensor) -> Tensor:
    return torch.stack([memory[row, last] for row, last in enumerate(lengths)])


def _off_the_end_row_by_row(self: Any, memory: Tensor, lengths: Tensor) -> Tensor:
    rows = zip(memory, lengths.tolist(), strict=True)
    return torch.stack([row[last] for row, last in rows])


def _off_the_end_gathered(self: Any, memory: Tensor, lengths: Tensor) -> Tensor:
    place = lengths[:, None, None].expand(-1, 1, memory.shape[-1])
    return memory.gather(1, place)[:, 0]


def _real_mean(self: Any, memory: Tensor, lengths: Tensor) -> Tensor:
    places = torch.arange(memory.shape[1]) < lengths[:, None]
    return (memory * places[..., None]).sum(1) / lengths[:, None]


def _time_first(self: Any, words: Tensor) -> Tensor:
    self.rnn.batch_first = False
    return self.rnn(words)[0]


def _each_word_alone(self: Any, words: Tensor) -> Tensor:
    self.rnn.batch_first = True
    alone = words.reshape(-1, 1, words.shape[-1])
    return self.rnn(alone)[0].reshape(words.shape)


def _backwards(self: Any, words: Tensor) -> Tensor:
    return Encoder.read(self, words.flip(1)).flip(1)


def _swapped(self: Any, ids: Tensor) -> Both:
    memory, context = Encoder.forward(self, ids)
    return context, memory


def _only_context(self: Any, ids: Tensor) -> Tensor:
    return Encoder.forward(self, ids)[1]


def _states_of_all(self: Any, ids: Tensor) -> Any:
    """What nn.GRU gives back: its second part is the state after the last column."""
    self.rnn.batch_first = True
    return self.rnn(self.embedding(ids))


MISTAKES = (
    mistake(
        "state after the padding",
        "The context is the state in the last column, and by then the shorter "
        "sentences have read padding.",
        "In a batch of two lengths, in which column does the shorter sentence end?",
        swap(summary=_last_column),
        swap(
            forward=lambda self, ids: (lambda both: (both[0], both[1].squeeze(0)))(
                _states_of_all(self, ids)
            )
        ),
    ),
    mistake(
        "one position too late",
        "The state was taken one step too late: after a padding token, or beyond the "
        "end where there is none.",
        "Positions are counted from 0. Where is the last word of a sentence of three?",
        swap(summary=_after_padding),
        swap(summary=_off_the_end),
        swap(summary=_off_the_end_one_by_one),
        swap(summary=_off_the_end_row_by_row),
        swap(summary=_off_the_end_gathered),
    ),
    mistake(
        "one position too early",
        "The context is the state before the last word was read.",
        "Positions are counted from 0. Where is the last word of a sentence of three?",
        swap(
            summary=lambda self, memory, lengths: memory[
                torch.arange(len(memory)), lengths - 2
            ]
        ),
    ),
    mistake(
        "state after the first word",
        "The context is the first state, which has seen only one word.",
        "Which state has seen the whole sentence?",
        swap(summary=lambda self, memory, lengths: memory[:, 0]),
    ),
    mistake(
        "mean of the states",
        "The context is the mean of the states at all real words.",
        "The context is a single state. Which one has seen the whole sentence?",
        swap(summary=_real_mean),
    ),
    mistake(
        "mean over padding",
        "The context is the mean over all columns, padding included.",
        "The context is a single state. Which one has seen the whole sentence?",
        swap(summary=lambda self, memory, lengths: memory.mean(1)),
    ),
    mistake(
        "sum of the states",
        "The context is the sum of the states at several positions.",
        "The context is a single state. Which one has seen the whole sentence?",
        swap(summary=lambda self, memory, lengths: memory.sum(1)),
        swap(
            summary=lambda self, memory, lengths: (
                _real_mean(self, memory, lengths) * lengths[:, None]
            )
        ),
    ),
    mistake(
        "padding counted",
        "The number of padding tokens was taken for the number of words.",
        "Print your lengths next to the ids: what do they count?",
        swap(
            summary=lambda self, memory, lengths: memory[
                torch.arange(len(memory)), memory.shape[1] - lengths - 1
            ]
        ),
    ),
    mistake(
        "time and batch swapped",
        "The recurrence ran from sentence to sentence, not from word to word.",
        "Which axis does `nn.GRU` take for time, and which argument changes that?",
        swap(read=_time_first),
        swap(read=_time_first, summary=_last_column),
    ),
    mistake(
        "no state carried along",
        "Every word was read from a zero state, as if it stood alone.",
        "How many words does one call of the recurrent layer get to see?",
        swap(read=_each_word_alone),
    ),
    mistake(
        "read backwards",
        "The sentence was read from its end to its beginning.",
        "In which order do the words enter the recurrent layer?",
        swap(read=_backwards),
    ),
    mistake(
        "words, not states",
        "The memory holds the embeddings: the recurrent layer was never used.",
        "Which of the two parts has not been used?",
        swap(read=lambda self, words: words),
    ),
    mistake(
        "outputs swapped",
        "The two results come in the wrong order.",
        "Which one does the docstring name first?",
        swap(forward=_swapped),
    ),
    mistake(
        "one result",
        "One result came back instead of two.",
        "Read the `Returns` of the docstring.",
        swap(forward=_only_context),
        swap(forward=lambda self, ids: self.read(self.embed(ids))),
    ),
    mistake(
        "all positions from every row",
        "Every sentence gave its states at the last positions of all sentences.",
        "How many states should one sentence give, and how many does your indexing "
        "take from it?",
        swap(summary=lambda self, memory, lengths: memory[:, lengths - 1]),
    ),
    mistake(
        "an axis too many",
        "The context is what `nn.GRU` returns besides its output: it has an extra "
        "axis, for the layers, and it is the state after the padding.",
        "Print the shapes of both things that `nn.GRU` returns.",
        swap(forward=_states_of_all),
    ),
    *not_plain(swap),
)

EXERCISES = (
    Exercise(
        "8.A",
        "A sentence into one vector",
        "class",
        difficulty=2,
        points=3,
        core=True,
        answers=(
            Answer(
                "Encoder",
                Encoder,
                {"memory": "batch, length, d_model", "context": "batch, d_model"},
                parts=("embedding", "rnn"),
            ),
        ),
        cases=_cases,
        proves="one GRU, a state per position, the last real one as context, with and "
        "without padding, gradient",
        misconceptions=MISTAKES,
    ),
)
