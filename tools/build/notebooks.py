"""From one lesson to its two notebooks: what students get and what instructors show.

A lesson is a py:percent script. The headers of its cells carry what is more than text:

    # %% [markdown] exercise="2.B"     the task; the build prints its box on top
    # %% exercise="2.B"                the code cell with the marked solution
    # %% [markdown] answer="2.K"       the model answer of a written question
    # %% locked=true                   code that belongs to a bug hunt, not to be edited
    # %% slide="slide"                 any kind of reveal.js slide
    # %% [markdown] slide="notes"      for the speaker: in no notebook (notes.py)
    # %% tags=["nbval-check-output"]   deterministic: CI compares the output

The check is a cell of its own, `check("2.B", scaled_dot_product_attention)`. The build
adds the links (links.py), folds what a reader need not see (folds.py), puts a cell
that opens the model answer behind the answer to a written question, and says where the
lesson can be run (published.py).
"""

import ast
import copy
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from helpers.checks.engine import exercises
from helpers.checks.exercise import Exercise
from tools.build import budgets, links, minutes, published
from tools.build.folds import fold
from tools.build.stubs import LessonError, markdown_stub, regions, solved, stub

ROOT = Path(__file__).resolve().parents[2]
IMPORT = "from helpers.checks import borrow, check"  # what a check cell needs
LENDING = re.compile(r"^from helpers\.checks import (?=check\b)", re.MULTILINE)
UNQUOTED = re.compile(r"^# %%.*?\b(exercise|answer)=([^'\"\s]+)", re.MULTILINE)
MODEL_ANSWER = "model-answer"  # tag of a cell that opens one
OPENING = """from helpers.student.written import model_answer

model_answer("{}")"""
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}


@dataclass(frozen=True)
class Lesson:
    """A lesson as it was read: its name, such as "02_attention", and its cells."""

    name: str
    cells: tuple[NotebookNode, ...]
    before: links.Place | None = None  # the lesson before it
    after: links.Place | None = None
    address: str = ""  # of the repository, where it is published

    @property
    def number(self) -> int:
        """The number in the name."""
        return int(self.name.split("_")[0])


def read(path: Path) -> Lesson:
    """Read lessons/NN_name.py."""
    script = path.read_text("utf-8")
    if bare := UNQUOTED.search(script):
        raise LessonError('{0}={1}: write {0}="{1}".'.format(*bare.groups()))
    notebook = jupytext.reads(script, fmt="py:percent")
    for cell in notebook.cells:
        cell.metadata.pop("lines_to_next_cell", None)
        if cell.cell_type == "markdown":
            cell.source = budgets.said(cell.source, path.stem, path.parents[1])
    near, address = _neighbours(path), published.address(path.parents[1])
    lesson = Lesson(path.stem, tuple(notebook.cells), *near, address)
    top = lesson.cells[0]
    if minutes.TOKEN in top.source:
        source = top.source
        for _ in range(2):  # what is said is read as well, and counts
            said = minutes.said(lesson.cells, known_exercises(lesson))
            top.source = source.replace(minutes.TOKEN, said)
    return lesson


def _neighbours(path: Path) -> tuple[links.Place | None, ...]:
    """The lessons before and after one, where there are."""
    shelf = [None, *lesson_paths(path.parents[1]), None]
    if path not in shelf:
        return None, None
    at = shelf.index(path)
    return tuple(
        one and links.place(one.stem, one.read_text("utf-8"))
        for one in (shelf[at - 1], shelf[at + 1])
    )


def lesson_paths(root: Path = ROOT) -> list[Path]:
    """All lessons, in their order."""
    return sorted((root / "lessons").glob("[0-9][0-9]_*.py"))


def chosen(paths: list[Path], numbers: Iterable[str]) -> list[Path]:
    """The files of the lessons that were asked for; all where none was.

    Args:
        paths: a file per lesson, such as lessons/02_attention.py
        numbers: "2", "02" or "02_attention"

    Raises:
        LessonError: There is no such lesson, or none at all.
    """
    if not paths:
        raise LessonError(
            "There are no lessons yet: CONTRIBUTING.md says how to begin."
        )
    wanted = {re.split(r"[_.]", number)[0].zfill(2): number for number in numbers}
    found = [path for path in paths if not wanted or path.name[:2] in wanted]
    if missing := set(wanted) - {path.name[:2] for path in found}:
        known = ", ".join(path.name[:2] for path in paths)
        unknown = ", ".join(sorted(wanted[number] for number in missing))
        raise LessonError(f"There is no lesson {unknown}: choose from {known}.")
    return found


