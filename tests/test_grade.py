"""`make grade`: what is found, repaired, believed and written; a dozen submissions."""

import argparse
import csv
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests import submissions as handed
from tests.first_edition import pack
from tests.hostile import attacks
from tools.grading import __main__ as grade
from tools.grading import (
    course,
    find,
    gradebook,
    likeness,
    restore,
    runner,
    sandbox,
    seeds,
    tables,
)
from tools.grading.restore import SubmissionError
from tools.grading.tables import Grade

ROOT = Path(__file__).resolve().parents[1]
LESSONS = ["01_embeddings", "02_attention"]
PAGE = ROOT / "docs" / "grading.md"

pytestmark = pytest.mark.lesson("02")


@pytest.fixture
def released():
    """Return the student notebook, with the checksums left out."""
    return handed.released()


def parsed(notebook):
    """Return what a grader reads of a notebook that was handed in."""
    return restore.parse(json.dumps(notebook).encode())


# --- finding --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "only", "student"),
    [
        ("anna/02_attention/02_attention.ipynb", False, "anna"),  # nbgrader's own
        ("anna/02_attention.ipynb", False, "anna"),
        ("Anna Schmidt_123_file_/02_attention.ipynb", False, "Anna Schmidt_123_file_"),
        ("anna_02_attention.ipynb", False, "anna"),  # Canvas and friends
        ("02_attention-anna.ipynb", False, "anna"),
        ("02_attention.ipynb", False, "in"),  # the folder itself is the student's
        ("anna/homework.ipynb", True, "anna"),
        ("anna.ipynb", True, "anna"),
        ("02_Attention_Anna.IPYNB", False, "Anna"),
        ("hw_02_anna.ipynb", True, "hw_02_anna"),
        ("anna_42_file_/homework.ipynb", True, "anna_42_file_"),
    ],
)
def test_a_submission_is_found(tmp_path, path, only, student):
    folder = tmp_path / "in"
    (folder / path).parent.mkdir(parents=True)
    (folder / path).write_text("{}")
    lessons = ["02_attention"] if only else LESSONS
    [found] = find.find(folder, lessons, only, ["01_embeddings"] if only else [])
    assert (found.student, found.lesson, found.reason) == (student, "02_attention", "")


def test_what_is_not_a_submission_is_listed_with_a_reason(tmp_path):
    for name in ("ben/notes.txt", "cleo/x.ipynb", "dan/02_attention.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "dan" / "02_attention (1).ipynb").write_text("{}")
    (tmp_path / "eva.zip").write_bytes(b"")
    (tmp_path / "finn.docx").write_bytes(b"")
    (tmp_path / "gita" / ".ipynb_checkpoints").mkdir(parents=True)
    (tmp_path / "gita" / ".ipynb_checkpoints" / "02_attention.ipynb").write_text("{}")
    (tmp_path / "fred").mkdir()
    (tmp_path / "fred" / "02_attention.ipynb").symlink_to("/etc/passwd")
    (tmp_path / "dan" / ".ipynb_checkpoints").mkdir()
    (tmp_path / "dan" / ".ipynb_checkpoints" / "02_attention.ipynb").write_text("{}")
    found = {one.student: one.reason for one in find.find(tmp_path, LESSONS, False)}
    assert found == {
        "ben": "there is no notebook in the folder",
        "cleo": find.UNTOLD,
        "dan": "2 notebooks of one lesson (dan/02_attention (1).ipynb, "
        "dan/02_attention.ipynb): keep one",
        "eva": "a .zip file is not a notebook",
        "finn": "a .docx file is not a notebook",
        "gita": "there is no notebook in the folder",
        "fred": "it is a link, not a file",
    }


@pytest.mark.skipif(sys.platform != "linux", reason="others have no such names")
def test_a_name_that_is_not_text_becomes_text(tmp_path):
    """As unzip leaves one that Windows wrote."""
    folder = os.fsencode(tmp_path)
    for name in (b"J\xfcrgen", b"M\x81ller", b"Zo\xeb"):
        os.mkdir(folder + b"/" + name)
    for name in (
        b"J\xfcrgen/02_attention",
        b"Zo\xeb/02_attention",
        b"Zo\xeb/02_attention2",
    ):
        with open(folder + b"/" + name + b".ipynb", "w", encoding="utf-8") as file:
            file.write("{}")
    found = find.find(tmp_path, LESSONS, False)
    assert [one.student for one in found] == ["J‹fc›rgen", "M‹81›ller", "Zo‹eb›"]
    assert found[0].path.exists() and not found[0].reason
    for one in found:
        f"{one.student} {one.reason}".encode()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Zoë O'Brien_42", "Zoë O'Brien_42"),
        ("李明 (1)", "李明 (1)"),
        ("a\nline 9: 19 of 19", "a‹a›line 9: 19 of 19"),
        ("\x1b[31m\u202eneb", "‹1b›[31m‹202e›neb"),
        ('<b onclick="x">&\\', "‹3c›b onclick=‹22›x‹22›‹3e›‹26›‹5c›"),
        (" anna ", "‹20›anna‹20›"),
        ("‹a›", "‹2039›a‹203a›"),  # so that no two names become one
        ("n" * 81, "n" * 64 + "... 30ed7cca26f6"),
        ("ü" * 50, "ü" * 32 + "... a8edb6b4a738"),
    ],
)
def test_a_name_becomes_one_line_without_markup(name, shown):
    assert find.readable(name) == shown
    assert len(shown.encode()) <= find.LONGEST


def test_what_is_no_file_is_not_opened(tmp_path):
    for name in ("pipe", "folder", "link", "deep"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "pipe" / "02_attention.ipynb")
    (tmp_path / "folder" / "02_attention.ipynb").mkdir()
    (tmp_path / "link" / "02_attention.ipynb").symlink_to("nowhere")
    os.chdir(tmp_path / "deep")
    for _ in range(1200):  # deeper than Python recurses
        os.mkdir("d")
        os.chdir("d")
    try:
        found = {one.student: one.reason for one in find.find(tmp_path, LESSONS, False)}
    finally:  # deeper than pytest can remove
        for _ in range(1200):
            os.chdir("..")
            os.rmdir("d")
        os.chdir(ROOT)
    assert found == {
        "pipe": "it is a special file, not a file",
        "folder": "it is a folder, not a file",
        "link": "it is a link, not a file",
        "deep": "there is no notebook in the folder",
    }
    for name in ("pipe", "folder", "link"):
        with pytest.raises(OSError):
            runner.read(tmp_path / name / "02_attention.ipynb")


