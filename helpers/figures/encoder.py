"""Figures of lesson 04: collapse, feed-forward, norm, the block, depth, search."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from helpers.figures import BLUE, GREEN, GREY, ORANGE, RED, SIGNED_MAP, canvas

MARKS = ("o-", "s--", "^:")


def likeness(curves: Mapping[str, Sequence[float]]) -> Figure:
    """Draw how alike the tokens become, layer by layer.

    Args:
        curves: a name, and the mean cosine before and after each layer
    """
    figure, (axes,) = canvas(6.5, 3.2)
    for (name, values), colour, mark in zip(
        curves.items(), (RED, BLUE), MARKS, strict=False
    ):
        axes.plot(range(len(values)), values, mark, color=colour, label=name)
    axes.set(xlabel="layers", ylabel="mean cosine of two tokens", ylim=(-0.2, 1.08))
    axes.legend(frameon=False, loc="center", bbox_to_anchor=(0.35, 0.65))
    return figure


def per_position(words: Sequence[str], d_model: int = 3, d_ff: int = 6) -> Figure:
    """Draw the feed-forward: the same narrow-wide-narrow net at every position."""
    figure, panels = canvas(8.5, 2.9, columns=len(words))
    for axes, word in zip(panels, words, strict=True):
        axes.set(xlim=(-0.7, 2.7), ylim=(-0.9, d_ff + 0.3), title=word)
        axes.axis("off")
        columns = [_column(axes, at, count, d_ff) for at, count in enumerate(
            (d_model, d_ff, d_model))]  # fmt: skip
        for at in (0, 1):
            for one in columns[at]:
                for other in columns[at + 1]:
                    axes.plot([at, at + 1], [one, other], color=GREY, lw=0.4, zorder=1)
        axes.text(0.5, d_ff - 0.1, "W₁, b₁", ha="center", color=BLUE)
        axes.text(1.5, d_ff - 0.1, "W₂, b₂", ha="center", color=BLUE)
        for at, name in enumerate(("d_model", "d_ff", "d_model")):
            axes.text(at, -0.85, name, ha="center", color=GREY, fontsize=9)
    return figure


def _column(axes: Axes, at: int, count: int, most: int) -> np.ndarray:
    """One layer of units; where they stand is returned."""
    heights = np.arange(count) + (most - count) / 2
    colour = ORANGE if count == most else GREEN
    axes.scatter([at] * count, heights, s=90, color=colour, edgecolor="black", zorder=2)
    return heights


def before_and_after(before: Tensor, after: Tensor, words: Sequence[str]) -> Figure:
    """Draw vectors before and after layer norm, each row with its mean and spread.

    Args:
        before: (T, D)
        after: (T, D)
        words: the T words
    """
    figure, panels = canvas(9.5, 0.42 * len(words) + 1.5, columns=2)
    tables = {"before": before.numpy(), "after layer norm": after.numpy()}
    top = max(abs(table).max() for table in tables.values())
    for axes, (title, table) in zip(panels, tables.items(), strict=True):
        image = axes.imshow(table, cmap=SIGNED_MAP, vmin=-top, vmax=top, aspect="auto")
        axes.set(title=title, xlabel="feature")
        axes.set_yticks(range(len(words)), words)
        axes.set_xticks(range(table.shape[1]))
        for row, numbers in enumerate(table):
            text = f"mean {numbers.mean() + 0.0:5.2f}\nstd {numbers.std():5.2f}"
            text = text.replace("-0.00", "0.00")
            at = table.shape[1] - 0.3
            axes.text(at, row, text, va="center", fontsize=8, clip_on=False)
    figure.colorbar(image, ax=panels, pad=0.1)
    return figure


def block_orders() -> Figure:
    """Draw one encoder layer twice: post-norm and pre-norm."""
    figure, panels = canvas(9, 5.2, columns=2)
    post = ("attention", "+", "norm 1", "feed-forward", "+", "norm 2")
    pre = ("norm 1", "attention", "+", "norm 2", "feed-forward", "+")
    titles = {"post-norm (the paper, BERT)": post, "pre-norm (GPT-2 and later)": pre}
    for axes, (title, steps) in zip(panels, titles.items(), strict=True):
        axes.set(xlim=(-2.4, 2.4), ylim=(-1.0, len(steps) + 0.1), title=title)
        axes.axis("off")
        axes.text(0, -0.85, "x", ha="center", va="center", fontsize=12)
        arrow = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (0, len(steps)), (0, -0.65), arrowprops=arrow, zorder=0)
        for height, step in enumerate(steps):
            _step(axes, step, height)
        _residuals(axes, steps)
    return figure


def _step(axes: Axes, name: str, height: float) -> None:
    colours = {"a": BLUE, "f": ORANGE, "n": GREEN, "+": GREY}
    shape = "circle,pad=0.12" if name == "+" else "round,pad=0.35"
    box = {
        "boxstyle": shape,
        "facecolor": "white",
        "edgecolor": colours[name[0]],
        "lw": 2,
    }
    axes.text(0, height, f"{name:^14}" if name != "+" else name, ha="center",
              va="center", bbox=box, zorder=2)  # fmt: skip


def _residuals(axes: Axes, steps: Sequence[str]) -> None:
    """A line past each sublayer, from before it (and its norm) to its sum."""
    sums = [height for height, step in enumerate(steps) if step == "+"]
    starts = [-0.5, sums[0] + (1.5 if steps[-1] != "+" else 0.5)]
    for start, end in zip(starts, sums, strict=True):
        axes.plot([0, 1.7, 1.7], [start, start, end], color=RED, lw=2, zorder=1)
        arrow = {"arrowstyle": "-|>", "color": RED, "lw": 2}
        axes.annotate("", (0.13, end), (1.75, end), arrowprops=arrow, zorder=1)
        axes.text(
            1.85, (start + end) / 2, "residual", rotation=90, va="center", color=RED
        )


def depth(
    by_layer: Mapping[str, Sequence[float]],
    counts: Sequence[int],
    last: Mapping[str, Sequence[float]],
    spread: Mapping[str, Sequence[float]],
) -> Figure:
    """Draw gradient norms against the layer and the depth, and the spread of outputs.

    Args:
        by_layer: gradient norm of each layer, post-norm and pre-norm
        counts: depths that were tried
        last: gradient norm of the last layer for each of them
        spread: standard deviation after each layer
    """
    figure, panels = canvas(10.5, 3.3, columns=3)
    titles = ("gradient norm, layer by layer", "gradient norm of the last layer",
              "std of the layers' outputs")  # fmt: skip
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, fontsize=11)
    for name, colour, mark in zip(by_layer, (RED, BLUE), MARKS, strict=False):
        style = {"color": colour, "label": name, "markersize": 4}
        layers = range(1, len(by_layer[name]) + 1)
        panels[0].plot(layers, by_layer[name], mark, **style)
        panels[1].plot(counts, last[name], mark, **style)
        panels[2].plot(layers, spread[name], mark, **style)
    panels[0].set(xlabel="layer, from the input", ylim=(0, None))
    panels[1].set(xlabel="number of layers", ylim=(0, None))
    panels[1].set_xticks(counts)
    panels[2].set(xlabel="layer, from the input", ylim=(0, None))
    panels[0].legend(frameon=False)
    return figure


def matches(query: str, found: Sequence[tuple[str, float]]) -> Figure:
    """Draw the best matches of a search as bars, best on top."""
    figure, (axes,) = canvas(8.5, 0.5 * len(found) + 1.0)
    places = range(len(found))[::-1]
    cosines = [cosine for _, cosine in found]
    axes.barh(places, cosines, color=[BLUE, *[GREY] * (len(found) - 1)], height=0.35)
    for place, (sentence, cosine) in zip(places, found, strict=True):
        axes.text(0, place + 0.24, f"{cosine:.2f}  {sentence}", va="bottom", fontsize=9)
    axes.set(title=f"“{query}”", xlabel="cosine", xlim=(0, 1), ylim=(-0.4, len(found)))
    axes.set_yticks([])
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    return figure