def student(lesson: Lesson) -> NotebookNode:
    """The notebook that students open: solutions cut out, nothing executed."""
    return _notebook(lesson, for_student=True)


def solution(lesson: Lesson) -> NotebookNode:
    """The notebook with all the code, still to be executed."""
    return _notebook(lesson, for_student=False)


def noted(lesson: Lesson) -> NotebookNode:
    """The solution with the notes for the speaker: what slides are made of."""
    return _notebook(lesson, for_student=False, notes=True)


def known_exercises(lesson: Lesson) -> dict[str, Exercise]:
    """The exercises that helpers/exercises knows for a lesson, with their minutes."""
    every = (one for one in exercises() if one.lesson == lesson.number)
    return {
        one.id: replace(one, minutes=minutes.of_exercise(one, lesson.cells))
        for one in every
    }


def _notebook(lesson: Lesson, for_student: bool, notes: bool = False) -> NotebookNode:
    known = known_exercises(lesson)
    _complete(lesson, known)
    cells = [_cell(cell, known, for_student) for cell in lesson.cells]
    _identify(lesson, cells)
    _link(lesson, cells, for_student)
    if not notes:
        cells = [cell for cell in cells if not _for_speakers(cell)]
    top, end = links.around(lesson.name, lesson.before, lesson.after, for_student)
    path = f"{'notebooks' if for_student else 'solutions'}/{lesson.name}.ipynb"
    elsewhere = published.invitation(lesson.address, path)
    top.source = "\n\n".join(filter(None, (top.source, elsewhere)))
    cells[1:1] = [*[top] * bool(top.source), *published.first_cell(lesson.address)]
    cells += [*links.so_far(lesson.cells), end]
    cells = [part for cell in cells for part in (*fold(cell), *_opening(cell))]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=copy.deepcopy(METADATA))
    notebook.nbformat_minor = 5
    return notebook


def _cell(cell: NotebookNode, known: dict, for_student: bool) -> NotebookNode:
    meta = dict(cell.metadata)
    task, written = meta.pop("exercise", None), meta.pop("answer", None)
    locked, slide = meta.pop("locked", False), meta.pop("slide", None)
    unknown = set(meta) - {"tags", "slideshow"}
    if unknown:
        raise LessonError(f"cell header with unknown {', '.join(sorted(unknown))}.")
    source, grade = cell.source, None
    checked = checked_exercise(source) if cell.cell_type == "code" else None
    if cell.cell_type == "markdown" and task:
        source, name = f"{box(known[task])}\n\n{source}", f"{_slug(task)}-task"
    elif written:
        source = (markdown_stub if for_student else solved)(source, f"answer {written}")
        name = _slug(written)
        grade = _grade(name, points=known[written].points, solution=True)
    elif task:
        source = stub(source, task) if for_student else solved(source, task)
        name, grade = _slug(task), _grade(_slug(task), solution=True)
    elif checked:
        name = f"{_slug(checked)}-check"
        grade = _grade(name, points=known[checked].points, locked=True)
    else:
        name = None
        source = LENDING.sub("from helpers.checks import borrow, ", source)
        if locked:
            grade = _grade("", locked=True)
    if slide:
        meta["slideshow"] = {"slide_type": slide}
    if grade:
        meta["nbgrader"] = grade
    kinds = {
        "code": nbformat.v4.new_code_cell,
        "markdown": nbformat.v4.new_markdown_cell,
    }
    return kinds[cell.cell_type](source, metadata=meta, id=name or "later")


def _opening(cell: NotebookNode) -> list[NotebookNode]:
    """Behind the answer to a written question: a cell that opens the model answer."""
    if cell.cell_type != "markdown" or "nbgrader" not in cell.metadata:
        return []
    exercise_id = cell.id.removeprefix("ex-").replace("-", ".")
    meta = {"slideshow": {"slide_type": "skip"}, "tags": [MODEL_ANSWER]}
    source = OPENING.format(exercise_id)
    return [nbformat.v4.new_code_cell(source, metadata=meta, id=f"{cell.id}-model")]


def _link(lesson: Lesson, cells: list[NotebookNode], for_student: bool) -> None:
    """Put links into the texts: to papers, and from exercise to exercise."""
    tasks = [
        cell.metadata.get("exercise") if cell.cell_type == "markdown" else None
        for cell in lesson.cells
    ]
    order = [number for number in tasks if number]
    for cell, number in zip(cells, tasks, strict=True):
        if cell.cell_type == "markdown":
            cell.source = links.papers(cell.source)
        if number:
            heading, facts, *text = cell.source.split("\n\n")
            box = f"{heading}\n\n{facts}"
            linked = links.exercise(box, number, order, for_student)
            cell.source = "\n\n".join([linked, *text])