def test_a_file_of_any_size_is_read_no_further_than_needed(tmp_path):
    path = tmp_path / "02_attention.ipynb"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert len(runner.read(path)) == restore.MOST + 1


def test_notebooks_of_other_lessons_are_left_out_where_one_is_asked_for(tmp_path):
    for name in ("01_embeddings", "02_attention"):
        (tmp_path / "anna").mkdir(exist_ok=True)
        (tmp_path / "anna" / f"{name}.ipynb").write_text("{}")
    (tmp_path / "anna" / "scratch.ipynb").write_text("{}")
    found = find.find(tmp_path, ["02_attention"], True, ["01_embeddings"])
    assert [(one.lesson, one.reason) for one in found] == [
        ("", find.UNTOLD),
        ("02_attention", ""),
    ]


def test_an_export_with_a_folder_around_it_is_recognised_by_its_paths(tmp_path):
    for name in ("anna", "ben", "cleo", "dan"):
        (tmp_path / "week 2" / name).mkdir(parents=True)
        (tmp_path / "week 2" / name / "02_attention.ipynb").write_text("{}")
    [found] = find.find(tmp_path, LESSONS, False)
    assert "(week 2/anna/02_attention.ipynb, week 2/ben/02_" in found.reason
    assert found.reason.endswith("ipynb and 1 more): keep one")


# --- reading and restoring ------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b'{"cells": [', "not JSON"),
        (b"\x89PNG\r\n\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "JSON, but no notebook"),
        (b'{"a": 1}', "JSON, but no notebook"),
        (b'{"nbformat": 4, "cells": [{"cell_type": "odd"}]}', "JSON, but no notebook"),
        (b'{"nbformat": 4, "cells": [{"source": 3}]}', "JSON, but no notebook"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "cells": []}', "no cells"),
        (b" " * (restore.MOST + 1), "larger than 20 MB"),
    ],
)
def test_a_file_that_is_not_a_notebook_has_a_plain_reason(content, reason):
    with pytest.raises(SubmissionError, match=reason):
        restore.parse(content)


def test_a_notebook_of_another_course_has_a_plain_reason(released):
    other = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    with pytest.raises(SubmissionError, match="no cell of this lesson's notebook"):
        restore.restore(parsed(other), released)


def test_an_untouched_notebook_needs_no_repair(released):
    notebook, notes = restore.restore(parsed(released), released)
    assert notes == []
    assert [c.source for c in notebook.cells] == [c.source for c in released.cells]
    graded = [c.metadata.get("nbgrader") for c in notebook.cells]
    assert graded == [c.metadata.get("nbgrader") for c in released.cells]


def test_answers_and_own_cells_stay(released):
    mine = handed.filled({"ex-2-A": "mine"}, handed.released())
    handed.with_cell(mine, "ex-2-A", "a helper of my own")
    notebook, notes = restore.restore(parsed(mine), released)
    sources = [cell.source for cell in notebook.cells]
    assert sources.index("a helper of my own") == sources.index("mine") - 1
    assert notes == []


@pytest.mark.parametrize("strip", ["metadata", "id", "both"])
def test_an_edited_check_is_put_back_however_it_is_known(released, strip):
    mine = handed.released()
    cell = mine.cells[handed.place(mine, "ex-2-B-check")]
    cell.source = 'check("2.B", lambda *a: None)  # mine'
    if strip in ("metadata", "both"):
        cell.metadata = {"tags": ["skip-execution"]}
    if strip in ("id", "both"):
        cell.id = "other"
    notebook, notes = restore.restore(parsed(mine), released)
    original = released.cells[handed.place(released, "ex-2-B-check")]
    [back] = [c for c in notebook.cells if c.metadata == original.metadata]
    assert back.source == original.source
    assert notes == ["ex-2-B-check was edited: the released text was run"]


def test_a_check_that_was_made_text_is_code_again(released):
    mine = handed.released()
    place = handed.place(mine, "ex-2-B-check")
    mine.cells[place] = nbformat.v4.new_markdown_cell(
        mine.cells[place].source, metadata=mine.cells[place].metadata
    )
    notebook, notes = restore.restore(parsed(mine), released)
    assert notebook.cells[place].cell_type == "code"
    assert notes == ["ex-2-B-check was a markdown cell: changed back"]
    nbformat.validate(notebook)


def test_points_and_flags_in_the_metadata_are_put_back(released):
    mine = handed.released()
    for cell in mine.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader |= {"points": 99, "grade": False, "locked": False}
    notebook, _ = restore.restore(parsed(mine), released)
    graded = [c.metadata.get("nbgrader") for c in notebook.cells]
    assert graded == [c.metadata.get("nbgrader") for c in released.cells]


def test_deleted_checks_come_back_behind_their_answers(released):
    mine = handed.released()
    mine.cells = [c for c in mine.cells if not c.id.endswith("-check")]
    notebook, notes = restore.restore(parsed(mine), released)
    names = [c.metadata.get("nbgrader", {}).get("grade_id") for c in notebook.cells]
    wanted = [c.id for c in released.cells if c.id.endswith("-check")]
    assert [name for name in names if str(name).endswith("-check")] == wanted
    for name in wanted:
        assert names.index(name) == names.index(name.removesuffix("-check")) + 1
    assert len(notes) == len(wanted)


def test_a_deleted_answer_cell_does_not_come_back(released):
    mine = handed.released()
    del mine.cells[handed.place(mine, "ex-2-A")]
    handed.with_cell(mine, "ex-2-A-check", "def softmax(x, dim): ...")
    notebook, notes = restore.restore(parsed(mine), released)
    assert notes == ["ex-2-A is missing"]
    assert not any('"exercise 2.A")' in cell.source for cell in notebook.cells)


