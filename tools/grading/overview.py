"""The class at a glance: one page for the instructor when grading ends.

Which exercises of the core path are passed, the commonest mistakes of this class with
the two sentences for the board and the slide to show, who has handed in nothing, and
what a person has to read. Plain HTML without scripts, in the style of the feedback.
"""

import html
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from helpers.checks.card import COLOURS
from helpers.checks.exercise import place
from tools.grading.feedback import PAGE, STYLE, inline, state
from tools.grading.outline import Outline, Task
from tools.grading.tables import Grade
from tools.slides.cells import anchor

MISTAKES = 10  # that are shown of a lesson
NAMES = 40  # that are listed where many are concerned
SHOWN = ("passed", "wrong", "not attempted", "borrowed")  # parts of a bar, in order
MORE = """
body { max-width: 62rem; }
h3 { margin: 1.2rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th:first-child { width: 50%; }
th, td { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid #d0d7de;
  vertical-align: top; }
th.number, td.number { text-align: right; white-space: nowrap; }
.bar { display: flex; width: 12rem; height: 1rem; background: #eaeef2; }
.bar span { height: 100%; }
ol.mistakes > li { margin: .9rem 0; break-inside: avoid; }
"""


@dataclass(frozen=True)
class Lesson:
    """What the page says of one lesson."""

    outline: Outline
    grades: list[Grade]  # of everybody who handed in something for it
    missing: list[str]  # who handed in nothing, of the list of the class
    unread: int  # written answers that wait for a reader
    known: bool  # whether there is a list of the class
    slides: Path | None = None  # the deck, where it was made


def page(lessons: Iterable[Lesson], others: Iterable[Grade], reading: str) -> str:
    """The page.

    Args:
        lessons: In their order.
        others: Those who handed in something of which the lesson can't be told.
        reading: The address of the page on which written answers are read.
    """
    body = ["<h1>The class at a glance</h1>"]
    for one in lessons:
        body += _lesson(one, reading)
    others = list(others)
    if others:
        body.append("<h2>Of no lesson</h2>")
        body.append(_listed([f"{one.student}: {one.reason}" for one in others]))
    text = "\n".join(body)
    return PAGE.format(title="The class at a glance", style=STYLE + MORE, body=text)


def _lesson(one: Lesson, reading: str) -> Iterator[str]:
    graded = [grade for grade in one.grades if not grade.reason]
    refused = [grade for grade in one.grades if grade.reason]
    yield f"<h2>{html.escape(one.outline.title)}</h2>"
    yield f"<p>{_count(len(graded), 'notebook')} graded. {_to_read(one, reading)}</p>"
    if refused:
        yield f"<h3>Not graded: {len(refused)}</h3>"
        yield _listed([f"{grade.student}: {grade.reason}" for grade in refused])
    if one.known:
        yield f"<h3>Handed in nothing: {len(one.missing)}</h3>"
        yield _listed(one.missing)
    if graded:
        checked = {number for grade in graded for number in grade.most}
        tasks = [one.outline.tasks[number] for number in one.outline.tasks
                 if number in checked]  # fmt: skip
        yield _table("The core path", [t for t in tasks if t.exercise.core], graded)
        yield _table("Beyond it", [t for t in tasks if not t.exercise.core], graded)
        yield from _mistakes(one, graded)
        suspects = [grade for grade in graded if grade.suspects]
        if suspects:
            yield f"<h3>To look at: {len(suspects)}</h3>"
            lines = [f"{g.student}: {'; '.join(g.suspects)}" for g in suspects]
            yield _listed(lines)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


def _to_read(one: Lesson, reading: str) -> str:
    if not one.unread:
        return "No written answer waits for a reader."
    link = f'<a href="{html.escape(reading)}">Read them one after another</a>'
    return f"{_count(one.unread, 'written answer')} to read. {link}."


