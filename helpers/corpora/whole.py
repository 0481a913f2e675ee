"""Are the bundled files whole? A folder keeps the sha256 of its files in sha256.json.

`record` writes it, after a command has written the files. A file without an entry, such
as one of your own, is not checked.
"""

import hashlib
import json
from functools import cache
from pathlib import Path

from helpers.files import write_whole

SUMS = "sha256.json"
PLAIN = (".py", ".md", ".png")  # nothing reads these but people and Python
FOLDERS = [  # all that the course bundles
    Path(__file__).parent / name
    for name in (".", "gpt2", "language/weights", "storyteller", "guesser")
]


class DamagedFileError(OSError):
    """A bundled file that is not what it was; shown as one sentence."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def whole(file: Path) -> Path:
    """A file, once it is known to be what the course came with.

    Raises:
        DamagedFileError: It is missing, or has other bytes.
    """
    if file in damaged(file.parent):
        raise DamagedFileError(sentence(file))
    return file


def damaged(folder: Path) -> list[Path]:
    """The files of a folder that are missing or have other bytes than they should."""
    sums = folder / SUMS
    try:
        known = json.loads(sums.read_text("utf-8")) if sums.exists() else {}
    except ValueError:
        return [sums]
    return [folder / name for name in known if sha256(folder / name) != known[name]]


def sentence(file: Path) -> str:
    """What is wrong with a damaged file, and the one command that mends it."""
    what = "is damaged: its sha256 is wrong" if file.exists() else "is missing"
    course = Path(__file__).parents[2]
    name = (file.relative_to(course) if course in file.parents else file).as_posix()
    return (
        f"{name} {what}. Run `git checkout {name}` in the course's folder; without "
        "git, download the course again."
    )


def record(folder: Path) -> None:
    """Keep the sha256 of a folder's files, as they are now."""
    files = sorted(one for one in folder.iterdir() if one.is_file())
    known = {
        file.name: sha256(file)
        for file in files
        if file.suffix not in PLAIN and file.name != SUMS
    }
    write_whole(folder / SUMS, (json.dumps(known, indent=1) + "\n").encode())


def sha256(file: Path) -> str:
    """The sha256 of a file; empty if the file does not exist."""
    if not file.is_file():
        return ""
    facts = file.stat()
    return _digest(file, facts.st_size, facts.st_mtime_ns)


@cache
def _digest(file: Path, size: int, changed: int) -> str:
    """Read a file once in a process; again only where size or time changed."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
