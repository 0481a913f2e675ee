"""Answers that are like the course's, or like one another's, by their syntax trees.

Two pieces of code are alike where they share most of their subtrees. Left out before
are names that a piece of code gives itself, docstrings, annotations, and what the stub
has given; other names stay, such as `torch.softmax`. (Subtrees as prints of code:
Baxter et al. 1998, Clone Detection Using Abstract Syntax Trees, section 2.)

Where there is but one natural answer, honest people write the same. So one short answer
proves nothing, and exercises in which independent solutions agree are left out.
"""

import ast
import hashlib
import inspect
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from tools.grading.restore import own_code
from tools.grading.tables import Grade

ALIKE = 0.8  # the share of subtrees from which on two answers are alike
SHORT = 10  # subtrees: a shorter answer of the course is not compared
ENOUGH = 50  # subtrees, of all answers that are alike in two notebooks
COMMON = 0.05  # of a class: what more of it (and over three) write is natural
SMALL = 4  # nodes: smaller subtrees occur in almost all code
LONGEST = 40_000  # characters of a cell that is looked at
MOST = 1000  # subtrees of an answer that is looked at

DEFINITION = (ast.FunctionDef, ast.ClassDef)
Shape = Counter[int]  # digest of a subtree -> how often it occurs
Definitions = dict[str, ast.AST]


# --- one answer -----------------------------------------------------------------------


def shape(node: ast.AST) -> Shape:
    """The subtrees of a definition, without the names that it gives itself."""
    own = _own_names(node)
    found: Shape = Counter()

    def visit(one: ast.AST) -> tuple[str, int]:
        parts, size = [], 1
        for value in _parts(one, own):
            if isinstance(value, ast.AST):
                text, count = visit(value)
                parts.append(text)
                size += count
            else:
                parts.append(repr(value))
        digest = hashlib.blake2b(" ".join(parts).encode(), digest_size=4).digest()
        if size >= SMALL:
            found[int.from_bytes(digest, "big")] += 1
        return digest.hex(), size

    visit(node)
    return found


def _own_names(node: ast.AST) -> set[str]:
    """The names that a definition binds: arguments, variables, methods, attributes."""
    own = set()
    for one in ast.walk(node):
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own.add(one.name)
        elif isinstance(one, ast.arg):
            own.add(one.arg)
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            own.add(one.id)
        elif isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store):
            own.add(one.attr)
    return own


def _parts(one: ast.AST, own: set[str]) -> Iterator[Any]:
    """What a node consists of: its kind, texts and numbers, and the nodes below."""
    if isinstance(one, ast.AnnAssign) and one.value:  # the same without annotation
        yield from ("Assign", "targets", one.target, "value", one.value)
        return
    yield type(one).__name__
    for name, value in ast.iter_fields(one):
        if name in ("ctx", "kind", "type_comment", "annotation", "returns"):
            continue
        yield name
        if isinstance(value, list):
            yield from (it for it in value if not _only_says(it))
        else:
            yield "_" if isinstance(value, str) and value in own else value


def _only_says(one: Any) -> bool:
    """Whether a statement does nothing: a docstring, a bare `...`."""
    return isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)


def likeness(one: Shape, other: Shape) -> float:
    """The share of subtrees that two have in common, from 0 to 1 (Dice)."""
    both = one.total() + other.total()
    return 2 * (one & other).total() / both if both else 0.0


# --- one notebook ---------------------------------------------------------------------


def shapes(submitted: NotebookNode, released: NotebookNode) -> dict[str, list[int]]:
    """The answers of a notebook that are code: name -> subtrees beyond its stub.

    Args:
        submitted: The notebook as `restore` made it.
        released: The notebook as it was given out.
    """
    code, _ = own_code(submitted, released)
    written, found = definitions(code.values()), {}
    for name, stub in stubs(released).items():
        if name in written and (more := _beyond(written[name], shape(stub))):
            found[name] = sorted(more.elements())
    return found


def stubs(released: NotebookNode) -> Definitions:
    """The functions and classes that a notebook asks for."""
    return definitions(
        cell
        for cell in released.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    )


