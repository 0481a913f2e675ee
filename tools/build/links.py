"""Links that the build puts into a lesson: to papers, exercises and other lessons."""

import re

import nbformat
from nbformat import NotebookNode

ARXIV = re.compile(r"arXiv\s+(\d{4}\.\d{4,5})")
TITLE = re.compile(r"^# # (\d\d [^:\n]+)", re.MULTILINE)
# What `exercise` adds to a box: the anchor, and the line's links.
ANCHOR = re.compile(r'<a id="(?:ex|solved)-[\w-]+"></a>\n\n')
STEP = re.compile(r" · \[[^\]]+\]\(#(?:ex|solved)-[\w-]+\)")

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
        number: of the exercise, such as "2.2"
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
    """The cells below a lesson's first and after its last: where to go from here.

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
    skip = {"slideshow": {"slide_type": "skip"}}
    return [
        nbformat.v4.new_markdown_cell(text, metadata=skip, id=f"nav-{number}")
        for number, text in enumerate((way, end))
    ]
