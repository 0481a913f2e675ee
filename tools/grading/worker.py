"""Grade one submission with nbgrader: `python -m tools.grading.worker` < job > result.

The process reads what it needs, shuts itself in, and only then looks at the
submission. A job is a line of JSON, with the submitted file behind it; a result is
JSON. `tools.grading` writes the one and reads the other.
"""

import json
import os
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

from tools.build.execute import QUIET
from tools.grading import likeness, sandbox
from tools.grading.course import first_cause, quiet
from tools.grading.restore import (
    MOST,
    SubmissionError,
    parse,
    restore,
    suspects,
)

STUDENT = "student"  # nobody's name is needed in here
SIZE = 512_000_000  # bytes that may be written in all
FILE = 100_000_000  # bytes of one file of the kernel's
PROCESSES = 512  # and threads, where others of the same user are not counted


def main() -> int:
    """Grade, and print the result; whatever fails is said in it."""
    job = json.loads(sys.stdin.buffer.readline())
    content = sys.stdin.buffer.read(MOST + 1)
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")  # kernels don't inherit it
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    given = {name: Path(job[name]).read_bytes() for name in ("released", "gradebook")}
    folder = Path(job["folder"])
    if job["namespaces"]:
        folder = sandbox.enter(folder, SIZE)
    else:
        (folder / sandbox.KERNEL).mkdir()
    sandbox.limit({"FSIZE": SIZE, "CORE": 0})
    most = job["memory"] + sandbox.address_space()  # it holds PyTorch by now
    sandbox.limit({"AS": most}, for_good=False)  # the kernel has its own
    try:
        result = grade(job, content, given, folder)
    except SubmissionError as error:
        result = {"reason": str(error)}
    except MemoryError:
        result = {"reason": "it needs more memory than a submission gets"}
    json.dump(result, results)
    results.close()
    return 0


def grade(job: dict, content: bytes, given: dict[str, bytes], folder: Path) -> dict:
    """Execute and grade a submission in a course of its own.

    Args:
        job: What `tools.grading` asked for.
        content: The submitted file.
        given: The files of the released course that are needed.
        folder: Where everything happens.

    Returns:
        Points, outcomes and notes, ready for JSON.
    """
    import nbformat

    released = nbformat.reads(given["released"].decode(), as_version=4)
    submitted, notes = restore(parse(content), released)
    suspicious = suspects(submitted, released, job["usual"])
    shapes = likeness.shapes(submitted, released)
    name = job["name"]
    place = folder / "submitted" / STUDENT / name / f"{name}.ipynb"
    place.parent.mkdir(parents=True)
    place.write_text(nbformat.writes(submitted), "utf-8")
    (folder / "gradebook.db").write_bytes(given["gradebook"])
    prepare(job, folder)
    told, outcomes, said = autograde(folder, name, job)
    done = folder / "autograded" / STUDENT / name / f"{name}.ipynb"
    if not done.exists():
        reason = f"nbgrader could not process it ({first_cause(said)})"
        raise SubmissionError(reason)
    return {
        "scores": scores(folder, name),
        "outcomes": outcomes,
        "notes": told + notes,
        "suspects": suspicious,
        "shapes": shapes,
        "notebook": done.read_text("utf-8"),
    }


def prepare(job: dict, folder: Path) -> None:
    """Make the environment that the kernel inherits: quiet, and nobody's home."""
    kernel = folder / sandbox.KERNEL
    os.environ.clear()
    os.environ.update(QUIET)
    for name in ("HOME", "TMPDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR", "IPYTHONDIR"):
        os.environ[name] = str(kernel)
    tempfile.tempdir = None  # was /tmp: read-only where the course lies there
    os.environ |= {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
        "PYTHONPATH": str(sandbox.ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
        "USER": STUDENT,
        "COURSE_PROGRESS": "off",
        "GRADING_JOB": str(folder),
        "GRADING_LESSON": str(int(job["name"].split("_")[0])),
        "GRADING_SANDBOX": "namespaces" if job["namespaces"] else "",
        "GRADING_SEED": str(job["seed"]),
        "GRADING_LIMITS": json.dumps(_limits(job)),
    }
    for file, text in job["caches"].items():
        (kernel / file).write_text(text)


def _limits(job: dict) -> dict[str, int]:
    """What the kernel may use."""
    most = {"AS": job["memory"], "CPU": int(job["seconds"]) + 1}
    most |= {"FSIZE": FILE, "CORE": 0}
    most |= {"MSGQUEUE": 0}  # POSIX messages, memory that "AS" does not count
    return most | {"NPROC": PROCESSES} if job["namespaces"] else most


def autograde(
    folder: Path, name: str, job: dict
) -> tuple[list[str], list[dict], list[str]]:
    """Let nbgrader grade what lies in submitted/.

    Returns:
        Notes, outcomes, and what nbgrader logged.
    """
    warnings.simplefilter("ignore")  # of SQLAlchemy and the event loop
    from nbgrader.converters import Autograde
    from nbgrader.converters.base import NbGraderException
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

    from tools.grading.execute import Sandboxed

    config = Config()
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.assignment_id = name
    config.CourseDirectory.student_id = STUDENT
    config.Sandboxed.cell_seconds = float(job["cell_seconds"])
    config.Sandboxed.all_seconds = float(job["seconds"])
    kinds = [kind for kind in Autograde.autograde_preprocessors.default_args[0]]
    config.Autograde.autograde_preprocessors = [
        Sandboxed if kind.__name__ == "Execute" else kind for kind in kinds
    ]
    os.chdir(folder)
    converter = Autograde(coursedir=CourseDirectory(config=config), config=config)
    with quiet() as said, suppress(NbGraderException):  # the result is missing then
        converter.start()
    told = Sandboxed.told
    if Sandboxed.changed:
        names = ", ".join(Sandboxed.changed)
        told.append(f"{names}: the course's checks had been changed, no points")
    if Sandboxed.silent:
        names = ", ".join(Sandboxed.silent)
        told.append(f"{names}: the check did not report a pass itself, no points")
    return told, Sandboxed.outcomes, said


def scores(folder: Path, name: str) -> dict[str, list]:
    """Cell -> its points from nbgrader's gradebook, and whether a person must grade."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
        submission = book.find_submission_notebook(name, name, STUDENT)
        return {
            grade.name: [grade.auto_score, bool(grade.needs_manual_grade)]
            for grade in submission.grades
        }


if __name__ == "__main__":
    sys.exit(main())
