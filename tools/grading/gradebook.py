"""Enter grades into nbgrader's gradebook, for its formgrader and its feedback."""

from pathlib import Path

from tools.grading.course import CourseError, quiet
from tools.grading.tables import Grade


def enter(course: Path, grades: list[Grade]) -> None:
    """Add the grades; what a person gave before stays, as nbgrader itself does it.

    Args:
        course: The folder of the gradebook; the assignments are in it already.
        grades: Those without a reason are entered.
    """
    with quiet():
        from nbgrader.api import Gradebook
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with Gradebook(f"sqlite:///{course.resolve()}/gradebook.db") as book:
                for one in grades:
                    if not one.reason:
                        _enter(book, one)
                book.db.commit()
        except SQLAlchemyError as error:
            raise CourseError(
                f"The gradebook in {course} could not be written "
                f"({str(error).splitlines()[0]})."
            ) from error


def _enter(book: object, one: Grade) -> None:
    book.update_or_create_student(one.student)
    book.update_or_create_submission(one.lesson, one.student)
    submission = book.find_submission_notebook(one.lesson, one.lesson, one.student)
    for grade in submission.grades:
        exercise = grade.name.removeprefix("ex-").removesuffix("-check")
        points = one.points.get(exercise.replace("-", "."))
        if points is None:  # a written answer
            unread = one.to_read > 0
            grade.auto_score = None if unread else 0.0
            grade.needs_manual_grade = unread
        else:
            grade.auto_score = points
            grade.needs_manual_grade = grade.manual_score is not None
