"""Cut a solution out of a cell, so that what is left is a stub.

A solution stands between `### BEGIN SOLUTION` and `### END SOLUTION`. In a function
its place is taken by the scaffold lines it carries, written as comments
(`#: scores = ...`), and by a `raise` as the last line. In `__init__` and outside
functions every assigned name becomes a blank, `name = ...`.
"""

import ast
import re
import textwrap
from dataclasses import dataclass

BEGIN, END, SCAFFOLD = "### BEGIN SOLUTION", "### END SOLUTION", "#: "
MISSPELT = re.compile(r"#.*\b(begin|end)[ _]*solution", re.IGNORECASE)
YOUR_ANSWER = "*Write your answer here: double-click this cell.*"


class LessonError(ValueError):
    """Something in a lesson that the build can't turn into notebooks."""


@dataclass(frozen=True)
class Region:
    """The lines of a solution: `first` and `last` are those of its two markers."""

    first: int  # line numbers from 0
    last: int
    lines: tuple[str, ...]  # between the markers

    @property
    def scaffold(self) -> list[str]:
        """The lines that the student gets in its place."""
        marked = (line for line in self.lines if line.lstrip().startswith(SCAFFOLD))
        return [line.replace(SCAFFOLD, "", 1) for line in marked]

    @property
    def solution(self) -> list[str]:
        """The lines that the student does not get."""
        return [line for line in self.lines if not line.lstrip().startswith(SCAFFOLD)]


def regions(source: str, where: str) -> list[Region]:
    """The solution regions of a cell.

    Args:
        source: The cell.
        where: What to call it in an error, such as "exercise 2.B".

    Raises:
        LessonError: A marker has no partner, or is misspelt.
    """
    found, first = [], None
    lines = source.splitlines()
    for number, line in enumerate(lines):
        if line.strip() == BEGIN:
            if first is not None:
                raise LessonError(
                    f"{where}: two {BEGIN} without an {END} between them."
                )
            first = number
        elif line.strip() == END:
            if first is None:
                raise LessonError(f"{where}: {END} without a {BEGIN} before it.")
            found.append(Region(first, number, tuple(lines[first + 1 : number])))
            first = None
        elif MISSPELT.search(line):
            raise LessonError(f"{where}: {line.strip()!r} is not quite a marker.")
    if first is not None:
        raise LessonError(f"{where}: {BEGIN} without an {END} after it.")
    return found


def solved(source: str, where: str) -> str:
    """The cell as the solution notebook shows it: markers and scaffold gone."""
    return _replaced(source, where, lambda region: region.solution)


def markdown_stub(source: str, where: str) -> str:
    """The text cell as the student gets it: a model answer becomes an invitation."""
    return _replaced(source, where, lambda region: [YOUR_ANSWER])


def stub(source: str, exercise: str) -> str:
    """The code cell as the student gets it.

    Raises:
        LessonError: There is no solution to cut out, or the stub would not line up with
            it: other names, a body that goes on after the `raise`.
    """
    where = f"exercise {exercise}"
    if not regions(source, where):
        raise LessonError(f"{where}: no solution is marked with {BEGIN}.")
    tree = _parse(source, where)

    def replacement(region: Region) -> list[str]:
        function = _function_around(tree, region)
        if function is None or function.name == "__init__":
            return _blanks(region, where)
        _line_up(region, where)
        indent = source.splitlines()[region.first]
        indent = indent[: len(indent) - len(indent.lstrip())]
        return [*region.scaffold, f'{indent}raise NotImplementedError("{where}")']

    text = _replaced(source, where, replacement)
    _raises_last(_parse(text, f"{where}, its stub"), where)
    return text


def _replaced(source: str, where: str, replacement) -> str:
    lines = source.splitlines()
    for region in reversed(regions(source, where)):
        lines[region.first : region.last + 1] = replacement(region)
    return "\n".join(lines)


def _parse(source: str, where: str, before: int = 0) -> ast.Module:
    """Parse code that has some lines of ours before it."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        line = error.lineno - before
        raise LessonError(f"{where} is not valid Python, line {line}.") from None


def _function_around(tree: ast.Module, region: Region) -> ast.FunctionDef | None:
    stripped = [line.strip() for line in region.lines]
    code = [n for n, line in enumerate(stripped) if line and line[0] != "#"]
    last = region.first + 2 + max(code, default=-1)  # of its code, counted from 1
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.lineno <= region.first + 1
        and last <= node.end_lineno
    ]
    return max(around, key=lambda node: node.lineno, default=None)


def _blanks(region: Region, where: str) -> list[str]:
    body = _parse(textwrap.dedent("\n".join(region.solution)), where).body
    first = next((line for line in region.lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    blanks: list[str] = []
    for statement in body:
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            raise LessonError(
                f"{where}: a solution outside functions or in __init__ holds "
                f"assignments only, not {ast.unparse(statement)!r}."
            )
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            blanks += [f"{indent}{ast.unparse(name)} = ..." for name in names]
    return list(dict.fromkeys(blanks))


def _line_up(region: Region, where: str) -> None:
    """Refuse a scaffold that names things which the solution does not have."""
    asked = _assigned(region.scaffold, f"{where}: its scaffold ({SCAFFOLD.strip()})")
    given = _assigned(region.solution, where)
    if not asked <= given:
        names = ", ".join(sorted(asked - given))
        raise LessonError(f"{where}: the scaffold has {names}, its solution has not.")


def _assigned(lines: list[str], where: str) -> set[str]:
    body = textwrap.indent(_dedent(lines) or "pass", " ")
    tree = _parse(f"def _():\n{body}", where, before=1)
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _dedent(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(lines)).strip("\n")


def _raises_last(tree: ast.Module, where: str) -> None:
    """Refuse a stub whose `raise` would have to be deleted."""
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    ends = [function.body[-1] for function in functions]
    for node in nodes:
        ours = isinstance(node, ast.Raise) and f"'{where}'" in ast.unparse(node)
        if ours and node not in ends:
            before = (one for one in functions if one.lineno <= node.lineno)
            name = max(before, key=lambda one: one.lineno).name
            raise LessonError(
                f"{where}: code of {name} follows its solution or goes around it."
            )
