"""A lesson in another language runs the code of the English one.

What may differ is what is read: texts, comments, docstrings, and the strings that a
cell prints or draws. `translations/de/lessons/02_attention.py` is German for
`lessons/02_attention.py`; docs/translating.md says how one is made.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from tools.build.notebooks import Lesson, read
from tools.build.stubs import LessonError

FOLDER = "translations"
HEADERS = ("exercise", "answer", "locked")  # what a cell is for


class _Wordless(ast.NodeTransformer):
    """Takes the words out of code."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:  # noqa: N802
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:  # noqa: N802
        """Of an f-string the values stay, in any order."""
        values = [one for one in node.values if isinstance(one, ast.FormattedValue)]
        return ast.JoinedStr(sorted(map(self.visit, values), key=ast.dump))


def problems(lesson: Lesson, root: Path) -> Iterator[str]:
    """Where a translation does something else than its lesson, a sentence each.

    Args:
        lesson: the translation
        root: of the course
    """
    path = root / "lessons" / f"{lesson.name}.py"
    if not path.exists():
        yield f"{lesson.name}: there is no lessons/{path.name} that it translates."
        return
    original = read(path)
    if _headers(original) != _headers(lesson):
        yield f"{lesson.name}: its exercises are not those of lessons/{path.name}."
    ours, theirs = (
        [cell.source for cell in one.cells if cell.cell_type == "code"]
        for one in (original, lesson)
    )
    for number, (first, second) in enumerate(zip(ours, theirs, strict=False)):
        if _code(first) != _code(second):
            yield (
                f"{lesson.name}, code cell {number} does something else than in "
                f"lessons/{path.name}: {second.splitlines()[0]!r}."
            )
            return
    if len(ours) != len(theirs):
        yield (
            f"{lesson.name} has {len(theirs)} cells of code, lessons/{path.name} has "
            f"{len(ours)}."
        )


def _headers(lesson: Lesson) -> list[tuple]:
    cells: list[NotebookNode] = [*lesson.cells]
    found = [tuple(cell.metadata.get(key) for key in HEADERS) for cell in cells]
    return [one for one in found if any(one)]


def _code(source: str) -> str:
    try:
        return ast.dump(_Wordless().visit(ast.parse(source)))
    except SyntaxError:  # a magic of IPython
        return source


def place(root: Path, language: str) -> Path:
    """The folder of a translation.

    Raises:
        LessonError: There is none in this language.
    """
    folder = root / FOLDER / language
    if not (folder / "lessons").is_dir():
        raise LessonError(
            f"There is no folder {FOLDER}/{language}/lessons: docs/translating.md says "
            "how a translation begins."
        )
    return folder
