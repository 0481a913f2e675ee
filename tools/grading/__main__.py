"""Grade a folder of submissions: `python -m tools.grading --submissions folder`.

Every notebook is graded by nbgrader in a process of its own, with limits on memory and
time, without network and without sight of other files where the system allows it. One
that hangs, breaks or is not a notebook costs only itself. The results, by default
beside the submissions in `<folder>-graded`:

    grades.csv          one row for each submission, with points, notes and reasons
    misconceptions.csv  exercise, misconception, number of students
    gradebook.db        nbgrader's, with autograded/ for reading and feedback
    pages/              feedback, a page for each student; `kit.py` says what else

docs/grading.md says what is trusted. Running it again grades what is new or changed.
"""

import argparse
import math
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import import_module
from pathlib import Path

from helpers.files import write_whole
from tools.grading import (
    cluster,
    held,
    kit,
    likeness,
    outline,
    reading,
    roster,
    sandbox,
    seeds,
    tables,
)
from tools.grading.course import CourseError, chosen, lay_out
from tools.grading.find import Submission, find
from tools.grading.gradebook import enter, give
from tools.grading.runner import Grader
from tools.grading.tables import Grade

ROOT = Path(__file__).resolve().parents[2]


UNFINISHED = "unfinished"  # grades.unfinished.csv: what is known while grading goes on
PAUSE = 10.0  # seconds between two of them
INSIDE = (Path("/.dockerenv"), Path("/run/.containerenv"))  # lie in a container


def grade_all(
    grader: Grader,
    submissions: list[Submission],
    jobs: int,
    keep: Callable[[list[Grade]], object],
) -> list[Grade]:
    """Grade submissions, some at a time, and say how each went.

    Args:
        grader: Grades one.
        submissions: What was found.
        jobs: How many at a time.
        keep: Is given what is known so far, every few seconds.
    """
    grades = [
        Grade(one.student, one.lesson, reason=one.reason)
        for one in submissions
        if one.reason
    ]
    for one in grades:
        print(f"  {one}", flush=True)
    todo = [one for one in submissions if not one.reason]
    kept = -math.inf
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(grader.grade, one) for one in todo]
        try:
            for number, done in enumerate(as_completed(running), 1):
                grades.append(done.result())
                print(f"  {number}/{len(todo)} {grades[-1]}", flush=True)
                if time.monotonic() - kept > PAUSE:
                    keep(grades)
                    kept = time.monotonic()
        except BaseException:  # Ctrl-C, a full disk
            grader.stop()
            pool.shutdown(cancel_futures=True)
            raise
    return sorted(grades, key=lambda one: (one.student, one.lesson))


def known_mistakes(lessons: Iterable[str]) -> dict[str, set[str]]:
    """Exercise -> the names that a check can give to a wrong answer."""
    from helpers.checks.engine import LESSONS
    from helpers.checks.recognise import IN_PLACE

    modules = [LESSONS[int(lesson.split("_")[0])] for lesson in lessons]
    return {
        exercise.id: {IN_PLACE.name, *(one.name for one in exercise.misconceptions)}
        for module in modules
        for exercise in import_module(f"helpers.exercises.{module}").EXERCISES
    }


def _texts(grades: list[Grade], known: dict[str, set[str]]) -> dict[str, str]:
    return {
        "grades": tables.grades_table(grades),
        "misconceptions": tables.misconceptions_table(grades, known),
    }


def write_unfinished(
    out: Path, grades: list[Grade], known: dict[str, set[str]]
) -> None:
    """Write what is known so far beside the tables of earlier runs."""
    for name, text in _texts(grades, known).items():
        write_whole(out / f"{name}.{UNFINISHED}.csv", text.encode(tables.ENCODING))


