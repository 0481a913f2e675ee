"""The build is deterministic, complete, and red for everything that must not pass."""

import ast
import gc
import hashlib
import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from string import ascii_uppercase

import nbformat
import pytest

from helpers.checks import report
from helpers.checks.exercise import Answer, Exercise
from helpers.first_edition import GONE
from tools.build import __main__ as build
from tools.build import folds, links, notebooks, stubs
from tools.build.execute import execute
from tools.build.lesson_cells import run_cell
from tools.build.notebooks import lesson_paths, read, solution, student

ROOT = Path(__file__).resolve().parent.parent


def exercise(number, kind="function", *names, **more):
    answers = tuple(Answer(name, abs) for name in names)
    return Exercise(number, "Title", kind, 2, 5, answers=answers, **more)


EXERCISES = (
    exercise("7.A", "function", "double", points=2, core=True),
    exercise("7.B", "class", "Layer", points=1),
    exercise("7.C", "value", "first", "second"),
    exercise("7.D", "written", points=3),
    exercise("7.F", "open"),
)

LESSON = '''\
# %% [markdown] slide="slide"
# # 07 Tiny
#
# A lesson for tests.

# %%
from torch import nn

from helpers.checks import check

# %% [markdown] exercise="7.A"
# Double it.

# %% exercise="7.A"
def double(x):
    """Twice x."""
    given = x + 0
    ### BEGIN SOLUTION
    #: result = ...  # twice x
    result = 2 * given
    return result
    ### END SOLUTION


# %%
check("7.A", double)

# %% tags=["nbval-check-output"] slide="fragment"
print("same")

# %%
print("same again")

# %%
print("same again")

# %% [markdown] exercise="7.B"
# A layer.

# %% exercise="7.B"
class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        ### BEGIN SOLUTION
        self.W = nn.Linear(width, width)
        self.a, self.b = 1, 2
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        return self.W(x) + self.a
        ### END SOLUTION

    def given(self):
        return self.b


# %%
check("7.B", Layer)

# %% [markdown] exercise="7.C"
# Two numbers.

# %% locked=true
evidence = "a bug to be hunted"

# %% exercise="7.C"
### BEGIN SOLUTION
first = 5**0.5
second: int = (
    2
)
### END SOLUTION

# %%
check("7.C", first, second)

# %% [markdown] exercise="7.D"
# Why?

# %% [markdown] answer="7.D"
# ### BEGIN SOLUTION
# Because of reasons that a student should find.
# ### END SOLUTION

# %% [markdown] exercise="7.F"
# Measure it.
'''


def pretend(notebook, folder, root, **more):
    """In place of executing: number the code cells and print into each."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        cell.execution_count = number
        cell.outputs = [nbformat.v4.new_output("stream", text="out\n", name="stdout")]
    return notebook


class Course:
    """A folder with one small lesson, and the build on it."""

    def __init__(self, root):
        self.root = root
        self.lesson = root / "lessons" / "07_tiny.py"
        self.given = root / "notebooks" / "07_tiny.ipynb"
        self.solved = root / "solutions" / "07_tiny.ipynb"
        self.lesson.parent.mkdir()
        self.lesson.write_text(LESSON, "utf-8")

    def run(self, *arguments):
        """Build or check; returns (exit status, what was said)."""
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            status = build.main(list(arguments), self.root)
        return status, said.getvalue()

    def edit(self, old, new, count=1):
        text = self.lesson.read_text("utf-8")
        assert old in text
        self.lesson.write_text(text.replace(old, new, count), "utf-8")


@pytest.fixture
def course(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "exercises", lambda: EXERCISES)
    monkeypatch.setattr(build, "execute", pretend)
    return Course(tmp_path)


@pytest.fixture
def built(course):
    assert course.run() == (0, "07_tiny: built and executed in 0 s\n")
    return course


def cell_of(path, name):
    """(the notebook, its cell with this id)."""
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    return notebook, next(cell for cell in notebook.cells if cell.id == name)


# --- what is built --------------------------------------------------------------------


def test_what_was_built_is_up_to_date(built):
    assert built.run("--check") == (
        0,
        "Up to date: 07_tiny.\n",
    )


def test_the_same_lesson_gives_the_same_bytes(built):
    before = built.given.read_bytes(), built.solved.read_bytes()
    for path in (built.given, built.solved):
        path.unlink()
    built.run()
    assert (built.given.read_bytes(), built.solved.read_bytes()) == before


REAL = """\
# %% [markdown] slide="slide"
# Text.

# %% tags=["nbval-check-output", "optional"]
"a" + "b"

# %%
import torch

from helpers.checks import check

# %% [markdown] exercise="0.A"
# Task.

# %% exercise="0.A"
def row_means(x):
    ### BEGIN SOLUTION
    return x.mean(-1)
    ### END SOLUTION

# %%
check("0.A", row_means)

# %% [markdown] exercise="0.B"
# Task.

# %% exercise="0.B"
def pad_rows(x, length):
    ### BEGIN SOLUTION
    return torch.cat([x, x.new_zeros(length - len(x), x.shape[1])])
    ### END SOLUTION

