"""Figures of lesson 12: GPT-2's block beside today's, pairs that turn, a contest."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from helpers.figures import BLUE, GREY, ORANGE, canvas

SHAPES = "#7A3E65"  # on the arrows: small letters need the contrast
COLUMNS = (1.9, 5.0, 8.1)  # of queries, keys and values
MIDDLE, SIDE = 5.0, -0.5  # of the boxes; of the line around a sublayer


@dataclass(frozen=True)
class Parts:
    """The words on one side; those in `changed` differ from the other side's."""

    title: str
    colour: str  # of what changed
    bias: str  # beside each matrix; "" where there are none
    norm: str
    heads: str  # of keys and values, in shapes
    attention: str
    inner: tuple[str, ...]  # what leads into the middle of the feed-forward
    middle: str  # what joins them
    outer: str
    positions: str  # added to the embedding; "" where there are none
    turned: bool  # queries and keys are rotated
    output: str


OLD = Parts(
    title="GPT-2, 2019",
    colour=BLUE,
    bias="+ bias",
    norm="layer norm",
    heads="H",
    attention="multi-head attention\nH heads of queries, keys and values",
    inner=("W_1",),
    middle="GELU",
    outer="W_2",
    positions="learned positions",
    turned=False,
    output="output: the embedding again",
)
NEW = Parts(
    title="today: Llama 3, 2024",
    colour=ORANGE,
    bias="",
    norm="RMS norm",
    heads="H_kv",
    attention="grouped-query attention\nH heads of queries, H_kv of keys and values",
    inner=("W_gate, SiLU", "W_up"),
    middle="×",
    outer="W_down",
    positions="",
    turned=True,
    output="output: a matrix of its own",
)


def blocks() -> Figure:
    """Draw GPT-2's block beside today's; what changed has a colour and a thick edge."""
    figure, panels = canvas(11.5, 10.8, columns=2)
    for axes, parts in zip(panels, (OLD, NEW), strict=True):
        axes.set(xlim=(-1.6, 11.6), ylim=(-0.6, 23.6))
        axes.set_title(parts.title, color=parts.colour, weight="bold")
        axes.axis("off")
        _bottom(axes, parts)
        _attention(axes, parts)
        _feed_forward(axes, parts)
        _top(axes, parts)
    return figure


def hands(d_head: int, base: float, positions: int) -> Figure:
    """Draw each pair of a vector as a hand that turns with the position.

    Args:
        d_head: of the vector; there are half as many pairs
        base: of the angles
        positions: how many are drawn, from 0
    """
    pairs = d_head // 2
    figure, panels = canvas(2.6 * pairs, 2.9, columns=pairs)
    shades = colormaps["viridis_r"]
    for pair, axes in enumerate(panels):
        speed = base ** (-2 * pair / d_head)  # radians per position
        axes.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal")
        axes.axis("off")
        axes.set_title(f"pair {pair}: {speed:g} rad per position", fontsize=8.5)
        for place in range(positions):
            end = math.cos(place * speed), math.sin(place * speed)
            colour = shades(0.1 + 0.9 * place / positions)
            style = {"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", xy=end, xytext=(0, 0), arrowprops=style)
            if pair == 0:  # on the others they would lie on top of each other
                at = 1.15 * end[0], 1.15 * end[1]
                axes.text(*at, str(place), ha="center", va="center", fontsize=8)
    return figure