def _for_speakers(cell: NotebookNode) -> bool:
    return cell.metadata.get("slideshow", {}).get("slide_type") == "notes"


def _slug(exercise_id: str) -> str:
    return "ex-" + exercise_id.replace(".", "-")


def _grade(
    name: str,
    *,
    points: int | None = None,
    solution: bool = False,
    locked: bool = False,
) -> dict:
    """Metadata of nbgrader's schema 3; points make a cell count."""
    meta = {
        "grade": points is not None,
        "grade_id": name,
        "locked": locked,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    return meta if points is None else meta | {"points": points}


def _identify(lesson: Lesson, cells: list[NotebookNode]) -> None:
    """Ids that stay the same from build to build, in both notebooks.

    They are made from the lesson's own text, so that a student's notebook and its
    solution agree on them.
    """
    seen: dict[str, int] = {}
    for cell, original in zip(cells, lesson.cells, strict=True):
        if cell.id == "later":
            count = seen[original.source] = seen.get(original.source, -1) + 1
            text = f"{lesson.name}\n{original.source}\n{count}"
            cell.id = "c-" + hashlib.sha1(text.encode()).hexdigest()[:10]
        if "nbgrader" in cell.metadata and not cell.metadata["nbgrader"]["grade_id"]:
            cell.metadata["nbgrader"]["grade_id"] = cell.id


def box(exercise: Exercise) -> str:
    """The heading of an exercise and the line under it."""
    star = "★ " if exercise.core else ""
    facts = [
        exercise.kind,
        "core path" if exercise.core else "more",
        f"difficulty {exercise.difficulty} of 5",
        f"about {exercise.minutes} minutes",
    ]
    if exercise.points:
        facts.append(f"{exercise.points} point{'s' if exercise.points > 1 else ''}")
    title = f"### {star}Exercise {exercise.id}: {exercise.title}"
    return f"{title}\n\n*{' · '.join(facts)}*"


def check_call(source: str) -> tuple[str, tuple[str, ...]] | None:
    """The id and the names in a cell that is one call of `check`, else None."""
    try:
        body = ast.parse(source.removeprefix(IMPORT)).body
    except SyntaxError:
        return None
    call = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != "check":
        return None
    first, *names = call.args
    if not isinstance(first, ast.Constant):
        return None
    return str(first.value), tuple(ast.unparse(name) for name in names)


def checked_exercise(source: str) -> str | None:
    """The id in a cell that is one call of `check`, else None."""
    call = check_call(source)
    return call[0] if call else None


def _complete(lesson: Lesson, known: dict[str, Exercise]) -> None:
    """Refuse a lesson whose exercises, stubs and checks do not belong together."""
    cells, answered, checks = lesson.cells, [], {}
    for cell in cells:
        kind = cell.cell_type
        if kind == "code" and (call := check_call(cell.source)):
            if call[0] in checks:
                raise LessonError(f"exercise {call[0]} has two checks.")
            checks[call[0]] = call[1]
        for key in ("exercise", "answer"):
            number = cell.metadata.get(key)
            if number and number not in known:
                raise LessonError(
                    f"exercise {number}: helpers/exercises does not have it."
                )
        number = cell.metadata.get("answer")
        number = cell.metadata.get("exercise") if kind == "code" else number
        if not number and regions(cell.source, lesson.name):
            raise LessonError("a solution is marked in a cell that is not an answer.")
        if number in answered:
            raise LessonError(f"exercise {number} stands twice in {lesson.name}.")
        if number:
            answered.append(number)
            if kind == "markdown" and not regions(cell.source, f"answer {number}"):
                raise LessonError(f"exercise {number}: no model answer is marked.")
    if checks and not any(
        "from helpers.checks import" in cell.source for cell in cells
    ):
        raise LessonError(
            "`from helpers.checks import check` is missing: its checks need it."
        )
    titles = [c.metadata.get("exercise") for c in cells if c.cell_type == "markdown"]
    for number, exercise in known.items():
        if number not in answered and exercise.kind != "open":
            raise LessonError(f"exercise {number} has no cell in {lesson.name}.")
        if titles.count(number) != 1:
            raise LessonError(f"exercise {number} needs one text cell that sets it.")
        if exercise.answers and number not in checks:
            raise LessonError(f"exercise {number} has no check in {lesson.name}.")
        if checks.get(number, exercise.names) != exercise.names:
            names = ", ".join(exercise.names)
            raise LessonError(f"exercise {number}: its check should ask for {names}.")
    for number in checks:
        if number not in known:
            raise LessonError(f"exercise {number}: helpers/exercises does not have it.")