def definitions(cells: Iterable[NotebookNode]) -> Definitions:
    """The last function or class of each name.

    Args:
        cells: Where to look; what can't be parsed is left out.
    """
    found: Definitions = {}
    for cell in cells:
        source = cell.source.strip()
        if cell.cell_type != "code" or len(source) > LONGEST:
            continue
        for node in _statements(_tree(source)):
            if isinstance(node, DEFINITION):
                found[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                for target in node.targets:  # answer = name_of_another
                    if isinstance(target, ast.Name) and node.value.id in found:
                        found[target.id] = found[node.value.id]
    return found


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a cell, without those of its functions and classes."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.stmt):
            yield one
            if not isinstance(one, DEFINITION):
                yield from _statements(one)


def _tree(source: str) -> ast.AST:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _beyond(node: ast.AST, stub: Shape) -> Shape:
    """What a definition has that its stub lacks; nothing where it is too large."""
    try:
        found = shape(node) - stub
    except RecursionError:
        return Counter()
    return found if found.total() <= MOST else Counter()


# --- what the course has published ----------------------------------------------------


@dataclass(frozen=True)
class Known:
    """What is public of one answer."""

    exercise: str  # its id
    course: tuple[Shape, ...]  # the course's own, all that is public; () if short
    others: tuple[Shape, ...]  # independent solutions

    @property
    def tells(self) -> bool:
        """Whether likeness means something: independent solutions are unlike it."""
        if not self.course:
            return False
        pairs = (*product(self.course, self.others), *combinations(self.others, 2))
        return all(likeness(*pair) < ALIKE for pair in pairs)

    def like(self, answer: Shape) -> float:
        """How much an answer is like one of these."""
        return max(likeness(answer, one) for one in (*self.course, *self.others))


@cache
def published(root: Path, lesson: str) -> Mapping[str, Known]:
    """Name of an answer -> what is public of it.

    Args:
        root: The course.
        lesson: "02_attention".
    """
    from helpers.checks.engine import exercises
    from helpers.checks.locate import variants

    number = int(lesson.split("_")[0])
    paths = [root / folder / f"{lesson}.ipynb" for folder in ("notebooks", "solutions")]
    if not all(path.exists() for path in paths):
        return {}
    released, solved = (nbformat.read(path, 4) for path in paths)
    asked, answered = stubs(released), definitions(solved.cells)
    independent, found = variants(number), {}
    for exercise in exercises():
        if exercise.lesson != number:
            continue
        for place, answer in enumerate(exercise.answers):
            if answer.name not in asked or answer.name not in answered:
                continue
            others = [
                one[place] if isinstance(one, tuple) else one
                for one in independent.get(exercise.id, ())
            ]
            stub = shape(asked[answer.name])
            own = _beyond(answered[answer.name], stub)
            course = [own, *(_beyond(it, stub) for it in _code(answer.reference))]
            others = [_beyond(it, stub) for one in others for it in _code(one)]
            found[answer.name] = Known(
                exercise.id,
                tuple(filter(_long, course if _long(own) else ())),
                tuple(filter(_long, others)),
            )
    return found


def _long(one: Shape) -> bool:
    return one.total() >= SHORT


def _code(thing: Any) -> Iterator[ast.AST]:
    """The definition of a function or class, where it can be read."""
    try:
        tree = _tree(textwrap.dedent(inspect.getsource(thing)))
    except (TypeError, OSError):
        return
    yield from [node for node in tree.body if isinstance(node, DEFINITION)][:1]


# --- a class --------------------------------------------------------------------------


def flag(grades: Iterable[Grade], root: Path) -> None:
    """Add to `suspects` whose answers are like the course's or like another's.

    Args:
        grades: Those of a class.
        root: The course.
    """
    lessons: dict[str, list[Grade]] = {}
    for grade in grades:
        if grade.shapes:
            lessons.setdefault(grade.lesson, []).append(grade)
    for lesson, group in lessons.items():
        known = {n: one for n, one in published(root, lesson).items() if one.tells}
        told = [
            {
                name: Counter(grade.shapes[name])
                for name in known
                if name in grade.shapes
            }
            for grade in group
        ]
        for grade, answers in zip(group, told, strict=True):
            _against_the_course(grade, answers, known)
        _against_one_another(group, told, known)


def _against_the_course(
    grade: Grade, answers: dict[str, Shape], known: Mapping[str, Known]
) -> None:
    """Say which answers are like the course's, and leave them out of what follows."""
    alike = {name for name, one in answers.items() if known[name].like(one) >= ALIKE}
    if sum(answers[name].total() for name in alike) >= ENOUGH:
        names = _listed(alike, known)
        grade.suspects.append(f"{names} much like code that the course has published")
    for name in alike:
        del answers[name]


def _against_one_another(
    group: list[Grade], told: list[dict[str, Shape]], known: Mapping[str, Known]
) -> None:
    most = max(3, int(COMMON * len(group)))
    shared: dict[tuple[int, int], list[str]] = {}
    for name in known:
        answers = {n: them[name] for n, them in enumerate(told) if name in them}
        pairs = list(_alike(answers))
        friends = Counter(number for pair in pairs for number in pair)
        for pair in pairs:
            if max(friends[number] for number in pair) <= most:
                shared.setdefault(pair, []).append(name)
    for (one, other), names in sorted(shared.items()):
        size = sum(min(told[n][name].total() for n in (one, other)) for name in names)
        if len(names) > 1 and size >= ENOUGH:
            said = f"{_listed(names, known)} much like those of"
            group[one].suspects.append(f"{said} {group[other].student}")
            group[other].suspects.append(f"{said} {group[one].student}")


def _alike(answers: Mapping[int, Shape]) -> Iterator[tuple[int, int]]:
    """The pairs of students whose answers are alike; each is compared once."""
    same: dict[frozenset, list[int]] = {}
    for number, one in answers.items():
        same.setdefault(frozenset(one.items()), []).append(number)
    groups = list(same.values())
    for group in groups:
        yield from combinations(group, 2)
    for one, other in combinations(groups, 2):
        first, second = answers[one[0]], answers[other[0]]
        sizes = sorted((first.total(), second.total()))
        if 2 * sizes[0] < ALIKE * sum(sizes):  # too different in size
            continue
        if likeness(first, second) >= ALIKE:
            yield from (tuple(sorted(pair)) for pair in product(one, other))


def _listed(names: Iterable[str], known: Mapping[str, Known]) -> str:
    numbers = sorted({known[name].exercise for name in names})
    return f"{', '.join(numbers)} {'is' if len(numbers) == 1 else 'are'}"
