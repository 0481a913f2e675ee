"""Right up to here: the first line of a wrong answer whose numbers no right one has.

Where no known mistake fits, the answer runs once more, and torch shows every operation
with its result and the student's line. The reference and the answers in
`helpers/exercises/<lesson>/variants/` run on the same inputs and weights. A number
that one of them computes, too, is *known*. A line is pointed at where the known
numbers end: right code may compute others for a while, but then comes back to them.

Where torch does not see the result (NumPy, plain Python), the variables are compared
after every statement: `steps.py`. What can't be known is not said: nothing is found
where numbers are drawn at random, or where running everything again takes too long.
"""

import linecache
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.checks import blanks, steps
from helpers.checks.blanks import Line
from helpers.checks.compare import Yardstick
from helpers.checks.exercise import LESSONS, Answer, Case, Exercise
from helpers.checks.limit import TimeUp, delicate, stopwatch
from helpers.checks.observe import Run, _observe, run_case, untouched_world
from helpers.checks.steps import Step, Trace
from helpers.checks.telling import WITHIN, among, plain, telling

# For all runs together. The counts come first, as they are the same everywhere.
VALUES, NUMBERS, SECONDS = 12_000, 3_000_000, 2.0
LARGE = 1_000_000  # numbers in a tensor: it is not looked at
SINGLE = 1e-5  # the same in float32
COARSE = 1e-4  # float16 is beyond it: any two numbers may be equal there
RANDOM = (
    "bernoulli", "dropout", "exponential", "multinomial", "normal", "rand", "uniform"
)  # fmt: skip
VIEWS = (
    "_to_copy", "_unsafe_view", "alias", "clone", "detach", "expand", "permute",
    "squeeze", "t", "transpose", "unsqueeze", "view"
)  # fmt: skip
BACKWARD = re.compile(r"^[\w.]+\.backward\(")  # it makes gradients, rightly or not
UNFILLED = re.compile(r"\b(new_)?empty(_like)?\(")  # makes whatever lay in memory
CHECKS = str(Path(__file__).parent) + os.sep
HELPERS = str(Path(__file__).parents[1]) + os.sep
CELL = _observe.__code__  # where the harness ends and the answer's frames begin


@dataclass(frozen=True)
class Found:
    """Where an answer leaves the right ones."""

    line: Line | None  # the first whose numbers are in no right answer; None: none is
    known: int | None = None  # the line before it whose numbers still are in one
    straight: bool = True  # every number before it is in a right answer
    whole: bool = False  # ids or masks, which were not compared, are in none
    built: bool = False  # a class: what `__init__` makes was not looked at
    chain: tuple[int, ...] = ()  # the lines on the way to it, innermost first
    starts: int = 0  # how many such lines there are: this is the last
    what: str = "numbers"  # that were compared
    onward: bool = False  # other lines lie between it and the result
    some: bool = False  # other numbers that the line makes are in a right answer
    runs: int = 0  # in so many of its runs alone it makes strange ones; 0: in all
    follows: bool = True  # what is made from these is in no right answer, either
    loop: bool = False  # it has run before, in a loop that goes on after it
    fed: bool = False  # what goes into it may be what is wrong, and not the line
    layers: bool = False  # right answers differ on those that `__init__` makes
    nan: bool = False  # it makes NaN from what is none

    def __str__(self) -> str:
        """What the student is told: what was found, not what it means."""
        if self.layers:
            return (
                "With the layers that your `__init__` makes, right answers differ from "
                "one another: look first at how each of them is made."
            )
        if self.line is None:
            so = f"All your {self.what} that can be compared occur in right answers"
            if not self.straight:
                so = f"Your {self.what} alone do not show which line is wrong"
            if self.whole:
                so += " (ids and masks were not compared)"
            if self.what == "values":
                so += " (True, False and single whole numbers, halves and quarters "
                so += "were not compared)"
            axes = "" if self.what == "values" else "axes, "
            return (
                f"{so}: look at {axes}indices, comparisons and at what is returned; or "
                f"a step is missing{', or `__init__` is wrong' if self.built else ''}."
            )
        if self.nan:
            return (
                f"Line {self.line.number} ({self.line.text}) makes the first NaN: look "
                "there and at what goes into it."
            )
        if self.onward:
            return self._onward
        what, at = self.what, f"line {self.line.number} ({self.line.text})"
        if self.known is None and self.straight:
            so = f"As far as your {what} can be compared, {at} makes the first that we "
            so += f"do not find {self._apart}"
        elif self.known is None:
            so = f"We do not find {self._apart} {self._made(at)}"
        elif self.straight:
            so = f"Up to line {self.known} we find your {what} in right answers, as "
            so += f"far as they can be compared. L{at[1:]} makes the first that we do "
            so += f"not find {self._theirs}"
        else:
            so = f"Of the {what} that line {self.known} makes we find at least some in "
            so += f"right answers. We do not find {self._theirs} {self._made(at)}"
        look = "look there and before it"
        if self.fed:
            look = "what goes into it may be wrong already: look before it and there"
        look += ", or in the rest of the loop" if self.loop else ""
        look += ", and in `__init__`" if self.built else ""
        return f"{so}. It may be another way; if not, {look}."

    def _made(self, at: str) -> str:
        if self.runs:
            return (
                f"what {at} makes in {'one' if self.runs == 1 else 'some'} of its runs"
            )
        return f"{'all that' if self.some else 'what'} {at} makes"

    @property
    def _apart(self) -> str:
        """Where a value was looked for: what runs within a statement, none leaves."""
        if self.what == "numbers":
            return "in right answers"
        return "after statements of right answers"

    @property
    def _theirs(self) -> str:
        """The same, where right answers have been spoken of."""
        return "there" if self.what == "numbers" else "after statements of theirs"

    @property
    def _onward(self) -> str:
        up, there = "", self._apart
        if self.known is not None:
            up = f"Up to line {self.known} we find your {self.what} in right answers, "
            up = up + "as far as they can be compared. " if self.straight else ""
            there = self._theirs if self.straight else there
        at = f"line {self.line.number} ({self.line.text})"
        after = self.straight and not self.fed
        around = "after" if after else "before and after"
        so = f"We do not find {there} {self._made(at)}"
        if self.follows and not (self.runs or self.some):
            so += ", nor what follows from it"
        look = f"look there and at the lines {around} it"
        look += ", and in `__init__`" if self.built else ""
        return f"{up}{so}. It may be another way; if not, {look}."


