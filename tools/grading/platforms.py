"""Grades in the forms that Moodle and Canvas import, and feedback for Moodle.

Written after the source of both, which docs/grading.md names; neither platform itself
was at hand.

Moodle's offline grading worksheet (mod/assign/feedback/offline) looks for the columns
Identifier ("Participant 123456"), Grade, and Last modified (grade). It skips rows
without a grade, and grades above the maximum of the assignment. Its feedback files
(mod/assign/feedback/file) come in a zip with a folder for each student, named as in the
zip of all submissions.

Canvas's gradebook (lib/gradebook_importer.rb) starts with Student, ID, SIS User ID,
SIS Login ID, Section; every later column is an assignment, known by the number in
brackets behind its name or by the name, and the row "Points Possible" stands first.
"""

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tools.grading.names import Name
from tools.grading.roster import Roster
from tools.grading.tables import harmless

MOODLE = ("Identifier", "Full name", "Email address", "Grade", "Maximum grade",
          "Last modified (grade)")  # fmt: skip
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POSSIBLE = "    Points Possible"


@dataclass(frozen=True)
class Mark:
    """What somebody gets for a lesson."""

    name: Name
    points: float
    most: float
    email: str = ""
    id: str = ""


def moodle(marks: Iterable[Mark], roster: Roster | None) -> tuple[str, str]:
    """A grading worksheet for one lesson.

    Args:
        marks: Of those who have one; those without a number of Moodle's are left out.
        roster: A worksheet that Moodle exported is filled in.

    Returns:
        The table, and a sentence about it where there is something to say.
    """
    marks = {one.name.number: one for one in marks if one.name.number}
    if roster is None or roster.form != "moodle":
        rows = [MOODLE]
        for number, one in marks.items():
            points, most = _number(one.points), _number(one.most)
            who = f"Participant {number}", one.name.student, one.email
            rows.append((*who, points, most, ""))
        return _text(rows), ""
    rows, said = [list(row) for row in roster.table], ""
    grade, top = roster.column("grade"), roster.column("maximum grade")
    if grade is None:
        return "", "The worksheet has no column Grade: export it again, in English."
    for person in roster.people:
        one = marks.get(person.number)
        if one:
            most = rows[person.row][top] if top is not None else ""
            rows[person.row][grade], scaled = _scaled(one, most)
            said = said or scaled and f"Moodle's grades are scaled to {scaled} points."
    kept = {roster.column("feedback comments")}  # Moodle would take a mark for an edit
    return _text(rows, kept), said


def canvas(
    marks: Iterable[Mark], lesson: str, roster: Roster | None
) -> tuple[str, str]:
    """A gradebook with the column of one lesson.

    Args:
        marks: Of those who have one; those without a number of Canvas's are left out.
        lesson: Its name, and that of the assignment unless the gradebook has another.
        roster: A gradebook that Canvas exported: its rows and its assignment are used.

    Returns:
        The table, and a sentence about it where there is something to say.
    """
    marks = {one.name.number: one for one in marks if one.name.number}
    if roster is None or roster.form != "canvas":
        most = max((one.most for one in marks.values()), default=0.0)
        rows = [[*CANVAS, lesson], [POSSIBLE, "", "", "", "", _number(most)]]
        for number, one in marks.items():
            who = [one.name.student, number, one.id, "", ""]
            rows.append([*who, _number(one.points)])
        return _text(rows), ""
    header = roster.table[0]
    width = roster.column("section") + 1
    mine = [place for place in range(width, len(header))
            if _says(header[place], lesson)]  # fmt: skip
    column = header[mine[0]] if len(mine) == 1 else lesson
    said = ""
    if len(mine) != 1:
        said = (
            f"{len(mine)} columns of Canvas's gradebook name {lesson}: importing the "
            f"table makes a new assignment, {lesson}."
        )
    most = next(
        (row[mine[0]] for row in roster.table if POSSIBLE.strip() in row[0]), ""
    ) if len(mine) == 1 else ""  # fmt: skip
    possible = most or _number(max((one.most for one in marks.values()), default=0.0))
    rows = [[*header[:width], column], [POSSIBLE, *[""] * (width - 1), possible]]
    for person in roster.people:
        one = marks.get(person.number)
        if one:
            grade, scaled = _scaled(one, most)
            said = said or scaled and f"Canvas's grades are scaled to {scaled} points."
            rows.append([*roster.table[person.row][:width], grade])
    return _text(rows), said


def feedback_zip(pages: Mapping[str, str], lesson: str, names: Mapping[str, Name]):
    """The zip of feedback files that Moodle takes.

    Args:
        pages: Student -> page.
        lesson: The name of the lesson, and of the file.
        names: Student -> what their platform calls them; others are left out.

    Returns:
        The zip's bytes, the same for the same pages.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in sorted(pages):
            name = names[student]
            if name.platform != "moodle":
                continue
            who = re.sub(r"[^\w .'-]|_", "", name.student).strip(" .") or "Participant"
            folder = f"{who}_{name.number}_assignsubmission_file"
            when = (1980, 1, 1, 0, 0, 0)
            entry = zipfile.ZipInfo(f"{folder}/{lesson}-feedback.html", when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, pages[student])
    return content.getvalue()


def _says(title: str, lesson: str) -> bool:
    """Whether the title of an assignment names a lesson."""
    return lesson.replace("_", " ") in title.lower().replace("_", " ")


def _scaled(one: Mark, most: str) -> tuple[str, str]:
    """Points out of what the platform's assignment has, and that if it differs."""
    try:
        top = float(most.replace(",", "."))
    except ValueError:
        return _number(one.points), ""
    if top <= 0 or not one.most or top == one.most:
        return _number(one.points), ""
    return _number(one.points * top / one.most), _number(top)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(rows: Iterable[Iterable[str]], kept: Iterable[int | None] = ()) -> str:
    """CSV; no cell is a formula, but for the columns that are kept as they are."""
    kept, file = set(kept), io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    for row in rows:
        writer.writerow(
            cell if place in kept else harmless(cell) for place, cell in enumerate(row)
        )
    return file.getvalue()
