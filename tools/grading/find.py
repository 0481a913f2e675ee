"""Which file is whose, and of which lesson.

Understood are nbgrader's `student/02_attention/02_attention.ipynb`, a folder for each
student (`student/02_attention.ipynb`), and one folder of files
(`student_02_attention.ipynb`; with a single lesson asked for, `student.ipynb` too).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Submission:
    """One student's file for one lesson, or the reason why there is none."""

    student: str
    lesson: str  # "02_attention"; empty where it could not be told
    path: Path | None
    reason: str = ""


def find(folder: Path, lessons: list[str], only: bool) -> list[Submission]:
    """All submissions in a folder, in order of students.

    Args:
        folder: Where the files lie.
        lessons: The names of the lessons that may be meant.
        only: Whether the user named them: files of other lessons are left out, and
            with one lesson a file's name need not tell it.
    """
    found = []
    for path in _notebooks(folder):
        lesson = _lesson(path.relative_to(folder), lessons)
        other = re.search(r"(?<!\d)\d\d_[a-z]", str(path.relative_to(folder)))
        if not lesson and only and len(lessons) == 1 and not other:
            lesson = lessons[0]
        if not lesson and only and other:
            continue
        student = _student(path.relative_to(folder), lesson, folder)
        reason = "" if lesson else "its name does not tell which lesson it is"
        if path.is_symlink():
            reason = "it is a link, not a file"
        found.append(Submission(student, lesson, path, reason))
    found += _without(folder, found)
    return sorted(_once(found), key=lambda one: (one.student, one.lesson))


def _notebooks(folder: Path) -> Iterator[Path]:
    """Every notebook below a folder; hidden folders are left out."""
    for path in sorted(folder.rglob("*.ipynb")):
        parts = path.relative_to(folder).parts
        if not any(part.startswith((".", "__")) for part in parts):
            yield path


def _lesson(path: Path, lessons: list[str]) -> str:
    """The lesson that the file's name speaks of, or else its folders'."""
    for part in (path.name, *reversed(path.parts[:-1])):
        for name in lessons:
            if name in part:
                return name
    return ""


def _student(path: Path, lesson: str, folder: Path) -> str:
    """Whose it is: the first folder's name, or what the file's name says beside it."""
    if len(path.parts) > 1 and path.parts[0] != lesson:
        return path.parts[0]
    stem = path.stem.replace(lesson, "", 1) if lesson else path.stem
    return stem.strip(" _-.") or folder.resolve().name


def _without(folder: Path, found: list[Submission]) -> Iterator[Submission]:
    """Folders and files of students who handed in no notebook."""
    known = {one.path.relative_to(folder).parts[0] for one in found if one.path}
    for path in sorted(folder.iterdir()):
        if path.name in known or path.name.startswith((".", "__")):
            continue
        if path.is_dir() and not any(path.rglob("*.ipynb")):
            yield Submission(path.name, "", None, "there is no notebook in the folder")
        elif path.suffix in (".zip", ".py", ".html", ".pdf", ".json", ".txt"):
            reason = f"a {path.suffix} file is no notebook"
            yield Submission(path.stem, "", None, reason)


def _once(found: list[Submission]) -> Iterator[Submission]:
    """Refuse to choose where a student has two files for a lesson."""
    groups: dict[tuple[str, str], list[Submission]] = {}
    for one in found:
        groups.setdefault((one.student, one.lesson), []).append(one)
    for (student, lesson), several in groups.items():
        if len(several) == 1 or not lesson:
            yield from several
            continue
        names = ", ".join(sorted(one.path.name for one in several))
        reason = f"{len(several)} notebooks of one lesson ({names}): keep one"
        yield Submission(student, lesson, None, reason)
