"""What the judge's own process costs: `python -m tools.bench.grading`.

The solution of lesson 02 is graded in turns by the course as it is, where another
process judges, and by a copy of it that judges in the kernel. Printed are seconds of
processor time, of all processes together, and their ratio. Linux only.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.bench.timing import Race

ROOT = Path(__file__).resolve().parents[2]
LESSON = "02_attention"
IN_THE_KERNEL = """

CLOSED = ()


def moved(exercise_id: str) -> bool:
    return False
"""
GRADE = """
import argparse, json, resource, sys, tempfile
from pathlib import Path
from tools.grading import sandbox
from tools.grading.course import chosen, lay_out
from tools.grading.find import Submission
from tools.grading.runner import Grader

def spent():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

lesson, path = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    lay_out(folder / "course", chosen(sandbox.ROOT, [lesson[:2]]))
    (folder / "probe").mkdir()
    shut_in = sandbox.probe(folder / "probe") is None
    limits = argparse.Namespace(memory=4.0, seconds=900, cell_seconds=300, again=True)
    grader = Grader(folder, folder / "out", sandbox.ROOT, shut_in, limits, seed=1)
    before = spent()
    grade = grader.grade(Submission("one", lesson, Path(path)))
    after = spent()
    grader.close()
print(json.dumps([after - before, grade.total, grade.reason]))
"""


def in_the_kernel(folder: Path) -> Path:
    """A copy of the course in which no other process judges.

    Args:
        folder: It is made in there.
    """
    for name in ("helpers", "tools", "notebooks", "solutions"):
        hidden = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=hidden)
    shutil.copy(ROOT / "pyproject.toml", folder)
    grading = folder / "tools" / "grading"
    with (grading / "moved.py").open("a", encoding="utf-8") as file:
        file.write(IN_THE_KERNEL)
    (grading / "judge.py").write_text("", encoding="utf-8")  # it starts and ends
    return folder


def graded(root: Path, path: Path) -> tuple[float, float]:
    """Grade one hand-in.

    Args:
        root: The course that grades.
        path: The hand-in.

    Returns:
        Seconds of processor time, and points.

    Raises:
        RuntimeError: It could not be graded.
    """
    done = subprocess.run(
        [sys.executable, "-c", GRADE, LESSON, str(path)],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise RuntimeError(f"Grading failed:\n{done.stderr[-2000:]}")
    seconds, points, reason = json.loads(done.stdout.splitlines()[-1])
    if reason:
        raise RuntimeError(f"The hand-in was not graded: {reason}.")
    return seconds, points


def measure(rounds: int) -> Race:
    """Grade in turns, and take the medians.

    Raises:
        RuntimeError: The two ways gave different points.
    """
    path = ROOT / "solutions" / f"{LESSON}.ipynb"
    with tempfile.TemporaryDirectory() as folder:
        roots = ROOT, in_the_kernel(Path(folder))
        runs = [[graded(root, path) for root in roots] for _ in range(rounds)]
    points = {number for run in runs for _, number in run}
    if len(points) > 1:
        raise RuntimeError(f"Both ways should give the same points, not {points}.")
    own, kernel = (statistics.median(it) for it in
                   ([run[way][0] for run in runs] for way in (0, 1)))  # fmt: skip
    return Race("one hand-in of lesson 02", "judged in the kernel", own, kernel, 1.5)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    found = measure(parser.parse_args().rounds)
    print(
        f"{found.work}: {found.ours:.1f} s of processor time, {found.peer} "
        f"{found.theirs:.1f} s; ratio {found.ratio:.2f}, at most {found.aim:g} wanted."
    )
    return 0 if found.met else 1


if __name__ == "__main__":
    sys.exit(main())
