"""A class in which some mean harm: what they hand in, and what it may cost them.

Every attack is made by code when it is needed; none is stored.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_raw_cell

from tests import submissions as handed
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
for one in engine.find("2.2").misconceptions:
    object.__setattr__(one, "name", [one.name])
{WRONG}"""
A_LINE_OF_MY_OWN = f"""
import fcntl, json, os

def write(*_):
    line = {{"exercise": "2.2", "outcome": "wrong", "misconception": ["a", {{}}],
            "borrowed": False, "intact": True}}
    for number in range(3, 200):
        try:
            if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_APPEND:
                os.write(number, json.dumps(line).encode() + b"\\n")
        except OSError:
            pass

get_ipython().events.register("post_run_cell", write)
{WRONG}"""


@dataclass(frozen=True)
class Student:
    """One of the class."""

    name: str  # as grading writes it
    hand_in: Callable[[Path], object]  # is given the folder of all submissions
    points: str  # "" where there is nothing to grade
    reason: str = ""  # what the notes say then
    sample: bool = False  # whether `make test` has it too


def answered() -> NotebookNode:
    """A notebook in which 2.1 is right: 2 points."""
    return handed.filled({"ex-2-1": handed.solution("ex-2-1")})


def amid(source: str) -> NotebookNode:
    """The same, with a cell of the student's own behind it."""
    return handed.with_cell(answered(), "ex-2-2", source)


def instead(source: str) -> NotebookNode:
    """The same, with an answer to 2.2."""
    return handed.filled({"ex-2-2": source}, answered())


def written(source: str) -> NotebookNode:
    """The same, with a written answer."""
    return handed.filled({"ex-2-8": source}, answered())


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


BROKEN = b"\xfc" * 80
SPOOF = "zoe\nline 99 02_attention: 19 of 19 points"
CLASS = [
    _one("anna", lambda: handed.solved(), "19"),
    _one("ben", lambda: handed.filled({"ex-2-2": handed.solution("ex-2-2")}), "4"),
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
    Student("odd", _bytes("odd", b'{"cells": [{}]}'), "", "but no notebook"),
    _named("x" * 250, lambda: instead(A_LIST_FOR_A_NAME), sample=True),
    _named(BROKEN),
    _named(SPOOF, lambda: amid(MUCH), sample=True),
    _named("\x1b[31mred"),
    _named(" =1+1", lambda: written("Rows sum to **one**."), sample=True),
    _named("＝1+1"),
    _named('<img src=x onerror="1">', lambda: amid(SHOW), sample=True),
]
