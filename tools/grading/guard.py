"""Clean up behind a grader, however it ends.

    python -m tools.grading.guard FOLDER < pipe

Reads "+ID" and "-ID" for each process group that the grader starts and sees end. When
the pipe closes, because the grader is done or was killed, the groups that are left are
killed and FOLDER is removed.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def start(folder: Path) -> subprocess.Popen:
    """Start a guard; write to its `stdin`, which is unbuffered, and close that.

    Args:
        folder: What goes when the grader goes.
    """
    command = [sys.executable, "-S", "-m", "tools.grading.guard", str(folder)]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, bufsize=0, start_new_session=True
    )


def watch(lines: Iterable[str], folder: Path) -> None:
    """Follow what starts and ends, until there is nobody left to tell."""
    groups: set[int] = set()
    for line in lines:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watch(sys.stdin, Path(sys.argv[1]))
