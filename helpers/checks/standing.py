"""How far a student has come: what is passed of each lesson, and what comes next."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from helpers.checks.exercise import LESSONS, Exercise

# What a lesson is called where there is room for a word or three.
TITLES = {
    0: "Start here",
    1: "Words as vectors",
    2: "Attention",
    3: "Several heads",
    4: "The encoder",
    5: "The decoder",
    6: "Masks and training",
    7: "Recurrent networks",
    8: "Translation",
    9: "Fine-tuning BERT",
    10: "A GPT from scratch",
    11: "Choosing the next word",
    12: "Today's decoder",
}


@dataclass(frozen=True)
class Standing:
    """What is passed of one lesson; exercises that a person reads don't count."""

    lesson: int
    exercises: tuple[Exercise, ...]  # those with a check, in the lesson's order
    passed: frozenset[str]  # their ids

    @property
    def core(self) -> tuple[Exercise, ...]:
        """The core path: the exercises with a star."""
        return tuple(one for one in self.exercises if one.core)

    @property
    def core_passed(self) -> int:
        """How many exercises with a star are passed."""
        return sum(one.id in self.passed for one in self.core)

    @property
    def title(self) -> str:
        """A few words that name the lesson."""
        return TITLES.get(self.lesson) or LESSONS[self.lesson].replace("_", " ")

    @property
    def stars(self) -> str:
        """The core path as stars: those that are passed are full."""
        return "★" * self.core_passed + "☆" * (len(self.core) - self.core_passed)

    def __str__(self) -> str:
        """The lesson in a line."""
        core = f"{self.core_passed} of {len(self.core)} ★"
        every = f"{len(self.passed)} of {len(self.exercises)} passed"
        return f"{self.lesson:02} {self.title:24} {self.stars:9} {core:9}  {every}"

    def after(self, exercise_id: str = "") -> Exercise | None:
        """What to do next: the next star that is not passed, else one left behind.

        Args:
            exercise_id: Where the student stands; by default before the first.

        Returns:
            An exercise; None where the core path is done.
        """
        order = [one.id for one in self.exercises]
        place = order.index(exercise_id) + 1 if exercise_id in order else 0
        ahead = [*self.exercises[place:], *self.exercises[:place]]
        todo = (one for one in ahead if one.core and one.id not in self.passed)
        return next(todo, None)


def of_lesson(lesson: int, done: Mapping[str, str]) -> Standing:
    """The standing in one lesson.

    Args:
        lesson: Its number.
        done: Exercise id -> state, as `progress.read` returns it.
    """
    module = import_module(f"helpers.exercises.{LESSONS[lesson]}")
    asked = tuple(one for one in module.EXERCISES if one.answers)
    passed = frozenset(one.id for one in asked if done.get(one.id) == "passed")
    return Standing(lesson, asked, passed)


def of_course(done: Mapping[str, str]) -> list[Standing]:
    """The standing in every lesson, in their order."""
    return [of_lesson(lesson, done) for lesson in LESSONS]


def summed_up(course: list[Standing]) -> list[str]:
    """Two lines: what is passed of the whole course, and what comes next."""
    asked = sum(len(one.exercises) for one in course)
    passed = sum(len(one.passed) for one in course)
    stars = sum(one.core_passed for one in course)
    core = sum(len(one.core) for one in course)
    lines = [f"{passed} of {asked} exercises passed; core path: {stars} of {core} ★."]
    if following := upcoming(course):
        lines.append(f"Next: ★ {following.id} {following.title}.")
    return lines


def upcoming(course: list[Standing]) -> Exercise | None:
    """The first exercise of the core path after the last one that is passed.

    Where none is left there, the first that was left behind; None at the end.
    """
    core = [one for lesson in course for one in lesson.core]
    passed = frozenset().union(*(lesson.passed for lesson in course))
    last = max((n for n, one in enumerate(core, 1) if one.id in passed), default=0)
    todo = (one for one in (*core[last:], *core[:last]) if one.id not in passed)
    return next(todo, None)
