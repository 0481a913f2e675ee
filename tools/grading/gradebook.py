"""Enter grades into nbgrader's gradebook, for its formgrader and its feedback.

What a person gave to a written answer stays as long as the answer does. It is kept in
written.json, beside the gradebook, with a digest of the answer: a submission that is no
longer graded leaves the gradebook, and may come back.
"""

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from helpers.files import write_whole
from tools.grading.course import CourseError, quiet
from tools.grading.find import readable
from tools.grading.reading import Points
from tools.grading.tables import Grade

KEPT = "written.json"


def enter(course: Path, grades: list[Grade], lessons: Iterable[str] = ()) -> None:
    """Add the grades of those that have one, and take back those of the others.

    Args:
        course: The folder of the gradebook; the assignments are in it already.
        grades: Of everybody who handed something in. One that nbgrader does not take
            gets a note that says so.
        lessons: What was graded: whoever handed in nothing that tells its lesson has
            no score for any of these.

    Raises:
        CourseError: The gradebook can't be read or written.
    """
    kept = _read(course / KEPT)
    with _opened(course, "written") as book:
        graded = {(one.student, one.lesson) for one in grades if not one.reason}
        for student, lesson in _ungraded(grades, lessons) - graded:
            _take_back(book, student, lesson, kept)
            gone = course / "autograded" / student / lesson
            shutil.rmtree(gone, ignore_errors=True)
        for one in grades:
            if one.reason:
                continue
            try:
                _enter(book, one, kept)
            except ValueError as error:  # nbgrader's own
                one.notes.append(f"not in nbgrader's gradebook: {error}")
    write_whole(course / KEPT, json.dumps(kept, indent=1).encode())


@contextmanager
def _opened(course: Path, what: str) -> Iterator:
    """The gradebook, to be "read" or "written": kept where the body ends well."""
    with quiet():
        from nbgrader.api import Gradebook
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with Gradebook(f"sqlite:///{course.resolve()}/gradebook.db") as book:
                yield book
                book.db.commit()
        except SQLAlchemyError as error:
            raise CourseError(
                f"The gradebook in {course} could not be {what} "
                f"({str(error).splitlines()[0]})."
            ) from error


def _ungraded(grades: list[Grade], lessons: Iterable[str]) -> set[tuple[str, str]]:
    """Who has no grade, and for which lesson."""
    return {
        (one.student, lesson)
        for one in grades
        if one.reason
        for lesson in ([one.lesson] if one.lesson else lessons)
    }


def _read(path: Path) -> dict[str, dict]:
    """Student, lesson and cell -> digest of the answer, points and comment for it."""
    try:
        kept = json.loads(path.read_text("utf-8"))
        return kept if isinstance(kept, dict) else {}
    except (OSError, ValueError):
        return {}


def _enter(book: object, one: Grade, kept: dict[str, dict]) -> None:
    book.update_or_create_student(one.student)
    book.update_or_create_submission(one.lesson, one.student)
    submission = book.find_submission_notebook(one.lesson, one.lesson, one.student)
    for grade in submission.grades:
        exercise = grade.name.removeprefix("ex-").removesuffix("-check")
        points = one.points.get(exercise.replace("-", "."))
        if points is None:
            place = f"{one.student}/{one.lesson}/{grade.name}"
            digest = one.written.get(grade.name, "")
            _enter_written(submission, grade, digest, kept.get(place))
            kept[place] = {"digest": digest}
        else:
            seen = grade.auto_score == points and not grade.needs_manual_grade
            grade.needs_manual_grade = grade.manual_score is not None and not seen
            grade.auto_score = points