@dataclass(eq=False)
class _Value:
    """The result of one operation."""

    name: str  # of the operation
    numbers: np.ndarray  # all of them, as they stood then
    exact: float  # how far equal numbers may be apart
    chain: tuple[int, ...]  # the student's lines on the way to it, innermost first
    built: bool  # made in an `__init__`
    partial: bool  # one piece of it was written in place
    parents: list["_Value"]
    call: tuple = ()  # the operation, and what went into it beside tensors
    drawn: bool = False  # random, or computed from what is
    mine: bool = False  # computed in the answer, or from what was
    status: str = ""
    leads: bool = False  # something known was computed from it
    lost: bool = (
        False  # it, or what it was computed from, is a place where known numbers end
    )
    own: bool = False  # made in an `__init__` of the student's
    bare: bool = False  # a weight as it is, or a view of one
    odd: bool = False  # a number or two that no right answer has, made from none

    @cached_property
    def telling(self) -> np.ndarray:
        """Its numbers that tell something; ids and masks have none."""
        return telling(self.numbers, self.exact)

    @property
    def simple(self) -> bool:
        """Whether it can only be compared as a whole."""
        return not len(self.telling)


class Silent(Exception):
    """Nothing can be said; the message is the reason."""


class _Differ(Exception):
    """Right answers do not do the same on the student's layers."""


class _Budget:
    """What may be spent on an answer: values, numbers in them, and seconds."""

    def __init__(self, spent: Callable[[], float] | None = None) -> None:
        self.values = self.numbers = 0
        self.spent, self.over = spent or stopwatch(), ""
        self.outside = delicate(sys._getframe())

    @property
    def seconds(self) -> float:
        """What is left of them."""
        return SECONDS - self.spent()

    def spend(self, numbers: int, values: int = 1) -> None:
        """Take a value into account.

        Raises:
            TimeUp: It is one too many, and the run ends; not in the middle of an
                import, which would leave half a module behind.
        """
        self.values, self.numbers = self.values + values, self.numbers + numbers
        if self.values > VALUES or self.numbers > NUMBERS:
            self.over = "more is computed than can be kept"
        elif self.seconds < 0:
            self.over = "it takes too long"
        if self.over and delicate(sys._getframe()) == self.outside:
            raise TimeUp

    def foresee(self, began: float, runs: int) -> None:
        """Give up where more runs like the one that has ended can hardly be afforded.

        Args:
            began: When that run began, in seconds that are spent.
            runs: How many are to follow.

        Raises:
            Silent: They would take twice as long as is left.
        """
        if (self.spent() - began) * runs > 2 * self.seconds:
            raise Silent("it takes too long")


class _At(NamedTuple):
    """Where an operation runs."""

    chain: tuple[int, ...]  # the student's lines on the way to it, innermost first
    built: bool  # in an `__init__`
    own: bool  # which is the student's


NOWHERE = _At((), False, False)


