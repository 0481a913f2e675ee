"""Untouched student notebooks run to their end; one exercise filled in, one passes.

Each notebook has one kernel. First every cell runs as a student finds it: only our own
sentence and failed checks may be raised. Then exercise by exercise: its solution's cell
runs, all check cells run, just that one passes, and the stub is put back. Last, every
exercise is borrowed, and no cell stops (in lessons that train: by `make students`).
"""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from helpers.checks import exercises
from tools.build.execute import client, quiet_environment
from tools.build.notebooks import checked_exercise

ROOT = Path(__file__).resolve().parent.parent
BORROW = "from helpers.checks import borrow"
# The cells that train are the same in the solutions, where nbval runs them in full and
# compares what they print. Here they take a few steps and are tried on a few examples:
# enough to meet a name or a shape that an untouched notebook does not have.
# `make students` lets them train to the end.
TRAINING = ("06", "07", "08", "09", "10", "12")
IN_FULL = "COURSE_DEEP" in os.environ
BRIEFLY = """
import functools, inspect, sys
from helpers.experiments import character_models, recall
from helpers.generation import beam, decoding
from helpers.reading import fine_tuning, reviews, small_trials
from helpers.training import loop

def briefly(function, name, few):
    signature = inspect.signature(function)

    @functools.wraps(function)
    def run(*args, **options):
        call = signature.bind(*args, **options)
        call.arguments[name] = few(call.arguments[name])
        return function(*call.args, **call.kwargs)

    for module in list(sys.modules.values()):
        for key, value in list(getattr(module, "__dict__", {}).items()):
            if value is function:
                setattr(module, key, run)

for train in (loop.train, loop.repeat):
    briefly(train, "steps", lambda steps: min(steps, 3))
for train in (character_models.train_on_characters, recall.train_to_recall):
    briefly(train, "steps", lambda steps: min(steps, 3))
for search in (decoding.greedy_decode, beam.beam_search):
    briefly(search, "max_new_tokens", lambda count: min(count, 3))
for read in (fine_tuning.fine_tune, small_trials.below):
    briefly(read, "rows", lambda rows: rows[:16])
"""
OURS = re.compile(r"exercise \d+\.[A-Z]")

pytestmark = [
    pytest.mark.notebooks,
    pytest.mark.filterwarnings("ignore"),  # those of jupyter's own parts
]


class Session:
    """A student's notebook in a kernel of its own, and the solution beside it."""

    def __init__(self, name, runner):
        self.name, self.runner = name, runner
        self.cells = runner.nb.cells
        solved = nbformat.read(ROOT / "solutions" / f"{name}.ipynb", 4)
        self.solutions = {cell.id: cell for cell in solved.cells}
        self.checks = {
            number: place
            for place, cell in enumerate(self.cells)
            if cell.cell_type == "code" and (number := checked_exercise(cell.source))
        }
        self.untouched = {}  # place -> what the first run of the cell gave

    def run(self, place, source=None):
        """Run a cell, or other source in its place.

        Returns:
            (error name and message or None, text of stdout, text of stderr)
        """
        kept = self.cells[place]
        cell = nbformat.from_dict(dict(kept))
        cell.source = kept.source if source is None else source
        error = None
        try:
            self.runner.execute_cell(cell, place)
        except CellExecutionError as caught:  # any error, also one without a message
            error = caught.ename, caught.evalue
        self.cells[place] = kept
        said = {"stdout": "", "stderr": ""}
        for output in cell.outputs:
            if output.output_type == "stream":
                said[output.name] += output.text
        return error, said["stdout"], said["stderr"]

    def unfinished(self, place, error):
        """Whether a cell only misses what full training gives, as in the solution."""
        cell = self.cells[place]
        if cell.id.endswith("-end") and error[0] == "NameError":  # folded off the cell
            begun = self.untouched[place - 1][0]  # before, which may have missed it
            return begun is not None and self.unfinished(place - 1, begun)
        shared = cell.id in self.solutions
        shared = shared and self.solutions[cell.id].source == cell.source
        missed = ("AssertionError", ""), ("StopIteration", "")  # no good answer found
        return not IN_FULL and self.name[:2] in TRAINING and shared and error in missed

    def place_of(self, number):
        """Where the cell of an exercise's answer stands."""
        name = "ex-" + number.replace(".", "-")
        return next(place for place, cell in enumerate(self.cells) if cell.id == name)


