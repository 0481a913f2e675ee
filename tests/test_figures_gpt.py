"""Figures of lesson 10: the block and its mask, the tied table, the contest."""

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, Rectangle

from helpers.experiments.character_models import CharacterHistory
from helpers.figures import gpt, png

pytestmark = pytest.mark.lesson("10")


def words(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def test_the_block_is_pre_norm_under_a_causal_mask():
    (axes,) = gpt.block().axes
    said = words(axes)
    assert {"norm 1", "norm 2", "multi-head\nattention", "feed-forward"} < set(said)
    assert said.count("+") == said.count("dropout") == 2
    assert "causal mask  (T, T)" in said and "mask  (B, 1, 1, S)" not in said
    fields = [one for one in axes.patches if type(one) is Rectangle]
    corners = {round(one.get_x(), 3) for one in fields}
    columns = {x: number for number, x in enumerate(sorted(corners))}
    tops = sorted({round(one.get_y(), 3) for one in fields}, reverse=True)
    for one in fields:  # on and below the diagonal they are open
        row = tops.index(round(one.get_y(), 3))
        open_ = to_hex(one.get_facecolor()) == "#ffffff"
        assert open_ == (columns[round(one.get_x(), 3)] <= row)
    assert len(fields) == len(columns) * len(tops) == 16


def test_the_mask_lies_on_nothing_else():
    figure = gpt.block()
    (axes,) = figure.axes
    figure.canvas.draw()
    boxes = [one for one in axes.patches if isinstance(one, FancyBboxPatch)]
    fields = [one for one in axes.patches if type(one) is Rectangle]
    for one in fields:
        extent = one.get_window_extent()
        for other in [*boxes, *axes.texts]:
            assert not extent.overlaps(other.get_window_extent())


def test_one_table_stands_at_both_ends():
    figure = gpt.model()
    (axes,) = figure.axes
    said = words(axes)
    assert {"row of the\ntoken table", "· token table,\ntransposed"} < set(said)
    assert "the same table (V, D)" in said
    (same,) = (one for one in axes.lines if one.get_linestyle() == "--")
    ends = same.get_xdata()
    boxes = [one.get_bbox() for one in axes.patches if isinstance(one, FancyBboxPatch)]
    first, last = min(boxes, key=lambda one: one.x0), max(boxes, key=lambda one: one.x1)
    assert first.x0 < min(ends) < first.x1 and last.x0 < max(ends) < last.x1
    figure.canvas.draw()
    shapes = [one.get_window_extent() for one in axes.texts if "(" in one.get_text()]
    edges = [
        one.get_window_extent()
        for one in axes.patches
        if isinstance(one, FancyBboxPatch)
    ]
    assert not any(one.overlaps(edge) for one in shapes for edge in edges)


def test_a_contest_is_drawn_against_steps_and_seconds():
    def history(*bits):
        times = [0.0, 4.0, 9.0]
        return CharacterHistory(steps=[0, 50, 100], times=times, bits=list(bits))

    histories = {"GPT": history(6, 3.5, 2.9), "LSTM": history(6, 3.6, 3.1)}
    figure = gpt.contest(histories, {"counting pairs": 3.4})
    for axes, name in zip(figure.axes, ("steps", "times"), strict=True):
        curves = {one.get_label(): one for one in axes.lines}
        for model, one in histories.items():
            assert [*curves[model].get_ydata()] == one.bits
            assert [*curves[model].get_xdata()] == getattr(one, name)
        assert 3.4 < axes.get_ylim()[1] < 6  # the very beginning is left out
    assert png(figure)
