"""Which line did it: changed an input, returned None, goes round for ever, never runs.

The answer runs once more on a case, and every line of the student's is seen as it
runs. What is said was seen there, whatever the mistake was.
"""

import ast
import linecache
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from helpers.checks import blanks
from helpers.checks.blanks import Line
from helpers.checks.limit import TimeUp, stopwatch
from helpers.checks.observe import Run, run_case, said
from helpers.checks.recognise import Trial
from helpers.checks.steps import Frozen, freeze

SECONDS = 0.4  # for the run that is looked at
ROUNDS = 200  # of a loop, before anything is said about it


def culprit(trial: Trial) -> list[str]:
    """A sentence about the line that did it; none where that was not seen.

    Args:
        trial: The answer on its cases, failing ones first.
    """
    file = blanks.file_of(trial.thing)
    if file is None:
        return []
    try:
        return [*_told(trial, file)][:2]
    except Exception:  # no check may fall over what comes on top of it
        return []


def _told(trial: Trial, file: str) -> Iterator[str]:
    run = trial.runs[0]
    if isinstance(run.raised, TimeUp):
        with _traced(_Rounds(file)) as seen:
            _again(trial, 0)
        yield from seen.told()
    elif run.raised is not None and "NoneType" in said(run.raised):
        with _traced(_Nothing(file)) as seen:
            again = _again(trial, 0)
        if type(again.raised) is type(run.raised):
            yield from seen.told()
    for place, one in enumerate(trial.runs):
        if one.judged.get("inputs", "").startswith("changed"):
            with _traced(_Changes(file)) as seen:
                _again(trial, place)
            yield from seen.told()
            return


def never_runs(trial: Trial) -> list[str]:
    """A sentence about a line that runs in no case; none where all do, or time is up.

    Args:
        trial: The answer on its cases.
    """
    file = blanks.file_of(trial.thing)
    if file is None:
        return []
    spent = stopwatch()
    try:
        with _traced(_Reached(file)) as seen:
            for place in range(len(trial.cases)):
                left = SECONDS - spent()
                if left <= 0 or _again(trial, place, left).raised is not None:
                    return []
        return seen.missing(blanks.definition(trial.thing))
    except Exception:  # no check may fall over what comes on top of it
        return []


def _again(trial: Trial, place: int, seconds: float = SECONDS) -> Run:
    case = trial.cases[place]
    return run_case(trial.thing, trial.answer, case, seconds, trial.runs[place].module)


@contextmanager
def _traced(seen: "_Lines") -> Iterator[Any]:
    before = sys.gettrace()
    sys.settrace(seen.called)
    try:
        yield seen
    finally:
        sys.settrace(before)


class _Lines:
    """Sees the lines of a file as they run."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.at: dict[FrameType, int] = {}  # frame -> the line that runs
        self.failed: set[FrameType] = set()  # frames that are left by an error
        self.found: list[str] = []

    def called(self, frame: FrameType, event: str, arg: Any) -> Any:
        """What Python calls as a function begins."""
        if event != "call" or frame.f_code.co_filename != self.file:
            return None
        self.begins(frame)
        return self._stepped

    def _stepped(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.failed.discard(frame)
            self.line(frame)
            self.at[frame] = frame.f_lineno
        elif event == "exception":
            self.failed.add(frame)
        elif event == "return" and frame not in self.failed:
            self.line(frame)
            self.ends(frame, arg)
            self.at.pop(frame, None)
        return self._stepped

    def begins(self, frame: FrameType) -> None:
        """A function is called."""

    def line(self, frame: FrameType) -> None:
        """The line in `at` has run; another is about to, or the function ends."""

    def ends(self, frame: FrameType, value: Any) -> None:
        """A function returns."""

    def told(self) -> list[str]:
        """What was seen, a sentence each."""
        return self.found

    def shown(self, number: int) -> Line:
        """A line of the file."""
        return Line(number, linecache.getline(self.file, number).strip())


class _Reached(_Lines):
    """The lines that have run."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.lines: set[int] = set()

    def line(self, frame: FrameType) -> None:
        self.lines.add(frame.f_lineno)

    def missing(self, definition: ast.AST | None) -> list[str]:
        """The first statement of a definition that is not among them, as a sentence.

        Not asked about are what only stands there, what is for other inputs (a default
        for None, another type), and what ends in an error.
        """
        left = [definition] if definition else []
        while left:
            node = left.pop(0)
            inner = [*filter(_block, ast.iter_child_nodes(node))]
            if isinstance(node, ast.ClassDef):  # the rest ran when it was defined
                inner = [one for one in inner if isinstance(one, ast.FunctionDef)]
            elif not inner and isinstance(node, ast.stmt) and _runs(node):
                if self.lines.isdisjoint(range(node.lineno, node.end_lineno + 1)):
                    line = self.shown(node.lineno)
                    return [f"No case of this check comes to {line}."]
            if not _for_others(node):
                left = [*inner, *left]
        return []


NOT_ASKED = (ast.Pass, ast.Raise, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)


