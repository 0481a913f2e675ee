"""A slide as HTML: text, formulas, code, outputs and figures."""

import html
import re
from xml.etree import ElementTree

import ziamath
from mistune import HTMLRenderer
from nbconvert.filters.markdown_mistune import MarkdownWithMath
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tools.build.folds import TAG
from tools.slides.cells import Slide, anchor

SIZE = 24  # of a formula, in its own units; on the slide it grows with the text
LINES = 26  # of code that a slide holds at a size one can read
FOR_TOOLS = re.compile(r" *# (noqa\b.*|fmt: \w+)$", re.MULTILINE)
ANSI = re.compile(r"\x1b\[[0-9;]*m")
CODE = HtmlFormatter(nowrap=True, style="default")
STYLE = CODE.get_style_defs(".code")


class Renderer(HTMLRenderer):
    """Markdown as JupyterLab shows it, formulas drawn."""

    def block_math(self, body: str) -> str:
        """Draw a formula on a line of its own."""
        return f'<p class="formula">{formula(body, inline=False)}</p>\n'

    def inline_math(self, body: str) -> str:
        """Draw a formula in a line of text."""
        return formula(body, inline=True)


def markdown(text: str) -> str:
    """The HTML of a text cell."""
    return MarkdownWithMath(renderer=Renderer(escape=False))(text)


def formula(latex: str, inline: bool) -> str:
    """A formula as SVG, as high as the text around it."""
    latex = " ".join(latex.split())
    drawn = ziamath.Latex(latex, size=SIZE, color="currentColor", inline=inline)
    picture = drawn.svgxml()
    width, height = (float(picture.get(side)) / SIZE for side in ("width", "height"))
    below = drawn.getyofst() / SIZE
    picture.set("width", f"{width:.3f}em")
    picture.set("height", f"{height:.3f}em")
    picture.set("style", f"vertical-align: {below:.3f}em")
    picture.set("class", "math")
    picture.set("role", "img")
    picture.set("aria-label", latex)
    return ElementTree.tostring(picture, encoding="unicode")


def code(source: str) -> str:
    """Highlighted code, in pieces that a slide can hold."""
    lines = FOR_TOOLS.sub("", source).strip("\n").split("\n")
    drawn = highlight("\n".join(lines), PythonLexer(), CODE).split("\n")
    shown = ("\n".join(drawn[first:end]) for first, end in pieces(lines))
    return "".join(f'<pre class="code">{piece}</pre>' for piece in shown)


def pieces(lines: list[str], first: int = 0) -> list[tuple[int, int]]:
    """Cut long code, where there is a blank line near the middle of what is left.

    Args:
        lines: The code.
        first: The number of its first line; those before are dealt with.

    Returns:
        For each piece its first line, and the one after its last.
    """
    left = len(lines) - first
    if left <= LINES:
        return [(first, len(lines))]
    middle = first + left // -(-left // LINES)
    near = range(first + 1, first + LINES + 1)
    blank = [number for number in near if not lines[number].strip()]
    cut = min(blank or [middle], key=lambda number: abs(number - middle))
    after = cut
    while not lines[after].strip():
        after += 1
    return [(first, cut), *pieces(lines, after)]


def output(one: NotebookNode) -> str:
    """One output of a code cell: a figure, or text."""
    data = one.get("data", {})
    if "image/png" in data:
        about = one.metadata.get("image/png", {})
        source = "".join(data["image/png"].split())
        alt = html.escape(about.get("alt", data.get("text/plain", "")))
        width = f' width="{int(about["width"])}"' if "width" in about else ""
        return f'<img src="data:image/png;base64,{source}" alt="{alt}"{width}>'
    text = one.get("text", data.get("text/plain", ""))
    return f'<pre class="output">{html.escape(ANSI.sub("", text).rstrip())}</pre>'


def cell(one: NotebookNode, in_class: bool = False) -> str:
    """A cell, with its outputs; in class, a picture stands for its code."""
    shown = one.metadata.get("slideshow", {}).get("slide_type")
    name = "cell fragment" if shown == "fragment" else "cell"
    if one.cell_type == "markdown":
        body = markdown(one.source)
    else:
        figures = any("image/png" in each.get("data", {}) for each in one.outputs)
        drawing = figures and (in_class or "show_figure" in one.source)
        hidden = drawing or TAG in one.metadata.get("tags", [])
        body = "" if hidden else code(one.source)  # how it is drawn is not the point
        body += "".join(map(output, one.outputs))
    return f'<div class="{name}">{body}</div>'


def section(slide: Slide) -> str:
    """A slide as a <section> of reveal.js."""
    name = "exercise" if slide.exercise else "text"
    name += " whole" * bool(slide.minutes)  # on one page
    seconds = 60 * slide.minutes or int(slide.lab)
    more = f' data-above="{html.escape(slide.above)}"'
    more += f' data-timing="{seconds}"' * bool(seconds)
    more += ' data-visibility="uncounted"' * slide.appendix
    if slide.exercise:
        more += f' data-anchor="{anchor(slide.exercise.id)}"'
    label = '<p class="lab">for the lab</p>' if slide.lab else ""
    body = "".join(cell(one, slide.minutes > 0) for one in slide.cells)
    notes = markdown("\n\n".join(slide.notes))
    aside = f'<aside class="notes">{notes}</aside>'
    return f'<section class="{name}"{more}>{label}{body}{aside}</section>'


def sections(deck: list[Slide]) -> str:
    """All slides: those below each other share a section."""
    stacks: list[list[str]] = []
    for slide in deck:
        if slide.kind == "slide":
            stacks.append([])
        stacks[-1].append(section(slide))
    return "\n".join("<section>" + "\n".join(stack) + "</section>" for stack in stacks)
