"""Put an answer to a case and write down what happened, without leaving a trace.

The student's code may raise, print, loop for ever or change global settings: all of
it ends here, as a `Run`.
"""

import copy
import io
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from helpers.checks import settings
from helpers.checks.compare import (
    DOUBLE,
    SINGLE,
    Share,
    difference,
    in_dtype,
    losses,
)
from helpers.checks.exercise import Answer, Case, Exercise, Look
from helpers.checks.limit import TimeLimit, TimeUp, stopwatch
from helpers.checks.plain import Listed, Odd, kind_of, plain

PRINTED = 2000  # characters of the student's own prints that are kept
LOOKED_AT = "weights"  # a result that is only drawn: no gradient is asked of it


@dataclass
class Run:
    """What one answer did on one case."""

    judged: dict[str, Any] = field(default_factory=dict)  # must equal the reference's
    clues: dict[str, Any] = field(default_factory=dict)  # tell one mistake from another
    raised: BaseException | None = None
    module: Any = None  # classes: the instance, whose parts the reference adopts
    printed: str = ""
    adopted: bool = True  # a donor's parts, where there is one; else some differ


class _Printed(io.TextIOBase):
    """Keeps the beginning of what is printed, however much it is."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        if len(self.text) < PRINTED:
            self.text += text[: PRINTED - len(self.text)]
        return len(text)


@contextmanager
def untouched_world() -> Iterator[_Printed]:
    """Run student code; put random states, settings and output back after."""
    python, array, seed = (
        random.getstate(),
        np.random.get_state(),
        torch.get_rng_state(),
    )
    before, printed = settings.read(), _Printed()
    try:
        with warnings.catch_warnings(), redirect_stdout(printed):
            # With gradients; what it was is put back, whatever happens inside.
            with redirect_stderr(printed), torch.inference_mode(False):
                warnings.simplefilter("ignore")
                yield printed
    finally:
        random.setstate(python)
        np.random.set_state(array)
        torch.set_rng_state(seed)
        settings.put_back(before)


def cases_of(exercise: Exercise, seed: int) -> list[Case]:
    """The cases of an exercise: also those that create modules hang on the seed."""
    with untouched_world():
        torch.default_generator.manual_seed(seed)
        return exercise.cases(seed)


def run_cases(thing: Any, answer: Answer, cases: list[Case], limit: float) -> list[Run]:
    """Put a student's answer to all cases, `limit` seconds of a `stopwatch` in all.

    After a time-out the remaining cases are not asked: the list ends there.
    """
    runs: list[Run] = []
    spent = stopwatch()
    for case in cases:
        runs.append(run_case(thing, answer, case, limit - spent()))
        if isinstance(runs[-1].raised, TimeUp):
            break
    return runs


def run_case(
    thing: Any,
    answer: Answer,
    case: Case,
    limit: float = 60.0,
    donor: Any = None,
    seed: int = 0,
) -> Run:
    """Put an answer to one case.

    Args:
        thing: The function, class or value.
        answer: What the exercise says about it.
        case: The inputs.
        limit: Seconds until it is stopped.
        donor: For a class: take over this module's parts, so that two answers are
            compared on the same weights.
        seed: For what is random when it is called; how it is built does not change.
    """
    run = Run()
    with untouched_world() as printed:
        try:
            with TimeLimit(max(limit, 0.001)):
                _observe(run, thing, answer, case, donor, seed)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            run.raised = error
            run.judged = {"raised": f"{type(error).__name__}: {said(error)}"}
    run.printed = printed.text
    return run


def said(error: BaseException) -> str:
    """An error's message; empty if even that can't be had."""
    try:
        return str(error)
    except Exception:  # a class of the student's own
        return ""


def _observe(
    run: Run, thing: Any, answer: Answer, case: Case, donor: Any, seed: int
) -> None:
    torch.default_generator.manual_seed(0)  # manual_seed takes 2 ms, for CUDA's sake
    torch.set_deterministic_debug_mode("warn")  # `torch.empty` makes NaN, not chance
    args = tuple(_own(arg) for arg in case.args)
    call = thing
    if isinstance(answer.reference, type):
        run.module = call = thing(*copy.deepcopy(case.init))
        if isinstance(call, nn.Module):
            call.register_forward_hook(lambda module, inputs, output: plain(output))
        run.judged |= _parts(run.module, answer, case)
        if donor is not None:
            run.adopted = _adopt(run.module, donor, answer.parts)
        if isinstance(call, nn.Module):
            args = _move(call, args)
    leaves = tuple(_leaf(arg) for arg in args)
    if case.gradient:  # no leaves for the answer: it may change its own copies
        args = tuple(_grown(leaf) for leaf in leaves)
    before = _copies(args)
    if seed:
        torch.default_generator.manual_seed(seed)
    look = case.look or (lambda call, *args: _call(call, args, case, answer.returns))
    seen = look(call if isinstance(call, nn.Module) else _plainly(call), *args)
    judged = {name: plain(value) for name, value in seen.judged.items()}
    run.judged |= {name: keep(value) for name, value in judged.items()}
    run.clues = {name: keep(value) for name, value in seen.clues.items()}
    if case.gradient:
        run.judged |= _gradients(judged, call, leaves, case, answer)
    changed = [
        name
        for name, old, new in zip(_names(case), before, args, strict=False)
        if isinstance(old, Tensor) and difference(old, keep(new)) > 0
    ]
    run.judged["inputs"] = f"changed {', '.join(changed)}" if changed else "unchanged"


def lost_in_float32(answer: Answer, case: Case) -> dict[str, float]:
    """What the course's own answer loses on a case when it computes in float32."""
    double = replace(case, args=tuple(in_dtype(arg, DOUBLE) for arg in case.args))
    exact = run_case(answer.reference, answer, double)
    single = run_case(in_float32(answer.reference), answer, double, donor=exact.module)
    return losses(single.judged, exact.judged)


