"""`check`, `judge` and `borrow`: an answer in, one of four honest outcomes back.

An answer runs on the exercise's cases beside the reference. Where they differ, every
known misconception runs too; one is named only if it did the same as the answer on
every case. So a name is never a guess.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.nn import Module

from helpers import first_edition
from helpers.checks import blanks, card, kept, missing, progress, standing
from helpers.checks import report as told
from helpers.checks.compare import Yardstick, rounded
from helpers.checks.culprit import culprit, never_runs
from helpers.checks.exercise import LESSONS, Answer, Case, Exercise
from helpers.checks.locate import locate
from helpers.checks.observe import (
    Run,
    cases_of,
    lost_in_float32,
    run_case,
    run_cases,
)
from helpers.checks.recognise import Trial, recognise
from helpers.checks.report import CheckFailed, NoLongerSet, NotAttempted, Report
from helpers.checks.symptoms import influences, symptoms
from helpers.student.presence import notebook_shell, person_present

LIMIT = 10.0  # seconds of the processor until an answer is stopped
SEED = 0  # picks the inputs of the cases; grading draws another for each run
HELPERS = str(Path(__file__).parents[1])


def exercises() -> Iterator[Exercise]:
    """Yield every exercise of the course, lesson by lesson."""
    for module in LESSONS.values():
        yield from import_module(f"helpers.exercises.{module}").EXERCISES


def find(exercise_id: str) -> Exercise:
    """The exercise with this id, or with this number of the first edition.

    Raises:
        NoLongerSet: There was one once.
        CheckFailed: There is none; the message lists those of the lesson.
    """
    if not isinstance(exercise_id, str):
        raise CheckFailed(
            'The number of the exercise comes first and in quotes: check("2.B", ...).'
        )
    now = first_edition.exercise(exercise_id)
    lesson = now.split(".")[0]
    module = LESSONS.get(int(lesson)) if lesson.isdecimal() else None
    if module is None:
        known = ", ".join(map(str, LESSONS))
        raise CheckFailed(f"There is no exercise {exercise_id!r}: lessons are {known}.")
    known = import_module(f"helpers.exercises.{module}").EXERCISES
    for exercise in known:
        if exercise.id == now:
            return exercise
    if now in first_edition.GONE:
        raise NoLongerSet(
            f"Exercise {exercise_id} is no longer part of lesson {int(lesson):02}, so "
            "nothing was checked. Your answer can stay as it is."
        )
    ids = ", ".join(exercise.id for exercise in known)
    raise CheckFailed(
        f"There is no exercise {exercise_id!r}: lesson {lesson} has {ids}."
    )


def check(exercise_id: str, *answers: Any) -> None:
    """Check an answer and print the outcome; show a card where a person looks at it.

    Args:
        exercise_id: The number in the exercise's title, such as "2.B".
        *answers: The functions, classes or values that the exercise asks for.

    Raises, where nobody is known to look at the notebook, such as under a grader:
        NotAttempted: The stub, or a blank of it, is still there.
        CheckFailed: The answer raised or is wrong; or, while grading, is borrowed.
    """
    try:
        report = judge(exercise_id, *answers)
    except NoLongerSet as gone:
        print(gone)  # a notebook that was begun earlier goes on running
        return
    progress.record(report)
    if report.outcome == "passed":
        kept.keep(find(exercise_id), answers)
    if person_present():
        _show(report)
    elif report.outcome == "passed" or (report.borrowed and not grading()):
        print(report)
    elif report.outcome == "not attempted":
        raise NotAttempted(report) from None
    else:
        raise CheckFailed(report) from None


def judge(
    exercise_id: str, *answers: Any, seed: int | None = None, limit: float = LIMIT
) -> Report:
    """The report that `check` would show, without printing or raising anything.

    Args:
        exercise_id: The number in the exercise's title.
        *answers: What the exercise asks for.
        seed: Picks the inputs of the cases; `SEED` where none is given.
        limit: Seconds of processor time until an answer is stopped; three times as many
            of waiting.
    """
    exercise = find(exercise_id)
    lent = [index for index, answer in enumerate(answers) if is_borrowed(answer)]
    return judged(exercise, answers, lent, SEED if seed is None else seed, limit)


def judged(
    exercise: Exercise,
    answers: tuple,
    lent: Collection[int],
    seed: int,
    limit: float = LIMIT,
) -> Report:
    """The report on answers of which some are borrowed.

    Args:
        exercise: What is asked.
        answers: What came.
        lent: Indices of those that are borrowed; a value can't be.
        seed: Picks the inputs of the cases.
        limit: Seconds of processor time until an answer is stopped.

    Raises:
        CheckFailed: The exercise has no check, or another number of answers.
    """
    _count(exercise, answers)
    lent = [] if exercise.kind == "value" else sorted(lent)
    report = examine(exercise, answers, seed=seed, limit=limit, skip=lent)
    if lent and report.outcome == "passed":  # the student's own part, if any, is right
        return told.borrowed(exercise, exercise.names[lent[0]])
    return report


def examine(
    exercise: Exercise,
    answers: tuple,
    *,
    seed: int = 0,
    limit: float = LIMIT,
    skip: Collection[int] = (),
) -> Report:
    """Like `judge`, but nothing counts as borrowed: for the course's own code.

    Args:
        exercise: What is asked.
        answers: One thing for each of the exercise's answers.
        seed: Picks the inputs of the cases.
        limit: Seconds of processor time until an answer is stopped; three times as many
            of waiting.
        skip: Indices of answers that are not run on their cases.
    """
    cases = cases_of(exercise, seed)
    reports = []
    for index in range(len(exercise.answers)):
        if index not in skip:
            mine = [case for case in cases if case.of == index]
            report = _examine_one(exercise, index, answers[index], mine, limit)
            reports.append((exercise.answers[index].name, report))
    return told.together(exercise, reports)


def borrow(exercise_id: str) -> Any:
    """Lend the course's answer to a stuck student; it never counts as passed.

    Returns:
        The function, class or value; a tuple where the exercise has several answers.

    Raises:
        CheckFailed: There is nothing to lend (a value, a text); or the notebook is
            being graded, where borrowed answers earn nothing.
    """
    exercise = find(exercise_id)
    if not exercise.answers or exercise.kind == "value":
        raise CheckFailed(f"Exercise {exercise_id} has nothing to borrow.")
    if grading():
        raise CheckFailed(f"Exercise {exercise_id} is borrowed: no points.")
    progress.record(replace(told.borrowed(exercise, ""), evidence=()))
    print(
        f"○ {exercise.id} borrowed: {', '.join(exercise.names)}. Not counted as done."
    )
    lent = exercise.references
    return lent if len(lent) > 1 else lent[0]


def grading() -> bool:
    """Whether nbgrader runs this notebook."""
    return "NBGRADER_EXECUTION" in os.environ


def is_borrowed(answer: Any) -> bool:
    """Whether an answer's code lies in `helpers`, for a class also a base's code."""
    if isinstance(answer, type):
        return any(base.__module__.split(".")[0] == "helpers" for base in answer.mro())
    file = blanks.file_of(answer)
    return bool(file and file.startswith(HELPERS + os.sep))


def _show(report: Report) -> None:
    """Show a card, and let Run all go on where an answer is missing."""
    exercise = find(report.exercise)
    done = progress.read_here()
    if report.outcome == "passed":
        done[exercise.id] = "passed"  # also where nothing could be written
    card.show(report, exercise, standing.of_lesson(exercise.lesson, done))
    missing.let_run_all_go_on(notebook_shell())


def _count(exercise: Exercise, answers: tuple) -> None:
    if not exercise.answers:
        raise CheckFailed(
            f"Exercise {exercise.id} has no check: a person reads your answer."
        )
    if len(answers) != len(exercise.answers):
        call = f'check("{exercise.id}", {", ".join(exercise.names)})'
        raise CheckFailed(f"Exercise {exercise.id} is checked with {call}.")


def _examine_one(
    exercise: Exercise, index: int, thing: Any, cases: list[Case], limit: float
) -> Report:
    answer = exercise.answers[index]
    if thing is Ellipsis:
        return told.not_attempted(exercise, answer.name, None)
    if exercise.kind != "value" and not _callable(answer, thing):
        return told.uncallable(exercise, answer, thing)
    runs = run_cases(thing, answer, cases, limit)
    file = blanks.file_of(thing)
    for run in runs:
        if _is_stub(run.raised, exercise):
            line = blanks.blank(thing) or blanks.student_line(run.raised, file)
            return told.not_attempted(exercise, answer.name, line)
    expected = _expected(answer, cases, runs)
    failing, yardsticks, notes = [], [], []
    for place, (case, run) in enumerate(zip(cases, runs, strict=False)):
        yardstick, right = _compared(exercise, answer, case, run, expected[place])
        yardsticks.append(yardstick)
        if not right:
            failing.append(place)
        elif yardstick.lost is not None:
            notes.append(rounded(run.judged, expected[place].judged))
    if not failing:
        return told.passed(exercise, notes[0] if notes else "")
    left = blanks.blank(thing)
    if left:
        return told.not_attempted(exercise, answer.name, left)
    order = sorted(range(len(runs)), key=lambda place: place not in failing)
    seen = (cases, runs, expected, yardsticks)
    trial = Trial(answer, thing, *([some[n] for n in order] for some in seen))
    known = None if len(runs) < len(cases) else recognise(exercise, index, trial)
    odd = []
    if known is None and trial.runs[0].raised is trial.expected[0].raised is None:
        odd += symptoms(trial)
        if not grading():
            where = locate(
                exercise, index, thing, trial.cases, trial.runs, trial.expected
            )
            if where and where.line is None and _of_another_kind(trial):
                where = None  # what came instead of a tensor is told already
            if not odd and (where is None or where.line is None):
                odd += influences(trial)
            if where is None or where.line is None:
                odd += never_runs(trial)
            odd += [str(where)] if where else []
    if not grading():
        odd += culprit(trial)
    return told.failed(exercise, trial, len(failing), known, odd, file)


def _of_another_kind(trial: Trial) -> bool:
    """Whether the first case asks for a tensor, and something else came."""
    got, want = trial.runs[0].judged, trial.expected[0].judged
    return any(
        isinstance(value, Tensor) and not isinstance(got.get(name), Tensor)
        for name, value in want.items()
        if not name.startswith("part ")
    )


def _compared(
    exercise: Exercise, answer: Answer, case: Case, run: Run, right: Run
) -> tuple[Yardstick, bool]:
    """How the runs of a case are compared, and whether they agree.

    What is strictly right is right. Else it may have been computed in float32, unless
    the dtype is what is asked for.
    """
    strict = Yardstick(case.tolerance)
    if run.raised is not None:  # even where the reference raised too, on these layers
        return strict, False
    if strict.agree(run.judged, right.judged):
        return strict, True
    if exercise.exact or exercise.kind == "value":
        return strict, False
    loose = Yardstick(case.tolerance, lost_in_float32(answer, case))
    return loose, loose.agree(run.judged, right.judged)


def _callable(answer: Answer, thing: Any) -> bool:
    """Whether it can be put to its cases: a class is asked for, not an instance."""
    object_for_class = isinstance(answer.reference, type) and isinstance(thing, Module)
    return callable(thing) and not object_for_class


def _expected(answer: Answer, cases: list[Case], runs: list[Run]) -> list[Run]:
    """The reference on the same cases, for a class with the student's own weights."""
    asked = zip(cases, runs, strict=False)
    return [
        run_case(answer.reference, answer, case, donor=run.module)
        for case, run in asked
    ]


def _is_stub(error: BaseException | None, exercise: Exercise) -> bool:
    """Whether it is our own sentence: torch raises NotImplementedError as well."""
    stub = isinstance(error, NotImplementedError)
    return stub and missing.needed(error) == exercise.id
