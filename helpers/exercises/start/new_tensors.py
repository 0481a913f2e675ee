"""Lesson 00: a new tensor takes its dtype and its device from an input."""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from helpers.checks.exercise import Answer, Case, Exercise, Look, mistake
from helpers.exercises.kit import normal, words

SAME, BLOCKED = "that of x", "none: two devices met, or numbers were taken out of x"


def pad_rows(x: Tensor, length: int) -> Tensor:
    """The course's own answer to 0.B."""
    padded = x.new_zeros(length, x.shape[1])
    padded[: len(x)] = x
    return padded


def _device(answer: Callable, x: Tensor, length: int) -> Look:
    """Where the result is if x is not on the CPU: meta is there on every machine."""
    x = x.to("meta")
    try:
        padded = answer(x, length)
    except Exception:
        return Look({"device": BLOCKED, "shape": "none"})
    if not isinstance(padded, Tensor):
        return Look({"device": "none: no tensor came back", "shape": "none"})
    there = SAME if padded.device == x.device else "another one"
    return Look({"device": there, "shape": str(tuple(padded.shape))})


def _cases(seed: int) -> list[Case]:
    draw = torch.Generator().manual_seed(seed)
    half = normal(draw, 5, 4, dtype=torch.float16)
    endless = normal(draw, 2, 4)
    endless[0, 1] = float("inf")
    tables = {
        "float64": (normal(draw, 3, 5), 7),
        "float32": (normal(draw, 2, 3, dtype=torch.float32), 4),
        "float16": (half, 6),
        "token ids": (words(draw, 50, 4, 3), 9),
        "nothing to add": (normal(draw, 6, 5), 6),
        "an infinity in x": (endless, 5),
    }
    cases = [
        Case(name, one, inputs=("x", "length"), gradient=name == "float64")
        for name, one in tables.items()
    ]
    elsewhere = normal(draw, 4, 3), 5
    name = "x on another device (meta, which keeps shapes and no numbers)"
    return [*cases, Case(name, elsewhere, inputs=("x", "length"), look=_device)]


def _rows(x: Tensor, length: int, **options: object) -> Tensor:
    """Rows of zeros that are to be added."""
    return torch.zeros(length - len(x), x.shape[1], **options)


@mistake(
    "float32 by default",
    "The new tensor was made without a dtype, which means float32, and x was turned "
    "into float32 when it was copied in.",
    "Which dtype has a new tensor when nobody names one, and whose should it have?",
    lambda x, length: torch.cat([x.float().cpu(), _rows(x, length)]),
)
def _default(x: Tensor, length: int) -> Tensor:
    padded = torch.zeros(length, x.shape[1])
    padded[: len(x)] = x
    return padded


@mistake(
    "float32 joined to x",
    "The new rows are float32, the default. Joined to float64 they give way, but "
    "float16 and integers give way to them.",
    "Look at the dtype of the rows that you add, before they are joined to x.",
    lambda x, length: torch.vstack([x, _rows(x, length)]),
)
def _joined(x: Tensor, length: int) -> Tensor:
    return torch.cat([x, _rows(x, length)])


@mistake(
    "float32 joined to x, device taken from x",
    "The new rows have the device of x, but not its dtype: they are float32, the "
    "default, and where x is float16 or holds integers the result is float32 too.",
    "You named the device. What else does a new tensor take from an input?",
)
def _device_alone(x: Tensor, length: int) -> Tensor:
    return torch.cat([x, _rows(x, length, device=x.device)])


@mistake(
    "float32 by default, device taken from x",
    "The new tensor has the device of x, but not its dtype: it is float32, the "
    "default, and x was turned into float32 when it was copied in.",
    "You named the device. What else does a new tensor take from an input?",
    lambda x, length: pad_rows(x.float(), length),
    lambda x, length: pad_rows(x, length).float(),
    lambda x, length: pad_rows(x, length).to(torch.float32),
)
def _single(x: Tensor, length: int) -> Tensor:
    padded = torch.zeros(length, x.shape[1], device=x.device)
    padded[: len(x)] = x
    return padded


@mistake(
    "device by default",
    "The dtype is that of x, but the new tensor is on the CPU, which is the default, "
    "wherever x is.",
    "Run it in your mind on a GPU: where is x, and where is the tensor you make?",
    lambda x, length: torch.cat([x, _rows(x, length, dtype=x.dtype, device="cpu")]),
    lambda x, length: pad_rows(x, length).cpu(),
    lambda x, length: torch.cat([x, _rows(x, length).to(x.dtype)]),
)
def _cpu(x: Tensor, length: int) -> Tensor:
    padded = torch.zeros(length, x.shape[1], dtype=x.dtype)
    padded[: len(x)] = x
    return padded


