"""7.B: a recurrent network that reads characters and predicts the next ones."""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging, normal


class RNN(nn.Module):
    """The course's own answer to 7.B, in steps that a mistake can exchange."""

    def __init__(self, vocab_size: int, hidden_size: int) -> None:
        """Three matrices and two biases."""
        super().__init__()
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.W_x = nn.Linear(vocab_size, hidden_size, bias=False)
        self.W_h = nn.Linear(hidden_size, hidden_size)
        self.W_y = nn.Linear(hidden_size, vocab_size)

    def forward(self, ids: Tensor, state: Tensor | None = None) -> tuple:
        """(B, T), (B, N) -> logits (B, T, V), state (B, N)."""
        x = F.one_hot(ids, self.vocab_size).to(self.W_x.weight.dtype)
        return self.read(x, self.begin(x, state))

    def begin(self, x: Tensor, state: Tensor | None) -> Tensor:
        """The state before the first character: zeros, if none is given."""
        return x.new_zeros(len(x), self.hidden_size) if state is None else state

    def read(self, x: Tensor, h: Tensor) -> tuple:
        """All the characters, one after the other."""
        logits = []
        for one in x.unbind(1):
            h = self.step(one, h)
            logits.append(self.W_y(h))
        return self.finish(logits, h)

    def step(self, one: Tensor, h: Tensor) -> Tensor:
        """One character."""
        return torch.tanh(self.W_x(one) + self.W_h(h))

    def finish(self, logits: list[Tensor], h: Tensor) -> tuple:
        """What is returned."""
        return torch.stack(logits, 1), h


def _biases(network: nn.Module, vocabulary: int, hidden: int) -> Look:
    """Whether b and b_y are there and used, in a network with fresh weights.

    The docstring gives W_x none: the lesson counts the parameters of this network.
    """
    fresh = type(network)(vocabulary, hidden)
    there = {"b (hidden size)": hidden, "b_y (vocabulary)": vocabulary}
    judged = {name: _at_work(fresh, size) for name, size in there.items()}
    none = getattr(fresh.W_x, "bias", None) is None
    begins = {"state without one given": _beginning(fresh, hidden)}
    return Look({"bias of W_x": "none" if none else "there"} | judged | begins)


@torch.no_grad()
def _at_work(network: nn.Module, size: int) -> str:
    """Whether the logits change with a parameter of this size."""
    ids = torch.tensor([[1, 0], [2, 1]])
    vectors = [one for one in network.parameters() if one.shape == (size,)]
    before = network(ids)[0]
    for vector in vectors:
        kept = vector.clone()
        vector += torch.arange(1.0, size + 1)
        after = network(ids)[0]
        vector.copy_(kept)
        if not torch.allclose(before, after, atol=1e-4):
            return "there"
    return "there, but not used" if vectors else "missing"


@torch.no_grad()
def _beginning(network: nn.Module, hidden: int) -> str:
    """Whether it still begins with zeros when everything learned has moved."""
    ids = torch.tensor([[1, 0], [2, 1]])
    for one in network.parameters():
        one += 0.1
    alone, after = network(ids)[0], network(ids, torch.zeros(2, hidden))[0]
    return "zeros" if torch.allclose(alone, after, atol=1e-4) else "not zeros"


def _two_texts(network: nn.Module, ids: Tensor) -> Look:
    """What it returns for a text that is not the first one it reads."""
    network(ids)
    found = network(ids)
    if not isinstance(found, tuple | list) or len(found) != 2:
        return Look({"result": found})
    return Look({"logits of the second text": found[0], "its state": found[1]})


def _cases(seed: int) -> list[Case]:
    """All in float32: the stub makes the one-hot rows with `.float()`."""
    draw = torch.Generator().manual_seed(seed)

    def case(
        name: str,
        batch: int,
        length: int,
        sizes: tuple[int, int],
        state: bool = False,
        **more: Any,
    ) -> Case:
        vocabulary, hidden = sizes
        ids = torch.randint(vocabulary, (batch, length), generator=draw)
        args: tuple = (ids,)
        if state:
            args += (normal(draw, batch, hidden, scale=0.5, dtype=torch.float32),)
        return Case(name, args, inputs=("ids", "state"), init=sizes, **more)

    return [
        case("two rows, no state", 2, 5, (7, 3)),
        case("a state to go on with", 3, 4, (5, 6), state=True),
        case("as many rows as characters", 4, 4, (6, 5), state=True),
        case("one character", 2, 1, (4, 3), state=True),
        case("the gradient", 2, 6, (5, 4), state=True, gradient=True),
        case("two texts, one after the other", 2, 3, (5, 4), look=_two_texts),
        Case(
            "the biases",
            init=(6, 4),
            look=partial(_biases, vocabulary=6, hidden=4),
        ),
    ]