def _listed(lines: list[str]) -> str:
    """A list; of a long one the beginning."""
    if not lines:
        return "<p>Nobody.</p>"
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines[:NAMES])
    more = f"<li>and {len(lines) - NAMES} more</li>" * (len(lines) > NAMES)
    return f"<ul>{items}{more}</ul>"


def _table(title: str, tasks: list[Task], graded: list[Grade]) -> str:
    """How each exercise ended, as numbers and as a bar."""
    if not tasks:
        return ""
    head = "".join(f'<th class="number">{name}</th>' for name in SHOWN)
    rows = []
    for task in tasks:
        number = task.exercise.id
        ends = Counter(_end(state(grade, number)) for grade in graded)
        cells = "".join(f'<td class="number">{ends[name]}</td>' for name in SHOWN)
        parts = "".join(
            f'<span style="width:{100 * ends[name] / len(graded):.1f}%;'
            f'background:{COLOURS[name]}"></span>'
            for name in SHOWN
        )
        name = f"{number} {inline(task.exercise.title)}"
        bar = f'<td><div class="bar">{parts}</div></td>'
        rows.append(f"<tr><td>{name}</td>{cells}{bar}</tr>")
    return (
        f"<h3>{title}</h3><table><thead><tr><th>exercise</th>{head}<th></th></tr>"
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _end(how: str) -> str:
    """Four ends are told apart."""
    return {"raised": "wrong", "not run": "not attempted"}.get(how, how)


def commonest(outline: Outline, graded: Iterable[Grade]) -> list[tuple[int, Task, str]]:
    """(students, exercise, name of the mistake), the commonest first.

    An exercise that a student has passed in the end counts for nobody, and a name that
    no check gives is not believed.
    """
    counts: Counter = Counter()
    for grade in graded:
        last = {line["exercise"]: line for line in grade.outcomes}
        for number, line in last.items():
            task, name = outline.tasks.get(number), line["misconception"]
            wrong = state(grade, number) in ("wrong", "raised")
            if task and wrong and task.mistake(name):
                counts[number, name] += 1
    order = sorted(counts, key=lambda key: (-counts[key], place(key[0]), key[1]))
    return [(counts[key], outline.tasks[key[0]], key[1]) for key in order]


def _mistakes(one: Lesson, graded: list[Grade]) -> Iterator[str]:
    found = commonest(one.outline, graded)
    yield "<h3>The commonest mistakes</h3>"
    if not found:
        yield "<p>No check has recognised one.</p>"
        return
    items = []
    for count, task, name in found[:MISTAKES]:
        known = task.mistake(name)
        slide = html.escape(task.section or f"Exercise {task.exercise.id}")
        if one.slides:
            address = f"{one.slides.resolve().as_uri()}#/{anchor(task.exercise.id)}"
            slide = f'<a href="{html.escape(address)}">{slide}</a>'
        items.append(
            f"<li><b>{task.exercise.id}, {inline(name)}</b>: "
            f"{_count(count, 'student')} of {len(graded)}"
            f"<br>{inline(known.done)} {inline(known.where)}"
            f'<br><span class="quiet">Slide to show: {slide}</span></li>'
        )
    yield f'<ol class="mistakes">{"".join(items)}</ol>'


def lessons(
    outlines: Mapping[str, Outline],
    grades: list[Grade],
    missing: Mapping[str, list[str]] | None,
    unread: Mapping[str, int],
    root: Path,
) -> list[Lesson]:
    """What the page says, put together.

    Args:
        outlines: Lesson -> its outline.
        grades: All of them.
        missing: Lesson -> who handed in nothing; None without a list of the class.
        unread: Lesson -> how many written answers wait for a reader.
        root: The course, with the decks that `make slides` wrote.
    """
    found = []
    for name, outline in outlines.items():
        deck = root / "slides" / f"{name}.html"
        found.append(
            Lesson(
                outline,
                [one for one in grades if one.lesson == name],
                (missing or {}).get(name, []),
                unread.get(name, 0),
                missing is not None,
                deck if deck.exists() else None,
            )
        )
    return found