class _Watch(TorchDispatchMode):
    """Notes the result of every operation of torch."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled here; otherwise torch imports for seconds

    def __init__(self, file: str | None, budget: _Budget) -> None:
        super().__init__()
        self.file, self.budget = file, budget
        self.values: list[_Value] = []
        self.latest: dict[Any, _Value] = {}  # tensor or memory -> its last value
        self.alive: list[Tensor] = []  # so that no other tensor gets the same id

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Run an operation and note what came out."""
        kwargs = kwargs or {}
        at = _frames(self.file) if self.file else NOWHERE
        chain = at.chain
        operands = list(_tensors((args, tuple(kwargs.values()))))
        parents = [self._of(one, chain) for one in operands]
        result = func(*args, **kwargs)
        name = func._schema.name.removeprefix("aten::")
        if name == "dropout" and not args[2]:
            name = "alias"  # in eval mode, where it draws nothing
        bare = name in VIEWS and all(
            isinstance(one, nn.Parameter) or value.bare
            for one, value in zip(operands, parents, strict=True)
        )
        call = name, _beside_tensors((args, sorted(kwargs.items())))
        for one in _tensors(result):
            value = self._keep(name, one, at, parents)
            value.bare, value.call = bare, call
            base = one._base
            if base is not None and func._schema.is_mutable:
                parents = [*parents, self._of(base, chain)]
                self._keep(name, base, at, parents, partial=True)
        if self.file is None:
            for one in _by_hand(name, args, kwargs):
                self._keep("by hand", one, at, parents)
        return result

    def _of(self, tensor: Tensor, chain: tuple) -> "_Value":
        """The last value of a tensor."""
        found = self.latest.get(id(tensor)) or self.latest.get(_memory(tensor))
        if found is None:  # it came from outside torch
            found = self._keep("outside", tensor, NOWHERE, [])
            found.mine = bool(chain)
        return found

    def _keep(self, name, tensor, at, parents, partial=False) -> _Value:
        seen = tensor if tensor.numel() <= LARGE else tensor.new_empty(0)
        self.budget.spend(seen.numel())
        chain, built = at.chain, at.built
        value = _Value(name, *_numbers(seen), chain, built, partial, parents)
        drawn = chain and not built and any(word in name for word in RANDOM)
        value.own = at.own
        value.drawn = bool(drawn) or any(one.drawn for one in parents)
        value.mine = bool(chain) or any(one.mine for one in parents)
        self.values.append(value)
        self.alive.append(tensor)
        self.latest[id(tensor)] = self.latest[_memory(tensor)] = value
        return value


def locate(
    exercise: Exercise,
    index: int,
    thing: Any,
    cases: list[Case],
    runs: list[Run],
    expected: list[Run],
    others: Iterable[Any] | None = None,
) -> Found | None:
    """Where a wrong answer leaves the right ones; None where that can't be known.

    Args:
        exercise: What is asked.
        index: Which of its answers this is.
        thing: The student's function or class.
        cases: All cases of this answer.
        runs: What it did on them.
        expected: What the reference did on them.
        others: The right answers to compare with; default: all that we have.
    """
    try:
        with np.errstate(all="ignore"):
            return look(exercise, index, thing, cases, runs, expected, others)
    except Exception:  # Silent; and no check may fall over what comes on top of it
        return None


def right_answers(exercise: Exercise, index: int) -> list[Any]:
    """The reference, and the independent solutions."""
    several = variants(exercise.lesson).get(exercise.id, ())
    return [
        exercise.answers[index].reference,
        *(one[index] if isinstance(one, tuple) else one for one in several),
    ]


@cache
def variants(lesson: int) -> dict[str, tuple]:
    """Exercise id -> independent solutions, from `helpers/exercises/*/variants/`.

    Each file there holds, for the exercises of the file of its name beside `variants/`,

        VARIANTS = {"2.B": (function, function, function), "3.A": ((split, merge), ...)}

    an exercise's id and at least three answers, each of them a tuple where the exercise
    asks for several.
    """
    found: dict[str, tuple] = {}
    package = import_module(f"helpers.exercises.{LESSONS[lesson]}.variants")
    for file in pkgutil.iter_modules(package.__path__):
        module = import_module(f"{package.__name__}.{file.name}")
        mine = getattr(module, "VARIANTS", {})
        if twice := ", ".join(found.keys() & mine):
            raise ValueError(f"{module.__name__} repeats {twice}.")
        found |= mine
    return found


def look(
    exercise: Exercise,
    index: int,
    thing: Any,
    cases: list[Case],
    runs: list[Run],
    expected: list[Run],
    others: Iterable[Any] | None = None,
) -> Found:
    """Like `locate`, but says why nothing can be said.

    Raises:
        Silent: The numbers don't tell.
    """
    file = blanks.file_of(thing)
    place = first_wrong(cases, runs, expected)
    if not exercise.locates:
        raise Silent("not in this exercise")
    if file is None:
        raise Silent("no code to be seen")
    if place is None:
        raise Silent("parts or gradients alone are wrong")
    if others is None:
        others = right_answers(exercise, index)
    asked = replace(cases[place], gradient=False)
    wrong = _wrong(runs[place], expected[place], asked)
    passing = [
        case
        for case, run, right in zip(cases, runs, expected, strict=False)
        if run.raised is None and not _wrong(run, right, case)
    ]
    right = min(passing, key=_late, default=None)
    passing = replace(right, gradient=False) if right else None
    answer, budget = exercise.answers[index], _Budget()
    trial = _Asked(answer, thing, asked, passing, list(others), file, budget)
    try:
        return _by_both(trial, any(map(_comparable, wrong.values())))
    except _Differ:
        return Found(None, layers=True)


