"""What each line of an answer made: for numbers, texts and lists of plain Python.

`locate` sees the operations of torch. Here an answer runs under `sys.settrace`: after
each statement the variables that it changed are noted, and what it read. The right
answers run likewise. A value that one of them has, too, is *known*.
"""

import ast
import linecache
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

import numpy as np
from torch import Tensor

from helpers.checks.telling import among, exactness, plain, telling

LARGE = 5000  # parts of a value; what is larger is not looked at
FLOAT = ("float",)  # a number, or several, that are compared one by one
GENERATOR = 0x20 | 0x200  # flags of a code object
HEADS = {
    ast.For: ("iter",),
    ast.While: ("test",),
    ast.If: ("test",),
    ast.With: ("items",),
    ast.Match: ("subject",),
    ast.Try: (),
    ast.FunctionDef: (),
    ast.ClassDef: (),
}


@dataclass(frozen=True)
class Frozen:
    """A value as it stood: what others are compared with."""

    key: Any = None  # its structure, floats left out; None: nothing to compare
    floats: tuple[float, ...] = ()  # that tell something
    size: int = 1
    simple: bool = True  # a flag, a whole number, a character: anybody has it


@dataclass(eq=False)
class Step:
    """A value that a statement made."""

    value: Frozen
    chain: tuple[int, ...]  # the lines on the way to it, innermost first
    parents: list["Step"] = field(default_factory=list)
    returned: bool = False  # by the function that was called from outside
    run: int = 0  # which run of its statement made it; 0: it was handed on there
    status: str = ""
    leads: bool = False  # a known value was made from it
    lost: bool = False  # known values end at it, or at what it was made from
    excused: bool = False  # it is strange where the result is right, too

    @property
    def line(self) -> int:
        """The line that made it; 0: it was given."""
        return self.chain[0] if self.chain else 0


class Trace:
    """Notes what the statements of some files make."""

    def __init__(
        self, wanted: Callable[[CodeType], bool], spend: Callable[[int], None]
    ) -> None:
        self.wanted, self.spend = wanted, spend
        self.steps: list[Step] = []
        self.frames: dict[FrameType, _Frame] = {}
        self.drew = False  # random numbers of Python or NumPy
        self.runs = 0  # of statements

    @contextmanager
    def on(self) -> Iterator[None]:
        """Trace what runs inside."""
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)
            self.frames.clear()

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event != "call" or not self.wanted(frame.f_code):
            return None
        if frame not in self.frames:  # else a generator goes on
            outer = self._outer(frame)
            mine = _Frame(_statements(frame.f_code.co_filename), outer)
            self.frames[frame] = mine
            read = outer.read() if outer else []
            for name, value in frame.f_locals.items():
                mine.known[name] = self._keep(freeze(value), mine.chain, read)
        return self._stepped

    def _outer(self, frame: FrameType) -> "_Frame | None":
        back = frame.f_back
        while back is not None and back not in self.frames:
            back = back.f_back
        return self.frames.get(back)

    def _stepped(self, frame: FrameType, event: str, arg: Any) -> Any:
        mine = self.frames[frame]
        if event == "line":
            self._changed(frame, mine)
            mine.at = mine.statements.first.get(frame.f_lineno, frame.f_lineno)
            self.runs += 1
            mine.run = self.runs
        elif event == "return":
            step = self._keep(freeze(arg), mine.chain, mine.read(), mine.run)
            self._changed(frame, mine)
            step.returned = mine.outer is None
            self.drew |= step.returned and mine.dice != _dice()
            if mine.outer is not None:
                mine.outer.inner.append(step)
            if not frame.f_code.co_flags & GENERATOR:
                del self.frames[frame]
        return self._stepped

    def _changed(self, frame: FrameType, mine: "_Frame") -> None:
        """Note what the statement made that has just run."""
        read, changed, local = mine.read(), {}, frame.f_locals
        for name in mine.statements.names.get(mine.at, ()):
            if name not in local:
                continue
            frozen, before = freeze(local[name]), mine.known.get(name)
            self.spend(0 if frozen.simple else frozen.size)
            if before is None or before.value != frozen:
                changed[name] = self._keep(frozen, mine.chain, read, mine.run)
        mine.known |= changed
        mine.inner = []

    def _keep(
        self, value: Frozen, chain: tuple, parents: list[Step], run: int = 0
    ) -> Step:
        self.spend(value.size)
        step = Step(value, chain, list(parents), run=run)
        self.steps.append(step)
        return step


