"""7.M: how much of the first state is left in later ones, by their gradients."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.autograd.functional import jacobian

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import exchanging, normal


def influence(
    step: Callable,
    inputs: Tensor,
    h: Tensor,
    *,
    product: Callable = lambda whole, new: new @ whole,
    size: Callable = Tensor.norm,
    advance: bool = True,
    of: Callable = lambda step, x, h: jacobian(lambda past: step(x, past), h),
) -> Tensor:
    """The course's own answer to 7.M, in steps that a mistake can exchange."""
    whole, sizes = torch.eye(len(h), dtype=h.dtype), []
    for x in inputs:
        whole = product(whole, of(step, x, h))
        sizes.append(size(whole))
        h = step(x, h) if advance else h
    return torch.stack(sizes)


def _simple(W_x: Tensor, W_h: Tensor, x: Tensor, h: Tensor) -> Tensor:
    return torch.tanh(W_x @ x + W_h @ h)


def _linear(W_x: Tensor, W_h: Tensor, x: Tensor, h: Tensor) -> Tensor:
    return W_x @ x + W_h @ h


def _gated(W_x: Tensor, W_h: Tensor, x: Tensor, h: Tensor) -> Tensor:
    z = torch.sigmoid(W_x @ x)
    return z * h + (1 - z) * torch.tanh(W_h @ h)


def _look(call: Callable, step: Callable, inputs: Tensor, h: Tensor) -> Look:
    """The norms in float64: any floating-point dtype will do."""
    found = call(step, inputs, h)
    if isinstance(found, Tensor) and found.is_floating_point():
        found = found.double()
    return Look({"norms": found})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)

    def case(name: str, kind: Callable, length: int, size: int, hidden: int, **more):
        dtype = more.get("dtype", torch.float64)
        W_x = normal(draw, hidden, size, scale=0.5, dtype=dtype)
        W_h = normal(draw, hidden, hidden, scale=0.6, dtype=dtype)
        inputs = normal(draw, length, size, dtype=dtype)
        h = normal(draw, hidden, scale=0.4, dtype=dtype)
        args = (partial(kind, W_x, W_h), inputs, h)
        names = ("step", "inputs", "h")
        return Case(name, args, inputs=names, look=_look, tolerance=1e-5)

    return [
        case("an RNN, 6 steps", _simple, 6, 3, 5),
        case("an RNN without tanh, 4 steps", _linear, 4, 2, 3),
        case("a gated cell, 7 steps", _gated, 7, 4, 4),
        case("float32, one step", _simple, 1, 3, 4, dtype=torch.float32),
    ]


def _single_steps(whole: Tensor, new: Tensor) -> Tensor:
    return new


def _of_inputs(step: Callable, x: Tensor, h: Tensor) -> Tensor:
    return jacobian(lambda read: step(read, h), x)


def _norms_multiplied(step: Callable, inputs: Tensor, h: Tensor) -> Tensor:
    single = influence(step, inputs, h, product=_single_steps)
    return single.cumprod(0)


def _shifted(step: Callable, inputs: Tensor, h: Tensor) -> Tensor:
    sizes = influence(step, inputs, h)
    begin = torch.eye(len(h), dtype=h.dtype).norm()[None]
    return torch.cat([begin, sizes])[:-1]


def _with_begin(step: Callable, inputs: Tensor, h: Tensor) -> Tensor:
    begin = torch.eye(len(h), dtype=h.dtype).norm()[None]
    return torch.cat([begin, influence(step, inputs, h)])


def _of_sum(step: Callable, inputs: Tensor, h: Tensor) -> Tensor:
    """The gradient of the sum of h_t: one backward pass, and another question."""
    sizes = []
    first = now = h.detach().requires_grad_()
    for x in inputs:
        now = step(x, now)
        (slope,) = torch.autograd.grad(now.sum(), first, retain_graph=True)
        sizes.append(slope.norm())
    return torch.stack(sizes)


def _of_inputs_all(step: Callable, inputs: Tensor, h: Tensor) -> Tensor:
    sizes = []
    for x in inputs:
        sizes.append(_of_inputs(step, x, h).norm())
        h = step(x, h)
    return torch.stack(sizes)


def _at_the_next(step: Callable, inputs: Tensor, h: Tensor) -> Tensor:
    """Each matrix at the state that the step leads to."""
    return influence(
        step,
        inputs,
        h,
        of=lambda step, x, h: jacobian(lambda past: step(x, past), step(x, h)),
    )


def _only_last(step: Callable, inputs: Tensor, h: Tensor) -> Tensor:
    return influence(step, inputs, h)[-1]


def _states(step: Callable, inputs: Tensor, h: Tensor) -> Tensor:
    sizes = []
    for x in inputs:
        h = step(x, h)
        sizes.append(h.norm())
    return torch.stack(sizes)