def contest(
    steps: Sequence[int],
    bits: Mapping[str, Sequence[float]],
    seconds: Mapping[str, float],
) -> Figure:
    """Draw the bits per byte of each block, against steps and against seconds.

    Args:
        steps: at which they were measured
        bits: for each block as many numbers
        seconds: of a step of each block
    """
    figure, (by_steps, by_time) = canvas(9, 3.6, columns=2)
    for (name, measured), colour in zip(bits.items(), (BLUE, ORANGE), strict=True):
        by_steps.plot(steps, measured, color=colour, marker=".", label=name)
        times = [step * seconds[name] for step in steps]
        by_time.plot(times, measured, color=colour, marker=".", label=name)
    by_steps.set(xlabel="steps", ylabel="bits per byte")
    by_time.set(xlabel="seconds of the processor")
    for axes in (by_steps, by_time):
        axes.set_ylim(0, None)
        axes.grid(color=GREY, alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    by_steps.legend(frameon=False)
    return figure


def _bottom(axes: Axes, parts: Parts) -> None:
    """Ids become vectors; the frame of the block."""
    same = "thin and grey: the same on both sides,\nbut for the biases"
    if parts is OLD:
        axes.text(-1.1, -0.3, same, color="#555555", fontsize=9, va="center")
    axes.text(MIDDLE, -0.2, "ids", ha="center", va="center")
    _arrow(axes, (MIDDLE, 0.15), (MIDDLE, 0.9), "(B, T)")
    _box(axes, (MIDDLE, 1.3), 3.6, "token embedding")
    if parts.positions:
        _box(axes, (9.45, 2.25), 3.4, parts.positions, parts.colour)
        _arrow(axes, (7.75, 2.25), (MIDDLE + 0.25, 2.25), "(T, D)")
        _plus(axes, 2.25)
    _arrow(axes, (MIDDLE, 1.7), (MIDDLE, 4.0), "(B, T, D)", at=0.64)
    frame = {"facecolor": "none", "edgecolor": "black", "linestyle": "--"}
    corner = (SIDE - 0.6, 2.95)
    axes.add_patch(FancyBboxPatch(corner, 12.2, 16.75, "round,pad=0.05", **frame))
    axes.text(10.4, 19.3, "N ×", va="center")


def _attention(axes: Axes, parts: Parts) -> None:
    """Norm, projections, rotation where there is one, attention, and back."""
    _box(axes, (MIDDLE, 4.4), 3.6, parts.norm, parts.colour)
    shapes = "(B, H, T, K)", *2 * (f"(B, {parts.heads}, S, K)",)
    names = "W_q", "W_k", "W_v"
    for number, (at, name, shape) in enumerate(
        zip(COLUMNS, names, shapes, strict=True)
    ):
        wide = 1.7 if number and parts is NEW else 2.9
        colour = parts.colour if number else ""  # the heads of keys and values
        axes.plot([MIDDLE, at], [5.25, 5.25], color="black", lw=1)
        _arrow(axes, (at, 5.25), (at, 5.65))
        _matrix(axes, (at, 6.05), wide, name, parts, colour)
        if parts.turned and number < 2:
            _arrow(axes, (at, 6.45), (at, 7.0))
            _box(axes, (at, 7.4), wide, "rotate", parts.colour)
            _arrow(axes, (at, 7.8), (at, 9.1), shape)
        else:
            _arrow(axes, (at, 6.45), (at, 9.1), shape, at=0.745)
    axes.plot([MIDDLE] * 2, [4.8, 5.25], color="black", lw=1)
    axes.text(MIDDLE + 0.2, 5.02, "(B, T, D)", fontsize=8, color=SHAPES, va="center")
    _box(axes, (MIDDLE, 9.7), 9.2, parts.attention, parts.colour, high=1.2)
    _arrow(axes, (MIDDLE, 10.3), (MIDDLE, 10.95), "(B, T, H K)")
    _matrix(axes, (MIDDLE, 11.35), 3.6, "W_o", parts)
    _arrow(axes, (MIDDLE, 11.75), (MIDDLE, 12.25))
    _around(axes, 3.4, 12.5)


def _feed_forward(axes: Axes, parts: Parts) -> None:
    """Norm, feed-forward, and back to the stream."""
    _arrow(axes, (MIDDLE, 12.75), (MIDDLE, 13.5), "(B, T, D)")
    _box(axes, (MIDDLE, 13.9), 3.6, parts.norm, parts.colour)
    alone = len(parts.inner) == 1
    for at, name in zip((MIDDLE,) if alone else (3.1, 6.9), parts.inner, strict=True):
        axes.plot([MIDDLE, MIDDLE, at], [14.3, 14.6, 14.6], color="black", lw=1)
        _arrow(axes, (at, 14.6), (at, 15.0))
        _matrix(axes, (at, 15.4), 3.2, name, parts, parts.colour)
        axes.plot([at, at, MIDDLE], [15.8, 16.75, 16.75], color="black", lw=1)
        axes.text(at + 0.2, 16.1, "(B, T, F)", fontsize=8, color=SHAPES, va="center")
    _box(axes, (MIDDLE, 16.75), 1.4, parts.middle, parts.colour, high=0.6)
    _arrow(axes, (MIDDLE, 17.05), (MIDDLE, 17.75), "(B, T, F)", at=0.4)
    _matrix(axes, (MIDDLE, 18.15), 3.6, parts.outer, parts)
    _arrow(axes, (MIDDLE, 18.55), (MIDDLE, 19.05))
    _around(axes, 13.05, 19.3)


def _top(axes: Axes, parts: Parts) -> None:
    """The last norm, and the scores of all tokens."""
    _arrow(axes, (MIDDLE, 19.55), (MIDDLE, 20.5), "(B, T, D)", at=0.6)
    _box(axes, (MIDDLE, 20.9), 3.6, parts.norm, parts.colour)
    _arrow(axes, (MIDDLE, 21.3), (MIDDLE, 21.8))
    _box(axes, (MIDDLE, 22.2), 5.4, parts.output, parts.colour)
    _arrow(axes, (MIDDLE, 22.6), (MIDDLE, 23.2), "(B, T, V)")
    axes.text(MIDDLE, 23.4, "logits", ha="center", va="center")


def _around(axes: Axes, low: float, high: float) -> None:
    """The residual connection, and where it is added."""
    line = {"color": "black", "lw": 1, "zorder": 1}
    axes.plot([MIDDLE, SIDE, SIDE], [low, low, high], **line)
    _arrow(axes, (SIDE, high), (MIDDLE - 0.25, high))
    _plus(axes, high)


def _plus(axes: Axes, height: float) -> None:
    axes.scatter([MIDDLE], [height], s=150, color="white", edgecolor="black", zorder=3)
    axes.text(MIDDLE, height, "+", ha="center", va="center", zorder=4)


def _arrow(
    axes: Axes, start: tuple, end: tuple, shape: str = "", at: float = 0.5
) -> None:
    """An arrow, and the shape of what it brings to the right of it or above it."""
    style = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=style, zorder=1)
    level = start[1] == end[1]
    axes.text(
        start[0] + at * (end[0] - start[0]) + (0 if level else 0.2),
        start[1] + at * (end[1] - start[1]) + (0.25 if level else 0),
        shape,
        fontsize=8,
        color=SHAPES,
        ha="center" if level else "left",
        va="center",
    )


def _matrix(
    axes: Axes, at: tuple, wide: float, name: str, parts: Parts, changed: str = ""
) -> None:
    """A matrix, and its bias on a side that has biases."""
    _box(axes, at, wide, name, changed)
    if parts.bias:
        style = {"color": parts.colour, "weight": "bold", "fontsize": 7}
        axes.text(at[0] + wide / 2 - 0.1, at[1] - 0.3, parts.bias, ha="right", **style)


def _box(
    axes: Axes,
    at: tuple,
    wide: float,
    text: str,
    changed: str = "",
    high: float = 0.8,
) -> None:
    """A part; one that changed has its side's colour, a thick edge and bold letters."""
    style = {"edgecolor": changed or GREY, "linewidth": 2.4 if changed else 1.0}
    corner = at[0] - wide / 2, at[1] - high / 2
    axes.add_patch(
        FancyBboxPatch(
            corner, wide, high, "round,pad=0.0", facecolor="white", zorder=2, **style
        )
    )
    weight = "bold" if changed else "normal"
    middle = {"ha": "center", "va": "center", "zorder": 3, "fontsize": 8.5}
    axes.text(*at, text, weight=weight, **middle)