class _Frame:
    """A function while it runs."""

    def __init__(self, statements: "_Statements", outer: "_Frame | None") -> None:
        self.statements, self.outer = statements, outer
        self.at = 0  # the first line of the statement that runs
        self.run = 0  # the number of this run of it
        self.known: dict[str, Step] = {}  # variable -> its value
        self.dice = None if outer else _dice()
        self.inner: list[Step] = []  # what functions returned to this statement

    @property
    def chain(self) -> tuple[int, ...]:
        above = self.outer.chain if self.outer else ()
        return (self.at, *above) if self.at else above

    def read(self) -> list[Step]:
        """The values that the statement reads."""
        names = self.statements.reads.get(self.at, ())
        found = (self._find(name) for name in names)
        return [*(step for step in found if step is not None), *self.inner]

    def _find(self, name: str) -> Step | None:
        if name in self.known:
            return self.known[name]
        return self.outer._find(name) if self.outer else None


@dataclass(frozen=True)
class _Statements:
    """Where the statements of a file begin, and which names they read."""

    first: Mapping[int, int]  # line -> the first line of its statement
    reads: Mapping[int, tuple[str, ...]]
    names: Mapping[int, tuple[str, ...]]  # that they read or set


def _statements(file: str) -> _Statements:
    return _parsed("".join(linecache.getlines(file)))


@lru_cache(maxsize=64)
def _parsed(source: str) -> _Statements:
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell with magics
        return _Statements({}, {}, {})
    first: dict[int, int] = {}
    reads: dict[int, set[str]] = defaultdict(set)
    every: dict[int, set[str]] = defaultdict(set)
    for node in ast.walk(tree):  # outer statements before those inside of them
        if not isinstance(node, ast.stmt):
            continue
        heads = HEADS.get(type(node))
        parts = [node] if heads is None else _parts(node, heads)
        end = max((part.end_lineno for part in parts), default=node.lineno)
        first |= dict.fromkeys(range(node.lineno, end + 1), node.lineno)
        names = [n for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)]
        if isinstance(node, ast.For):
            targets = [n for n in ast.walk(node.target) if isinstance(n, ast.Name)]
            every[node.lineno].update(name.id for name in targets)
        every[node.lineno].update(name.id for name in names)
        reads[node.lineno].update(
            name.id
            for name in names
            if isinstance(node, ast.AugAssign) or isinstance(name.ctx, ast.Load)
        )
    return _Statements(
        first,
        {line: tuple(sorted(some)) for line, some in reads.items()},
        {line: tuple(sorted(some)) for line, some in every.items()},
    )


def _parts(node: ast.stmt, heads: tuple[str, ...]) -> list[ast.AST]:
    parts: list[ast.AST] = []
    for head in heads:
        value = getattr(node, head)
        if isinstance(value, list):
            parts += [item.context_expr for item in value]
        else:
            parts.append(value)
    return parts


def _dice() -> tuple:
    """How the random numbers of Python and NumPy stand."""
    _, words, place, *_ = np.random.get_state()
    return random.getstate(), words.tobytes(), place


# --- values ---------------------------------------------------------------------------


def freeze(value: Any) -> Frozen:
    """A value as it stands now."""
    try:
        return _freeze(value, 0)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return Frozen()


