"""A check raises wherever a program executes the notebook; only a person sees cards.

Each program runs with all that a kernel inherits from a Jupyter server, as it does when
it is started from within JupyterLab. A grader must give 0 points for no answer.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import person
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

from helpers.checks import progress
from helpers.student import presence
from tools.build.execute import Kernel

ROOT = Path(__file__).resolve().parent.parent
STUB = 'def row_means(x):\n    raise NotImplementedError("exercise 0.A")'
RIGHT = "def row_means(x):\n    return x.mean(-1)"
CHECK = 'from helpers.checks import borrow, check\n\ncheck("0.A", row_means)'
USE = "import torch\nprint(row_means(torch.ones(2, 3)))"
# A student who would like to be taken for a person while a grader looks.
FORGED = """import os
for name in ("NBGRADER_EXECUTION", "NBGRADER_VALIDATING", "CI"):
    os.environ.pop(name, None)
os.environ["JPY_SESSION_NAME"] = __vsc_ipynb_file__ = "/x.ipynb"
"""


def checked(name):
    """A check cell that is worth 2 points."""
    meta = {"grade": True, "grade_id": name, "locked": True, "points": 2}
    meta |= {"schema_version": 3, "solution": False, "task": False}
    return new_code_cell(CHECK, id=name, metadata={"nbgrader": meta})


def notebook():
    """Unanswered, unanswered and forged, answered."""
    cells = [STUB, checked("empty"), USE, FORGED, checked("forged"), RIGHT]
    cells += [checked("right"), USE]
    made = [new_code_cell(one) if isinstance(one, str) else one for one in cells]
    spec = {"name": "python3", "language": "python", "display_name": "Python 3"}
    return new_notebook(cells=made, metadata={"kernelspec": spec})


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The notebook in a folder of its own, in the environment of a Jupyter server."""
    file = tmp_path / "work" / "x.ipynb"
    file.parent.mkdir()
    nbformat.write(notebook(), file)
    for name in person.PROGRAMS:
        monkeypatch.delenv(name, raising=False)
    for name, value in person.environment(file).items():
        monkeypatch.setenv(name, value)
    bin_folder = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", bin_folder + os.pathsep + os.environ["PATH"])
    return file


def outcomes(executed):
    """Grade id -> the error of its cell, or what it printed or displayed."""
    found = {}
    for cell in executed.cells:
        if "nbgrader" in cell.metadata:
            [output] = cell.outputs
            found[cell.id] = output.get("ename") or output.get("text") or output.data
    return found


def fails_where_it_should(found):
    assert found["empty"] == found["forged"] == "NotAttempted"
    assert found["right"].startswith("✓ 0.A passed.")


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


# --- programs -------------------------------------------------------------------------


@pytest.mark.slow
def test_nbclient_and_so_papermill(path):
    """Papermill's client is nbclient's, with parameters in a cell of their own."""
    given = nbformat.read(path, 4)
    place = {"metadata": {"path": str(path.parent)}}
    NotebookClient(
        given, kernel_manager_class=Kernel, resources=place, allow_errors=True
    ).execute()
    fails_where_it_should(outcomes(given))
    assert given.cells[2].outputs[0].ename == "NotImplementedError"


@pytest.mark.slow
def test_nbconvert(path):
    options = ("--to", "notebook", "--execute", "--allow-errors", "--output", "y.ipynb")
    command = (sys.executable, "-m", "nbconvert", *options, path.name)
    done = run(*command, cwd=path.parent)
    assert done.returncode == 0, done.stderr
    fails_where_it_should(outcomes(nbformat.read(path.with_name("y.ipynb"), 4)))


@pytest.mark.slow
def test_nbval(path):
    """Its own plugin, without what this course adds to it."""
    pytest.importorskip("nbval")
    options = "-p no:cacheprovider --noconftest --nbval-lax --nbval-current-env".split()
    rooted = ("--rootdir", str(path.parent), "-c", os.devnull, "-rfEp")
    done = run(sys.executable, "-m", "pytest", *options, *rooted, path, cwd=path.parent)
    wrong = [
        number for number in range(8) if f"FAILED x.ipynb::Cell {number}" in done.stdout
    ]
    assert wrong == [1, 2, 4], done.stdout


@pytest.mark.slow
def test_nbgrader_validate(path):
    pytest.importorskip("nbgrader")
    done = run("nbgrader", "validate", path.name, cwd=path.parent)
    assert "VALIDATION FAILED ON 2 CELL(S)!" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("○ 0.A not attempted") == 2


