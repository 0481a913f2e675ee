"""7.8: one step of an LSTM."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Misconception, mistake
from helpers.exercises.kit import normal
from helpers.exercises.recurrent.shared import BATCH_CUT, BIAS_TWICE, DOUBLE, NO_SIGMOID

NAMES = ("x", "h", "c", "W_x", "W_h", "b")
Pair = tuple[Tensor, Tensor]


def lstm_step(
    x: Tensor, h: Tensor, c: Tensor, W_x: Tensor, W_h: Tensor, b: Tensor
) -> Pair:
    """The course's own answer to 7.8."""
    i, f, g, o = (x @ W_x.T + h @ W_h.T + b).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, batch: int, size: int, hidden: int, **more: Any) -> Case:
        dtype = more.pop("dtype", DOUBLE)
        args = (
            normal(draw, batch, size, dtype=dtype),
            normal(draw, batch, hidden, scale=0.5, dtype=dtype),
            normal(draw, batch, hidden, dtype=dtype),
            normal(draw, 4 * hidden, size, scale=0.4, dtype=dtype),
            normal(draw, 4 * hidden, hidden, scale=0.4, dtype=dtype),
            normal(draw, 4 * hidden, scale=0.4, dtype=dtype),
        )
        return Case(name, args, inputs=NAMES, **more)

    return [
        case("sizes 2, 3 and 5", 2, 3, 5),
        case("input and state of one size", 3, 4, 4),
        case("float32", 4, 6, 2, dtype=torch.float32),
        case("the gradient", 2, 5, 3, gradient=True),
    ]


def _step(
    total: Callable = lambda x, h, c, W_x, W_h, b: x @ W_x.T + h @ W_h.T + b,
    order: str = "ifgo",
    cell: Callable = lambda c, i, f, g, o: f.sigmoid() * c + i.sigmoid() * g.tanh(),
    state: Callable = lambda new, o, c: o.sigmoid() * new.tanh(),
    result: Callable = lambda h, c, o: (h, c),
    cut: Callable = lambda total, size: total.chunk(4, -1),
) -> Callable:
    """A step with one part exchanged."""

    def step(x, h, c, W_x, W_h, b) -> Any:
        one, two, three, four = cut(total(x, h, c, W_x, W_h, b), h.shape[-1])
        parts = dict(zip(order, (one, two, three, four), strict=True))
        new = cell(c, *(parts[name] for name in "ifgo"))
        return result(state(new, parts["o"], c), new, parts["o"])

    return step


def _wrong(name: str, done: str, where: str, *spellings: Any) -> Misconception:
    return mistake(name, done, where, *spellings)


