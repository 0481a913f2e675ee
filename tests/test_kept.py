"""Passed answers are kept as source, and later notebooks take them from there."""

import sys
import textwrap

import pytest
from nbformat import v4

from helpers.checks import CheckFailed, judge, kept, progress
from helpers.checks.engine import find
from helpers.exercises.attention.variants.scaled import VARIANTS
from helpers.student.own_parts import OwnParts
from helpers.student.presence import GRADERS
from tests.person import run_all
from tools.build.lesson_cells import is_needed, lesson, run_cell
from tools.build.notebooks import checked_exercise
from tools.build.stubs import solved

OWN_ATTENTION = '''
def scaled_dot_product_attention(query, key, value, mask=None):
    """Mine."""
    scores = query @ key.mT * shrink(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, BLOCKED)
    weights = F.softmax(scores, -1)
    return weights @ value, weights
'''
AROUND = """
import math, os
import torch.nn.functional as F
from torch import Tensor, nn

weights = query = "a name that the answer uses as its own"
BLOCKED = 7
BLOCKED, unused = float("-inf"), open
def shrink(width: int, power=1 / 2) -> float:
    return 1 / math.pow(width, power)
"""


class Notebook:
    """Cells that share their names, and remember what ran as IPython does."""

    def __init__(self):
        self.names = {"__name__": "__main__", "In": [""], "open": open}

    def run(self, *cells):
        for cell in map(textwrap.dedent, cells):
            self.names["In"].append(cell)
            run_cell(cell, self.names)
        return self


@pytest.fixture
def work(tmp_path, monkeypatch):
    """The student's folder, as the kernel's working folder."""
    monkeypatch.delenv("COURSE_PROGRESS", raising=False)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / progress.MARKER).write_text("{}")
    return tmp_path


CHECK_22 = 'check("2.B", scaled_dot_product_attention)'


def solve_22(*cells):
    """A notebook in which 2.B passed."""
    cells = cells or (AROUND, OWN_ATTENTION)
    return Notebook().run("from helpers.checks import check", *cells, CHECK_22)


def taken(*ids):
    mine = OwnParts()
    for exercise_id in ids:
        mine.take(exercise_id)
    return mine


# --- the whole way --------------------------------------------------------------------


def cells_of(number, *ids, more=()):
    """Cells of a solved lesson: imports, some answers with their checks, some more."""
    for cell in lesson(number).cells:
        if cell.cell_type != "code":
            continue
        exercise = cell.metadata.get("exercise")
        asked = exercise or checked_exercise(cell.source)
        if asked in ids or not asked and is_needed(cell):
            yield solved(cell.source, exercise) if exercise else cell.source
        elif any(text in cell.source for text in more):
            yield cell.source


OWN_HEADS = """
import torch
from torch import nn
from helpers.checks import check
from helpers.student.own_parts import OwnParts
mine = OwnParts()
mine.take("2.B")
class Heads(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("the heads can't share this width")
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )
    def forward(self, query, key, value, mask=None):
        pairs = ((self.W_q, query), (self.W_k, key), (self.W_v, value))
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer, x in pairs
        )
        output, weights = mine.scaled_dot_product_attention(q, k, v, mask)
        return {}
check("3.C", Heads)
"""
PAIR = "self.W_o(output.transpose(1, 2).flatten(2)), weights"
IN_LAYER = "self.dropout(self.attention({0}, {0}, {0}, mask))"
ANYHOW = "self.dropout(alone(self.attention({0}, {0}, {0}, mask)))"
ALONE = """
def alone(found):
    return found[0] if isinstance(found, tuple | list) else found
"""


def parts_of_04(unpacking):
    """The solved core of lesson 04, whose layer takes a pair from its heads or not."""
    ids = ("4.A", "4.B", "4.C", "4.D", "4.E", "4.F", "4.G", "4.H", "4.J")
    more = ("TIRED =", "tokenizer = load_encoder()", "my_encoder = ", "def my_search")
    for cell in cells_of(4, *ids, more=more):
        if unpacking and "class EncoderLayer" in cell:
            for name in "xy":
                cell = cell.replace(IN_LAYER.format(name), ANYHOW.format(name))
            assert cell.count("alone(") == 2
            yield ALONE
        yield cell


