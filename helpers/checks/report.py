"""What a student is told: outcomes, evidence and the exceptions that carry them."""

import inspect
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
from torch import Tensor, float64

from helpers.checks.blanks import Line, returns_nothing, student_line
from helpers.checks.compare import Share, Yardstick, difference, tolerance
from helpers.checks.errors import meaning
from helpers.checks.exercise import Answer, Case, Exercise
from helpers.checks.limit import TimeUp
from helpers.checks.observe import Run, keep, said
from helpers.checks.plain import Listed, Odd
from helpers.checks.recognise import Known, Trial

TINY = 1e-50  # rounding leaves a zero with more
SEEN = 1e-5  # a difference that nobody takes for rounding, and may still be allowed
MOST = 5  # differences that are listed one by one
BLANK = re.compile(r"\.\.\.\s*(#.*)?$")  # a line of the stub to be filled in
DTYPES = re.compile("same dtype|scalar type|dtype.* but (got|found)")
NAN = re.compile(r"\bnan\b")
FOR_IDS = "'indices'"  # an embedding was given vectors: their dtype is not the mistake
RED, PLAIN = "\x1b[31m", "\x1b[0m"


@dataclass(frozen=True)
class Report:
    """What `judge` found out about an answer."""

    exercise: str
    outcome: str  # "not attempted", "raised", "wrong" or "passed"
    misconception: str | None = None  # its name, if it is a known mistake
    borrowed: bool = False
    evidence: tuple[str, ...] = ()
    proven: str = ""
    note: str = ""  # on an answer that passed: "Computed in float32."
    second: str | None = None  # the other one, of two known mistakes made at once

    def __str__(self) -> str:
        """The text that `check` shows."""
        if self.outcome == "passed":
            shown = f"✓ {self.exercise} passed. Shown: {self.proven}."
            return f"{shown} {self.note}".rstrip()
        head = "○" if self.outcome == "not attempted" else "✗"
        state = "borrowed, not counted" if self.borrowed else self.outcome
        lines = [f"{head} {self.exercise} {state}", *self.evidence]
        return "\n  ".join(lines)


class CheckFailed(AssertionError):
    """A check that did not pass; its text is all that is shown, everywhere."""

    def __init__(self, report: Report | str) -> None:
        """Keep the text as the only argument: nbval and nbgrader see just that."""
        super().__init__(str(report))

    def _render_traceback_(self) -> list[str]:
        """Lines for IPython, which calls this twice and needs a list of strings.

        Only the first is red: the others have to be read.
        """
        head, *rest = str(self).splitlines() or [""]
        return [f"{RED}{head}{PLAIN}", *rest]


class NoLongerSet(CheckFailed):
    """An exercise that no lesson sets any more: an older notebook still asks for it."""


class NotAttempted(CheckFailed):
    """The stub, or a blank of it, is still there."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def not_attempted(exercise: Exercise, name: str, line: Line | None) -> Report:
    """The report for a stub or a blank that is still there."""
    where = f", {line}" if line else ""
    if line is None or BLANK.search(line.text):
        todo = "Put your own code in place of the dots."
    else:
        todo = "Return your result before the `raise` line, which may stay."
    return Report(
        exercise.id,
        "not attempted",
        evidence=(
            f"{name} is still to be written{where}",
            f"{todo} {_hints(exercise)}",
        ),
    )


def borrowed(exercise: Exercise, name: str) -> Report:
    """The report for an answer that is the course's own."""
    return Report(
        exercise.id,
        "not attempted",
        borrowed=True,
        evidence=(
            f"{name} is the course's own code. Go on with it, and write yours "
            "when you like: the check will then count it.",
        ),
    )


def passed(exercise: Exercise, note: str = "") -> Report:
    """The report for an answer that agrees with the reference on every case."""
    return Report(exercise.id, "passed", proven=exercise.proves, note=note)


def together(exercise: Exercise, reports: list[tuple[str, Report]]) -> Report:
    """One report on all the answers of an exercise, each under its name.

    The first one that is not passed decides about the outcome.
    """
    failed = [report for _, report in reports if report.outcome != "passed"]
    if not failed:
        notes = [report.note for _, report in reports if report.note]
        return passed(exercise, notes[0] if notes else "")
    if len(reports) == 1:
        return failed[0]
    last, evidence = failed[0].evidence[-1], []
    for name, report in reports:
        if report.outcome == "passed":
            evidence.append(f"{name}: right.")
        elif report.outcome == "not attempted":
            evidence.append(report.evidence[0])
        else:
            evidence += [f"{name}: {report.outcome}.", *report.evidence[:-1]]
    return replace(failed[0], evidence=(*evidence, last))