def _by_both(trial: "_Asked", tensors: bool) -> Found:
    """Where the numbers of operations leave those of right answers, or the values."""
    reason, found = "the result isn't a tensor", None
    if tensors:
        try:
            found = _by_operations(trial)
        except Silent as silent:
            reason = str(silent)
    if found is not None and found.line is not None:
        return found
    try:  # what is computed with NumPy and Python's numbers, torch does not see
        by_statements = _by_statements(trial)
    except Silent as silent:
        if found is None:
            raise Silent(f"{reason}; by statements: {silent}") from None
        by_statements = found
    found = found or by_statements
    if by_statements.line is not None:
        return by_statements
    certain = found.straight and not found.whole
    found = by_statements if certain and not by_statements.straight else found
    return replace(found, built=found.built or "__init__" in vars(trial.thing))


@dataclass(frozen=True)
class _Asked:
    """An answer that is to be watched on a case, beside the right ones."""

    answer: Answer
    thing: Any
    case: Case
    passing: Case | None  # one that it gets right
    others: list[Any]
    file: str
    budget: _Budget


def _by_operations(trial: _Asked) -> Found:
    """Where the numbers of torch's operations leave those of the right answers.

    Raises:
        Silent: The numbers don't tell.
    """
    answer, others, budget = trial.answer, trial.others, trial.budget
    for double in (True, False):
        case = _doubled(trial.case) if double else trial.case
        began = budget.spent()
        run, watch = _watched(
            trial.thing, answer, case, None, double, trial.file, budget
        )
        if run.raised is not None:
            continue
        budget.foresee(began, len(others))
        rest = (answer, case, run.module, double, None, budget)
        right, first = _watched(others[0], *rest)
        wrong = right.raised is None and _wrong(run, right, case)
        if not wrong:
            continue
        if not right.adopted:
            raise Silent("right answers have other weights")
        results = [_results(value, watch.values) for value in wrong.values()]
        if not _promising(results):
            raise Silent("the result was not seen")
        if any(_any_nan(run.judged.get(n)) > _any_nan(right.judged[n]) for n in wrong):
            if found := _first_nan(watch.values, results, trial.file):
                return found
        seen = [_watched(other, *rest) for other in others[1:]]
        _agree([right, *(r for r, _ in seen)], answer, case)
        pool = _Pool([first, *(w for r, w in seen if not _apart(r, right, case))])
        asked = any(_is_simple(right.judged[name]) for name in wrong)
        _mark(watch.values, pool, asked)
        found = _found(watch.values, pool, results, trial.file)
        if found.line is None and not asked and any(map(_single, wrong.values())):
            raise Silent("the result can't be compared")
        return found
    raise Silent("it raises, or is right, when it is asked again")


def _by_statements(trial: _Asked) -> Found:
    """Where the values that statements make leave those of the right answers.

    A line whose values are strange although the result is right, in another case,
    goes another way there, and is not pointed at.

    Raises:
        Silent: The values don't tell.
    """
    budget = _Budget(trial.budget.spent)
    run, right, made, asked = _marked(trial, trial.case, budget)
    wrong = _wrong(run, right, trial.case)
    if not wrong:
        raise Silent("it is right when it is asked again")
    if trial.passing is not None and steps.starts(made):
        *_, others, _ = _marked(trial, trial.passing, budget)
        steps.excuse(made, {one.line for one in others if one.status == "unknown"})
    found = _left(made, trial.file)
    if len(wrong) < len(right.judged.keys() - {"inputs"}):
        found = replace(found, follows=False)  # or it may be right in part
    if found.line is None and any(_uncompared(one, asked) for one in wrong.values()):
        raise Silent("the result can't be compared")
    return found


def _uncompared(value: Any, asked: bool) -> bool:
    """Whether a result is a flag, or a number that tells nothing where others do."""
    frozen = steps.freeze(value)
    told = asked and frozen.key is not None and frozen.key[0] in ("whole", "text")
    return frozen.simple and not told


