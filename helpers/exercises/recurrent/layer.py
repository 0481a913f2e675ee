"""7.4b: a recurrent network that reads characters and predicts the next ones."""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import normal


class RNN(nn.Module):
    """The course's own answer to 7.4b, in steps that a mistake can exchange."""

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
        """Zeros, if there is nothing to go on with."""
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
    """Whether b and b_y are there and do something, in a network of its own weights."""
    fresh = type(network)(vocabulary, hidden)
    there = {"b (hidden size)": hidden, "b_y (vocabulary)": vocabulary}
    return Look({name: _at_work(fresh, size) for name, size in there.items()})


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
        if not torch.equal(before, after):
            return "there"
    return "there, but not used" if vectors else "missing"


def _two_texts(network: nn.Module, ids: Tensor) -> Look:
    """What it says to a text that is not the first one it reads."""
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


def _wrong(**steps: Any) -> type:
    return type("_Wrong", (RNN,), steps)


def _reading(loop: Any) -> type:
    return _wrong(read=loop)


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
    """A network some of whose layers have no bias, but perhaps a vector never added."""

    def create(self: RNN, vocab_size: int, hidden_size: int) -> None:
        RNN.__init__(self, vocab_size, hidden_size)
        for part in parts:
            rows, columns = getattr(self, part).weight.shape
            setattr(self, part, nn.Linear(columns, rows, bias=False))
            if idle:
                self.idle = nn.Parameter(torch.zeros(rows))

    return _wrong(__init__=create)


MISTAKES = (
    mistake(
        "no b",
        "The sum under the tanh has no bias: neither W_x nor W_h brings one.",
        "Count the terms of the formula for h_t, and look up what `bias` says in each "
        "`nn.Linear`.",
        _without("W_h"),
    ),
    mistake(
        "no b_y",
        "The logits have no bias of their own: W_y brings none.",
        "Count the terms of the formula for the logits.",
        _without("W_y"),
    ),
    mistake(
        "no bias anywhere",
        "None of the three layers has a bias.",
        "The formulas have two, b and b_y. Beside which matrices do they stand?",
        _without("W_h", "W_y"),
    ),
    mistake(
        "a bias that is never added",
        "One of the two biases is created, and nothing reads it.",
        "Which lines of your `forward` mention each parameter of `__init__`?",
        _without("W_h", idle=True),
        _without("W_y", idle=True),
    ),
    mistake(
        "a new zero state each step",
        "Every character begins with an empty memory: none knows of those before it.",
        "Which state goes into the second step, and where does it come from?",
        _reading(_fresh_each_step),
    ),
    mistake(
        "the first state in every step",
        "Every step begins with the state that was given, not with the one before it.",
        "Under which name does your loop keep the new state?",
        _reading(_given_each_step),
    ),
    mistake(
        "the given state ignored",
        "The network always begins with zeros, also when there is a state to go on "
        "with.",
        "What does your code do if `state` is not None?",
        _wrong(
            begin=lambda self, x, state: torch.zeros(
                len(x), self.hidden_size, dtype=x.dtype
            )
        ),
    ),
    mistake(
        "output before update",
        "The prediction is made before the character is read: it lags by one step.",
        "In the figure, does the arrow to the logits leave from h_t or from h_(t-1)?",
        _reading(_before_update),
    ),
    mistake(
        "only the last logits",
        "There are logits for the last character only; each place predicts its next "
        "one.",
        "After how many of the characters do you need a prediction?",
        _wrong(finish=lambda self, logits, h: (logits[-1], h)),
        _wrong(finish=lambda self, logits, h: (logits[-1][:, None], h)),
    ),
    mistake(
        "time before batch",
        "The logits are (time, batch, vocabulary): they were stacked along a new "
        "first axis.",
        "Which axis should the new one be when you glue the steps together?",
        _wrong(finish=lambda self, logits, h: (torch.stack(logits), h)),
    ),
    mistake(
        "rows and times mixed",
        "The steps were glued along the first axis and then reshaped: each row holds "
        "other rows' logits.",
        "A reshape moves no number. Along which axis should the steps be glued?",
        _wrong(finish=_reshaped),
    ),
    mistake(
        "steps glued as more rows",
        "The steps were put below each other, with no axis for the time.",
        "What is the difference between `cat` and `stack`?",
        _wrong(finish=lambda self, logits, h: (torch.cat(logits), h)),
        _wrong(finish=lambda self, logits, h: (torch.cat(logits, 1), h)),
    ),
    mistake(
        "a loop over the rows",
        "The loop went through the batch: one text's state was handed to the next "
        "text.",
        "Over which axis of (batch, time, vocabulary) does your loop run?",
        _reading(_over_the_rows),
        _reading(_over_the_rows_by_number),
    ),
    mistake(
        "read from the end",
        "The characters were read in reverse.",
        "Which character must the first step see?",
        _reading(_backwards),
    ),
    mistake(
        "the first state returned",
        "What comes back is the state from before the first character.",
        "The caller will go on behind the last character. Which state is that?",
        _reading(_first_state),
    ),
    mistake(
        "all states returned",
        "The states of all steps come back; the last one is asked for.",
        "With which state would the next piece of text go on?",
        _reading(_all_states),
    ),
    mistake(
        "softmax on the logits",
        "Probabilities come out, or their logarithms, where logits are asked for.",
        "Which of the two does `F.cross_entropy` expect?",
        _wrong(finish=lambda self, logits, h: (torch.stack(logits, 1).softmax(-1), h)),
        _wrong(
            finish=lambda self, logits, h: (
                torch.stack(logits, 1).log_softmax(-1),
                h,
            )
        ),
    ),
    mistake(
        "no tanh",
        "Nothing bends the sum: step after step, the state can grow without end.",
        "Compare your loop with your `rnn_step`.",
        _wrong(step=lambda self, one, h: self.W_x(one) + self.W_h(h)),
    ),
    mistake(
        "another activation",
        "The sum went through a sigmoid or a ReLU.",
        "Compare your loop with your `rnn_step`.",
        _wrong(step=lambda self, one, h: (self.W_x(one) + self.W_h(h)).sigmoid()),
        _wrong(step=lambda self, one, h: (self.W_x(one) + self.W_h(h)).relu()),
    ),
    mistake(
        "a state kept inside",
        "The network kept its state: a text without one began where the last text had "
        "ended.",
        "Who holds the state between two calls, the network or its caller?",
        _wrong(begin=_begin_where_it_ended, finish=_keep),
    ),
    mistake(
        "history cut at the border",
        "The state was detached as it came in, or as it was given back.",
        "What if the caller wants a gradient through two pieces of text? Who decides?",
        _wrong(begin=_begin_cut),
        _wrong(finish=_end_cut),
        _wrong(begin=_begin_cut, finish=_end_cut),
    ),
    mistake(
        "history cut at each step",
        "The state was detached inside the loop: no gradient reaches an earlier "
        "character.",
        "Between batches the history is cut. And between the steps of a batch?",
        _reading(_cut_each_step),
    ),
)

EXERCISES = (
    Exercise(
        "7.4b",
        "A network that reads a text",
        "class",
        difficulty=3,
        minutes=12,
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
        proves="every place predicts, the state goes on, begins with zeros and comes "
        "back, also for a second text, b and b_y, the gradient through all steps",
        misconceptions=MISTAKES,
    ),
)