def _freeze(value: Any, depth: int) -> Frozen:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return Frozen(("flag", value))
    if isinstance(value, int):
        return Frozen(("whole", value))
    if isinstance(value, float):
        return _numbers(np.array([value]))
    if isinstance(value, str):
        size = 1 + len(value) // 20
        return Frozen(("text", value), size=size, simple=len(value) < 2)
    if isinstance(value, Tensor):
        if value.numel() > LARGE or value.is_complex():
            return Frozen()
        floats = value.is_floating_point()
        array = value.detach().reshape(-1).cpu().numpy()
        return _numbers(array) if floats else _wholes(array)
    if isinstance(value, np.ndarray):
        if value.size > LARGE or value.dtype.kind not in "fiub":
            return Frozen()
        array = value.reshape(-1)
        floats = value.dtype.kind == "f"
        return _numbers(array) if floats else _wholes(array)
    if is_dataclass(value) and not isinstance(value, type):
        held = vars(value)  # not `getattr`, which may run a property of the student's
        value = {one.name: held.get(one.name) for one in fields(value)}
    if depth > 4 or not isinstance(value, list | tuple | dict | set | frozenset):
        return Frozen()
    if len(value) > LARGE:
        return Frozen()
    if isinstance(value, dict):
        items = [_freeze(pair, depth + 1) for pair in value.items()]
        return _joined("map", items)
    items = [_freeze(item, depth + 1) for item in value]
    return _joined("seq" if isinstance(value, list | tuple) else "set", items)


def _joined(kind: str, items: list[Frozen]) -> Frozen:
    if any(item.key is None for item in items):
        return Frozen()
    keys = tuple(item.key for item in items)
    floats = tuple(number for item in items for number in item.floats)
    size = 1 + sum(item.size for item in items)
    simple = len(set(keys)) < 2 and all(item.simple for item in items)
    if kind == "seq" and floats and all(map(_numeric, keys)):
        return Frozen(FLOAT, floats, size, simple)
    keys = keys if kind == "seq" else frozenset(keys)
    return Frozen((kind, keys), floats, size, simple)


def _numeric(key: Any) -> bool:
    if key[0] in ("float", "whole"):
        return True
    return key[0] == "seq" and all(map(_numeric, key[1]))


def _numbers(array: np.ndarray) -> Frozen:
    exact, array = exactness(array.dtype), array.astype(float)
    found = tuple(telling(array, exact).tolist())
    return Frozen(FLOAT, found, array.size, False) if found else _wholes(plain(array))


def _wholes(array: np.ndarray) -> Frozen:
    keys = tuple(("whole", "nan" if v != v else v) for v in array.tolist())
    if len(keys) == 1:
        return Frozen(keys[0])
    return Frozen(("seq", keys), (), 1 + len(keys), len(set(keys)) < 2)


# --- what right answers have ----------------------------------------------------------


class Pool:
    """The values of all right answers."""

    def __init__(
        self, steps: Iterable[Step], floats: np.ndarray, more: Iterable[Frozen] = ()
    ) -> None:
        found = {step.value for step in steps if step.value.key is not None}
        found.update(one for one in more if one.key is not None)
        self.keys = {key for one in found for key in _inside(one.key)}
        self.texts = [key[1] for key in self.keys if key[0] == "text"]
        self.lists = [key[1] for key in self.keys if key[0] == "seq"]
        self.maps = [key[1] for key in self.keys if key[0] in ("map", "set")]
        mine = [np.array(one.floats) for one in found]
        self.floats = np.unique(np.concatenate([np.zeros(0), floats, *mine]))

    def holds(self, value: Frozen, exact: float) -> bool:
        """Whether a right answer has this value, on the way to it if it grows."""
        if not among(np.array(value.floats), self.floats, exact):
            return False
        if value.key == FLOAT or value.key in self.keys:
            return True
        kind, inside = value.key
        if kind == "text":
            return any(inside in text for text in self.texts)
        if kind == "seq":
            return any(some[: len(inside)] == inside for some in self.lists)
        return kind in ("map", "set") and any(inside <= some for some in self.maps)


def _inside(key: Any) -> Iterator[Any]:
    """A key, and those of all its parts."""
    yield key
    if key[0] in ("seq", "map", "set"):
        for one in key[1]:
            yield from _inside(one)


