"""Which cells of a lesson stand on which slide.

Where a lesson has notes with minutes, the slides that have one are the class. All
others follow behind it, as an appendix for the lab and for questions.
"""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from helpers.checks.engine import find
from helpers.checks.exercise import Exercise
from tools.build import notebooks, notes
from tools.build.folds import TAG
from tools.build.links import unlinked

MOST_MISTAKES = 6  # in the speaker notes of one exercise
SHORT = 40  # words of a section that begins with an exercise
APPENDIX = """# Appendix

What follows is for the lab, and for questions. The class has no minutes for it.

{}"""
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
NUMBERS = re.compile(r"(\d+\.[A-Z])(?:\s+to\s+(\d+\.[A-Z]))?")
EXERCISE = re.compile(r"ex-(\d+)-(\w+?)(-task|-check)?")


@dataclass
class Slide:
    """One slide as the lesson means it; the browser may have to cut it in several."""

    kind: str  # "slide": a section of its own, "subslide": below the one before
    cells: list[NotebookNode] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # Markdown, for the speaker
    exercise: Exercise | None = None
    answered: bool = False  # its answer's cell has come: what follows is another slide
    lab: bool = False  # the plan leaves its exercise for the lab
    above: str = ""  # the last heading before it
    minutes: int = 0  # that the class has for it
    appendix: bool = False  # behind the class, and not counted


def anchor(exercise: str) -> str:
    """The name of an exercise's slide, behind "#/" in the deck's address."""
    return f"exercise-{exercise.replace('.', '-')}"


def slides(solution: NotebookNode, student: NotebookNode, plan: str) -> list[Slide]:
    """The slides of a lesson, from its two notebooks.

    Args:
        solution: The executed solution notebook, with the notes for the speaker.
        student: The student's notebook; its stubs are what is coded live.
        plan: of the class, for the speaker.
    """
    stubs = {cell.id: cell for cell in student.cells}
    ends = (cell for cell in solution.cells if cell.id.endswith("-end"))
    drawn = {end.id[: -len("-end")] for end in ends if "show_figure" in end.source}
    deck: list[Slide] = []
    for cell in solution.cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type", "-")
        exercise, part = _exercise(cell)
        if kind == "notes":
            if spent := notes.minutes(cell.source):
                deck[-1].minutes += spent
                deck[-1].notes.insert(0, cell.source)
            continue
        if kind == "skip" or part == "-check" or _imports(cell):
            continue
        if answers := bool(exercise and part is None):
            deck[-1].answered = True
            if cell.cell_type == "markdown":
                continue  # the model answer of a written question
        after = deck and deck[-1].answered and not answers
        begins = kind in ("slide", "subslide") or after or not deck
        if begins or part == "-task" and not _short(deck[-1]):
            deck.append(Slide(kind if deck and kind == "slide" else "subslide"))
            deck[0].kind = "slide"
        if part == "-task":
            deck[-1].exercise = exercise
            deck[-1].notes.append(advice(exercise, cell.source))
            cell.source = unlinked(cell.source)
        if cell.id in drawn:  # what a figure is drawn from is not the point either
            cell.metadata.setdefault("tags", []).append(TAG)
        deck[-1].cells.append(stubs[cell.id] if answers else cell)
    deck = [slide for slide in deck if slide.cells]
    _place(deck)
    if any(slide.minutes for slide in deck):
        deck[0].notes.append(plan)
        return _with_appendix(deck)
    _plan(deck, plan)
    return deck


def _place(deck: list[Slide]) -> None:
    """Tell each slide the last heading before it."""
    above = ""
    for slide in deck:
        slide.above = above
        above = [above, *_headings(slide)][-1]


def _headings(slide: Slide) -> list[str]:
    """The headings in its text, without emphasis."""
    texts = (cell.source for cell in slide.cells if cell.cell_type == "markdown")
    text = FENCED.sub("", "\n".join(texts))
    return [found.replace("*", "").replace("`", "") for found in HEADING.findall(text)]


