"""What a wrong result hangs on, and the right one does not.

Other numbers are put into one place of an input, and the answer and the reference run
once more, on the same weights: so it is seen whether a result changed, whatever the
mistake was. Likewise 1 is added to a whole input.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from helpers.checks.compare import SINGLE
from helpers.checks.exercise import Case
from helpers.checks.limit import stopwatch
from helpers.checks.observe import Run, run_case
from helpers.checks.recognise import Trial
from helpers.checks.relations import axis_names

PLACES = 10  # axes with more of them are not asked about
RUNS, SECONDS = 150, 0.5  # what may be spent; the count is the same everywhere
Change = Callable[[Tensor], Tensor]


class _Over(Exception):
    """There is no time to ask more."""


class _Budget:
    def __init__(self) -> None:
        self.runs, self.spent = 0, stopwatch()

    def spend(self) -> float:
        """Count a run; returns the seconds that are left for it."""
        self.runs, left = self.runs + 1, SECONDS - self.spent()
        if self.runs > RUNS or left <= 0:
            raise _Over
        return left


@dataclass(frozen=True)
class _Asked:
    """A case that fails, and the result that is wrong in it."""

    trial: Trial
    case: Case
    run: Run
    right: Run
    name: str
    budget: _Budget

    @property
    def inputs(self) -> Iterator[tuple[int, Tensor, str]]:
        """Place, value and name of each tensor among the inputs that has a name."""
        for place, name in enumerate(self.case.inputs[: len(self.case.args)]):
            if isinstance(value := self.case.args[place], Tensor):
                yield place, value, name

    def after(self, place: int, new: Tensor) -> tuple[Tensor, Tensor] | None:
        """Yours and the right result where an input is another; None: it can't be."""
        args = [*self.case.args]
        args[place] = new
        case = replace(self.case, args=tuple(args), gradient=False)
        results = []
        for thing in (self.trial.thing, self.trial.answer.reference):
            left = self.budget.spend()
            run = run_case(thing, self.trial.answer, case, left, self.run.module)
            value = _number(run.judged.get(self.name))
            if run.raised is not None or not _finite(value):
                return None
            results.append(value)
        mine, right = results
        fits = mine.shape == self.mine.shape and right.shape == self.want.shape
        return (mine, right) if fits else None

    @property
    def mine(self) -> Tensor:
        """The wrong result."""
        return _number(self.run.judged[self.name])

    @property
    def want(self) -> Tensor:
        """The right one."""
        return _number(self.right.judged[self.name])

    def same(self, one: Tensor, two: Tensor) -> Tensor:
        """Which entries are equal."""
        near = 1e-4 if SINGLE in (one.dtype, two.dtype) else 1e-9
        one, two = one.double(), two.double()
        return torch.isclose(one, two, rtol=near, atol=near * 1e-2, equal_nan=True)


def influence(trial: Trial, wrong: Callable[[int], list[str]]) -> list[str]:
    """A sentence about what a wrong result hangs on; none where that is unknown.

    It is said of every case that fails and can be asked; the first of them is the one
    that is shown.

    Args:
        trial: The answer on its cases, failing ones first.
        wrong: The names of what differs in the case at a place.
    """
    try:
        return [*_told(trial, wrong)][:1]
    except Exception:  # out of time; and no check may fall over what comes on top
        return []


def _told(trial: Trial, wrong: Callable[[int], list[str]]) -> Iterator[str]:
    if any(run.raised is not None for run in (*trial.runs, *trial.expected)):
        return
    names = [one for one in wrong(0) if one in (*trial.answer.returns, "result")]
    budget = _Budget()
    failing = [
        _Asked(trial, case, run, right, names[0], budget)
        for place, (case, run, right) in enumerate(
            zip(trial.cases, trial.runs, trial.expected, strict=True)
        )
        if names and names[0] in wrong(place)
    ]
    if not failing or not all(map(_can_be_asked, failing)):
        return
    first, *others = failing
    for rule in _rules(first):
        said = rule(first)
        asked = 0
        for one in others:
            if not said:
                break
            theirs = rule(one)
            if theirs is not None:
                said = [text for text in said if text in theirs]
                asked += 1
        if said:
            every = asked == sum(map(bool, map(wrong, range(len(trial.cases))))) - 1
            scope = "every case that fails" if every else "the case shown"
            yield f"{first.name}: In {scope}, {said[0]}"
            return


def _can_be_asked(one: _Asked) -> bool:
    if one.case.look is not None:
        return False
    got, want = (_number(run.judged.get(one.name)) for run in (one.run, one.right))
    return _finite(got) and want is not None and got.shape == want.shape


def _finite(value: Tensor | None) -> bool:
    """Whether it is known: NaN stays NaN, whatever changes."""
    return value is not None and bool(value.isfinite().all())


def _number(value: Any) -> Tensor | None:
    """A result as a tensor, or None where it is not a number."""
    if isinstance(value, bool | int | float):
        return torch.tensor(value, dtype=torch.float64)
    if isinstance(value, Tensor) and not value.is_complex() and value.numel():
        return value
    return None


def _rules(first: _Asked) -> Iterator[Callable[[_Asked], list[str] | None]]:
    """What is asked, one after the other; None is the reply where it can't be."""
    inputs = [*first.inputs]
    for place, _, _ in inputs:
        yield partial(_whole, place=place)
    for place, value, _ in inputs:
        for axis in range(value.dim()):
            yield partial(_along, place=place, axis=axis, dim=value.dim())
    for place, value, _ in inputs:
        if value.is_floating_point():
            yield partial(_moved, place=place)


