"""Figures of lesson 10: GPT and its block, the cache, the contest, recall's two heads.

Lesson 12 draws the same block beside today's, matrix by matrix: `figures.modern`.
"""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from torch import Tensor

from helpers.experiments.character_models import CharacterHistory
from helpers.figures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    SKY,
    canvas,
    encoder,
    heat_map,
)

STYLES = ((BLUE, "-", "o"), (ORANGE, "--", "s"), (GREEN, ":", "^"))
SHAPES = "#7A3E65"  # on the arrows: small letters need the contrast
LINE = "#555555"


def block() -> Figure:
    """Draw a GPT block: the pre-norm layer of lesson 04, under a causal mask."""
    figure = encoder.layer(norm_first=True, mask="causal mask  (T, T)")
    (axes,) = figure.axes
    left, top, field = 7.8, 5.6, 0.28
    for row in range(4):
        for column in range(4):
            corner = left + field * column, top - field * (row + 1)
            seen = "white" if column <= row else LINE
            style = {"facecolor": seen, "edgecolor": LINE, "linewidth": 0.6}
            axes.add_patch(Rectangle(corner, field, field, **style))
    beside = left + 4 * field + 0.15, top - 2 * field
    axes.text(*beside, "dark:\nblocked", va="center", fontsize=8.5, color=LINE)
    return figure


def model() -> Figure:
    """Draw the whole of GPT: one table at both ends, and a column of blocks between."""
    figure, (axes,) = canvas(10, 3.0)
    axes.set(xlim=(-0.1, 22.9), ylim=(-3.2, 3.4), aspect="equal")
    axes.axis("off")
    _arrow(axes, (0.1, 0), (2.0, 0), "ids (B, T)")
    _box(axes, (3.3, 0), (2.6, 1.3), "row of the\ntoken table", BLUE)
    _arrow(axes, (4.6, 0), (6.35, 0), "(B, T, D)")
    _box(axes, (6.7, 2.4), (2.9, 1.3), "learned row of\nthe position", GREEN)
    _arrow(axes, (6.7, 1.75), (6.7, 0.37))
    _shape(axes, 6.9, 1.1, "(T, D)", "left")
    stream = {"arrowstyle": "-|>", "color": RED, "lw": 3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (17.35, 0), (7.05, 0), arrowprops=stream, zorder=1)
    axes.text(6.7, 0, "+", ha="center", va="center", fontsize=14, zorder=4)
    axes.scatter([6.7], [0], s=330, color="white", edgecolor=RED, zorder=3, lw=2)
    axes.text(7.6, -0.75, "dropout", ha="center", fontsize=8.5, color=LINE)
    for at, name in ((9.2, "block 1"), (11.6, "block 2"), (14.8, "block N")):
        _box(axes, (at, 0), (1.9, 1.3), name, ORANGE)
    axes.text(13.2, 0.3, "...", ha="center", fontsize=12)
    _shape(axes, 16.5, 0.35, "(B, T, D)")
    _box(axes, (18.1, 0), (1.5, 0.9), "norm", GREEN)
    _arrow(axes, (18.85, 0), (19.5, 0))
    _box(axes, (20.8, 0), (2.6, 1.3), "· token table,\ntransposed", BLUE)
    _arrow(axes, (21.2, -0.65), (21.2, -2.2))
    _shape(axes, 21.2, -2.6, "logits (B, T, V)")
    style = {"color": BLUE, "linestyle": "--", "linewidth": 1.3, "zorder": 0}
    axes.plot([3.3, 3.3, 20.3, 20.3], [-0.65, -1.7, -1.7, -0.65], **style)
    _shape(axes, 11.4, -2.05, "the same table (V, D)")
    return figure


def _arrow(axes: Axes, start: tuple, end: tuple, shape: str = "") -> None:
    """An arrow, and above it the shape of what it brings."""
    style = {"color": LINE, "lw": 1.3, "arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=style, zorder=1)
    if shape:
        _shape(axes, (start[0] + end[0]) / 2 - 0.1, start[1] + 0.35, shape)


def _box(axes: Axes, at: tuple, size: tuple, text: str, colour: str) -> None:
    corner = at[0] - size[0] / 2, at[1] - size[1] / 2
    shape = FancyBboxPatch(
        corner, *size, boxstyle="round,pad=0,rounding_size=0.15",
        facecolor="white", edgecolor=colour, linewidth=1.8, zorder=2,
    )  # fmt: skip
    axes.add_patch(shape)
    style = {"ha": "center", "va": "center", "fontsize": 9.5, "zorder": 3}
    axes.text(*at, text, linespacing=1.0, **style)


def _shape(axes: Axes, x: float, y: float, text: str, side: str = "center") -> None:
    axes.text(x, y, text, ha=side, va="center", fontsize=8.5, color=SHAPES)


def cache_work(tokens: Sequence[str]) -> Figure:
    """Draw which scores are computed to write the last token, without and with a cache.

    Args:
        tokens: all that has been read when the last token is to be written
    """
    figure, panels = canvas(9.2, 3.9, columns=2)
    titles = ("without a cache: all rows again", "with a cache: one new row")
    for axes, title, rows in zip(panels, titles, (0, len(tokens) - 1), strict=True):
        _triangle(axes, tokens, rows)
        axes.set(title=title, xlabel="key", ylabel="query")
    panels[1].set(ylabel="")
    return figure


def _triangle(axes: Axes, tokens: Sequence[str], first_row: int) -> None:
    """Dark: computed now. Light with a dot: computed before, the key is kept."""
    count = len(tokens)
    for row in range(count):
        for column in range(row + 1):
            now = row >= first_row
            axes.add_patch(
                Rectangle(
                    (column - 0.5, row - 0.5), 1, 1,
                    facecolor=BLUE if now else "white", edgecolor=GREY,
                )
            )  # fmt: skip
            if not now:
                axes.plot(column, row, ".", color=GREY, markersize=4)
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5), aspect="equal")
    axes.set_xticks(range(count), tokens, rotation=45, ha="right")
    axes.set_yticks(range(count), tokens)