def in_float32(answer: Any) -> Any:
    """A function or module class that computes in float32, whatever it is given."""
    if not isinstance(answer, type):
        return lambda *args, **options: answer(
            *map(_single, args),
            **{name: _single(value) for name, value in options.items()},
        )

    def forward(self: Any, *args: Any, **options: Any) -> Any:
        args = tuple(map(_single, args))
        if vars(self).get("within"):
            return answer.forward(self, *args, **options)
        state = dict(self.named_parameters()) | dict(self.named_buffers())
        state = {name: in_dtype(value, SINGLE) for name, value in state.items()}
        vars(self)["within"] = True
        try:
            return torch.func.functional_call(self, state, args, options)
        finally:
            vars(self)["within"] = False

    return type(answer.__name__, (answer,), {"forward": forward})


def _single(value: Any) -> Any:
    """An argument in float32; also the tensors in tuples and lists."""
    if type(value) in (tuple, list):
        return type(value)(map(_single, value))
    return in_dtype(value, SINGLE)


def _own(value: Any) -> Any:
    """A copy; deepcopy of a tensor takes 20 times as long."""
    return value.clone() if isinstance(value, Tensor) else copy.deepcopy(value)


def _copies(args: tuple) -> tuple:
    return tuple(
        arg.detach().clone() if isinstance(arg, Tensor) else None for arg in args
    )


def _names(case: Case) -> list[str]:
    unnamed = [f"input {n}" for n in range(len(case.inputs), len(case.args))]
    return [*case.inputs, *unnamed]


def _call(call: Callable, args: tuple, case: Case, returns: Mapping[str, str]) -> Look:
    result = call(*args, **copy.deepcopy(dict(case.kwargs)))
    if len(returns) <= 1:
        return Look({next(iter(returns), "result"): result})
    if isinstance(result, tuple | list) and len(result) == len(returns):
        return Look(dict(zip(returns, result, strict=True)))
    return Look({"result": result})


def _plainly(thing: Any) -> Any:
    """A function whose results are plain; a value that is plain itself."""
    if not callable(thing):
        return plain(thing)
    return lambda *args, **options: plain(thing(*args, **options))


def keep(value: Any) -> Any:
    """A value as it is remembered: plain, tensors detached and copied, oddities named.

    A name is all that is remembered of what can't be compared.
    """
    value = plain(value)
    if isinstance(value, Tensor):
        if value.layout != torch.strided:
            return Odd("sparse tensor")  # which could not even be compared
        return value.detach().cpu().clone()
    if isinstance(value, int) and abs(value) > 1e18:  # Python won't print or divide it
        return Odd("huge int")
    if value is None or isinstance(value, bool | int | float | str | Share):
        return value
    if isinstance(value, tuple | list):
        kept = [keep(item) for item in value]
        if any(isinstance(item, Tensor | Odd) for item in kept):
            kinds = ", ".join(type(item).__name__ for item in value[:4])
            more = ", ..." if len(value) > 4 else ""
            return Odd(f"{type(value).__name__} of {len(value)} ({kinds}{more})")
        return Listed(kept) if isinstance(value, list) else tuple(kept)
    return value if isinstance(value, Odd) else Odd(kind_of(value))


