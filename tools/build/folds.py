"""Code that a reader need not see: what draws a figure, what guards a number.

The end of a cell that only does that becomes a folded cell of its own. JupyterLab shows
a bar in its place; a click opens it. What is executed stays the same.
"""

import ast
import copy

from nbformat import NotebookNode

TAG = "hide-input"
# Names that lessons use for drawing alone.
DRAWING = {"axes", "canvas", "draw", "figure", "heat_map", "picture", "show_figure"}
SHOWING = {"play", "print", "show"}  # to be read; they have no value to display


def fold(cell: NotebookNode) -> list[NotebookNode]:
    """The cell, or what is to be read of it and a folded cell with the rest."""
    if cell.cell_type != "code" or "nbgrader" in cell.metadata:
        return [cell]
    shown, rest = split(cell.source)
    if not rest:
        return [cell]
    folded = copy.deepcopy(cell) if shown else cell
    folded.metadata.setdefault("tags", []).append(TAG)
    folded.metadata["jupyter"] = {"source_hidden": True}
    if not shown:
        return [cell]
    folded.source, folded.id = rest, f"{cell.id}-end"
    if folded.metadata.get("slideshow", {}).get("slide_type") != "skip":
        folded.metadata.pop("slideshow", None)  # it stays with what it belongs to
    cell.source = shown
    return [cell, folded]


def split(source: str) -> tuple[str, str]:
    """What is to be read of a cell, and the end of it that only draws or guards."""
    try:
        body = ast.parse(source).body
    except SyntaxError:  # a magic
        return source, ""
    count = len(body)
    while count and _plumbing(body[count - 1]):
        count -= 1
    if count == len(body) or count and _displays(body[count - 1]):
        return source, ""
    lines = source.splitlines()
    end = body[count - 1].end_lineno if count else 0
    return "\n".join(lines[:end]), "\n".join(lines[end:]).strip("\n")


def only_guards(source: str) -> bool:
    """Whether a cell holds nothing but asserts: it shows nothing."""
    try:
        body = ast.parse(source).body
    except SyntaxError:  # a magic
        return False
    return bool(body) and all(map(_guards, body))


def _guards(statement: ast.stmt) -> bool:
    """Whether a statement is an assert, or asserts under a condition."""
    if isinstance(statement, ast.If):
        return all(map(_guards, [*statement.body, *statement.orelse]))
    return isinstance(statement, ast.Assert)


def _plumbing(statement: ast.stmt) -> bool:
    """Whether a statement guards a number, or draws."""
    if _guards(statement):
        return True
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return False
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return bool(names & DRAWING) and not names & SHOWING


def _displays(statement: ast.stmt) -> bool:
    """Whether a notebook would display the value of a statement if it came last."""
    if not isinstance(statement, ast.Expr):
        return False
    call = statement.value
    return not isinstance(call, ast.Call) or ast.unparse(call.func) not in SHOWING