def _marked(
    trial: _Asked, case: Case, budget: _Budget
) -> tuple[Run, Run, list[Step], bool]:
    """An answer and the reference on a case, and what the answer's statements made.

    The last of the four is whether a simple value is asked for.
    """

    def spend(size: int) -> None:
        budget.spend(size, values=0)

    for double in (True, False):
        asked = _doubled(case) if double else case
        trace = Trace(lambda code: code.co_filename == trial.file, spend)
        more, began = (None, double, trial.file, budget, trace), budget.spent()
        run, watch = _watched(trial.thing, trial.answer, asked, *more)
        if trace.drew or any(value.drawn for value in watch.values):
            raise Silent("numbers are drawn at random")
        if run.raised is not None:
            continue
        budget.foresee(began, len(trial.others))
        made: list[Step] = []
        numbers, runs = [np.zeros(0)], []
        inline: dict[bytes, np.ndarray] = {}  # ids, masks and the like
        for other in trial.others:
            look = case.look and blanks.code_of(case.look)
            theirs = Trace(partial(_ours, blanks.file_of(other), look), spend)
            more = (run.module, double, None, budget)
            right, watch = _watched(other, trial.answer, asked, *more, theirs)
            runs.append(right)
            if not _apart(right, runs[0], asked):
                made += theirs.steps
                numbers.append(_all(watch.values))
                inline |= {_key(v.numbers): v.numbers for v in watch.values if v.simple}
        if runs[0].raised is not None:
            continue
        if not runs[0].adopted:
            raise Silent("right answers have other weights")
        _agree(runs, trial.answer, asked)
        simple = all(step.value.simple for step in made if step.returned)
        keys = [one.value.key for one in trace.steps if one.value.key is not None]
        sizes = {len(key[1]) for key in keys if key[0] == "seq"}
        more = [steps.freeze(one) for one in inline.values() if one.size in sizes]
        pool = steps.Pool(made, np.concatenate(numbers), more)
        steps.mark(trace.steps, pool, WITHIN if double else SINGLE, simple)
        return run, runs[0], trace.steps, simple
    raise Silent("it raises when it is asked again")


def _ours(file: str | None, look: CodeType | None, code: CodeType) -> bool:
    """Whether it is of a right answer in this file, and does not look at it."""
    other = code.co_filename
    ours = other.startswith(HELPERS) and not other.startswith(CHECKS)
    return (ours or other == file) and code != look


def _left(made: list[Step], file: str) -> Found:
    """Say what the statements of an answer tell."""
    starts = steps.starts(made)
    if not starts:
        return _all_known(made)
    start = starts[-1]
    before = made[: made.index(start)]
    known = [
        step.line
        for step in before
        if step.status == "known" and 0 < step.line < start.line
    ]
    straight = all(
        step.status != "unknown" or step.line == start.line for step in before
    )
    text = linecache.getline(file, start.line).strip()
    if UNFILLED.search(text):
        raise Silent("it begins with a tensor that is not filled")
    place = _outside(start.chain)
    alike = [step for step in made if step.run and step.chain == place]
    strange = {step.run for step in alike if step.status == "unknown"}
    fine = {step.run for step in alike if step.status == "known"} - strange
    loop = steps.rest_of_loop(file, start.line)
    return Found(
        Line(start.line, text),
        known[-1] if known else None,
        straight and not any(step.excused for step in before),
        chain=start.chain,
        starts=len(starts),
        what="values",
        onward=not _last(start, made),
        some=any(step.status in ("known", "given") for step in alike),
        runs=len(strange) if fine else 0,
        follows=not steps.follow_known(start, made),
        loop=start.line in loop and min(fine, default=0) < min(strange, default=0),
        fed=not (known or straight) or steps.fed(start),
    )


def _outside(chain: tuple[int, ...]) -> tuple[int, ...]:
    """The lines on the way to a statement itself, not to a comprehension in it."""
    while chain[:1] == chain[1:2]:
        chain = chain[1:]
    return chain


def _last(start: Step, made: list[Step]) -> bool:
    """Whether no other line lies between what this step made and the results."""
    lines = {step.line for step in made if step.returned}
    return start.line in lines or any(
        step.returned and start in step.parents and len(step.parents) == 1
        for step in made
    )


def _all_known(made: list[Step]) -> Found:
    """Say that no value is strange, if enough of them tell something."""
    mine = [step for step in made if step.line]
    if any(step.status == "unknown" for step in made if step.returned):
        raise Silent("right answers are left, but not where")
    if not any(step.status == "known" and not step.value.simple for step in mine):
        raise Silent("no value tells anything")
    return Found(
        None, straight=all(step.status != "unknown" for step in mine), what="values"
    )


