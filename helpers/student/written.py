"""Written questions: the model answer opens to whoever has answered.

A person gives the points. What is compared here is only how much was written, so that
an answer of one's own comes first.
"""

import json
import re
from collections import Counter
from pathlib import Path

from helpers import first_edition
from helpers.checks.card import display
from helpers.checks.engine import grading
from helpers.checks.report import CheckFailed
from helpers.student.presence import notebook_path

ANSWERS = Path(__file__).parents[1] / "exercises" / "written.json"  # by `make build`
ENOUGH = 40  # words of the student's own


def model_answer(exercise_id: str, text: str | None = None) -> None:
    """Show the model answer and the rubric to whoever has written an answer.

    Args:
        exercise_id: a written question, such as "2.K"
        text: the answer, where it does not stand in the saved notebook's own cell

    Raises:
        CheckFailed: There is no such question.
    """
    if grading():
        return  # nothing is shown, nor read: the answers are not even there
    known = json.loads(ANSWERS.read_text("utf-8"))
    exercise_id = first_edition.exercise(exercise_id)
    if exercise_id not in known:
        raise CheckFailed(
            f"There is no written question {exercise_id!r}: they are "
            f"{', '.join(known)}."
        )
    question = known[exercise_id]
    if text is None:
        text = _saved(exercise_id)
    if text is None:
        print(
            f"The model answer opens once you have written {ENOUGH} words; where this "
            f'notebook can\'t be read, call model_answer("{exercise_id}", "your text").'
        )
        return
    count = own_words(text, question["untouched"])
    if count < ENOUGH:
        print(
            f"Your answer to {exercise_id} has {count} of the {ENOUGH} words that "
            f"open the model answer: write {ENOUGH - count} more, save the notebook, "
            "and run this cell again."
        )
        return
    head = f"**{exercise_id}, to compare yours with.** A person gives the points."
    page = f"{head}\n\n{question['answer']}"
    display({"text/plain": page, "text/markdown": page})


def own_words(text: str, untouched: str) -> int:
    """How many words a text has beyond those that stood there before."""
    return (_words(text) - _words(untouched)).total()


def _words(text: str) -> Counter:
    return Counter(re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text.lower()))


def _saved(exercise_id: str) -> str | None:
    """The answer's cell in the file of the running notebook; None where there is none.

    The file holds what was saved last, and JupyterLab saves every two minutes.
    """
    path, name = notebook_path(), f"ex-{exercise_id.replace('.', '-')}"
    try:
        cells = json.loads(path.read_text("utf-8"))["cells"] if path else []
        texts = [cell["source"] for cell in cells if _is(cell, name)]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    joined = ("".join(one) for one in texts)  # a text, or a list of its lines
    return next(joined, None)


def _is(cell: dict, name: str) -> bool:
    graded = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id")
    names = (cell.get("id"), graded)
    return name in [first_edition.cell(str(one)) for one in names]