def test_of_cells_that_stand_twice_the_last_counts(released):
    mine = handed.released()
    place = handed.place(mine, "ex-2-A-check")
    mine.cells.insert(0, mine.cells[place].copy())
    notebook, notes = restore.restore(parsed(mine), released)
    assert "nbgrader" not in notebook.cells[0].metadata
    assert notebook.cells[place + 1].metadata.nbgrader.grade_id == "ex-2-A-check"
    assert notes == ["ex-2-A-check stands twice: the last one counts"]


def test_line_ends_of_windows_are_not_an_edit(released):
    mine = handed.released()
    for cell in mine.cells:
        cell.source = cell.source.replace("\n", "\r\n")
    notebook, notes = restore.restore(parsed(mine), released)
    assert notes == []
    assert [c.source for c in notebook.cells] == [c.source for c in released.cells]


def test_an_old_notebook_without_ids_is_read(released):
    mine = handed.released()
    for cell in mine.cells:
        del cell["id"]
    mine.nbformat_minor = 0
    notebook, notes = restore.restore(parsed(mine), released)
    assert notes == [] and len(notebook.cells) == len(released.cells)


def test_what_an_answer_has_no_reason_to_mention_is_pointed_out(released):
    usual = restore.usual_names(handed.solved())
    answers = {
        "ex-2-A": "import sys\nsys.modules['x'] = 1",
        "ex-2-B": "def scaled_dot_product_attention(q, k, v, mask=None):\n"
        "    return attention(q, k, v, mask)",
    }
    mine, _ = restore.restore(parsed(handed.filled(answers)), released)
    assert restore.suspects(mine, released, usual) == [
        "ex-2-A mentions sys.modules",
        "ex-2-B mentions attention",
    ]
    for honest in (handed.released(), handed.solved()):
        mine, _ = restore.restore(parsed(honest), released)
        assert restore.suspects(mine, released, usual) == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("for one in Path('/proc').iterdir(): pass", "/proc"),
        ("x = '/process'", ""),
        ("from tools.grading import link", "tools.grading"),
        ("sys.settrace(f); sys.setprofile(f)", "setprofile, settrace"),
        ("sys.addaudithook(f)", "addaudithook"),
        ("import builtins", "builtins"),
    ],
)
def test_what_only_a_cheat_mentions_is_pointed_out(released, source, words):
    mine, _ = restore.restore(parsed(amid(source)), released)
    found = restore.suspects(mine, released, {})
    assert found == ([f"ex-2-B mentions {words}"] if words else [])


def test_a_solved_lesson_has_a_seventh_of_the_code_that_is_looked_through():
    found = {
        path.stem: sum(len(one.source) for one in nbformat.read(path, 4).cells
                       if one.cell_type == "code")
        for path in (ROOT / "solutions").glob("*.ipynb")
    }  # fmt: skip
    assert len(found) > 10 and max(found.values()) < restore.LOOKED / 7, found


@pytest.mark.parametrize("cells", [1, 50])
def test_no_more_code_is_looked_through_than_takes_a_moment(
    released, monkeypatch, cells
):
    notebook = amid("sys.settrace(f)")
    for number in range(cells):
        much = f"x = {number}\n" * (2_000_000 // 6 // cells)
        handed.with_cell(notebook, "ex-2-B", much)
    read, tree = [], restore._tree
    monkeypatch.setattr(restore, "_tree", lambda it: read.append(it) or tree(it))
    monkeypatch.setattr(likeness, "_tree", lambda it: read.append(it) or tree(it))
    mine, _ = restore.restore(parsed(notebook), released)
    found = restore.suspects(mine, released, restore.usual_names(handed.solved()))
    names = found[0].removeprefix("too much code to be looked through: ")
    assert len(names.split(", ")) == min(cells, 4) and len(found) == 2
    assert found[1] == "ex-2-B mentions settrace"
    assert "softmax" in likeness.shapes(mine, released)
    assert max(map(len, read)) < restore.LOOKED and sum(map(len, read)) < 1_000_000


def test_a_course_s_cell_that_stands_often_is_read_once(released):
    notebook = handed.filled({})
    first = next(cell for cell in notebook.cells if "import torch" in cell.source)
    notebook.cells += [nbformat.from_dict(first) for _ in range(1000)]
    mine, _ = restore.restore(parsed(notebook), released)
    assert restore.own_code(mine, released)[1] == []


# --- believing and writing ------------------------------------------------------------


def a_result(**changes):
    """Return what a worker says of an answer to exercise 2.A."""
    line = {"exercise": "2.A", "outcome": "passed", "misconception": None}
    return {
        "scores": {"ex-2-A-check": [2.0, False], "ex-2-K": [None, True]},
        "outcomes": [line | {"borrowed": False, "intact": True}],
        "notes": [],
        "suspects": [],
    } | changes


MOST = {"ex-2-A-check": (2.0, False), "ex-2-K": (3.0, True)}


def test_a_result_becomes_a_grade():
    one = Grade("anna", "02_attention")
    runner._fill(one, a_result(), MOST)
    assert one.points == {"2.A": 2.0} and one.most == {"2.A": 2.0}
    assert one.to_read == 3.0
    assert str(one) == "anna 02_attention: 2 of 2 points"


@pytest.mark.parametrize(
    "scores",
    [
        {"ex-2-A-check": [3.0, False], "ex-2-K": [None, True]},
        {"ex-2-A-check": [float("nan"), False], "ex-2-K": [None, True]},
        {},
    ],
)
def test_points_that_can_not_be_so_are_not_believed(scores):
    with pytest.raises((KeyError, ValueError)):
        runner._fill(Grade("anna", "02_attention"), a_result(scores=scores), MOST)


def a_line(**changes):
    """Return the lines of a result with one that is odd."""
    return {"outcomes": [a_result()["outcomes"][0] | changes]}


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": {"ex-2-A-check": ["full", False]}},
        {"scores": {"ex-2-A-check": [True, False]}},
        {"scores": {"ex-2-A-check": [2.0]}},
        {"outcomes": [{}]},
        a_line(misconception=["no shift"]),
        a_line(misconception="x" * 300),
        a_line(exercise="2.A\n"),
        a_line(outcome={}),
        a_line(borrowed="no"),
        {"notes": None},
        {"notes": [1]},
        {"suspects": {}},
        {"reason": ""},
        {"reason": ["x"]},
        {"notebook": {}},
    ],
)
def test_a_result_of_another_form_is_not_believed(changes):
    assert runner.CHECKER.is_valid(a_result())
    assert runner.CHECKER.is_valid({"reason": "it is empty"})
    assert not runner.CHECKER.is_valid(a_result(**changes))


