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

    def after(self, exercise_id: str) -> Exercise | None:
        """What to do next: the next star that is not passed, else one left behind.

        None where the core path is done.
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