def _with_appendix(deck: list[Slide]) -> list[Slide]:
    """The slides that have minutes, and behind them the others."""
    rest = [slide for slide in deck if not slide.minutes]
    shown = [slide for slide in deck if slide.minutes]
    _place(shown)
    if not rest:
        return shown
    titles = [title for slide in rest for title in _headings(slide)]
    listed = nbformat.v4.new_markdown_cell(APPENDIX.format(" · ".join(titles)))
    rest.insert(0, Slide("slide", [listed]))
    for slide in rest:
        slide.appendix, slide.lab = True, slide.exercise is not None
    return [*shown, *rest]


def _short(slide: Slide) -> bool:
    """Whether an exercise may stand below what a slide has so far."""
    if slide.minutes or len(slide.cells) != 1:
        return False
    cell = slide.cells[0]
    return cell.cell_type == "markdown" and len(cell.source.split()) <= SHORT


def read(root: Path, name: str) -> list[Slide]:
    """The slides of the lesson `name`: its notes, and its notebooks as committed."""
    executed, student = (
        nbformat.read(root / folder / f"{name}.ipynb", nbformat.NO_CONVERT)
        for folder in ("solutions", "notebooks")
    )
    lesson = notebooks.read(root / "lessons" / f"{name}.py")
    solution = notebooks.noted(lesson)
    outputs = {cell.id: cell.get("outputs", []) for cell in executed.cells}
    for cell in solution.cells:
        if cell.cell_type == "code":
            cell.outputs = outputs.get(cell.id, [])
    return slides(solution, student, notes.plan(lesson))


def _exercise(cell: NotebookNode) -> tuple[Exercise | None, str | None]:
    """The exercise of a cell, and its part: "-task", "-check", None for the answer."""
    match = EXERCISE.fullmatch(cell.id)
    return (find(f"{match[1]}.{match[2]}"), match[3]) if match else (None, "")


def _imports(cell: NotebookNode) -> bool:
    """Whether a cell only imports; it may set the seed on the way."""
    if cell.cell_type != "code":
        return False
    body = ast.parse(cell.source).body
    rest = [one for one in body if not isinstance(one, ast.Import | ast.ImportFrom)]
    seeds = all("seed" in ast.unparse(one) for one in rest)
    return len(rest) < len(body) and seeds


def advice(exercise: Exercise, task: str) -> str:
    """What a speaker wants to know about an exercise, without its solution.

    Args:
        exercise: what the checks know of it
        task: its text, whose box says how long it takes
    """
    path = "core path" if exercise.core else "more"
    minutes = re.search(r"about (\d+ minutes)", task)
    alone = f": {minutes[1]} alone" if minutes else ""
    text = f"**Exercise {exercise.id}**, {path}{alone}."
    usual = [f"- {one.done}" for one in exercise.misconceptions[:MOST_MISTAKES]]
    return "\n\n".join(
        [text, *(["What goes wrong:\n\n" + "\n".join(usual)] * bool(usual))]
    )


def left_for_lab(plan: str, deck: list[str]) -> set[str]:
    """What a plan leaves for the lab: "Leave 2.F, 2.D to 2.J for the lab".

    Args:
        plan: The notes of the class, as text.
        deck: The ids of the lesson's exercises, in their order.
    """
    said = [one for one in re.split(r"\.\s+", plan) if re.search(r"for the\s+lab", one)]
    left: set[str] = set()
    for first, last in NUMBERS.findall(" ".join(said)):
        if first in deck:
            end = deck.index(last) if last in deck else deck.index(first)
            left |= set(deck[deck.index(first) : end + 1])
    return left


def _plan(deck: list[Slide], plan: str) -> None:
    """Give every slide the plan of the class, and mark what it leaves for the lab."""
    left = left_for_lab(plan, [slide.exercise.id for slide in deck if slide.exercise])
    for number, slide in enumerate(deck):
        slide.lab = bool(slide.exercise and slide.exercise.id in left)
        if slide.lab:
            slide.notes.insert(0, "**The plan leaves this for the lab.**")
        if plan:
            slide.notes.append(plan if number < 3 else f"---\n\nThe plan: {plan}")