def write_tables(
    out: Path, grades: list[Grade], known: dict[str, set[str]]
) -> list[str]:
    """Write both tables; returns what there is to say about it."""
    said = []
    for name, text in _texts(grades, known).items():
        moved = tables.keep(out / f"{name}.csv", text)
        earlier = f" (the earlier one is now {moved.name})" if moved else ""
        said.append(f"{out / name}.csv{earlier}")
        (out / f"{name}.{UNFINISHED}.csv").unlink(missing_ok=True)
    return said


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Grade a folder; returns the exit status."""
    options = _options(arguments)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        return _main(options, root)
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        where = f" at {error.filename}" if error.filename else ""
        print(
            f"Grading broke off{where}: {error.strerror or error}. What was graded is "
            "kept: put this right and run it again.",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print(
            "Stopped. What was graded is kept: run it again to go on.", file=sys.stderr
        )
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)


def _main(options: argparse.Namespace, root: Path) -> int:
    if not hasattr(os, "fork"):
        raise CourseError("Grading needs Linux or macOS; on Windows, use WSL.")
    source = options.submissions
    if not source or not (Path(source).is_dir() or _is_zip(Path(source))):
        what = f"{source} is not a folder" if source else "No folder was named"
        raise CourseError(f"{what}: say `make grade SUBMISSIONS=folder`.")
    source = Path(source)
    people = roster.read(options.roster) if options.roster else None
    given = reading.saved(options.points) if options.points else []
    with kit.handed_in(source) as (folder, left):
        return _grade(options, root, source, folder, left, people, given)


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip" and path.is_file()


def _grade(
    options: argparse.Namespace,
    root: Path,
    source: Path,
    handed: Path,
    left: list[tuple[str, str]],
    people: roster.Roster | None,
    given: list[reading.Points],
) -> int:
    """Grade the submissions of a folder.

    Args:
        options: What was asked for.
        root: The course.
        source: The folder or zip that was named.
        handed: Where the submissions lie.
        left: What of a zip was left out.
        people: The list of the class.
        given: What a person gave to written answers.
    """
    notebooks = chosen(root, options.lesson)
    names = [notebook.stem for notebook in notebooks]
    others = [book.stem for book in chosen(root, []) if book not in notebooks]
    submissions = find(handed, names, bool(options.lesson), others)
    submissions = kit.left_out(submissions, left, names)
    if not any(one.path for one in submissions):
        wanted = f" of lesson {', '.join(options.lesson)}" if options.lesson else ""
        raise CourseError(f"There is no notebook{wanted} in {source}.")
    base = source.stem if source.is_file() else source.resolve().name
    out = options.out or source.resolve().with_name(f"{base}-graded")
    if out.resolve().is_relative_to(source.resolve()):
        raise CourseError(
            f"{out} lies among the submissions, where the next run would take it for "
            "one: name another folder."
        )
    meant = [book for book in notebooks if book.stem in {s.lesson for s in submissions}]
    known = known_mistakes(book.stem for book in meant)
    with (
        tempfile.TemporaryDirectory(prefix="grading-") as folder,
        cluster.connect(options) as joined,
    ):
        through, barrier = (
            ((), joined.barrier) if joined else sandbox.way(_empty(folder))
        )
        if barrier is not None and not options.unsafe:
            raise CourseError(
                f"This system does not shut processes in ({barrier}): a notebook could "
                "read and change your files, and the other students' submissions and "
                f"grades. What helps is {_ways_out()}: docs/grading.md says how."
            )
        print(_conditions(options, barrier, through), flush=True)
        if joined:
            print(joined, flush=True)
        lay_out(out, meant)
        seed = seeds.of_run(out, [book.stem for book in meant], options.seed)
        print(f"The inputs of the checks are drawn with --seed {seed}.", flush=True)
        lay_out(Path(folder) / "course", meant)  # no grades in it for a kernel to see
        given_all = Path(folder), out, root, barrier is None, options, seed
        grader = (
            cluster.Far(*given_all, cluster=joined)
            if joined
            else Grader(*given_all, through=through)
        )
        jobs = joined.jobs if joined else options.jobs
        try:
            grades = grade_all(
                *(grader, submissions, jobs),
                lambda found: write_unfinished(out, found, known),
            )
        finally:
            grader.close()
    try:
        kit.notes(grades, submissions)
        likeness.flag(grades, root)
        enter(out, grades, [book.stem for book in meant])
        if given:
            left = give(out, grades, given)
            said = f"Points for written answers: {len(given) - len(left)} entered."
            print(said, *left, sep="\n", flush=True)
        outlines = {book.stem: outline.read(root, book.stem) for book in meant}
        group = kit.Class(out, grades, submissions, outlines, people, root)
        print(*kit.write(group), sep="\n", flush=True)
    finally:  # the tables do not hang on nbgrader
        failed = sum(bool(one.reason) for one in grades)
        print(f"Graded {len(grades) - failed} of {len(grades)}.")
        print("Written:", *write_tables(out, grades, known), sep="\n  ", flush=True)
    return 0


def _empty(folder: str) -> Path:
    place = Path(folder) / "probe"
    place.mkdir()
    return place


def _ways_out() -> str:
    """What there is to do where nothing is sandboxed."""
    ways = ['a virtual machine that holds nothing else, with ARGS="--unsafe"']
    if any(sign.exists() for sign in INSIDE):
        ways.insert(0, "this container, started with --security-opt seccomp=unconfined")
        return ", or ".join(ways)
    for tool in ("podman", "docker"):
        if shutil.which(tool):
            ways.insert(0, f"a container of {tool}, which is installed here")
    if sys.platform == "linux" and not shutil.which("podman"):
        ways.insert(0, "podman, once it is installed: it may be allowed more")
    return ", or ".join(ways)


def _conditions(
    options: argparse.Namespace, barrier: str | None, through: Sequence[str] = ()
) -> str:
    together = options.memory + held.OVERHEAD / 1e9
    limits = (
        f"{options.memory:g} GB of memory for each process, {together:g} GB for all "
        f"together (looked at twice a second) and {options.seconds:g} s"
    )
    if barrier is None:
        way = "Linux namespaces" + (f", through {through[0]}" if through else "")
        return (
            f"Each notebook runs sandboxed ({way}): no network, no files but the "
            f"course's, {limits}."
        )
    return (
        f"UNSAFE: each notebook has at most {limits}, and can reach the network, your "
        "files, and the other students' submissions and grades "
        f"({barrier})."
    )


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.grading", description=__doc__.split("\n")[0]
    )
    add = parser.add_argument
    add("--submissions", default="", help="folder of notebooks, or a zip of it")
    add("--lesson", action="append", default=[], help="number; default: what is found")
    add("--out", type=Path, help="folder of the results; default: beside the first")
    add("--roster", type=Path, help="list of the class: CSV, see docs/grading.md")
    add("--points", type=Path, help="points.json, saved by the page for reading")
    add("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    add("--scheduler", default="", help="Dask's, tls://HOST:PORT; or: local")
    add("--tls-ca-file", type=Path, help="certificate that signed the others'")
    add("--tls-cert", type=Path, help="certificate of this machine")
    add("--tls-key", type=Path, help="its private key")
    add("--memory", type=float, default=4.0, help="GB beyond what PyTorch takes")
    add("--seconds", type=float, default=900.0, help="for one submission")
    add("--cell-seconds", type=float, default=300.0, help="for one cell")
    add("--seed", type=int, help="of the checks' inputs; default: drawn once")
    add("--unsafe", action="store_true", help="also where there is no sandbox")
    add("--again", action="store_true", help="also what was graded before")
    options = parser.parse_args(arguments)
    limits = options.seconds, options.cell_seconds, options.memory
    if not all(map(math.isfinite, limits)):
        parser.error("--memory, --seconds and --cell-seconds are numbers.")
    if options.jobs < 1 or min(options.seconds, options.cell_seconds) < 1:
        parser.error("--jobs, --seconds and --cell-seconds are at least 1.")
    if options.seed is not None and not 1 <= options.seed <= seeds.MOST:
        parser.error(f"--seed is a number from 1 to {seeds.MOST}.")
    if options.memory < 1:
        parser.error("--memory: torch alone needs about 1 GB.")
    return options


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # the folder's name may be broken
    sys.exit(main())
