"""Find what the student has not written yet, and the lines they wrote."""

import ast
import inspect
import linecache
import textwrap
import traceback
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any


@dataclass(frozen=True)
class Line:
    """A line of the student's code."""

    number: int  # within its cell or file, from 1
    text: str

    def __str__(self) -> str:
        """As it is shown to people."""
        return f"line {self.number}: {self.text}"


def code_of(thing: Any) -> CodeType | None:
    """The code of a function, or of any method of a class; None for other things.

    A class typed into a notebook has no file that `inspect` could find, but its
    methods remember the cell.
    """
    thing = inspect.unwrap(thing) if callable(thing) else thing
    thing = getattr(thing, "func", thing)  # functools.partial
    thing = getattr(thing, "__func__", thing)
    if isinstance(thing, type):
        methods = (value for value in vars(thing).values() if inspect.isfunction(value))
        thing = inspect.unwrap(next(methods, None))
    return getattr(thing, "__code__", None)


def file_of(thing: Any) -> str | None:
    """The file or notebook cell that a function or class was written in."""
    code = code_of(thing)
    return code.co_filename if code else None


def blank(thing: Any) -> Line | None:
    """The first `name = ...` left in the source of a function or class.

    What stands for an answer of another process says so itself, as `left_blank`.
    """
    if isinstance(left := getattr(thing, "left_blank", None), Line):
        return left
    code = code_of(thing)
    if code is None:
        return None
    lines = linecache.getlines(code.co_filename)
    tree = _tree("".join(lines))
    for node in ast.walk(_definition(tree, thing, code) or ast.Module([], [])):
        assigned = isinstance(node, ast.Assign | ast.AnnAssign)
        if assigned and isinstance(node.value, ast.Constant):
            if node.value.value is Ellipsis:
                return Line(node.lineno, lines[node.lineno - 1].strip())
    return None


def definition(thing: Any) -> ast.AST | None:
    """The definition of a function or class in its file; None of a lambda."""
    code = code_of(thing)
    if code is None:
        return None
    tree = _tree("".join(linecache.getlines(code.co_filename)))
    found = _definition(tree, thing, code)
    inside = isinstance(found, ast.FunctionDef) and found.name != code.co_name
    return None if inside else found


def returns_nothing(thing: Any) -> bool:
    """Whether no `return` or `yield` of a function has a value, as far as is seen."""
    code = code_of(thing)
    lines = linecache.getlines(code.co_filename) if code else []
    found = _definition(_tree("".join(lines)), thing, code) if code else None
    if found is None or found.name not in (code.co_name, getattr(thing, "__name__", 0)):
        return True  # a lambda inside of it
    left: list[ast.AST] = [found]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    while left:
        node = left.pop()
        if isinstance(node, ast.Return | ast.Yield):
            if not (node.value is None or _is_none(node.value)):
                return False
        inner = node is not found and not isinstance(found, ast.ClassDef)
        if not (inner and isinstance(node, kinds)):
            left += ast.iter_child_nodes(node)
    return True


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


@lru_cache(maxsize=8)
def _tree(source: str) -> ast.Module:
    try:
        return ast.parse(textwrap.dedent(source))
    except SyntaxError:  # a cell with magics
        return ast.Module([], [])


def _definition(tree: ast.AST, thing: Any, code: CodeType) -> ast.AST | None:
    """The definition that holds the code's first line; the whole class for a class."""
    kinds = (ast.ClassDef,) if isinstance(thing, type) else (ast.FunctionDef,)
    holds = [
        node
        for node in ast.walk(tree)
        if isinstance(node, kinds)
        and _first(node) <= code.co_firstlineno <= node.end_lineno
    ]
    return max(holds, key=_first, default=None)


def _first(node: ast.AST) -> int:
    return min([node.lineno, *(mark.lineno for mark in node.decorator_list)])


def student_line(error: BaseException, file: str | None) -> Line | None:
    """The deepest line of the student's own file on the way to an error."""
    frames = traceback.extract_tb(error.__traceback__)
    mine = [frame for frame in frames if frame.filename == file]
    if not mine:
        return None
    return Line(mine[-1].lineno, (mine[-1].line or "").strip())
