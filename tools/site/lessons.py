"""A lesson as a page: what students get, with everything that is folded below it.

The text, the outputs and the figures are those of the executed solution. An exercise
shows its stub; its hints, what its check says and an answer are folded.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator

from nbformat import NotebookNode

from helpers.checks.exercise import Exercise
from tools.build import published
from tools.build.folds import TAG, only_guards
from tools.build.guide import told
from tools.build.lesson_cells import imports
from tools.build.notebooks import MODEL_ANSWER
from tools.slides.html import ANSI, FOR_TOOLS

EXERCISE = re.compile(r"ex-(\d+)-(\w)(-task|-check)?")
BAR = re.compile(r"`+")
# The site has its own.
ELSEWHERE = {"nav-0", "nav-1", "so-far", "so-far-code", published.CELL}
HINTS = "<details><summary>Hint"
FOLD = """<details class="{kind}"><summary>{summary}</summary>

{body}

</details>"""
READING = """:::{{admonition}} This page is for reading
To run the lesson, change it and have your answers checked, [get the
course](../start.md) and open `{name}.ipynb`. Every output here was printed by the code
above it. Exercises show what you would be given; hints, what the check says, and an
answer are folded below.{more}
:::"""
DID_YOU_TRY = """Did you try? Writing it yourself, and hearing from the check what is
wrong with it, teaches you more than reading a finished answer. The hints above are
there for the moment when you are stuck."""
CONTROLS = "*In the notebook this figure has controls; here it stands still.*"

Files = dict[str, bytes]  # what a page needs beside its text, by its path in the site


def page(
    name: str,
    solution: NotebookNode,
    student: NotebookNode,
    known: dict[str, Exercise],
    files: Files,
    address: str = "",
) -> str:
    """The page of a lesson, in Markdown.

    Args:
        name: of the lesson, such as "02_attention"
        solution: its executed notebook
        student: the notebook that students get
        known: its exercises, by their numbers
        files: where its figures are added
        address: of the repository on GitHub, where it is published
    """
    stubs = {cell.id: cell.source for cell in student.cells}
    parts: list[str] = []
    waiting: list[str] = []  # folds that belong below the hints
    for cell in solution.cells:
        if waiting and not _belongs(cell):
            parts += waiting
            waiting = []
        match = EXERCISE.fullmatch(cell.id)
        if cell.id in ELSEWHERE or MODEL_ANSWER in cell.metadata.get("tags", []):
            continue
        if not match or match[3] == "-task":
            parts += _plain(name, cell, files)
        elif match[3] == "-check":
            waiting.insert(0, _check(cell, known[f"{match[1]}.{match[2]}"]))
        else:
            if cell.cell_type == "code":
                parts.append(code(stubs[cell.id]))
            shown = "\n\n".join(_whole(name, cell, files))
            answer = fold("Show the answer", shown, "shown")
            waiting.append(fold("An answer", f"{DID_YOU_TRY}\n\n{answer}", "answer"))
    parts[1:1] = [reading(name, address)]
    return "\n\n".join([*parts, *waiting]) + "\n"


def reading(name: str, address: str) -> str:
    """What the page is for, and where the lesson can be run."""
    more = published.invitation(address, f"notebooks/{name}.ipynb")
    return READING.format(name=name, more=more and f"\n\n{more}")


def _belongs(cell: NotebookNode) -> bool:
    """Whether a cell belongs to the exercise whose answer stood before it."""
    return (
        cell.id.endswith("-check")
        or cell.source.startswith(HINTS)
        or MODEL_ANSWER in cell.metadata.get("tags", [])
    )


def _plain(name: str, cell: NotebookNode, files: Files) -> Iterator[str]:
    """A cell that is no answer: its text, or its code and what it printed."""
    if cell.cell_type == "markdown":
        yield cell.source
    elif TAG in cell.metadata.get("tags", []):
        if not only_guards(cell.source):
            yield from outputs(name, cell, files)
            yield fold("How it is drawn", code(cell.source), "code")
    elif imports(cell.source):
        yield fold("What is imported", code(cell.source), "code")
        yield from outputs(name, cell, files)
    else:
        yield from _whole(name, cell, files)


def _whole(name: str, cell: NotebookNode, files: Files) -> Iterator[str]:
    """A cell as it stands, with its outputs."""
    if cell.cell_type == "markdown":
        yield cell.source
    else:
        yield code(cell.source)
        yield from outputs(name, cell, files)


def _check(cell: NotebookNode, exercise: Exercise) -> str:
    """What the check says to a right answer, and to the mistakes that it knows."""
    body = "\n\n".join(["To an answer that passes:", *outputs("", cell, {})])
    if known := told(exercise):
        body += "\n\nTo a mistake that it knows by name:\n\n" + "\n".join(known)
    return fold("What the check says", body, "check")


def fold(summary: str, body: str, kind: str) -> str:
    """What opens with a click; Markdown between two pieces of HTML."""
    return FOLD.format(summary=summary, body=body, kind=kind)


def code(source: str) -> str:
    """A block of Python, without what only tools read."""
    return block("python", FOR_TOOLS.sub("", source).strip("\n"))


def block(language: str, body: str, options: Iterable[str] = ()) -> str:
    """A fenced block, whatever it holds."""
    fence = "`" * max([3, *(len(bar) + 1 for bar in BAR.findall(body))])
    head = [f"{fence}{{code-block}} {language}", *options, ""]
    return "\n".join([*head, body, fence])


def outputs(name: str, cell: NotebookNode, files: Files) -> Iterator[str]:
    """What a cell printed and drew; its figures are added to `files`."""
    for number, one in enumerate(cell.get("outputs", [])):
        data = one.get("data", {})
        if "image/png" in data:
            path = f"figures/{name}-{cell.id}-{number}.png"
            files[path] = base64.b64decode("".join(data["image/png"].split()))
            yield figure(path, one.metadata.get("image/png", {}))
            if "play(" in cell.source:
                yield CONTROLS
        elif said := ANSI.sub("", one.get("text", "")).rstrip():
            yield block("none", said, (":class: output",))


def figure(path: str, about: dict) -> str:
    """A picture with its alternative text, as wide as in the notebook."""
    lines = [f"```{{image}} /{path}", f":alt: {json.dumps(about['alt'])}"]
    if "width" in about:
        lines.append(f":width: {about['width']}px")
    return "\n".join([*lines, "```"])