def mark(steps: list[Step], pool: Pool, exact: float, asked: bool) -> None:
    """Give every value its status, and say which lead to known ones.

    Args:
        steps: What the answer made.
        pool: What right answers make.
        exact: How far apart equal numbers may be, relative.
        asked: Whether a simple value is asked for, so that these count as well.
    """
    given = Pool([step for step in steps if not step.chain], np.zeros(0))
    for step in steps:
        step.status, step.leads = _status(step, pool, given, exact, asked), False
    _follow(steps)


def excuse(steps: list[Step], lines: Collection[int]) -> None:
    """Take lines whose values are strange as another way, not as a mistake."""
    for step in steps:
        if step.status == "unknown" and step.line in lines:
            step.status, step.excused = "neutral", True
    _follow(steps)


def _follow(steps: list[Step]) -> None:
    """Say which values lead to known ones, and which come after known ones end."""
    for step in reversed(steps):
        if step.status == "known" or step.leads:
            for parent in step.parents:
                parent.leads |= parent.value.simple or not step.value.simple
    for step in steps:
        step.lost = step.status == "unknown" and not step.leads
        if step.status in ("unknown", "neutral"):
            step.lost |= any(parent.lost for parent in step.parents)


def _status(step: Step, pool: Pool, given: Pool, exact: float, asked: bool) -> str:
    value = step.value
    if not step.chain:
        return "given"
    if value.key is None or _flags(value.key):
        return "neutral"
    if value.simple and (not asked or value.key[0] not in ("whole", "text")):
        return "neutral"
    if not value.simple and given.holds(value, exact):
        return "given"
    return "known" if pool.holds(value, exact) else "unknown"


def _flags(key: Any) -> bool:
    """Whether it is True or False, or a list of nothing else, in whatever depth."""
    if key[0] == "seq":
        return bool(key[1]) and all(map(_flags, key[1]))
    return key[0] == "flag"


def fed(start: Step) -> bool:
    """Whether another line's value went into it that could not be compared."""
    seen, left = set(), [start]
    while left:
        one = left.pop()
        if one.line != start.line and one.status in ("neutral", "unknown"):
            return True
        if one.line == start.line and id(one) not in seen:
            seen.add(id(one))
            left += one.parents
    return False


def follow_known(start: Step, steps: list[Step]) -> bool:
    """Whether a known value, or a given one, was made from this, on whatever way."""
    after = {id(start)}
    for step in steps:
        if any(id(parent) in after for parent in step.parents):
            after.add(id(step))
            if step.status in ("known", "given"):
                return True
    return False


def rest_of_loop(file: str, line: int) -> range:
    """The lines of the innermost loop around a line, if some come after it."""
    found = _loops("".join(linecache.getlines(file))).get(line, (0, -1))
    return range(found[0], found[1] + 1)


@lru_cache(maxsize=64)
def _loops(source: str) -> dict[int, tuple[int, int]]:
    """Line of a statement -> first and last line of a loop that goes on after it."""
    found: dict[int, tuple[int, int]] = {}
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return found
    for loop in ast.walk(tree):  # outer ones first
        if isinstance(loop, ast.For | ast.While):
            last = loop.body[-1]
            for line in range(loop.body[0].lineno, last.lineno):
                found[line] = (loop.lineno, last.end_lineno)
            for line in range(last.lineno, last.end_lineno + 1):
                found.pop(line, None)  # the end of this one
    return found


def ancestors(results: Iterable[Step]) -> set[int]:
    """The ids of these values, and of all that they were made from."""
    found: set[int] = set()
    left = list(results)
    while left:
        one = left.pop()
        if id(one) not in found:
            found.add(id(one))
            left += one.parents
    return found


def starts(steps: list[Step]) -> list[Step]:
    """Where known values end, of those that a wrong result was made from.

    A word of a list that was given may still be the wrong one.
    """
    wrong = [s for s in steps if s.returned and s.status in ("unknown", "given")]
    leading = ancestors(wrong)
    return [
        step
        for step in steps
        if id(step) in leading
        and step.status == "unknown"
        and not step.leads
        and step.chain
        and not any(parent.lost for parent in step.parents)
    ]
