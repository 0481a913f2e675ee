"""Which cells of a lesson stand on which slide."""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from helpers.checks.engine import find
from helpers.checks.exercise import Exercise
from tools.build.folds import TAG
from tools.build.links import unlinked

MOST_MISTAKES = 6  # in the speaker notes of one exercise
NUMBERS = re.compile(r"(\d+\.\d+\w?)(?:\s+to\s+(\d+\.\d+\w?))?")
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


def slides(solution: NotebookNode, student: NotebookNode) -> list[Slide]:
    """The slides of a lesson, from its two notebooks.

    Args:
        solution: The executed solution notebook.
        student: The student's notebook; its stubs are what is coded live.
    """
    stubs = {cell.id: cell for cell in student.cells}
    ends = (cell for cell in solution.cells if cell.id.endswith("-end"))
    drawn = {end.id[: -len("-end")] for end in ends if "show_figure" in end.source}
    deck: list[Slide] = []
    for cell in solution.cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type", "-")
        exercise, part = _exercise(cell)
        if kind == "notes":
            deck[-1].notes.append(cell.source)
            continue
        if kind == "skip" or part == "-check" or _imports(cell):
            continue
        if answers := bool(exercise and part is None):
            deck[-1].answered = True
            if cell.cell_type == "markdown":
                continue  # the model answer of a written question
        after = deck and deck[-1].answered and not answers
        begins = kind in ("slide", "subslide") or after or not deck
        if begins or part == "-task" and not _heading_alone(deck[-1]):
            deck.append(Slide(kind if deck and kind == "slide" else "subslide"))
            deck[0].kind = "slide"
        if part == "-task":
            deck[-1].exercise = exercise
            deck[-1].notes.append(advice(exercise, cell.source))
            cell.source = unlinked(cell.source)
        if cell.id in drawn:  # what a figure is drawn from is not the point either
            cell.metadata.setdefault("tags", []).append(TAG)
        deck[-1].cells.append(stubs[cell.id] if answers else cell)
    _plan(deck)
    return [slide for slide in deck if slide.cells]


def _heading_alone(slide: Slide) -> bool:
    """Whether nothing but a heading has come: what follows stands below it."""
    texts = [one.source.strip() for one in slide.cells if one.cell_type == "markdown"]
    plain = len(texts) == len(slide.cells) == 1
    return plain and re.fullmatch(r"#+ [^\n]+", texts[0]) is not None


def read(root: Path, name: str) -> list[Slide]:
    """The slides of the lesson `name`, from the notebooks that are committed."""
    return slides(
        *(
            nbformat.read(root / folder / f"{name}.ipynb", nbformat.NO_CONVERT)
            for folder in ("solutions", "notebooks")
        )
    )


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
    """What a plan leaves for the lab: "Leave 2.3, 2.5 to 2.6 for the lab".

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


def _plan(deck: list[Slide]) -> None:
    """Give every slide the plan of the class, and mark what it leaves for the lab."""
    plan = "\n\n".join(text for slide in deck[:3] for text in slide.notes)
    left = left_for_lab(plan, [slide.exercise.id for slide in deck if slide.exercise])
    for number, slide in enumerate(deck):
        slide.lab = bool(slide.exercise and slide.exercise.id in left)
        if slide.lab:
            slide.notes.insert(0, "**The plan leaves this for the lab.**")
        if plan and plan not in slide.notes:
            slide.notes.append(plan if number < 3 else f"---\n\nThe plan: {plan}")