# %%
check("0.B", pad_rows)
"""
DIGEST = """
import hashlib, sys
from pathlib import Path
from string import ascii_uppercase
from tools.build.__main__ import text_of
from tools.build.notebooks import read, solution, student
lesson = read(Path(sys.argv[1]))
text = text_of(student(lesson)) + text_of(solution(lesson))
print(hashlib.sha256(text.encode()).hexdigest())
"""


@pytest.mark.slow
def test_another_process_with_another_hash_seed_gives_the_same_bytes(tmp_path):
    path = tmp_path / "00_real.py"
    path.write_text(REAL, "utf-8")
    lesson = read(path)
    text = build.text_of(student(lesson)) + build.text_of(solution(lesson))
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    other = subprocess.run(
        [sys.executable, "-c", DIGEST, str(path)],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == hashlib.sha256(text.encode()).hexdigest()


FUNCTION_STUB = '''\
def double(x):
    """Twice x."""
    given = x + 0
    result = ...  # twice x
    raise NotImplementedError("exercise 7.A")'''
CLASS_STUB = """\
class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.W = ...
        self.a = ...
        self.b = ...

    def forward(self, x):
        raise NotImplementedError("exercise 7.B")

    def given(self):
        return self.b"""


def test_stubs_are_what_is_left(built):
    for name, source in (
        ("ex-7-A", FUNCTION_STUB),
        ("ex-7-B", CLASS_STUB),
        ("ex-7-C", "first = ...\nsecond = ..."),
        ("ex-7-D", "*Write your answer here: double-click this cell.*"),
    ):
        assert cell_of(built.given, name)[1].source == source


def test_a_stub_imports_and_says_our_sentence(built):
    names = {}
    for name in ("ex-7-A", "ex-7-B", "ex-7-C"):
        run_cell("from torch import nn", names)
        run_cell(cell_of(built.given, name)[1].source, names)
    with pytest.raises(NotImplementedError, match="^exercise 7.A$"):
        names["double"](3)
    with pytest.raises(NotImplementedError, match="^exercise 7.B$"):
        names["Layer"](3).forward(1)
    assert names["first"] is names["second"] is ...


SOLVED = '''\
def double(x):
    """Twice x."""
    given = x + 0
    result = 2 * given
    return result'''


def test_the_solution_has_all_the_code_and_no_markers(built):
    assert cell_of(built.solved, "ex-7-A")[1].source == SOLVED
    assert "Because of reasons" in cell_of(built.solved, "ex-7-D")[1].source
    for path in (built.given, built.solved):
        text = path.read_text("utf-8")
        assert "SOLUTION" not in text and "#: " not in text


BOX = """\
<a id="ex-7-A"></a>

### ★ Exercise 7.A: Title

