"""What the README says about lessons and checks, written from the lessons."""

import re
from pathlib import Path

from tools.build import budgets, minutes, published
from tools.build.notebooks import Lesson, known_exercises
from tools.build.stubs import LessonError

LESSONS = ("<!-- lessons: written by `make build` -->", "<!-- /lessons -->")
BADGES = ("<!-- badges: written by `make build` -->", "<!-- /badges -->")
MISTAKES = ("<!-- mistakes: written by `make build` -->", "<!-- /mistakes -->")


def row(lesson: Lesson, times: dict[str, float]) -> str:
    """One line of the table: link, question, exercises, minutes, run time.

    Raises:
        LessonError: The lesson's first cell lacks its title or question.
    """
    first = lesson.cells[0].source
    title = re.search(r"^# \d\d (.+)$", first, re.MULTILINE)
    question = re.search(r"\*\*(.+?\?)\*\*", first, re.DOTALL)
    if not (title and question):
        raise LessonError(
            "the first cell needs a title ('# 02 ...') and a bold question."
        )
    known = known_exercises(lesson)
    core = sum(exercise.core for exercise in known.values())
    path, whole = (one.rounded for one in minutes.of_lesson(lesson.cells, known))
    number = lesson.name[:2]
    link = f"[{number} {title[1]}](notebooks/{lesson.name}.ipynb)"
    asked = " ".join(question[1].split())
    runs = times.get(lesson.name)
    cells = (
        link,
        asked,
        f"{len(known)} ({core} ★)",
        f"{whole} ({path} ★)",
        budgets.rounded(runs) if runs else "not measured",
    )
    return f"| {' | '.join(cells)} |"


def table(lessons: list[Lesson], times: dict[str, float]) -> str:
    """The table of lessons."""
    head = ["lesson", "question", "exercises", "minutes", "runs in"]
    rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return "\n".join([*rows, *(row(lesson, times) for lesson in lessons)])


def mistakes(lessons: list[Lesson]) -> str:
    """One sentence: how many known mistakes the checks are tested with."""
    known = [
        exercise.misconceptions
        for lesson in lessons
        for exercise in known_exercises(lesson).values()
        if exercise.misconceptions
    ]
    spellings = [len(one.spellings) for some in known for one in some]
    return (
        f"{len(known):,} exercises, {len(spellings):,} known mistakes in "
        f"{sum(spellings):,} spellings: all rejected, and all called by their name."
    )


def updated(text: str, lessons: list[Lesson], times: dict[str, float]) -> str:
    """The README with its badges, table of lessons and count of mistakes up to date.

    Raises:
        LessonError: The comments that frame one of the three are gone.
    """
    [address] = {lesson.address for lesson in lessons}
    text = _framed(text, BADGES, published.badges(address))
    text = _framed(text, LESSONS, table(lessons, times))
    return _framed(text, MISTAKES, mistakes(lessons))


def _framed(text: str, marks: tuple[str, str], inside: str) -> str:
    """The text with what stands between two comments replaced."""
    start, end = marks
    if text.count(start) != 1 or text.count(end) != 1:
        raise LessonError(f"README.md needs the lines {start} and {end}.")
    before, rest = text.split(start)
    lines = [start, *filter(None, [inside]), end]
    return before + "\n".join(lines) + rest.split(end)[1]


def stale(root: Path, lessons: list[Lesson]) -> list[str]:
    """What is out of date in the README, in a list of at most one sentence."""
    path = root / "README.md"
    if not path.exists():
        return []
    text = path.read_text("utf-8")
    same = updated(text, lessons, budgets.measured(root)) == text
    return (
        []
        if same
        else [
            "README.md: its badges, its table of lessons or its count of mistakes is "
            "out of date. Run `make build`."
        ]
    )


def write(root: Path, lessons: list[Lesson]) -> None:
    """Bring the README up to date."""
    path = root / "README.md"
    if path.exists():
        text = updated(path.read_text("utf-8"), lessons, budgets.measured(root))
        path.write_text(text, "utf-8")
