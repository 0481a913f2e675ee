"""Run the cells of a lesson that carry a tag, with other values for some names."""

import ast
import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

from tools.build.lesson_cells import lesson, run_cell
from tools.build.stubs import LessonError, solved


@dataclass(frozen=True)
class Outcome:
    """What tagged cells leave behind."""

    names: Mapping[str, Any]  # all that they define
    held: bool  # whether every assertion in them held


def run_tagged(number: int, tag: str, values: Mapping[str, Any]) -> Outcome:
    """Run a lesson's first code cell, its imports, then the cells with a tag.

    Args:
        number: of the lesson
        tag: of the cells, such as "translation"
        values: what some names are in place of what the lesson assigns: {"seed": 1}
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    held = True
    with redirect_stdout(io.StringIO()):
        for source in sources(number, tag, values):
            try:
                run_cell(source, names)
            except AssertionError:
                held = False
    return Outcome(names, held)


def sources(number: int, tag: str, values: Mapping[str, Any]) -> list[str]:
    """The sources of these cells, with the values in them.

    Raises:
        LessonError: No cell carries the tag, or none assigns one of the names.
    """
    code = [cell for cell in lesson(number).cells if cell.cell_type == "code"]
    tagged = [cell for cell in code if tag in cell.metadata.get("tags", [])]
    if not tagged:
        raise LessonError(f"Lesson {number:02} has no cells tagged {tag!r}.")
    found, assigned = [], set()
    for cell in [code[0], *(cell for cell in tagged if cell is not code[0])]:
        source = solved(cell.source, f"a cell tagged {tag!r}")
        changed, these = assigning(source, values)
        assigned |= these
        found.append(changed)
    if missing := set(values) - assigned:
        names = ", ".join(sorted(missing))
        raise LessonError(
            f"Lesson {number:02}: no cell tagged {tag!r} assigns a constant to {names}."
        )
    return found


def assigning(source: str, values: Mapping[str, Any]) -> tuple[str, set[str]]:
    """A cell that assigns other constants to some names, and which names it assigns.

    Only statements of the cell itself count, `seed = 6` or `seed, where = 6, device()`;
    a cell without one comes back as it is.
    """
    tree = ast.parse(source)
    assigned: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                assigned |= _exchanged(statement, target, values)
    return (ast.unparse(tree) if assigned else source), assigned


def _exchanged(
    statement: ast.Assign, target: ast.expr, values: Mapping[str, Any]
) -> set[str]:
    """Exchange the constants that a statement assigns; returns the names."""
    pairs = isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple)
    targets = target.elts if pairs else [target]
    given = statement.value.elts if pairs else [statement.value]
    found = set()
    for place, (one, value) in enumerate(zip(targets, given, strict=False)):
        known = isinstance(one, ast.Name) and one.id in values
        if known and isinstance(value, ast.Constant):
            given[place] = ast.copy_location(ast.Constant(values[one.id]), value)
            found.add(one.id)
    if not pairs:
        statement.value = given[0]
    return found