*function · core path · difficulty 2 of 5 · about 6 minutes · 2 points* · \
[7.B →](#ex-7-B)

Double it."""


def test_the_box_is_printed_from_what_the_checks_know(built):
    assert cell_of(built.given, "ex-7-A-task")[1].source == BOX
    other = cell_of(built.given, "ex-7-B-task")[1].source
    assert "★" not in other and "· more ·" in other and other.count("1 point*") == 1


def test_a_check_cell_is_the_check_and_nothing_else(built):
    source = cell_of(built.given, "ex-7-C-check")[1].source
    assert source == 'check("7.C", first, second)'
    assert notebooks.check_call(source) == ("7.C", ("first", "second"))
    first_edition = f"{notebooks.IMPORT}\n\n{source}"
    assert notebooks.check_call(first_edition) == ("7.C", ("first", "second"))


@pytest.fixture(scope="module")
def books():
    """The student's notebooks of all lessons, built from what stands there now."""
    return {path.stem: student(read(path)) for path in lesson_paths()}


# --- links and folds ------------------------------------------------------------------


def test_exercises_are_linked_in_their_order_and_apart_in_both_notebooks(built):
    given, solved = (
        cell_of(path, "ex-7-B-task")[1].source for path in (built.given, built.solved)
    )
    assert given.startswith('<a id="ex-7-B"></a>\n\n### Exercise 7.B')
    assert "· [← 7.A](#ex-7-A) · [7.C →](#ex-7-C)\n" in given
    assert given.replace("ex-7", "solved-7") == solved
    last = cell_of(built.given, "ex-7-F-task")[1].source
    assert "[← 7.D](#ex-7-D)" in last and "→" not in last


def test_a_slide_has_no_links_between_exercises(built):
    source = cell_of(built.solved, "ex-7-B-task")[1].source
    assert links.unlinked(source) == (
        "### Exercise 7.B: Title\n\n*class · more · difficulty 2 of 5 "
        "· about 7 minutes · 1 point*\n\nA layer."
    )


def test_papers_are_linked_also_over_the_end_of_a_line():
    text = "the paper (arXiv 1706.03762), and (arXiv\n1508.04025)."
    assert links.papers(text) == (
        "the paper ([arXiv 1706.03762](https://arxiv.org/abs/1706.03762)), and "
        "([arXiv 1508.04025](https://arxiv.org/abs/1508.04025))."
    )


def test_every_paper_of_the_lessons_is_linked(books):
    texts = [cell.source for book in books.values() for cell in book.cells]
    found = [re.findall(r"(.)arXiv\s+\d", text) for text in texts]
    assert {before for some in found for before in some} == {"["}


def test_lessons_lead_on_and_back_and_to_the_answers(books):
    names = list(books)
    for number, (name, book) in enumerate(books.items()):
        assert (book.cells[1].id, book.cells[-1].id) == ("nav-0", "nav-1")
        top, end = book.cells[1].source, book.cells[-1].source
        near = names[max(number - 1, 0) : number + 2]
        ways = [f"({one}.ipynb)" for one in near if one != name]
        assert all(way in top and way in end for way in ways), name
        assert f"](../solutions/{name}.ipynb)" in end


def test_what_was_passed_is_drawn_once_and_at_the_end_where_the_lesson_does_not(books):
    for name, book in books.items():
        drawn = [cell for cell in book.cells if "student.overview" in cell.source]
        assert len(drawn) == 1, name
        if drawn[0].id == "so-far-code":
            assert [cell.id for cell in book.cells[-3:-1]] == ["so-far", "so-far-code"]
    assert "so-far" in {cell.id for cell in books["06_masks"].cells}


def test_a_lesson_that_draws_what_was_passed_gets_no_second_cell(built):
    built.edit('# %%\nprint("same again")', f"# %%\n{links.SO_FAR}")
    built.run()
    assert "\n".join(code_of(built.given)).count("progress()") == 1
    with pytest.raises(StopIteration):
        cell_of(built.given, "so-far-code")


FOLDS = {
    "x = 1\nassert x": ("x = 1", "assert x"),
    "x = 1  # one\n\n# drawn\nfigure, [axes] = canvas(2, 2)\naxes.plot(x)": (
        "x = 1  # one",
        "# drawn\nfigure, [axes] = canvas(2, 2)\naxes.plot(x)",
    ),
    'show_figure(draw(x), "text")': ("", 'show_figure(draw(x), "text")'),
    "print(x)\nassert x": ("print(x)", "assert x"),
    "x = 1\nif y:\n    assert x": ("x = 1", "if y:\n    assert x"),
    "if y:\n    assert x\n    x = 1": ("if y:\n    assert x\n    x = 1", ""),
    "x = 1": ("x = 1", ""),
    "play(draw.masks())": ("play(draw.masks())", ""),
    "assert x\nx + 1": ("assert x\nx + 1", ""),
    "x + 1\nassert x": ("x + 1\nassert x", ""),  # split, it would display x + 1
    "def f():\n    return canvas(2, 2)": ("def f():\n    return canvas(2, 2)", ""),
    "%timeit x\nassert x": ("%timeit x\nassert x", ""),
}


@pytest.mark.parametrize("source", FOLDS)
def test_what_only_draws_or_guards_is_split_off(source):
    assert folds.split(source) == FOLDS[source]


def test_a_folded_cell_says_so_and_keeps_what_belongs_to_it():
    cell = nbformat.v4.new_code_cell("x = 1\nassert x", id="c-1")
    cell.metadata = {
        "tags": ["nbval-check-output"],
        "slideshow": {"slide_type": "slide"},
    }
    shown, folded = folds.fold(cell)
    assert (shown.id, folded.id) == ("c-1", "c-1-end")
    assert shown.metadata.tags == ["nbval-check-output"]
    assert folded.metadata == {
        "tags": ["nbval-check-output", "hide-input"],
        "jupyter": {"source_hidden": True},
    }
    cell = nbformat.v4.new_code_cell("assert x", metadata={"nbgrader": {}})
    assert folds.fold(cell) == [cell] and "tags" not in cell.metadata


def test_folding_changes_nothing_that_is_executed():
    for path in lesson_paths():
        lesson = read(path)
        code = [cell.source for cell in lesson.cells if cell.cell_type == "code"]
        parts = [part for source in code for part in folds.split(source)]
        dumped = [ast.dump(ast.parse("\n".join(some))) for some in (code, parts)]
        assert dumped[0] == dumped[1], path


def test_a_lesson_imports_borrow_with_check_once(books):
    for name, book in books.items():
        code = [cell.source for cell in book.cells if cell.cell_type == "code"]
        imports = [one for one in code if "helpers.checks import" in one]
        assert len(imports) == 1 and notebooks.IMPORT in imports[0], name


# --- what nbgrader needs --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "grade", "solution", "locked", "points"),
    [
        ("ex-7-A", False, True, False, None),
        ("ex-7-A-check", True, False, True, 2),
        ("ex-7-C-check", True, False, True, 0),
        ("ex-7-D", True, True, False, 3),
    ],
)
def test_nbgrader_is_told_what_to_grade(built, name, grade, solution, locked, points):
    meta = dict(cell_of(built.given, name)[1].metadata["nbgrader"])
    assert meta.pop("points", None) == points
    assert meta == {
        "grade": grade,
        "grade_id": name,
        "locked": locked,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }


