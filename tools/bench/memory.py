"""Scripts in a process of their own, and how much memory a piece of work takes there.

Linux only: the peak is read from /proc.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def peak_above(work: Callable[[], object]) -> float:
    """By how many megabytes this process grew, at most, while it worked."""
    # Forget the peak so far.
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = _resident("VmRSS")
    work()
    return _resident("VmHWM") - before


def _resident(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(x.split()[1]) / 1024 for x in lines if x.startswith(name))


def in_own_process(script: str, *arguments: str) -> Any:
    """Run a script with one thread; what its last line holds, as JSON.

    Raises:
        RuntimeError: The script failed.
    """
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COURSE_PROGRESS": "off"}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"{arguments[0]} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