@mistake(
    "always float64",
    "The result is float64, whatever x is.",
    "More digits are not asked for: a model in float32 can't use a float64 input. "
    "Which dtype does x have?",
    lambda x, length: pad_rows(x, length).to(torch.float64),
)
def _double(x: Tensor, length: int) -> Tensor:
    return pad_rows(x.double(), length)


@mistake(
    "always float64, on the CPU",
    "The new tensor was made in float64, whatever x is, and on the CPU.",
    "A fixed dtype is as wrong as none: whose dtype and device should it have?",
)
def _double_by_name(x: Tensor, length: int) -> Tensor:
    padded = torch.zeros(length, x.shape[1], dtype=torch.float64)
    padded[: len(x)] = x
    return padded


@mistake(
    "numbers taken out of x",
    "The numbers were taken out of x and put into a new tensor: no gradient gets back "
    "to x, and on another device it does not work.",
    "Lists and NumPy arrays know neither gradients nor devices. How can x itself be "
    "copied into the result?",
    lambda x, length: torch.from_numpy(
        np.pad(x.detach().numpy(), ((0, length - len(x)), (0, 0)))
    ),
)
def _by_lists(x: Tensor, length: int) -> Tensor:
    rows = x.tolist() + [[0] * x.shape[1]] * (length - len(x))
    return torch.tensor(rows, dtype=x.dtype, device=x.device)


@mistake(
    "zeros on top",
    "The rows of zeros stand above x.",
    "Which rows of the result should be those of x: the first or the last ones?",
    lambda x, length: torch.cat([x.new_zeros(length - len(x), x.shape[1]), x]),
)
def _on_top(x: Tensor, length: int) -> Tensor:
    padded = x.new_zeros(length, x.shape[1])
    padded[length - len(x) :] = x
    return padded


@mistake(
    "zeros by a product",
    "The rows of zeros were made of numbers of x times 0, and infinity times 0 is not "
    "a number.",
    "Which function makes zeros without asking what stands in x?",
    lambda x, length: torch.cat([x, (0 * x[:1]).expand(length - len(x), -1)]),
)
def _product(x: Tensor, length: int) -> Tensor:
    return torch.cat([x, (x[:1] * 0).repeat(length - len(x), 1)])


@mistake(
    "no row added",
    "The result has as many rows as x.",
    "`zeros_like` takes the shape of its argument as well. Which shape is asked for?",
    lambda x, length: x,
)
def _like(x: Tensor, length: int) -> Tensor:
    padded = torch.zeros_like(x)
    padded[: len(x)] = x
    return padded


@mistake(
    "so many rows more",
    "So many rows were added as the result should have.",
    "How many rows are there already?",
    lambda x, length: F.pad(x, (0, 0, 0, length)),
)
def _more(x: Tensor, length: int) -> Tensor:
    return torch.cat([x, x.new_zeros(length, x.shape[1])])


@mistake(
    "columns added",
    "Columns were added on the right, and no rows.",
    "In a table of shape (rows, columns), which of the two numbers should become "
    "`length`?",
    lambda x, length: torch.cat([x, x.new_zeros(len(x), length - x.shape[1])], dim=1),
)
def _columns(x: Tensor, length: int) -> Tensor:
    return F.pad(x, (0, length - x.shape[1]))


@mistake(
    "cut off from autograd",
    "The numbers are right, but no gradient gets through them to x.",
    "What do `detach`, `.data` and `torch.tensor(...)` leave behind?",
    lambda x, length: pad_rows(x.data, length),
)
def _detached(x: Tensor, length: int) -> Tensor:
    return pad_rows(x.detach(), length)


EXERCISES = (
    Exercise(
        "0.B",
        "A longer table, of the same kind",
        "function",
        difficulty=2,
        core=True,
        exact=True,
        answers=(Answer("pad_rows", pad_rows, {"padded": "length, columns"}),),
        cases=_cases,
        proves="four dtypes, another device, the gradient",
        misconceptions=(
            _default,
            _joined,
            _device_alone,
            _single,
            _cpu,
            _double,
            _double_by_name,
            _by_lists,
            _on_top,
            _product,
            _like,
            _more,
            _columns,
            _detached,
        ),
    ),
)