def test_headers_become_metadata(built):
    given = nbformat.read(built.given, nbformat.NO_CONVERT)
    first, shown = given.cells[0], given.cells[5]
    assert first.metadata == {"slideshow": {"slide_type": "slide"}}
    slide = {"slideshow": {"slide_type": "fragment"}}
    assert shown.metadata == {"tags": ["nbval-check-output"]} | slide
    locked = [c for c in given.cells if "bug to be hunted" in c.source][0]
    assert locked.metadata["nbgrader"]["locked"]
    assert locked.metadata["nbgrader"]["grade_id"] == locked.id
    assert set(given.metadata) == {"kernelspec", "language_info"}
    assert given.metadata["kernelspec"]["name"] == "python3"


def test_ids_are_unique_valid_and_the_same_in_both_notebooks(built):
    given = nbformat.read(built.given, nbformat.NO_CONVERT)
    solved = nbformat.read(built.solved, nbformat.NO_CONVERT)
    ids = [cell.id for cell in given.cells]
    assert ids == [cell.id for cell in solved.cells]
    assert_ids(given)


def test_ids_stay_when_another_cell_changes(built):
    before = [cell.id for cell in nbformat.read(built.given, 4).cells]
    built.edit("# A lesson for tests.", "# A lesson for many tests.")
    built.edit("    result = 2 * given", "    result = given * 2")
    built.run()
    after = [cell.id for cell in nbformat.read(built.given, 4).cells]
    assert before[0] != after[0] and before[1:] == after[1:]


def assert_ids(notebook):
    ids = [cell.id for cell in notebook.cells]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in ids)
    grades = [
        cell.metadata["nbgrader"]["grade_id"]
        for cell in notebook.cells
        if "nbgrader" in cell.metadata
    ]
    assert len(grades) == len(set(grades))


# --- executing only where needed ------------------------------------------------------


def outputs(path):
    return [cell.get("outputs") for cell in nbformat.read(path, 4).cells]


def test_outputs_are_kept_when_only_prose_changed(built, monkeypatch):
    monkeypatch.setattr(build, "execute", None)  # it would be called in vain
    before = outputs(built.solved)
    built.edit("# Double it.", "# Please double it.")
    built.edit('slide="fragment"', 'slide="slide"')
    assert built.run() == (0, "07_tiny: built, outputs kept\n")
    assert outputs(built.solved) == before
    assert "Please" in built.solved.read_text("utf-8")
    assert built.run("--check")[0] == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("result = 2 * given", "result = 2 * given  # doubled"),
        ('print("same")', '# Say it.\nprint("same")'),
        ('print("same")', 'print(\n    "same"\n)'),
    ],
)
def test_outputs_are_kept_when_only_comments_or_layout_changed(
    built, monkeypatch, old, new
):
    monkeypatch.setattr(build, "execute", None)  # it would be called in vain
    before = outputs(built.solved)
    built.edit(old, new)
    assert built.run() == (0, "07_tiny: built, outputs kept\n")
    assert outputs(built.solved) == before
    assert new.splitlines()[0] in "\n".join(code_of(built.solved))
    assert built.run("--check")[0] == 0


def test_outputs_are_kept_where_asserts_are_cut_off_now(built, monkeypatch):
    guarded = 'print("same")\nif double:\n    assert double'
    monkeypatch.setattr(notebooks, "fold", lambda cell: [cell])  # as it was once
    built.edit('print("same")', guarded)
    built.run()
    count = len(code_of(built.solved))
    before = [one for one in outputs(built.solved) if one is not None]
    monkeypatch.undo()
    monkeypatch.setattr(notebooks, "exercises", lambda: EXERCISES)
    monkeypatch.setattr(build, "execute", None)  # it would be called in vain
    assert built.run() == (0, "07_tiny: built, outputs kept\n")
    assert len(code_of(built.solved)) == count
    at = next(n for n, text in enumerate(cells_of(built.solved)) if "if double" in text)
    after = [one for one in outputs(built.solved) if one is not None]
    assert after[at] == [] and after[:at] + after[at + 1 :] == before
    assert built.run("--check")[0] == 0  # each of them counted


def test_outputs_are_kept_when_the_course_is_published(built, monkeypatch):
    monkeypatch.setattr(build, "execute", None)  # it would be called in vain
    before = [one for one in outputs(built.solved) if one is not None]
    settings = built.root / "pyproject.toml"
    settings.write_text('[tool.course]\nrepository = "https://github.com/us/it"\n')
    assert built.run("--check")[0] == 1
    assert built.run() == (0, "07_tiny: built, outputs kept\n")
    assert "archive/refs/heads/main.zip" in "\n".join(code_of(built.solved))
    assert [one for one in outputs(built.solved) if one is not None] == [[], *before]
    assert built.run("--check")[0] == 0
    settings.unlink()
    assert built.run() == (0, "07_tiny: built, outputs kept\n")
    assert [one for one in outputs(built.solved) if one is not None] == before


def test_an_assert_that_changed_is_executed(built):
    built.edit('print("same")', 'print("same")\nassert double')
    built.run()
    built.edit("assert double", "assert not double")
    assert built.run() == (0, "07_tiny: built and executed in 0 s\n")


def cells_of(path):
    """The sources of all code cells of a notebook."""
    cells = nbformat.read(path, nbformat.NO_CONVERT).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


