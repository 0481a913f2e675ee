"""The page that a student gets: what each exercise earned, and what to do about it.

It is one file of plain HTML without scripts, forms, pictures or links, and it prints.
What the student wrote, and what their code printed, stands there as text. Nothing of
anybody else is on it.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from helpers.checks.card import COLOURS, PROOF, SIGNS, TOLD
from tools.grading.outline import Outline, Task, cell
from tools.grading.tables import Grade

MOST = 200_000  # bytes of a page
ANSWER = 6_000  # characters of a written answer that are shown
LINES, LINE = 14, 240  # of what a check found, and characters of each
STATES = {
    "passed": "passed",
    "wrong": "not yet right",
    "raised": "broke off with an error",
    "not attempted": "not attempted",
    "borrowed": "borrowed: the course's own answer does not count",
    "not run": "not run",
}
STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto;
  padding: 0 1rem; color: #1b1f24; background: #fff; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; display: flex; gap: 1rem; }
h3 .points { margin-left: auto; white-space: nowrap; }
section { border: 1px solid #d0d7de; border-left: .4rem solid var(--colour);
  border-radius: .3rem; padding: .6rem 1rem; margin: .7rem 0; }
section.done { padding-top: .3rem; padding-bottom: .3rem; }
p, dl { margin: .4rem 0; }
dt { font-weight: 600; font-size: .85rem; color: #424a53; margin-top: .5rem; }
dd { margin: 0; }
pre { white-space: pre-wrap; background: #f6f8fa; padding: .5rem .7rem;
  margin: .3rem 0; border-radius: .3rem; font-size: .85rem; }
.answer { font-family: inherit; font-size: 1rem; }
.state { color: var(--colour); font-weight: 600; }
.points .state { margin-right: .5rem; }
.sum { font-size: 1.2rem; }
.late, .quiet { color: #424a53; }
@media print {
  body { margin: 0; max-width: none; font-size: 11pt; }
  section { break-inside: avoid; }
  section.written { break-inside: auto; }
  h2 { break-after: avoid; }
}
"""
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


@dataclass(frozen=True)
class Written:
    """A written answer, and what a person said of it."""

    text: str  # "" where it was left as released
    points: float | None = None  # None: nobody has read it
    comment: str = ""
    unread: bool = False  # it changed since it was read, or was never read


def page(
    grade: Grade, outline: Outline, written: Mapping[str, Written], found: Mapping
) -> str:
    """The page of one student and one lesson.

    Args:
        grade: What grading found.
        outline: The lesson.
        written: Written question -> the answer.
        found: Exercise -> the text of its check, as it stands in the graded notebook.
    """
    for length in (ANSWER, 1000, 100):  # letters of some alphabets take many bytes
        body = "\n".join(_body(grade, outline, written, found, length))
        title = html.escape(f"{outline.title}: {grade.student}")
        text = PAGE.format(title=title, style=STYLE, body=body)
        if len(text.encode()) < MOST:
            break
    return text


def _body(
    grade: Grade, outline: Outline, written: Mapping, found: Mapping, length: int
) -> Iterator[str]:
    yield f"<h1>{html.escape(outline.title)}</h1>"
    yield f'<p class="quiet">Feedback for {html.escape(grade.student)}</p>'
    if grade.reason:
        yield (
            f"<p>Your notebook could not be graded: {html.escape(grade.reason)}.</p>"
            "<p>Open it in JupyterLab, save it, and hand that file in again. If it "
            "does not open there either, ask your instructor.</p>"
        )
        return
    yield _sum(grade, written)
    for number, task in outline.tasks.items():
        if number in grade.most:
            yield _exercise(grade, task, found.get(number, ""))
    answers = [one for one in outline.tasks.values() if one.written]
    if answers:
        yield "<h2>Written answers</h2>"
    for task in answers:
        answer = written.get(task.exercise.id, Written(""))
        yield _written(task, answer, length)
    if grade.notes:
        yield "<h2>When your notebook was run</h2>"
        notes = (f"<li>{html.escape(note)}</li>" for note in grade.notes)
        yield f"<ul>{''.join(notes)}</ul>"
    yield (
        '<p class="quiet">What to read again is a section of the lesson. The hints '
        "below each exercise in your notebook go on from there.</p>"
    )


def _sum(grade: Grade, written: Mapping[str, Written]) -> str:
    given = [one.points for one in written.values() if one.points is not None]
    points, most = grade.total, sum(grade.most.values())
    passed = sum(state(grade, one) == "passed" for one in grade.most)
    text = f"<b>{points:g} of {most:g} points</b> for what the checks can judge"
    text += f" ({passed} of {len(grade.most)} exercises passed)"
    if given:
        text += f", and <b>{sum(given):g}</b> points for written answers"
    unread = any(one.unread for one in written.values())
    more = " Written answers have not all been read yet." * unread
    return f'<p class="sum">{text}.{more}</p>'


def state(grade: Grade, number: str) -> str:
    """How an exercise ended: one of `STATES`."""
    lines = [line for line in grade.outcomes if line["exercise"] == number]
    said = lines[-1]["outcome"] if lines else "not run"
    most = grade.most.get(number, 0.0)
    if grade.points.get(number, 0.0) == most and (most or said == "passed"):
        return "passed"
    if any(line["borrowed"] for line in lines):
        return "borrowed"
    return "not run" if said == "passed" else said  # a check that was tampered with


