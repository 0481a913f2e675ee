"""All lessons at a glance, drawn in a notebook: what is passed, and what comes next."""

from pathlib import Path

from helpers.checks import standing
from helpers.checks.card import LINK, display, escaped, link
from helpers.checks.progress import read_here
from helpers.checks.standing import Standing
from helpers.student.presence import notebook_folder, person_present

DONE, FRAME = "#1a7f37", "#6b7280"
CELL = "padding:2px 14px 2px 0;border:none;text-align:left"
NOBODY = (
    "What you have passed is drawn here when you run this cell in JupyterLab, VS Code "
    "or Colab; `make progress` prints it."
)


def progress() -> None:
    """Draw what you have passed, a line for each lesson."""
    if not person_present():
        print(NOBODY)
        return
    course = standing.of_course(read_here())
    text = [*map(str, course), *standing.summed_up(course)]
    page = table(course, notebook_folder())
    display({"text/plain": "\n".join(text), "text/html": page})


def table(course: list[Standing], folder: Path) -> str:
    """The lessons as an HTML table, and below it what comes next.

    Args:
        course: A standing for each lesson.
        folder: Where the notebooks lie; one that lies there is linked.
    """
    rows = "".join(_row(one, folder) for one in course)
    whole, *following = standing.summed_up(course)
    said = f"<b>{escaped(whole)}</b>"
    if following:
        said += f" {_linked(following[0], course, folder)}"
    return (
        f'<table style="border-collapse:collapse;border:none">{rows}</table>'
        f'<div style="margin:6px 0">{said}</div>'
    )


def _row(lesson: Standing, folder: Path) -> str:
    title = f"{lesson.lesson:02} {escaped(lesson.title)}"
    file = _file(lesson.lesson, folder)
    name = f'<a href="{escaped(file)}" style="{LINK}">{title}</a>' if file else title
    cells = (
        name,
        f"{lesson.stars} {lesson.core_passed} of {len(lesson.core)}",
        _bar(len(lesson.passed) / max(1, len(lesson.exercises))),
        f"{len(lesson.passed)} of {len(lesson.exercises)} passed",
    )
    return "<tr>" + "".join(f'<td style="{CELL}">{one}</td>' for one in cells) + "</tr>"


def _bar(share: float) -> str:
    """A bar that is full where all is passed."""
    full = f"width:{share:.0%};height:9px;background-color:{DONE}"
    frame = f"width:9em;border:1px solid {FRAME};border-radius:3px"
    return f'<div style="{frame}"><div style="{full}"></div></div>'


def _linked(line: str, course: list[Standing], folder: Path) -> str:
    """The line about what comes next, as a link to it where its notebook lies here."""
    following = standing.upcoming(course)
    file = _file(following.lesson, folder)
    return link(following.id, escaped(line), file) if file else escaped(line)


def _file(lesson: int, folder: Path) -> str:
    """The name of a lesson's notebook in the folder; "" where there is none."""
    found = sorted(folder.glob(f"{lesson:02}_*.ipynb"), key=lambda one: len(one.name))
    return found[0].name if found else ""