def code_of(path):
    """The lines of all code cells of a notebook."""
    cells = nbformat.read(path, nbformat.NO_CONVERT).cells
    return [line for c in cells for line in c.source.splitlines()]


def test_a_cell_that_does_not_parse_is_compared_as_text():
    """It may hold a magic."""

    def notebook(*sources):
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        return nbformat.v4.new_notebook(cells=cells)

    plain, magic = "x = 1", "%timeit x"
    assert build._code(notebook(plain, magic)) == build._code(
        notebook("x = 1  # one", magic)
    )
    for other in (
        notebook(plain, magic + "  # slow"),
        notebook(plain, "%timeit y"),
        notebook("x = 2", magic),
        notebook(plain, magic, "# a third"),
        notebook(magic, plain),
    ):
        assert build._code(notebook(plain, magic)) != build._code(other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2 * given", "given * 2"),
        ('print("same")', 'print("other")'),
        ('"""Twice x."""', '"""Double x."""'),
    ],
)
def test_a_solution_is_executed_again_when_its_code_changed(built, old, new):
    built.edit(old, new)
    assert built.run() == (0, "07_tiny: built and executed in 0 s\n")


def test_a_solution_is_executed_again_when_asked_or_not_complete(built):
    assert "executed in" in built.run("--execute")[1]
    notebook, cell = cell_of(built.solved, "ex-7-B")
    cell.execution_count = None
    build.write(notebook, built.solved)
    assert "executed in" in built.run()[1]


def test_one_lesson_is_chosen_by_its_number(built):
    assert built.run("7") == built.run("07") == (0, "07_tiny: built, outputs kept\n")
    for asked in ("08", "xx", "07 08", "077"):
        status, said = built.run(*asked.split())
        unknown = asked.split()[-1]
        assert (status, said) == (2, f"There is no lesson {unknown}: choose from 07.\n")


# --- red: committed notebooks that are not what the lesson builds ---------------------


def damage(path_name, name, change):
    """Something done to a cell of a committed notebook."""

    def done(course):
        path = getattr(course, path_name)
        notebook, cell = cell_of(path, name)
        change(cell)
        build.write(notebook, path)

    return done


def add_output(**output):
    def change(cell):
        cell.outputs = [nbformat.v4.new_output(**output)]

    return damage("solved", "ex-7-A", change)


def set_to(path_name, name, **values):
    return damage(path_name, name, lambda cell: cell.update(values))


def stray(course):
    course.given.with_name("08_stray.ipynb").write_text("{}")


def notebook_metadata(course):
    notebook = nbformat.read(course.given, 4)
    notebook.metadata["widgets"] = {}
    build.write(notebook, course.given)


def drop_cell(course):
    notebook = nbformat.read(course.given, 4)
    notebook.cells.pop()
    build.write(notebook, course.given)


GIVEN, DONE = "notebooks/07_tiny.ipynb", "solutions/07_tiny.ipynb"
HTML = {"output_type": "display_data"}
RED = {
    "an edited source": (
        set_to("given", "ex-7-A", source=FUNCTION_STUB + "\n# mine"),
        f"{GIVEN}, cell 3 (ex-7-A) is not its lesson's: '- # mine'.",
    ),
    "an added blank line": (
        set_to("given", "ex-7-A", source=FUNCTION_STUB + "\n"),
        f"{GIVEN}, cell 3 (ex-7-A) is not its lesson's: its blank lines.",
    ),
    "an edited text": (
        set_to("given", "ex-7-B-task", source="A layer, they said."),
        f"{GIVEN}, cell 8 (ex-7-B-task) is not its lesson's: ",
    ),
    "edited tags": (
        set_to("given", "ex-7-A-check", metadata={"tags": ["x"]}),
        "cell 4 (ex-7-A-check) is not its lesson's: its id, type, tags or metadata.",
    ),
    "an edited id": (
        set_to("given", "ex-7-A", id="ex-7-11"),
        "cell 3 (ex-7-A) is not its lesson's: its id, type, tags or metadata.",
    ),
    "more points": (
        damage(
            "given",
            "ex-7-A-check",
            lambda cell: cell.metadata["nbgrader"].update(points=9),
        ),
        "cell 4 (ex-7-A-check) is not its lesson's: its id, type, tags or metadata.",
    ),
    "metadata of the notebook": (
        notebook_metadata,
        f"{GIVEN}: its metadata or format is not its lesson's.",
    ),
    "a missing cell": (drop_cell, f"{GIVEN} has 21 cells, its lesson 22."),
    "outputs for students": (
        damage(
            "given",
            "ex-7-A",
            lambda cell: cell.outputs.append(nbformat.v4.new_output("stream", text="")),
        ),
        f"{GIVEN} holds outputs: it is built, not edited.",
    ),
    "an edited solution": (
        set_to("solved", "ex-7-A", source=SOLVED.replace("2 *", "3 *")),
        f"{DONE}, cell 3 (ex-7-A) is not its lesson's: '-     result = 3 * given'.",
    ),
    "a lesson that was not built": (
        lambda course: course.edit("# Why?", "# Why not?"),
        "is not its lesson's: '- Why?'.",
    ),
    "a missing notebook": (
        lambda course: course.given.unlink(),
        f"{GIVEN} is missing or damaged.",
    ),
    "a damaged notebook": (
        lambda course: course.solved.write_text("<<<<<<< HEAD"),
        f"{DONE} is missing or damaged.",
    ),
    "a stray notebook": (stray, "notebooks/08_stray.ipynb has no lesson: delete it."),
    "a cell that was not executed": (
        set_to("solved", "ex-7-B", execution_count=None),
        "solutions/07_tiny.ipynb: not executed from top to bottom.",
    ),
    "a cell that was executed out of order": (
        set_to("solved", "ex-7-B", execution_count=40),
        "solutions/07_tiny.ipynb: not executed from top to bottom.",
    ),
    "stderr": (
        add_output(output_type="stream", name="stderr", text="Warning: x\n"),
        "cell 3 writes to stderr: 'Warning: x\\n'.",
    ),
    "an error": (
        add_output(output_type="error", ename="KeyError", evalue="", traceback=[]),
        "cell 3 raised KeyError.",
    ),
    "an SVG": (
        add_output(**HTML, data={"image/svg+xml": "<svg/>"}),
        "cell 3 draws SVG or runs JavaScript",
    ),
    "an SVG within HTML": (
        add_output(**HTML, data={"text/html": "<p><SVG width=3></SVG></p>"}),
        "cell 3 draws SVG or runs JavaScript",
    ),
    "JavaScript": (
        add_output(**HTML, data={"text/html": "<script>1</script>"}),
        "cell 3 draws SVG or runs JavaScript",
    ),
    "a path": (
        add_output(output_type="stream", text="see /home/me/course/x.txt\n"),
        "cell 3 shows a path or an address of the machine: '/home/'.",
    ),
    "an address": (
        add_output(**HTML, data={"text/plain": "<object at 0x7f00deadbeef>"}),
        "cell 3 shows a path or an address of the machine: '0x7f00deadbeef'.",
    ),
    "a notebook that is too large": (
        add_output(output_type="stream", text="x" * build.MOST),
        "larger than 1,000,000 bytes",
    ),
}