@pytest.mark.slow
@pytest.mark.lesson(2, 3, 4)
@pytest.mark.parametrize(
    "returned, unpacking", [(f"({PAIR})", False), (f"[{PAIR}]", True)]
)
def test_from_the_first_attention_to_the_search_on_own_answers(
    returned, unpacking, work, capsys
):
    solve_22()
    Notebook().run(OWN_HEADS.replace("{}", returned))
    said = capsys.readouterr().out
    assert "mine.scaled_dot_product_attention: yours, kept by lesson 02\n" in said
    last = Notebook().run(*parts_of_04(unpacking))
    said = capsys.readouterr().out
    assert "mine.MultiHeadAttention: yours, kept by lesson 03\n" in said
    assert "largest difference below 5e-5: True" in said
    assert "the course's" not in said
    assert "This run uses your written, MultiHeadAttention, FeedForward," in said
    assert "right sentence first: 20 of 20" in said
    ran = set()
    sys.setprofile(lambda frame, event, _: ran.add(frame.f_code.co_filename))
    try:
        last.run('found = my_search("suffering from insomnia", 1)')
    finally:
        sys.setprofile(None)
    assert "sleep would not come" in last.names["found"][0][0]
    assert {str(work / kept.FOLDER / f"{one}.py") for one in ("2.B", "3.C")} <= ran


def test_an_answer_that_the_first_edition_kept_is_found(work, capsys):
    solve_22()
    (work / kept.FOLDER / "2.B.py").rename(work / kept.FOLDER / "2.2.py")
    assert taken("2.B").the_courses() == taken("2.2").the_courses() == []
    assert "yours, kept by lesson 02" in capsys.readouterr().out


@pytest.mark.notebooks
@pytest.mark.filterwarnings("ignore")  # those of jupyter's own parts
def test_one_kernel_keeps_what_another_takes(tmp_path):
    imported = "from helpers.checks import check"
    second = (imported, f"%matplotlib inline\n{AROUND}", OWN_ATTENTION, CHECK_22)
    third = """from helpers.student.own_parts import OwnParts
mine = OwnParts()
mine.take("2.B")
print(mine)"""
    for name, cells in (("02.ipynb", second), ("03.ipynb", [third])):
        book = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])
        run_all(book, tmp_path / name)
    said = "yours, kept by lesson 02\nThis run uses your scaled_dot_product_attention."
    assert said in book.cells[0].outputs[0].text


@pytest.mark.lesson(2, 3)
@pytest.mark.parametrize("own", VARIANTS["2.B"])
def test_whatever_passes_as_2_2_can_be_used_in_3_2(own):
    names = Notebook().run(*cells_of(3, "3.C")).names
    names["mine"].scaled_dot_product_attention = own
    assert judge("3.C", names["MultiHeadAttention"]).outcome == "passed"


# --- what is kept ---------------------------------------------------------------------


def test_an_answer_is_kept_with_what_it_needs_and_no_more(work):
    solve_22()
    text = (work / kept.FOLDER / "2.B.py").read_text()
    assert text.startswith('"""Exercise 2.B, as it passed its check."""\n')
    for needed in ("import math\n", "nn.functional as F", "BLOCKED", "def shrink("):
        assert needed in text
    for other in ("os", "Tensor", "check(", "nn\n", "as its own", "= 7"):
        assert other not in text
    assert list(work.rglob("*.part")) == []


def test_the_latest_meaning_of_a_name_is_kept(work):
    solve_22("BLOCKED = 7", AROUND, OWN_ATTENTION, "print([BLOCKED for F in (1, 2)])")
    assert "7" not in (work / kept.FOLDER / "2.B.py").read_text()
    assert taken("2.B").the_courses() == []


