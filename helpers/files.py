"""Files that two processes may want at once, or that a kill must not tear; output.

Needs the standard library alone.
"""

import io
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
    import msvcrt


class Locked(OSError):
    """Another process holds the lock, and did not give it back in time."""


@contextmanager
def locked(path: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock of a file while the body runs; the file itself stays, and empty.

    The system gives a lock back when its process ends, however it ends. Where the file
    can't be made, or the file system knows no locks, the body runs without one.

    Args:
        path: the file; its folder has to be there
        patience: seconds to wait for another process

    Raises:
        Locked: another process holds the lock.
    """
    try:
        file = path.open("ab")
    except OSError:  # a read-only folder: nobody can write there, so nobody collides
        yield
        return
    with file:
        end = time.monotonic() + patience
        while not _taken(file):
            if time.monotonic() >= end:
                raise Locked(f"{path} is locked by another process")
            time.sleep(0.02)
        yield  # closing the file gives the lock back


def _taken(file: BinaryIO) -> bool:
    """Whether the lock is ours now, or there is none to be had."""
    try:
        if fcntl:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def utf8_output() -> None:
    """Let a program print every character, also into a pipe or a file on Windows.

    There Python takes the system's old code page, which has no check mark.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
