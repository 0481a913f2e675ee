"""What instructors read, written from the lessons and the checks.

`make build` writes four files, and `make check` says when they are out of date:

- docs/instructors.md: a part per lesson, between two marks; the rest is by hand;
- docs/written.md: written questions with their model answers and rubrics;
- docs/syllabus.md: plans for a term, with the minutes of the lessons (syllabus.py);
- helpers/exercises/written.json: the same for `model_answer`, which opens one of them
  to a student who has answered. It is plain text, as are the solutions beside it.

A third list is not committed, and written when somebody wants to read it:

    python -m tools.build.guide        every mistake that a check knows by name, a page
                                       per lesson, to build/misconceptions
    python -m tools.build.guide 02     the page of lesson 02 alone
"""

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from helpers.checks.exercise import Exercise
from tools.build import syllabus
from tools.build.notebooks import (
    ROOT,
    Lesson,
    chosen,
    known_exercises,
    lesson_paths,
    read,
)
from tools.build.notes import plan
from tools.build.stubs import LessonError, markdown_stub, solved

START, END = "<!-- lessons: written by `make build` -->", "<!-- /lessons -->"
MADE = (
    "<!-- Written by `make build` from lessons/ and helpers/exercises/: "
    "do not edit. -->"
)
GOALS = "At the end of this lesson you can"  # begins the cell that lists them
LAB = 100  # minutes of a two-hour lab that are left for exercises


def title(lesson: Lesson) -> str:
    """The title in a lesson's first cell, with its number."""
    return lesson.cells[0].source.splitlines()[0].lstrip("# ")


def _needs(lesson: Lesson) -> str:
    found = re.search(r"You need: (.+?)\.\s+Time:", lesson.cells[0].source, re.DOTALL)
    return " ".join(found[1].split()) if found else "nothing"


def _goals(lesson: Lesson) -> str:
    for cell in lesson.cells[1:12]:
        if cell.source.startswith(GOALS):
            return cell.source.split("\n\n", 1)[1].strip()
    return ""


def lab(exercises: list[Exercise], minutes: int = LAB) -> list[Exercise]:
    """The exercises of a two-hour lab: the core path, then as many more as fit.

    Args:
        exercises: Those of a lesson, in their order.
        minutes: How long students work alone.
    """
    picked = [one for one in exercises if one.core]
    for one in exercises:
        if not one.core and sum(each.minutes for each in [*picked, one]) <= minutes:
            picked.append(one)
    return [one for one in exercises if one in picked]


def _listed(exercises: list[Exercise]) -> str:
    names = (f"{one.id}{' ★' * one.core} ({one.minutes})" for one in exercises)
    return ", ".join(names)


def part(lesson: Lesson) -> str:
    """What instructors want to know about one lesson."""
    known = list(known_exercises(lesson).values())
    planned = lab(known)
    rest = [one for one in known if one not in planned]
    written = [one for one in known if one.kind == "written"]
    number = lesson.name[:2]
    total = sum(one.minutes for one in planned)
    lines = [
        f"### {title(lesson)}",
        f"**Needs:** {_needs(lesson)}.",
        _goals(lesson)
        and f"**Goals.** Afterwards your students can\n\n{_goals(lesson)}",
        plan(lesson) and f"**A class.** {plan(lesson)}",
        f"**A lab,** minutes in brackets, {total} in all: {_listed(planned)}."
        + (f" For home: {_listed(rest)}." if rest else ""),
        f"**To read before:** usual mistakes (`make guide LESSON={number}`)"
        + (f", [model answers and rubrics](written.md#lesson-{number})" * bool(written))
        + f", [solution](../solutions/{lesson.name}.ipynb).",
    ]
    return "\n\n".join(filter(None, lines))


def misconceptions(lesson: Lesson) -> str:
    """The page of a lesson's known mistakes."""
    known = known_exercises(lesson).values()
    pages = [
        f"# What students get wrong in {title(lesson)}",
        "Every mistake below is one that a check recognises and calls by its name. A "
        "test puts each of them to its check, over several random seeds. What students "
        "are told are the two sentences, with the evidence from their own numbers; the "
        "sentences never hold the corrected line, so you may read them out.",
    ]
    pages += [mistakes(one) for one in known if one.misconceptions]
    return "\n\n".join(pages) + "\n"


def mistakes(exercise: Exercise) -> str:
    """The known mistakes of one exercise."""
    star = " ★" * exercise.core
    heading = f"## {exercise.id}{star} {exercise.title}"
    return f"{heading}\n\n" + "\n".join(told(exercise))


