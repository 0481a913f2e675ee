"""What the build puts into a lesson: links to papers, exercises and other lessons.

At the end of a lesson it also draws what was passed so far, unless the lesson does.
"""

import re
from collections.abc import Iterable

import nbformat
from nbformat import NotebookNode

ARXIV = re.compile(r"arXiv\s+(\d{4}\.\d{4,5})")
TITLE = re.compile(r"^# # (\d\d [^:\n]+)", re.MULTILINE)
# What `exercise` adds to a box: the anchor, and the line's links.
ANCHOR = re.compile(r'<a id="(?:ex|solved)-[\w-]+"></a>\n\n')
STEP = re.compile(r" · \[[^\]]+\]\(#(?:ex|solved)-[\w-]+\)")
SO_FAR = "from helpers.student.overview import progress\n\nprogress()"

Place = tuple[str, str]  # a lesson's name and its short title


def papers(text: str) -> str:
    """Make a link of every "arXiv 1706.03762"."""
    return ARXIV.sub(r"[arXiv \1](https://arxiv.org/abs/\1)", text)


def exercise(box: str, number: str, order: list[str], for_student: bool) -> str:
    """Put an anchor above an exercise's box, and links to its neighbours into it.

    JupyterLab looks for an anchor in all open notebooks, so a lesson and its solution
    must not have the same.

    Args:
        box: the heading of the exercise, and the line of facts below it
        number: of the exercise, such as "2.B"
        order: the numbers of all exercises as they stand in the lesson
        for_student: whether this is the student's notebook
    """
    kind = "ex" if for_student else "solved"

    def anchor(one: str) -> str:
        return f"{kind}-{one.replace('.', '-')}"

    at = order.index(number)
    steps = [f"[← {one}](#{anchor(one)})" for one in order[:at][-1:]]
    steps += [f"[{one} →](#{anchor(one)})" for one in order[at + 1 :][:1]]
    return " · ".join([f'<a id="{anchor(number)}"></a>\n\n{box}', *steps])


def unlinked(text: str) -> str:
    """Take away what `exercise` added: a slide has no place to go to."""
    return STEP.sub("", ANCHOR.sub("", text))


def place(name: str, script: str) -> Place:
    """The name of a lesson, and its title up to the colon, from its script."""
    title = TITLE.search(script)
    return name, title[1] if title else name


def around(
    name: str, before: Place | None, after: Place | None, for_student: bool
) -> list[NotebookNode]:
    """The cells below a lesson's first and at its end: where to go from here.

    Args:
        name: of the lesson, such as "02_attention"
        before: the lesson before it
        after: the lesson after it
        for_student: whether they stand in the student's notebook
    """
    back = before and f"← [{before[1]}]({before[0]}.ipynb)"
    on = after and f"[{after[1]}]({after[0]}.ipynb) →"
    way = " · ".join(filter(None, (back, on)))
    end = f"**On from here:** {way}\n\n" if way else ""
    if for_student:
        end += "When you are through, compare with the "
        end += f"[model answers](../solutions/{name}.ipynb)."
    else:
        end += "These were the model answers."
    return [
        nbformat.v4.new_markdown_cell(text, metadata=_skip(), id=f"nav-{number}")
        for number, text in enumerate((way, end))
    ]


def so_far(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    """The cells near a lesson's end that draw what was passed so far.

    Args:
        cells: of the lesson; one that draws it already leaves nothing to add
    """
    if any("helpers.student.overview" in cell.source for cell in cells):
        return []
    text = "What you have passed so far, here and in the other lessons:"
    return [
        nbformat.v4.new_markdown_cell(text, metadata=_skip(), id="so-far"),
        nbformat.v4.new_code_cell(SO_FAR, metadata=_skip(), id="so-far-code"),
    ]


def _skip() -> dict:
    """Metadata of a cell that is on no slide."""
    return {"slideshow": {"slide_type": "skip"}}
