"""What pages for people say of a lesson: its exercises, sections and rubrics."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import nbformat

from helpers.checks.exercise import LESSONS, Exercise, Misconception
from helpers.checks.recognise import IN_PLACE

HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
FURTHER = "Going further"  # the heading above exercises about anything
RUBRIC = "**Rubric"


@dataclass(frozen=True)
class Task:
    """One exercise of a lesson, as a page needs it."""

    exercise: Exercise
    section: str  # the heading that it stands under; "" where that tells nothing
    text: str  # what is asked, in Markdown
    answer: str = ""  # written questions: the model answer, in Markdown
    rubric: str = ""

    @property
    def written(self) -> bool:
        """Whether a person reads the answer."""
        return bool(self.rubric)

    def mistake(self, name: str | None) -> Misconception | None:
        """The known mistake of that name."""
        known = (*self.exercise.misconceptions, IN_PLACE)
        return next((one for one in known if one.name == name), None)


@dataclass(frozen=True)
class Outline:
    """A lesson."""

    name: str  # "02_attention"
    title: str  # "02 Attention: a soft dictionary"
    tasks: Mapping[str, Task]  # "2.A" -> its task, in the lesson's order


def cell(exercise_id: str) -> str:
    """The id of an exercise's cell in its notebook: "ex-2-A"."""
    return "ex-" + exercise_id.replace(".", "-")


def read(root: Path, lesson: str) -> Outline:
    """The outline of a lesson, from its notebook and its checks."""
    module = import_module(f"helpers.exercises.{LESSONS[int(lesson.split('_')[0])]}")
    known = {one.id: one for one in module.EXERCISES}
    path = root / "helpers" / "exercises" / "written.json"
    answers = json.loads(path.read_text("utf-8"))
    notebook = nbformat.read(root / "notebooks" / f"{lesson}.ipynb", 4)
    title = notebook.cells[0].source.splitlines()[0].lstrip("# ")
    names = {f"{cell(number)}-task": number for number in known}
    heading, tasks = "", {}
    for one in notebook.cells:
        if one.cell_type == "markdown" and (found := HEADING.search(one.source)):
            heading = found[1]
        if number := names.get(one.id):
            model = answers.get(number, {}).get("answer", "")
            answer, _, rubric = model.partition(RUBRIC)
            tasks[number] = Task(
                known[number],
                "" if heading == FURTHER else heading,
                _asked(one.source),
                answer.strip(),
                rubric and (RUBRIC + rubric).strip(),
            )
    return Outline(lesson, title, tasks)


def _asked(source: str) -> str:
    """The text of a task, without its anchor, heading and line of facts."""
    return "\n\n".join(source.split("\n\n")[3:]).strip()
