"""What a class gets from grading beside the tables: pages, and files for its platform.

    pages/02_attention/<student>.html    feedback, one page for each student
    for-moodle/02_attention.csv          a grading worksheet to import
    for-moodle/02_attention-feedback.zip those pages, in Moodle's naming
    for-canvas/02_attention.csv          a gradebook to import
    students.csv                         who handed in what, and who did not
    reading.html                         written answers, to be read by a person
    class.html                           the class at a glance

Nothing here decides about points.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from helpers.files import write_whole
from tools.grading import (
    archive,
    feedback,
    gradebook,
    guard,
    names,
    overview,
    platforms,
    reading,
    tables,
)
from tools.grading.feedback import Written
from tools.grading.find import Submission, readable
from tools.grading.outline import Outline, cell
from tools.grading.platforms import Mark
from tools.grading.roster import Person, Roster
from tools.grading.tables import Grade

PLATFORMS = ("moodle", "canvas")
CLASS, READING = "class.html", "reading.html"


@contextmanager
def handed_in(source: Path) -> Iterator[tuple[Path, list[tuple[str, str]]]]:
    """The folder of the submissions, unpacked for a while where it is a zip.

    Yields:
        The folder, and (name, reason) of what a zip holds that was left out.
    """
    if not source.is_file():
        yield names.inside(source), []
        return
    with tempfile.TemporaryDirectory(
        prefix="handed-in-", ignore_cleanup_errors=True
    ) as place:
        watcher = guard.start(Path(place))  # the files go also when this is killed
        try:
            folder = Path(place) / readable(source.stem)
            folder.mkdir()
            left = archive.unpack(source, folder)
            inner = names.inside(folder)
            around = "" if inner == folder else f"{inner.name}/"
            yield inner, [(name.removeprefix(around), reason) for name, reason in left]
        finally:
            watcher.stdin.close()
            watcher.wait()


def left_out(
    found: list[Submission], left: Iterable[tuple[str, str]], lessons: list[str]
) -> list[Submission]:
    """What was found, and those of whom a zip's file was left out.

    Args:
        found: The submissions.
        left: (name, reason) of what was left out.
        lessons: The names of the lessons that are graded.
    """
    known = {(one.student, one.lesson) for one in found}
    whole = {one.student for one in found if one.path}
    found = list(found)
    for path, reason in left:
        parts = PurePosixPath(path.replace("\\", "/").replace("\0", "")).parts
        parts = [part for part in parts if part not in ("/", "..")] or ["?"]
        lesson = next((one for one in lessons if one in parts[-1].lower()), "")
        name = names.of(Path(*parts), lesson, Path(parts[0]))
        student = readable(name.label)
        if (student, lesson) not in known and not (lesson == "" and student in whole):
            known.add((student, lesson))
            found.append(Submission(student, lesson, None, reason, name))
    return sorted(found, key=lambda one: (one.student, one.lesson))


def notes(grades: list[Grade], submissions: list[Submission]) -> None:
    """Add to the grades what the names of the files tell."""
    told = {(one.student, one.lesson): one for one in submissions}
    for grade in grades:
        one = told.get((grade.student, grade.lesson))
        if one:
            grade.notes += ["handed in late"] * one.name.late + list(one.notes)


@dataclass(frozen=True)
class Class:
    """Everything that is known of a class when grading ends."""

    out: Path
    grades: list[Grade]
    submissions: list[Submission]
    outlines: Mapping[str, Outline]  # lesson -> its outline
    roster: Roster | None
    root: Path  # the course

    @property
    def people(self) -> dict[str, Person]:
        """Student -> who that is in the list of the class."""
        return self.roster.join(self.submissions) if self.roster else {}

    @property
    def missing(self) -> list[tuple[Person, str]]:
        """(person of the list, lesson) of those who handed in nothing for it."""
        if not self.roster:
            return []
        people = self.people
        done = {
            (people[one.student], one.lesson)
            for one in self.submissions
            if one.student in people
        }
        return [
            (person, lesson)
            for lesson in self.outlines
            for person in self.roster.people
            if (person, lesson) not in done
        ]

    def answers(self) -> dict[tuple[str, str], dict[str, Written]]:
        """(student, lesson) -> written question -> the answer, and what it got."""
        graded = [one for one in self.grades if not one.reason]
        given = gradebook.given(self.out, graded)
        found = {}
        for one in graded:
            outline = self.outlines[one.lesson]
            texts = feedback.from_notebook(self._notebook(one), outline)[1]
            known = given.get((one.student, one.lesson), {})
            found[one.student, one.lesson] = {
                number: Written(
                    texts.get(number, "") if one.written.get(cell(number)) else "",
                    *known.get(cell(number), ()),
                )
                for number, task in outline.tasks.items()
                if task.written
            }
        return found

    def _notebook(self, one: Grade) -> Path:
        folder = self.out / "autograded" / one.student / one.lesson
        return folder / f"{one.lesson}.ipynb"

    def pages(self, written: Mapping) -> dict[str, dict[str, str]]:
        """Lesson -> student -> the page of feedback."""
        files = {(s.student, s.lesson) for s in self.submissions if s.path}
        found = {lesson: {} for lesson in self.outlines}
        for one in self.grades:
            if (one.student, one.lesson) not in files or one.lesson not in found:
                continue
            outline = self.outlines[one.lesson]
            said = feedback.from_notebook(self._notebook(one), outline)[0]
            answers = written.get((one.student, one.lesson), {})
            page = feedback.page(one, outline, answers, said)
            found[one.lesson][one.student] = page
        return found


def write(group: Class) -> list[str]:
    """Write all of it; returns what there is to say, a line each."""
    written = group.answers()
    pages = group.pages(written)
    for lesson, of_lesson in pages.items():
        _write_pages(group.out / "pages" / lesson, of_lesson)
    said = [f"Feedback for students: {group.out / 'pages'}"]
    said += _for_platforms(group, written, pages)
    if group.roster or any(one.name.platform for one in group.submissions):
        text = _students(group, written)
        write_whole(group.out / "students.csv", text.encode(tables.ENCODING))
    absent = _absent(group)
    for lesson, who in (absent or {}).items():
        if who:
            said.append(f"{lesson}: nothing from {len(who)}: {', '.join(who)}.")
    unread = {
        lesson: sum(
            answer.unread
            for (_, of), answers in written.items()
            if of == lesson
            for answer in answers.values()
        )
        for lesson in group.outlines
    }
    page = reading.page(group.grades, group.outlines, written)
    write_whole(group.out / READING, page.encode())
    found = overview.lessons(group.outlines, group.grades, absent, unread, group.root)
    others = [one for one in group.grades if one.lesson not in group.outlines]
    page = overview.page(found, others, READING)
    write_whole(group.out / CLASS, page.encode())
    if count := sum(unread.values()):
        said.append(f"{count} written answers to read: {group.out / READING}")
    said.append(f"The class at a glance: {group.out / CLASS}")
    return said


def _absent(group: Class) -> dict[str, list[str]] | None:
    """Lesson -> who handed in nothing for it; None without a list of the class."""
    if not group.roster:
        return None
    return {
        lesson: [readable(one.shown) for one, of in group.missing if of == lesson]
        for lesson in group.outlines
    }


def _write_pages(folder: Path, pages: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.html"):
        if path.stem not in pages:  # of somebody who is no longer graded
            path.unlink()
    for student, page in pages.items():
        write_whole(folder / f"{student}.html", page.encode())


def _marks(group: Class, lesson: str, platform: str, written: Mapping) -> list[Mark]:
    """Those who have points and are known to a platform."""
    people = group.people
    told = {one.student: one.name for one in group.submissions if one.lesson == lesson}
    found = []
    for one in group.grades:
        if one.reason or one.lesson != lesson:
            continue
        name, person = told[one.student], people.get(one.student)
        mine = platform if group.roster and group.roster.form == platform else ""
        number = name.number or (person.number if person and mine else "")
        if (name.platform or mine) != platform or not number:
            continue
        answers = written.get((one.student, lesson), {}).values()
        tasks = group.outlines[lesson].tasks.values()
        found.append(
            Mark(
                names.Name(name.student, platform, number),
                one.total + sum(answer.points or 0.0 for answer in answers),
                sum(one.most.values())
                + sum(task.exercise.points for task in tasks if task.written),
                person.email if person else "",
                person.id if person else "",
            )
        )
    return found


def _for_platforms(group: Class, written: Mapping, pages: Mapping) -> Iterator[str]:
    for lesson, of_lesson in pages.items():
        for platform in PLATFORMS:
            marks = _marks(group, lesson, platform, written)
            if not marks:
                continue
            folder = group.out / f"for-{platform}"
            folder.mkdir(exist_ok=True)
            if platform == "moodle":
                text, said = platforms.moodle(marks, group.roster)
                whose = {
                    one.student: one.name
                    for one in group.submissions
                    if one.lesson == lesson
                }
                content = platforms.feedback_zip(of_lesson, lesson, whose)
                write_whole(folder / f"{lesson}-feedback.zip", content)
            else:
                text, said = platforms.canvas(marks, lesson, group.roster)
            write_whole(folder / f"{lesson}.csv", text.encode())
            yield f"For {platform.title()}: {folder / lesson}.csv"
            if said:
                yield said


def _students(group: Class, written: Mapping) -> str:
    """A row for each student and lesson, and for each who handed in nothing."""
    rows = [["id", "name", "email", "platform id", "student", "lesson", "state",
             "points", "of", "late", "attempt"]]  # fmt: skip
    people = group.people
    told = {(one.student, one.lesson): one.name for one in group.submissions}
    for one in group.grades:
        name = told.get((one.student, one.lesson), names.Name(one.student))
        person = people.get(one.student)
        who = [person.id, person.name, person.email] if person else ["", "", ""]
        number = name.number or (person.number if person else "")
        state = "not graded" if one.reason else "graded"
        if group.roster and not person:
            state += ", not in the list of the class"
        answers = written.get((one.student, one.lesson), {}).values()
        sums = ["", ""]
        if not one.reason:
            tasks = group.outlines[one.lesson].tasks.values()
            most = sum(task.exercise.points for task in tasks if task.written)
            points = one.total + sum(answer.points or 0.0 for answer in answers)
            sums = [f"{points:g}", f"{sum(one.most.values()) + most:g}"]
        late, attempt = "late" * name.late, str(name.attempt)
        rows.append([*map(_plain, who), number, one.student, one.lesson, state,
                     *sums, late, attempt])  # fmt: skip
    for person, lesson in group.missing:
        who = map(_plain, (person.id, person.name, person.email, person.number))
        rows.append([*who, "", lesson, "missing", "", "", "", ""])
    return tables.table_text(rows)


def _plain(text: str) -> str:
    return readable(text) if text else ""
