"""Notebooks of the first edition, which students still have in work/, go on working.

Every import of theirs runs, every name they use exists, every call fits its signature.
`make deep` also executes all of them.
"""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
import torch

from helpers import first_edition
from helpers.checks import progress, standing
from helpers.checks.engine import borrow, check, exercises, find, judge
from helpers.checks.report import NoLongerSet
from helpers.figures import recurrent
from tests.first_edition import pack
from tools.build.execute import execute
from tools.build.notebooks import check_call
from tools.grading import restore

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = pack.notebooks()
each_notebook = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.lesson(Path(path).stem[:2]))
        for path in NOTEBOOKS
    ],
)


def cells(path):
    """The code cells of a notebook."""
    return nbformat.reads(NOTEBOOKS[path], nbformat.NO_CONVERT).cells


class Uses:
    """What a notebook's code does with names that it imports from helpers."""

    def __init__(self, path):
        self.tree = ast.parse("\n".join(cell.source for cell in cells(path)))
        self.imported = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                exec(ast.unparse(node), self.imported)  # each import statement runs

    def chains(self):
        """Each `a.b.c` whose `a` is imported: the node, and what `a` is, and `b.c`."""
        for node, other in scopes(self.tree):
            names, inner = [], node
            while isinstance(inner, ast.Attribute):
                names.insert(0, inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name) and inner.id not in other:
                if ours(thing := self.imported.get(inner.id)):
                    yield node, thing, names

    def calls(self):
        """Each call of a function or class of helpers: the node and the thing."""
        found = {id(node): follow(thing, names) for node, thing, names in self.chains()}
        for node in ast.walk(self.tree):
            thing = found.get(id(node.func)) if isinstance(node, ast.Call) else None
            if callable(thing):
                yield node, thing


@lru_cache
def uses(path):
    return Uses(path)


def scopes(node, other=frozenset()):
    """Each node, with the names that stand for something else than an import there."""
    if isinstance(node, SCOPES):
        other = other | set(defined(node))
    yield node, other
    for child in ast.iter_child_nodes(node):
        yield from scopes(child, other)


SCOPES = ast.Module | ast.FunctionDef | ast.ClassDef | ast.Lambda


def defined(scope):
    """The names that a scope gives to arguments, variables, functions and classes."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if not isinstance(node, SCOPES):
            yield from defined(node)


def ours(thing):
    """Whether it is a module of helpers, or defined in one."""
    if isinstance(thing, ModuleType):
        return thing.__name__.split(".")[0] == "helpers"
    return str(getattr(thing, "__module__", "")).split(".")[0] == "helpers"


def follow(thing, names):
    """What `thing.a.b` is, as far as modules and classes go."""
    for name in names:
        if not isinstance(thing, ModuleType | type):
            return None  # an object's attributes are known only when the code runs
        thing = getattr(thing, name)
    return thing


def fits(call, thing):
    """What is wrong with a call's arguments; None where the signature takes them."""
    open_end = any(isinstance(one, ast.Starred) for one in call.args)
    open_end |= any(one.arg is None for one in call.keywords)
    signature = inspect.signature(thing)
    bind = signature.bind_partial if open_end else signature.bind
    given = [one for one in call.args if not isinstance(one, ast.Starred)]
    try:
        bind(*given, **{one.arg: one.value for one in call.keywords if one.arg})
    except TypeError as error:
        return f"{ast.unparse(call)}: {error}"
    return None


@each_notebook
def test_names_that_an_old_notebook_uses_exist(path):
    missing = []
    for node, thing, names in uses(path).chains():
        try:
            follow(thing, names)
        except AttributeError as error:
            missing.append(f"{ast.unparse(node)}: {error}")
    assert not missing, "\n".join(missing)


@each_notebook
def test_calls_of_an_old_notebook_fit(path):
    problems = [fits(call, thing) for call, thing in uses(path).calls()]
    assert not any(problems), "\n".join(filter(None, problems))
    assert len(problems) > 1  # it has looked at something


# --- the table of old names -----------------------------------------------------------


@pytest.mark.parametrize("old, new", first_edition.MODULES.items())
def test_a_module_that_moved_is_imported_by_its_old_name(old, new):
    module = import_module(old)
    if old in first_edition.NAMES:  # a namespace: it gives what the new module has
        names = vars(import_module(new)).keys() - {"__file__"}
        assert all(hasattr(module, name) for name in names)
    else:
        assert module is import_module(new)
        assert module.__spec__.name == new
    parent, _, name = old.rpartition(".")
    assert getattr(import_module(parent), name) is module  # from helpers import name


