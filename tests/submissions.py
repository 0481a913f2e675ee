"""Submissions as students hand them in: right, wrong, broken and malicious."""

import json
import textwrap
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
NAME = "02_attention"


def released() -> NotebookNode:
    """The notebook that students get."""
    return nbformat.read(ROOT / "notebooks" / f"{NAME}.ipynb", 4)


def solved() -> NotebookNode:
    """The notebook with all solutions, as nobody executed it."""
    notebook = nbformat.read(ROOT / "solutions" / f"{NAME}.ipynb", 4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def short(notebook: NotebookNode) -> NotebookNode:
    """What takes time left out: only imports, answers, checks and locked cells."""
    notebook.cells = [
        cell
        for place, cell in enumerate(notebook.cells)
        if "nbgrader" in cell.metadata or "import torch\n" in cell.source
    ]
    return notebook


def place(notebook: NotebookNode, name: str) -> int:
    """Where the cell with this id stands."""
    return [cell.id for cell in notebook.cells].index(name)


def filled(
    answers: dict[str, str], notebook: NotebookNode | None = None
) -> NotebookNode:
    """A short notebook with some answer cells filled in.

    Args:
        answers: "ex-2-B" -> its source.
        notebook: What to start from instead.
    """
    notebook = notebook or short(released())
    for name, source in answers.items():
        notebook.cells[place(notebook, name)].source = source
    return notebook


def solution(name: str) -> str:
    """The source of a model solution's cell."""
    notebook = solved()
    return notebook.cells[place(notebook, name)].source


def with_cell(notebook: NotebookNode, before: str, source: str) -> NotebookNode:
    """Add a cell of the student's own."""
    cell = nbformat.v4.new_code_cell(source)
    notebook.cells.insert(place(notebook, before), cell)
    return notebook


def hand_in(folder: Path, student: str, notebook: NotebookNode | str | bytes) -> Path:
    """Put a submission where `make grade` looks for it."""
    path = folder / student / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    if isinstance(notebook, NotebookNode):
        notebook = json.dumps(notebook)
    content = notebook.encode() if isinstance(notebook, str) else notebook
    path.write_bytes(content)
    return path


def code(text: str) -> str:
    """A cell's source, written indented."""
    return textwrap.dedent(text).strip()


def ids(notebook: NotebookNode) -> Iterable[str]:
    """The ids of all cells."""
    return [cell.id for cell in notebook.cells]