def _watched(
    thing: Any,
    answer: Answer,
    case: Case,
    donor: Any,
    double: bool,
    file: str | None,
    budget: _Budget,
    trace: Trace | None = None,
) -> tuple[Run, _Watch]:
    """Run an answer on a case with every operation noted, and every statement."""
    watch = _Watch(file, budget)
    with untouched_world():
        if double:
            torch.set_default_dtype(torch.float64)
        try:
            with watch, trace.on() if trace else nullcontext():
                run = run_case(thing, answer, case, budget.seconds, donor)
        except TimeUp:  # what puts the world back is watched as well
            raise Silent(budget.over) from None
    if isinstance(run.raised, TimeUp):
        raise Silent(budget.over or "it takes too long")
    return run, watch


def first_wrong(cases: list[Case], runs: list[Run], expected: list[Run]) -> int | None:
    """The place of the case that is asked again: one whose results are wrong."""
    wrong = [
        place
        for place, (case, run, right) in enumerate(
            zip(cases, runs, expected, strict=False)
        )
        if run.raised is None and right.raised is None and _wrong(run, right, case)
    ]
    if any(
        name.startswith("part ") and run.judged.get(name) != value
        for run, right in zip(runs, expected, strict=True)
        if run.raised is None
        for name, value in right.judged.items()
    ):
        return None
    return min(wrong, key=lambda place: _late(cases[place]), default=None)


def _late(case: Case) -> tuple[bool, bool, bool]:
    """Cases with a gradient, with few or simple numbers, and in float32 come later."""
    floats = [one for one in _tensors(case.args) if one.is_floating_point()]
    told = sum(len(telling(*_numbers(one))) for one in floats)
    singles = any(one.dtype == torch.float32 for one in floats)
    return case.gradient, bool(floats) and told < 6, singles


def _wrong(run: Run, right: Run, case: Case) -> dict[str, Any]:
    """What an answer returned and should not have: gradients and inputs aside."""
    return {
        name: run.judged.get(name)
        for name, value in right.judged.items()
        if not name.startswith("gradient of ")
        and name != "inputs"
        and not Yardstick(case.tolerance, {}).same(name, run.judged.get(name), value)
    }


def _agree(runs: list[Run], answer: Answer, case: Case) -> None:
    """Refuse to compare lines where right answers do not do the same on these layers.

    One takes no notice of a bias that a student's layer has, and another adds it: what
    is right then can't be said.

    Raises:
        _Differ: They don't.
    """
    first, *others = runs
    if isinstance(answer.reference, type) and any(
        one.raised is None and _wrong(one, first, case) for one in others
    ):
        raise _Differ


def _apart(run: Run, right: Run, case: Case) -> bool:
    """Whether a right answer raised, or does not agree with the reference."""
    return run.raised is not None or bool(_wrong(run, right, case))


def _doubled(case: Case) -> Case:
    """The case in float64: there, two numbers are hardly ever equal by chance."""
    args = tuple(
        arg.double() if isinstance(arg, Tensor) and arg.is_floating_point() else arg
        for arg in case.args
    )
    return replace(case, args=args)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _tensors(one)


def _beside_tensors(value: Any) -> str:
    """Arguments, in a form that can be compared; all tensors look alike."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_beside_tensors, value))})"
    return "" if isinstance(value, Tensor) else repr(value)


def _by_hand(name: str, args: tuple, kwargs: dict) -> Iterator[Tensor]:
    """What someone computes on the way who writes an operation out."""
    if name in ("_softmax", "_log_softmax"):
        x, dim = args[:2]
        shifted = x - x.amax(dim, keepdim=True)
        for one in (x, shifted):
            yield from (one, one.exp(), one.exp().sum(dim, keepdim=True))
        yield x.logsumexp(dim, keepdim=True)
    elif name == "mean" and len(args) > 1:
        yield args[0].sum(args[1])
    elif name == "native_layer_norm":
        x, shape, *_, eps = args
        dims = tuple(range(-len(shape), 0))
        apart = x - x.mean(dims, keepdim=True)
        variance = apart.square().mean(dims, keepdim=True)
        yield from (apart, apart.square(), variance, variance.sqrt(), variance + eps)
        yield from ((variance + eps).sqrt(), apart / (variance + eps).sqrt())
    elif "scaled_dot_product" in name:
        query, key, value = args[:3]
        scores = query @ key.mT
        yield from (scores, scores / query.shape[-1] ** 0.5)
        yield from (query / query.shape[-1] ** 0.5, key / query.shape[-1] ** 0.5)
        scale, mask = kwargs.get("scale"), kwargs.get("attn_mask")
        scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
        if len(args) > 4 and args[4] is True:  # causal
            later = torch.ones_like(scores, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -torch.inf)
        if mask is not None:
            scores = scores + mask
        yield from (scores, scores.softmax(-1))
    elif name in ("sigmoid", "silu"):
        yield from ((-args[0]).exp(), 1 + (-args[0]).exp(), args[0].sigmoid())


def _memory(tensor: Tensor) -> tuple:
    """A tensor's place in memory: autograd hands on the same one under another id."""
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype


