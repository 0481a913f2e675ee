"""A broken notebook turns the nbval run red: one tiny notebook per way to break.

nbval 0.11 alone lets most of these pass. All of them run in one pytest process.
"""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent

# one worker runs them all, so that the notebooks are executed once
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("nbval_guard")]

UNDRAWABLE = """
class Undrawable(Exception):
    def _render_traceback_(self):
        raise RuntimeError("cannot be drawn")

raise Undrawable("hidden")
"""

# name: (code, tags, stored output, words of the complaint)
BROKEN = {
    "bad_magic": ("%nosuchmagic", [], None, "replied 'error'"),
    "exception_group": (
        "raise ExceptionGroup('two', [ValueError(1), KeyError(2)])",
        [],
        None,
        "replied 'error'",
    ),
    "undrawable_error": (UNDRAWABLE, [], None, "replied 'error'"),
    "no_exception": ("1 + 1", ["raises-exception"], None, "did not raise"),
    "changed_output": ("print(2)", ["nbval-check-output"], "3\n", "outputs differ"),
    "plain_error": ("1 / 0", [], None, "caused an exception"),
    "dead_kernel": ("import os; os._exit(1)", [], None, "kernel died"),
}
GOOD = {
    "as_stored": ("print(3)", ["nbval-check-output"], "3\n"),
    "as_stored_but_for_the_address": (
        "print(object())",
        ["nbval-check-output"],
        "<object object at 0x7f00>\n",
    ),
    "unchecked_output": ("print(2)", [], "3\n"),
    "expected_exception": ("1 / 0", ["raises-exception"], None),
    "offline_and_alone": (
        "import os\n"
        "assert os.environ['HF_HUB_OFFLINE'] == os.environ['OMP_NUM_THREADS'] == '1'\n"
        "assert os.environ['COURSE_PROGRESS'] == 'off'\n"
        "assert 'inline' in os.environ['MPLBACKEND']\n"
        "from ipykernel import get_connection_info\n"
        "assert get_connection_info(unpack=True)['transport'] == 'ipc'\n"
        "import helpers",
        [],
        None,
    ),
}


def notebook(code, tags=(), output=None, count=1):
    """Return a notebook of one cell, then one that fails unless it is skipped."""
    outputs = [nbformat.v4.new_output("stream", text=output)] if output else []
    cell = nbformat.v4.new_code_cell(
        code, outputs=outputs, execution_count=count, metadata={"tags": list(tags)}
    )
    after = nbformat.v4.new_code_cell("print('after')", execution_count=2)
    return nbformat.v4.new_notebook(cells=[cell, after])


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """Run every notebook once; return {(notebook, cell): (outcome, message)}."""
    folder = tmp_path_factory.mktemp("notebooks")
    cases = {name: case[:3] for name, case in (BROKEN | GOOD).items()}
    books = {name: notebook(*case) for name, case in cases.items()}
    books["never_executed"] = notebook("1", ["nbval-check-output"], count=None)
    for name, book in books.items():
        nbformat.write(book, folder / f"{name}.ipynb")
    return run_nbval(folder)


def run_nbval(folder):
    """Run nbval on a folder as `make solutions` does and read what became of cells."""
    options = ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout=60"]
    options += [f"--nbval-sanitize-with={ROOT / 'tests' / 'sanitize.cfg'}"]
    options += ["-p", "conftest", "-p", "no:cacheprovider", "-p", "no:xdist"]
    config = ["-c", str(ROOT / "pyproject.toml"), f"--rootdir={folder}"]
    report = folder / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        *config,
        *options,
        f"--junitxml={report}",
    ]
    environment = os.environ | {"COURSE_LESSON": ""}
    run = subprocess.run(
        [*command, str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert report.exists(), run.stdout + run.stderr
    return {
        (case.get("classname").removesuffix(".ipynb"), case.get("name")): verdict(case)
        for case in ElementTree.parse(report).iter("testcase")
    }


def verdict(case):
    """Return (outcome, message) of one test case in pytest's report."""
    for child in case:
        if child.tag in ("failure", "error", "skipped"):
            return child.tag, f"{child.get('message')} {child.text}"
    return "passed", ""


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_cell_is_red(verdicts, name):
    outcome, message = verdicts[name, "Cell 0"]
    assert outcome == "failure", f"{name}: {outcome}"
    assert BROKEN[name][-1] in message


def test_a_compared_cell_that_was_never_executed_is_red(verdicts):
    outcome, message = verdicts["never_executed", "Cell 0"]
    assert outcome == "failure"
    assert "never executed" in message


@pytest.mark.parametrize("name", BROKEN)
def test_cells_after_a_failure_are_skipped(verdicts, name):
    outcome, message = verdicts[name, "Cell 1"]
    assert outcome == "skipped"
    assert "Cell 0 of this notebook failed" in message


@pytest.mark.parametrize("name", GOOD)
def test_a_good_notebook_is_green(verdicts, name):
    assert verdicts[name, "Cell 0"] == verdicts[name, "Cell 1"] == ("passed", "")
