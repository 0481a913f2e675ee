"""Figures of lesson 11 show the numbers that they were given."""

import pytest
import torch
from matplotlib.colors import to_hex

from helpers.figures import BLUE, GREY, png
from helpers.figures import generation as draw
from helpers.generation.sampling import Settings

pytestmark = pytest.mark.lesson(11)


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_spaces_and_line_breaks_become_visible():
    assert draw.readable(" the") == "␣the"
    assert draw.readable("\n") == "⏎"
    assert draw.readable("") == "∅"
    assert draw.readable("\x1b ü") == "\\x1b␣ü"
    assert draw.printable(" a\tb") == " a\\tb"


def test_the_pipeline_shows_what_each_step_leaves():
    how = Settings(temperature=2.0, top_k=3, top_p=0.7)
    logits = torch.tensor([4.0, 3.0, 2.0, 1.0])
    figure = draw.pipeline([" a", " b", " c", " d"], logits, how)
    (axes,) = figure.axes
    heights = [
        round(bar.get_height(), 3) for bar in axes.patches if bar.get_width() > 0
    ]
    assert heights[:4] == [1.4, 1.05, 0.7, 0.35]  # the logits, to scale
    assert heights[4:8] == [0.7, 0.525, 0.35, 0.175]  # halved by the temperature
    assert heights[8:11] == [0.7, 0.525, 0.35]  # k = 3
    assert heights[11:13] == [0.7, 0.525]  # 0.51 and 0.31 of three reach 0.7
    assert heights[13:] == [1.4, round(1.4 * 2.71828**-0.5, 3)]  # probabilities
    assert texts(axes).count("×") == 1 + 2 + 2
    assert {"÷ temperature 2", "top-k, k = 3", "top-p, p = 0.7"} <= set(texts(axes))


def test_a_way_is_a_row_of_dots_and_its_middle():
    ways = {"real": torch.tensor([1.0, 3.0]).log(), "b": torch.tensor([4.0, 4.0]).log()}
    (axes,) = draw.surprise_of_ways(ways).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["real", "b"]
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [round(x, 3) for line in dots for x in line.get_xdata()] == [1, 3, 4, 4]
    middles = {round(line.get_xdata()[0], 3) for line in axes.lines} - {1.0, 4.0}
    assert middles == {round(3**0.5, 3)}  # the mean of the logarithms


def test_next_tokens_are_bars_with_their_numbers():
    figure = draw.next_tokens([" a", " b"], torch.tensor([0.6, 0.25]), "so")
    (axes,) = figure.axes
    assert [round(bar.get_width(), 3) for bar in axes.patches] == [0.6, 0.25]
    assert texts(axes) == [" 0.600", " 0.250"]


def test_temperatures_say_how_much_is_elsewhere():
    shares = torch.tensor([0.5, 0.2, 0.3])
    figure = draw.temperatures({1.0: shares}, torch.tensor([0, 2]), ["a", "c"])
    (axes,) = figure.axes
    assert texts(axes) == ["all others: 0.20"]


def test_a_nucleus_is_as_large_as_it_should_be():
    sure, unsure = torch.tensor([0.95, 0.03, 0.02]), torch.full((10,), 0.1)
    figure = draw.nuclei({"sure": sure, "unsure": unsure}, p=0.9, k=2)
    labels = [axes.get_legend_handles_labels()[1][0] for axes in figure.axes]
    assert labels[0] == "p = 0.9: 1 token"
    assert labels[1] in ("p = 0.9: 9 tokens", "p = 0.9: 10 tokens")  # rounding


def test_the_tree_keeps_what_a_beam_keeps():
    first = torch.tensor([0.5, 0.4, 0.1])
    second = torch.tensor([[0.4, 0.3, 0.3], [0.9, 0.05, 0.05], [0.3, 0.3, 0.4]])
    (axes,) = draw.beam_tree(first, second, "abc", width=2).axes
    colours = {text.get_text().split()[0]: text.get_color() for text in axes.texts}
    kept = {name for name, colour in colours.items() if to_hex(colour) == BLUE.lower()}
    dropped = {n for n, colour in colours.items() if to_hex(colour) == GREY.lower()}
    assert kept == {"a", "b", "aa", "ba"}
    assert dropped == {"c", "ab", "ac", "bb", "bc"}


def test_surprises_share_one_scale_and_all_figures_can_be_drawn():
    heights = torch.tensor([1.0, 3.0])
    figure = draw.surprise_bars(
        {"x": ([" a", "<|end|>"], heights), "y": ("b", heights[:1])}
    )
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    names = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert names == ["a", "(end)"]
    best = draw.best_of((1, 2), torch.tensor([[1.0, 2.0, 3.0], [2.0, 2.0, 4.0]]))
    assert png(figure).startswith(b"\x89PNG") and png(best).startswith(b"\x89PNG")