def _numbers(tensor: Tensor) -> tuple[np.ndarray, float]:
    """All numbers of a tensor, and how far equal ones may be apart."""
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    if not tensor.is_floating_point():
        return tensor.reshape(-1).double().cpu().numpy().copy(), WITHIN
    exact = max(WITHIN, 64 * torch.finfo(tensor.dtype).eps)
    return tensor.reshape(-1).double().cpu().numpy().copy(), exact


def _frames(file: str) -> _At:
    """Where the running operation stands in the student's code."""
    frame, lines, built, own = sys._getframe(2), [], False, False
    while frame is not None and frame.f_code is not CELL:
        init = frame.f_code.co_name == "__init__"
        built |= init
        if frame.f_code.co_filename == file:
            own |= init
            lines.append(frame.f_lineno)
        frame = frame.f_back
    return _At(tuple(lines), built, own)


class _Pool:
    """The numbers of all right answers."""

    def __init__(self, watches: list[_Watch]) -> None:
        values = [value for watch in watches for value in watch.values]
        self.floats = _all(values)
        self.calls = {value.call for value in values}
        self.wholes = {_key(one.numbers) for one in values if one.simple}
        masks = (one.numbers for one in values if one.simple and _is_mask(one.numbers))
        self.wholes |= {_key(1 - one) for one in masks}

    def holds(self, numbers: np.ndarray, exact: float) -> bool:
        """Whether every one of these numbers is in a right answer."""
        return among(numbers, self.floats, exact)


def _all(values: list[_Value]) -> np.ndarray:
    return np.unique(np.concatenate([np.zeros(0), *(one.telling for one in values)]))


def _is_mask(numbers: np.ndarray) -> bool:
    return bool(np.isin(numbers, (0, 1)).all())


def _key(numbers: np.ndarray) -> bytes:
    return plain(numbers).tobytes()


def _promising(results: list[list[_Value]]) -> bool:
    """Whether the wrong results came from something that can be compared."""
    return any(
        one.chain and (not one.simple or _varies(one.numbers))
        for one in _ancestors(results).values()
    )


def _found(
    values: list[_Value], pool: _Pool, results: list[list[_Value]], file: str
) -> Found:
    """Say what the marks of the values mean for the wrong results."""
    leading = _ancestors(results)
    starts = [one for one in values if id(one) in leading and _starts(one)]
    if starts:
        starts = [one for one in starts if not BACKWARD.search(_text(one, file))]
        if not starts:
            raise Silent("gradients alone are in no right answer")
        return _at(starts, values, pool, file)
    if any(value.drawn for value in values if value.chain):
        raise Silent("numbers are drawn at random")
    for some in results:
        if not any(one.status in ("known", "given") for one in some):
            raise Silent("the result was not seen, or is not known")
    return Found(
        None,
        straight=all(one.status != "unknown" and not one.odd for one in values),
        whole=any(_strange(one, pool) for one in values),
        built=any(one.own for one in values),
    )


def _any_nan(value: Any) -> bool:
    return isinstance(value, Tensor) and bool(value.isnan().any())


def _first_nan(
    values: list[_Value], results: list[list[_Value]], file: str
) -> Found | None:
    """Where a wrong result's NaN comes from: a line that makes it from what is none.

    What `torch.empty` makes is NaN in a check, and that is told elsewhere.
    """
    leading = _ancestors(results)
    for one in values:
        if one.built or not _has_nan(one) or any(map(_has_nan, one.parents)):
            continue  # a layer's weights are NaN before they are filled
        if id(one) in leading:
            if not one.chain or "empty" in one.name:
                return None
            line = Line(one.chain[0], _text(one, file))
            return Found(line, chain=one.chain, starts=1, fed=True, nan=True)
    return None


def _has_nan(value: _Value) -> bool:
    return bool(np.isnan(value.numbers).any())


def _strange(value: _Value, pool: _Pool) -> bool:
    """Whether it holds ids or a mask that no right answer has."""
    neutral = value.chain and value.simple and value.status == "neutral"
    unknown = neutral and _key(value.numbers) not in pool.wholes
    return bool(unknown) and _varies(value.numbers)


def _results(value: Any, values: list[_Value]) -> list[_Value]:
    """The values that were seen and are this result."""
    if isinstance(value, float):
        value = torch.tensor(value, dtype=torch.float64)
    if not isinstance(value, Tensor):
        return []
    numbers, exact = _numbers(value)
    return [
        one
        for one in values
        if one.mine
        and one.numbers.size == numbers.size
        and np.allclose(one.numbers, numbers, rtol=exact, atol=1e-12, equal_nan=True)
    ]


def _ancestors(results: list[list[_Value]]) -> dict[int, _Value]:
    """These values, and all that they were computed from, by their ids."""
    found: dict[int, _Value] = {}
    left = [one for some in results for one in some]
    while left:
        one = left.pop()
        if id(one) not in found:
            found[id(one)] = one
            left += one.parents
    return found


