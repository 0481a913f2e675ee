"""What somebody may do to the file that is handed in, without any code.

Each takes a short notebook in which 2.A is right, and returns it changed.
"""

import json
from collections.abc import Callable

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_output

from tests.submissions import place

GENEROUS = {"points": 1000, "max_score": 1000, "task": True, "checksum": "0"}
PASSED = """<script>document.title='OWNED'</script>✓ 2.B passed. 19 of 19 points"""


def _graded(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if "nbgrader" in cell.metadata]


def _checks(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.id.endswith("-check")]


def generous(notebook: NotebookNode) -> NotebookNode:
    """A thousand points for each cell."""
    for cell in _graded(notebook):
        cell.metadata.nbgrader |= GENEROUS
    return notebook


def unlocked(notebook: NotebookNode) -> NotebookNode:
    """Checks are answers, answers are checks; nothing is locked, no error counts."""
    for cell in _graded(notebook):
        own = cell.metadata.nbgrader
        own.grade, own.solution, own.locked = own.solution, own.grade, False
        cell.metadata.tags = ["skip-execution", "raises-exception", "nbgrader"]
    for cell in _checks(notebook):
        cell.source = "print('✓')"
    return notebook


def swapped(notebook: NotebookNode) -> NotebookNode:
    """Each answer has the id of its check, and the check that of the answer."""
    for check in _checks(notebook):
        answer = notebook.cells[place(notebook, check.id.removesuffix("-check"))]
        check.id, answer.id = answer.id, check.id
        check.metadata, answer.metadata = answer.metadata, check.metadata
    return notebook


def backwards(notebook: NotebookNode) -> NotebookNode:
    """The checks stand before the answers."""
    notebook.cells = notebook.cells[::-1]
    return notebook


def thrice(notebook: NotebookNode) -> NotebookNode:
    """Each check stands three times, twice as something else."""
    for check in _checks(notebook):
        where = place(notebook, check.id)
        other = nbformat.from_dict({**check, "source": "print('✓ passed')"})
        notebook.cells[where:where] = [other, nbformat.from_dict(other)]
    return notebook


def as_text(notebook: NotebookNode) -> NotebookNode:
    """The checks are no code, so that none fails."""
    for cell in _checks(notebook):
        cell.cell_type = "markdown"
        cell.pop("outputs", None), cell.pop("execution_count", None)
        cell.attachments = {"a.svg": {"image/svg+xml": "<svg onload='x()'/>"}}
    return notebook


def unchecked(notebook: NotebookNode) -> NotebookNode:
    """There are no checks."""
    kept = [cell for cell in notebook.cells if not cell.id.endswith("-check")]
    notebook.cells = kept
    return notebook


def raw_answers(notebook: NotebookNode) -> NotebookNode:
    """The answers are raw cells of HTML."""
    for cell in _graded(notebook):
        if cell.metadata.nbgrader.solution and cell.cell_type == "code":
            cell.cell_type, cell.metadata.format = "raw", "text/html"
    return notebook


def another_kernel(notebook: NotebookNode) -> NotebookNode:
    """It asks for another program to run it."""
    argv = ["/bin/sh", "-c", "touch /tmp/OWNED"]
    notebook.metadata.kernelspec = {"name": "../../evil", "argv": argv, "language": "c"}
    notebook.metadata.language_info = {"name": "bash", "nbconvert_exporter": "os.exec"}
    notebook.metadata.widgets = {"application/x": {"state": {"a": PASSED}}}
    return notebook


def ran_already(notebook: NotebookNode) -> NotebookNode:
    """The outputs say that all has passed."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            text = {"text/html": PASSED, "text/plain": "2.0"}
            cell.outputs = [new_output("execute_result", text, execution_count=1)]
            cell.execution_count = 10**17
    return notebook


def double_keys(notebook: NotebookNode) -> bytes:
    """Everything stands twice, first as nonsense."""
    text = json.dumps(notebook)
    text = text.replace('"source": ', '"source": [[]], "source": ')
    text = text.replace('"cells": ', '"cells": 3, "metadata": null, "cells": ', 1)
    return text.encode()


def old_format(notebook: NotebookNode) -> bytes:
    """The format of 2013, with worksheets."""
    return json.dumps(nbformat.convert(notebook, 3)).encode()


def _numbered(number: object) -> Callable[[NotebookNode], bytes]:
    def write(notebook: NotebookNode) -> bytes:
        return json.dumps({**notebook, "nbformat": number}).encode()

    return write


def deep(notebook: NotebookNode) -> bytes:
    """Metadata as deep as JSON is still read."""
    inner = '{"a": ' * 900 + "1" + "}" * 900
    text = json.dumps({**notebook, "metadata": {}})
    return text.replace('"metadata": {}, "nbf', f'"metadata": {inner}, "nbf').encode()


def long_number(notebook: NotebookNode) -> bytes:
    """A number of a hundred thousand digits."""
    text = json.dumps({"a": 7, **notebook})
    return text.replace('"a": 7', f'"a": {"7" * 10**5}').encode()


# Name -> (what is done, the points that are left, what is said of it).
EDITS = {
    "generous": (generous, "2", ""),
    "unlocked": (unlocked, "2", "ex-2-A-check was edited: the released text was run"),
    "swapped": (swapped, "0", "ex-2-A-check was edited"),
    "backwards": (backwards, "0", ""),
    "thrice": (thrice, "2", "ex-2-A-check stands twice: the last one counts"),
    "checks as text": (as_text, "2", "ex-2-A-check was a markdown cell: changed back"),
    "unchecked": (unchecked, "2", "ex-2-A-check was missing: added again"),
    "raw answers": (raw_answers, "2", "ex-2-A was a raw cell: changed back"),
    "another kernel": (another_kernel, "2", ""),
    "ran already": (ran_already, "2", ""),
    "double keys": (double_keys, "2", ""),
    "format of 2013": (old_format, "2", ""),
    "format of 2099": (_numbered(99), "2", ""),
    "format in words": (_numbered("four"), "", "the file is JSON, but no notebook"),
    "deep metadata": (deep, "", "the file is JSON, but no notebook"),
    "long number": (long_number, "", "the file is not a notebook (not JSON)"),
}
