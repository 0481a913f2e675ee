# ruff: noqa: F401, F811
"""What a person finds around the notebooks in JupyterLab: links, folds, figures."""

import subprocess

import pytest
from chromium import soon
from test_browser import (
    Notebook,
    address,
    context,
    course,
    environment,
    lab,
    solution,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.xdist_group("jupyterlab"),
]
NAVIGATED = ".jp-Notebook:visible a"
RUN = "window.jupyterapp.commands.execute"
CURRENT = "window.jupyterapp.shell.currentWidget"


@pytest.fixture(scope="module")
def page(context, address):
    """The page that `make lab` opens first."""
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    yield page
    page.close()


def follow(page, text):
    """Click on the first link with a text in the notebook that is shown."""
    link = page.locator(NAVIGATED, has_text=text).first
    link.scroll_into_view_if_needed()
    link.click()


def follow_to(page, text, look, tries=4):
    """Click on a link within a notebook until it has led where `look` asserts.

    JupyterLab scrolls once; what it still lays out or focuses may move the page after
    that, and a reader clicks again.
    """
    for missing in reversed(range(tries)):
        follow(page, text)
        try:
            return soon(look, seconds=8)
        except AssertionError:
            if not missing:
                raise


def shows(page, path):
    """Wait until the tab of a file is the current one, and all its cells are there."""
    page.wait_for_function(f"path => {CURRENT}?.context?.path === path", arg=path)
    page.wait_for_function(
        f"""() => {CURRENT}.content.widgets.every(cell => cell.node.isConnected
                && (cell.model.type !== 'markdown'
                    || cell.node.querySelector('.jp-RenderedMarkdown *')))"""
    )


def test_the_table_of_contents_is_open_and_file_names_are_whole(page):
    page.locator(".jp-TableOfContents-tree").get_by_text("Where your work").wait_for()
    page.locator("li[data-id=filebrowser]").click()
    names = page.locator(".jp-DirListing-itemText")
    names.get_by_text("03_multi_head_attention.ipynb").wait_for()
    cut = "all => all.filter(one => one.scrollWidth > one.clientWidth).length"
    assert names.evaluate_all(cut) == 0
    assert {"docs", "helpers", "solutions"} <= set(names.all_inner_texts())


def test_lines_of_prose_end_where_they_can_be_read(page):
    page.set_viewport_size({"width": 1920, "height": 1080})
    widths = """all => all.map(
        one => one.clientWidth / parseFloat(getComputedStyle(one).fontSize))"""
    prose = page.locator(".jp-Notebook .jp-RenderedMarkdown > p")

    def look():
        assert 43 < max(prose.evaluate_all(widths)) <= 44  # some 90 characters

    soon(look)
    page.set_viewport_size({"width": 1300, "height": 950})


def test_links_lead_to_the_next_lesson_its_exercises_and_its_answers(page):
    follow(page, "01 Embeddings")
    shows(page, "01_embeddings.ipynb")
    heading = page.locator(".jp-Notebook:visible h3", has_text="Exercise 1.D:").first

    def look():
        assert 0 < heading.bounding_box()["y"] < 400

    follow_to(page, "1.D →", look)
    follow(page, "model answers")
    shows(page, "solutions/01_embeddings.ipynb")
    page.get_by_text("notebook is read-only").wait_for()


def test_a_figure_has_its_text_is_sharp_and_a_card_and_its_code_is_folded(solution):
    cell = solution.cell(solution.number("draw.lookup("))
    image = cell.locator(".jp-OutputArea img").first
    image.wait_for()
    assert image.get_attribute("alt").startswith("A query, lime, is joined")
    assert cell.locator(".jp-InputPlaceholder").count() == 1
    sharpness = "one => one.naturalWidth / Number(one.getAttribute('width'))"
    assert image.evaluate(sharpness) == 2
    solution.theme("JupyterLab Dark")
    style = """one => { const style = getComputedStyle(one);
                        return [style.paddingTop, style.backgroundColor]; }"""
    assert image.evaluate(style) == ["10px", "rgb(255, 255, 255)"]
    wide = solution.cell(solution.number("draw.cost_curves(")).locator("img").first
    right = "one => one.getBoundingClientRect().right"
    cut = wide.evaluate(right) - wide.locator("..").evaluate(right)
    assert cut <= 0.5
    solution.theme("JupyterLab Light")


def test_a_notebook_that_was_only_opened_is_updated(
    context, address, course, environment
):
    mine = course / "work" / "05_decoder.ipynb"
    given = course / "notebooks" / mine.name
    before = mine.read_bytes()
    notebook = Notebook(context, address, mine.name)

    def look():
        notebook.page.evaluate(f"async () => {{ await {RUN}('docmanager:save'); }}")
        assert b"nbconvert_exporter" in mine.read_bytes()

    soon(look)
    notebook.page.close()
    assert mine.read_bytes() != before
    given.write_text(
        given.read_text("utf-8").replace("# 05 The", "# 05 A new"), "utf-8"
    )
    second = lab(course, environment, "--copy-only", stdout=subprocess.PIPE, text=True)
    said = second.communicate(timeout=60)[0]
    assert "Updated 05_decoder.ipynb, which you had not changed." in said
    assert not list(mine.parent.glob("05_decoder.new*"))
