"""A submission as it must be executed: its answers, and everything else as released.

Check cells and locked cells get their released text and metadata back, wherever they
were edited, deleted, or copied. Cells that the student added stay: an answer may need
them. Every repair is noted in a few words.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping

import nbformat
from nbformat import NotebookNode

from helpers import first_edition

MOST = 20_000_000  # bytes of a submission
LOOKED = 200_000  # characters of a student's code that are looked through
CHECK = re.compile(r"^check\([\"'](\d+\.\w+)[\"'],", re.MULTILINE)
IMPORT = re.compile(r"\Afrom helpers\.checks import borrow, check\n")
# What an honest answer has no reason to mention. Nothing is deducted for it: a person
# should read that cell.
SUSPECT = re.compile(
    r"NBGRADER\w*|helpers\.(?:checks|exercises)\.\w+|helpers/(?:checks|exercises)|sys\.modules|__code__|"
    r"_getframe|get_ipython|\bgc\.|\bctypes\b|/proc\b|progress\.record|__subclasses__|"
    r"inspect\.getsource|importlib|tools\.grading|settrace|setprofile|addaudithook|"
    r"\bbuiltins\b"
)


class SubmissionError(ValueError):
    """A submission that can't be graded; its text is a plain reason."""


def parse(content: bytes) -> NotebookNode:
    """A submitted file as a notebook of the present format.

    Raises:
        SubmissionError: It is none.
    """
    if len(content) > MOST:
        raise SubmissionError(f"the file is larger than {MOST // 1_000_000} MB")
    if not content.strip():
        raise SubmissionError("the file is empty")
    try:
        text = content.decode("utf-8-sig")
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise SubmissionError("the file is not a notebook (not JSON)") from None
    try:
        notebook = nbformat.from_dict(data)
        if notebook.nbformat < 4:
            notebook = nbformat.convert(notebook, 4)
        cells = [_whole(cell) for cell in notebook.cells]
    except MemoryError:
        raise
    except Exception:  # anything may stand in there
        raise SubmissionError("the file is JSON, but no notebook") from None
    if not cells:
        raise SubmissionError("the notebook has no cells")
    return nbformat.from_dict({"cells": cells})


def _whole(cell: NotebookNode) -> NotebookNode:
    """A fresh cell with the source of one, and of its metadata what grading needs."""
    kinds = {
        "code": nbformat.v4.new_code_cell,
        "markdown": nbformat.v4.new_markdown_cell,
        "raw": nbformat.v4.new_raw_cell,
    }
    source = cell.source if isinstance(cell.source, str) else "".join(cell.source)
    source = source.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    fresh = kinds[cell.cell_type](source.replace("\r\n", "\n"))  # from Windows
    fresh.id = first_edition.cell(str(cell.get("id", "")))
    graded = cell.get("metadata", {}).get("nbgrader", {})
    name = first_edition.cell(str(graded.get("grade_id", "")))
    fresh.metadata["nbgrader"] = {"grade_id": name}
    return fresh


def restore(
    submitted: NotebookNode, released: NotebookNode
) -> tuple[NotebookNode, list[str]]:
    """Put back what belongs to the course.

    Args:
        submitted: What `parse` made of a file.
        released: The notebook of nbgrader's release folder.

    Returns:
        The notebook to execute, and notes on what was repaired.

    Raises:
        SubmissionError: It shares no cell with the released notebook.
    """
    known = {
        cell.metadata.nbgrader.grade_id: cell
        for cell in released.cells
        if "nbgrader" in cell.metadata
    }
    cells = list(submitted.cells)
    names = [_name(cell, known) for cell in cells]
    if not any(names):
        raise SubmissionError("it holds no cell of this lesson's notebook")
    notes: list[str] = []
    last = {name: place for place, name in enumerate(names) if name}
    for place, (cell, name) in enumerate(zip(cells, names, strict=True)):
        cell.metadata = {}
        if name and last[name] != place:
            notes.append(f"{name} stands twice: the last one counts")
        elif name:
            notes += _as_released(cell, known[name], name)
    cells, added = _with_missing(cells, names, released)
    for number, cell in enumerate(cells):
        cell.id = f"g-{number}"  # the submitted ids may be missing, double or odd
    metadata = dict(released.metadata)
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata), notes + added


def _name(cell: NotebookNode, known: Mapping[str, NotebookNode]) -> str | None:
    """Which released cell this is: by its metadata, its id, or the check it makes."""
    found = CHECK.findall(cell.source) if cell.cell_type == "code" else []
    number = first_edition.exercise(found[0]) if len(found) == 1 else ""
    check = f"ex-{number.replace('.', '-')}-check"
    for name in (cell.metadata.nbgrader.grade_id, cell.id, check):
        if name in known:
            return name
    return None


