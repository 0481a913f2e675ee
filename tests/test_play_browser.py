"""A figure that moves, under the keyboard and the mouse of a reader in JupyterLab."""

import os

import nbformat
import pytest
import test_browser
from chromium import pixels, soon

from helpers.figures.play import VIEW

NAME = "play.ipynb"
CODE = """\
from helpers.figures import attention
from helpers.figures.play import play
play(attention.sharpness())"""
EVERY_KIND = """\
from helpers.figures import canvas
from helpers.figures.play import Camera, Choice, Scene, Slider, Switch, Words, hands_on
controls = {
    "a": Slider("my slider", (1, 2), 1),
    "b": Choice("my radiogroup", ("x", "y"), "x"),
    "c": Switch("my checkbox", True),
    "d": Words("my textbox", "so"),
}
figure, _ = canvas(4, 2)
hands_on(Camera(Scene(figure, controls, lambda **values: str(values), [])))"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.lesson(2),
    pytest.mark.xdist_group("jupyterlab"),
]

course, address, context = (
    test_browser.course,
    test_browser.address,
    test_browser.context,
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """That of a person, where nothing says that this is a test."""
    home = tmp_path_factory.mktemp("home")
    own = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA")}
    own["JUPYTER_RUNTIME_DIR"] = str(home / "run")
    programs = {"COURSE_PROGRESS", "CI"}
    return {key: one for key, one in os.environ.items() if key not in programs} | own


@pytest.fixture(scope="module")
def cell(context, address, course):
    """The cell of a notebook in which the figure was just shown."""
    cells = [nbformat.v4.new_code_cell(one) for one in (CODE, EVERY_KIND)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata["kernelspec"] = kernel  # or JupyterLab asks for one
    nbformat.write(notebook, course / "work" / NAME)
    with test_browser.opened(context, address, NAME) as opened:
        number = opened.number("play(attention")
        shown = opened.run(number)
        shown.locator("img").wait_for()
        shown.notebook, shown.number = opened, number
        yield shown


def picture(cell):
    return cell.locator("img").get_attribute("src")


def moved(cell, act):
    """Do something and wait until the picture is another one; returns its text."""
    before = picture(cell)
    act()

    def look():
        assert picture(cell) != before

    soon(look)
    assert cell.locator("img").evaluate("one => one.complete && one.naturalWidth") > 600
    return cell.locator("img").get_attribute("alt")


def test_every_control_has_its_name_beside_it(cell):
    names = cell.locator(".widget-label:visible").all_inner_texts()
    assert names[:3] == ["d_head", "scores divided by", "random draw"]
    assert "keys of 64 random numbers" in cell.locator("img").get_attribute("alt")


def test_a_screen_reader_hears_the_name_and_the_value_of_each_control(cell):
    slider = cell.get_by_role("slider", name="d_head", exact=True)
    assert slider.get_attribute("aria-valuetext") == "64"
    assert cell.get_by_role("slider", name="random draw", exact=True).count() == 1
    group = cell.get_by_role("radiogroup", name="scores divided by", exact=True)
    assert group.get_by_role("radio").count() == 3
    slider.focus()
    for key, value in (("ArrowRight", "256"), ("ArrowLeft", "64")):
        moved(cell, lambda key=key: cell.page.keyboard.press(key))
        assert slider.get_attribute("aria-valuetext") == value


def test_every_kind_of_control_has_a_name(cell):
    shown = cell.notebook.run(cell.number + 1)
    for role in ("slider", "radiogroup", "checkbox", "textbox"):
        shown.get_by_role(role, name=f"my {role}", exact=True).wait_for()


def test_the_arrow_keys_move_a_slider_and_the_picture_follows(cell):
    handle = cell.get_by_role("slider").first
    handle.focus()
    press = cell.page.keyboard.press
    seen = pixels(cell.locator("img").screenshot())
    assert "keys of 256 random" in moved(cell, lambda: press("ArrowRight"))
    assert "keys of 1024 random" in moved(cell, lambda: press("ArrowRight"))
    assert "weight is 1.00" in cell.locator("img").get_attribute("alt")
    cell.notebook.shot("play")
    assert (pixels(cell.locator("img").screenshot()) != seen).any(-1).mean() > 0.01


def test_a_choice_is_made_with_the_mouse(cell):
    root = cell.get_by_label("√d_head", exact=True)
    assert "scores divided by √d_head" in moved(cell, root.check)


def test_what_is_saved_holds_a_picture_and_no_state(cell, course):
    cell.page.keyboard.press("Control+s")

    def look():
        saved = nbformat.read(course / "work" / NAME, 4)
        assert len(saved.cells[0].outputs) == 1
        assert set(saved.cells[0].outputs[0].data) == {VIEW, "image/png", "text/plain"}
        assert "widgets" not in saved.metadata

    soon(look)
