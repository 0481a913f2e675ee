"""Proof that notebooks run on Colab's packages: `python -m tools.proofs.colab`.

Colab itself is out of reach for a test. In its place a new environment outside of the
repository gets the versions that Colab has (colab.txt). There the first cell of a
published notebook, told that it is on Colab, installs the course from an archive of the
last commit, as on Colab from that of the web. No package of Colab's may change by that.
Then three solutions run without an error; and a student's notebook, in which an answer
is filled in, raises nothing but what the course says of the others.

It takes some minutes, and fetches packages.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.build import published
from tools.build.notebooks import ROOT, chosen, lesson_paths, read, solution, student

ADDRESS = "https://github.com/us/it"
SOLUTIONS = ("00", "01", "03")  # data, the encoder, GPT-2's storyteller, BertViz
STUDENT, ANSWER = "02", "ex-2-A"  # the answer that is filled in
OURS = {"NotImplementedError", "NotAttempted"}
ON_COLAB = """import importlib.util as util, sys
spec = util.spec_from_loader("google.colab", None)
sys.modules["google.colab"] = util.module_from_spec(spec)
"""
EXECUTE = """
import sys
import nbformat
from nbclient import NotebookClient
path, folder, errors = sys.argv[1:]
notebook = nbformat.read(path, 4)
client = NotebookClient(notebook, timeout=1200, allow_errors=errors == "allowed")
client.execute(cwd=folder)
nbformat.write(notebook, path)
"""
LIST = """
import json
from importlib.metadata import distributions
print(json.dumps({one.metadata["Name"]: one.version for one in distributions()}))
"""


class ProofError(Exception):
    """What does not hold, in a sentence."""


class Place:
    """A folder outside of the repository, with an environment of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.python = folder / "env" / "bin" / "python"
        self.archive = folder / "main.zip"

    def make(self) -> None:
        """Make the environment, and the archive of the last commit."""
        _run([sys.executable, "-m", "venv", self.folder / "env"], self.folder)
        _run([self.python, "-m", "tools.install", "tools/proofs/colab.txt"], ROOT)
        _run(["git", "archive", "--prefix=it-main/", "-o", self.archive, "HEAD"], ROOT)

    def packages(self) -> dict[str, str]:
        """The versions in the environment, by name."""
        return json.loads(_run([self.python, "-c", LIST], self.folder, quiet=True))

    def execute(self, name: str, book: NotebookNode, errors: bool) -> NotebookNode:
        """Run a notebook as Colab would; its first cell installs what is missing."""
        cell = next(one for one in book.cells if one.id == published.CELL)
        web = f"{ADDRESS}/archive/refs/heads/{published.BRANCH}.zip"
        if cell.source.count(web) != 1:
            raise ProofError("The first cell does not install the archive.")
        cell.source = ON_COLAB + cell.source.replace(web, str(self.archive))
        path = self.folder / name
        nbformat.write(book, path)
        allowed = "allowed" if errors else "none"
        command = [self.python, "-c", EXECUTE, path, self.folder, allowed]
        _run(command, self.folder)
        return nbformat.read(path, 4)


def _run(command: list, folder: Path, quiet: bool = False) -> str:
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "COURSE_", "VIRTUAL_ENV"))
    }
    environment |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    environment["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # its warning is old
    run = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE if quiet else None,
        text=True,
        encoding="utf-8",
    )
    if run.returncode:
        told = " ".join(one for one in map(str, command) if "\n" not in one)
        raise ProofError(f"`{told}` failed, see above.")
    return run.stdout or ""


def lesson(number: str):
    """A lesson as it is where the course is published."""
    return replace(read(chosen(lesson_paths(), [number])[0]), address=ADDRESS)


def try_student(place: Place) -> str:
    """Run a student's notebook with one answer; what was seen, in a line.

    Raises:
        ProofError: A cell raised what is not the course's, or the answer failed.
    """
    made = lesson(STUDENT)
    book = student(made)
    solved = {cell.id: cell.source for cell in solution(made).cells}
    for cell in book.cells:
        if cell.id == ANSWER:
            cell.source = solved[ANSWER]
    done = place.execute(f"{made.name}.ipynb", book, errors=True)
    raised = {
        cell.id: output.ename
        for cell in done.cells
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    }
    if alien := {name: one for name, one in raised.items() if one not in OURS}:
        raise ProofError(f"The student's notebook raised {alien}.")
    if f"{ANSWER}-check" in raised or len(raised) < 2:
        raise ProofError(f"The checks of the student's notebook are wrong: {raised}.")
    return f"{made.name}: {ANSWER} passes, {len(raised)} cells wait for an answer"


def prove(folder: Path, numbers: list[str]) -> None:
    """Make the place, and run everything in it.

    Raises:
        ProofError: Something does not hold.
    """
    place = Place(folder)
    place.make()
    before = place.packages()
    print(try_student(place), flush=True)
    after = place.packages()
    changed = {
        name: after.get(name) for name in before if after.get(name) != before[name]
    }
    if changed:
        raise ProofError(f"The course changed packages of Colab's: {changed}.")
    new = {name: after[name] for name in sorted(set(after) - set(before))}
    print(f"{len(before)} packages as before; new: {new}", flush=True)
    for number in numbers:
        start, made = time.monotonic(), lesson(number)
        place.execute(f"{made.name}.ipynb", solution(made), errors=False)
        print(f"{made.name}: {time.monotonic() - start:.0f} s, no error", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Run the proof; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.proofs.colab", description=__doc__.split("\n")[0]
    )
    parser.add_argument("lessons", nargs="*", default=[*SOLUTIONS])
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="what was made")
    options = parser.parse_args(arguments)
    try:
        if options.keep:
            options.keep.mkdir(parents=True)
            prove(options.keep.resolve(), options.lessons)
        else:
            with tempfile.TemporaryDirectory(prefix="colab-") as folder:
                prove(Path(folder), options.lessons)
    except (OSError, ProofError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
