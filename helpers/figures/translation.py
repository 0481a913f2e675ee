"""Figures of lesson 08: encoder and decoder, width by length, alignment, costs."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from torch import Tensor

from helpers.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    WEIGHTS_MAP,
    canvas,
    heat_map,
)
from helpers.figures.masks import mask_grid

STYLES = (  # one for each translator, also in grey: colour, marker, line
    (ORANGE, "s", ":"),
    (BLUE, "o", "-"),
    (GREEN, "^", "--"),
)
UP, ALONG = 1.0, 1.35  # of the drawing: from words to states, from word to word


def encoder_decoder(
    source: Sequence[str], target: Sequence[str], looks_back: bool = False
) -> Figure:
    """Draw one network that reads and one that writes, with shapes on the arrows.

    Args:
        source: the words that are read
        target: the words that the writing network reads, the start token first
        looks_back: draw the look at the memory before the second word that is written;
            otherwise the context is all that passes
    """
    width = 0.62 * (len(source) + len(target)) + 1.6
    figure, (axes,) = canvas(width, 3.1)
    axes.set(xlim=(-0.8, ALONG * (len(source) + len(target)) + 0.2))
    axes.set(ylim=(-0.5, 3.1))
    axes.axis("off")
    _chains(axes, source, target)
    last, half = ALONG * (len(source) - 1), ALONG * (len(source) - 1) / 2
    if not looks_back:
        arrow = {"arrowstyle": "-|>", "color": RED, "linewidth": 2}
        between = (last + 0.2, UP), (last + ALONG - 0.2, UP)
        axes.annotate("", between[1], between[0], arrowprops=arrow)
        place = {"ha": "center", "color": RED}
        axes.text(last + ALONG / 2, 2.75, "the context: one vector, (B, D)", **place)
        axes.plot(2 * [last + ALONG / 2], (UP + 0.2, 2.65), color=RED, linewidth=0.8)
        axes.plot((-0.3, last + 0.3), (UP + 0.45, UP + 0.45), color=BLUE, linewidth=1)
        axes.text(half, UP + 0.6, "memory, (B, S, D)", ha="center", color=BLUE)
        end = ALONG * (len(source) + len(target) - 1)
        axes.text(end, 2.35, "scores, (B, T, V)", ha="right", color=GREEN)
        return figure
    look = {"arrowstyle": "-", "color": RED, "alpha": 0.6, "linestyle": "--"}
    asks = ALONG * (len(source) + 1) - 0.15
    for place in range(len(source)):
        curve = {"connectionstyle": f"arc3,rad=-{0.3 - 0.02 * place}"}
        ends = (ALONG * place, UP + 0.2), (asks, UP + 0.2)
        axes.annotate("", ends[1], ends[0], arrowprops=look | curve)
    said = "before this word: a look at the memory, (B, S, D); weights (B, 1, S)"
    axes.text(asks, 2.8, said, color=RED, ha="center")
    return figure


bottleneck = encoder_decoder  # as notebooks of the first edition call it


def _chains(axes: Axes, source: Sequence[str], target: Sequence[str]) -> None:
    """Two chains of states, one after the other; the second writes."""
    up = {"arrowstyle": "-|>", "color": GREY}
    places = len(source) + len(target)
    for place, word in enumerate([*source, *target]):
        x, writes = ALONG * place, place >= len(source)
        colour = GREEN if writes else BLUE
        axes.plot(x, UP, "o", markersize=15, color=colour)
        axes.text(x, 0, word, ha="center", va="center")
        axes.annotate("", (x, UP - 0.2), (x, 0.18), arrowprops=up)
        if writes and place + 1 < places:
            said = target[place + 1 - len(source)]
            axes.annotate("", (x, 1.75), (x, UP + 0.22), arrowprops=up)
            axes.text(x, 1.85, said, ha="center", va="bottom", color=GREEN)
        if writes and place + 1 == places:
            axes.annotate("", (x, 1.75), (x, UP + 0.22), arrowprops=up)
            axes.text(x, 1.85, "end", ha="center", va="bottom", color=GREEN)
        if place + 1 < places:
            ends = (x + ALONG - 0.2, UP), (x + 0.2, UP)
            axes.annotate("", *ends, arrowprops=up | {"color": "black"})


def match_curves(
    curves: Mapping[str, Mapping[str, float]], counts: Mapping[str, int]
) -> Figure:
    """Draw the exact match against the length of the output.

    Args:
        curves: translator -> length, or range of lengths -> share
        counts: how many texts there are at each length
    """
    figure, (axes,) = canvas(7.5, 3.4)
    names = list(counts)
    for (model, shares), (colour, marker, line) in zip(
        curves.items(), STYLES, strict=False
    ):
        heights = [shares.get(name, np.nan) for name in names]
        axes.plot(names, heights, line, color=colour, marker=marker, label=model)
    labels = [f"{name}\n({counts[name]} texts)" for name in names]
    axes.set_xticks(range(len(names)), labels)
    axes.set(xlabel="tokens of the right translation", ylabel="exact match")
    axes.set_ylim(-0.03, 1.05)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def width_by_length(
    shares: Mapping[str, Mapping[int, Sequence[float]]], lengths: Sequence[str]
) -> Figure:
    """Draw the exact match over width and length, a map for each translator.

    Args:
        shares: translator -> width -> the share that is right at each length
        lengths: names of the lengths
    """
    figure, panels = canvas(4.3 * len(shares), 2.7, columns=len(shares))
    for axes, (title, rows) in zip(panels, shares.items(), strict=True):
        table = np.array(list(rows.values()))
        axes.imshow(table, cmap=WEIGHTS_MAP, vmin=0, vmax=1, aspect="auto")
        for (row, column), share in np.ndenumerate(table):
            colour = "white" if share > 0.6 else "black"
            place = {"ha": "center", "va": "center", "color": colour}
            axes.text(column, row, f"{share:.0%}", **place)
        axes.set_xticks(range(len(lengths)), lengths)
        axes.set_yticks(range(len(rows)), [str(width) for width in rows])
        axes.set(
            title=title, xlabel="digits of the number", ylabel="width of the state"
        )
    return figure


def alignments(
    maps: Mapping[str, Tensor],
    target: Sequence[str],
    source: Sequence[str],
    numbers: bool = False,
) -> Figure:
    """Draw attention from the written to the read.

    Args:
        maps: title -> (T, S) weights
        target: the T tokens that the rows lead to; a blank is drawn as ␣
        source: the S tokens of the source, likewise
        numbers: write the weights into the fields
    """
    target, source = (
        [one.replace(" ", "␣") for one in side] for side in (target, source)
    )
    field = 0.46 if numbers else 0.37  # inches
    width, height = 1.4 + field * len(source), 1.6 + field * len(target)
    figure, panels = canvas(width * len(maps), height, columns=len(maps))
    for axes, (title, weights) in zip(panels, maps.items(), strict=True):
        heat_map(axes, weights, target, source, title, numbers, largest=1.0)
        axes.set(xlabel="key: what is read", ylabel="query: what is written next")
    for axes in panels[1:]:
        axes.set(ylabel="")
    return figure


def costs(
    lengths: Sequence[int],
    chains: Mapping[str, Sequence[int]],
    seconds: Mapping[str, Sequence[float]],
) -> Figure:
    """Draw what has to wait and how long it takes, against the length.

    Args:
        lengths: of source and target
        chains: translator -> the longest chain of operations at each length
        seconds: translator -> the time of one step of training
    """
    figure, panels = canvas(9.5, 3.5, columns=2)
    titles = ("operations that wait for each other", "seconds per step, one thread")
    for axes, title, table in zip(panels, titles, (chains, seconds), strict=True):
        for (model, values), (colour, marker, line) in zip(
            table.items(), STYLES, strict=False
        ):
            axes.plot(lengths, values, line, color=colour, marker=marker, label=model)
        axes.set(title=title, xlabel="length of source and target", ylim=(0, None))
        axes.set_xticks(lengths)
    panels[0].legend(frameon=False)
    return figure


def who_reads_whom(tables: Mapping[str, Tensor]) -> Figure:
    """Draw who reads whom in one step, title -> (T, T), True = reads."""
    figure, panels = canvas(3.1 * len(tables), 3.3, columns=len(tables))
    for axes, (title, table) in zip(panels, tables.items(), strict=True):
        places = [str(place) for place in range(len(table))]
        mask_grid(axes, table, places, places, title)
        axes.set(xlabel="what is read", ylabel="who reads")
        axes.tick_params(axis="x", rotation=0)
    return figure