@pytest.mark.slow
def test_nbgrader_autograde(path, tmp_path):
    """Also where a student's code wipes out that a grader is at work."""
    pytest.importorskip("nbgrader")
    course = tmp_path / "course"
    for place in ("source/x", "submitted/anna/x"):
        (course / place).mkdir(parents=True)
        shutil.copy(path, course / place)
    settings = f"c = get_config()\nc.CourseDirectory.root = {str(course)!r}\n"
    settings += "c.ClearSolutions.enforce_metadata = False\n"
    (course / "nbgrader_config.py").write_text(settings)
    for command in ("generate_assignment", "autograde"):
        done = run("nbgrader", command, "x", cwd=course)
        assert done.returncode == 0, done.stderr
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        grades = book.find_submission_notebook("x", "x", "anna").grades
        assert {one.name: one.score for one in grades} == {
            "empty": 0,
            "forged": 0,
            "right": 2,
        }


# --- a person -------------------------------------------------------------------------


@pytest.mark.slow
def test_run_all_goes_on_for_a_person_and_is_recorded(path):
    """Beside the notebook, although `make lab` never saw this folder."""
    given = notebook()
    given.cells[3].source = "blank = ...\nblank(3)"  # in place of what is forged
    given.cells.append(new_code_cell("1 / 0"))
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        person.run_all(given, path)
    found = outcomes(given)
    for name, words in (("empty", "○ not attempted"), ("right", "✓ passed")):
        assert words in found[name]["text/html"]
    assert found["right"]["text/plain"].startswith("✓ 0.A passed.")
    needs = [cell.outputs[0].data["text/plain"] for cell in given.cells[2:4]]
    assert needs[0] == "○ This cell needs your answer to 0.A, still to be written."
    assert needs[1].endswith("first: 'ellipsis' object is not callable.")
    assert given.cells[-2].outputs[0].text == "tensor([1., 1.])\n"
    assert progress.read(path.parent) == {"0.A": "passed"}


class Shell(SimpleNamespace):
    """As much of IPython's shell as is asked."""

    def __init__(self, metadata, **variables):
        super().__init__(metadata=metadata, user_ns=variables)

    def get_parent(self):
        return {"metadata": self.metadata}


class ColabShell(Shell):
    __module__ = "google.colab._shell"


CELL = {"cellId": "a"}
SESSION = {"JPY_SESSION_NAME": "/work/x.ipynb"}


@pytest.mark.parametrize(
    ("shell", "environment", "there"),
    [
        (Shell(CELL), SESSION, True),
        (Shell(CELL, __vsc_ipynb_file__="/x.ipynb"), {}, True),
        (ColabShell({"colab": {"cell_id": "a"}}), {}, True),
        (Shell(CELL), {}, False),  # a front end that we do not know
        (Shell({}), SESSION, False),  # nbclient, started in JupyterLab
        (Shell({}, __vsc_ipynb_file__="/x.ipynb"), {}, False),
        (ColabShell({}), {}, False),
        (SimpleNamespace(user_ns={}), SESSION, False),  # IPython in a terminal
        (None, SESSION, False),
        (Shell(CELL), SESSION | {"NBGRADER_EXECUTION": "autograde"}, False),
        (Shell(CELL), SESSION | {"NBGRADER_EXECUTION": ""}, False),
        (Shell(CELL), SESSION | {"NBGRADER_VALIDATING": "1"}, False),
        (Shell(CELL), SESSION | {"CI": "true"}, False),
        (Shell(CELL), SESSION | {"CI": "false"}, True),
        (Shell(CELL), SESSION | {"COURSE_PROGRESS": "off"}, False),
    ],
)
def test_who_is_taken_for_a_person(monkeypatch, shell, environment, there):
    for name in (*person.PROGRAMS, *SESSION):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(presence, "notebook_shell", lambda: shell)
    assert presence.person_present() is there


def test_the_notebook_s_folder_is_where_the_front_end_says(monkeypatch, tmp_path):
    for name in person.PROGRAMS:
        monkeypatch.delenv(name, raising=False)
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("JPY_SESSION_NAME", str(there / "x.ipynb"))
    monkeypatch.setattr(presence, "notebook_shell", lambda: Shell({}))
    assert presence.notebook_folder() == here  # executed from within another notebook
    monkeypatch.setattr(presence, "notebook_shell", lambda: Shell(CELL))
    assert presence.notebook_folder() == there
    for odd in ("x.ipynb", str(tmp_path / "gone" / "x.ipynb"), "console-1"):
        monkeypatch.setenv("JPY_SESSION_NAME", odd)
        assert presence.notebook_folder() == here