def contest(
    histories: Mapping[str, CharacterHistory], baselines: Mapping[str, float]
) -> Figure:
    """Draw held-out bits per character against steps and against seconds.

    Args:
        histories: name -> what was measured
        baselines: name -> bits per character of models that only count
    """
    figure, panels = canvas(10, 4, columns=2)
    for (name, history), (colour, line, marker) in zip(
        histories.items(), STYLES, strict=False
    ):
        style = {"color": colour, "linestyle": line, "marker": marker, "markersize": 4}
        panels[0].plot(history.steps, history.bits, label=name, **style)
        panels[1].plot(history.times, history.bits, label=name, **style)
    top = max(baselines.values()) + 0.4  # the very beginning is left out
    for axes, label in zip(panels, ("steps", "seconds of training"), strict=True):
        for name, bits in baselines.items():
            axes.axhline(bits, color=GREY, linewidth=0.8, linestyle=":")
            right = {"ha": "right", "va": "bottom", "fontsize": 8, "color": "#555555"}
            axes.text(axes.get_xlim()[1], bits, name, **right)
        axes.set(xlabel=label, ylim=(None, top))
    panels[0].set(ylabel="bits per held-out character")
    panels[0].legend(frameon=False, loc="upper right")
    return figure


def recall_curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], chance: float
) -> Figure:
    """Draw the share of right answers against seconds of training.

    Args:
        curves: name -> (seconds, accuracy)
        chance: of guessing one of the values that were told
    """
    figure, (axes,) = canvas(7.5, 3.6)
    for (name, (seconds, right)), (colour, line, marker) in zip(
        curves.items(), STYLES, strict=False
    ):
        style = {"color": colour, "linestyle": line, "marker": marker, "markersize": 4}
        axes.plot(seconds, right, label=name, **style)
    label = "one of the values told, at random"
    axes.axhline(chance, color=GREY, linewidth=1, linestyle=":", label=label)
    axes.set(
        xlabel="seconds of training", ylabel="right answers, new texts", ylim=(0, 1.03)
    )
    axes.legend(frameon=False)
    return figure


def head_scores(scores: Mapping[str, Tensor], names: Sequence[str]) -> Figure:
    """Draw a group of bars per head.

    Args:
        scores: name of the score -> (heads,)
        names: of the heads
    """
    figure, (axes,) = canvas(7.5, 3)
    width = 0.8 / len(scores)
    for number, (label, values) in enumerate(scores.items()):
        places = [place + (number - (len(scores) - 1) / 2) * width
                  for place in range(len(names))]  # fmt: skip
        colour, hatch = (BLUE, SKY)[number % 2], ("", "//")[number % 2]
        bars = axes.bar(
            places, values.tolist(), width, label=label, color=colour, hatch=hatch,
            edgecolor="black", linewidth=0.5,
        )  # fmt: skip
        axes.bar_label(bars, fmt="%.2f", fontsize=8)
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="mean weight", ylim=(0, 1.12))
    axes.legend(frameon=False)
    return figure


def two_heads(maps: Mapping[str, Tensor], tokens: Sequence[str], told: int) -> Figure:
    """Draw attention maps beside each other; a line divides what is told and asked.

    Args:
        maps: title -> (T, T)
        tokens: at both axes
        told: how many tokens belong to the pairs
    """
    size = 0.17 * len(tokens) + 1.4
    figure, panels = canvas(size * len(maps), size + 0.2, columns=len(maps))
    for axes, (title, weights) in zip(panels, maps.items(), strict=True):
        heat_map(axes, weights, tokens, tokens, title, numbers=False, largest=1.0)
        axes.tick_params(labelsize=7)
        axes.axhline(told - 0.5, color=ORANGE, linewidth=1.2)
        axes.set_xticks(range(len(tokens)), tokens, rotation=90, ha="center")
    for axes in panels[1:]:
        axes.set(ylabel="")
    return figure
