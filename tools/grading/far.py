"""What a worker of Dask does for `make grade`: it grades a submission, as here.

`cluster.py` sends all that a submission needs but the course's code and its packages.
Those are the worker's own, and have to be the same.
"""

import asyncio
import hashlib
import sys
import tempfile
import threading
import time
import zlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from helpers.files import write_whole
from tools.grading import sandbox
from tools.grading.course import CourseError
from tools.grading.runner import Processes

FILES = ("released", "gradebook")  # of a job: sent whole, since nothing is shared
COURSE = ("helpers", "tools")
PATIENCE = 300.0  # seconds: workers of one machine begin at once
PACKAGES = ("torch", "numpy", "transformers", "nbgrader")

_lock = threading.Lock()
_mine: list[Processes] = []  # those of this worker, from its first submission on


def conditions() -> dict[str, str]:
    """What a score depends on, beside the submission: name -> version."""
    found = {"the course": _course(), "Python": sys.version.split()[0]}
    return found | {name: _version(name) for name in PACKAGES}


@cache
def _course() -> str:
    """The course's code as a digest."""
    digest = hashlib.sha256()
    for folder in COURSE:
        for path in sorted((sandbox.ROOT / folder).rglob("*")):
            name = path.relative_to(sandbox.ROOT)
            hidden = any(part.startswith((".", "__pycache__")) for part in name.parts)
            if path.is_file() and not hidden:
                digest.update(f"{name} {path.stat().st_size} ".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "no version of it"


def refusal(wanted: dict[str, str], unsafe: bool) -> str:
    """Why this worker may not grade; "" where it may.

    Args:
        wanted: The conditions of the person who grades.
        unsafe: Whether it may grade without a sandbox.
    """
    here = conditions()
    for name, version_ in wanted.items():
        if here.get(name) != version_:
            differ = f"{name} {here.get(name)}, and this machine {version_}"
            if name == "the course":
                differ = "another version of the course (helpers/ or tools/ differ)"
            return f"has {differ}: make them the same, and start it again"
    if (found := barrier()) is not None and not unsafe:
        return (
            f"does not shut processes in ({found}), so that a notebook could read and "
            "change files there: docs/grading.md says where the sandbox works"
        )
    return ""


def barrier() -> str | None:
    """Why processes can't be sandboxed on this worker; None where they can."""
    return _way()[1]


@cache
def _way() -> tuple[tuple[str, ...], str | None]:
    with tempfile.TemporaryDirectory(prefix="grading-") as folder:
        return sandbox.way(Path(folder), PATIENCE)


async def look(wanted: dict[str, str], unsafe: bool) -> tuple[str, str | None]:
    """Return `refusal` and `barrier`, while the worker goes on answering."""
    return await asyncio.to_thread(lambda: (refusal(wanted, unsafe), barrier()))


def grade(job: dict, content: bytes) -> tuple[dict, float]:
    """Grade a submission.

    Args:
        job: What `runner.Grader` asks for, with files in place of paths.
        content: The submitted file.

    Returns:
        The result, and the seconds that it took.

    Raises:
        CourseError: This worker may not grade.
    """
    job = dict(job)
    if why := refusal(job.pop("conditions"), job.pop("unsafe")):
        raise CourseError(f"The worker at {_address()} {why}.")
    processes = _processes()
    for name in FILES:
        job[name] = str(_file(processes.folder, zlib.decompress(job[name])))
    job["namespaces"] = barrier() is None
    start = time.monotonic()
    result = processes.run(job, content)
    return result, round(time.monotonic() - start, 1)


def stop(run: str) -> None:
    """Kill what this worker still does for a run."""
    for processes in _mine:
        processes.stop(run)


def _processes() -> Processes:
    """Those of this worker; however it ends, they and their folder go with it."""
    with _lock:
        if not _mine:
            folder = Path(tempfile.mkdtemp(prefix="grading-"))
            _mine.append(Processes(folder, through=_way()[0]))
        return _mine[0]


def _file(folder: Path, content: bytes) -> Path:
    path = folder / f"{hashlib.sha256(content).hexdigest()[:32]}.given"
    with _lock:
        if not path.exists():
            write_whole(path, content)
    return path


def _address() -> str:
    from distributed import get_worker

    return get_worker().address