@pytest.mark.parametrize("module", first_edition.NAMES)
def test_a_name_that_moved_is_found_in_its_old_module(module):
    for old, new in first_edition.NAMES[module].items():
        home, _, name = new.rpartition(".")
        thing = getattr(import_module(module), old)
        assert thing is getattr(import_module(home), name)


@pytest.mark.parametrize("name", ["helpers.nothing", "helpers.checks.attention"])
def test_other_names_are_as_unknown_as_ever(name):
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{name}'"):
        import_module(name)


@pytest.mark.parametrize("module", first_edition.NAMES)
def test_an_unknown_name_of_a_module_says_so(module):
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        assert import_module(module).nothing


def test_nothing_is_imported_before_it_is_asked_for():
    code = (
        "import sys, helpers\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
        "import helpers.training\n"
        "assert 'matplotlib' not in sys.modules\n"
        "assert 'helpers.corpora' not in sys.modules\n"
        "helpers.training.loss_curve, helpers.training.pair_batches\n"
        "assert 'matplotlib' in sys.modules and 'helpers.corpora' in sys.modules\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == run.stderr == ""  # no warning in a student's notebook


# --- numbers of exercises -------------------------------------------------------------


# What the first edition did not have, beside lesson 12.
NEWER = {"4.A", "6.G", "8.C", "10.G", "11.N", "11.P"}


def test_each_exercise_has_one_number_of_the_first_edition_or_is_newer():
    meant = sorted(first_edition.EXERCISES.values())
    set_today = {one.id for one in exercises()}
    newer = NEWER | {one for one in set_today if one.startswith("12.")}
    assert meant == sorted(set_today - newer | first_edition.GONE)
    assert not set_today & first_edition.GONE
    assert not set(first_edition.EXERCISES) & set(first_edition.EXERCISES.values())


@each_notebook
def test_an_old_check_asks_for_what_its_exercise_asks_for_now(path):
    calls = [check_call(cell.source) for cell in cells(path)]
    asked = [call for call in calls if call]
    assert asked or Path(path).name.startswith("00")
    for number, names in asked:
        if first_edition.exercise(number) not in first_edition.GONE:
            assert names == find(number).names


@pytest.mark.lesson(7)
@pytest.mark.parametrize("number", ["7.1", "7.P", "7.p", "7.5b"])
def test_a_check_of_an_exercise_that_is_gone_says_so_and_lets_run_on(number, capsys):
    check(number, lambda x: x)
    said = f"Exercise {number} is no longer part of lesson 07, so nothing was checked."
    assert capsys.readouterr().out.startswith(said)
    with pytest.raises(NoLongerSet, match="no longer part of lesson 07"):
        borrow(number)


@pytest.mark.lesson(7)
def test_what_was_passed_of_an_exercise_that_is_gone_stays_recorded(tmp_path):
    (tmp_path / progress.NAME).write_text('{"7.1": "passed", "7.4": "passed"}')
    done = progress.read(tmp_path)
    assert done == {"7.P": "passed", "7.A": "passed"}
    assert standing.of_lesson(7, done).passed == {"7.A"}  # the sum is of what is set


@pytest.mark.parametrize(
    "old, new",
    [
        ("ex-2-3-check", "ex-2-F-check"),
        ("ex-2-3b", "ex-2-G"),
        ("ex-7-10b-task", "ex-7-N-task"),
        ("ex-2-F-check", "ex-2-F-check"),
        ("ex-2-99", "ex-2-99"),
        ("given-1", "given-1"),
        ("1-2-3", "1-2-3"),
        ("", ""),
    ],
)
def test_the_name_of_a_cell(old, new):
    assert first_edition.cell(old) == new


@pytest.mark.parametrize("number", ["2.3", "2.F", "2.f"])
def test_an_exercise_is_found_by_each_way_to_write_its_number(number):
    assert find(number).id == "2.F"


@pytest.mark.lesson(2)
@pytest.mark.parametrize("number", ["2.5", "2.D"])
def test_an_old_stub_counts_as_not_attempted(number):
    def looks_healthy(attend):
        raise NotImplementedError(f"exercise {number}")

    assert judge("2.5", looks_healthy).outcome == "not attempted"


@pytest.mark.lesson(2)
@pytest.mark.parametrize("lost", [{}, {"id": ""}, {"metadata": {}}])
def test_an_old_submission_is_restored_cell_by_cell(lost):
    old = nbformat.reads(NOTEBOOKS["notebooks/02_attention.ipynb"], 4)
    answer = next(cell for cell in old.cells if cell.id == "ex-2-3")
    answer.source = "def softmax_jacobian(z):\n    return 'mine'"
    released = nbformat.read(ROOT / "notebooks" / "02_attention.ipynb", 4)
    for cell in old.cells:
        cell.update(lost)
    whole, notes = restore.restore(restore.parse(json.dumps(old).encode()), released)
    named = {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in whole.cells
        if "nbgrader" in cell.metadata
    }
    assert named["ex-2-F"] == answer.source
    assert named["ex-2-F-check"] == 'check("2.F", softmax_jacobian)'
    assert not [note for note in notes if "edited" in note or "twice" in note], notes


@pytest.mark.lesson(2)
def test_an_old_check_without_any_name_is_known_by_what_it_asks_for():
    old = nbformat.reads(NOTEBOOKS["notebooks/02_attention.ipynb"], 4)
    for cell in old.cells:
        cell.update({"id": "", "metadata": {}})
    released = nbformat.read(ROOT / "notebooks" / "02_attention.ipynb", 4)
    _, notes = restore.restore(restore.parse(json.dumps(old).encode()), released)
    assert "ex-2-F is missing" in notes  # no name, and no check: it stays as it is
    assert not [note for note in notes if "ex-2-F-check" in note], notes


def test_a_figure_takes_what_an_old_notebook_gives_it():
    norms = torch.tensor([1.0, 0.5, 0.1])
    old = recurrent.influences({"RNN, by $h_0$": (norms, {"color": "red"})})
    now = recurrent.influences({("rnn", "h"): norms})
    for figure in (old, now):
        line = figure.axes[0].lines[0]
        assert line.get_label() == "RNN, by $h_0$"
        assert line.get_ydata() == pytest.approx(norms.numpy())


# --- the notebooks themselves ---------------------------------------------------------


def test_the_archive_holds_what_the_commit_holds():
    try:
        committed = pack.packed()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("This clone does not reach back to the first edition.")
    assert NOTEBOOKS == committed


@pytest.mark.notebooks
@pytest.mark.skipif("COURSE_DEEP" not in os.environ, reason="COURSE_DEEP=1 runs it")
@pytest.mark.filterwarnings("ignore")  # those of jupyter's own parts
@each_notebook
def test_an_old_notebook_runs_to_its_end(path, tmp_path):
    """A solution raises nothing; a student's notebook what its stubs and checks do."""
    notebook = nbformat.reads(NOTEBOOKS[path], nbformat.NO_CONVERT)
    execute(notebook, tmp_path, ROOT, allow_errors=True)
    problems = []
    for cell in notebook.cells:
        expected = "raises-exception" in cell.metadata.get("tags", ())
        for output in cell.outputs:
            stderr = output.output_type == "stream" and output.name == "stderr"
            error = output.output_type == "error" and not expected
            if error and path.startswith("notebooks/"):
                error = not allowed(output.ename, output.evalue)
            if error and cell.id in ASKS_MORE:
                error = ASKS_MORE[cell.id] not in output.evalue
            if stderr or error:
                problems.append(f"{cell.id}: {output.get('evalue') or output}")
    assert not problems, "\n".join(problems)


# Exercises that ask for more than they did: what is said of the old answer.
ASKS_MORE = {
    "ex-5-1-check": "The layer takes no `activation` between dropout and norm_first.",
    "ex-5-2-check": "`activation` stands there between dropout and norm_first.",
}


def allowed(name, message):
    """Whether it is a failed check, or the sentence of a stub."""
    if name == "NotImplementedError":  # torch has one of its own
        return re.fullmatch(r"exercise \d+\.\w+", message)
    return name in ("CheckFailed", "NotAttempted")


def test_an_old_name_is_found_before_torch_is_there():
    code = "import helpers.characters as old; print(old.Characters.__name__)"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert (run.stdout, run.stderr) == ("Characters\n", "")
