"""How long a student needs for a lesson, counted: `python -m tools.build.minutes`.

Reading takes a minute for 150 words outside of folds, and half a minute for each code
cell that is there to be read: no stub, no check, nothing folded. An exercise takes
minutes by its difficulty and by the lines of its solution, two lines of a written
answer counting as one. Written by hand are only those of open exercises, which have no
solution.

The core path is all that stands before a heading `## Going further`. In a lesson
without one it is each section with a core exercise or with none, and of the exercises
those that are core.
"""

import io
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from tokenize import NEWLINE, generate_tokens

from nbformat import NotebookNode

from helpers.checks.exercise import Exercise
from tools.build.folds import split
from tools.build.stubs import regions

TOKEN = "{minutes}"  # in the first cell of a lesson
FURTHER = "## Going further"
WORDS = 150  # that are read in a minute
CELL = 0.5  # minutes for a code cell
DIFFICULTY, LINE = 2.25, 0.85  # minutes of an exercise, fitted to those given by hand
CORE, ALL = 90, 150  # the most that a lesson may take, once it ends in "Going further"
FOLD = re.compile(r"<details>.*?</details>", re.DOTALL)


@dataclass(frozen=True)
class Minutes:
    """Of a lesson or a part of it: what is read, and what is done."""

    words: int = 0
    cells: int = 0
    exercises: int = 0

    def __add__(self, other: "Minutes") -> "Minutes":
        """Both together."""
        both = zip(vars(self).values(), vars(other).values(), strict=True)
        return Minutes(*(one + more for one, more in both))

    @property
    def rounded(self) -> int:
        """All minutes together, to the next five."""
        exact = self.words / WORDS + CELL * self.cells + self.exercises
        return max(5, 5 * round(exact / 5))


def of_exercise(exercise: Exercise, cells: Iterable[NotebookNode]) -> int:
    """The minutes of an exercise, by the rule.

    Args:
        exercise: what is asked
        cells: of its lesson
    """
    if exercise.kind == "open":
        return exercise.minutes
    lines = sum(_lines(cell) for cell in cells if exercise.id in _answered(cell))
    return round(DIFFICULTY * exercise.difficulty + LINE * lines)


def of_lesson(
    cells: Iterable[NotebookNode], known: dict[str, Exercise]
) -> tuple[Minutes, Minutes]:
    """The core path of a lesson, and all of it.

    Args:
        cells: as they were read
        known: its exercises, with their minutes
    """
    core, whole, further = Minutes(), Minutes(), False
    headed = ends_in_further(cells)
    for section in _sections(cells):
        further = further or section[0].source.startswith(FURTHER)
        asked = [known[one] for cell in section for one in _set(cell)]
        read = sum(map(_read, section), Minutes())
        done = Minutes(exercises=sum(one.minutes for one in asked))
        whole += read + done
        if headed and not further:
            core += read + done
        elif not headed and (not asked or any(one.core for one in asked)):
            starred = sum(one.minutes for one in asked if one.core)
            core += read + Minutes(exercises=starred)
    return core, whole


def ends_in_further(cells: Iterable[NotebookNode]) -> bool:
    """Whether a lesson has a part that is not on the core path."""
    return any(cell.source.startswith(FURTHER) for cell in cells)


def over(cells: Iterable[NotebookNode], known: dict[str, Exercise]) -> str:
    """By how much a lesson that was rewritten exceeds its budget; "" if it does not."""
    if not ends_in_further(cells):
        return ""
    found = zip(of_lesson(cells, known), (CORE, ALL), ("core", "all"), strict=True)
    return ", ".join(
        f"{name}: {one.rounded} of at most {most} minutes"
        for one, most, name in found
        if one.rounded > most
    )


def said(cells: Iterable[NotebookNode], known: dict[str, Exercise]) -> str:
    """The words that take the place of `TOKEN`."""
    core, whole = (one.rounded for one in of_lesson(cells, known))
    return f"about {whole} minutes, of which {core} are the core path (★)"


def _sections(cells: Iterable[NotebookNode]) -> list[list[NotebookNode]]:
    found: list[list[NotebookNode]] = [[]]
    for cell in cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            found.append([])
        found[-1].append(cell)
    return [section for section in found if section]


def _read(cell: NotebookNode) -> Minutes:
    """What of a cell is read."""
    if cell.metadata.get("slide") == "notes" or _answered(cell):
        return Minutes()
    if cell.cell_type == "markdown":
        words = FOLD.sub("", cell.source).split()
        return Minutes(words=sum(any(map(str.isalnum, word)) for word in words))
    check = cell.source.startswith("check(")
    return Minutes(cells=bool(split(cell.source)[0] and not check))


def _set(cell: NotebookNode) -> list[str]:
    """The exercise whose text a cell is."""
    number = cell.metadata.get("exercise")
    return [number] if number and cell.cell_type == "markdown" else []


def _answered(cell: NotebookNode) -> tuple[str, ...]:
    """The exercise whose solution a cell holds."""
    kind = "exercise" if cell.cell_type == "code" else "answer"
    return tuple(filter(None, [cell.metadata.get(kind)]))


def _lines(cell: NotebookNode) -> float:
    """The lines of its solution, a call that is wrapped being one.

    Of a written answer it is half the lines of its text, without the rubric.
    """
    where = f"exercise {_answered(cell)[0]}"
    lines = [line for one in regions(cell.source, where) for line in one.solution]
    if cell.cell_type == "markdown":
        text = "\n".join(lines).split("**Rubric")[0].strip()
        return len(text.split("\n")) / 2
    typed = io.StringIO(textwrap.dedent("\n".join(lines)) + "\n")
    return sum(token.type == NEWLINE for token in generate_tokens(typed.readline))


def main() -> None:
    """Print how long each lesson takes."""
    from tools.build.notebooks import known_exercises, lesson_paths, read

    print(
        f"{'lesson':24}{'words':>7}{'cells':>7}{'exercises':>11}{'core':>6}{'all':>6}"
    )
    for path in lesson_paths():
        lesson = read(path)
        known = known_exercises(lesson)
        core, whole = of_lesson(lesson.cells, known)
        parts = f"{whole.words:7}{whole.cells:7}{whole.exercises:11}"
        print(f"{lesson.name:24}{parts}{core.rounded:6}{whole.rounded:6}", end="  ")
        print(over(lesson.cells, known))


if __name__ == "__main__":
    main()
