"""The figure of lesson 12: what differs between the two blocks, and is marked so."""

import math

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch
from pytest import approx

from helpers.figures import png
from helpers.figures.modern import NEW, OLD, blocks, hands

pytestmark = pytest.mark.lesson("12")


@pytest.fixture(scope="module")
def figure():
    return blocks()


@pytest.fixture(scope="module")
def sides(figure):
    """The title of each side -> its boxes: words, and how they are drawn."""
    return {axes.get_title(): boxes(axes) for axes in figure.axes}


def parts(axes):
    """Each box that holds a word, and its word."""
    for patch in axes.patches:
        if isinstance(patch, FancyBboxPatch) and patch.get_linestyle() != "--":
            box = patch.get_bbox()
            middle = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
            (text,) = (
                one for one in axes.texts if one.get_position() == approx(middle)
            )
            yield patch, text


def boxes(axes):
    return [
        (
            text.get_text(),
            to_hex(patch.get_edgecolor()).upper(),
            patch.get_linewidth(),
            text.get_weight(),
        )
        for patch, text in parts(axes)
    ]


def words(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def test_what_is_not_on_both_sides_has_a_colour_and_a_thick_edge(sides):
    old, new = sides[OLD.title], sides[NEW.title]
    both = {box[0] for box in old} & {box[0] for box in new}
    both |= {"W_2", "W_down"}  # the same step under two names
    both -= {"W_k", "W_v"}  # named alike, with fewer heads
    for boxes, side in ((old, OLD), (new, NEW)):
        for name, colour, width, weight in boxes:
            same = name in both
            assert (colour != side.colour) == same, name
            assert (width < 2, weight == "normal") == (same, same), name


def test_each_change_of_the_lesson_is_in_the_figure(figure):
    old, new = map(words, figure.axes)
    assert "learned positions" in old and "learned positions" not in new
    assert new.count("rotate") == 2 and "rotate" not in old
    assert old.count("+ bias") == 6 and "+ bias" not in new
    assert {"W_gate, SiLU", "W_up", "×"} <= set(new)
    assert old.count("layer norm") == new.count("RMS norm") == 3


def test_shapes_stand_on_the_arrows(figure):
    old, new = map(words, figure.axes)
    assert old.count("(B, H, S, K)") == new.count("(B, H_kv, S, K)") == 2
    for shape in ("(B, T)", "(B, H, T, K)", "(B, T, H K)", "(B, T, F)", "(B, T, V)"):
        assert shape in old and shape in new


def test_words_stay_inside_their_boxes(figure):
    FigureCanvasAgg(figure).draw()
    for patch, text in (pair for axes in figure.axes for pair in parts(axes)):
        frame, inside = patch.get_window_extent(), text.get_window_extent()
        assert frame.x0 < inside.x0 and inside.x1 < frame.x1, text.get_text()
        assert frame.y0 < inside.y0 and inside.y1 < frame.y1, text.get_text()


def test_it_becomes_a_png(figure):
    assert png(figure).startswith(b"\x89PNG")


def test_hands_are_turned_as_rotations_turn_a_pair():
    import torch

    from helpers.models.modern import rotate, rotation

    figure = hands(8, 10_000.0, 6)
    assert len(figure.axes) == 4
    places = torch.arange(6)
    ones = torch.zeros(6, 8)
    ones[:, :4] = 1.0  # every pair is (1, 0) before it is turned
    turned = rotate(ones, *rotation(places, 8, 10_000.0, ones))
    for pair, axes in enumerate(figure.axes):
        ends = [text.xy for text in axes.texts if hasattr(text, "arrow_patch")]
        assert len(ends) == 6
        for place, (x, y) in enumerate(ends):
            assert x == approx(turned[place, pair].item(), abs=1e-6)
            assert y == approx(turned[place, pair + 4].item(), abs=1e-6)
            assert math.hypot(x, y) == approx(1)
    assert [text.get_text() for text in figure.axes[0].texts if text.get_text()] == (
        [str(place) for place in range(6)]
    )