@pytest.mark.parametrize("name", RED)
def test_check_is_red_and_says_where(built, name):
    done, sentence = RED[name]
    done(built)
    before = sorted((p, p.read_bytes()) for p in built.root.rglob("*.*"))
    status, said = built.run("--check")
    assert status == 1 and sentence in said, said
    assert "Traceback" not in said
    assert sorted((p, p.read_bytes()) for p in built.root.rglob("*.*")) == before


FINE = {
    "a file name": add_output(output_type="stream", text="work/02.ipynb, and/or\n"),
    "a web address": add_output(output_type="stream", text="https://x.org/home/me\n"),
    "a table": add_output(**HTML, data={"text/html": "<table style='x'></table>"}),
}


@pytest.mark.parametrize("name", FINE)
def test_check_is_green_for_what_only_looks_like_it(built, name):
    FINE[name](built)
    assert built.run("--check")[0] == 0


def test_a_leaked_line_is_found_wherever_it_stands(built):
    hint = "# Please double it.\n#\n#     result = 2 * given\n"
    built.edit("# Double it.\n", hint)
    built.run()
    status, said = built.run("--check")
    assert status == 1
    assert f"{GIVEN} shows a line of the solution of 7.A: 'result = 2 * given'." in said


def test_a_plain_return_is_not_a_leak(built):
    built.edit('print("same")', "def f():\n    result, x = 1, 2\n    return result")
    built.run()
    assert built.run("--check")[0] == 0


# --- red: lessons that can't become notebooks -----------------------------------------

