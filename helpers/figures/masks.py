"""Figures of lesson 06: masks, the shift, the schedule, alignment, beam and greedy."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from torch import Tensor

from helpers.figures import BLUE, GREEN, GREY, ORANGE, RED, SKY, canvas, heat_map

OPEN, BLOCKED = SKY, "#555555"


def mask_grid(
    axes: Axes,
    mask: Tensor,
    queries: Sequence[str],
    keys: Sequence[str],
    title: str = "",
) -> None:
    """Draw a mask: light with a dot = may attend, dark = blocked.

    Args:
        axes: where to draw
        mask: (T, S), boolean, True = may attend
        queries: words at the rows
        keys: words at the columns
        title: above the grid
    """
    table = mask.cpu().numpy()
    axes.imshow(table, cmap=ListedColormap([BLOCKED, OPEN]), vmin=0, vmax=1)
    for row, column in zip(*np.nonzero(table), strict=True):
        axes.plot(column, row, "o", color="black", markersize=4)
    axes.set(title=title, xlabel="key", ylabel="query")
    axes.set_xticks(range(len(keys)), keys, rotation=45, ha="right")
    axes.set_yticks(range(len(queries)), queries)
    edges = np.arange(max(table.shape) + 1) - 0.5
    axes.vlines(edges[: table.shape[1] + 1], -0.5, len(table) - 0.5, color="white")
    axes.hlines(edges[: len(table) + 1], -0.5, table.shape[1] - 0.5, color="white")


def mask_grids(
    masks: Mapping[str, Tensor], queries: Sequence[str], keys: Sequence[str]
) -> Figure:
    """Draw masks beside each other, title -> (T, S)."""
    figure, panels = canvas(3.2 * len(masks) + 0.4, 3.5, columns=len(masks))
    for axes, (title, mask) in zip(panels, masks.items(), strict=True):
        mask_grid(axes, mask, queries, keys, title)
    for axes in panels[1:]:
        axes.set(ylabel="")
        axes.set_yticklabels([])
    return figure


def shifted(tokens: Sequence[str]) -> Figure:
    """Draw what the decoder reads, and below it what it should say next."""
    figure, (axes,) = canvas(1.2 * len(tokens) + 1.2, 1.9)
    axes.set(xlim=(-1.5, len(tokens) - 1.4), ylim=(-0.6, 1.6))
    axes.axis("off")
    rows = ((1.0, "reads", tokens[:-1], BLUE), (0.0, "should say", tokens[1:], GREEN))
    for height, name, row, colour in rows:
        axes.text(-1.45, height, name, va="center", color=colour)
        for place, token in enumerate(row):
            box = {"boxstyle": "round,pad=0.4", "facecolor": "white"}
            axes.text(
                place, height, token, ha="center", va="center",
                bbox={**box, "edgecolor": colour},
            )  # fmt: skip
    down = {"arrowstyle": "-|>", "color": GREY}
    same = {"arrowstyle": "-", "color": GREY, "linestyle": ":"}
    for place in range(len(tokens) - 1):
        axes.annotate("", (place, 0.3), (place, 0.7), arrowprops=down)
        if place:  # the same token of the target
            ends = (place - 0.75, 0.25), (place - 0.25, 0.75)
            axes.annotate("", *ends, arrowprops=same)
    return figure


def schedules(rates: Mapping[str, Sequence[float]]) -> Figure:
    """Draw learning rates against the step: name -> the rate of each step."""
    figure, (axes,) = canvas(7.5, 3)
    styles = ((BLUE, "-"), (ORANGE, "--"), (GREEN, ":"))
    for (name, values), (colour, line) in zip(rates.items(), styles, strict=False):
        steps = range(1, len(values) + 1)
        axes.plot(steps, values, line, color=colour, label=name)
    axes.set(xlabel="step", ylabel="learning rate", ylim=(0, None))
    axes.legend(frameon=False)
    return figure


def alignments(
    maps: Mapping[str, Tensor], target: Sequence[str], source: Sequence[str]
) -> Figure:
    """Draw cross-attention: a row per token that is written, a column per token read.

    Args:
        maps: title -> (T, S) weights
        target: the T tokens that the rows lead to
        source: the S tokens of the source
    """
    width = 1.3 + 0.62 * len(source)
    height = 1.9 + 0.42 * len(target)
    figure, panels = canvas(width * len(maps), height, columns=len(maps))
    for axes, (title, weights) in zip(panels, maps.items(), strict=True):
        heat_map(axes, weights, target, source, title, largest=1.0)
        axes.set(xlabel="key: what is read", ylabel="query: what is written next")
    for axes in panels[1:]:
        axes.set(ylabel="")
    return figure


def beam_against_greedy(greedy: Tensor, beam: Tensor, tie: float = 1e-4) -> Figure:
    """Draw a point per sentence: its log-probability when found by each search.

    Args:
        greedy: (N,)
        beam: (N,)
        tie: differences up to this one are rounding
    """
    figure, (axes,) = canvas(5, 4.4)
    lowest = min(greedy.min().item(), beam.min().item())
    axes.plot([lowest, 0], [lowest, 0], color=GREY, linewidth=1)
    kinds = {
        "beam found a likelier one": (beam > greedy + tie, BLUE, "^"),
        "the same": ((beam - greedy).abs() <= tie, GREY, "."),
        "greedy found a likelier one": (beam < greedy - tie, RED, "v"),
    }
    for name, (some, colour, marker) in kinds.items():
        label = f"{name}: {int(some.sum())}"
        style = {"color": colour, "marker": marker, "linestyle": "none"}
        axes.plot(greedy[some], beam[some], label=label, alpha=0.6, **style)
    axes.set(xlabel="log-probability, greedy", ylabel="log-probability, beam")
    axes.legend(frameon=False)
    return figure
