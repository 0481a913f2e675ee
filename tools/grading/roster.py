"""The list of the class: who should have handed in, and what a platform calls them.

A CSV file in one of three forms: your own with the columns id, name, email and platform
id (name or id alone will do); the grading worksheet that Moodle exports for an
assignment; or the gradebook that Canvas exports. The last two are filled in later by
`platforms.py`, so their rows are kept as they are.
"""

import csv
import io
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tools.grading.course import CourseError
from tools.grading.find import Submission

MOST = 5_000_000  # bytes
DIGITS = 20  # of a platform's number: `names.py` reads no longer one
FORMS = {  # form -> the columns by which it is known
    "moodle": {"identifier", "full name"},
    "canvas": {"student", "id", "section"},
    "own": set(),
}
OWN = ("id", "name", "email", "platform id")


@dataclass(frozen=True)
class Person:
    """Somebody of the class; what is not known is ""."""

    id: str
    name: str
    email: str
    number: str  # the platform's
    row: int  # in the table

    @property
    def shown(self) -> str:
        """The name, or what else there is."""
        return self.name or self.id or self.email or self.number


@dataclass(frozen=True)
class Roster:
    """The class, and the table that it was read from."""

    form: str
    table: tuple[tuple[str, ...], ...]  # with its header, all rows equally long
    people: tuple[Person, ...]

    def column(self, name: str) -> int | None:
        """Where a column of this name stands, whatever its capitals."""
        header = [cell.strip().lower() for cell in self.table[0]]
        return header.index(name.lower()) if name.lower() in header else None

    def join(self, submissions: list[Submission]) -> dict[str, Person]:
        """Student, as `make grade` names them -> who that is in the list.

        The platform's number decides where both have one; else the id, the address, the
        part of it before the @, or the name, if it is one person's alone.
        """
        by_number = {one.number: one for one in self.people if one.number}
        names: dict[str, set[Person]] = {}
        for one in self.people:
            for text in (one.id, one.email, one.email.partition("@")[0], one.name):
                if text:
                    names.setdefault(_plain(text), set()).add(one)
        found = {}
        for one in submissions:
            if one.name.number and by_number:
                person = by_number.get(one.name.number)
            else:
                person = _only(names.get(_plain(one.name.student or one.student)))
            if person:
                found[one.student] = person
        return found


def _only(people: set[Person] | None) -> Person | None:
    return next(iter(people)) if people and len(people) == 1 else None


def _plain(text: str) -> str:
    """A name without what people write in several ways: case, spaces, underscores."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.split(r"[\s_]+", text)).strip()


def read(path: Path) -> Roster:
    """Read the list of a class.

    Raises:
        CourseError: The file can't be read, has none of the known forms, or names
            somebody twice.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST + 1)
    except OSError as error:
        raise CourseError(
            f"The list of the class, {path}, can't be read ({error.strerror})."
        ) from None
    if len(content) > MOST:
        raise CourseError(f"{path} is larger than 5 MB: is it the list of a class?")
    try:
        rows = _rows(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise CourseError(f"{path} is not UTF-8: save it as 'CSV UTF-8'.") from None
    except csv.Error as error:
        raise CourseError(f"{path} is not a CSV table ({error}).") from None
    header = {cell.strip().lower() for cell in rows[0]} if rows else set()
    form = next(name for name, known in FORMS.items() if known <= header)
    if form == "own" and not header & set(OWN):
        raise CourseError(
            f"{path} has none of the columns {', '.join(OWN)}: its first line names "
            "them. A grading worksheet of Moodle in English and a gradebook of Canvas "
            "are read as well."
        )
    roster = Roster(form, tuple(map(tuple, rows)), ())
    people = tuple(
        one
        for number in range(1, len(rows))
        if (one := _person(roster, number)) and one.shown
    )
    for kind in ("id", "number"):
        counts = Counter(getattr(one, kind) for one in people)
        twice = [text for text, count in counts.items() if text and count > 1]
        if twice:
            raise CourseError(f"{path} has {len(twice)} ids twice, {twice[0]!r} first.")
    return Roster(form, roster.table, people)


def _rows(text: str) -> list[list[str]]:
    """The rows of a table, whichever of three characters stands between its cells."""
    first = text.lstrip().partition("\n")[0]
    between = max(",;\t", key=first.count)
    rows = list(csv.reader(io.StringIO(text.lstrip(), newline=""), delimiter=between))
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    width = max(map(len, rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]


def _person(roster: Roster, number: int) -> Person | None:
    row = roster.table[number]

    def cell(name: str) -> str:
        place = roster.column(name)
        return "" if place is None else row[place].strip()

    if roster.form == "moodle":
        digits = re.search(r"\d+$", cell("identifier"))
        if not digits:
            return None
        found = "", cell("full name"), cell("email address"), digits[0]
        # Moodle has such a column where the site shows students' own numbers.
        found = cell("id number"), *found[1:]
    elif roster.form == "canvas":
        if not cell("id").isdigit():  # points possible, posting policy
            return None
        found = cell("sis user id"), cell("student"), cell("sis login id"), cell("id")
    else:
        found = tuple(cell(name) for name in OWN)
    identity, name, email, digits = found
    if digits.isdecimal() and len(digits) <= DIGITS:
        digits = str(int(digits))
    return Person(identity, name, email, digits, number)