swap = exchanging(RNN)


def _fresh_each_step(self: RNN, x: Tensor, h: Tensor) -> tuple:
    new = h
    logits = []
    for one in x.unbind(1):
        new = self.step(one, torch.zeros_like(h))
        logits.append(self.W_y(new))
    return self.finish(logits, new)


def _given_each_step(self: RNN, x: Tensor, h: Tensor) -> tuple:
    news = [self.step(one, h) for one in x.unbind(1)]
    return self.finish([self.W_y(new) for new in news], news[-1])


def _given_each_step_and_returned(self: RNN, x: Tensor, h: Tensor) -> tuple:
    news = [self.step(one, h) for one in x.unbind(1)]
    return self.finish([self.W_y(new) for new in news], h)


def _before_update(self: RNN, x: Tensor, h: Tensor) -> tuple:
    logits = []
    for one in x.unbind(1):
        logits.append(self.W_y(h))
        h = self.step(one, h)
    return self.finish(logits, h)


def _backwards(self: RNN, x: Tensor, h: Tensor) -> tuple:
    return RNN.read(self, x.flip(1), h)


def _over_the_rows(self: RNN, x: Tensor, h: Tensor) -> tuple:
    logits = []
    for one in x:
        h = self.step(one, h)
        logits.append(self.W_y(h))
    return self.finish(logits, h)


def _over_the_rows_by_number(self: RNN, x: Tensor, h: Tensor) -> tuple:
    logits = []
    for place in range(x.shape[1]):
        h = self.step(x[place], h)
        logits.append(self.W_y(h))
    return self.finish(logits, h)


def _as_often_as_rows(self: RNN, x: Tensor, h: Tensor) -> tuple:
    logits = []
    for place in range(len(x)):
        h = self.step(x[:, place], h)
        logits.append(self.W_y(h))
    return self.finish(logits, h)


def _learn_the_beginning(self: RNN, vocab_size: int, hidden_size: int) -> None:
    RNN.__init__(self, vocab_size, hidden_size)
    self.h0 = nn.Parameter(torch.zeros(hidden_size))


def _begin_as_learned(self: RNN, x: Tensor, state: Tensor | None) -> Tensor:
    return self.h0.expand(len(x), -1) if state is None else state


def _begin_where_it_ended(self: RNN, x: Tensor, state: Tensor | None) -> Tensor:
    kept = getattr(self, "kept", None)
    return RNN.begin(self, x, kept if state is None else state)


def _keep(self: RNN, logits: list[Tensor], h: Tensor) -> tuple:
    self.kept = h.detach()
    return RNN.finish(self, logits, h)


def _begin_cut(self: RNN, x: Tensor, state: Tensor | None) -> Tensor:
    return RNN.begin(self, x, state).detach()


def _end_cut(self: RNN, logits: list[Tensor], h: Tensor) -> tuple:
    return torch.stack(logits, 1), h.detach()


def _reshaped(self: RNN, logits: list[Tensor], h: Tensor) -> tuple:
    return torch.stack(logits).view(len(h), len(logits), -1), h


def _first_state(self: RNN, x: Tensor, h: Tensor) -> tuple:
    return RNN.read(self, x, h)[0], h


def _cut_each_step(self: RNN, x: Tensor, h: Tensor) -> tuple:
    logits = []
    for one in x.unbind(1):
        h = self.step(one, h.detach())
        logits.append(self.W_y(h))
    return self.finish(logits, h)


def _all_states(self: RNN, x: Tensor, h: Tensor) -> tuple:
    states = []
    for one in x.unbind(1):
        h = self.step(one, h)
        states.append(h)
    return torch.stack([self.W_y(h) for h in states], 1), torch.stack(states, 1)


def _without(*parts: str, idle: bool = False) -> type:
    """A network without some of the biases, or with vectors that are never added."""

    def create(self: RNN, vocab_size: int, hidden_size: int) -> None:
        RNN.__init__(self, vocab_size, hidden_size)
        for part in parts:
            rows, columns = getattr(self, part).weight.shape
            setattr(self, part, nn.Linear(columns, rows, bias=False))
            if idle:
                self.idle = nn.Parameter(torch.zeros(rows))

    return swap(__init__=create)