class Told(runner.Grader):
    """A grader whose workers say what a test wants."""

    def __init__(self, folder, says):
        options = argparse.Namespace(memory=1, seconds=1, cell_seconds=1, again=False)
        super().__init__(folder, folder / "out", ROOT, False, options, 7)
        self.says = says
        course = folder / "course" / "release" / "02_attention" / "02_attention.ipynb"
        course.parent.mkdir(parents=True)
        course.write_text(json.dumps(handed.released()))

    def run(self, job, content):
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (TypeError("unhashable type"), "grading it broke off (TypeError: unhashable t"),
        (OSError(28, "No space left"), "grading it broke off (No space left)"),
        (RecursionError("too deep"), "grading it broke off (RecursionError: too deep)"),
        ({"reason": "it\nis \x1b[31modd"}, "it is [31modd"),
        (a_result(scores={}), "its result makes no sense ('ex-2-A-check')"),
        (a_result(notebook="[]"), "what came of executing it is not a notebook"),
        (a_result(notebook="[" * 9999), "what came of executing it is not a notebook"),
    ],
)
def test_whatever_goes_wrong_with_one_is_its_reason(tmp_path, says, reason):
    path = handed.hand_in(tmp_path / "in", "anna", "{}")
    grader = Told(tmp_path, says)
    try:
        grade = grader.grade(find.Submission("anna", "02_attention", path))
    finally:
        grader.close()
    assert grade.reason.startswith(reason)


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (json.dumps(a_result()), None),
        (json.dumps(a_result(notes=[{}])), "its result makes no sense (notes.0)"),
        ("[]", "its result makes no sense (all)"),
        ("[" * 9999, "its process broke off without a word"),
        ("", "its process broke off without a word"),
    ],
)
def test_what_a_worker_says_has_to_have_its_form(tmp_path, says, reason):
    grader = Told(tmp_path, {})
    worker = subprocess.Popen(
        [sys.executable, "-S", "-c", "import sys; sys.stdin.read(); print(sys.argv[1])"]
        + [says],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    job = {"seconds": 60, "memory": 10**10}
    try:
        result = grader._answer(worker, job, b"{}", tmp_path / "no log")
    finally:
        grader.close()
    assert result.get("reason") == reason


def test_a_damaged_result_of_an_earlier_run_is_none(tmp_path):
    path = tmp_path / "x.json"
    good = {"key": "a", "seconds": 1.0, "result": a_result()}
    bad = good | {"result": a_result(**a_line(misconception=["x"]))}
    for text, kept in ((good, good), (bad, None), ({}, None), ([], None)):
        path.write_text(json.dumps(text))
        assert runner._kept(path) == kept


def test_the_error_that_came_first_is_the_cause():
    said = [
        "Converting notebook x",
        "Traceback (most recent call last):\n  File x\n    y\nUnicodeEncodeError: z\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n  File x\nValueError: other",
        "Please see the the above traceback for details",
    ]
    assert course.first_cause(said) == "UnicodeEncodeError: z"
    assert course.first_cause(["It is late", "It is too late"]) == "It is too late"
    assert course.first_cause([]) == "it gave no reason"


def outcome(exercise, outcome, misconception=None, borrowed=False):
    """Return a line of a kernel's records."""
    return {
        "exercise": exercise,
        "outcome": outcome,
        "misconception": misconception,
        "borrowed": borrowed,
    }


def test_misconceptions_are_counted_by_student():
    known = {"2.A": {"no shift"}, "2.E": set(), "2.M": set()}
    wrong = outcome("2.A", "wrong", "no shift")
    grades = [
        Grade("anna", "02", outcomes=[wrong, outcome("2.M", "raised")]),
        Grade("anna", "02", outcomes=[wrong]),
        Grade("ben", "02", outcomes=[wrong, outcome("2.A", "passed")]),
        Grade("cleo", "02", outcomes=[outcome("2.A", "wrong", "=invented()")]),
        Grade("dan", "02", outcomes=[outcome("2.E", "not attempted", None, True)]),
        Grade("eva", "02", outcomes=[wrong, outcome("9.M", "wrong", "x")]),
    ]
    assert tables.misconceptions_table(grades, known).splitlines() == [
        "exercise,misconception,students",
        "ex 2.A,no shift,2",
        "ex 2.A,not recognised,1",
        "ex 2.E,borrowed,1",
        "ex 2.M,not recognised,1",
    ]


def test_grades_have_a_row_for_everybody_and_no_formula():
    most = {"2.A": 2.0, "2.M": 1.0, "2.E": 1.0}
    good = Grade("=cmd()", "02_attention", points=most, most=most, to_read=3.0)
    bad = Grade("ben", "02_attention", reason="the file is empty")
    rows = list(csv.reader(tables.grades_table([good, bad]).splitlines()))
    assert rows == [
        ["student", "lesson", "status", "points", "of", "to read"]
        + ["ex 2.A", "ex 2.E", "ex 2.M", "notes", "look at"],
        ["'=cmd()", "02_attention", "graded", "4", "4", "3", "2", "1", "1", "", ""],
        ["ben", "02_attention", "not graded", "", "", "", "", "", ""]
        + ["the file is empty", ""],
    ]


@pytest.mark.parametrize("cell", ["=1", " =1", "\t+1", "＝1", "－1", "\n@x", "-1"])
def test_a_spreadsheet_computes_nothing(cell):
    assert tables._formula(cell)
    assert not tables._formula("a" + cell) and not tables._formula("-")


def test_earlier_tables_are_kept(tmp_path):
    path = tmp_path / "grades.csv"
    assert tables.keep(path, "one") is None
    assert tables.keep(path, "one") is None
    assert tables.keep(path, "two").name == "grades.1.csv"
    assert tables.keep(path, "three").name == "grades.2.csv"
    texts = {file.name: file.read_text("utf-8-sig") for file in tmp_path.iterdir()}
    assert texts == {
        "grades.csv": "three",
        "grades.1.csv": "one",
        "grades.2.csv": "two",
    }
    tables.keep(path, "Jürgen")
    assert path.read_bytes() == b"\xef\xbb\xbf" + "Jürgen".encode()  # for Excel


# --- the gradebook, over several runs -------------------------------------------------


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    course.lay_out(folder, [ROOT / "notebooks" / "02_attention.ipynb"])
    return folder


class Book:
    """A course with a gradebook, and what a person does in the formgrader."""

    def __init__(self, folder):
        self.folder = folder

    def enter(self, answer, points=2.0, reason=""):
        one = Grade("anna", "02_attention", reason=reason)
        one.points, one.written = {"2.A": points}, {"ex-2-K": answer}
        gradebook.enter(self.folder, [one], ["02_attention"])

    def give(self, points, comment="good"):
        with self._open() as book:
            names = "ex-2-K", "02_attention", "02_attention", "anna"
            grade = book.find_grade(*names)
            grade.manual_score, grade.needs_manual_grade = points, False
            book.find_comment(*names).manual_comment = comment
            book.db.commit()

    def now(self):
        """Return (score, points for the written answer, comment, to be read)."""
        with self._open() as book:
            try:
                whole = book.find_submission("02_attention", "anna")
            except ValueError:  # nbgrader's MissingEntry
                return None
            names = "ex-2-K", "02_attention", "02_attention", "anna"
            grade = book.find_grade(*names)
            comment = book.find_comment(*names).manual_comment
            unread = grade.needs_manual_grade
            return whole.score, grade.manual_score, comment, unread

    def _open(self):
        from nbgrader.api import Gradebook

        return Gradebook(f"sqlite:///{self.folder}/gradebook.db")


@pytest.fixture
def book(laid_out, tmp_path):
    return Book(shutil.copytree(laid_out, tmp_path / "course"))


@pytest.mark.slow
def test_a_written_answer_is_read_once(book):
    book.enter("one text")
    assert book.now() == (2.0, None, None, True)
    book.give(3.0)
    book.enter("one text")
    assert book.now() == (5.0, 3.0, "good", False)


@pytest.mark.slow
def test_an_untouched_answer_needs_no_reading(book):
    book.enter("")
    assert book.now() == (2.0, None, None, False)


@pytest.mark.slow
def test_points_for_an_answer_that_changed_stay_until_it_is_read(book):
    book.enter("one text")
    book.give(3.0)
    for _ in range(2):  # also when nobody read it before the next run
        book.enter("another text", points=0.0)
        assert book.now() == (3.0, 3.0, "good", True)
    book.give(1.0)
    book.enter("another text")
    assert book.now() == (3.0, 1.0, "good", False)


@pytest.mark.slow
def test_what_is_no_longer_graded_has_no_score(book):
    book.enter("one text")
    notebook = book.folder / "autograded" / "anna" / "02_attention" / "x.ipynb"
    notebook.parent.mkdir(parents=True)
    notebook.touch()
    other = Grade("anna", "03_multi_head_attention", reason="the file is empty")
    gradebook.enter(book.folder, [other], ["02_attention"])
    assert book.now()[0] == 2.0 and notebook.exists()
    book.enter("", reason="the file is empty")
    assert book.now() is None and not notebook.exists()


@pytest.mark.slow
def test_whoever_hands_in_nothing_has_no_score_for_what_is_graded(book):
    book.enter("one text")
    nothing = Grade("anna", "", reason="there is no notebook in the folder")
    gradebook.enter(book.folder, [nothing], ["02_attention"])
    assert book.now() is None


@pytest.mark.slow
def test_what_comes_back_has_what_a_person_gave(book):
    book.enter("one text")
    book.give(3.0)
    for _ in range(2):
        book.enter("", reason="the file is empty")
    book.enter("one text")
    assert book.now() == (5.0, 3.0, "good", False)
    book.enter("", reason="the file is empty")
    book.enter("another text")
    assert book.now() == (2.0, None, None, True)


@pytest.mark.slow
def test_a_gradebook_of_the_first_edition_keeps_its_points(book):
    book.enter("one text")
    book.give(3.0)
    (book.folder / gradebook.KEPT).unlink()
    book.enter("one text")
    assert book.now() == (5.0, 3.0, "good", False)


@pytest.mark.slow
def test_one_that_nbgrader_refuses_costs_the_others_nothing(book):
    lost = Grade("zoe", "99_other", points={"2.A": 2.0})
    good = Grade("anna", "02_attention", points={"2.A": 2.0})
    gradebook.enter(book.folder, [lost, good], ["02_attention"])
    assert lost.notes[0].startswith("not in nbgrader's gradebook: No such assignment")
    assert book.now()[0] == 2.0


# --- one clear sentence ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "No folder was named: say `make grade SUBMISSIONS=folder`."),
        (["--submissions", "/nowhere"], "/nowhere is not a folder"),
        (["--submissions", "{empty}"], "There is no notebook in "),
        (
            ["--submissions", "{empty}", "--lesson", "99"],
            "There is no lesson 99: choose from",
        ),
        (
            ["--submissions", "{full}", "--out", "{full}/out"],
            "out lies among the submissions",
        ),
    ],
)
def test_what_can_not_be_graded_is_one_clear_sentence(
    tmp_path, capsys, arguments, sentence
):
    full = tmp_path / "full"
    if "{full}" in arguments:
        handed.hand_in(full, "anna", "{}")
    arguments = [text.format(empty=tmp_path, full=full) for text in arguments]
    assert grade.main(arguments) == 1
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