def _as_released(
    cell: NotebookNode, original: NotebookNode, name: str
) -> Iterator[str]:
    cell.metadata = dict(original.metadata)
    solution = original.metadata.nbgrader.solution
    if cell.cell_type != original.cell_type:
        yield f"{name} was a {cell.cell_type} cell: changed back"
        cell.cell_type = original.cell_type
        cell.pop("attachments", None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        else:
            cell.pop("outputs", None), cell.pop("execution_count", None)
    if not solution and _said(cell.source) != _said(original.source):
        yield f"{name} was edited: the released text was run"
    if not solution:
        cell.source = original.source


def _said(source: str) -> str:
    """What a course's cell says, with or without the import that a release adds."""
    source = CHECK.sub(lambda one: f'check("{first_edition.exercise(one[1])}",', source)
    return IMPORT.sub("", source).strip()


def _with_missing(
    cells: list[NotebookNode], names: list[str | None], released: NotebookNode
) -> tuple[list[NotebookNode], list[str]]:
    """Add the released cells that are gone, each behind what came before it.

    A missing answer cell is not added: its stub would hide an answer that was written
    into a cell of the student's own.
    """
    cells, names, notes = list(cells), list(names), []
    place = 0
    for original in released.cells:
        graded = original.metadata.get("nbgrader")
        if not graded:
            continue
        if graded.grade_id in names:
            mine = len(names) - 1 - names[::-1].index(graded.grade_id)
            place = max(place, mine + 1)
        elif graded.solution and not graded.grade:
            notes.append(f"{graded.grade_id} is missing")
        else:
            notes.append(f"{graded.grade_id} was missing: added again")
            cells.insert(place, nbformat.from_dict(original))
            names.insert(place, graded.grade_id)
            place += 1
    return cells, notes


def suspects(
    submitted: NotebookNode, released: NotebookNode, usual: Mapping[str, list[str]]
) -> list[str]:
    """What a person should look at, in a few words each.

    Args:
        submitted: The notebook as `restore` made it.
        released: The notebook as it was given out.
        usual: Exercise's cell -> the names that its model solution uses.
    """
    code, unread = own_code(submitted, released)
    there = {cell.source.strip() for cell in submitted.cells}
    kept = [cell for cell in released.cells if cell.source.strip() in there]
    lent, found = _lent([*kept, *code.values()]), []
    if unread:
        names = unread[:3] + ["..."] * (len(unread) > 3)
        found.append(f"too much code to be looked through: {', '.join(names)}")
    for name, cell in code.items():
        words = sorted(set(SUSPECT.findall(cell.source)))
        if name in usual:
            words += sorted((_names(cell.source) & lent) - set(usual[name]))
        if words:
            found.append(f"{name} mentions {', '.join(words)}")
    return found


def own_code(
    submitted: NotebookNode, released: NotebookNode
) -> tuple[dict[str, NotebookNode], list[str]]:
    """The cells of code that are not the course's, as far as they are looked through.

    Reading code takes time, and more than in proportion where there is much of it.

    Args:
        submitted: The notebook as `restore` made it.
        released: The notebook as it was given out.

    Returns:
        Name -> cell, `LOOKED` characters at most in all; and the names of the others.
    """
    given = {cell.source.strip() for cell in released.cells}
    code, unread, left = {}, [], LOOKED
    for place, cell in enumerate(submitted.cells):
        if cell.cell_type != "code" or cell.source.strip() in given:
            continue
        name = cell.metadata.get("nbgrader", {}).get("grade_id", f"cell {place}")
        if len(cell.source) > left:
            unread.append(name)
            continue
        left -= len(cell.source)
        code[name] = cell
    return code, unread


def _lent(cells: Iterable[NotebookNode]) -> set[str]:
    """The names under which cells import code of the course's own models."""
    found = set()
    for cell in cells:
        for node in ast.walk(_tree(cell.source if cell.cell_type == "code" else "")):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            module = getattr(node, "module", None) or node.names[0].name
            if module.startswith("helpers") and ".figures" not in module:
                found |= {alias.asname or alias.name for alias in node.names}
    return found - {"check", "borrow", "show"}


def _names(source: str) -> set[str]:
    """The names that a cell reads or imports."""
    nodes = list(ast.walk(_tree(source)))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _tree(source: str) -> ast.AST:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def usual_names(solved: NotebookNode) -> dict[str, list[str]]:
    """For each answer cell of a solution notebook the names that it uses."""
    return {
        cell.metadata.nbgrader.grade_id: sorted(_names(cell.source))
        for cell in solved.cells
        if cell.cell_type == "code"
        and cell.metadata.get("nbgrader", {}).get("solution")
    }
