"""How Sphinx draws the site; the pages themselves are made by pages.py."""

import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from tools.slides.html import formula

HERE = Path(__file__).resolve().parent
SETTINGS = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text("utf-8"))

project = "Transformers, step by step"
author = "the authors of the course"
copyright = "the authors of the course; prose and figures: CC BY 4.0"
release = SETTINGS["project"]["version"]
language = "en"

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_dmath_double_inline = True  # a formula on its own line inside a paragraph
myst_heading_anchors = 3

html_theme = "sphinx_book_theme"
html_title = project
html_static_path = [str(HERE / "static")]
html_css_files = ["course.css"]
html_js_files = ["course.js"]
html_math_renderer = "drawn"
html_copy_source = html_show_sourcelink = html_show_sphinx = html_use_index = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_theme_options = {
    "repository_url": SETTINGS["tool"]["course"]["repository"],
    "use_repository_button": bool(SETTINGS["tool"]["course"]["repository"]),
    "home_page_in_toc": True,
    "navbar_persistent": [],  # one search field is enough
    "show_toc_level": 2,
    "toc_title": "On this page",
    "use_download_button": False,
    "search_bar_text": "Search the course ...",
    "footer_content_items": "copyright.html",
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def inline_math(writer: HTML5Translator, node: nodes.math) -> None:
    """Draw a formula in a line of text."""
    writer.body.append(formula(node.astext(), inline=True))
    raise nodes.SkipNode


def block_math(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Draw a formula on a line of its own."""
    drawn = formula(node.astext(), inline=False)
    writer.body.append(f'<div class="formula">{drawn}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx how formulas are drawn."""
    app.add_html_math_renderer("drawn", (inline_math, None), (block_math, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
