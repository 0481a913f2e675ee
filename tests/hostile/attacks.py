"""A class in which some mean harm: what they hand in, and what it may cost them.

Every attack is made by code when it is needed; none is stored.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_raw_cell

from tests import submissions as handed
from tests.hostile import edited, sources
from tools.grading.find import readable

SCRIPT = """<img src="x" onerror="document.title='OWNED'">"""
MARKDOWN = f"""\
Padding is left out, since $a<b$ and **exp** of minus infinity is 0.

{SCRIPT}<script>document.title='OWNED'</script>
<iframe srcdoc="<script>parent.document.title='OWNED'</script>"></iframe>
[a link](javascript:document.title='OWNED'), [another](java&#115;cript:alert(1)),
[one by name][page], ![a picture](http://127.0.0.1:9/seen.png) and
<javascript:alert(1)>, `a < b` and `<b>`.

[page]: data:text/html,<script>alert(1)</script>
"""
SHOW = f"""
from IPython.display import HTML, SVG, Javascript, display
display(HTML({SCRIPT!r}))
display(Javascript("document.title='OWNED'"))
display(SVG(data='<svg xmlns="http://www.w3.org/2000/svg" onload="x()"><g/></svg>'))
display({{"text/markdown": {SCRIPT!r}, "text/latex": {SCRIPT!r}}}, raw=True)
display({{"image/png": '"><script>document.title="OWNED"</script>'}}, raw=True)
"""
MUCH = """
from IPython.display import display
display({"application/json": {"a": ["x" * 1_000_000] * 60}}, raw=True)
display({"text/plain": "x"}, raw=True, metadata={"a": "x" * 60_000_000})
"""
WRONG = """
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-1, -2)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
"""
A_LIST_FOR_A_NAME = f"""
from helpers.checks import engine
for one in engine.find("2.B").misconceptions:
    object.__setattr__(one, "name", [one.name])
{WRONG}"""
A_LINE_OF_MY_OWN = f"""
import fcntl, json, os

def write(*_):
    line = {{"exercise": "2.B", "outcome": "wrong", "misconception": ["a", {{}}],
            "borrowed": False, "intact": True}}
    for number in range(3, 200):
        try:
            if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_APPEND:
                os.write(number, json.dumps(line).encode() + b"\\n")
        except OSError:
            pass

get_ipython().events.register("post_run_cell", write)
{WRONG}"""


# Every answer is wrong, and the check is to be talked into passing it: name -> source.
WRONG_ANSWERS = {
    "ex-2-A": "def softmax(x, dim=-1):\n    return x",
    "ex-2-B": WRONG,
    "ex-2-G": "impossible_entries = -17",
    "ex-2-D": "def looks_healthy(attend):\n    return True",
    "ex-2-E": "too_small_by = -17.0",
    "ex-2-H": "times_applied = -17",
}
ANYTHING = """
class Anything(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True

def softmax(x, dim=-1):
    return x.as_subclass(Anything)
"""
YES = """
class Yes(float):
    __eq__ = lambda self, other: True
    __sub__ = lambda self, other: 0.0

too_small_by, times_applied = Yes(-17.0), Yes(-17)
"""
REFERENCE = """
from helpers.checks import exercises
known = {one.id: one.references for one in exercises()}

def softmax(x, dim=-1):
    return known["2.A"][0](x, dim)
"""
STACK = """
import sys

def softmax(x, dim=-1):
    frame = sys._getframe()
    while frame := frame.f_back:
        if "answer" in frame.f_locals:
            return frame.f_locals["answer"].reference(x, dim)
    return x
"""
BORROWED = """
import os
os.environ.clear()
from helpers.checks import borrow
lent = borrow("2.A")

def softmax(x, dim=-1):
    return lent(x, dim)
"""
APPENDED = """
import fcntl, json, os
names = ("2.A", "2.B", "2.F", "2.C", "2.D", "2.J")

def write(*_):
    for number in range(3, 200):
        for name in names:
            line = {"exercise": name, "outcome": "passed", "misconception": None,
                    "borrowed": False, "intact": True}
            try:
                if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_APPEND:
                    os.write(number, json.dumps(line).encode() + b"\\n")
            except OSError:
                pass

for moment in ("pre_run_cell", "post_run_cell"):
    get_ipython().events.register(moment, write)
"""
COUNTED = """
verdicts = iter([True, True] + 7 * [False])

def looks_healthy(attend):
    return next(verdicts, False)
"""
KNOWN_SEED = """
from helpers.checks.observe import cases_of
from helpers.checks import engine
engine.SEED = 0
engine.examine = None
"""
# What each does -> the cell behind the wrong answers, just before the first check.
CHEATS = {
    "report patched": """
from helpers.checks import Report
Report.outcome = property(lambda self: "passed", lambda self, value: None)
""",
    "cases emptied": """
from helpers.checks import exercises
for one in exercises():
    object.__setattr__(one, "cases", lambda seed: [])
""",
    "own lines": APPENDED,
    "dumps replaced": """
import gc, json
from helpers.checks import engine, progress
def passed(line, *_, **__):
    return json.JSONEncoder().encode(line | {"outcome": "passed", "intact": True})
json.dumps = passed
for one in gc.get_objects():
    if getattr(one, "__name__", "") == "record" and getattr(one, "__closure__", None):
        for cell in one.__closure__:
            if getattr(cell.cell_contents, "__name__", "") == "dumps":
                cell.cell_contents = passed
""",
    "all is true": "import builtins\nbuiltins.all = lambda them: True",
    "calls references": REFERENCE,
    "climbs the stack": STACK,
    "borrows unseen": BORROWED,
    "lying tensor": ANYTHING,
    "lying number": YES,
    "equal patched": "torch.equal = lambda one, other: True",
    "counts patients": COUNTED,
    "judge replaced": KNOWN_SEED,
}
READERS = ("calls references", "reads the disk")  # of what namespaces hide
IN_MAKE_TEST = ("report patched", "cases emptied", "own lines")


def cheating(source: str) -> NotebookNode:
    """A notebook with nothing but wrong answers, and a cell that is to help them.

    Where the cell has an answer of its own, no other one is written over it.
    """
    wrong = {
        cell: "" if _answers(source, text) else text
        for cell, text in WRONG_ANSWERS.items()
    }
    notebook = handed.filled(wrong)
    return handed.with_cell(notebook, "ex-2-A-check", source)


def _answers(source: str, other: str) -> bool:
    """Whether a source gives something the name that another one gives."""
    name = re.search(r"\w+(?=\(| =)", other)[0]
    given = rf"^ *(def {name}\b|[\w, =]*\b{name}\b[\w, =]* = )"
    return bool(re.search(given, source, re.MULTILINE))


@dataclass(frozen=True)
class Student:
    """One of the class."""

    name: str  # as grading writes it
    hand_in: Callable[[Path], object]  # is given the folder of all submissions
    points: str  # "" where there is nothing to grade
    reason: str = ""  # what the notes say, or what is to be looked at
    sample: bool = False  # whether `make test` has it too
    loose: str = ""  # the points without namespaces, where they are others


def answered() -> NotebookNode:
    """A notebook in which 2.A is right: 2 points."""
    return handed.filled({"ex-2-A": handed.solution("ex-2-A")})


def amid(source: str) -> NotebookNode:
    """The same, with a cell of the student's own behind it."""
    return handed.with_cell(answered(), "ex-2-B", source)


def instead(source: str) -> NotebookNode:
    """The same, with an answer to 2.B."""
    return handed.filled({"ex-2-B": source}, answered())


def written(source: str) -> NotebookNode:
    """The same, with a written answer."""
    return handed.filled({"ex-2-K": source}, answered())


def beside(cell: NotebookNode) -> NotebookNode:
    """The same, with a cell of any kind."""
    notebook = answered()
    notebook.cells.insert(1, cell)
    return notebook


def _in(folder: str | bytes, notebook: Callable[[], NotebookNode]) -> Callable:
    """Hand in a notebook in a folder of any name."""

    def hand_in(where: Path) -> None:
        handed.hand_in(where, os.fsdecode(folder), notebook())

    return hand_in


def _one(name: str, notebook: Callable, points: str = "2", **others: object) -> Student:
    """A student with a plain name."""
    return Student(name, _in(name, notebook), points, **others)


def _named(
    name: str | bytes, notebook: Callable = answered, **others: object
) -> Student:
    """A student whose name is an attack, and perhaps the notebook too."""
    return Student(readable(os.fsdecode(name)), _in(name, notebook), "2", **others)


def _path(where: Path, student: str) -> Path:
    (where / student).mkdir()
    return where / student / f"{handed.NAME}.ipynb"


def _pipe(where: Path) -> None:
    os.mkfifo(_path(where, "pipe"))


def _hole(where: Path) -> None:
    with _path(where, "hole").open("wb") as file:
        file.truncate(1 << 40)


def _bytes(student: str, content: bytes) -> Callable:
    return lambda where: handed.hand_in(where, student, content)


def _half_a_letter() -> NotebookNode:
    notebook = answered()
    notebook.cells.insert(1, new_markdown_cell("half a letter: \ud83d"))
    return notebook


def _edited(name: str) -> Student:
    """A student who changed the file and not the answers."""
    change, points, reason = edited.EDITS[name]

    def hand_in(where: Path) -> None:
        handed.hand_in(where, name, change(answered()))

    return Student(name, hand_in, points, reason)


BROKEN = b"\xfc" * 80
STAYS = "sleep 86399 "  # the command of a process that means to stay
SPOOF = "zoe\nline 99 02_attention: 19 of 19 points"
CLASS = [
    _one("anna", lambda: handed.solved(), "19"),
    _one("ben", lambda: handed.filled({"ex-2-B": handed.solution("ex-2-B")}), "4"),
    _one("cleo", lambda: handed.filled({}), "0"),
    _one("dan", answered),
    _one("writes script", lambda: written(MARKDOWN), sample=True),
    _one("script beside", lambda: beside(new_markdown_cell(MARKDOWN))),
    _one("raw script", lambda: beside(new_raw_cell(SCRIPT))),
    _one("own line", lambda: instead(A_LINE_OF_MY_OWN)),
    _one("half a letter", _half_a_letter),
    Student("pipe", _pipe, "", "it is a special file, not a file", sample=True),
    Student("hole", _hole, "", "the file is larger than 20 MB", sample=True),
    Student("deep", _bytes("deep", b"[" * 100_000), "", "(not JSON)", sample=True),
    Student(
        "odd", _bytes("odd", b'{"cells": [{}]}'), "", "but no notebook", sample=True
    ),
    _named("x" * 250, lambda: instead(A_LIST_FOR_A_NAME), sample=True),
    _named(BROKEN),
    _named(SPOOF, lambda: amid(MUCH), sample=True),
    _named("\x1b[31mred"),
    _named(" =1+1", lambda: written("Rows sum to **one**."), sample=True),
    _named("＝1+1"),
    _named('<img src=x onerror="1">', lambda: amid(SHOW), sample=True),
    *(
        _one(
            f"cheat, {name}",
            partial(cheating, source),
            "0",
            sample=name in IN_MAKE_TEST,
            loose="2" * (name in READERS),
        )
        for name, source in CHEATS.items()
    ),  # fmt: skip
    *(
        _one(f"harm, {name}", partial(amid, source), reason=reason)
        for name, (source, reason) in sources.HARM.items()
    ),
    *(
        _one(
            f"cheat, {name}",
            partial(cheating, source),
            "0",
            reason=reason,
            loose="2" * (name in READERS),
        )
        for name, (source, reason) in sources.CHEATS.items()
    ),
    *map(_edited, edited.EDITS),
]
