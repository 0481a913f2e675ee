"""How long a notebook runs, as lessons and the README say it: from `make bench`."""

import json
from pathlib import Path

from tools.build.stubs import LessonError

TOKEN = "{run time}"  # in the text of a lesson


def said(text: str, name: str, root: Path) -> str:
    """A lesson's text with its run time put in.

    Args:
        text: may hold "{run time}"
        name: of the lesson, such as "02_attention"
        root: of the course

    Raises:
        LessonError: The text asks for a time that was never measured.
    """
    if TOKEN not in text:
        return text
    seconds = measured(root).get(name)
    if seconds is None:
        raise LessonError(
            f"{name} asks for its run time, and docs/benchmarks.json has none: run "
            "`make bench`."
        )
    return text.replace(TOKEN, rounded(seconds))


def measured(root: Path) -> dict[str, float]:
    """Lesson -> seconds its solution takes with one thread; {} before `make bench`."""
    path = root / "docs" / "benchmarks.json"
    if not path.exists():
        return {}
    notebooks = json.loads(path.read_text(encoding="utf-8"))["notebooks"]
    return {one["name"]: one["seconds"] for one in notebooks}


def rounded(seconds: float) -> str:
    """Coarse enough to be the same after the next measurement, in most cases."""
    if seconds < 55:
        return f"{max(10, round(seconds, -1)):.0f} seconds"
    halves = round(seconds / 30)
    return "1 minute" if halves == 2 else f"{halves / 2:g} minutes"