def failed(
    exercise: Exercise,
    trial: Trial,
    failing: int,
    known: Known | None,
    odd: Iterable[str],
    file: str | None,
) -> Report:
    """The report for an answer that raised, or that differs from the reference.

    What happened comes first, then where to look, then the first difference.

    Args:
        exercise: What was asked.
        trial: The answer's runs, failing cases first.
        failing: How many of the cases fail.
        known: The mistakes that explain it, if they are known.
        odd: What else is odd about it, a sentence each.
        file: The student's file or cell.
    """
    case, run, right = trial.cases[0], trial.runs[0], trial.expected[0]
    told = _told(known)
    if run.raised is not None:
        outcome = "raised"
        evidence = _raised(exercise, trial.answer, case, run, file, bool(known))
        evidence = [*evidence, *told, *odd, *_inputs(trial.answer, case)]
    else:
        outcome = "wrong"
        asked = (case, run, right, trial.yardsticks[0], trial.thing)
        evidence = _wrong(exercise, trial.answer, *asked)
        evidence = [*told, *evidence, *odd]
    if len(trial.runs) > 1:
        count = len(trial.runs)
        stopped = any(isinstance(one.raised, TimeUp) for one in trial.runs)
        of = f"the {count} cases that were run" if stopped else f"{count} cases"
        names = [] if known else [one.name for one in trial.cases[failing:]]
        evidence.append(f"Right in {count - failing} of {of}{_some(names)}.")
    if run.printed:
        evidence.append(f"Your code printed: {_short(run.printed.strip(), 300)}")
    evidence.append(_stuck(exercise))
    names = [one.name for one in known.mistakes] if known and known.certain else []
    name, second = (*names, None, None)[:2]
    return Report(exercise.id, outcome, name, evidence=tuple(evidence), second=second)


def _some(names: list[str]) -> str:
    """The first of them, where there are any."""
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f": {'; '.join(names[:4])}{more}" if names else ""


def _told(known: Known | None) -> list[str]:
    """The two sentences of each mistake."""
    if known is None:
        return []
    if not known.certain:
        [one] = known.mistakes
        return [
            f"What this often means here: {one.done}",
            f"Where to look: {one.where}",
        ]
    lines = []
    for number, one in enumerate(known.mistakes):
        lines += [
            f"What {'else ' if number else ''}happened: {one.done}",
            f"Where to look: {one.where}",
        ]
    return lines


def uncallable(exercise: Exercise, answer: Answer, thing: Any) -> Report:
    """The report for something that is no function, or no class where one is due."""
    kind = "class" if isinstance(answer.reference, type) else "function"
    given = _describe(keep(thing))
    evidence = f"{answer.name} is {given}. Pass the {kind} itself, without parentheses."
    return Report(exercise.id, "wrong", evidence=(evidence, _stuck(exercise)))


def _stuck(exercise: Exercise) -> str:
    return f"Stuck? {_hints(exercise)}"


def _hints(exercise: Exercise) -> str:
    if exercise.kind == "value":
        return "The hints are under the exercise."
    lends = f'borrow("{exercise.id}") lends you the course\'s version'
    return f"The hints are under the exercise, and {lends}."


def _raised(
    exercise: Exercise,
    answer: Answer,
    case: Case,
    run: Run,
    file: str | None,
    known: bool,
) -> list[str]:
    error = run.raised
    line = student_line(error, file)
    lines = [f"Your {line}" if line else f"In {answer.name}"]
    if isinstance(error, TimeUp):
        lines.append("It was still running and has been stopped. Does every loop end?")
    elif isinstance(error, SystemExit):
        lines.append("It left the program (SystemExit). An answer returns instead.")
    else:
        text = _short(" ".join(said(error).split()), 400)
        lines.append(
            f"{type(error).__name__}: {text}" if text else type(error).__name__
        )
        if exercise.kind == "probe" and isinstance(error, AssertionError):
            lines.append(
                "A test that is to be judged returns False; it does not assert."
            )
        elif not known and (explained := meaning(error, text)):
            lines.append(explained)
        if _is_double(case) and DTYPES.search(text) and FOR_IDS not in text:
            lines.append(
                "The inputs are float64. Often a new tensor was created in float32 "
                "(give it the dtype of an input), or layers stand in a plain list, "
                "where a conversion of the model does not reach them."
            )
    return lines


def _is_double(case: Case) -> bool:
    return any(getattr(arg, "dtype", None) == float64 for arg in case.args)


