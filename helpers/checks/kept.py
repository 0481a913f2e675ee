"""Keep passed answers as source beside the notebooks, for the lessons that follow.

An answer is kept with what it needs of its notebook: the imports, functions, classes
and values that it names, and what these name in turn. `.answers/2.2.py` is code that
the student wrote and ran; where a program executes a notebook it is never read.
"""

import ast
import builtins
import inspect
import symtable
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from helpers import first_edition
from helpers.checks.exercise import Exercise
from helpers.checks.limit import TimeLimit
from helpers.checks.observe import said, untouched_world
from helpers.checks.progress import LOCK, PATIENCE, recording, records_folder
from helpers.files import locked, write_whole

FOLDER = ".answers"
LIMIT = 10.0  # seconds of the processor that running a kept file may take
CELLS = "In"  # IPython's list of the cells that were run, among the notebook's names
SIMPLE = (
    ast.FunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Assign,
    ast.AnnAssign,
)


class NotKept(Exception):
    """An answer that can't be kept, or does not run; its text says why."""


# --- the files ------------------------------------------------------------------------


def keep(exercise: Exercise, answers: tuple, folder: Path | None = None) -> None:
    """Keep answers that passed, where progress is recorded; else do nothing.

    Args:
        exercise: What they answer.
        answers: The functions or classes; a value is not kept.
        folder: Where; by default `records_folder`.
    """
    folder = folder or records_folder()
    if exercise.kind == "value" or not recording(folder):
        return
    try:
        text = source(exercise, answers)
        with locked(folder / LOCK, PATIENCE):
            write_whole(_path(exercise.id, folder), text.encode())
    except (NotKept, OSError):
        return  # later lessons use the course's, and say so


def load(exercise: Exercise, folder: Path | None = None) -> dict[str, Any] | None:
    """Run what is kept of an exercise; None where nothing is, or nothing counts.

    Args:
        exercise: Whose answers are looked for.
        folder: Where; by default `records_folder`.

    Returns:
        All names of the file, those of the answers among them.

    Raises:
        NotKept: It does not run, or lacks an answer.
    """
    folder = folder or records_folder()
    paths = [_path(one, folder) for one in _numbers(exercise)]
    path = next((one for one in paths if one.is_file()), None)
    if path is None or not recording(folder):
        return None
    names: dict[str, Any] = {"__name__": f"answer {exercise.id}"}
    with untouched_world():
        try:
            with TimeLimit(LIMIT):
                exec(compile(path.read_bytes(), str(path), "exec"), names)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # such as TimeUp, or SystemExit
            raise NotKept(f"{type(error).__name__}: {said(error)}") from None
    if missing := [name for name in exercise.names if name not in names]:
        raise NotKept(f"it lacks {missing[0]}")
    return names


def _numbers(exercise: Exercise) -> list[str]:
    """The numbers under which its answer may be kept, the present one first."""
    old = [was for was, now in first_edition.EXERCISES.items() if now == exercise.id]
    return [exercise.id, *old]


def _path(number: str, folder: Path) -> Path:
    return folder / FOLDER / f"{number}.py"


# --- an answer, and what it needs -----------------------------------------------------


def source(exercise: Exercise, answers: tuple) -> str:
    """A file that defines answers, with all that they need of their notebook.

    Raises:
        NotKept: An answer, or what it needs, has no definition, import or assignment
            in the cells that were run.
    """
    notebook, ends = {}, []
    for name, thing in zip(exercise.names, answers, strict=True):
        notebook = _namespace(thing)
        typed = [key for key in (name, _name(thing)) if notebook.get(key) is thing]
        if not typed:
            raise NotKept(f"the notebook has no {name}")
        ends.append((name, typed[0]))
    found = Collected(notebook)
    for _, key in ends:
        found.need(key)
    head = f'"""Exercise {exercise.id}, as it passed its check."""'
    renamed = [f"{name} = {key}" for name, key in ends if name != key]
    return "\n\n".join([head, *found.lines(), *renamed]) + "\n"