def _exercise(grade: Grade, task: Task, said: str) -> str:
    exercise = task.exercise
    how = state(grade, exercise.id)
    colour = COLOURS.get(how, COLOURS["not attempted"])
    star = "★ " if exercise.core else ""
    title = f"<span>{star}{exercise.id} {inline(exercise.title)}</span>"
    most = grade.most[exercise.id]
    points = f"{grade.points[exercise.id]:g} of {most:g} points" * bool(most)
    sign = (SIGNS | {"not run": "○"}).get(how, "✗")
    if how == "passed":
        points = (
            f'<span class="points"><span class="state">{sign} passed</span> {points}'
        )
        head = f"<h3>{title}{points}</span></h3>"
        return f'<section class="done" style="--colour:{colour}">{head}</section>'
    head = f'<h3>{title}<span class="points">{points}</span></h3>'
    head += f'<p class="state">{sign} {STATES[how]}</p>'
    tried = how in ("wrong", "raised")
    rows = list(_told(grade, task, said)) if tried else []
    if task.section:
        rows.append(("Read again" if tried else "Taught in", inline(task.section)))
    listed = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)
    return f'<section style="--colour:{colour}">{head}<dl>{listed}</dl></section>'


def _told(grade: Grade, task: Task, said: str) -> Iterator[tuple[str, str]]:
    """What happened and where to look, and then the evidence."""
    lines = [line for line in grade.outcomes if line["exercise"] == task.exercise.id]
    known = task.mistake(lines[-1]["misconception"]) if lines else None
    texts = [line.strip()[:LINE] for line in said.splitlines()[1:]]
    if known:
        yield "What happened", inline(known.done)
        yield "Where to look", inline(known.where)
        texts = [text for text in texts if not text.startswith((*TOLD[:1], TOLD[3]))]
    else:
        for text in [one for one in texts if one.startswith(TOLD)]:
            name, _, sentence = text.partition(": ")
            yield html.escape(name), html.escape(sentence)
        texts = [text for text in texts if not text.startswith(TOLD)]
    ends = ("Stuck", "Hints")
    texts = [one for one in texts if one and not one.startswith(ends)]
    texts.sort(key=lambda one: one.startswith(PROOF))
    if texts:
        yield (
            "What the check saw",
            f"<pre>{html.escape(chr(10).join(texts[:LINES]))}</pre>",
        )


def _written(task: Task, answer: Written, length: int) -> str:
    exercise = task.exercise
    if not answer.text:
        state, points = "not answered", f"{answer.points or 0:g} of {exercise.points}"
    elif answer.points is None:
        state, points = "not read yet", f"up to {exercise.points}"
    else:
        state = "changed since it was read" if answer.unread else "read"
        points = f"{answer.points:g} of {exercise.points}"
    colour = COLOURS["not attempted" if state != "read" else "borrowed"]
    rows = []
    if answer.text:
        cut = f"\n[cut: {len(answer.text)} characters]"
        shown = answer.text[:length] + cut * (len(answer.text) > length)
        shown = html.escape(shown)
        rows.append(("What you wrote", f'<pre class="answer">{shown}</pre>'))
    if answer.comment:
        comment = html.escape(answer.comment[:length])
        rows.append(("Comment", f'<pre class="answer">{comment}</pre>'))
    rows.append(("What earns points", inline(task.rubric.partition(".** ")[2])))
    listed = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)
    return (
        f'<section class="written" style="--colour:{colour}">'
        f"<h3><span>{exercise.id} {inline(exercise.title)}</span>"
        f'<span class="points">{points} points</span></h3>'
        f'<p class="state">{state}</p><dl>{listed}</dl></section>'
    )


def inline(text: str) -> str:
    """The course's own Markdown of a line as HTML: code, bold, slanted."""
    pieces = re.split(r"(`[^`]+`)", text)
    return "".join(
        f"<code>{html.escape(one[1:-1])}</code>" if one[:1] == "`" and len(one) > 2
        else re.sub(r"\*(\S[^*]*)\*", r"<em>\1</em>",
                    re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", html.escape(one)))
        for one in pieces
    )  # fmt: skip


def from_notebook(
    path: Path, outline: Outline
) -> tuple[dict[str, str], dict[str, str]]:
    """What a graded notebook holds: texts of the checks, and written answers.

    Args:
        path: In autograded/, where all notebooks are safe; it may be gone.
        outline: Its lesson.

    Returns:
        Exercise -> what its check said; written question -> the answer.
    """
    try:
        cells = json.loads(path.read_text("utf-8"))["cells"]
    except (OSError, ValueError):
        return {}, {}
    by_id = {one["metadata"].get("nbgrader", {}).get("grade_id"): one for one in cells}
    said, written = {}, {}
    for number, task in outline.tasks.items():
        if task.written:
            written[number] = by_id.get(cell(number), {}).get("source", "")
        for output in by_id.get(f"{cell(number)}-check", {}).get("outputs", []):
            if output["output_type"] == "error":
                said[number] = output["evalue"]
    return said, written