def _runs(node: ast.stmt) -> bool:
    """Whether a simple statement does something that is of interest here."""
    noted = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    bare = isinstance(node, ast.AnnAssign) and node.value is None
    return not (noted or bare or isinstance(node, NOT_ASKED))


def _block(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt | ast.excepthandler | ast.match_case)


def _for_others(node: ast.AST) -> bool:
    """Whether a branch is for None or another type, or ends in an error."""
    if isinstance(node, ast.excepthandler):
        return True
    if not isinstance(node, ast.If):
        return False
    asked = {type(one) for one in ast.walk(node.test)} & {ast.Is, ast.IsNot}
    names = {one.id for one in ast.walk(node.test) if isinstance(one, ast.Name)}
    raises = any(isinstance(one, ast.Raise) for one in (*node.body, *node.orelse))
    return bool(asked) or "isinstance" in names or raises


class _Changes(_Lines):
    """The first line that changes what the answer was given."""

    outer: FrameType | None = None

    def begins(self, frame: FrameType) -> None:
        if self.outer is None:
            self.outer = frame
            self.given = {
                name: (one, one.detach().clone())
                for name, one in frame.f_locals.items()
                if isinstance(one, Tensor)
            }
            self.versions = {
                name: one._version for name, (one, _) in self.given.items()
            }

    def line(self, frame: FrameType) -> None:
        if self.found or frame not in self.at:
            return
        for name, (one, before) in self.given.items():
            if one._version == self.versions[name]:
                continue
            self.versions[name] = one._version
            if not torch.equal(one.detach(), before):
                line = self.shown(self.at[frame])
                self.found = [f"`{name}` was changed in {line}."]
                self.found += _alias(frame, name, one, line.text)
                return

    def ends(self, frame: FrameType, value: Any) -> None:
        if frame is self.outer:
            self.outer = None


def _alias(frame: FrameType, name: str, one: Tensor, text: str) -> Iterator[str]:
    """Under which other name it was changed there."""
    words = set(re.findall(r"\w+", text))
    for other, value in frame.f_locals.items():
        if other == name or other not in words or not isinstance(value, Tensor):
            continue
        if value is one:
            yield (
                f"`{other}` and `{name}` are one tensor there: neither `=` nor a call "
                "makes a copy."
            )
            return
        if value._base is one:
            yield f"`{other}` is a view of `{name}` there: they share their numbers."
            return


class _Nothing(_Lines):
    """The last function that returned None, before something failed on it."""

    def ends(self, frame: FrameType, value: Any) -> None:
        code = frame.f_code
        if code.co_name != "__init__":
            self.found = [
                f"`{code.co_name}`, which begins in line {code.co_firstlineno}, "
                "returned None: is there a `return`?"
            ] * (value is None)


class _Rounds(_Lines):
    """A loop that goes round and round."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        tree = ast.parse("".join(linecache.getlines(file)))
        self.loops = {
            node.lineno: node
            for node in ast.walk(tree)
            if isinstance(node, ast.While | ast.For)
        }
        self.rounds: dict[tuple[FrameType, int], int] = {}
        self.steady: dict[tuple[FrameType, int], tuple[int, list[Frozen]]] = {}

    def line(self, frame: FrameType) -> None:
        number = frame.f_lineno
        if number not in self.loops or frame not in self.at:
            return
        loop, key = self.loops[number], (frame, number)
        again = loop.lineno <= self.at[frame] <= loop.end_lineno
        self.rounds[key] = self.rounds.get(key, 0) + 1 if again else 0
        values = [
            freeze(frame.f_locals[name])
            for name in _names(loop)
            if name in frame.f_locals
        ]
        count, before = self.steady.get(key, (0, []))
        same = again and before == values and all(one.key for one in values)
        self.steady[key] = (count + 1 if same else 0, values)

    def ends(self, frame: FrameType, value: Any) -> None:
        for key in [key for key in self.rounds if key[0] is frame]:
            del self.rounds[key]

    def told(self) -> list[str]:
        """The innermost loop that went round so often and had not ended."""
        often = [key for key, count in self.rounds.items() if count >= ROUNDS]
        if not often:
            return []
        key = max(often, key=lambda key: key[1])
        line = str(self.shown(key[1])).rstrip(":")
        names = " and ".join(f"`{name}`" for name in _names(self.loops[key[1]]))
        kept = names and self.steady[key][0] >= ROUNDS
        values = "their values" if " and " in names else "its value"
        also = f", and {names} kept {values}" if kept else ""
        return [f"The loop in {line} went round {ROUNDS} times and went on{also}."]


def _names(loop: ast.While | ast.For) -> list[str]:
    """The variables that the condition of a `while` reads."""
    if isinstance(loop, ast.For):
        return []
    called = {
        node.func
        for node in ast.walk(loop.test)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    names = [
        node.id
        for node in ast.walk(loop.test)
        if isinstance(node, ast.Name) and node not in called
    ]
    return list(dict.fromkeys(names))