MISTAKES = (
    _wrong(
        "forget and input gate exchanged",
        "The input gate was laid on the old cell, the forget gate on the new "
        "candidate.",
        "The blocks come in the order i, f, g, o. Which of them decides what is kept?",
        _step(order="figo"),
    ),
    _wrong(
        "the blocks in another order",
        "The four blocks of N rows were taken in another order than i, f, g, o.",
        "Compare the names on the left of your split with the order in the task.",
        *(
            _step(order=order)
            for order in map("".join, permutations("ifgo"))
            if order not in ("ifgo", "figo")  # the right one, and one with a name
        ),
    ),
    _wrong(
        *BATCH_CUT,
        _step(cut=lambda total, size: total.chunk(4)),
        _step(cut=lambda total, size: total.split(size)),
    ),
    _wrong(
        *NO_SIGMOID,
        _step(
            cell=lambda c, i, f, g, o: f * c + i * g.tanh(),
            state=lambda new, o, c: o * new.tanh(),
        ),
        _step(
            cell=lambda c, i, f, g, o: f.tanh() * c + i.tanh() * g.tanh(),
            state=lambda new, o, c: o.tanh() * new.tanh(),
        ),
    ),
    _wrong(
        "tanh and sigmoid exchanged",
        "The gates went through a tanh, and what should be written through a sigmoid.",
        "A gate says how much, from 0 to 1. Which function does that?",
        _step(
            cell=lambda c, i, f, g, o: f.tanh() * c + i.tanh() * g.sigmoid(),
            state=lambda new, o, c: o.tanh() * new.sigmoid(),
        ),
        _step(
            cell=lambda c, i, f, g, o: f.tanh() * c + i.tanh() * g.sigmoid(),
            state=lambda new, o, c: o.tanh() * new.tanh(),
        ),
    ),
    _wrong(
        "sigmoid on the candidate",
        "What should be written went through a sigmoid: the cell can only grow.",
        "Can the network ever write a negative number into its cell?",
        _step(cell=lambda c, i, f, g, o: f.sigmoid() * c + i.sigmoid() * g.sigmoid()),
        _step(
            cell=lambda c, i, f, g, o: (
                f.sigmoid() * c + i.sigmoid() * g.sigmoid().tanh()
            )
        ),
    ),
    _wrong(
        "nothing bends the candidate",
        "What should be written did not go through a tanh.",
        "The formula has four activations, one for each block.",
        _step(cell=lambda c, i, f, g, o: f.sigmoid() * c + i.sigmoid() * g),
    ),
    _wrong(
        "output gate on the cell",
        "The output gate was laid on the cell itself: what it hides now is lost "
        "for good.",
        "The cell is what is remembered, h is what is shown. Which one does o gate?",
        _step(
            result=lambda h, c, o: (h, o.sigmoid() * c),
        ),
        _step(
            state=lambda new, o, c: (o.sigmoid() * new).tanh(),
            result=lambda h, c, o: (h, o.sigmoid() * c),
        ),
    ),
    _wrong(
        "output gate inside the tanh",
        "The gate and the cell were multiplied first, and the tanh came after.",
        "In the formula for h', what stands inside the brackets of the tanh?",
        _step(state=lambda new, o, c: (o.sigmoid() * new).tanh()),
    ),
    _wrong(
        "tanh on the cell itself",
        "The cell that comes back went through a tanh: step by step that wears it "
        "down.",
        "In the formulas, does the tanh belong to c' or to h'?",
        _step(
            result=lambda h, c, o: (h, c.tanh()),
        ),
        _step(
            result=lambda h, c, o: (o.sigmoid() * c.tanh().tanh(), c.tanh()),
        ),
    ),
    _wrong(
        "no tanh on the cell",
        "The cell was shown as it is: h can grow beyond 1.",
        "What happens to c' on its way to h'?",
        _step(state=lambda new, o, c: o.sigmoid() * new),
    ),
    _wrong(
        "candidate not gated",
        "The candidate was written in full: the input gate has no say.",
        "Four blocks, four names: where does your code use i?",
        _step(cell=lambda c, i, f, g, o: f.sigmoid() * c + g.tanh()),
    ),
    _wrong(
        "nothing is forgotten",
        "The old cell was kept in full. So did the first LSTM, of 1997; the forget "
        "gate came in 2000.",
        "Four blocks, four names: where does your code use f?",
        _step(cell=lambda c, i, f, g, o: c + i.sigmoid() * g.tanh()),
    ),
    _wrong(
        "one gate for both",
        "One gate decides about the old and the new: f is 1 - i, or i is 1 - f.",
        "An LSTM has two gates for that. Which cell has just one?",
        _step(
            cell=lambda c, i, f, g, o: f.sigmoid() * c + (1 - f.sigmoid()) * g.tanh()
        ),
        _step(
            cell=lambda c, i, f, g, o: (1 - i.sigmoid()) * c + i.sigmoid() * g.tanh()
        ),
    ),
    _wrong(
        "the old cell shown",
        "h was made from the cell before the update.",
        "Which cell does the formula for h' mention?",
        _step(state=lambda new, o, c: o.sigmoid() * c.tanh()),
    ),
    _wrong(
        "no output gate",
        "The whole cell is shown: the output gate has no say.",
        "Four blocks, four names: where does your code use o?",
        _step(state=lambda new, o, c: new.tanh()),
    ),
    _wrong(
        "h and c exchanged in the result",
        "The cell comes back first and the state second.",
        "In which order does the docstring promise them?",
        _step(result=lambda h, c, o: (c, h)),
    ),
    _wrong(
        "no bias",
        "The bias is left out.",
        "Count the terms of the sum.",
        _step(total=lambda x, h, c, W_x, W_h, b: x @ W_x.T + h @ W_h.T),
    ),
    _wrong(
        *BIAS_TWICE,
        _step(total=lambda x, h, c, W_x, W_h, b: x @ W_x.T + b + h @ W_h.T + b),
    ),
    _wrong(
        "the past forgotten",
        "The gates look at the input alone: h has no influence.",
        "What do the gates look at, by the formula?",
        _step(total=lambda x, h, c, W_x, W_h, b: x @ W_x.T + b),
    ),
    _wrong(
        "gates that look at the cell",
        "The sum was made with c where h belongs.",
        "Which of the two states is shown to the gates?",
        _step(total=lambda x, h, c, W_x, W_h, b: x @ W_x.T + c @ W_h.T + b),
    ),
)

EXERCISES = (
    Exercise(
        "7.8",
        "One step of an LSTM",
        "function",
        difficulty=3,
        minutes=12,
        points=3,
        core=True,
        answers=(
            Answer(
                "lstm_step",
                lstm_step,
                {"state h": "batch, hidden", "cell c": "batch, hidden"},
            ),
        ),
        cases=_cases,
        proves="three gates, candidate and cell, torch's order of the blocks, the "
        "gradient",
        misconceptions=MISTAKES,
    ),
)
