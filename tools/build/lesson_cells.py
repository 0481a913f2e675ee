"""Run cells of a lesson, or any source, as a notebook does: in one namespace.

Every cell gets a file name of its own and its source is kept for `inspect` and for
tracebacks, so that checks find the lines of an answer.
"""

import ast
import io
import itertools
import linecache
from contextlib import redirect_stdout
from functools import cache
from typing import Any

from nbformat import NotebookNode

from tools.build.notebooks import Lesson, lesson_paths, read
from tools.build.stubs import solved, stub

_numbers = itertools.count()


def run_cell(source: str, namespace: dict[str, Any]) -> None:
    """Execute a cell's source; what it defines can be inspected afterwards."""
    name = f"<cell {next(_numbers)}>"
    lines = source.splitlines(keepends=True)
    linecache.cache[name] = (len(source), None, lines, name)
    exec(compile(source, name, "exec"), namespace)


def typed(source: str, *names: str) -> Any:
    """The thing, or the things, that a notebook cell defines.

    Args:
        source: The cell; `torch`, `nn` and `Tensor` are there already.
        *names: What to return of it.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    run_cell("import torch\nfrom torch import Tensor, nn", namespace)
    run_cell(source, namespace)
    found = [namespace[name] for name in names]
    return found if len(found) > 1 else found[0]


@cache
def lesson(number: int) -> Lesson:
    """The lesson with this number.

    Raises:
        AssertionError: There is none.
    """
    for path in lesson_paths():
        if path.name.startswith(f"{number:02}_"):
            return read(path)
    raise AssertionError(f"lessons/{number:02}_*.py is missing.")


@cache
def solutions(number: int) -> dict[str, Any]:
    """The names of a lesson whose exercises are all solved."""
    return _run(number, solved)


@cache
def stubs(number: int) -> dict[str, Any]:
    """The names of a lesson in which nothing is filled in."""
    return _run(number, stub)


def _run(number: int, cut) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in filter(is_needed, lesson(number).cells):
        exercise = cell.metadata.get("exercise")
        source = cut(cell.source, exercise) if exercise else cell.source
        with redirect_stdout(io.StringIO()):  # a bug hunt prints its evidence
            run_cell(source, namespace)
    return namespace


def is_needed(cell: NotebookNode) -> bool:
    """Whether an answer may rely on a cell: imports, locked code and answers."""
    return cell.cell_type == "code" and bool(
        "exercise" in cell.metadata
        or cell.metadata.get("locked")
        or imports(cell.source)
    )


def imports(source: str) -> bool:
    """Whether a cell holds little but imports."""
    kinds = [isinstance(node, ast.Import | ast.ImportFrom) for node in _body(source)]
    return sum(kinds) > len(kinds) / 2


def _body(source: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except SyntaxError:  # a magic
        return []
