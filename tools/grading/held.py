"""How much memory a submission's processes hold together, and an end to it.

A limit on address space counts for each process alone. Where no control group was
delegated to whoever grades, nothing but looking tells what all of them hold.
"""

import threading
from collections.abc import Callable
from pathlib import Path

import psutil

PAUSE = 0.5  # seconds between two looks
COUNTED = ("RssAnon:", "RssShmem:", "VmSwap:")
OVERHEAD = 3_000_000_000  # bytes of nbgrader, the judge and PyTorch in the kernel


def held(pid: int) -> int:
    """Bytes that a process and all that it started hold, files left out.

    What several of them share is counted for each.
    """
    try:
        first = psutil.Process(pid)
        family = [first, *first.children(recursive=True)]
    except psutil.Error:  # it has ended
        return 0
    return sum(_own(one.pid) for one in family)


def _own(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:  # it has ended, or this is not Linux
        return 0
    return 1024 * sum(int(x.split()[1]) for x in lines if x.startswith(COUNTED))


def watch(pid: int, most: int, ended: threading.Event, end: Callable[[], None]) -> None:
    """Look until a process has ended, and call `end` once where it holds too much.

    Args:
        pid: The process; what it started counts as well.
        most: Bytes.
        ended: Is set when there is nothing to look at any more.
        end: Ends it.
    """
    while not ended.wait(PAUSE):
        if held(pid) > most:
            end()
            return
