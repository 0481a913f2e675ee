"""Collect from nbgrader's exchange without believing what students may have put there.

nbgrader takes the student from a folder's name, which its owner chose: whoever submits
as somebody else replaces their work, and only a warning says so. And it follows links,
so that a student can hand in what the instructor alone may read. Here a submission is
its owner's, and of it only regular files are taken.
"""

import os
import stat
from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect
from traitlets import Bool

from tools.grading.restore import MOST
from tools.hub import CAME_WITH_IT

try:
    import pwd
except ImportError:  # Windows, where nbgrader has no exchange
    pwd = None


class Collect(ExchangeCollect):
    """nbgrader's own way to collect, but for who submitted, and what is copied."""

    by_owner = Bool(
        True, help="Whether each student is a user of this machine: not in a trial."
    ).tag(config=True)

    def _path_to_record(self, path: str) -> dict:
        record = super()._path_to_record(path)
        owner = _owner(path) if self.by_owner else record["username"]
        if owner != record["username"]:
            self.log.warning(
                "%s submitted in the name of %s: it is collected as %s's own",
                *(owner, record["username"], owner),
            )
        return record | {"username": owner}

    def do_copy(self, src: str, dest: str, log: object = None) -> None:
        """Copy the regular files that a submission consists of, and follow no link."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        try:
            folder = os.open(src, flags)
        except OSError as error:
            self.log.error("%s is not collected: %s", src, error.strerror)
            return
        try:
            files = dict(self._files(folder))
        finally:
            os.close(folder)
        Path(dest).mkdir(parents=True)
        for name, content in files.items():
            Path(dest, name).write_bytes(content)

    def _files(self, folder: int) -> list[tuple[str, bytes]]:
        found, room = [], MOST
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".ipynb") and name not in CAME_WITH_IT:
                continue
            try:
                found.append((name, _content(name, folder, room)))
                room -= len(found[-1][1])
            except OSError as error:
                self.log.error("%s is left out: %s", name, error)
        return found


def _owner(path: str) -> str:
    """The user to whom a folder belongs, or a link itself."""
    number = os.lstat(path).st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user-{number}"


def _content(name: str, folder: int, room: int) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(name, flags, dir_fd=folder), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is not a regular file")
        content = file.read(room + 1)
    if len(content) > room:
        raise OSError(f"a submission has at most {MOST / 1e6:.0f} MB")
    return content