@pytest.mark.parametrize("option", ["--memory", "--seconds", "--cell-seconds"])
@pytest.mark.parametrize("number", ["nan", "inf", "0", "much"])
def test_a_limit_is_a_number(tmp_path, capsys, option, number):
    with pytest.raises(SystemExit):
        grade.main(["--submissions", str(tmp_path), option, number])
    assert option in capsys.readouterr().err.splitlines()[-1]


def test_a_disk_that_is_full_is_one_clear_sentence(tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise OSError(28, "No space left on device", "week2-graded/results/x.json")

    monkeypatch.setattr(grade, "_main", fail)
    assert grade.main(["--submissions", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "broke off at week2-graded/results/x.json: No space left" in said
    assert said.count("\n") == 1


def test_what_is_known_so_far_is_in_a_table(tmp_path, monkeypatch):
    """A run that is killed leaves it behind; one that ends does not."""
    seen = []

    class Slow:
        def grade(self, one):
            seen.append(sorted(path.name for path in tmp_path.iterdir()))
            return Grade(one.student, one.lesson, points={"2.A": 1}, most={"2.A": 1})

    monkeypatch.setattr(grade, "PAUSE", -1.0)
    handed_in = [find.Submission(name, "02_attention", None) for name in "abc"]
    grades = grade.grade_all(
        *(Slow(), handed_in, 1),
        lambda found: grade.write_unfinished(tmp_path, found, {}),
    )
    names = ["grades.unfinished.csv", "misconceptions.unfinished.csv"]
    assert seen[0] == [] and sorted(p.name for p in tmp_path.iterdir()) == names
    table = (tmp_path / names[0]).read_text("utf-8-sig").splitlines()
    assert [line.split(",")[0] for line in table] == ["student", "a", "b", "c"]
    grade.write_tables(tmp_path, grades, {})
    names = ["grades.csv", "misconceptions.csv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_tables_are_written_also_where_the_gradebook_can_not_be(
    tmp_path, monkeypatch, capsys
):
    def fail(*_):
        raise course.CourseError("The gradebook could not be written (locked).")

    def sandboxed(*_):
        return None

    monkeypatch.setattr(grade, "enter", fail)
    monkeypatch.setattr(grade, "lay_out", sandboxed)
    monkeypatch.setattr(sandbox, "probe", sandboxed)  # by itself, so not by podman
    handed.hand_in(tmp_path / "in", "anna", "")
    assert grade.main(["--submissions", str(tmp_path / "in"), "--lesson", "2"]) == 1
    assert capsys.readouterr().err == "The gradebook could not be written (locked).\n"
    assert rows(tmp_path / "in").keys() == {"anna"}


def test_a_seed_is_drawn_once_and_kept(tmp_path):
    seed = seeds.of_run(tmp_path, ["00_start"])
    assert 1 <= seed <= seeds.MOST
    kept = (tmp_path / "seed.json").read_bytes()
    assert seeds.of_run(tmp_path, ["00_start"]) == seed
    assert (tmp_path / "seed.json").read_bytes() == kept
    assert json.loads(kept) == {"seed": seed, "tried": ["00_start"]}


def test_a_seed_may_be_named(tmp_path):
    seeds.of_run(tmp_path, ["00_start"], 41)
    assert seeds.of_run(tmp_path, ["00_start"]) == 41
    assert seeds.of_run(tmp_path, ["00_start"], 42) == 42
    with pytest.raises(SystemExit):
        grade.main(["--submissions", str(tmp_path), "--seed", "0"])


def test_a_seed_is_tried_on_the_course_s_own_answers(tmp_path, monkeypatch):
    drawn = iter([4, 5, 6])
    monkeypatch.setattr(seeds.secrets, "randbelow", lambda most: next(drawn))
    unfit = {5: ["2.B"], 6: ["2.B"]}
    monkeypatch.setattr(seeds, "failing", lambda seed, lessons:
                        unfit.get(seed, []) if lessons else [])  # fmt: skip
    assert seeds.of_run(tmp_path, ["02_attention"]) == 7
    with pytest.raises(course.CourseError, match="With seed 6 .* to 2.B do not pass"):
        seeds.of_run(tmp_path, ["02_attention"], 6)
    assert seeds.of_run(tmp_path, ["02_attention"]) == 7


@pytest.mark.parametrize("text", ["{", "[]", '{"seed": 0, "tried": []}', '{"seed": 1}'])
def test_a_damaged_seed_is_not_believed(tmp_path, text):
    (tmp_path / "seed.json").write_text(text)
    with pytest.raises(course.CourseError, match="is not as it was written"):
        seeds.of_run(tmp_path, ["00_start"])


def test_a_grade_hangs_on_the_seed(tmp_path):
    grader, one = Told(tmp_path, {}), find.Submission("anna", "02_attention", None)
    before = grader._key(one, b"")
    grader.seed += 1
    assert grader._key(one, b"") != before
    assert grader._job(one)["seed"] == 8
    grader.close()


def test_ctrl_c_and_a_polite_kill_keep_what_was_graded(monkeypatch, capsys):
    monkeypatch.setattr(grade, "_main", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    assert grade.main(["--submissions", "x"]) == 130
    assert capsys.readouterr().err.startswith("Stopped. What was graded is kept")


def test_the_limits_are_reported_and_so_is_a_missing_sandbox():
    options = argparse.Namespace(memory=4.0, seconds=900.0)
    assert "no network" in grade._conditions(options, None)
    told = grade._conditions(options, "unshare: Operation not permitted")
    assert told.startswith("UNSAFE: ") and "(unshare: Operation not perm" in told


def test_it_is_said_when_podman_starts_the_notebooks():
    options = argparse.Namespace(memory=4.0, seconds=900.0)
    through = grade._conditions(options, None, sandbox.PODMAN)
    assert "(Linux namespaces, through podman): no network" in through
    assert "podman" not in grade._conditions(options, None)


PODMAN = "podman, once it is installed: it may be allowed more, or "
DOCKER = "a container of docker, which is installed here, or "


@pytest.mark.parametrize(
    ("system", "installed", "helps"),
    [
        ("linux", "", PODMAN),
        ("linux", "podman", DOCKER.replace("docker", "podman")),
        ("linux", "docker", PODMAN + DOCKER),
        ("darwin", "", ""),
        ("darwin", "docker", DOCKER),
    ],
)
def test_a_refusal_names_what_is_installed(monkeypatch, system, installed, helps):
    monkeypatch.setattr(grade.sys, "platform", system)
    monkeypatch.setattr(grade.shutil, "which", lambda name: name in installed.split())
    monkeypatch.setattr(grade, "INSIDE", ())
    last = 'a virtual machine that holds nothing else, with ARGS="--unsafe"'
    assert grade._ways_out() == helps + last


def test_a_refusal_in_a_container_says_how_to_start_it(monkeypatch, tmp_path):
    monkeypatch.setattr(grade, "INSIDE", (tmp_path / "none", tmp_path))
    found = grade._ways_out()
    assert found.startswith("this container, started with --security-opt seccomp=unco")
    assert "podman" not in found and found.endswith('with ARGS="--unsafe"')


def test_a_worker_gets_no_keys_of_the_person_who_grades(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    assert "SECRET_TOKEN" not in runner._environment()


# --- the real thing -------------------------------------------------------------------

FILES = 'open("mine.txt", "w").write("mine")\n!cat mine.txt'
BEFORE, AFTER = handed.solution("ex-2-A"), handed.solution("ex-2-F")
OUTSIDE = """
import glob, os, socket
done = []
for path in {paths}:
    try:
        open(path, "a").write("x")
        done.append(path)
    except OSError:
        pass
try:
    socket.create_connection(("127.0.0.1", {port}), timeout=2)
    done.append("network")
except OSError:
    pass
done += [name for name in ("tests", "solutions", "lessons") if
         os.path.exists({root!r} + "/" + name)]
done += glob.glob({root!r} + "/helpers/exercises/*")
try:
    import helpers.exercises.attention
    done.append("references")
except ModuleNotFoundError:
    pass
done += [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]
assert not done, done
"""


def amid(source):
    """Return a notebook in which other right answers stand before and after."""
    return handed.filled({"ex-2-A": BEFORE, "ex-2-B": source, "ex-2-F": AFTER})


def edited():
    """Return a notebook with checks deleted, edited and skipped, and cells doubled."""
    notebook = handed.filled({"ex-2-A": BEFORE})
    cells = {cell.id: cell for cell in notebook.cells}
    cells["ex-2-B-check"].source = "1 + 1"
    cells["ex-2-F-check"].metadata.tags = ["skip-execution"]
    cells["ex-2-F-check"].metadata.nbgrader.points = 100
    cells["ex-2-C-check"].metadata = {}
    gone = ("ex-2-A-check", "ex-2-D")
    kept = [cell for cell in notebook.cells if cell.id not in gone]
    notebook.cells = [kept[0], cells["ex-2-A"].copy(), *kept[1:]]
    return notebook


def tampered():
    """Return a notebook that puts its own judge in the place of the course's."""
    source = """
    from helpers.checks import engine
    from helpers.checks.report import Report
    engine.judge = lambda number, *answers: Report(number, "passed")
    """
    return handed.with_cell(handed.filled({}), "ex-2-A-check", handed.code(source))


def borrowed():
    """Return a notebook with one answer borrowed and one taken from helpers."""
    notebook = handed.filled({"ex-2-A": BEFORE})
    lent = 'scaled_dot_product_attention = borrow("2.B")'
    handed.with_cell(notebook, "ex-2-B-check", lent)
    taken = "from helpers.models.multi_head import MultiHeadAttention as SelfAttention"
    return handed.with_cell(notebook, "ex-2-C-check", taken)


def first_edition():
    """Return a notebook of the first edition, with its names, and two right answers."""
    old = nbformat.reads(pack.notebooks()["notebooks/02_attention.ipynb"], 4)
    answers = {"ex-2-1": BEFORE, "ex-2-3": AFTER}
    return handed.filled(answers, handed.short(old))


def misled():
    """Return a notebook with a known mistake in 2.B and a wrong value; its name."""
    answers = {"ex-2-B": attacks.WRONG, "ex-2-G": "impossible_entries = -17"}
    return handed.filled(answers), "no scaling"


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Grade a dozen and a few; return (folder, what was printed)."""
    folder = tmp_path_factory.mktemp("graded") / "week 2"
    folder.mkdir()
    paths = [str(folder / "x"), str(ROOT / "helpers" / "x"), "../x"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        outside = OUTSIDE.format(paths=paths, root=str(ROOT), port=port)
        for student, notebook in a_dozen(outside).items():
            handed.hand_in(folder, student, notebook)
        return folder, grade_folder(folder, "--cell-seconds", "25", "--jobs", "2")


def a_dozen(outside):
    """Return {student: notebook}."""
    hang = "while True: time.sleep(1)"
    deaf = f"import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n{hang}"
    hog = "hog = []\nwhile True: hog.append(bytearray(100_000_000))"
    talk = "for _ in range(400): print('x' * 1_000_000)"
    return {
        "solved": handed.solved(),
        "blank": handed.filled({}),
        "borrowed": borrowed(),
        "misled": misled()[0],
        "first edition": first_edition(),
        "hangs": amid(hang),
        "hangs hard": amid(deaf),
        "exits": amid("import os; os._exit(0)"),
        "eats memory": amid(hog),
        "prints": amid(talk),
        "no JSON": '{"cells": [',
        "edited": edited(),
        "tampered": tampered(),
        "outside": handed.with_cell(amid(outside), "ex-2-F", FILES),
    }


def grade_folder(folder, *arguments):
    """Run `python -m tools.grading` on a folder."""
    command = [sys.executable, "-m", "tools.grading", "--submissions", str(folder)]
    command += ["--memory", "3", "--unsafe", *arguments]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stderr == ""
    return run.stdout


def rows_of(folder):
    """Return the table of the grades."""
    return folder.with_name(f"{folder.name}-graded") / "grades.csv"


def rows(folder):
    """Return {student: row} of the grades."""
    with rows_of(folder).open(newline="", encoding="utf-8-sig") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


@pytest.mark.slow
@pytest.mark.xdist_group("grade")
class TestADozen:
    """One run of the grader, looked at from all sides."""

    @pytest.mark.parametrize(
        ("student", "points"),
        [
            ("solved", "19"),
            ("blank", "0"),
            ("borrowed", "2"),
            ("misled", "0"),
            ("first edition", "4"),
            ("hangs", "4"),
            ("hangs hard", "2"),
            ("exits", "2"),
            ("eats memory", "4"),
            ("prints", "4"),
            ("no JSON", ""),
            ("edited", "2"),
            ("tampered", "0"),
            ("outside", "4"),
        ],
    )
    def test_points(self, graded, student, points):
        row = rows(graded[0])[student]
        assert row["points"] == points, row
        assert row["of"] == ("19" if points else "")

    @pytest.mark.parametrize(
        ("student", "reason"),
        [
            ("hangs", "was stopped after 25 s"),
            ("hangs hard", "its kernel did not answer after cell"),
            ("exits", "its kernel ended in cell"),
            ("eats memory", "ran out of memory"),
            ("prints", "printed too much"),
            ("no JSON", "the file is not a notebook (not JSON)"),
            ("edited", "ex-2-A-check was missing: added again"),
            ("edited", "ex-2-B-check was edited: the released text was run"),
        ],
    )
    def test_reasons(self, graded, student, reason):
        assert reason in rows(graded[0])[student]["notes"]

    def test_written_answers_are_left_to_a_person(self, graded):
        found = rows(graded[0])
        assert found["solved"]["to read"] == "3" and found["blank"]["to read"] == "0"

    def test_misconceptions(self, graded):
        folder = graded[0].with_name(f"{graded[0].name}-graded")
        text = (folder / "misconceptions.csv").read_text("utf-8-sig")
        lines = text.splitlines()
        assert lines == [
            "exercise,misconception,students",
            "ex 2.B,borrowed,1",
            f"ex 2.B,{misled()[1]},1",
            "ex 2.C,borrowed,1",
            "ex 2.G,not recognised,1",
        ]

    def test_a_notebook_reaches_nothing_outside(self, graded):
        if "namespaces" not in graded[1].splitlines()[0]:
            pytest.skip("this system does not shut processes in")
        assert rows(graded[0])["outside"]["points"] == "4"
        folder = graded[0].with_name(f"{graded[0].name}-graded")
        path = folder / "autograded" / "outside" / "02_attention" / "02_attention.ipynb"
        cells = nbformat.read(path, 4).cells
        [cell] = [cell for cell in cells if "import glob, os, socket" in cell.source]
        assert cell.outputs == []
        assert not (graded[0] / "x").exists()

    def test_a_notebook_may_write_files_and_use_a_terminal(self, graded):
        folder = graded[0].with_name(f"{graded[0].name}-graded")
        name = "02_attention"
        path = folder / "autograded" / "outside" / name / f"{name}.ipynb"
        cells = nbformat.read(path, 4).cells
        [cell] = [cell for cell in cells if "!cat mine.txt" in cell.source]
        assert [output.get("text") for output in cell.outputs] == ["mine"]

    def test_nbgraders_gradebook_has_the_points(self, graded):
        from nbgrader.api import Gradebook

        folder = graded[0].with_name(f"{graded[0].name}-graded")
        with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
            solved = book.find_submission("02_attention", "solved")
            assert solved.score == 19.0 and solved.needs_manual_grade
            assert book.find_submission("02_attention", "blank").score == 0.0

    def test_nbgrader_sums_up_what_a_person_gave_too(self, graded, tmp_path):
        """As docs/grading.md says it."""
        from nbgrader.api import Gradebook

        before = graded[0].with_name(f"{graded[0].name}-graded")
        folder = shutil.copytree(before, tmp_path / "week 2-graded")
        with Gradebook(f"sqlite:///{folder}/gradebook.db") as book:
            written = book.find_grade(
                "ex-2-K", "02_attention", "02_attention", "solved"
            )
            written.manual_score, written.needs_manual_grade = 2.5, False
            book.db.commit()
        said = re.search(r"^nbgrader (export \S+)", PAGE.read_text(), re.MULTILINE)
        place = Path(sys.executable).parent
        path = os.pathsep.join([str(place), os.environ["PATH"]])
        run = subprocess.run(
            [str(place / "nbgrader"), *said[1].split()],
            cwd=folder,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        with (folder / "sums.csv").open(newline="") as file:
            sums = {row["student_id"]: row["score"] for row in csv.DictReader(file)}
        assert (sums["solved"], sums["blank"]) == ("21.5", "0.0")
        ours = "grades.csv"
        assert (folder / ours).read_bytes() == (before / ours).read_bytes()

    def test_another_run_grades_nothing_again_and_loses_nothing(self, graded):
        folder = graded[0].with_name(f"{graded[0].name}-graded")
        before = (folder / "grades.csv").read_bytes()
        results = {p: p.stat().st_mtime_ns for p in folder.rglob("results/**/*.json")}
        grade_folder(graded[0], "--cell-seconds", "25", "--jobs", "2")
        after = {p: p.stat().st_mtime_ns for p in folder.rglob("results/**/*.json")}
        assert (folder / "grades.csv").read_bytes() == before
        assert after == results
        assert not (folder / "grades.1.csv").exists()


@pytest.mark.slow
@pytest.mark.xdist_group("grade")
def test_where_nothing_can_be_shut_in_the_limits_hold(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sandbox, "way", lambda folder: ((), "not on this system"))
    folder = tmp_path / "week 2"
    hog = "hog = []\nwhile True: hog.append(bytearray(100_000_000))"
    handed.hand_in(folder, "hog", amid(hog + "\n"))
    kill = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    handed.hand_in(folder, "kill", amid(kill))
    arguments = ["--submissions", str(folder), "--memory", "2", "--lesson", "2"]
    assert grade.main(arguments) == 1
    said = capsys.readouterr().err
    assert "does not shut processes in (not on this system)" in said
    assert said.count("\n") == 1 and not rows_of(folder).parent.exists()
    assert grade.main([*arguments, "--unsafe"]) == 0
    assert "UNSAFE: " in capsys.readouterr().out
    found = rows(folder)
    assert found["hog"]["points"] == "4" and found["kill"]["points"] == "2"
    assert "its kernel ended in cell" in found["kill"]["notes"]