def _comparable(value: Any) -> bool:
    return isinstance(value, Tensor | float)


def _text(value: _Value, file: str) -> str:
    return linecache.getline(file, value.chain[0]).strip()


def _single(value: Any) -> bool:
    """Whether it is one number that tells nothing, such as 2.5."""
    if isinstance(value, float):
        value = torch.tensor(value, dtype=torch.float64)
    return isinstance(value, Tensor) and value.numel() == 1 and _is_simple(value)


def _is_simple(value: Any) -> bool:
    return isinstance(value, Tensor) and not len(telling(*_numbers(value)))


def _mark(values: list[_Value], pool: _Pool, asked: bool) -> None:
    """Give every value its status, and say which lead to known ones."""
    given = _all([one for one in values if not one.mine])
    for value in values:
        value.status, value.leads = _status(value, pool, given, asked), False
    for value in reversed(values):
        if value.status == "known" or value.leads:
            for parent in value.parents:
                parent.leads |= parent.simple == value.simple
    for value in values:
        value.lost = value.status == "unknown" and not value.leads
        if value.status in ("unknown", "neutral"):
            value.lost |= any(parent.lost for parent in value.parents)


def _status(value: _Value, pool: _Pool, given: np.ndarray, asked: bool) -> str:
    if not value.mine and value.name != "outside":
        return "given"
    if value.bare:
        return "given"
    if value.built or value.drawn or value.exact > COARSE:
        return "neutral"
    if value.simple:
        if not asked or value.partial or not _varies(value.numbers):
            return "neutral"
        return "known" if _key(value.numbers) in pool.wholes else "unknown"
    if among(value.telling, given, value.exact):
        return "given"
    if pool.holds(value.telling, value.exact):
        # One number, again and again, is in a right answer by chance.
        chance = len(value.telling) == 1 and value.numbers.size > 3
        return "neutral" if chance else "known"
    several = len(value.telling) >= 3 or _from_given(value)
    value.odd = not several and bool(value.chain)
    return "unknown" if several else "neutral"


def _varies(numbers: np.ndarray) -> bool:
    return len(np.unique(numbers)) > 1  # NaN is one number


def _from_given(value: _Value) -> bool:
    return any(one.status in ("given", "known", "unknown") for one in value.parents)


def _starts(value: _Value) -> bool:
    """Whether known numbers end here."""
    mine = value.status == "unknown" and not value.leads and value.chain
    return bool(mine) and not any(parent.lost for parent in value.parents)


def _at(starts: list[_Value], values: list[_Value], pool: _Pool, file: str) -> Found:
    """The last place where known numbers end."""
    start = starts[-1]
    led = _ancestors([[start]])
    odd = (one for one in values if id(one) in led and one.odd and not one.leads)
    last, start = start, next(odd, start)  # where the first strange number comes in
    text = _text(start, file)
    number, earlier = start.chain[0], values[: values.index(start)]
    before = [
        one.chain[0]
        for one in earlier
        if one.status == "known" and one.chain and one.chain[0] < number
    ]
    straight = all(
        one.status != "unknown" or one.chain[:1] == (number,) for one in earlier
    )
    own = any(one.own for one in values)
    alike = bool(before) and _as_in_right_answers(values, number, pool)
    masked = any(_strange(one, pool) for one in led.values())
    unsure = start.simple or alike or masked or (own and "self." in text)
    return Found(
        Line(number, text),
        before[-1] if before else None,
        straight and not any(o.odd and o.chain[:1] != (number,) for o in earlier),
        built=own,
        chain=start.chain,
        starts=len(starts),
        what="values" if start.simple else "numbers",  # ids are compared as a whole
        onward=last.chain[:1] != (number,),
        follows=False,
        some=any(
            one.status == "known" or one.status == "given" and one.name not in VIEWS
            for one in values
            if one.chain[:1] == (number,)
        ),
        loop=_again(start, earlier, steps.rest_of_loop(file, number)),
        fed=unsure or not (before or straight),
    )


def _as_in_right_answers(values: list[_Value], number: int, pool: _Pool) -> bool:
    """Whether a line makes strange numbers by operations that right answers have."""
    calls = {
        one.call
        for one in values
        if one.status == "unknown" and not one.leads and one.chain[:1] == (number,)
    }
    return bool(calls) and calls <= pool.calls


def _again(start: _Value, earlier: list[_Value], loop: range) -> bool:
    """Whether a line runs again, in a loop that has gone on after it."""
    ran, (line, *above) = False, start.chain
    for one in earlier:
        *_, at = (0, *one.chain[: len(one.chain) - len(above)])
        if [*one.chain[len(one.chain) - len(above) :]] != above or at not in loop:
            continue
        if ran and at != line:
            return True
        ran |= at == line
    return False