LOOP = """\
    for _ in range(3):
        ### BEGIN SOLUTION
        result = 2 * given
        ### END SOLUTION
    return result
"""
SOLUTION = LESSON[LESSON.index("    ### BEGIN") : LESSON.index("\n\n# %%\ncheck(")]
TWICE = SOLUTION.replace("return result", "result = 2 * result")
OPEN, CLOSE = stubs.BEGIN, stubs.END
HEADER_75 = '# %% [markdown] exercise="7.F"\n# Measure it.\n'
UNBUILDABLE = {
    "an exercise twice": (
        ("# %%\nprint", '# %% exercise="7.A"\nprint'),
        "exercise 7.A stands twice in 07_tiny.",
    ),
    "no such exercise": (
        ('# %% exercise="7.A"', '# %% exercise="7.N"'),
        "exercise 7.N: helpers/exercises does not have it.",
    ),
    "an id without quotes": (
        ('# %% exercise="7.A"', "# %% exercise=7.A"),
        'exercise=7.A: write exercise="7.A".',
    ),
    "no cell": (
        (LESSON[LESSON.index('# %% [markdown] answer="7.D"') :], HEADER_75),
        "exercise 7.D has no cell in 07_tiny.",
    ),
    "no task": (
        ('# %% [markdown] exercise="7.F"', "# %% [markdown]"),
        "exercise 7.F needs one text cell that sets it.",
    ),
    "no import of check": (
        ("from helpers.checks import check", "import helpers.checks"),
        "`from helpers.checks import check` is missing: its checks need it.",
    ),
    "no check": (
        ('check("7.A", double)', "print(double)"),
        "exercise 7.A has no check in 07_tiny.",
    ),
    "a check twice": (
        ('print("same")', 'check("7.A", double)'),
        "exercise 7.A has two checks.",
    ),
    "a check of another name": (
        ('check("7.A", double)', 'check("7.A", twice)'),
        "exercise 7.A: its check should ask for double.",
    ),
    "a check in another order": (
        ('check("7.C", first, second)', 'check("7.C", second, first)'),
        "exercise 7.C: its check should ask for first, second.",
    ),
    "a check of something else": (
        ('print("same")', 'check("6.A", double)'),
        "exercise 6.A: helpers/exercises does not have it.",
    ),
    "an unknown header": (
        ("# %% locked=true", "# %% lokced=true"),
        "cell header with unknown lokced.",
    ),
    "no markers": (
        (SOLUTION, "    return 2 * given\n"),
        f"exercise 7.A: no solution is marked with {OPEN}.",
    ),
    "no model answer": (
        ("# ### BEGIN SOLUTION\n# Because", "# Because"),
        f"{CLOSE} without a {OPEN} before it.",
    ),
    "a marker without its end": (
        (f"    {CLOSE}\n", ""),
        f"exercise 7.A: {OPEN} without an {CLOSE} after it.",
    ),
    "a marker without its beginning": (
        (f"    {OPEN}\n", ""),
        f"exercise 7.A: {CLOSE} without a {OPEN} before it.",
    ),
    "two beginnings": (
        (f"    {CLOSE}\n", f"    {OPEN}\n"),
        f"exercise 7.A: two {OPEN} without an {CLOSE} between them.",
    ),
    "a misspelt marker": (
        (f"    {OPEN}\n", "    ## Begin solution\n"),
        "exercise 7.A: '## Begin solution' is not quite a marker.",
    ),
    "a solution in any cell": (
        ('print("same")', f"{OPEN}\nsecret = 1\n{CLOSE}"),
        "a solution is marked in a cell that is not an answer.",
    ),
    "a solution in a task": (
        ("# Measure it.", "# ### BEGIN SOLUTION\n# secret\n# ### END SOLUTION"),
        "a solution is marked in a cell that is not an answer.",
    ),
    "a scaffold of other names": (
        ("    #: result = ...  #", "    #: total = ...  #"),
        "exercise 7.A: the scaffold has total, its solution has not.",
    ),
    "a scaffold in words": (
        ("    #: result = ...  #", "    #: a line for the student  #"),
        "exercise 7.A: its scaffold (#:) is not valid Python, line 1.",
    ),
    "code after the solution": (
        (f"    {CLOSE}\n", f"    {CLOSE}\n    return result\n"),
        "exercise 7.A: code of double follows its solution or goes around it.",
    ),
    "code around the solution": (
        (SOLUTION, LOOP),
        "exercise 7.A: code of double follows its solution or goes around it.",
    ),
    "two solutions in one function": (
        (SOLUTION, TWICE + SOLUTION),
        "exercise 7.A: code of double follows its solution or goes around it.",
    ),
    "more than assignments in __init__": (
        ("        self.a, self.b = 1, 2\n", "        print(width)\n"),
        "holds assignments only, not 'print(width)'.",
    ),
    "no Python": (
        ("    result = 2 * given", "    result = 2 *"),
        "exercise 7.A is not valid Python, line 6.",
    ),
}


@pytest.mark.parametrize("command", [(), ("--check",)], ids=["build", "check"])
@pytest.mark.parametrize("name", UNBUILDABLE)
def test_a_lesson_that_cannot_be_built_says_why(course, name, command):
    (old, new), sentence = UNBUILDABLE[name]
    course.edit(old, new)
    status, said = course.run(*command)
    assert status == 1, said
    assert said.startswith("lessons/07_tiny.py: ") and sentence in said, said
    assert said.count("\n") == 1
    assert not course.solved.exists()


def test_comments_after_the_last_line_of_a_solution_do_no_harm(course):
    course.edit("    return result\n", "    return result\n    # a remark\n\n")
    assert course.run()[0] == 0
    assert cell_of(course.given, "ex-7-A")[1].source == FUNCTION_STUB


def test_a_function_within_a_function_may_hold_the_solution():
    source = (
        "def outer(x):\n    def inner(y):\n        ### BEGIN SOLUTION\n"
        "        return y\n        ### END SOLUTION\n\n    return inner(x)"
    )
    cut = stubs.stub(source, "7.A")
    assert cut.splitlines()[2] == '        raise NotImplementedError("exercise 7.A")'
    assert cut.endswith("return inner(x)")


def test_an_own_raise_of_the_stub_is_left_alone():
    source = (
        "def f(x):\n    if x < 0:\n        raise ValueError(x)\n"
        "    ### BEGIN SOLUTION\n    return x\n    ### END SOLUTION"
    )
    assert "raise ValueError(x)" in stubs.stub(source, "7.A")


# --- a real kernel --------------------------------------------------------------------