class Collected:
    """Statements of a notebook, in an order in which they run.

    Args:
        notebook: Its names, and the cells that were run.
    """

    def __init__(self, notebook: Mapping[str, Any]) -> None:
        self.notebook = notebook
        cells = [cell for cell in notebook.get(CELLS, []) if isinstance(cell, str)]
        self.cells = cells[::-1]
        self.statements: list[ast.stmt] = []
        self.names: set[str] = set()  # that were needed so far

    def need(self, name: str) -> None:
        """Add what makes a name, behind everything that this needs itself.

        Raises:
            NotKept: No cell makes it, or not in a definition, import or assignment.
        """
        if name in self.names or name not in self.notebook:
            return  # a name of Python's own is in no notebook
        self.names.add(name)
        if name in self._writing_themselves():
            return
        try:
            statement = making(name, self.cells)
        except NotKept:
            if hasattr(builtins, name):  # IPython gives notebooks an `open` of its own
                return
            raise
        for other in sorted(_needed(ast.unparse(statement))):
            self.need(other)
        if all(ast.dump(statement) != ast.dump(one) for one in self.statements):
            self.statements.append(statement)

    def _writing_themselves(self) -> dict[str, Any]:
        """What has no statement of its own, such as `mine`: it says how it is made."""
        found = ((name, self.notebook[name]) for name in sorted(self.names))
        return {name: thing for name, thing in found if hasattr(thing, "as_source")}

    def lines(self) -> list[str]:
        """The statements as text."""
        first = [
            thing.as_source(name, self._attributes(name))
            for name, thing in self._writing_themselves().items()
        ]
        return first + [ast.unparse(one) for one in self.statements]

    def _attributes(self, name: str) -> set[str]:
        nodes = (node for one in self.statements for node in ast.walk(one))
        parts = (node for node in nodes if isinstance(node, ast.Attribute))
        return {part.attr for part in parts if ast.unparse(part.value) == name}


def making(name: str, cells: list[str]) -> ast.stmt:
    """The latest statement that makes a name; of an import, that name alone.

    Args:
        name: What is looked for.
        cells: The newest first.

    Raises:
        NotKept: There is none, or it is no definition, import or assignment.
    """
    for cell in cells:
        for statement in reversed(_body(cell)):
            if name not in _made(ast.unparse(statement)):
                continue
            if not isinstance(statement, SIMPLE):
                raise NotKept(f"{name} has no definition, import or assignment")
            if isinstance(statement, ast.Import | ast.ImportFrom):
                return _import_of(name, statement)
            return statement
    raise NotKept(f"no cell makes {name}")


@lru_cache(maxsize=256)
def _body(cell: str) -> list[ast.stmt]:
    try:
        return ast.parse(cell).body
    except (SyntaxError, ValueError):  # it never ran
        return []


@lru_cache(maxsize=1024)
def _made(statement: str) -> set[str]:
    symbols = _symbols(statement).get_symbols()
    return {one.get_name() for one in symbols if one.is_assigned() or one.is_imported()}


def _needed(statement: str) -> set[str]:
    """The names that a statement takes from its notebook, also inside functions."""
    return set(_taken(_symbols(statement)))


class _Generators(ast.NodeTransformer):
    """Makes a generator expression of every comprehension."""

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp) -> ast.AST:
        """[x for ...] or {x for ...} -> (x for ...)."""
        self.generic_visit(node)
        return ast.GeneratorExp(node.elt, node.generators)

    visit_SetComp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        """{x: y for ...} -> ((x, y) for ...)."""
        self.generic_visit(node)
        pair = ast.Tuple([node.key, node.value], ast.Load())
        return ast.GeneratorExp(pair, node.generators)


def _symbols(statement: str) -> symtable.SymbolTable:
    """The names of a statement, by scopes.

    Since Python 3.12 the variable of a comprehension is listed among the names around
    it, although it is gone afterwards; that of a generator expression is not.
    """
    tree = _Generators().visit(ast.parse(statement))
    return symtable.symtable(ast.unparse(tree), "cell", "exec")


def _taken(table: symtable.SymbolTable) -> Iterator[str]:
    top = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (top or symbol.is_global()):
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _taken(inner)


def _import_of(name: str, statement: ast.Import | ast.ImportFrom) -> ast.stmt:
    names = [one for one in statement.names if name == one.asname or not one.asname]
    wanted = [one for one in names if name in (one.asname, one.name.split(".")[0])]
    return type(statement)(**(dict(ast.iter_fields(statement)) | {"names": wanted}))


def _namespace(thing: Any) -> Mapping[str, Any]:
    """The names of the notebook that a function or class was written in."""
    inside = vars(thing).values() if isinstance(thing, type) else [thing]
    found = (inspect.unwrap(one) for one in inside if callable(one))
    return next((one.__globals__ for one in found if inspect.isfunction(one)), {})


def _name(thing: Any) -> str:
    return getattr(thing, "__name__", "")