def _also(*parts: str, without: tuple[str, ...] = ()) -> type:
    """A network with a bias in these parts, and none in those."""

    def create(self: RNN, vocab_size: int, hidden_size: int) -> None:
        RNN.__init__(self, vocab_size, hidden_size)
        for part in (*parts, *without):
            rows, columns = getattr(self, part).weight.shape
            setattr(self, part, nn.Linear(columns, rows, bias=part in parts))

    return swap(__init__=create)


MISTAKES = (
    mistake(
        "a bias of W_x",
        "W_x has a bias; in the docstring it has none.",
        "The formula for h_t has one b: with which of the layers does it come?",
        _also("W_x"),
        _also("W_x", without=("W_h",)),
    ),
    mistake(
        "no b",
        "The sum inside the tanh has no bias: neither W_x nor W_h has one.",
        "Count the terms in the formula for h_t, and check `bias` in each `nn.Linear`.",
        _without("W_h"),
    ),
    mistake(
        "no b_y",
        "The logits have no bias of their own: W_y has none.",
        "Count the terms in the formula for the logits.",
        _without("W_y"),
    ),
    mistake(
        "no bias anywhere",
        "None of the three layers has a bias.",
        "The formulas have two, b and b_y. Which matrices do they stand next to?",
        _without("W_h", "W_y"),
    ),
    mistake(
        "a bias that is never added",
        "One of the two biases is created but never used.",
        "Which lines of your `forward` mention each parameter of `__init__`?",
        _without("W_h", idle=True),
        _without("W_y", idle=True),
    ),
    mistake(
        "a new zero state each step",
        "Every step starts from an empty memory, so no character knows about those "
        "before it.",
        "Which state goes into the second step, and where does it come from?",
        swap(read=_fresh_each_step),
    ),
    mistake(
        "the first state in every step",
        "Every step starts from the initial state, not from the state that the step "
        "before left.",
        "Under which name does your loop keep the new state?",
        swap(read=_given_each_step),
        swap(read=_given_each_step_and_returned),
    ),
    mistake(
        "the given state ignored",
        "The network always starts from zeros, even when it is given a state to go on "
        "with.",
        "What does your code do when `state` is not None?",
        swap(
            begin=lambda self, x, state: torch.zeros(
                len(x), self.hidden_size, dtype=x.dtype
            )
        ),
    ),
    mistake(
        "a learned first state",
        "The state before the first character is a parameter, and would be learned.",
        "What does the docstring of `forward` say that None means?",
        swap(__init__=_learn_the_beginning, begin=_begin_as_learned),
    ),
    mistake(
        "output before update",
        "The prediction is made before the character is read, so it lags one step "
        "behind.",
        "In the figure, does the arrow to the logits leave from h_t or from h_(t-1)?",
        swap(read=_before_update),
    ),
    mistake(
        "only the last logits",
        "There are logits for the last position only, but every position predicts its "
        "next character.",
        "After how many of the characters do you need a prediction?",
        swap(finish=lambda self, logits, h: (logits[-1], h)),
        swap(finish=lambda self, logits, h: (logits[-1][:, None], h)),
    ),
    mistake(
        "time before batch",
        "The logits have shape (length, batch, vocabulary), but the batch comes first.",
        "Which axis should be the new one when you stack the steps?",
        swap(finish=lambda self, logits, h: (torch.stack(logits), h)),
    ),
    mistake(
        "time on the last axis",
        "The logits have shape (batch, vocabulary, length), but the vocabulary comes "
        "last.",
        "Which axis should be the new one when you stack the steps?",
        swap(finish=lambda self, logits, h: (torch.stack(logits, -1), h)),
    ),
    mistake(
        "outputs swapped",
        "The state came first and the logits second.",
        "In which order does the docstring promise them?",
        swap(finish=lambda self, logits, h: (h, torch.stack(logits, 1))),
    ),
    mistake(
        "rows and steps mixed up",
        "The steps were joined along the first axis and then reshaped, so rows hold "
        "the logits of other rows.",
        "Reshaping does not swap axes. Along which axis should the steps be joined?",
        swap(finish=_reshaped),
    ),
    mistake(
        "steps concatenated",
        "The steps were concatenated along an existing axis, so there is no axis for "
        "time.",
        "What is the difference between `cat` and `stack`?",
        swap(finish=lambda self, logits, h: (torch.cat(logits), h)),
        swap(finish=lambda self, logits, h: (torch.cat(logits, 1), h)),
    ),
    mistake(
        "a loop over the rows",
        "The loop ran over the batch, so the state of one text was passed on to the "
        "next.",
        "Over which axis of (batch, time, vocabulary) does your loop run?",
        swap(read=_over_the_rows),
        swap(read=_over_the_rows_by_number),
    ),
    mistake(
        "as many steps as rows",
        "The loop made as many steps as there are rows in the batch, not as many as "
        "there are characters in a row.",
        "`len(x)` is the first axis of (batch, time, vocabulary). Which one is time?",
        swap(read=_as_often_as_rows),
    ),
    mistake(
        "read backwards",
        "The characters were read in reverse.",
        "Which character must the first step see?",
        swap(read=_backwards),
    ),
    mistake(
        "the first state returned",
        "The state from before the first character was returned.",
        "The caller will go on after the last character. Which state does that take?",
        swap(read=_first_state),
    ),
    mistake(
        "all states returned",
        "The states of all steps were returned, but only the last one is wanted.",
        "From which state would the next piece of text continue?",
        swap(read=_all_states),
    ),
    mistake(
        "softmax on the logits",
        "Probabilities or their logarithms were returned instead of logits.",
        "Which of the two does `F.cross_entropy` expect?",
        swap(finish=lambda self, logits, h: (torch.stack(logits, 1).softmax(-1), h)),
        swap(
            finish=lambda self, logits, h: (
                torch.stack(logits, 1).log_softmax(-1),
                h,
            )
        ),
    ),
    mistake(
        "no tanh",
        "The sum went through no nonlinearity, so the state can grow without limit, "
        "step after step.",
        "Compare your loop with your `rnn_step`.",
        swap(step=lambda self, one, h: self.W_x(one) + self.W_h(h)),
    ),
    mistake(
        "tanh of a part",
        "The tanh was not applied to the sum as a whole.",
        "Compare your loop with your `rnn_step`: where does the bracket close?",
        swap(step=lambda self, one, h: self.W_x(one).tanh() + self.W_h(h).tanh()),
        swap(step=lambda self, one, h: self.W_x(one).tanh() + self.W_h(h)),
        swap(step=lambda self, one, h: self.W_x(one) + self.W_h(h).tanh()),
    ),
    mistake(
        "W_h unused",
        "The old state was not multiplied by W_h, or was not used at all.",
        "Which lines of your `forward` mention each of the three layers?",
        swap(step=lambda self, one, h: (self.W_x(one) + h).tanh()),
        swap(step=lambda self, one, h: self.W_x(one).tanh()),
    ),
    mistake(
        "x unused",
        "The characters have no influence on the state.",
        "Which lines of your `forward` mention each of the three layers?",
        swap(step=lambda self, one, h: self.W_h(h).tanh()),
    ),
    mistake(
        "the old state added",
        "The old state was added to the result, as in a residual connection.",
        "In a plain RNN the new state replaces the old one.",
        swap(step=lambda self, one, h: h + RNN.step(self, one, h)),
    ),
    mistake(
        "another activation",
        "The sum went through a sigmoid or a ReLU, not a tanh.",
        "Compare your loop with your `rnn_step`.",
        swap(step=lambda self, one, h: (self.W_x(one) + self.W_h(h)).sigmoid()),
        swap(step=lambda self, one, h: (self.W_x(one) + self.W_h(h)).relu()),
    ),
    mistake(
        "a state kept in the module",
        "The network kept its state: a text that came without one started where the "
        "last text had ended.",
        "Who holds the state between two calls, the network or its caller?",
        swap(begin=_begin_where_it_ended, finish=_keep),
    ),
    mistake(
        "history cut at the border",
        "The state was detached when it came in, or when it was returned.",
        "The caller may want a gradient through two pieces of text. Who should decide?",
        swap(begin=_begin_cut),
        swap(finish=_end_cut),
        swap(begin=_begin_cut, finish=_end_cut),
    ),
    mistake(
        "history cut at each step",
        "The state was detached inside the loop, so no gradient reaches an earlier "
        "character.",
        "Between batches the history is cut. Should it be cut between the steps of a "
        "batch?",
        swap(read=_cut_each_step),
    ),
)

EXERCISES = (
    Exercise(
        "7.B",
        "A network that reads a text",
        "class",
        difficulty=2,
        points=4,
        core=True,
        answers=(
            Answer(
                "RNN",
                RNN,
                {"logits": "batch, length, vocabulary", "state": "batch, hidden"},
                parts=("W_x", "W_h", "W_y"),
            ),
        ),
        cases=_cases,
        proves="a prediction at every position, the state carried along, zero at "
        "first and returned at the end, also for a second text, b and b_y and no "
        "other bias, the gradient through all steps",
        misconceptions=MISTAKES,
    ),
)