@pytest.mark.slow
def test_a_solution_is_executed_in_a_fresh_kernel(tmp_path):
    course = Course(tmp_path)
    course.lesson.unlink()
    course.lesson = course.lesson.with_name("00_real.py")
    course.lesson.write_text(REAL, "utf-8")
    status, said = course.run()
    assert status == 0 and "built and executed" in said
    assert course.run("--check")[0] == 0
    done, cell = cell_of(tmp_path / "solutions" / "00_real.ipynb", "ex-0-A-check")
    assert cell.outputs[0].text.startswith("✓ 0.A passed.")
    assert done.metadata["language_info"] == {"name": "python"}
    counts = [c.get("execution_count") for c in done.cells]
    assert counts == [None, 1, 2, None, 3, 4, None, 5, 6, None, 7, None]
    course.edit("x.mean(-1)", "x.mean(7)")
    status, said = course.run()
    assert status == 1
    assert "lessons/00_real.py: its solution does not run." in said
    assert course.run("--check")[0] == 1


@pytest.mark.slow
def test_a_kernel_talks_through_files_of_its_own(tmp_path):
    # ports may be taken before a kernel takes them when many start side by side
    code = (
        "from ipykernel import get_connection_info\n"
        "info = get_connection_info(unpack=True)\n"
        "print(info['transport'], info['ip'])"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    said = execute(notebook, tmp_path, ROOT).cells[0].outputs[0].text.split()
    assert said[0] == "ipc"
    gc.collect()
    assert not Path(said[1]).parent.exists()


# --- the committed notebooks ----------------------------------------------------------

COMMITTED = [
    pytest.param(path, id=f"{path.parent.name}/{path.stem}",
                 marks=pytest.mark.lesson(path.name[:2]))
    for name in ("notebooks", "solutions")
    for path in sorted((ROOT / name).glob("*.ipynb"))
]  # fmt: skip
each_committed = pytest.mark.parametrize("path", COMMITTED)


def validator():
    from nbgrader.nbgraderformat import MetadataValidator

    return MetadataValidator()


@pytest.mark.filterwarnings("default")  # nbgrader's own imports warn
def test_nbgrader_accepts_the_metadata(built):
    for path in (built.given, built.solved):
        notebook = nbformat.read(path, nbformat.NO_CONVERT)
        nbformat.validate(notebook)
        validator().validate_nb(notebook)
    notebook, cell = cell_of(built.given, "ex-7-A")
    cell.metadata["nbgrader"]["grade_id"] = "ex.7.1"
    with pytest.raises(Exception, match="does not match"):
        validator().validate_nb(notebook)


@pytest.mark.filterwarnings("default")
@each_committed
def test_a_committed_notebook_is_valid(path):
    notebook = nbformat.read(path, nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    validator().validate_nb(notebook)
    assert_ids(notebook)
    assert "SOLUTION" not in "".join(cell.source for cell in notebook.cells)


@pytest.mark.parametrize("path", [one for one in COMMITTED if "solutions" in one.id])
def test_a_solution_shows_what_its_checks_say_today(path):
    said = {
        cell.id: cell.outputs
        for cell in nbformat.read(path, 4).cells
        if "outputs" in cell
    }
    known = [one for one in notebooks.exercises() if one.lesson == int(path.name[:2])]
    for exercise in known:
        if not exercise.answers:
            continue  # a written one has no check
        shown = said[f"ex-{exercise.id.replace('.', '-')}-check"][0].text
        why = f"build it again: python -m tools.build {path.name[:2]} --execute"
        assert shown.strip() == str(report.passed(exercise)), why


each_lesson = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.lesson(path.name[:2]))
        for path in lesson_paths()
    ],
)


@each_lesson
def test_the_hints_that_checks_speak_of_are_there(path):
    cells = student(read(path)).cells
    hints, number = {}, None
    for cell in cells:
        if cell.cell_type == "code":
            number = notebooks.checked_exercise(cell.source) or number
            hints.setdefault(number, 0)
        elif number:
            hints[number] += cell.source.count("<summary>Hint")
    without = [number for number, count in hints.items() if number and not count]
    assert not without


@each_lesson
def test_every_stub_of_a_lesson_says_our_sentence_and_nothing_leaks(path):
    lesson = read(path)
    given = student(lesson)
    known = notebooks.known_exercises(lesson)
    assert list(build.leaks(lesson, given)) == []
    for cell in given.cells:
        number = cell.id.removeprefix("ex-").replace("-", ".", 1)
        if cell.cell_type == "code" and number in known:
            blank = "= ..." if known[number].kind == "value" else None
            blank = blank or f'raise NotImplementedError("exercise {number}")'
            assert blank in cell.source
        assert not cell.get("outputs")


@each_lesson
def test_exercises_have_their_letters_in_reading_order(path):
    lesson = read(path)
    marks = [cell.metadata.get("exercise") for cell in lesson.cells]
    order = list(dict.fromkeys(filter(None, marks)))
    letters = [one for one in ascii_uppercase if one not in "IO"]
    ids = [f"{lesson.number}.{one}" for one in letters]
    given = [one for one in ids if one not in GONE]  # never given away again
    assert order == given[: len(order)]


def test_every_lesson_of_the_checks_is_there():
    lessons = {int(path.name[:2]) for path in lesson_paths()}
    assert {exercise.lesson for exercise in notebooks.exercises()} <= lessons
