"""7.F: one step of an LSTM."""

from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import torch
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, mistake
from helpers.exercises.kit import exchanging, normal
from helpers.exercises.recurrent.shared import BATCH_CUT, BIAS_TWICE, NO_SIGMOID

NAMES = ("x", "h", "c", "W_x", "W_h", "b")
Pair = tuple[Tensor, Tensor]


def lstm_step(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    W_x: Tensor,
    W_h: Tensor,
    b: Tensor,
    *,
    total: Callable = lambda x, h, c, W_x, W_h, b: x @ W_x.T + h @ W_h.T + b,
    cut: Callable = lambda total, size: total.chunk(4, -1),
    order: str = "ifgo",
    cell: Callable = lambda c, i, f, g, o: f.sigmoid() * c + i.sigmoid() * g.tanh(),
    state: Callable = lambda new, o, c: o.sigmoid() * new.tanh(),
    result: Callable = lambda h, c, o: (h, c),
) -> Pair:
    """The course's own answer to 7.F, in steps that a mistake can exchange."""
    one, two, three, four = cut(total(x, h, c, W_x, W_h, b), h.shape[-1])
    blocks = dict(zip(order, (one, two, three, four), strict=True))
    new = cell(c, *(blocks[name] for name in "ifgo"))
    return result(state(new, blocks["o"], c), new, blocks["o"])


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, batch: int, size: int, hidden: int, **more: Any) -> Case:
        dtype = more.pop("dtype", torch.float64)
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
        case("input and state of the same size", 3, 4, 4),
        case("float32", 4, 6, 2, dtype=torch.float32),
        case("the gradient", 2, 5, 3, gradient=True),
    ]


swap = exchanging(lstm_step)


def _gates(one: Callable, two: Callable, three: Callable) -> Callable:
    """A step whose gates i, f and o go through these functions."""
    return swap(
        cell=lambda c, i, f, g, o: two(f) * c + one(i) * g.tanh(),
        state=lambda new, o, c: three(o) * new.tanh(),
    )


