"""Which file is whose, and of which lesson.

Understood are nbgrader's `student/02_attention/02_attention.ipynb`, a folder for each
student (`student/02_attention.ipynb`), and one folder of files
(`student_02_attention.ipynb`; with a single lesson asked for, `student.ipynb` too). Of
the names that Moodle and Canvas give, `names.py` reads more than the student.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tools.grading import names
from tools.grading.names import Name

UNTOLD = (
    "its name does not tell which lesson it is: rename it, or name one lesson to grade"
)
LONGEST = 80  # characters of a student's name: it becomes a folder's
DEEPEST = 8  # folders in one another that are looked through


@dataclass(frozen=True)
class Submission:
    """One student's file for one lesson, or the reason why there is none."""

    student: str
    lesson: str  # "02_attention"; empty where it could not be told
    path: Path | None
    reason: str = ""
    name: Name = Name("")  # what the file's or the folder's name says
    notes: tuple[str, ...] = ()


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
    whose = {
        path: names.of(path.relative_to(folder), lesson, folder)
        for path, lesson in told.items()
    }
    served = {whose[path].label for path, lesson in told.items() if lesson}
    found = []
    for path, lesson in told.items():
        name = whose[path]
        if not lesson and only and len(lessons) == 1 and name.label not in served:
            lesson = lessons[0]
        reason = _not_a_file(path) or ("" if lesson else UNTOLD)
        found.append(Submission(readable(name.label), lesson, path, reason, name))
    found += _without(folder, found)
    found = _of_one_name(_once(folder, found))
    return sorted(found, key=lambda one: (one.student, one.lesson))


def _notebooks(folder: Path, depth: int = DEEPEST) -> Iterator[Path]:
    """Every notebook below a folder; hidden folders and links are left out."""
    try:
        inside = sorted(folder.iterdir())
    except OSError:  # a folder that can't be read holds no notebook
        return
    for path in inside:
        if path.name.startswith((".", "__")):
            continue
        if path.suffix.lower() == ".ipynb":
            yield path
        elif depth and path.is_dir() and not path.is_symlink():
            yield from _notebooks(path, depth - 1)


def _not_a_file(path: Path) -> str:
    """Why a path can't be opened as a file; "" where it can."""
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        return f"it can't be read ({error.strerror})"
    kinds = {stat.S_IFREG: "", stat.S_IFLNK: "link", stat.S_IFDIR: "folder"}
    kind = kinds.get(stat.S_IFMT(mode), "special file")
    return kind and f"it is a {kind}, not a file"


def _lesson(path: Path, lessons: list[str]) -> str:
    """The lesson that the file's name speaks of, or else its folders'."""
    for part in (path.name, *reversed(path.parts[:-1])):
        for name in lessons:
            if name in part.lower():
                return name
    return ""


def readable(name: str) -> str:
    """A file's name as text for tables, terminals and web pages: one line, no markup.

    A character that could mean anything else there stands as its number: "J‹fc›rgen"
    where a zip from Windows broke an umlaut, "‹a›" for a line break. A long name is
    shortened, and ends in a digest of the whole.
    """
    text = os.fsencode(name).decode("utf-8", "surrogateescape")
    text = "".join(map(_readable, text))
    text = re.sub(r"^ | $", "‹20›", text)
    if len(text.encode()) <= LONGEST:
        return text
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:12]
    start = text.encode()[: LONGEST - 16].decode(errors="ignore")
    return f"{start}... {digest}"


def _readable(letter: str) -> str:
    number = ord(letter)
    if 0xDC80 <= number <= 0xDCFF:  # a byte that isn't text
        return f"‹{number - 0xDC00:x}›"
    plain = letter.isprintable() and letter not in '<>&"\\‹›'
    return letter if plain else f"‹{number:x}›"


def _without(folder: Path, found: list[Submission]) -> Iterator[Submission]:
    """Folders and files of students who handed in no notebook."""
    known = {path.relative_to(folder).parts[0] for path in _notebooks(folder)}
    served = {one.student for one in found}
    for path in sorted(folder.iterdir()):
        if path.name in known or path.name.startswith((".", "__")):
            continue
        file = not path.is_dir()
        name = names.read(path.name, file) or Name(path.stem if file else path.name)
        student = readable(name.label)
        if name.platform and student in served:  # it lies beside a notebook of theirs
            continue
        if not file:
            reason = "there is no notebook in the folder"
        else:
            kind = readable(path.suffix)
            reason = f"a {kind} file" if kind else "a file of this name"
            reason += " is not a notebook"
        if name.platform:
            served.add(student)
        yield Submission(student, "", None, reason, name)


def _once(folder: Path, found: list[Submission]) -> Iterator[Submission]:
    """One submission for each student and lesson.

    Canvas numbers its uploads: of several the newest counts. Else nothing is chosen.
    """
    groups: dict[tuple[str, str], list[Submission]] = {}
    for one in found:
        groups.setdefault((one.student, one.lesson), []).append(one)
    for (student, lesson), several in groups.items():
        if len(several) == 1 or not lesson:
            yield from several
            continue
        uploads = sorted(several, key=lambda one: one.name.upload)
        if uploads[-1].name.upload > uploads[-2].name.upload:
            note = f"the newest of {len(several)} uploads was graded"
            yield replace(uploads[-1], notes=(note,))
            continue
        paths = sorted(readable(str(one.path.relative_to(folder))) for one in several)
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        paths = ", ".join(paths[:3]) + more
        reason = f"{len(several)} notebooks of one lesson ({paths}): keep one"
        yield Submission(student, lesson, None, reason, several[0].name)


def _of_one_name(found: Iterable[Submission]) -> Iterator[Submission]:
    """Refuse those of several names that share a platform's number."""
    found = list(found)
    students: dict[tuple[str, str], set[str]] = {}
    for one in found:
        name = one.name
        students.setdefault((name.platform, name.number), set()).add(one.student)
    for one in found:
        count = len(students[one.name.platform, one.name.number])
        if not one.name.number or count == 1:
            yield one
            continue
        reason = f"{count} names carry the platform's number {one.name.number}: "
        reason += "ask whose it is, and rename the file"
        yield replace(one, path=None, reason=reason, notes=())
