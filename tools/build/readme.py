"""The table of lessons in the README, written from the lessons themselves."""

import re
from pathlib import Path

from tools.build import budgets
from tools.build.notebooks import Lesson, known_exercises
from tools.build.stubs import LessonError

START, END = "<!-- lessons: written by `make build` -->", "<!-- /lessons -->"


def row(lesson: Lesson, times: dict[str, float]) -> str:
    """One line of the table: link, question, exercises, minutes, run time.

    Raises:
        LessonError: The lesson's first cell lacks its title, question or minutes.
    """
    first = lesson.cells[0].source
    title = re.search(r"^# \d\d (.+)$", first, re.MULTILINE)
    question = re.search(r"\*\*(.+?\?)\*\*", first, re.DOTALL)
    minutes = re.search(r"(\w+) minutes", first)
    if not (title and question and minutes):
        raise LessonError(
            "the first cell needs a title ('# 02 ...'), a bold question and minutes."
        )
    exercises = known_exercises(lesson).values()
    core = sum(exercise.core for exercise in exercises)
    number = lesson.name[:2]
    link = f"[{number} {title[1]}](notebooks/{lesson.name}.ipynb)"
    asked = " ".join(question[1].split())
    runs = times.get(lesson.name)
    cells = (
        link,
        asked,
        f"{len(exercises)} ({core} ★)",
        minutes[1],
        budgets.rounded(runs) if runs else "not measured",
    )
    return f"| {' | '.join(cells)} |"


def updated(text: str, lessons: list[Lesson], times: dict[str, float]) -> str:
    """The README with its table of lessons made anew.

    Raises:
        LessonError: The two comments that frame the table are gone.
    """
    if START not in text or END not in text:
        raise LessonError(f"README.md needs the lines {START} and {END}.")
    before, rest = text.split(START)
    head = ["lesson", "question", "exercises", "minutes", "runs in"]
    rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    rows += [row(lesson, times) for lesson in lessons]
    return before + "\n".join([START, *rows, END]) + rest.split(END)[1]


def stale(root: Path, lessons: list[Lesson]) -> list[str]:
    """What is wrong with the committed table, in a list of at most one sentence."""
    path = root / "README.md"
    if not path.exists():
        return []
    text = path.read_text("utf-8")
    same = updated(text, lessons, budgets.measured(root)) == text
    return [] if same else ["README.md: its table of lessons is old. Run `make build`."]


def write(root: Path, lessons: list[Lesson]) -> None:
    """Make the table in the README anew."""
    path = root / "README.md"
    if path.exists():
        text = updated(path.read_text("utf-8"), lessons, budgets.measured(root))
        path.write_text(text, "utf-8")