MISTAKES = (
    mistake(
        "forget and input gates swapped",
        "The input gate was applied to the old cell, and the forget gate to the "
        "candidate.",
        "The blocks come in the order i, f, g, o. Which of them decides what is kept?",
        swap(order="figo"),
    ),
    mistake(
        "blocks in the wrong order",
        "The four blocks of N rows were not taken in the order i, f, g, o.",
        "Compare the names on the left of your split with the order in the exercise.",
        *(
            swap(order=order)
            for order in map("".join, permutations("ifgo"))
            if order not in ("ifgo", "figo")  # the right one, and one with a name
        ),
    ),
    mistake(
        *BATCH_CUT,
        swap(cut=lambda total, size: total.chunk(4)),
        swap(cut=lambda total, size: total.split(size)),
    ),
    mistake(
        "cut into fours",
        "The sum was cut into pieces of four, not into four pieces.",
        "`chunk` takes how many pieces there are; `split` takes how long each of them "
        "is.",
        swap(cut=lambda total, size: total.split(4, -1)),
    ),
    mistake(
        "reshaped, not cut",
        "Reshaping did not cut the last axis in four: the blocks hold numbers of other "
        "rows.",
        "The four blocks lie next to each other in each row of (B, 4N). Which function "
        "cuts along an axis?",
        swap(cut=lambda total, size: total.reshape(4, len(total), size)),
        swap(cut=lambda total, size: total.reshape(4, len(total), size).unbind()),
    ),
    mistake(
        "every fourth number",
        "A block was made of every fourth number, not of N neighbours.",
        "The first N numbers of a row are i. Which ones does your index take?",
        swap(cut=lambda total, size: [total[:, k::4] for k in range(4)]),
        swap(
            cut=lambda total, size: total.reshape(len(total), size, 4).unbind(-1),
        ),
    ),
    mistake(
        *NO_SIGMOID,
        *(
            _gates(*kinds)
            for kinds in product((torch.sigmoid, torch.tanh, torch.clone), repeat=3)
            if kinds != (torch.sigmoid,) * 3
        ),
    ),
    mistake(
        "tanh and sigmoid swapped",
        "The gates went through a tanh, and the candidate through a sigmoid.",
        "A gate says how much, from 0 to 1. Which function gives such numbers?",
        swap(
            cell=lambda c, i, f, g, o: f.tanh() * c + i.tanh() * g.sigmoid(),
            state=lambda new, o, c: o.tanh() * new.sigmoid(),
        ),
        swap(
            cell=lambda c, i, f, g, o: f.tanh() * c + i.tanh() * g.sigmoid(),
            state=lambda new, o, c: o.tanh() * new.tanh(),
        ),
    ),
    mistake(
        "sigmoid on the candidate",
        "The candidate went through a sigmoid, so it can never be negative.",
        "Can the network ever write a negative number into its cell?",
        swap(cell=lambda c, i, f, g, o: f.sigmoid() * c + i.sigmoid() * g.sigmoid()),
        swap(
            cell=lambda c, i, f, g, o: (
                f.sigmoid() * c + i.sigmoid() * g.sigmoid().tanh()
            )
        ),
    ),
    mistake(
        "no tanh on the candidate",
        "The candidate did not go through a tanh.",
        "The formula has four activations, one for each block.",
        swap(cell=lambda c, i, f, g, o: f.sigmoid() * c + i.sigmoid() * g),
    ),
    mistake(
        "output gate on the cell",
        "The output gate was applied to the cell itself, so what it hides now is lost "
        "for good.",
        "The cell is what is remembered, h is what is shown. Which one does o gate?",
        swap(
            result=lambda h, c, o: (h, o.sigmoid() * c),
        ),
        swap(
            state=lambda new, o, c: (o.sigmoid() * new).tanh(),
            result=lambda h, c, o: (h, o.sigmoid() * c),
        ),
    ),
    mistake(
        "output gate inside the tanh",
        "The cell was multiplied by the output gate before the tanh, not after it.",
        "In the formula for h', what is inside the tanh?",
        swap(state=lambda new, o, c: (o.sigmoid() * new).tanh()),
    ),
    mistake(
        "tanh on the cell itself",
        "The cell that comes back went through a tanh, which wears it down step by "
        "step.",
        "In the formulas, does the tanh belong to c' or to h'?",
        swap(
            result=lambda h, c, o: (h, c.tanh()),
        ),
        swap(
            result=lambda h, c, o: (o.sigmoid() * c.tanh().tanh(), c.tanh()),
        ),
    ),
    mistake(
        "no tanh on the cell",
        "h was made from the cell without a tanh, so it can grow beyond 1.",
        "What happens to c' on its way to h'?",
        swap(state=lambda new, o, c: o.sigmoid() * new),
    ),
    mistake(
        "sigmoid on the cell",
        "h was made from the cell with a sigmoid, so it can never be negative.",
        "What happens to c' on its way to h'?",
        swap(state=lambda new, o, c: o.sigmoid() * new.sigmoid()),
    ),
    mistake(
        "candidate not gated",
        "The candidate was written in full: the input gate has no effect.",
        "Four blocks, four names: where does your code use i?",
        swap(cell=lambda c, i, f, g, o: f.sigmoid() * c + g.tanh()),
    ),
    mistake(
        "nothing is forgotten",
        "The old cell was kept in full. The first LSTM, of 1997, did the same; the "
        "forget gate came in 2000.",
        "Four blocks, four names: where does your code use f?",
        swap(cell=lambda c, i, f, g, o: c + i.sigmoid() * g.tanh()),
    ),
    mistake(
        "one gate for both",
        "A single gate weighs both the old cell and the candidate: f is 1 - i, or i "
        "is 1 - f.",
        "An LSTM has two gates for that. Which kind of cell has just one?",
        swap(cell=lambda c, i, f, g, o: f.sigmoid() * c + (1 - f.sigmoid()) * g.tanh()),
        swap(cell=lambda c, i, f, g, o: (1 - i.sigmoid()) * c + i.sigmoid() * g.tanh()),
    ),
    mistake(
        "the old cell shown",
        "h was made from the cell as it was before the update.",
        "Which cell does the formula for h' mention?",
        swap(state=lambda new, o, c: o.sigmoid() * c.tanh()),
    ),
    mistake(
        "no output gate",
        "The whole cell is shown: the output gate has no effect.",
        "Four blocks, four names: where does your code use o?",
        swap(state=lambda new, o, c: new.tanh()),
    ),
    mistake(
        "h and c swapped in the result",
        "The cell comes back first and the state second.",
        "In which order does the docstring promise them?",
        swap(result=lambda h, c, o: (c, h)),
    ),
    mistake(
        "no bias",
        "The bias was left out.",
        "Count the terms in the sum.",
        swap(total=lambda x, h, c, W_x, W_h, b: x @ W_x.T + h @ W_h.T),
    ),
    mistake(
        "matrices not transposed",
        "x and h were multiplied by the matrices as they are: the inner sizes do not "
        "match.",
        "Put the shapes side by side: (B, D) and (4N, D). What has to be transposed?",
        swap(total=lambda x, h, c, W_x, W_h, b: x @ W_x + h @ W_h + b),
        swap(total=lambda x, h, c, W_x, W_h, b: x @ W_x + h @ W_h.T + b),
        swap(total=lambda x, h, c, W_x, W_h, b: x @ W_x.T + h @ W_h + b),
    ),
    mistake(
        *BIAS_TWICE,
        swap(total=lambda x, h, c, W_x, W_h, b: x @ W_x.T + b + h @ W_h.T + b),
    ),
    mistake(
        "h unused",
        "The gates depend on the input alone: h has no influence.",
        "According to the formula, what do the gates depend on?",
        swap(total=lambda x, h, c, W_x, W_h, b: x @ W_x.T + b),
    ),
    mistake(
        "gates that look at the cell",
        "The sum was made with c where h belongs.",
        "Which of the two states do the gates get to see?",
        swap(total=lambda x, h, c, W_x, W_h, b: x @ W_x.T + c @ W_h.T + b),
    ),
)

EXERCISES = (
    Exercise(
        "7.F",
        "One step of an LSTM",
        "function",
        difficulty=3,
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
