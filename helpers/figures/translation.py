"""Figures of lesson 08: the bottleneck, exact match by length, who waits for whom."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from torch import Tensor

from helpers.figures import BLUE, GREEN, GREY, ORANGE, RED, canvas, heat_map
from helpers.figures.masks import mask_grid

STYLES = (  # one for each translator, also in grey: colour, marker, line
    (ORANGE, "s", ":"),
    (BLUE, "o", "-"),
    (GREEN, "^", "--"),
)
UP, ALONG = 1.0, 1.35  # of the drawing: from words to states, from word to word


def bottleneck(source: Sequence[str], target: Sequence[str]) -> Figure:
    """Draw both models: all through one vector, or a look back before each word."""
    width = 0.62 * (len(source) + len(target)) + 1.6
    figure, (fixed, back) = canvas(width, 5.2, rows=2)
    for axes, title in ((fixed, "without attention"), (back, "with attention")):
        axes.set(xlim=(-0.8, ALONG * (len(source) + len(target)) + 0.2))
        axes.set(ylim=(-0.5, 2.9))
        axes.set_title(title, loc="left")
        axes.axis("off")
        _chains(axes, source, target)
    first = ALONG * len(source)
    fixed.annotate(
        "the context: one vector", (first - 0.7, UP), (first - 0.7, 2.3),
        ha="center", color=RED, arrowprops={"arrowstyle": "-|>", "color": RED},
    )  # fmt: skip
    look = {"arrowstyle": "-", "color": RED, "alpha": 0.6, "linestyle": "--"}
    second = ALONG * (len(source) + 1)
    for place in range(len(source)):
        ends = (ALONG * place, UP + 0.2), (second - 0.15, UP + 0.2)
        curve = {"connectionstyle": f"arc3,rad=-{0.3 - 0.02 * place}"}
        back.annotate("", ends[1], ends[0], arrowprops=look | curve)
    back.text(0, 2.6, "before this word: a look at every state", color=RED)
    return figure


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


def alignments(
    maps: Mapping[str, Tensor], target: Sequence[str], source: Sequence[str]
) -> Figure:
    """Draw attention from the written to the read, without numbers: for longer pairs.

    Args:
        maps: title -> (T, S) weights
        target: the T tokens that the rows lead to; a blank is drawn as ␣
        source: the S tokens of the source, likewise
    """
    target, source = (
        [one.replace(" ", "␣") for one in side] for side in (target, source)
    )
    width, height = 1.4 + 0.37 * len(source), 1.6 + 0.37 * len(target)
    figure, panels = canvas(width * len(maps), height, columns=len(maps))
    for axes, (title, weights) in zip(panels, maps.items(), strict=True):
        heat_map(axes, weights, target, source, title, numbers=False, largest=1.0)
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
