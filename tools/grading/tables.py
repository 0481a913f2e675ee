"""grades.csv and misconceptions.csv, and where the earlier ones went.

Both open in a spreadsheet with a double click: a mark at their beginning says that
they are UTF-8, or Excel breaks umlauts.
"""

import csv
import io
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from helpers.checks.exercise import place
from helpers.files import write_whole

BORROWED, UNKNOWN = "borrowed", "not recognised"
ENCODING = "utf-8-sig"


@dataclass
class Grade:
    """What grading found out about one submission."""

    student: str
    lesson: str
    reason: str = ""  # why there are no points
    points: dict[str, float] = field(default_factory=dict)  # exercise -> points
    most: dict[str, float] = field(default_factory=dict)  # exercise -> points to get
    to_read: float = 0.0  # points that a person gives
    outcomes: list[dict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    suspects: list[str] = field(default_factory=list)
    shapes: dict[str, list[int]] = field(default_factory=dict)  # of `likeness.py`
    written: dict[str, str] = field(default_factory=dict)  # cell -> digest or ""
    seconds: float = 0.0

    @property
    def total(self) -> float:
        """The autograded points."""
        return sum(self.points.values())

    def __str__(self) -> str:
        """One line for the person who grades."""
        who = f"{self.student} {self.lesson}".strip()
        if self.reason:
            return f"{who}: not graded, {self.reason}"
        of = sum(self.most.values())
        return f"{who}: {self.total:g} of {of:g} points"


def grades_table(grades: Iterable[Grade]) -> str:
    """One row for each submission, one column for each exercise."""
    grades = list(grades)
    exercises = sorted({name for one in grades for name in one.most}, key=place)
    rows = [
        ["student", "lesson", "status", "points", "of", "to read"]
        + [f"ex {name}" for name in exercises]
        + ["notes", "look at"]
    ]
    for one in grades:
        points = [f"{one.points[name]:g}" if name in one.points else ""
                  for name in exercises]  # fmt: skip
        if one.reason:
            state, sums = "not graded", ["", "", ""]
        else:
            state = "graded"
            sums = [one.total, sum(one.most.values()), one.to_read]
            sums = [f"{number:g}" for number in sums]
        notes = "; ".join([one.reason] * bool(one.reason) + one.notes)
        look = "; ".join(one.suspects)
        rows.append([one.student, one.lesson, state, *sums, *points, notes, look])
    return table_text(rows)


def misconceptions_table(grades: Iterable[Grade], known: dict[str, set[str]]) -> str:
    """How many students have which misconception.

    Args:
        grades: All of them.
        known: Exercise -> the names of its misconceptions; others are not believed.
    """
    found: dict[tuple[str, str], set[str]] = {}
    for one in grades:
        for exercise, name in _mistakes(one.outcomes, known):
            found.setdefault((exercise, name), set()).add(one.student)
    counts = Counter({key: len(students) for key, students in found.items()})
    order = sorted(counts, key=lambda key: (place(key[0]), -counts[key], key[1]))
    rows = [["exercise", "misconception", "students"]]
    return table_text(
        rows + [[f"ex {key[0]}", key[1], str(counts[key])] for key in order]
    )


def _mistakes(
    outcomes: list[dict], known: dict[str, set[str]]
) -> Iterable[tuple[str, str]]:
    """For each exercise that did not pass: what its last check said."""
    last, lent = {}, set()
    for line in outcomes:
        if line["exercise"] in known:
            last[line["exercise"]] = line
            if line["borrowed"]:
                lent.add(line["exercise"])
    for exercise, line in last.items():
        if line["outcome"] == "passed":
            continue
        if exercise in lent:
            yield exercise, BORROWED
        elif line["outcome"] in ("wrong", "raised"):
            name = line["misconception"]
            yield exercise, name if name in known[exercise] else UNKNOWN


def table_text(rows: list[list[str]]) -> str:
    """CSV in which nothing is taken for a formula by a spreadsheet."""
    file = io.StringIO()
    safe = [list(map(harmless, row)) for row in rows]
    csv.writer(file, lineterminator="\n").writerows(safe)
    return file.getvalue()


def harmless(cell: str) -> str:
    """A cell that no spreadsheet computes."""
    return "'" + cell if _formula(cell) else cell


def _formula(cell: str) -> bool:
    """Whether a spreadsheet might compute it: "=1", " =1" and a full-width one."""
    start = unicodedata.normalize("NFKC", cell.strip()[:2])
    return start.startswith(("=", "+", "-", "@")) and start != "-"


def keep(path: Path, text: str) -> Path | None:
    """Write a table; one that is there and differs is kept under another name.

    Returns:
        Where the earlier one is now, if there was one.
    """
    moved = None
    if path.exists():
        if path.read_text(ENCODING) == text:
            return None
        number = 1
        while (moved := path.with_suffix(f".{number}{path.suffix}")).exists():
            number += 1
        path.replace(moved)
    write_whole(path, text.encode(ENCODING))
    return moved