def told(exercise: Exercise) -> list[str]:
    """What a check says to each mistake that it knows, as items of a list."""
    lines = (
        f"- *{one.name}*: {one.done} {one.where}" for one in exercise.misconceptions
    )
    return [" ".join(line.split()) for line in lines]


def written(lessons: list[Lesson]) -> str:
    """The page of written questions, with model answers and rubrics."""
    pages = [
        MADE,
        "# Written questions: model answers and rubrics",
        "You grade these by hand. The questions stand in the notebooks, the answers in "
        "the lessons and in `solutions/`.",
    ]
    for lesson in lessons:
        known = known_exercises(lesson)
        questions = {
            cell.metadata["exercise"]: cell.source
            for cell in lesson.cells
            if cell.cell_type == "markdown" and cell.metadata.get("exercise")
        }
        answers = [cell for cell in lesson.cells if cell.metadata.get("answer")]
        if answers:
            pages.append(f'<a id="lesson-{lesson.name[:2]}"></a>\n\n## {title(lesson)}')
        for cell in answers:
            number = cell.metadata["answer"]
            answer = solved(cell.source, f"answer {number}").strip()
            asked = "\n".join(
                f"> {line}".rstrip() for line in questions[number].split("\n")
            )
            pages += [f"### {number} {known[number].title}", asked, answer]
    return "\n\n".join(pages) + "\n"


def opened(lessons: list[Lesson]) -> str:
    """What `model_answer` reads: each answer's cell as it was, and the model answer."""
    cells = (cell for lesson in lessons for cell in lesson.cells)
    answers = {
        number: {
            "untouched": markdown_stub(cell.source, f"answer {number}"),
            "answer": solved(cell.source, f"answer {number}").strip(),
        }
        for cell in cells
        if (number := cell.metadata.get("answer"))
    }
    return json.dumps(answers, indent=1, ensure_ascii=False) + "\n"


def parts(text: str, lessons: list[Lesson]) -> str:
    """The guide with its part per lesson up to date.

    Raises:
        LessonError: The two comments that frame the parts are gone.
    """
    if text.count(START) != 1 or text.count(END) != 1:
        raise LessonError(f"docs/instructors.md needs the lines {START} and {END}.")
    before, rest = text.split(START)
    made = "\n\n".join(part(lesson) for lesson in lessons)
    return f"{before}{START}\n\n{made}\n\n{END}{rest.split(END)[1]}"


PAGES: dict[str, Callable[[str, list[Lesson]], str]] = {
    "docs/instructors.md": parts,
    "docs/written.md": lambda _, lessons: written(lessons),
    "docs/syllabus.md": lambda _, lessons: f"{MADE}\n\n{syllabus.page(lessons)}",
    "helpers/exercises/written.json": lambda _, lessons: opened(lessons),
}


def _pages(root: Path, lessons: list[Lesson]):
    """Yield (path, text as it is, text as it should be) where there is a guide."""
    if (root / "docs" / "instructors.md").exists():
        for name, make in PAGES.items():
            path = root / name
            text = path.read_text("utf-8") if path.exists() else ""
            yield path, text, make(text, lessons)


def stale(root: Path, lessons: list[Lesson]) -> list[str]:
    """What is out of date, a sentence each."""
    return [
        f"{path.relative_to(root)} is not what the lessons and checks say. "
        "Run `make build`."
        for path, text, new in _pages(root, lessons)
        if text != new
    ]


def write(root: Path, lessons: list[Lesson]) -> None:
    """Bring these files up to date."""
    for path, text, new in _pages(root, lessons):
        if text != new:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(new, "utf-8")


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write the pages of known mistakes; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.build.guide",
        description="Write what students get wrong, a page per lesson.",
    )
    parser.add_argument("lessons", nargs="*", help="numbers such as 02; default: all")
    options = parser.parse_args(arguments)
    try:
        lessons = [read(path) for path in chosen(lesson_paths(root), options.lessons)]
    except LessonError as error:
        print(error, file=sys.stderr)
        return 2
    folder = root / "build" / "misconceptions"
    folder.mkdir(parents=True, exist_ok=True)
    for lesson in lessons:
        path = folder / f"{lesson.name}.md"
        path.write_text(misconceptions(lesson), "utf-8")
        print(path.relative_to(root))
    return 0


if __name__ == "__main__":
    sys.exit(main())
