"""Keep a record of finished exercises beside the student's notebooks.

Written where a person works, and in a folder in which `make lab` left its marker; never
while tests or graders run. `python -m helpers.checks` prints it.
"""

import json
import os
from pathlib import Path

from helpers import first_edition
from helpers.checks.report import Report
from helpers.files import locked, write_whole
from helpers.student.presence import GRADERS, notebook_folder, person_present

MARKER = ".course.json"  # left by tools/lab.py in the student's folder
LOCK = ".course.lock"  # for all that write there: several kernels, and tools/lab.py
NAME = ".progress.json"
SOLUTIONS = "solutions"
RECORDS = "COURSE_RECORDS"  # set by a hub, where each lesson has a folder of its own
PATIENCE = 5.0  # seconds until a check goes on without its record


def record(report: Report, folder: Path | None = None) -> None:
    """Record a check's outcome; a passed exercise stays passed.

    Args:
        report: The outcome.
        folder: Where; by default `records_folder`.
    """
    folder = folder or records_folder()
    if not recording(folder):
        return
    state = "borrowed" if report.borrowed else report.outcome
    try:
        with locked(folder / LOCK, PATIENCE):
            _add(report.exercise, state, folder)
    except OSError:
        return  # a full disk must not stop a check


def records_folder() -> Path:
    """Where records of the running notebook lie: beside it, or where a hub wants them.

    nbgrader gives each lesson a folder, and hands in all that lies there. So a hub
    names one folder for the records of all lessons; only where a person works.
    """
    here, place = notebook_folder(), os.environ.get(RECORDS)
    if not place or here.name == SOLUTIONS or not person_present():
        return here
    return Path(place).expanduser()


def recording(folder: Path) -> bool:
    """Whether a person works in a folder, and not a test, a grader or the build."""
    if folder.name == SOLUTIONS:  # model answers pass, and are nobody's progress
        return False
    graded = any(name in os.environ for name in GRADERS)
    if graded or os.environ.get("COURSE_PROGRESS") == "off":
        return False
    return (folder / MARKER).exists() or person_present()


def _add(exercise: str, state: str, folder: Path) -> None:
    done = read(folder)
    if done.get(exercise) not in ("passed", state):
        text = json.dumps(done | {exercise: state}, indent=1, sort_keys=True)
        write_whole(folder / NAME, text.encode())


def read(folder: Path) -> dict[str, str]:
    """Exercise id -> state; empty where there is no file or it is damaged."""
    try:
        done = json.loads((folder / NAME).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(done, dict):
        return {}
    now = {first_edition.exercise(one): state for one, state in done.items()}
    passed = {one for one, state in done.items() if state == "passed"}
    return now | {first_edition.exercise(one): "passed" for one in passed}


def read_here() -> dict[str, str]:
    """Exercise id -> state, of the notebook that is running."""
    return read(records_folder())
