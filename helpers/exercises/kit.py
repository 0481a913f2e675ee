"""What exercises of several lessons are made of: inputs, norms, and wrong answers."""

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam

from helpers.checks.exercise import Case, Exercise


def exercises_in(package: str, path: list[str]) -> tuple[Exercise, ...]:
    """The exercises of all files of a lesson, in the order of their numbers.

    Args:
        package: the lesson's `__name__`
        path: the lesson's `__path__`; a file there holds a tuple `EXERCISES`, or none
    """
    files = (import_module(f"{package}.{file.name}") for file in iter_modules(path))
    found = (one for file in files for one in getattr(file, "EXERCISES", ()))
    return tuple(sorted(found, key=lambda exercise: exercise.place))


def exchanging(reference: Callable) -> Callable[..., Any]:
    """What writes wrong answers: the reference with one step, or several, exchanged.

        swap = exchanging(gru_step)
        mistake("no reset", ..., ..., swap(candidate=lambda read, past, r: ...))

    Args:
        reference: a function whose steps are keyword arguments with a default, or a
            class whose steps are methods
    """
    if isinstance(reference, type):
        return lambda **steps: type("_Wrong", (reference,), steps)
    return partial(partial, reference)


def normal(
    draw: torch.Generator,
    *size: int,
    scale: float = 1.0,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """Normal numbers with this standard deviation, drawn in float64 in any case."""
    return scale * torch.randn(size, generator=draw, dtype=torch.float64).to(dtype)


def words(draw: torch.Generator, vocab_size: int, *size: int) -> Tensor:
    """Random token ids, none of them padding."""
    return torch.randint(1, vocab_size, size, generator=draw)


def padded(*real: int, length: int) -> Tensor:
    """A padding mask (B, H=1, T=1, S) with so many real tokens in each sequence."""
    return (torch.arange(length) < torch.tensor(real)[:, None])[:, None, None]


def reordered(patients: Iterable[Case], seed: int) -> list[Case]:
    """What a test has to judge, in an order drawn by the seed, three of them twice.

    So a test can't say True and False by the number of times that it was asked. Seed 0,
    that of the notebooks, keeps the order and asks once: there the first that is judged
    wrongly is the one that a lesson speaks of first.
    """
    cases = list(patients)
    if seed == 0:
        return cases
    draw = random.Random(seed)
    cases += [replace(one, name=f"{one.name}, again") for one in draw.sample(cases, 3)]
    return draw.sample(cases, len(cases))


def number(value: Any) -> Any:
    """A number as it is, also where it came as a tensor that holds one."""
    one = isinstance(value, Tensor) and value.numel() == 1
    return value.double().item() if one else value


def attend(part: nn.Module, *inputs: Any) -> Tensor:
    """What an attention part puts out, whether or not the weights come with it."""
    output = part(*inputs)
    return output[0] if isinstance(output, tuple) else output


def near(count: int, total: int, rate: float, sigmas: float = 5.0) -> bool:
    """Whether something random happened as often as it should.

    Args:
        count: how often it happened
        total: how often it could have happened
        rate: its probability
        sigmas: how many standard errors are allowed either way, and one count more
    """
    return abs(count - rate * total) <= sigmas * (rate * (1 - rate) * total) ** 0.5 + 1


@torch.no_grad()
def shake(*parts: Any) -> None:
    """Give every norm in these parts a gain and a bias that tell it from the others.

    Fresh norms are all 1 and 0, and hide which one was used where. The numbers are the
    same in every run.

    Args:
        *parts: modules that hold layer norms, or norms, also of the student's own
    """
    draw = torch.Generator().manual_seed(0)
    for part in parts:
        inside = part.modules() if isinstance(part, nn.Module) else ()
        norms = [one for one in inside if isinstance(one, nn.LayerNorm)]
        for norm in norms or [part]:
            for name, middle in (("weight", 1.0), ("bias", 0.0)):
                value = getattr(norm, name, None)
                if isinstance(value, Tensor):
                    value.copy_(middle + 0.5 * normal(draw, *value.shape))


@cache
def warm_up_optimizers() -> None:
    """Take a step with each, once per process.

    torch's first optimizer imports for seconds: that should not be on a check's clock.
    """
    weight = torch.zeros(1, requires_grad=True)
    for kind in (SGD, Adam):
        optimizer = kind([weight], lr=0.1)
        optimizer.zero_grad()
        with torch.enable_grad():
            weight.sum().backward()
        optimizer.step()
