"""A student's answers as parts of later models; the course's where none passes."""

import os
import time
from collections.abc import Callable
from typing import Any

from helpers.checks import kept
from helpers.checks.engine import find, grading, judge
from helpers.checks.exercise import Exercise

SLOW = 3.0  # times as long as with the course's part: then that one is trained
WORTH = 20.0  # milliseconds a step; a smaller difference is no reason
TRIES = 4  # of a step; the fastest one counts
LONG = 500.0  # milliseconds after which a step is not tried again


class OwnParts:
    """A collection of answers: the student's own where its check passes.

    An answer of an earlier notebook is taken from what was kept of it. Until one passes
    the course's version stands in, so that nobody who is stuck in one exercise is stuck
    in the next.
    """

    def __init__(self) -> None:
        self._exercise: dict[str, str] = {}  # part -> the exercise that asks for it
        self._own: dict[str, bool] = {}  # part -> whether it is the student's

    def take(
        self,
        exercise_id: str,
        *answers: Any,
        step: Callable[[Any], Any] | None = None,
    ) -> None:
        """Add the parts that an exercise asks for, and print whose they are.

        Args:
            exercise_id: the exercise that asks for them
            *answers: the functions or classes; none where another notebook has them
            step: does with a part what a step of training does with it; where the
                student's takes over three times as long as the course's, and 20
                milliseconds more, that is used
        """
        try:
            exercise = find(exercise_id)
        except ModuleNotFoundError:
            if not (grading() and answers):
                raise
            for own in answers:  # the exercises are hidden from a graded notebook
                setattr(self, own.__name__, own)
            return
        own, why = self._given(exercise, answers) if answers else _kept(exercise)
        for index, asked in enumerate(exercise.answers):
            course = asked.stand_in or asked.reference
            part = asked.fit(own[index]) if own else course
            said = why
            if own and step and (slow := _slow(step, part, course)):
                part, said = course, f"the course's, since {slow}"
            setattr(self, asked.name, part)
            self._exercise[asked.name] = exercise.id
            self._own[asked.name] = part is not course
            print(f"mine.{asked.name}: {said}")

    @staticmethod
    def _given(exercise: Exercise, answers: tuple) -> tuple[tuple, str]:
        if judge(exercise.id, *answers).outcome != "passed":
            return (), f"the course's, until {exercise.id} passes"
        kept.keep(exercise, answers)
        return answers, "yours"

    def __str__(self) -> str:
        """Whose parts a run uses, in one line."""
        owners = ((True, "your"), (False, "the course's"))
        said = [
            f"{whose} {_listed(names)}"
            for own, whose in owners
            if (names := [name for name, one in self._own.items() if one is own])
        ]
        return f"This run uses {' and '.join(said) or 'no parts'}."

    def the_courses(self) -> list[str]:
        """The names of those parts that are not the student's."""
        return [name for name, own in self._own.items() if not own]

    def as_source(self, name: str, used: set[str]) -> str:
        """The lines of a kept answer that take the same parts again.

        Args:
            name: what the collection is called there
            used: the parts that the answer uses
        """
        needed = [number for part, number in self._exercise.items() if part in used]
        takes = [f'{name}.take("{number}")' for number in dict.fromkeys(needed)]
        start = f"from {__name__} import {type(self).__name__}\n\n"
        return "\n".join([f"{start}{name} = {type(self).__name__}()", *takes])


def _kept(exercise: Exercise) -> tuple[tuple, str]:
    """An exercise's answers out of another notebook, and what is said of them."""
    lesson = f"lesson {exercise.lesson:02}"
    try:
        names = kept.load(exercise)
        if names is None:
            return (), f"the course's, until {exercise.id} passes in {lesson}"
        own = tuple(names[name] for name in exercise.names)
        if judge(exercise.id, *own).outcome != "passed":
            raise kept.NotKept("it no longer passes")
    except kept.NotKept as error:
        return (), f"the course's, since {lesson} kept your {exercise.id}, but {error}"
    inside = (one for one in names.values() if isinstance(one, OwnParts))
    others = [name for one in inside for name in one.the_courses()]
    lent = f", with the course's {_listed(others)}" if others else ""
    return own, f"yours, kept by {lesson}{lent}"


def _slow(step: Callable[[Any], Any], own: Any, course: Any) -> str:
    """Why a student's part can't be trained with here; "" where it can.

    Where tests run a notebook nothing is measured: two runs must use the same parts.
    """
    if os.environ.get("COURSE_PROGRESS") == "off" and not grading():
        return ""
    ours = _milliseconds(step, course)
    try:
        yours = _milliseconds(step, own)
    except Exception as error:
        return f"a step raises {type(error).__name__} with yours"
    if yours <= SLOW * ours or yours - ours < WORTH:
        return ""
    return f"a step takes {yours:,.0f} ms with yours and {ours:,.0f} with it"


def _milliseconds(step: Callable[[Any], Any], part: Any) -> float:
    """What a step takes once everything is warm; a long one is tried just once."""
    taken = []
    while len(taken) < TRIES and sum(taken) < LONG:
        start = time.perf_counter()
        step(part)
        taken.append((time.perf_counter() - start) * 1000)
    return min(taken)


def _listed(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