def _leaf(value: Any) -> Any:
    if isinstance(value, Tensor) and value.is_floating_point():
        return value.clone().requires_grad_()
    return value


def _grown(leaf: Any) -> Any:
    return leaf * 1.0 if isinstance(leaf, Tensor) and leaf.requires_grad else leaf


def _gradients(
    results: Mapping[str, Any], call: Any, leaves: tuple, case: Case, answer: Answer
) -> dict[str, Any]:
    """Gradient of a fixed random mixture of the results, per input and part."""
    wanted = {
        f"gradient of {name}": leaf
        for name, leaf in zip(_names(case), leaves, strict=False)
        if isinstance(leaf, Tensor) and leaf.requires_grad
    }
    for part in answer.parts:
        wanted |= {
            f"gradient of {part}.{name}": value
            for name, value in getattr(call, part).named_parameters()
        }
    draw = torch.Generator().manual_seed(1)
    total = sum(
        (value * torch.randn(value.shape, generator=draw).to(value)).sum()
        for name, value in results.items()
        if isinstance(value, Tensor) and value.is_floating_point()
        if name != LOOKED_AT
    )
    if not isinstance(total, Tensor) or not total.requires_grad:
        return dict.fromkeys(wanted, "none: the result is cut off from autograd")
    values = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
    return {
        name: "none: it has no influence" if value is None else keep(value)
        for name, value in zip(wanted, values, strict=True)
    }


def _parts(module: Any, answer: Answer, case: Case) -> dict[str, Any]:
    """The weight shape of each part that the stub names, or "missing"."""
    shapes = {}
    for part in answer.parts:
        child = getattr(module, part, None)
        if child is None or child is Ellipsis:
            shapes[f"part {part}"] = "missing"
        elif not isinstance(child, nn.Module):
            shapes[f"part {part}"] = f"a {type(child).__name__}, not a module"
        else:
            weight = plain(getattr(child, "weight", None))
            shape = tuple(weight.shape) if isinstance(weight, Tensor) else "no weight"
            shapes[f"part {part}"] = f"weight {shape}"
    return shapes


def _adopt(module: nn.Module, donor: Any, parts: tuple[str, ...]) -> bool:
    """Give a module the donor's parts, where their weights have the same shape.

    A part made of parts keeps its own settings, such as its number of heads: it takes
    over the weights alone. Only where they are cut another way does it come whole.

    Returns:
        Whether each part holds the donor's weights now.
    """
    same = True
    for part in parts:
        ours, theirs = getattr(module, part, None), getattr(donor, part, None)
        if not (isinstance(ours, nn.Module) and isinstance(theirs, nn.Module)):
            continue
        mine, given = dict(ours.named_parameters()), dict(theirs.named_parameters())
        if len(mine) > 2 and mine.keys() == given.keys():
            if fits := all(mine[name].shape == given[name].shape for name in mine):
                ours.to(next(iter(given.values())))
                with torch.no_grad():
                    for name, value in ours.named_parameters():
                        value.copy_(given[name])
        elif fits := _fit(_weights(ours), _weights(theirs)):
            setattr(module, part, copy.deepcopy(theirs))
        same &= fits
    return same


def _weights(module: nn.Module) -> dict[str, Tensor]:
    named = module.named_parameters()
    return {name: value for name, value in named if name.endswith("weight")}


def _fit(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> bool:
    """Same shapes; in a part made of parts as many numbers, however they are cut."""
    if "weight" in ours or "weight" in theirs:
        shapes = ([value.shape for value in some.values()] for some in (ours, theirs))
        return next(shapes) == next(shapes)
    counts = (sum(value.numel() for value in some.values()) for some in (ours, theirs))
    return next(counts) == next(counts)


def _move(module: nn.Module, args: tuple) -> tuple:
    """Module to the inputs' dtype, inputs to the module's device."""
    dtypes = {arg.dtype for arg in args if isinstance(arg, Tensor)}
    if torch.float64 in dtypes:
        module.double()
    where = next((value.device for value in module.parameters()), None)
    return tuple(arg.to(where) if isinstance(arg, Tensor) else arg for arg in args)