swap = exchanging(influence)
MISTAKES = (
    mistake(
        "one step at a time",
        "Each number describes a single step, from h_(t-1) to h_t.",
        "How do the derivatives of a chain of functions combine?",
        swap(product=_single_steps),
    ),
    mistake(
        "product in the wrong order",
        "The matrices were multiplied in the wrong order, or each of them was "
        "transposed, which gives the same norms.",
        "Step 1 acts on h_0 first. On which side of the vector does its matrix stand, "
        "and where does that of step 2 go?",
        swap(product=lambda whole, new: whole @ new),
        swap(product=lambda whole, new: new.T @ whole),
    ),
    mistake(
        "entries multiplied",
        "The matrices were multiplied entry by entry.",
        "What kind of product does the chain rule need, and which operator is that in "
        "torch?",
        swap(product=lambda whole, new: whole * new),
        lambda step, inputs, h: (
            influence(step, inputs, h, product=_single_steps, size=lambda one: one)
            .cumprod(0)
            .norm(dim=(1, 2))
        ),
    ),
    mistake(
        "norms multiplied",
        "The norms of the steps were multiplied; what is wanted is the norm of the "
        "product.",
        "First the product of the matrices, then one norm.",
        _norms_multiplied,
    ),
    mistake(
        "the state never moves",
        "Every derivative was taken at the first state.",
        "Which state does step t start from?",
        swap(advance=False),
    ),
    mistake(
        "the state after the step",
        "Each derivative was taken at the state after its step, not before it.",
        "Step 1 starts from h_0. Which state does your variable hold by then?",
        _at_the_next,
    ),
    mistake(
        "gradient of the sum",
        "The derivative is that of the sum of all entries of h_t, in which parts "
        "cancel.",
        "The Jacobian has a row for each entry of h_t. How many derivatives is that?",
        _of_sum,
    ),
    mistake(
        "derivative with respect to the input",
        "The derivative was taken with respect to the input, not the state.",
        "Which of the two arguments of `step` is the memory?",
        _of_inputs_all,
    ),
    mistake(
        "the spectral norm",
        "The largest singular value was taken, which is called the spectral norm.",
        "All entries count: what is wanted is the root of the sum of all squares.",
        swap(size=lambda whole: torch.linalg.matrix_norm(whole, 2)),
        swap(size=lambda whole: torch.linalg.svdvals(whole)[0]),
    ),
    mistake(
        "no root",
        "The squares were added up, but no root was taken.",
        "What should happen to a norm when the matrix is doubled?",
        swap(size=lambda whole: whole.square().sum()),
        swap(size=lambda whole: (whole.T @ whole).trace()),
    ),
    mistake(
        "absolute values added up",
        "The absolute values of the entries were added up, not their squares.",
        "What is wanted is the root of the sum of all squares.",
        swap(size=lambda whole: whole.abs().sum()),
        swap(size=lambda whole: whole.norm(p=1)),
    ),
    mistake(
        "another number for the matrix",
        "The entries were added up, averaged, or only the largest was taken: no norm.",
        "What is wanted is the root of the sum of all squares.",
        swap(size=torch.sum),
        swap(size=torch.mean),
        swap(size=torch.max),
        swap(size=lambda whole: whole.abs().mean()),
        swap(size=lambda whole: whole.abs().max()),
    ),
    mistake(
        "a norm for each row",
        "Each row of the matrix got a norm of its own, but one number is wanted.",
        "What is wanted is the root of the sum of all squares: those of all rows.",
        swap(size=lambda whole: whole.norm(dim=-1)),
        swap(size=lambda whole: whole.norm(dim=0)),
    ),
    mistake(
        "matrices, not norms",
        "The matrices came back, but one number is wanted for each.",
        "How large is a matrix? The exercise says which number is meant.",
        swap(size=torch.clone),
    ),
    mistake(
        "divided by the norm at the beginning",
        "The norms were divided by the root of N, the norm before any step. The "
        "figure above does that; this exercise asks for the norms themselves.",
        "What is wanted is the root of the sum of all squares, and nothing more.",
        swap(size=lambda whole: whole.norm() / len(whole) ** 0.5),
    ),
    mistake(
        "the mean of the squares",
        "The squares were averaged before the root, not added up.",
        "What should the identity matrix of size N give: 1, or the root of N?",
        swap(size=lambda whole: whole.square().mean().sqrt()),
        swap(size=lambda whole: whole.norm() / len(whole)),
    ),
    mistake(
        "one step behind",
        "The first number is for no steps at all, and the last one is missing.",
        "The first number says how strongly h_1 depends on h_0.",
        _shifted,
    ),
    mistake(
        "one number too many",
        "The list starts with no steps at all, where h_0 depends on itself.",
        "One number for each input: the first says how strongly h_1 depends on h_0.",
        _with_begin,
    ),
    mistake(
        "only the last",
        "One number came back, that of the last step.",
        "What is wanted is one number for each input.",
        _only_last,
    ),
    mistake(
        "norms of the states",
        "These are the norms of the states: no derivative was taken.",
        "Which function of torch gives a matrix of derivatives?",
        _states,
    ),
)

EXERCISES = (
    Exercise(
        "7.M",
        "How long does it remember?",
        "function",
        difficulty=3,
        points=2,
        answers=(Answer("influence", influence, {"norms": "length"}),),
        cases=_cases,
        proves="the chain rule through up to 7 steps, for three kinds of cell",
        misconceptions=MISTAKES,
    ),
    Exercise(
        "7.N",
        "Is it the vanishing gradient?",
        "written",
        difficulty=3,
        points=3,
    ),
)