def _whole(one: _Asked, place: int) -> list[str] | None:
    """An input that has no influence, or that should have none."""
    found = {place: (value, name) for place, value, name in one.inputs}.get(place)
    if found is None:
        return None
    value, name = found
    after = one.after(place, _other(value))
    if after is None:
        return None
    mine, right = (
        not bool(one.same(new, old).all())
        for new, old in zip(after, (one.mine, one.want), strict=True)
    )
    if mine == right:
        return []
    return [
        f"we put other entries into `{name}`: "
        + (
            "your result changed; the right one stayed as it was."
            if mine
            else "your result stayed as it was; the right one changed."
        )
    ]


def _other(value: Tensor) -> Tensor:
    """The same entries in other places, no float where it was."""
    if value.is_floating_point():
        draw = torch.Generator().manual_seed(0)
        more = torch.rand(value.shape, generator=draw, dtype=torch.float64)
        return value + (0.5 + more).to(value)
    return value.flatten().flip(0).reshape(value.shape)


def _along(one: _Asked, place: int, axis: int, dim: int) -> list[str] | None:
    """What hangs on single places of an input."""
    found = {place: (value, name) for place, value, name in one.inputs}.get(place)
    if found is None or found[0].dim() != dim:
        return None
    value, name = found
    size = value.shape[axis]
    if not 1 < size <= PLACES:
        return None
    mine, right = [], []
    for at in range(size):
        new = _other_at(value, axis, at)
        after = None if new is None else one.after(place, new)
        if after is None:
            return None
        mine.append(~one.same(after[0], one.mine))
        right.append(~one.same(after[1], one.want))
    where = f"`{name}`" + (f" (axis {axis})" if dim > 1 else "")
    return [
        *_by_pair(one, torch.stack(mine), torch.stack(right), where),
        *_by_place(torch.stack(mine), torch.stack(right), where),
    ]


def _other_at(value: Tensor, axis: int, at: int) -> Tensor | None:
    """An input with other entries at one place; None where there are no others."""
    new, old = value.clone(), value.select(axis, at)
    if value.is_floating_point():
        put = _other(old)
    elif value.dtype == torch.bool:
        put = ~old
    else:
        rest = (
            value.select(axis, (at + step) % value.shape[axis])
            for step in range(1, value.shape[axis])
        )
        put = next((some for some in rest if not torch.equal(some, old)), None)
        if put is None:
            return None
    new.select(axis, at).copy_(put)
    return new


def _by_pair(one: _Asked, mine: Tensor, right: Tensor, where: str) -> Iterator[str]:
    """Places of the result that hang on earlier, later or other places of an input."""
    size = len(mine)
    shape = one.mine.shape
    axes = [axis for axis, length in enumerate(shape) if length == size]
    if len(axes) != 1:
        return
    [axis] = axes
    names = axis_names(one.trial.answer.returns.get(one.name, ""), len(shape))
    at = f"along {names[axis]}"
    pairs = [
        some.movedim(axis + 1, 1).flatten(2).any(2) if some.dim() > 2 else some
        for some in (mine, right)
    ]
    much, little = pairs[0] & ~pairs[1], ~pairs[0] & pairs[1]
    everywhere = torch.ones(size, size, dtype=torch.bool)
    kinds = {
        "later": everywhere.tril(-1),  # row: what was changed; column: the result
        "earlier": everywhere.triu(1),
        "other": ~torch.eye(size, dtype=torch.bool),
    }
    for kind, part in kinds.items():
        if bool(much.any()) and not bool((much & ~part).any()):
            yield (
                f"some places of your result {at} changed with {kind} places of "
                f"{where}; in the right one they did not."
            )
    for kind, part in kinds.items():
        if bool(little.any()) and not bool((little & ~part).any()):
            yield (
                f"some places of the right result {at} changed with {kind} places of "
                f"{where}; in yours they did not."
            )


def _by_place(mine: Tensor, right: Tensor, where: str) -> Iterator[str]:
    """Places of an input that have an influence, or none."""
    hang = [some.reshape(len(some), -1).any(1) for some in (mine, right)]
    much, little = hang[0] & ~hang[1], ~hang[0] & hang[1]
    for some, yours, theirs in (
        (much, "changed", "stayed as it was"),
        (little, "stayed as it was", "changed"),
    ):
        for at, text in _places(len(some)):
            if bool(some[at]):
                yield (
                    f"we put other entries at the {text} place of {where}: your "
                    f"result {yours}; the right one {theirs}."
                )
        if bool(some.any()):
            yield (
                f"we put other entries at some places of {where}: your result "
                f"{yours}; the right one {theirs}."
            )


def _places(size: int) -> Iterable[tuple[int, str]]:
    named = [(0, "first"), (size - 1, "last")]
    if size > 3:
        named += [(1, "second"), (size - 2, "last but one")]
    return named


def _moved(one: _Asked, place: int) -> list[str] | None:
    """What becomes of a result where 1 is added to an input."""
    found = {place: (value, name) for place, value, name in one.inputs}.get(place)
    if found is None:
        return None
    value, name = found
    after = one.after(place, value + 1)
    if after is None:
        return None
    mine, right = (
        bool(one.same(new, old).all())
        for new, old in zip(after, (one.mine, one.want), strict=True)
    )
    if mine == right:
        return []
    kept, changed = "stayed as it was", "changed"
    return [
        f"we added 1 to every entry of `{name}`: your result "
        f"{kept if mine else changed}; the right one {kept if right else changed}."
    ]
