"""The seed of a grading run: it picks the inputs that answers are tried on.

A new one is drawn for each folder of results, so that nobody knows the inputs. It is
kept there, so that all submissions meet the same ones, also when they are graded again.
"""

import json
import secrets
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from helpers.files import write_whole
from tools.grading.course import CourseError

MOST = 9_999
KEPT = "seed.json"
DRAWS = 5  # until one is found with which the course's own answers pass


def of_run(out: Path, lessons: Iterable[str], asked: int | None = None) -> int:
    """The seed that answers are graded with.

    Args:
        out: The folder of the results; the seed is kept there.
        lessons: The names of the lessons that are graded.
        asked: A seed that the instructor named.

    Returns:
        That one, or the one that is kept, or else a new one, with which the course's
        own answers pass.

    Raises:
        CourseError: They do not pass with the one that was asked for or kept; or what
            is kept can't be read.
    """
    kept = _read(out / KEPT)
    if asked in (None, kept.get("seed")):
        seed, tried = kept.get("seed"), set(kept.get("tried", ()))
    else:
        seed, tried = asked, set()
    lessons = set(lessons)
    for _ in range(DRAWS if seed is None else 0):
        seed = 1 + secrets.randbelow(MOST)
        if not failing(seed, lessons):
            tried = lessons
            break
    if unfit := failing(seed, lessons - tried):
        raise CourseError(
            f"With seed {seed} the course's own answers to {', '.join(unfit)} do not "
            f"pass: name another one, such as --seed {1 + seed % MOST}."
        )
    found = {"seed": seed, "tried": sorted(tried | lessons)}
    write_whole(out / KEPT, f"{json.dumps(found)}\n".encode())
    return seed


def failing(seed: int, lessons: Iterable[str]) -> list[str]:
    """The exercises whose references do not pass on the inputs of a seed."""
    from helpers.checks.engine import LESSONS, examine

    modules = [LESSONS[int(lesson.split("_")[0])] for lesson in sorted(lessons)]
    return [
        exercise.id
        for module in modules
        for exercise in import_module(f"helpers.exercises.{module}").EXERCISES
        if exercise.answers
        if examine(exercise, exercise.references, seed=seed).outcome != "passed"
    ]


def _read(path: Path) -> dict:
    try:
        kept = json.loads(path.read_text("utf-8"))
        if kept["seed"] in range(1, MOST + 1) and all(map(str.isascii, kept["tried"])):
            return kept
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError):
        pass
    raise CourseError(
        f"{path} is not as it was written: name the seed of that run with --seed, and "
        "delete the file; or delete it alone, and everything is graded with a new one."
    )
