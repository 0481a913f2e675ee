"""Figures of lesson 04: collapse, stream, norm, layer, encoder, depth, search."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from torch import Tensor

from helpers.figures import BLUE, GREEN, GREY, ORANGE, RED, SIGNED_MAP, canvas

MARKS = ("o-", "s--", "^:")
PURPLE_DARK = "#7A3E65"  # shapes on arrows: small letters need the contrast


def likeness(curves: Mapping[str, Sequence[float]]) -> Figure:
    """Draw how alike the tokens become, layer by layer.

    Args:
        curves: a name, and the mean cosine before and after each layer
    """
    figure, (axes,) = canvas(6.5, 3.2)
    for (name, values), colour, mark in zip(
        curves.items(), (RED, GREEN, BLUE), MARKS, strict=False
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


def layer(norm_first: bool = False, mask: str = "mask  (B, 1, 1, S)") -> Figure:
    """Draw one layer: the stream, and two sub-layers that read and write it.

    Args:
        norm_first: pre-norm, where the norms stand before the sub-layers
        mask: what is written beside the arrow into the attention
    """
    figure, (axes,) = canvas(10, 3.4)
    _layer(axes, norm_first, 0.0, mask)
    axes.set(xlim=(-0.2, 19.6), ylim=(-0.7, 5.7), aspect="equal")
    axes.axis("off")
    return figure


def block_orders() -> Figure:
    """Draw one encoder layer twice: post-norm above, pre-norm below."""
    figure, (axes,) = canvas(10, 7.2)
    for below, norm_first, title in (
        (7.4, False, "post-norm: the paper, BERT"),
        (0.0, True, "pre-norm: GPT-2 and most models since"),
    ):
        _layer(axes, norm_first, below)
        axes.text(-0.1, below + 6.0, title, fontsize=11, weight="bold")
    axes.set(xlim=(-0.2, 19.6), ylim=(-0.7, 13.9), aspect="equal")
    axes.axis("off")
    return figure


def _layer(
    axes: Axes, norm_first: bool, below: float, mask: str = "mask  (B, 1, 1, S)"
) -> None:
    """The stream runs from left to right at this height, the sub-layers above it."""
    style = {"arrowstyle": "-|>", "color": RED, "lw": 3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (19.5, below), (0, below), arrowprops=style, zorder=1)
    _shape(axes, 0.9, below + 0.28, "x  (B, T, D)")
    starts = (2.3, 10.6)
    names = ("multi-head\nattention", "feed-forward")
    inside = ("(B, H, T, K)", "(B, T, F)")
    for start, number, name, within in zip(starts, (1, 2), names, inside, strict=True):
        colour = BLUE if number == 1 else ORANGE
        norm = f"norm {number}"
        end = start + 4.6
        _arrow(axes, (start, below), (start, below + 3.6), tail=True)
        if norm_first:
            _box(axes, (start, below + 1.75), (1.7, 0.8), norm, GREEN)
        _arrow(axes, (start, below + 3.6), (start + 0.68, below + 3.6))
        _box(axes, (start + 2.3, below + 3.6), (3.2, 1.7), name, colour)
        axes.text(start + 2.3, below + 2.95, within, ha="center", va="center",
                  fontsize=8, color=GREY)  # fmt: skip
        _arrow(axes, (start + 3.9, below + 3.6), (end, below + 3.6), tail=True)
        _arrow(axes, (end, below + 3.6), (end, below + 0.42))
        _box(axes, (end, below + 1.75), (1.9, 0.8), "dropout", GREY)
        _shape(axes, start - 0.15, below + 2.7, "(B, T, D)", "right")
        _shape(axes, end + 0.15, below + 2.7, "(B, T, D)", "left")
        axes.text(end, below, "+", ha="center", va="center", fontsize=15, zorder=4)
        axes.scatter([end], [below], s=420, color="white", edgecolor=RED, zorder=3,
                     linewidth=2)  # fmt: skip
        if not norm_first:
            _box(axes, (end + 1.75, below), (1.7, 0.9), norm, GREEN)
    middle = starts[0] + 2.3
    _arrow(axes, (middle, below + 5.55), (middle, below + 4.48))
    _shape(axes, middle + 0.2, below + 5.05, mask, "left")
    _shape(axes, 18.7, below + 0.28, "(B, T, D)")


def _arrow(axes: Axes, start: tuple, end: tuple, tail: bool = False) -> None:
    """A thin arrow, or the piece of one that has no head."""
    style = {"color": "#555555", "lw": 1.3}
    if tail:
        axes.plot(*zip(start, end, strict=True), **style, zorder=1)
    else:
        style |= {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", end, start, arrowprops=style, zorder=1)


def _box(axes: Axes, at: tuple, size: tuple, text: str, colour: str) -> None:
    wide, high = size
    corner = at[0] - wide / 2, at[1] - high / 2
    shape = FancyBboxPatch(
        corner, wide, high, boxstyle="round,pad=0,rounding_size=0.15",
        facecolor="white", edgecolor=colour, linewidth=1.8, zorder=2,
    )  # fmt: skip
    axes.add_patch(shape)
    lift = 0.3 if high > 1.5 else 0.0  # room for what is written below the name
    style = {"ha": "center", "va": "center", "fontsize": 10, "zorder": 3}
    axes.text(at[0], at[1] + lift, text, linespacing=1.0, **style)


def _shape(axes: Axes, x: float, y: float, text: str, side: str = "center") -> None:
    axes.text(x, y, text, ha=side, va="center", fontsize=8.5, color=PURPLE_DARK)


def encoder(bert: bool = False) -> Figure:
    """Draw the whole encoder, from token ids to one vector for each token.

    Args:
        bert: with the front that BERT has in place of sine waves
    """
    figure, (axes,) = canvas(10, 3.1 if bert else 2.2)
    low = -3.0 if bert else -0.9
    axes.set(xlim=(-0.1, 20.3), ylim=(low, 3.2), aspect="equal")
    axes.axis("off")
    front = "learned row of\nthe position" if bert else "sine waves of\nthe position"
    _arrow(axes, (0.1, 0), (2.0, 0))
    _shape(axes, 0.9, 0.32, "ids (B, T)")
    first = "embedding" if bert else "embedding\n· √D"
    _box(axes, (3.15, 0), (2.3, 1.3), first, BLUE)
    _arrow(axes, (4.3, 0), (6.35, 0))
    _shape(axes, 5.25, 0.32, "(B, T, D)")
    summands = [(2.35, front)] + [(-2.0, "row of the\ntoken type")] * bert
    for height, name in summands:
        edge = height - 0.6 if height > 0 else height + 0.6
        _arrow(axes, (6.7, edge), (6.7, 0.37 if height > 0 else -0.37))
        _box(axes, (6.7, height), (2.9, 1.2), name, BLUE if not bert else ORANGE)
    _shape(axes, 6.9, 1.1, "(T, D)", "left")
    if bert:
        _shape(axes, 6.9, -0.9, "(D,)", "left")
    axes.text(6.7, 0, "+", ha="center", va="center", fontsize=14, zorder=4)
    axes.scatter([6.7], [0], s=330, color="white", edgecolor=RED, zorder=3, lw=2)
    _stream(axes, 7.05, 20.1)
    if bert:
        _box(axes, (8.5, 0), (1.5, 0.9), "norm", ORANGE)
    else:
        _box(axes, (8.2, 0), (1.9, 0.9), "dropout", GREY)
    for at, name in ((11.6, "layer 1"), (14.2, "layer 2"), (17.4, "layer N")):
        _box(axes, (at, 0), (1.9, 1.3), name, GREEN)
        _arrow(axes, (at, 2.2), (at, 0.67))
    axes.plot([10.9, 17.4], [2.2, 2.2], color="#555555", lw=1.3)
    _shape(axes, 14.2, 2.5, "mask  (B, 1, 1, S), the same for every layer")
    axes.text(15.8, 0.3, "...", ha="center", fontsize=12)
    _shape(axes, 10.05, 0.32, "(B, T, D)")
    _shape(axes, 19.3, 0.32, "(B, T, D)")
    return figure


def _stream(axes: Axes, start: float, end: float) -> None:
    style = {"arrowstyle": "-|>", "color": RED, "lw": 3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (end, 0), (start, 0), arrowprops=style, zorder=1)


def shares(names: Sequence[str], sizes: Mapping[str, Sequence[float]]) -> Figure:
    """Draw the lengths of the parts that a word's vector is the sum of.

    Args:
        names: the parts, in the order in which they were written
        sizes: a title, and a length for each part
    """
    figure, panels = canvas(9, 0.36 * len(names) + 1.0, columns=len(sizes))
    for axes, (title, values) in zip(panels, sizes.items(), strict=True):
        places = range(len(names))[::-1]
        axes.barh(places, values, color=[BLUE, *[ORANGE] * (len(names) - 1)])
        axes.set_title(title, fontsize=11)
        axes.set_yticks(places, names if axes is panels[0] else [""] * len(names))
        for place, value in zip(places, values, strict=True):
            axes.text(value, place, f" {value:.2f}", va="center", fontsize=9)
        axes.set_xlim(0, max(values) * 1.2)
    return figure


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
