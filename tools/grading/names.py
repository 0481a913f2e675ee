"""Whose a file is, read from the name that a learning platform gave it.

Moodle (mod/assign/classes/downloader.php) makes a folder for each student,
`Frank Ümlaut_123456_assignsubmission_file`, or, where the teacher unticked "Download
submissions in folders", puts that in front of the file's name. It takes the underscores
out of a student's name, so the number is the one behind the first of them.

Canvas (lib/content_zipper.rb) puts all files into one folder and writes
`muellerg_LATE_99887_1234567_02_attention-2.ipynb`: the name in small letters, LATE
where it was late, the number of the user, the number of the upload, and the student's
own name for the file, in which Canvas counts attempts from the second on: -1, -2. It
leaves single underscores in a student's name, so somebody called `ada_12` can look like
user 12: `tools.grading.find` refuses two names that share a number.
"""

import re
from dataclasses import dataclass
from pathlib import Path

MOODLE = re.compile(
    r"(?P<student>[^_]*)_(?P<number>\d{1,20})_assignsubmission_(file|onlinetext)"
    r"(_(?P<file>.*))?",
    re.DOTALL,
)
CANVAS = re.compile(
    r"(?P<student>.+?)(?P<late>_LATE)?_(?P<number>\d{1,20})_(?P<upload>\d{1,20})_"
    r"(?P<file>.+)",
    re.DOTALL,
)
ATTEMPT = re.compile(r".*-(\d{1,3})(\.[^.]*)?", re.DOTALL)


@dataclass(frozen=True)
class Name:
    """What a name says."""

    student: str  # as the platform writes it; any characters
    platform: str = ""  # "moodle" or "canvas"
    number: str = ""  # the platform's number of the student
    late: bool = False
    upload: int = 0  # a later file of the same student has a larger one
    attempt: int = 1  # as far as the file's name tells it

    @property
    def label(self) -> str:
        """The student's name, and the number where a platform gave one."""
        return f"{self.student} ({self.number})" if self.number else self.student


def read(part: str, file: bool) -> Name | None:
    """What a platform wrote into the name of a folder or file; None if none did.

    Args:
        part: The name alone, without the folders that it lies in.
        file: Whether it is a file's; Canvas makes no folders.
    """
    if found := MOODLE.fullmatch(part):
        return Name(found["student"], "moodle", _number(found["number"]))
    found = CANVAS.fullmatch(part) if file else None
    if not found:
        return None
    attempt = ATTEMPT.fullmatch(found["file"])
    return Name(
        found["student"],
        "canvas",
        _number(found["number"]),
        late=bool(found["late"]),
        upload=int(found["upload"]),
        attempt=int(attempt[1]) + 1 if attempt else 1,
    )


def _number(digits: str) -> str:
    """One spelling for each number, in plain digits."""
    return str(int(digits))


def of(path: Path, lesson: str, folder: Path) -> Name:
    """Whose a notebook is.

    Args:
        path: The file, relative to the folder of all submissions.
        lesson: The lesson that it belongs to, or "".
        folder: That folder; a notebook of no other name is its owner's.
    """
    first = path.parts[0]
    if name := read(first, file=len(path.parts) == 1):
        return name
    if len(path.parts) > 1 and first.lower() != lesson:
        return Name(first)
    stem = re.sub(lesson, "", path.stem, count=1, flags=re.IGNORECASE)
    return Name(stem.strip(" _-.") or folder.resolve().name)


def inside(folder: Path) -> Path:
    """The folder that a platform's names lie in: itself, or the one folder in it.

    A zip that was unpacked and packed again has such a folder around it.
    """
    seen = [one for one in folder.iterdir() if not one.name.startswith((".", "__"))]
    if len(seen) != 1 or seen[0].is_symlink() or not seen[0].is_dir():
        return folder
    if read(seen[0].name, file=False):
        return folder
    deeper = (read(one.name, file=one.is_file()) for one in seen[0].iterdir())
    return seen[0] if any(deeper) else folder
