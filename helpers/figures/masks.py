"""Figures of lesson 06: masks, the shift, the schedule, alignment, beam and greedy."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from torch import Tensor

from helpers.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    SKY,
    WEIGHTS_MAP,
    YELLOW,
    canvas,
    heat_map,
)
from helpers.figures.play import QUICK, Choice, Labels, Scene, Switch
from helpers.models.masks import look_ahead_mask, padding_mask

OPEN, BLOCKED = SKY, "#555555"
WITH_BLOCKED = colormaps[WEIGHTS_MAP].with_extremes(bad=BLOCKED)


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


def masks_by_hand(words: Sequence[str]) -> Scene:
    """Let the reader take masks on and off: what becomes of the weights?

    Args:
        words: of a sentence; one token of padding joins them
    """
    count = len(words) + 1
    draws = torch.Generator().manual_seed(0)
    scores = torch.randint(-10, 21, (count, count), generator=draws) / 10
    figure, panels = canvas(8.6, 4, columns=2)
    tables = [
        axes.imshow(np.zeros((count, count)), cmap=cmap, vmin=0, vmax=1, **QUICK)
        for axes, cmap in zip(
            panels, (ListedColormap([BLOCKED, OPEN]), WITH_BLOCKED), strict=True
        )
    ]
    for axes, title in zip(panels, ("who may attend", "weights"), strict=True):
        axes.set(title=title, xticks=[], yticks=[])
        axes.spines[:].set_visible(False)  # the moving tables would cover them
        axes.set_xlabel("key", labelpad=46)
    panels[0].set_ylabel("query", labelpad=52)
    edges, span = np.arange(1, count) - 0.5, (-0.5, count - 0.5)
    grid = [
        line(edges, *span, color="white")
        for axes in panels
        for line in (axes.vlines, axes.hlines)
    ]
    names = [Labels(axes, 10, "right", turn=45) for axes in panels]
    names.append(Labels(panels[0], 10, "right"))
    dots, numbers = Labels(panels[0], 14), Labels(panels[1], 9)

    def move(padding: bool, ahead: bool, place: str) -> str:
        in_front = place == "in front"
        order = [count - 1, *range(count - 1)] if in_front else list(range(count))
        tokens = [[*words, "pad"][one] for one in order]
        ids = torch.tensor([[0 if token == "pad" else 1 for token in tokens]])
        allowed = torch.ones(count, count, dtype=torch.bool)
        if padding:
            allowed = allowed & padding_mask(ids)[0, 0]
        if ahead:
            allowed = allowed & look_ahead_mask(count)
        there = scores[order][:, order].masked_fill(~allowed, float("-inf"))
        weights = there.softmax(-1)
        tables[0].set_data(allowed.numpy())
        tables[1].set_data(np.ma.masked_array(weights.numpy(), ~allowed.numpy()))
        spots = [(at, count - 0.35) for at in range(count)]
        for one in names[:2]:
            one.write(tokens, spots)
        names[2].write(tokens, [(-0.6, at) for at in range(count)])
        open_fields = allowed.nonzero().flip(1).numpy()
        dots.write(["•"] * len(open_fields), open_fields)
        _write_weights(numbers, weights, allowed)
        return _told(padding, ahead, place, tokens, allowed)

    controls = {
        "padding": Switch("padding mask", True),
        "ahead": Switch("look-ahead mask", True),
        "place": Choice("padding stands", ("at the end", "in front"), "at the end"),
    }
    return Scene(figure, controls, move, [*tables, *grid, *names, dots, numbers])


def _write_weights(numbers: Labels, weights: Tensor, allowed: Tensor) -> None:
    """Write every weight into its field: 0 where it is blocked, NaN in an empty row."""
    texts, places, colours = [], [], []
    for (row, column), weight in np.ndenumerate(weights.numpy()):
        seen = bool(allowed[row, column])
        texts.append(f"{weight:.2f}" if seen else "NaN" if np.isnan(weight) else "0")
        places.append((column, row))
        light = YELLOW if np.isnan(weight) else "white"
        colours.append("black" if seen and weight <= 0.6 else light)
    numbers.write(texts, places, colours)


def _told(
    padding: bool, ahead: bool, place: str, tokens: Sequence[str], allowed: Tensor
) -> str:
    """The alternative text of masks and weights."""
    on = [name for name, one in (("padding", padding), ("look-ahead", ahead)) if one]
    rows = [
        f"{token} may attend to "
        + (
            ", ".join(k for k, seen in zip(tokens, row, strict=True) if seen)
            or "nobody"
        )
        for token, row in zip(tokens, allowed.tolist(), strict=True)
    ]
    masks = f"Masks: {' and '.join(on) or 'none'}. Padding stands {place}. "
    return masks + "; ".join(rows) + "."


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
        if not some.any():
            continue
        label = f"{name}: {int(some.sum())}"
        style = {"color": colour, "marker": marker, "linestyle": "none"}
        axes.plot(greedy[some], beam[some], label=label, alpha=0.6, **style)
    axes.set(xlabel="log-probability, greedy", ylabel="log-probability, beam")
    axes.legend(frameon=False)
    return figure