def _arguments(kind: Any) -> list[str]:
    """The names that a class is built with; none if they can't be had."""
    try:
        return [*inspect.signature(kind).parameters]
    except (TypeError, ValueError):
        return []


def _inputs(answer: Answer, case: Case) -> list[str]:
    shown = [
        f"{name} {_describe(value)}"
        for name, value in zip(case.inputs, case.args, strict=False)
        if not callable(value)  # its name would tell what is wrong with it
    ]
    names = _arguments(answer.reference) if case.init else []
    given = ", ".join(
        f"{name} {_short(str(one), 60)}".strip()
        for name, one in zip_longest(names[: len(case.init)], case.init, fillvalue="")
    )
    built = f"built with {given}; " if given else ""
    return [f"Case: {case.name}. {built}{'; '.join(shown)}".rstrip("; ")]


def _wrong(
    exercise: Exercise,
    answer: Answer,
    case: Case,
    run: Run,
    right: Run,
    yardstick: Yardstick,
    thing: Any = None,
) -> list[str]:
    if exercise.kind == "value":
        return [_value(answer, run.judged["value"], right.judged["value"])]
    lines, apart = _inputs(answer, case), []
    if right.raised is not None:
        compare = "Compare their types and sizes with the docstring."
        return [
            *lines,
            "The course's own code does not run with your layers. "
            + (answer.calls or compare),
        ]
    shapes_fit = True
    for name in right.judged:
        got, want = run.judged.get(name), right.judged[name]
        if name in run.judged and yardstick.same(name, got, want):
            continue
        if name not in run.judged and "result" in run.judged:
            got = run.judged["result"]
            lines.append(_returned(answer, got, thing))
            return lines
        strange = [one for one in run.judged if one not in right.judged]
        if name not in run.judged and strange:
            came = ", ".join(f"{one} {_describe(run.judged[one])}" for one in strange)
            asked = f"{name} {_describe(want)}"
            return [*lines, f"Expected: {asked}. What came instead: {came}."]
        axes = answer.returns.get(name, "")
        if name in run.judged or name.startswith("part "):
            seen = yardstick.seen(got, want)
            within = yardstick.within(name, want)
            text = _differs(name, seen, want, axes, within)
            forgot = got is None and len(answer.returns) < 2  # else it was among others
            forgot = forgot and returns_nothing(thing)
            apart.append(f"{text} Is there a `return`?" if forgot else text)
        else:
            apart.append(f"{name}: expected {_describe(want)}, but there is none.")
            shapes_fit = False
        if name.startswith("part "):
            return [*lines, *apart]
        shapes_fit &= _kind(got) == _kind(want)
    lines += apart[:MOST]
    if len(apart) > MOST:
        more = len(apart) - MOST
        lines.append(f"And {more} more differ{'s' if more == 1 else ''}.")
    if shapes_fit:
        lines += _broken(exercise, case, run)
    clues = (clue for clue in run.clues.values() if isinstance(clue, str))
    return [*lines, *(f"Seen: {clue}." for clue in clues)]


def _value(answer: Answer, got: Any, want: Any) -> str:
    number = isinstance(want, int | float) and not isinstance(want, bool)
    asked = " A number is asked for." if number and isinstance(got, str) else ""
    if isinstance(want, tuple) and not isinstance(got, tuple | list):
        texts = any(isinstance(one, str) for one in want)
        asked = (
            ' A list or tuple of texts is asked for, such as `("a", "b")`, and their '
            "order matters."
            if texts
            else " A tuple is asked for, such as `(5, 6)`: its numbers have an order."
        )
    given = repr(got) if isinstance(got, float) else _describe(got)  # as it was typed
    return f"{answer.name} = {given} is not right.{asked}"


def _kind(value: Any) -> tuple | None:
    return (value.shape, value.dtype) if isinstance(value, Tensor) else None


def _returned(answer: Answer, got: Any, thing: Any) -> str:
    promised = ", ".join(answer.returns)
    asked = got is None and returns_nothing(thing)
    forgot = " Is there a `return`?" if asked else ""
    came = f"{answer.name} returned {_describe(got)}"
    return f"{came}; it should return ({promised}).{forgot}"


def _broken(exercise: Exercise, case: Case, run: Run) -> list[str]:
    lines = []
    for rule in exercise.properties:
        broken = rule.broken(case, run.judged)
        if broken and not NAN.search(broken):  # which is told already
            lines.append(f"{rule.name}? No: {broken}.")
    return lines