def _enter_written(
    submission: object, grade: object, digest: str, known: dict | None
) -> None:
    """Note whether a person must read a written answer, and keep what one gave to it.

    Args:
        submission: The gradebook's entry for the notebook.
        grade: Its entry for the answer.
        digest: Of the answer; "" where it was left as released.
        known: What was noted of an earlier one.
    """
    unread = bool(digest) and grade.manual_score is None
    if known and known.get("digest") != digest:  # what was given, was for another text
        unread = bool(digest) or grade.manual_score is not None
    elif known and known.get("points") is not None and grade.manual_score is None:
        grade.manual_score, unread = known["points"], known["unread"]
        for comment in submission.comments:
            if comment.name == grade.name:
                comment.manual_comment = known["comment"]
    elif known and grade.manual_score is not None:
        unread = grade.needs_manual_grade
    grade.auto_score = None if digest else 0.0
    grade.needs_manual_grade = unread


def _take_back(book: object, student: str, lesson: str, kept: dict[str, dict]) -> None:
    """Remove a submission, and remember what a person gave to it."""
    from nbgrader.api import MissingEntry

    try:
        submission = book.find_submission_notebook(lesson, lesson, student)
    except MissingEntry:
        return
    comments = {one.name: one.manual_comment for one in submission.comments}
    for grade in submission.grades:
        place = f"{student}/{lesson}/{grade.name}"
        if place in kept and grade.manual_score is not None:
            kept[place] |= {
                "points": grade.manual_score,
                "comment": comments.get(grade.name),
                "unread": bool(grade.needs_manual_grade),
            }
    book.remove_submission(lesson, student)


def given(
    course: Path, grades: Iterable[Grade]
) -> dict[tuple[str, str], dict[str, tuple[float | None, str, bool]]]:
    """What a person gave to written answers.

    Args:
        course: The folder of the gradebook.
        grades: Of those who are asked for; whoever is not in it is left out.

    Returns:
        (student, lesson) -> cell -> points or None, comment, and whether the answer
        waits for somebody to read it.

    Raises:
        CourseError: The gradebook can't be read.
    """
    found = {}
    with _opened(course, "read") as book:
        from nbgrader.api import MissingEntry

        for one in grades:
            names = one.lesson, one.lesson, one.student
            try:
                submission = book.find_submission_notebook(*names)
            except MissingEntry:
                continue
            said = {c.name: c.manual_comment for c in submission.comments}
            found[one.student, one.lesson] = {
                grade.name: (
                    grade.manual_score,
                    said.get(grade.name) or "",
                    bool(grade.needs_manual_grade),
                )
                for grade in submission.grades
                if grade.name in one.written
            }
    return found


def give(course: Path, grades: Iterable[Grade], marks: Iterable[Points]) -> list[str]:
    """Enter what a person gave to written answers on the page for reading.

    Args:
        course: The folder of the gradebook, in which the grades have been entered.
        grades: Of everybody who handed something in.
        marks: What was given. What was for another text, for nobody who is graded, or
            is more than there is to get, is left out.

    Returns:
        A sentence for each that was left out.

    Raises:
        CourseError: The gradebook can't be written.
    """
    known = {(one.student, one.lesson): one for one in grades if not one.reason}
    left = []
    with _opened(course, "written") as book:
        from nbgrader.api import MissingEntry

        for mark in marks:
            one = known.get((mark.student, mark.lesson))
            digest = one.written.get(mark.cell) if one else None
            try:
                why = "there is no such answer" * (not digest)
                why = why or "the answer has changed" * (digest != mark.digest)
                why = why or _give(book, mark)
            except MissingEntry:
                why = "there is no such answer"
            if why:
                who = f"{readable(mark.student)} {readable(mark.cell)}"
                left.append(f"Points for {who} were left out: {why}.")
    return left


def _give(book: object, mark: Points) -> str:
    """Enter points and comment; returns why not, or ""."""
    names = mark.cell, mark.lesson, mark.lesson, mark.student
    grade = book.find_grade(*names)
    if not 0.0 <= mark.points <= grade.max_score:
        return f"{mark.points:g} is not between 0 and {grade.max_score:g}"
    grade.manual_score, grade.needs_manual_grade = mark.points, False
    book.find_comment(*names).manual_comment = mark.comment or None
    return ""