def test_another_name_and_a_decorator_are_kept(work):
    own = OWN_ATTENTION.replace("def scaled_dot_product_attention", "def attend")
    own = f"import functools\ndef same(f):\n    return f\n@same{own}"
    Notebook().run(
        "from helpers.checks import check", AROUND, own, 'check("2.B", attend)'
    )
    assert taken("2.B").the_courses() == []


@pytest.mark.parametrize(
    "around",
    [
        "for BLOCKED in [float('-inf')]: pass",
        "globals()['BLOCKED'] = float('-inf')",
    ],
)
def test_what_has_no_simple_source_is_not_kept(around, work, capsys):
    cell = AROUND.replace("BLOCKED", "unused")
    solve_22(cell, around, OWN_ATTENTION)
    assert not (work / kept.FOLDER).exists()
    assert taken("2.B").the_courses() == ["scaled_dot_product_attention"]


def test_wrong_and_borrowed_answers_and_values_are_not_kept(work):
    book = Notebook().run("from helpers.checks import borrow, check")
    book.run('check("2.B", borrow("2.B"))')
    with pytest.raises(CheckFailed):
        book.run("def softmax(x): return x", 'check("2.A", softmax)')
    assert not (work / kept.FOLDER).exists()


@pytest.mark.parametrize("name", ["COURSE_PROGRESS", *GRADERS])
def test_tests_and_graders_neither_keep_nor_load(name, work, monkeypatch, capsys):
    solve_22()
    monkeypatch.setenv(name, "off")
    (work / kept.FOLDER / "2.B.py").write_text("raise SystemExit('loaded')")
    solve_22()
    assert "loaded" in (work / kept.FOLDER / "2.B.py").read_text()
    capsys.readouterr()
    assert taken("2.B").the_courses() == ["scaled_dot_product_attention"]
    said = "mine.scaled_dot_product_attention: the course's, until 2.B passes"
    assert capsys.readouterr().out == f"{said} in lesson 02\n"


def test_nothing_is_loaded_in_the_folder_of_solutions(work, monkeypatch):
    solve_22()
    there = work.rename(work.parent / progress.SOLUTIONS)
    monkeypatch.chdir(there)
    assert taken("2.B").the_courses() == ["scaled_dot_product_attention"]


# --- what no longer works -------------------------------------------------------------


@pytest.mark.parametrize(
    "change, why",
    [
        (lambda text: "import nowhere\n" + text, "ModuleNotFoundError: No module"),
        (lambda text: text.replace("1 / 2", "1 / 3"), "it no longer passes"),
        (lambda text: text[: len(text) // 2], "SyntaxError: "),
        (lambda text: "raise SystemExit", "SystemExit: "),
        (lambda text: "", "it lacks scaled_dot_product_attention"),
    ],
)
def test_an_answer_that_fails_now_gives_way_to_the_course_s(change, why, work, capsys):
    solve_22()
    path = work / kept.FOLDER / "2.B.py"
    path.write_text(change(path.read_text()))
    capsys.readouterr()
    mine = taken("2.B")
    assert mine.scaled_dot_product_attention is find("2.B").references[0]
    (line,) = capsys.readouterr().out.splitlines()
    assert "the course's, since lesson 02 kept your 2.B, but " + why in line


def test_what_an_answer_takes_in_turn_is_named_where_it_is_the_course_s(work, capsys):
    Notebook().run(*cells_of(3, "3.C"))
    capsys.readouterr()
    taken("3.C")
    said = "yours, kept by lesson 03, with the course's scaled_dot_product_attention"
    assert capsys.readouterr().out == f"mine.MultiHeadAttention: {said}\n"


def test_an_answer_that_takes_itself_comes_to_an_end(work, capsys):
    (work / kept.FOLDER).mkdir()
    text = (
        "from helpers.student.own_parts import OwnParts\nmine = OwnParts()\n"
        'mine.take("2.B")\n'
        "scaled_dot_product_attention = mine.scaled_dot_product_attention"
    )
    (work / kept.FOLDER / "2.B.py").write_text(text)
    assert taken("2.B").the_courses() == ["scaled_dot_product_attention"]
