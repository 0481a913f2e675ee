"""First-order mutants of a piece of code: one small change each.

What is changed: operators, comparisons, constants and axes, signs, arguments that are
dropped or swapped, one name for another, the ends of slices, conditions, methods that
are left out, whole lines.
"""

import ast
import copy
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

OPERATORS = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
# Their first two arguments may be swapped: it changes nothing.
SYMMETRIC = {
    "allclose", "cosine_similarity", "cross", "equal", "isclose", "maximum", "max",
    "mse_loss", "swapaxes", "transpose",
}  # fmt: skip
DROPPED = (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.For)


@dataclass(frozen=True)
class Mutant:
    """Source with one change in it."""

    line: int  # of the original source, from 1
    before: str  # the statement that was changed
    after: str
    source: str

    def __str__(self) -> str:
        """As it is listed."""
        return f"{self.before}  ->  {self.after}"


def mutants(source: str, lines: Collection[int]) -> Iterator[Mutant]:
    """Every mutant of these lines, each of them once.

    Args:
        source: The code around them, a whole cell.
        lines: The numbers of the lines that may change, from 1.
    """
    tree = ast.parse(source)
    seen = {ast.unparse(tree)}
    names = _names(tree)
    signed = {n.operand for n in ast.walk(tree) if isinstance(n, ast.UnaryOp)}
    for place, node in enumerate(ast.walk(tree)):
        if getattr(node, "lineno", None) not in lines:
            continue
        if node in signed and isinstance(node, ast.Constant):
            continue  # changed together with its sign
        for change in _changes(node, names):
            changed = copy.deepcopy(tree)
            at = _nth(changed, place)
            after = change(at)
            if after is not at:
                _put(changed, at, after)
            ast.fix_missing_locations(changed)
            text = ast.unparse(changed)
            if text in seen:
                continue
            seen.add(text)
            yield Mutant(
                node.lineno, *_statement(tree, changed, node.lineno), source=text
            )


def _nth(tree: ast.AST, place: int) -> ast.AST:
    for number, node in enumerate(ast.walk(tree)):
        if number == place:
            return node
    raise IndexError(place)


def _put(tree: ast.AST, old: ast.AST, new: ast.AST | None) -> None:
    """Put a node in another's place; `pass` in the place of a line that is dropped."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
                return
            if isinstance(value, list):
                for index, item in enumerate(value):
                    if item is old:
                        value[index] = ast.Pass() if new is None else new
                        return


def _names(tree: ast.AST) -> dict[ast.AST, tuple[str, ...]]:
    """For every name that is read in a function: the function's parameters."""
    found = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            given = tuple(a.arg for a in function.args.args if a.arg != "self")
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    found[node] = given
    return found


def _changes(node: ast.AST, names: dict) -> Iterator[Callable[[Any], Any]]:
    """Functions that change a node: they return what stands in its place."""
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        yield from (_operator(kind) for kind in OPERATORS.get(type(node.op), ()))
        if isinstance(node, ast.BinOp):
            yield lambda at: at.left
            if isinstance(node.op, ast.Sub | ast.Div | ast.MatMult | ast.Pow):
                yield lambda at: ast.BinOp(at.right, at.op, at.left)
    elif isinstance(node, ast.Compare):
        for kind in OPERATORS.get(type(node.ops[0]), ()):
            yield lambda at, kind=kind: ast.Compare(at.left, [kind()], at.comparators)
    elif isinstance(node, ast.UnaryOp):
        yield lambda at: at.operand
        if isinstance(node.operand, ast.Constant):  # -1 becomes -2, and never -0
            yield lambda at: ast.UnaryOp(at.op, ast.Constant(at.operand.value + 1))
    elif isinstance(node, ast.Constant):
        yield from (_constant(value) for value in _values(node.value))
    elif isinstance(node, ast.Name) and node in names:
        others = [name for name in names[node] if name != node.id]
        if node.id in names[node]:
            yield from (_name(name) for name in others)
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.Slice):
        for end in ("lower", "upper", "step"):
            if getattr(node, end) is not None:
                yield _without(end)
    elif isinstance(node, ast.IfExp):
        yield lambda at: at.body
        yield lambda at: at.orelse
    if isinstance(node, ast.If | ast.While):
        for value in (True, False):
            yield _condition(value)
    if isinstance(node, DROPPED) and not _is_docstring(node):
        yield lambda at: None


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _operator(kind: type) -> Callable:
    def change(at: Any) -> Any:
        at.op = kind()
        return at

    return change


def _condition(value: bool) -> Callable:
    def change(at: Any) -> Any:
        at.test = ast.Constant(value)
        return at

    return change


def _without(field: str) -> Callable:
    def change(at: Any) -> Any:
        setattr(at, field, None)
        return at

    return change


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, float):
        yield from (value * 2, value / 2, 1.0)


def _constant(value: Any) -> Callable:
    if isinstance(value, int | float) and value < 0:
        return lambda at: ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return lambda at: ast.Constant(value)


def _name(name: str) -> Callable:
    return lambda at: ast.Name(name, ast.Load())


def _calls(node: ast.Call) -> Iterator[Callable]:
    starred = any(isinstance(arg, ast.Starred) for arg in node.args)
    if not starred and _called(node) not in SYMMETRIC:
        yield from (_swapped(first) for first in range(len(node.args) - 1))
    for place in range(len(node.keywords)):
        yield _less_keyword(place)
    if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
        yield lambda at: at.func.value  # the method is left out
    if len(node.args) == 1 and not node.keywords and isinstance(node.func, ast.Name):
        yield lambda at: at.args[0]  # the function is left out


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _is_module(node: ast.AST) -> bool:
    """Whether it is not a value: torch.exp(x) without `.exp(x)` is not a slip."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("torch", "nn", "F", "math", "np")


def _swapped(first: int) -> Callable:
    def change(at: Any) -> Any:
        pair = at.args[first : first + 2]
        at.args[first : first + 2] = pair[::-1]
        return at

    return change


def _less_keyword(place: int) -> Callable:
    def change(at: Any) -> Any:
        del at.keywords[place]
        return at

    return change


def _statement(old: ast.AST, new: ast.AST, line: int) -> tuple[str, str]:
    """The statement at a line before and after: the smallest that was changed."""
    before, after = ast.unparse(old).splitlines(), ast.unparse(new).splitlines()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    shown = [" / ".join(part.strip() for part in some) for some in (before, after)]
    return shown[0], shown[1] or "(dropped)"