def notebooks():
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        marks = [
            pytest.mark.lesson(path.name[:2]),
            pytest.mark.xdist_group(path.stem),  # one worker, one kernel
        ]
        yield pytest.param(path, id=path.stem, marks=marks)


each_notebook = pytest.mark.parametrize("session", list(notebooks()), indirect=True)


@pytest.fixture(scope="module")
def session(request):
    path = request.param
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    runner = client(notebook, path.parent, ROOT)
    with runner.setup_kernel(env=quiet_environment(ROOT)):
        session = Session(path.stem, runner)
        if not IN_FULL and path.stem[:2] in TRAINING:
            runner.execute_cell(nbformat.v4.new_code_cell(BRIEFLY), 0)
        for place, cell in enumerate(session.cells):
            if cell.cell_type == "code":
                session.untouched[place] = session.run(place)
        yield session


@each_notebook
def test_an_untouched_notebook_runs_to_its_end(session):
    problems = []
    for place, (error, _, stderr) in session.untouched.items():
        name = f"cell {place} ({session.cells[place].id})"
        if stderr:
            problems.append(f"{name} writes to stderr: {stderr}")
        checks = place in session.checks.values()
        if error and not (allowed(*error, checks) or session.unfinished(place, error)):
            problems.append(f"{name} raises {error[0]}: {error[1]}")
    for number, place in session.checks.items():
        error = session.untouched[place][0]
        if error is None or error[0] != "NotAttempted":
            problems.append(f"the check of {number} found {error}")
    assert not problems, "\n".join(problems)


def allowed(name, message, checks):
    """Whether it is a failed check, or in another cell the sentence of a stub.

    In place of these a person gets a card or a line, and Run all goes on.
    """
    if checks:
        return name in ("CheckFailed", "NotAttempted")
    # torch has NotImplementedErrors of its own
    return name == "NotImplementedError" and OURS.fullmatch(message)


@each_notebook
def test_one_exercise_filled_in_is_the_only_one_that_passes(session):
    for number in session.checks:
        place = session.place_of(number)
        solution = session.solutions[session.cells[place].id].source
        error, _, _ = session.run(place, solution)
        assert error is None, f"the solution of {number}: {error}"
        assert passing(session) == {number}
        session.run(place)  # the stub again
    assert passing(session) == set()


@each_notebook
def test_with_every_exercise_borrowed_a_notebook_runs_to_its_end(session):
    if session.name[:2] in TRAINING and not IN_FULL:
        pytest.skip("It trains, and the other tests have run it: `make students`.")
    kinds = {exercise.id: exercise.kind for exercise in exercises()}
    names = {exercise.id: ", ".join(exercise.names) for exercise in exercises()}
    lent = {
        session.place_of(number): f'{names[number]} = borrow("{number}")'
        for number in session.checks
        if kinds[number] != "value"  # a number or a word can't be borrowed
    }
    problems = []
    for place, cell in enumerate(session.cells):
        if cell.cell_type != "code":
            continue
        answer = lent.get(place)
        error, _, stderr = session.run(place, answer and f"{BORROW}\n{answer}")
        checked = checked_exercise(cell.source)
        if error and kinds.get(checked) == "value" and error[0] == "NotAttempted":
            continue
        if (error and not session.unfinished(place, error)) or stderr:
            problems.append(f"cell {place} ({cell.id}): {error}, {stderr}")
    assert not problems, "\n".join(problems)


def passing(session):
    """The exercises whose checks pass; one that passes is loud on stdout alone."""
    passed = set()
    for number, place in session.checks.items():
        error, stdout, stderr = session.run(place)
        assert stderr == "", f"the check of {number} writes to stderr: {stderr}"
        if error is None:
            assert stdout.startswith(f"✓ {number} passed. Shown: "), stdout
            passed.add(number)
    return passed


def test_every_exercise_with_a_check_is_in_a_notebook():
    found = set()
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = nbformat.read(path, nbformat.NO_CONVERT).cells
        found |= {checked_exercise(c.source) for c in cells if c.cell_type == "code"}
    wanted = {exercise.id for exercise in exercises() if exercise.answers}
    assert wanted <= found
