"""Which file is whose, and of which lesson.

Understood are nbgrader's `student/02_attention/02_attention.ipynb`, a folder for each
student (`student/02_attention.ipynb`), and one folder of files
(`student_02_attention.ipynb`; with a single lesson asked for, `student.ipynb` too).
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

UNTOLD = (
    "its name does not tell which lesson it is: rename it, or name one lesson to grade"
)


@dataclass(frozen=True)
class Submission:
    """One student's file for one lesson, or the reason why there is none."""

    student: str
    lesson: str  # "02_attention"; empty where it could not be told
    path: Path | None
    reason: str = ""


def find(
    folder: Path, lessons: list[str], only: bool, others: Iterable[str] = ()
) -> list[Submission]:
    """All submissions in a folder, in order of students.

    Args:
        folder: Where the files lie.
        lessons: The names of the lessons that may be meant.
        only: Whether the user named them: files of other lessons are left out, and
            with one lesson a file's name need not tell it.
        others: The names of the course's other lessons.
    """
    others, told = list(others), {}
    for path in _notebooks(folder):
        lesson = _lesson(path.relative_to(folder), [*lessons, *others])
        if lesson not in others:
            told[path] = lesson
    served = {
        _student(path.relative_to(folder), lesson, folder)
        for path, lesson in told.items()
        if lesson
    }
    found = []
    for path, lesson in told.items():
        student = _student(path.relative_to(folder), lesson, folder)
        if not lesson and only and len(lessons) == 1 and student not in served:
            lesson = lessons[0]
        reason = "" if lesson else UNTOLD
        if path.is_symlink():
            reason = "it is a link, not a file"
        found.append(Submission(student, lesson, path, reason))
    found += _without(folder)
    return sorted(_once(folder, found), key=lambda one: (one.student, one.lesson))


def _notebooks(folder: Path) -> Iterator[Path]:
    """Every notebook below a folder; hidden folders are left out."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith((".", "__")) for part in parts)
        if path.suffix.lower() == ".ipynb" and not hidden:
            yield path


def _lesson(path: Path, lessons: list[str]) -> str:
    """The lesson that the file's name speaks of, or else its folders'."""
    for part in (path.name, *reversed(path.parts[:-1])):
        for name in lessons:
            if name in part.lower():
                return name
    return ""


def _student(path: Path, lesson: str, folder: Path) -> str:
    """Whose it is: the first folder's name, or what the file's name says beside it."""
    if len(path.parts) > 1 and path.parts[0].lower() != lesson:
        return readable(path.parts[0])
    stem = re.sub(lesson, "", path.stem, count=1, flags=re.IGNORECASE)
    return readable(stem.strip(" _-.") or folder.resolve().name)


def readable(name: str) -> str:
    r"""A file's name as text: "J\xfcrgen" where a zip from Windows broke umlauts."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _without(folder: Path) -> Iterator[Submission]:
    """Folders and files of students who handed in no notebook."""
    known = {path.relative_to(folder).parts[0] for path in _notebooks(folder)}
    for path in sorted(folder.iterdir()):
        if path.name in known or path.name.startswith((".", "__")):
            continue
        if path.is_dir():
            reason = "there is no notebook in the folder"
            yield Submission(readable(path.name), "", None, reason)
        else:
            kind = readable(path.suffix)
            reason = f"a {kind} file" if kind else "a file of this name"
            reason += " is not a notebook"
            yield Submission(readable(path.stem), "", None, reason)


def _once(folder: Path, found: list[Submission]) -> Iterator[Submission]:
    """Refuse to choose where a student has two files for a lesson."""
    groups: dict[tuple[str, str], list[Submission]] = {}
    for one in found:
        groups.setdefault((one.student, one.lesson), []).append(one)
    for (student, lesson), several in groups.items():
        if len(several) == 1 or not lesson:
            yield from several
            continue
        names = sorted(readable(str(one.path.relative_to(folder))) for one in several)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        names = ", ".join(names[:3]) + more
        reason = f"{len(several)} notebooks of one lesson ({names}): keep one"
        yield Submission(student, lesson, None, reason)
