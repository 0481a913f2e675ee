"""A check's outcome as a card, for a person who looks at the notebook.

It is plain HTML without scripts, styled in its own elements, so JupyterLab, VS Code,
Colab and nbconvert's pages show the same. Text takes the colour of the page. Only the
outcome's label and the border have colours of their own: white letters stand out from
each of them by at least 4.5 : 1, and each from a white or a dark page by 3 : 1.
"""

import html
import re
from urllib.parse import quote

from helpers.checks.exercise import Exercise
from helpers.checks.report import Report
from helpers.checks.standing import Standing
from helpers.student.presence import notebook_path

SIGNS = {"passed": "✓", "not attempted": "○", "borrowed": "○"}  # all others: ✗
COLOURS = {
    "passed": "#1a7f37",
    "wrong": "#cf222e",
    "raised": "#9a6700",
    "not attempted": "#6b7280",
    "borrowed": "#0969da",
}
CARD = (
    "border:1px solid {0};border-left:6px solid {0};border-radius:4px;"
    "padding:8px 14px;margin:4px 0;max-width:52em;line-height:1.5;"
    "white-space:pre-wrap;overflow-wrap:anywhere"
)
LABEL = (
    "background-color:{0};color:#ffffff;border-radius:3px;padding:2px 9px;"
    "font-weight:600;margin-right:4px"
)
PARAGRAPH = "margin:6px 0 0 0"
LINK = "color:inherit;text-decoration:underline"  # a theme's blue may be too pale

# How the lines of a report begin that say what was done, and those that prove it.
TOLD = (
    "What happened:",
    "What else happened:",
    "What this often means here:",
    "Where to look:",
)
PROOF = ("Case: ", "Right in ", "Your code printed: ")
YOURS = "Your line "
LABELS = re.compile(rf"({'|'.join(TOLD)}|{YOURS}\d+:) ")
VERDICT = re.compile(r"\w+: (right|wrong|raised)\.")  # one of several answers


def card(report: Report, exercise: Exercise, standing: Standing, file: str = "") -> str:
    """The card's HTML.

    Args:
        report: What the check found.
        exercise: What was asked.
        standing: That of its lesson, this outcome included.
        file: The name of the notebook, for the link to the next exercise.
    """
    state = "borrowed" if report.borrowed else report.outcome
    said, proof = _sorted(report)
    parts = [_head(state, exercise), *map(_paragraph, said)]
    if proof:
        lines = "".join(map(_paragraph, proof))
        parts.append(
            f'<details style="{PARAGRAPH}"><summary style="cursor:pointer">'
            f"Evidence</summary>{lines}</details>"
        )
    if state == "passed":
        parts.append(_way_on(exercise, standing, file))
    elif report.evidence[1:]:
        parts.append(_paragraph(report.evidence[-1]))
    style = CARD.format(COLOURS[state])
    return f'<div style="{style}">{"".join(parts)}</div>'


def link(exercise_id: str, text: str, file: str) -> str:
    """A link to an exercise's text.

    JupyterLab follows it only with the notebook's name, also within the notebook: what
    is out of sight is not in its page.

    Args:
        exercise_id: Where it leads.
        text: What is shown, as HTML.
        file: The notebook; "" where its name is not known.
    """
    cell = f"ex-{exercise_id.replace('.', '-')}-task"
    return f'<a href="{escaped(quote(file))}#cell-id={cell}" style="{LINK}">{text}</a>'


def escaped(text: str) -> str:
    """Text as HTML that shows just this text: no tag, no formula, no control code."""
    text = text.encode("utf-8", "backslashreplace").decode()
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\N{REPLACEMENT CHARACTER}", text)
    text = html.escape(text)
    text = re.sub("`([^`\n]+)`", r"<code>\1</code>", text)
    return re.sub(r"[$\\]", r"<span>\g<0></span>", text)  # MathJax reads `$x$`, `\(x\)`


def _sorted(report: Report) -> tuple[list[str], list[str]]:
    """The lines that are read first, and those that prove them.

    The last line says what to do now, and is in neither. Where the mistake has a name,
    the differences prove it; where it has none, they are all there is to say.
    """
    if report.outcome == "passed":
        return [f"Shown: {report.proven}. {report.note}".rstrip()], []
    lines = list(report.evidence[:-1] if report.evidence[1:] else report.evidence)
    named = report.outcome == "wrong" and any(one.startswith(TOLD) for one in lines)

    said, proof = [], []
    for line in lines:
        told = line.startswith(TOLD) or VERDICT.fullmatch(line)
        first = told if named else not line.startswith(PROOF)
        (said if first else proof).append(line)
    return said, proof


def _head(state: str, exercise: Exercise) -> str:
    label = LABEL.format(COLOURS[state])
    word = "borrowed, not counted" if state == "borrowed" else state
    facts = ["★ core path"] if exercise.core else []
    if exercise.points:
        facts.append(f"{exercise.points} point{'s' if exercise.points > 1 else ''}")
    return (
        f'<div><span style="{label}">{SIGNS.get(state, "✗")} {word}</span> '
        f"<b>{exercise.id}</b> {escaped(exercise.title)}"
        f"{''.join(f' · {fact}' for fact in facts)}</div>"
    )


def _paragraph(line: str) -> str:
    label = LABELS.match(line)
    if not label:
        return f'<div style="{PARAGRAPH}">{escaped(line)}</div>'
    rest = escaped(line[label.end() :])
    if line.startswith(YOURS):
        rest = f"<code>{rest}</code>"
    return f'<div style="{PARAGRAPH}"><b>{label[1]}</b> {rest}</div>'


def _way_on(exercise: Exercise, standing: Standing, file: str) -> str:
    """How much of the core path is done, and a link to what comes next."""
    done, of = standing.core_passed, len(standing.core)
    following = standing.after(exercise.id)
    if following:
        title = f"★ {following.id} {escaped(following.title)}"
        on = f"Next: {link(following.id, title, file)}"
    else:
        on = "The core path of this lesson is done."
    return (
        f'<div style="{PARAGRAPH}"><b>{done} of {of} ★ in this lesson.</b> {on}</div>'
    )


def show(report: Report, exercise: Exercise, standing: Standing) -> None:
    """Display the card; where HTML can't be shown, it is the report's text."""
    page = card(report, exercise, standing, notebook_name())
    display({"text/plain": str(report), "text/html": page})


def notebook_name() -> str:
    """The file name of the running notebook; "" where it is not known."""
    path = notebook_path()
    return path.name if path else ""


def display(bundle: dict[str, str]) -> None:
    """Display the forms of one thing in the notebook, by their MIME types."""
    from IPython.display import display as shown  # only a notebook gets here

    shown(bundle, raw=True)