def _differs(name: str, got: Any, want: Any, axes: str, within: float) -> str:
    """One sentence: what was expected of an entry, and what came."""
    if name.startswith("part "):
        return _part(name.removeprefix("part "), str(got), str(want))
    if name == "inputs":
        return f"The answer {got} in place."
    if not isinstance(want, Tensor) or not isinstance(got, Tensor):
        hint = ""
        if isinstance(want, bool) and isinstance(got, Tensor) and got.dim():
            hint = " One True or False is asked for: `.all()` makes one out of many."
        if isinstance(want, float) and isinstance(got, float):
            return f"{name}: {_two(want, got)}."
        return f"{name}: expected {_describe(want)}, got {_describe(got)}.{hint}"
    if got.shape != want.shape:
        named = f" ({axes})" if axes else ""
        return f"{name}: expected shape {tuple(want.shape)}{named}, got {_size(got)}."
    if got.dtype != want.dtype:
        floats = got.is_floating_point() and want.is_floating_point()
        hint = " Give new tensors the dtype of an input." if floats else ""
        return f"{name}: expected {_dtype(want)}, got {_dtype(got)}.{hint}"
    return _numbers(name, got, want, within)


def _part(part: str, got: str, want: str) -> str:
    if got == "missing":
        return f"The attribute {part} is missing: the stub names it, and checks use it."
    got, want = (
        text.replace("weight no weight", "no weight").replace(
            "weight (", "a weight of shape ("
        )
        for text in (got, want)
    )
    return f"{part}: expected {want}, got {got}."


def _numbers(name: str, got: Tensor, want: Tensor, within: float) -> str:
    if not want.dim():
        return f"{name}: {_two(want, got)}."
    if got.isnan().any() and not want.isnan().any():
        count = int(got.isnan().sum())
        return f"{name}: {count} of {got.numel()} entries are NaN; none should be."
    apart = [
        difference(a, b) for a, b in zip(got.flatten(), want.flatten(), strict=True)
    ]
    places = [place for place, value in enumerate(apart) if value > within]
    # The first, not the largest: which of several equal ones is largest is decided by
    # the last bit, and that differs from processor to processor.
    index = tuple(map(int, np.unravel_index(places[0], want.shape)))
    two = _two(want[index], got[index])
    less = any(0 < value <= within for value in apart) and within > SEEN
    more = " by more than is allowed" if less else ""
    return (
        f"{name}: {len(places)} of {got.numel()} entries differ{more}, "
        f"the first at {list(index)}: {two}."
    )


def _two(want: Tensor | float, got: Tensor | float) -> str:
    """Two numbers that differ, with digits enough to see it."""
    largest = max(abs(float(want)), abs(float(got)))
    for digits in (5, 7, 9, 11, 17):
        expected, came = (_number(one, digits, largest) for one in (want, got))
        if expected != came:
            break
    return f"expected {expected}, got {came}"


def _number(value: Tensor | float, digits: int = 5, largest: float = math.inf) -> str:
    """A number as it is shown: what rounding left of a zero is a zero.

    Only with all 17 digits is nothing rounded. Beside a number that is small itself,
    less counts as zero. What is smaller than rounding leaves it was computed so.
    """
    number = value.item() if isinstance(value, Tensor) else value
    if not isinstance(number, float):
        return str(number)
    if digits < 17 and abs(number) < min(tolerance(value), largest / 1e6):
        number = number if 0 < abs(number) < TINY else 0.0
    return f"{number:.{digits}g}"


def _size(value: Tensor) -> str:
    return str(tuple(value.shape))


def _dtype(value: Tensor) -> str:
    return str(value.dtype).removeprefix("torch.")


def _describe(value: Any) -> str:
    if isinstance(value, Tensor):
        if value.numel() <= 6 and value.dim() < 2:
            return f"tensor {_short(_listed(value), 80)}"
        return f"{_size(value)} {_dtype(value)}"
    if isinstance(value, Odd):
        return f"a {value}"
    if isinstance(value, Share):
        return repr(str(value))
    if isinstance(value, float):
        return _number(value, 7)
    if type(value) in (tuple, Listed):  # others know how to describe themselves
        value = type(value)(
            float(_number(one, 7)) if isinstance(one, float) else one for one in value
        )
    if (
        isinstance(value, str | int | float | bool | tuple | list | Mapping)
        or not value
    ):
        return _short(repr(value), 80)
    return getattr(value, "__name__", type(value).__name__)


def _listed(value: Tensor) -> str:
    numbers = ", ".join(_number(number) for number in value.flatten())
    return f"[{numbers}]" if value.dim() else numbers


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 4] + " ..."
